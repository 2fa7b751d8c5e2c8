# The Python module facula._C, and build/<preset>/python: a package folder that can be imported as it
# stands. It holds the built libraries beside links to every entry of python/facula.

if(NOT Python_Development.Module_FOUND)
  message(STATUS "Python with headers was not found: no Python module is built")
  return()
endif()

# nanobind: NANOBIND_DIR or FACULA_NANOBIND names its folder (an unpacked source or wheel will do),
# else the interpreter is asked.
if(NOT NANOBIND_DIR AND DEFINED ENV{FACULA_NANOBIND})
  set(NANOBIND_DIR $ENV{FACULA_NANOBIND})
endif()
if(NANOBIND_DIR)
  find_package(nanobind CONFIG QUIET NO_DEFAULT_PATH
    PATHS ${NANOBIND_DIR} ${NANOBIND_DIR}/cmake ${NANOBIND_DIR}/nanobind/cmake)
  if(NOT nanobind_FOUND)
    message(FATAL_ERROR "NANOBIND_DIR=${NANOBIND_DIR} holds no cmake/nanobind-config.cmake")
  endif()
else()
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_cmake OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_package(nanobind CONFIG QUIET HINTS ${nanobind_cmake})
endif()
if(NOT nanobind_FOUND)
  message(FATAL_ERROR "nanobind was not found by ${Python_EXECUTABLE}: run `make setup`, or give the "
    "folder of its sources as FACULA_NANOBIND (BUILD_PYTHON=0 builds without Python)")
endif()

set(package ${PROJECT_BINARY_DIR}/python/facula)
file(GLOB module_sources CONFIGURE_DEPENDS python/src/*.cpp)
nanobind_add_module(_C NB_STATIC NOMINSIZE NOSTRIP NB_SUPPRESS_WARNINGS NB_DOMAIN facula
  ${module_sources})
target_link_libraries(_C PRIVATE facula facula_flags)
set_target_properties(_C PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package}
  BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")

# Bindings are many and rarely hot: small. The call path of an operator is neither.
set(hot_bindings "call|convert|tensor_object")
foreach(source IN LISTS module_sources)
  get_filename_component(name ${source} NAME_WE)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT name MATCHES "^(${hot_bindings})$")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Os)
  endif()
endforeach()

# Links follow the sources on every build.
add_custom_target(facula_python ALL
  COMMAND ${CMAKE_COMMAND} -D from=${PROJECT_SOURCE_DIR}/python/facula -D to=${package}
          -D version=${PROJECT_BINARY_DIR}/config/version.py -P ${PROJECT_SOURCE_DIR}/cmake/link_package.cmake
  COMMENT "Python package in ${package}" VERBATIM)
add_dependencies(facula_python _C)

# Stubs for editors, from the schemas of the operators just built. A sanitized module does not load into a plain Python.
if(NOT FACULA_SANITIZE)
  file(GLOB_RECURSE package_sources CONFIGURE_DEPENDS python/facula/*.py)
  add_custom_command(OUTPUT ${package}/__init__.pyi
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python PYTHONDONTWRITEBYTECODE=1
            ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/make_stubs.py ${package}
    DEPENDS _C facula facula_python ${package_sources} ${PROJECT_SOURCE_DIR}/tools/make_stubs.py COMMENT "Type stubs" VERBATIM)
  add_custom_target(facula_stubs ALL DEPENDS ${package}/__init__.pyi)
endif()
