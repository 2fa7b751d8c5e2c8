# oneDNN with the v3 interface, built on libgomp: from PyPI's onednn-devel-cpu-gomp, or a system's.
#
# Sets oneDNN_FOUND, oneDNN_VERSION and the target oneDNN::oneDNN. Debian 12's 2.6 is refused by
# version; PyPI's newer `onednn` wheels are refused by their needs (SYCL, TBB: a second pool).

set(onednn_hints ${oneDNN_ROOT} $ENV{ONEDNN_ROOT})
if(Python_EXECUTABLE)
  # The wheel puts its header into the prefix it was installed to; only its record knows which.
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c "
import importlib.metadata as m, sys
try:
    files = m.files('onednn-devel-cpu-gomp') or ()
except m.PackageNotFoundError:
    files = ()
for f in files:
    if str(f).endswith('oneapi/dnnl/dnnl.h'):
        print(f.locate().resolve().parents[3])
print(sys.prefix)"
    OUTPUT_VARIABLE onednn_prefixes OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" onednn_prefixes "${onednn_prefixes}")
  list(APPEND onednn_hints ${onednn_prefixes})
endif()

unset(oneDNN_INCLUDE_DIR CACHE)
unset(oneDNN_LIBRARY CACHE)
find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h HINTS ${onednn_hints} PATH_SUFFIXES include)
find_library(oneDNN_LIBRARY NAMES libdnnl.so.3 dnnl HINTS ${onednn_hints} PATH_SUFFIXES lib)
mark_as_advanced(oneDNN_INCLUDE_DIR oneDNN_LIBRARY)

if(oneDNN_INCLUDE_DIR)
  file(STRINGS ${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h onednn_lines
    REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" onednn_lines "${onednn_lines}")
  string(REPLACE ";" "." oneDNN_VERSION "${onednn_lines}")
  file(STRINGS ${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_config.h onednn_runtime
    REGEX "#define DNNL_CPU_RUNTIME DNNL_RUNTIME_(OMP|SEQ)")
  if(NOT onednn_runtime)
    message(STATUS "oneDNN ${oneDNN_VERSION} brings a thread pool of its own: not used")
    unset(oneDNN_LIBRARY)
  endif()
  if(oneDNN_VERSION VERSION_GREATER_EQUAL 4)
    message(STATUS "oneDNN ${oneDNN_VERSION} is newer than the interface used here: not used")
    unset(oneDNN_LIBRARY)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(oneDNN REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR
  VERSION_VAR oneDNN_VERSION)

if(oneDNN_FOUND AND NOT TARGET oneDNN::oneDNN)
  add_library(oneDNN::oneDNN SHARED IMPORTED)
  set_target_properties(oneDNN::oneDNN PROPERTIES
    IMPORTED_LOCATION ${oneDNN_LIBRARY} IMPORTED_SONAME libdnnl.so.3
    INTERFACE_INCLUDE_DIRECTORIES ${oneDNN_INCLUDE_DIR})
endif()
