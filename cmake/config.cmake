# Writes config/facula_config.inc: the rows of the configuration page, read by src/core/config.cpp.

execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} rev-parse HEAD
  OUTPUT_VARIABLE FACULA_GIT_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT FACULA_GIT_VERSION)
  set(FACULA_GIT_VERSION "unknown")
endif()

string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
get_target_property(options facula_flags INTERFACE_COMPILE_OPTIONS)
string(REPLACE ";" " " options "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} ${options}")
string(STRIP "${options}" options)
set(launcher "none")
if(CMAKE_CXX_COMPILER_LAUNCHER)
  get_filename_component(launcher "${CMAKE_CXX_COMPILER_LAUNCHER}" NAME)
endif()

set(switches "")
foreach(name IN LISTS FACULA_SWITCHES)
  if(FACULA_STATE_${name} STREQUAL "works" OR NOT FACULA_FROM_${name} STREQUAL "default")
    string(REGEX REPLACE "([\\\"])" "\\\\\\1" value "${${name}}")
    string(APPEND switches "{\"${name}\", \"${value}\", \"${FACULA_STATE_${name}}\"},\n")
  endif()
endforeach()

set(libraries "")
foreach(row "OpenMP=${FACULA_OPENMP_TEXT}" "BLAS=${FACULA_BLAS_TEXT}"
            "oneDNN=${FACULA_ONEDNN_TEXT}" "CUDA=${FACULA_CUDA_TEXT}" "LLVM=no")
  string(REGEX MATCH "^([^=]*)=(.*)$" row "${row}")
  string(APPEND libraries "{\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_2}\"},\n")
endforeach()

set(sanitize "${FACULA_SANITIZE}")
if(NOT sanitize)
  set(sanitize "none")
endif()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/config/facula_config.inc @ONLY CONTENT
[[// Written by cmake/config.cmake.
#define FACULA_VERSION_TEXT "@PROJECT_VERSION@"
constexpr ConfigRow build_rows[] = {
{"version", "@PROJECT_VERSION@"},
{"build type", "@CMAKE_BUILD_TYPE@"},
{"compiler", "@CMAKE_CXX_COMPILER_ID@ @CMAKE_CXX_COMPILER_VERSION@"},
{"flags", "@options@"},
{"linker", "@FACULA_LINKER@"},
{"launcher", "@launcher@"},
{"sanitizer", "@sanitize@"},
};
constexpr ConfigRow library_rows[] = {
@libraries@};
constexpr SwitchRow switch_rows[] = {
@switches@};
]])

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/config/version.py @ONLY CONTENT
[["""Written by the build: which Facula this is."""

__version__ = "@PROJECT_VERSION@"
debug = "@CMAKE_BUILD_TYPE@" == "Debug"
cuda = None
hip = None
rocm = None
xpu = None
git_version = "@FACULA_GIT_VERSION@"
]])
