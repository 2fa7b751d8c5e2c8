# The engines of torch.distributed, a library each beside libfacula, where what they are made of is found.
#
# facula_engine(NAME LIBRARY...) makes libfacula_NAME.so from src/distributed/engines/NAME.cpp.

function(facula_engine name)
  add_library(facula_${name} MODULE src/distributed/engines/${name}.cpp)
  target_include_directories(facula_${name} PRIVATE src include)
  target_link_libraries(facula_${name} PRIVATE facula facula_flags ${ARGN})
  set_target_properties(facula_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/facula BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  if(SKBUILD)
    install(TARGETS facula_${name} LIBRARY DESTINATION facula)
  else()
    install(TARGETS facula_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endfunction()

if(NOT USE_DISTRIBUTED)
  return()
endif()

if(USE_GLOO)
  find_path(GLOO_INCLUDE_DIR gloo/transport/tcp/device.h)
  find_library(GLOO_LIBRARY gloo)
  if(GLOO_INCLUDE_DIR AND GLOO_LIBRARY)
    facula_engine(gloo ${GLOO_LIBRARY})
    target_include_directories(facula_gloo SYSTEM PRIVATE ${GLOO_INCLUDE_DIR})
  else()
    message(STATUS "Gloo was not found (libgloo-dev): torch.distributed has no backend 'gloo'")
  endif()
endif()

if(USE_MPI)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    facula_engine(mpi MPI::MPI_CXX)
  else()
    message(STATUS "MPI was not found (libopenmpi-dev or libmpich-dev): torch.distributed has no backend 'mpi'")
  endif()
endif()

if(USE_NCCL)
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDA_PATH} /usr/local/cuda PATH_SUFFIXES include)
  find_path(CUDA_RUNTIME_INCLUDE_DIR cuda_runtime_api.h HINTS ${CUDA_PATH} /usr/local/cuda PATH_SUFFIXES include)
  if(NCCL_INCLUDE_DIR AND CUDA_RUNTIME_INCLUDE_DIR)
    file(STRINGS ${CUDA_RUNTIME_INCLUDE_DIR}/cuda_runtime_api.h version REGEX "^#define CUDART_VERSION +[0-9]+")
    string(REGEX REPLACE "[^0-9]" "" version "${version}")
    math(EXPR FACULA_CUDA_MAJOR "${version} / 1000")
    facula_engine(nccl ${CMAKE_DL_LIBS})
    target_include_directories(facula_nccl SYSTEM PRIVATE ${NCCL_INCLUDE_DIR} ${CUDA_RUNTIME_INCLUDE_DIR})
    target_compile_definitions(facula_nccl PRIVATE FC_CUDA_MAJOR=${FACULA_CUDA_MAJOR})
    # The toolkit's own libraries are found where it was compiled, LD_LIBRARY_PATH's before them.
    get_filename_component(toolkit ${CUDA_RUNTIME_INCLUDE_DIR}/.. ABSOLUTE)
    set_target_properties(facula_nccl PROPERTIES BUILD_RPATH "$ORIGIN;${toolkit}/lib64;${toolkit}/lib"
      INSTALL_RPATH "$ORIGIN;${toolkit}/lib64;${toolkit}/lib")
  else()
    message(STATUS "NCCL was not found (nccl.h of CUDA's toolkit): torch.distributed has no backend 'nccl'")
  endif()
endif()
