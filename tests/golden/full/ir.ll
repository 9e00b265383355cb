; ModuleID = 'full'
source_filename = "full"
