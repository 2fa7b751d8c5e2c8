# Two ways out. `pip install .` (SKBUILD is set) fills the package folder of a wheel; otherwise
# `cmake --install` lays out headers, library and the files behind find_package(Facula).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(SKBUILD)
  set(library_to facula)
  set(header_to facula/include)
  set(config_to facula/share/cmake/Facula)
  # PyPI's oneDNN lies in the environment's lib, three folders above the package.
  set_target_properties(facula PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../../..")
  if(TARGET _C)
    install(TARGETS _C LIBRARY DESTINATION facula)
    install(FILES ${PROJECT_BINARY_DIR}/python/facula/__init__.pyi DESTINATION facula)
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/config/version.py DESTINATION facula)
else()
  set(library_to ${CMAKE_INSTALL_LIBDIR})
  set(header_to ${CMAKE_INSTALL_INCLUDEDIR})
  set(config_to ${CMAKE_INSTALL_LIBDIR}/cmake/Facula)
  set_target_properties(facula PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
endif()

# The public headers lean on a few of the core's; those go to facula/detail, out of the way.
install(TARGETS facula EXPORT FaculaTargets LIBRARY DESTINATION ${library_to}
  INCLUDES DESTINATION ${header_to} ${header_to}/facula/detail)
install(DIRECTORY include/ DESTINATION ${header_to} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY ${generated}/ DESTINATION ${header_to} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY src/ DESTINATION ${header_to}/facula/detail FILES_MATCHING PATTERN "*.h"
  PATTERN backends/hammerblade EXCLUDE PATTERN isa EXCLUDE)
install(EXPORT FaculaTargets NAMESPACE Facula:: DESTINATION ${config_to})

configure_package_config_file(cmake/FaculaConfig.cmake.in
  ${PROJECT_BINARY_DIR}/config/FaculaConfig.cmake INSTALL_DESTINATION ${config_to})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/config/FaculaConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/config/FaculaConfig.cmake
  ${PROJECT_BINARY_DIR}/config/FaculaConfigVersion.cmake DESTINATION ${config_to})
