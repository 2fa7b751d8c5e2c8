# Two ways out. `pip install .` (SKBUILD is set) fills the package folder of a wheel; otherwise
# `cmake --install` lays out headers, library and the files behind find_package(Facula) and pkg-config.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(SKBUILD)
  set(library_to facula)
  set(header_to facula/include)
  set(config_to facula/share/cmake/Facula)
  set(pkgconfig_to facula/share/pkgconfig)
  # PyPI's oneDNN lies in the environment's lib, three folders above the package.
  set_target_properties(facula PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../../..")
  if(TARGET _C)
    install(TARGETS _C LIBRARY DESTINATION facula)
    install(DIRECTORY benchmarks/models DESTINATION facula/tools/bench FILES_MATCHING PATTERN "*.py")
    install(FILES ${PROJECT_BINARY_DIR}/python/facula/__init__.pyi DESTINATION facula)
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/config/version.py DESTINATION facula)
else()
  set(library_to ${CMAKE_INSTALL_LIBDIR})
  set(header_to ${CMAKE_INSTALL_INCLUDEDIR})
  set(config_to ${CMAKE_INSTALL_LIBDIR}/cmake/Facula)
  set(pkgconfig_to ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  set_target_properties(facula PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
endif()
set(internal_to ${header_to}/facula/internal)

# ---- programs: Facula::facula, one folder of headers and one library --------------------------------
install(TARGETS facula EXPORT FaculaTargets LIBRARY DESTINATION ${library_to} INCLUDES DESTINATION ${header_to})
install(DIRECTORY include/ DESTINATION ${header_to} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.def")
install(FILES ${front_headers} DESTINATION ${header_to}/facula)

# ---- operator libraries: Facula::operators, which sees the headers that operators and layers are written with
add_library(facula_operators INTERFACE)
set_target_properties(facula_operators PROPERTIES EXPORT_NAME operators)
target_link_libraries(facula_operators INTERFACE facula)
install(TARGETS facula_operators EXPORT FaculaTargets INCLUDES DESTINATION ${internal_to})
set(internal_headers core/generator.h define/calls.h define/row.h dispatch/call.h dispatch/observe.h dispatch/route.h)
set(seen "")
while(internal_headers)   # and what they include
  list(POP_FRONT internal_headers header)
  if(NOT header IN_LIST seen)
    list(APPEND seen ${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/src/${header} lines REGEX "^#include \"")
    list(TRANSFORM lines REPLACE "^#include \"([^\"]+)\".*" "\\1")
    list(APPEND internal_headers ${lines})
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES src/${header} DESTINATION ${internal_to}/${folder})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/${header})
  endif()
endwhile()

install(EXPORT FaculaTargets NAMESPACE Facula:: DESTINATION ${config_to})
configure_package_config_file(cmake/FaculaConfig.cmake.in
  ${PROJECT_BINARY_DIR}/config/FaculaConfig.cmake INSTALL_DESTINATION ${config_to})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/config/FaculaConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/config/FaculaConfig.cmake
  ${PROJECT_BINARY_DIR}/config/FaculaConfigVersion.cmake DESTINATION ${config_to})

# Paths relative to the file itself, so that the folder may be moved.
file(RELATIVE_PATH up /${pkgconfig_to} /)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/config/facula.pc @ONLY CONTENT [[prefix=${pcfiledir}/@up@
libdir=${prefix}/@library_to@
includedir=${prefix}/@header_to@
internaldir=${prefix}/@internal_to@

Name: Facula
Description: a deep-learning framework with PyTorch's shape (its headers need C++20)
Version: @PROJECT_VERSION@
Cflags: -I${includedir}
Libs: -L${libdir} -Wl,-rpath,${libdir} -lfacula
]])
install(FILES ${PROJECT_BINARY_DIR}/config/facula.pc DESTINATION ${pkgconfig_to})
