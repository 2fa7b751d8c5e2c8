# The HammerBlade device: libfacula_hb, the emulator and its runtime. It needs nothing of libfacula.
#
# facula_hb_kernels(NAME SOURCE...) makes a library of kernels, NAME.so for fast and NAME.check.so for check mode, with the
# flags that runtime/compile.cpp uses for files that are compiled later.

if(NOT USE_HAMMERBLADE)
  return()
endif()
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR FACULA_SANITIZE STREQUAL "thread")
  # Check mode answers the calls that -fsanitize=thread makes, and so does the sanitizer.
  message(STATUS "the HammerBlade device is built on Linux only, and not with ThreadSanitizer")
  return()
endif()

set(hammerblade src/backends/hammerblade)
file(GLOB hammerblade_sources CONFIGURE_DEPENDS ${hammerblade}/runtime/*.cpp ${hammerblade}/emulator/*.cpp
  ${hammerblade}/simulator/*.cpp)
find_package(Threads REQUIRED)
add_library(facula_hb SHARED ${hammerblade_sources})
# Rounding modes and flags are read and set between operations.
set_source_files_properties(${hammerblade}/simulator/execute.cpp PROPERTIES COMPILE_OPTIONS
  "-frounding-math;-ftrapping-math;-ffp-contract=off")
target_include_directories(facula_hb PRIVATE src)
target_compile_definitions(facula_hb PRIVATE FACULA_HB_TREE="${PROJECT_SOURCE_DIR}/${hammerblade}")
target_link_libraries(facula_hb PRIVATE facula_flags Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(facula_hb PRIVATE -Wl,-z,nodelete)   # its threads live as long as the process
set_target_properties(facula_hb PROPERTIES CXX_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/facula INSTALL_RPATH "$ORIGIN")
if(SKBUILD)
  install(TARGETS facula_hb LIBRARY DESTINATION facula)
  install(DIRECTORY ${hammerblade}/include ${hammerblade}/machines ${hammerblade}/kernels ${hammerblade}/chip DESTINATION facula/share/hammerblade)
else()
  install(TARGETS facula_hb LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${hammerblade}/include ${hammerblade}/machines ${hammerblade}/kernels ${hammerblade}/chip
          DESTINATION ${CMAKE_INSTALL_DATADIR}/facula/hammerblade)
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(hammerblade_wide ON)
endif()
function(facula_hb_kernels name)
  foreach(variant IN ITEMS "" ".check")
    string(REPLACE "." "_" target "facula_hb_${name}${variant}")
    add_library(${target} MODULE ${ARGN})
    target_include_directories(${target} PRIVATE src include ${hammerblade}/include/device)
    target_compile_definitions(${target} PRIVATE HB_EMUL)
    target_compile_options(${target} PRIVATE -Wall -Wextra -g -fno-exceptions -fno-rtti -fno-math-errno -fno-trapping-math
      -ffp-contract=off -fwrapv -funsigned-char -fno-stack-protector -U_FORTIFY_SOURCE -fstack-clash-protection)
    target_link_libraries(${target} PRIVATE facula_hb)
    target_link_options(${target} PRIVATE -nostartfiles -Wl,-z,relro,-z,now)
    if(variant STREQUAL ".check")
      target_compile_definitions(${target} PRIVATE HB_EMUL_CHECK)
      target_compile_options(${target} PRIVATE -O1 -fno-omit-frame-pointer -fsanitize=thread
        "SHELL:-include hb_emul_calls.h" -fno-builtin-memcpy -fno-builtin-memset -fno-builtin-memmove
        -fno-builtin-memcmp -fno-builtin-strlen)
      target_link_options(${target} PRIVATE
        -Wl,--wrap=memcpy,--wrap=memset,--wrap=memmove,--wrap=memcmp,--wrap=strlen)
    else()
      # The vectors of every processor since 2013; the backend looks before it loads them. Newer ones have wider vectors,
      # which loops over floats use where they are there (clang has no such attribute).
      target_compile_options(${target} PRIVATE -O3 $<$<BOOL:${hammerblade_wide}>:-march=x86-64-v3>)
      if(hammerblade_wide AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_definitions(${target} PRIVATE
          "HB_EMUL_WIDE=__attribute__((target(\"avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512\")))")
      endif()
    endif()
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME "${name}${variant}" CXX_VISIBILITY_PRESET hidden
      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/facula BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
    if(SKBUILD)
      install(TARGETS ${target} LIBRARY DESTINATION facula)
    endif()
  endforeach()
endfunction()

# ---- the kernels of the framework's operators, and the backend ---------------------------------------
option(FACULA_HB_SANITIZED "the HammerBlade backend in sanitized builds, too (docs/reliability.md)" OFF)
if(FACULA_SANITIZE AND NOT FACULA_HB_SANITIZED)
  return()   # check mode is their sanitizer; the emulator's tests bring kernels of their own
endif()
file(GLOB hammerblade_kernels CONFIGURE_DEPENDS ${hammerblade}/kernels/*.cpp)
facula_hb_kernels(hammerblade_kernels ${hammerblade_kernels})
file(GLOB hammerblade_plugin CONFIGURE_DEPENDS ${hammerblade}/plugin*.cpp)
add_library(facula_hammerblade MODULE ${hammerblade_plugin})
target_include_directories(facula_hammerblade PRIVATE src include)
target_compile_definitions(facula_hammerblade PRIVATE HB_EMUL)
target_link_libraries(facula_hammerblade PRIVATE facula_hb facula_flags)
set_target_properties(facula_hammerblade PROPERTIES PREFIX "" OUTPUT_NAME hammerblade_backend CXX_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/facula BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
if(SKBUILD)
  install(TARGETS facula_hammerblade LIBRARY DESTINATION facula)
  install(DIRECTORY src/kernels DESTINATION facula/share/hammerblade/include/formulas)
endif()

# ---- the value profiler for programs in CUDA-Lite: libfacula_hb loads it where FACULA_HB_WATCH names it -----------
add_library(facula_hb_values MODULE src/watch/cuda_lite.cpp)
target_include_directories(facula_hb_values PRIVATE src include)
target_link_libraries(facula_hb_values PRIVATE facula_hb facula facula_flags)
set_target_properties(facula_hb_values PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/facula BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
if(SKBUILD)
  install(TARGETS facula_hb_values LIBRARY DESTINATION facula)
endif()
