# Writes OUTPUT: a .cpp that holds one hash of all sources in ROOT by which a host kernel's machine code is made. It is
# part of the disk cache's keys, so that no change of the compiler finds what an earlier one built.
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/compiler/*.cpp ${ROOT}/compiler/*.h ${ROOT}/runtime/host/*.cpp
     ${ROOT}/runtime/host/*.h ${ROOT}/templates/*.h)
list(SORT files)
set(all "")
foreach(file ${files})
  file(SHA256 ${ROOT}/${file} hash)
  string(APPEND all "${file} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
set(text "#include \"compiler/emit/host/sources_hash.h\"\n\nnamespace fa {\n\nstd::string_view sources_hash() { return \"${hash}\"; }\n\n}  // namespace fa\n")
include(${CMAKE_CURRENT_LIST_DIR}/write_if_changed.cmake)
write_if_changed(${OUTPUT} "${text}")
