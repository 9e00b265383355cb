# libfacet.so (facet::shared): all of Facet with LLVM inside, linked from the objects of the static libraries. LLVM's
# symbols, and those of the standard library's templates, stay inside, whatever other LLVM the process has.
if(NOT FA_STATIC_LLVM)
  message(FATAL_ERROR "FA_SHARED needs FA_STATIC_LLVM: an LLVM that the process shares is what libfacet.so is there to avoid")
endif()
set(exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)
add_library(fa_shared SHARED $<TARGET_OBJECTS:fa_spec> $<TARGET_OBJECTS:fa_compiler> $<TARGET_OBJECTS:fa_bundle>
            $<TARGET_OBJECTS:fa_runtime>)
add_library(facet::shared ALIAS fa_shared)
set_target_properties(fa_shared PROPERTIES OUTPUT_NAME facet EXPORT_NAME shared VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINK_DEPENDS ${exports} LINKER_LANGUAGE CXX)
target_link_libraries(fa_shared PRIVATE $<BUILD_INTERFACE:fa_llvm> $<BUILD_INTERFACE:${FA_FMT}> Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(fa_shared PRIVATE -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL -Wl,-Bsymbolic-functions
                    -Wl,-z,defs)
target_include_directories(fa_shared INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_features(fa_shared INTERFACE cxx_std_20)
