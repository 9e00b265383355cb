# Install rules: the command, the libraries, the public headers, the specs with the files that their hooks come from, the
# docs, the manual page, completions, and the CMake package `facet`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/facet)

install(TARGETS facet)
install(TARGETS fa_bundle fa_spec EXPORT facetBundleTargets)
install(EXPORT facetBundleTargets NAMESPACE facet:: DESTINATION ${package_dir})
install(TARGETS fa fa_compiler fa_runtime fa_llvm EXPORT facetTargets)
install(EXPORT facetTargets NAMESPACE facet:: DESTINATION ${package_dir})
if(TARGET fa_shared)
  install(TARGETS fa_shared EXPORT facetSharedTargets)
  install(EXPORT facetSharedTargets NAMESPACE facet:: DESTINATION ${package_dir})
endif()
install(DIRECTORY include/fa DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY specs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/facet/specs)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
# What the built command says of itself: the shells' completions and facet(1).
set(words_dir ${CMAKE_BINARY_DIR}/words)
install(CODE "
  file(MAKE_DIRECTORY \"${words_dir}\")
  foreach(asked \"completion;bash\" \"completion;zsh\" \"help;--man\")
    list(GET asked 1 name)
    execute_process(COMMAND \"$<TARGET_FILE:facet>\" \${asked} OUTPUT_FILE \"${words_dir}/\${name}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")
install(FILES ${words_dir}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME facet)
install(FILES ${words_dir}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _facet)
install(FILES ${words_dir}/--man DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 RENAME facet.1)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/facetConfig.cmake.in ${CMAKE_BINARY_DIR}/facetConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/facetConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/facetConfig.cmake ${CMAKE_BINARY_DIR}/facetConfigVersion.cmake
  DESTINATION ${package_dir})
