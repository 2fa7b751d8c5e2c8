# ctest: the C++ tests, the programs a sanitizer must stop, and the example outside the tree.

enable_testing()
find_package(GTest QUIET)
file(GLOB test_sources CONFIGURE_DEPENDS tests/cpp/*.cpp tests/fuzz/*.cpp)
list(FILTER test_sources EXCLUDE REGEX "/fuzz/main.cpp$")   # libFuzzer's entry: tools/fuzz.sh
if(NOT GTest_FOUND)
  message(STATUS "GoogleTest was not found: the C++ tests are not built (make setup installs it)")
elseif(test_sources)
  add_executable(facula_tests ${test_sources})
  target_link_libraries(facula_tests PRIVATE facula facula_flags GTest::gtest_main)
  set_target_properties(facula_tests PROPERTIES FACULA_DEFINED ON)  # the sanitizer looks at what is tested
  if(HAVE_OPENMP)
    target_link_libraries(facula_tests PRIVATE OpenMP::OpenMP_CXX)
  endif()
  target_compile_definitions(facula_tests PRIVATE FC_TEST_CORPUS="${PROJECT_SOURCE_DIR}/tests/fuzz/corpus"
    FC_TEST_GOLDEN="${PROJECT_SOURCE_DIR}/tests/golden")
  add_test(NAME facula_tests COMMAND facula_tests)
endif()

# Backends for tests/backends: one that misbehaves, and the example outside the tree.
foreach(row hostile=tests/backends/hostile.cpp versatile=tests/backends/versatile.cpp example=examples/backend/example.cpp)
  string(REGEX MATCH "^(.*)=(.*)$" row "${row}")
  add_library(facula_${CMAKE_MATCH_1}_backend MODULE ${CMAKE_MATCH_2})
  target_include_directories(facula_${CMAKE_MATCH_1}_backend PRIVATE include)
  target_link_libraries(facula_${CMAKE_MATCH_1}_backend PRIVATE facula_flags)
  set_target_properties(facula_${CMAKE_MATCH_1}_backend PROPERTIES PREFIX "" OUTPUT_NAME ${CMAKE_MATCH_1}
    CXX_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/backends)
endforeach()

# Kernels for tests/hammerblade: sound ones, and one defective file for each defect that check mode finds.
if(TARGET facula_hb)
  file(GLOB defective CONFIGURE_DEPENDS tests/hammerblade/defective/*.cpp)
  facula_hb_kernels(sound tests/hammerblade/sound.cpp)
  facula_hb_kernels(defective ${defective})
  foreach(target facula_hb_sound facula_hb_sound_check facula_hb_defective facula_hb_defective_check)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0   # small files, one heavy header
      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/hammerblade BUILD_RPATH ${PROJECT_BINARY_DIR}/python/facula)
    target_compile_options(${target} PRIVATE -Wno-infinite-recursion)
  endforeach()
endif()

# For tests/distributed: what stands in for NCCL and CUDA's runtime, one library under both names.
if(TARGET facula_nccl)
  add_library(facula_fake_nccl SHARED tests/distributed/fake_nccl.cpp)
  find_package(Threads REQUIRED)
  target_link_libraries(facula_fake_nccl PRIVATE facula_flags Threads::Threads)
  target_include_directories(facula_fake_nccl SYSTEM PRIVATE ${NCCL_INCLUDE_DIR} ${CUDA_RUNTIME_INCLUDE_DIR})
  set_target_properties(facula_fake_nccl PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/distributed
    OUTPUT_NAME nccl SUFFIX .so.2 NO_SONAME ON)
  add_custom_command(TARGET facula_fake_nccl POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink libnccl.so.2
    ${PROJECT_BINARY_DIR}/tests/distributed/libcudart.so.${FACULA_CUDA_MAJOR})
endif()

# BLAS libraries for tests/test_blas.py, one for each way that they differ.
foreach(row "cblas=-DBLAS_INT=int32_t -DBLAS_NAME(x)=cblas_##x" "cblas64=-DBLAS_INT=int64_t -DBLAS_NAME(x)=cblas_##x##64_"
            "unmarked64=-DBLAS_INT=int64_t -DBLAS_NAME(x)=cblas_##x"
            "fortran=-DBLAS_INT=int32_t -DBLAS_NAME(x)=x##_ -DBLAS_FORTRAN"
            "fortran64=-DBLAS_INT=int64_t -DBLAS_NAME(x)=x##_64_ -DBLAS_FORTRAN"
            "half=-DBLAS_INT=int32_t -DBLAS_NAME(x)=cblas_##x -DBLAS_LACKS_DGEMM"
            "serial=-DBLAS_INT=int32_t -DBLAS_NAME(x)=cblas_##x -DBLAS_SERIAL"
            "layers=-DBLAS_INT=int32_t -DBLAS_NAME(x)=cblas_##x -DBLAS_LAYERS"
            "wrong=-DBLAS_INT=int32_t -DBLAS_NAME(x)=cblas_##x -DBLAS_WRONG")
  string(REGEX MATCH "^([^=]*)=(.*)$" row "${row}")
  separate_arguments(options UNIX_COMMAND "${CMAKE_MATCH_2}")
  add_library(facula_blas_${CMAKE_MATCH_1} MODULE tests/blas/counting.cpp)
  target_compile_options(facula_blas_${CMAKE_MATCH_1} PRIVATE -fvisibility=hidden ${options})
  target_link_libraries(facula_blas_${CMAKE_MATCH_1} PRIVATE facula_flags)
  set_target_properties(facula_blas_${CMAKE_MATCH_1} PROPERTIES PREFIX "" OUTPUT_NAME ${CMAKE_MATCH_1}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/blas)
endforeach()

# Preloaded by tests/faults: makes allocations fail. A sanitizer has its own.
if(NOT FACULA_SANITIZE)
  add_library(facula_faults MODULE tests/faults/faults.cpp)
  target_link_libraries(facula_faults PRIVATE facula_flags)
  set_target_properties(facula_faults PROPERTIES PREFIX "" OUTPUT_NAME faults
    CXX_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/faults)
endif()

# A sanitizer that is not on finds nothing: each of these must be stopped, with these words.
if(FACULA_SANITIZE)
  add_executable(facula_must_crash tests/must_crash/must_crash.cpp)
  target_link_libraries(facula_must_crash PRIVATE facula facula_flags Threads::Threads)
  set(crashes_address
    "overrun=heap-buffer-overflow|insufficient space" "overflow=signed integer overflow" "leak=detected memory leaks")
  set(crashes_thread "race=data race")
  foreach(row IN LISTS crashes_${FACULA_SANITIZE})
    string(REGEX MATCH "^(.*)=(.*)$" row "${row}")
    add_test(NAME must_crash_${CMAKE_MATCH_1} COMMAND facula_must_crash ${CMAKE_MATCH_1})
    set_tests_properties(must_crash_${CMAKE_MATCH_1} PROPERTIES
      PASS_REGULAR_EXPRESSION "${CMAKE_MATCH_2}")
  endforeach()
else()
  add_test(NAME install COMMAND ${CMAKE_COMMAND}
    -D build=${PROJECT_BINARY_DIR} -D source=${PROJECT_SOURCE_DIR} -D compiler=${CMAKE_CXX_COMPILER}
    -P ${PROJECT_SOURCE_DIR}/cmake/test_install.cmake)
endif()

# Counted and timed by tools/build_stats.py.
add_executable(facula_call_cost EXCLUDE_FROM_ALL tools/call_cost.cpp)
target_link_libraries(facula_call_cost PRIVATE facula facula_flags)

# What the backend contract costs a call (make bench-backend).
add_executable(facula_backend_calls EXCLUDE_FROM_ALL benchmarks/backend_calls.cpp)
target_link_libraries(facula_backend_calls PRIVATE facula facula_flags)

# Times every pointwise kernel, and compares the results of two builds.
add_executable(facula_formulas EXCLUDE_FROM_ALL benchmarks/formulas.cpp)
target_link_libraries(facula_formulas PRIVATE facula facula_flags)

# The C++ examples, into BUILD/examples, where tests/test_training.py finds them.
if(EXISTS ${PROJECT_SOURCE_DIR}/include/facula/facula.h)
  file(GLOB example_sources CONFIGURE_DEPENDS examples/cpp/*.cpp)
  foreach(source IN LISTS example_sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE facula facula_flags)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    if(name STREQUAL run_archive)
      add_test(NAME ${name} COMMAND ${name} ${PROJECT_SOURCE_DIR}/tests/golden/jit/archives/theirs_script_Small.pt 2 3 5 5)
    else()
      add_test(NAME ${name} COMMAND ${name} --steps 2)
    endif()
  endforeach()
endif()
