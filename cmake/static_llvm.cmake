# LLVM linked statically into our own binaries, without the code that nothing refers to. An installed Facet's consumers
# link the shared library.
#
# Debian's LLVMSupport names libz3.so and libzstd.so, by path and by shared target. Z3 is used only by Clang's analyser, so no
# object we link refers to it; zlib and zstd (compressed debug sections) have static archives. Its link interface says so here.
find_library(FA_STATIC_Z libz.a REQUIRED)
find_library(FA_STATIC_ZSTD libzstd.a REQUIRED)
set_target_properties(LLVMSupport PROPERTIES
  INTERFACE_LINK_LIBRARIES "rt;dl;m;${FA_STATIC_Z};${FA_STATIC_ZSTD};LLVMDemangle")
llvm_map_components_to_libnames(FA_LLVM_LIBS core orcjit native passes irreader bitreader)
target_link_libraries(fa_llvm INTERFACE "$<BUILD_INTERFACE:${FA_LLVM_LIBS}>" $<INSTALL_INTERFACE:LLVM>)
add_link_options(-Wl,--gc-sections -Wl,--as-needed)
