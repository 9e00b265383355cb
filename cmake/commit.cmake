# Writes OUTPUT: a .cpp that holds the commit of the checkout ROOT, with "-modified" where files differ from it. It runs at
# every build and touches OUTPUT only where that changed, so that a new commit compiles one small file.
set(commit "")
if(EXISTS ${ROOT}/.git)  # else an archive of the sources, perhaps inside another project's checkout
  set(git git -c safe.directory=${ROOT} --no-optional-locks -C ${ROOT})  # whoever owns ROOT; without a lock on its index
  execute_process(COMMAND ${git} rev-parse HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${git} status --porcelain OUTPUT_VARIABLE changes ERROR_QUIET)
  if(NOT commit STREQUAL "" AND NOT changes STREQUAL "")
    string(APPEND commit "-modified")
  endif()
endif()
set(text "#include \"tools/console/version.h\"\n\nnamespace fa::tools {\n\nstd::string source_commit() { return \"${commit}\"; }\n\n}  // namespace fa::tools\n")
include(${CMAKE_CURRENT_LIST_DIR}/write_if_changed.cmake)
write_if_changed(${OUTPUT} "${text}")
