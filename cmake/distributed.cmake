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
