# Vector kernels: src/backends/cpu/isa/*.cpp, each compiled once per instruction set with FC_ISA set
# to the set's name (the sources use it as a namespace); the choice is made at run time.
#
# The order matters: inline functions of the standard library are emitted by all variants, and a
# linker keeps the first definition it sees. Baseline first keeps wide instructions out of them.

set(kernel_sets baseline)
set(kernel_flags_baseline "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND kernel_sets avx2)
  if(NOT FACULA_SANITIZE)   # the same sources a third time would find nothing new
    list(APPEND kernel_sets avx512)
  endif()
  set(kernel_flags_avx2 -march=x86-64-v3)
  set(kernel_flags_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
endif()

# Copies, scatters, scans and ranges are plain loops: no instruction set of their own, but they must be vectorised.
if(CMAKE_BUILD_TYPE MATCHES "Rel" AND NOT FACULA_SANITIZE)
  set_source_files_properties(src/backends/cpu/map.cpp src/backends/cpu/edges.cpp src/backends/cpu/pool.cpp src/backends/cpu/walk.cpp src/backends/cpu/gather_scatter.cpp
    src/backends/cpu/embedding_bag.cpp src/backends/cpu/scan.cpp src/ops/creation.cpp src/observe/values/stats.cpp PROPERTIES COMPILE_OPTIONS -O3)
endif()

file(GLOB kernel_sources CONFIGURE_DEPENDS src/backends/cpu/isa/*.cpp)
set(kernel_objects "")
foreach(set IN LISTS kernel_sets)
  string(TOUPPER FC_HAVE_${set} have)
  target_compile_definitions(facula_flags INTERFACE ${have}=1)
  if(kernel_sources)
    add_library(facula_kernels_${set} OBJECT ${kernel_sources})
    target_include_directories(facula_kernels_${set} PRIVATE include src)
    target_link_libraries(facula_kernels_${set} PRIVATE facula_flags facula_libraries)
    target_compile_definitions(facula_kernels_${set} PRIVATE FC_ISA=${set})
    # -ffp-contract=off: formulas say fma where they mean it, so that body and tail agree bit by bit.
    target_compile_options(facula_kernels_${set} PRIVATE ${kernel_flags_${set}}
      -fno-trapping-math -ffp-contract=off)
    # The other variant of a sanitized build looks for undefined behaviour in the same sources (compiler.cmake).
    if(set STREQUAL "baseline" AND "avx2" IN_LIST kernel_sets)
      set_target_properties(facula_kernels_${set} PROPERTIES FACULA_DEFINED ON)
    endif()
    # The baseline is for machines older than 2013: built to be right, and quickly built.
    if(CMAKE_BUILD_TYPE MATCHES "Rel" AND NOT FACULA_SANITIZE AND NOT set STREQUAL "baseline")
      target_compile_options(facula_kernels_${set} PRIVATE -O3)
    endif()
    list(APPEND kernel_objects $<TARGET_OBJECTS:facula_kernels_${set}>)
  endif()
endforeach()
