# Install rules: the command, the libraries, the public headers, the specs with the files that their hooks come from, the
# docs, and the CMake package `facet`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/facet)

install(TARGETS facet)
install(TARGETS fa_bundle fa_spec EXPORT facetBundleTargets)
install(EXPORT facetBundleTargets NAMESPACE facet:: DESTINATION ${package_dir})
install(TARGETS fa fa_compiler fa_runtime fa_llvm EXPORT facetTargets)
install(EXPORT facetTargets NAMESPACE facet:: DESTINATION ${package_dir})
install(DIRECTORY include/fa DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY specs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/facet/specs)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/facetConfig.cmake.in ${CMAKE_BINARY_DIR}/facetConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/facetConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/facetConfig.cmake ${CMAKE_BINARY_DIR}/facetConfigVersion.cmake
  DESTINATION ${package_dir})
