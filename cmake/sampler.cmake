# The two libraries that `facula profile --so` loads into the program it looks at, beside libfacula and apart from it:
# the sampler is preloaded, the counter of calls is an audit module of the dynamic linker. Both are of this machine and
# of glibc (registers, unwinding tables, rtld-audit); a sanitizer must be loaded first, so it has neither.

if(FACULA_SANITIZE OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  return()
endif()
include(CheckSymbolExists)
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
check_symbol_exists(_dl_find_object dlfcn.h HAVE_DL_FIND_OBJECT)
unset(CMAKE_REQUIRED_DEFINITIONS)
if(NOT HAVE_DL_FIND_OBJECT)
  message(STATUS "glibc is older than 2.35: the library profiler is not built")
  return()
endif()

set(sampler src/sampler)
add_library(facula_sampler MODULE ${sampler}/sampler.cpp ${sampler}/store.cpp ${sampler}/unwind.cpp ${sampler}/cfi.cpp
  ${sampler}/python_frames.cpp ${sampler}/own_signals.cpp)
add_library(facula_calls MODULE ${sampler}/audit.cpp ${sampler}/count_calls.cpp)
set_source_files_properties(${sampler}/count_calls.cpp PROPERTIES COMPILE_OPTIONS -mgeneral-regs-only)
foreach(library facula_sampler facula_calls)
  target_include_directories(${library} PRIVATE src)
  target_compile_options(${library} PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
  target_link_libraries(${library} PRIVATE facula_flags)
  set_target_properties(${library} PROPERTIES CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/facula)
  if(SKBUILD)
    install(TARGETS ${library} LIBRARY DESTINATION facula)
  endif()
endforeach()
