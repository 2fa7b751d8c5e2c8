# Libraries that are used when found: threads, OpenMP, BLAS, oneDNN. None is required.
# What was found is told to sources as FC_HAVE_OPENMP, FC_HAVE_CBLAS, FC_HAVE_ONEDNN (0 or 1)
# and to the configuration page as FACULA_*_TEXT.

find_package(Threads REQUIRED)
add_library(facula_libraries INTERFACE)
target_link_libraries(facula_libraries INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

# ---- Python: names the prefix where packages from PyPI put their libraries ------------------------
if(NOT Python_EXECUTABLE AND NOT DEFINED ENV{VIRTUAL_ENV} AND NOT DEFINED ENV{CONDA_PREFIX} AND
   EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()
set(Python_FIND_VIRTUALENV FIRST)
find_package(Python 3.10 COMPONENTS Interpreter Development.Module)
# What lies in the environment (OpenBLAS by `make openblas-install`, everything in conda's) comes before the system's.
if(Python_EXECUTABLE)
  get_filename_component(facula_environment ${Python_EXECUTABLE} DIRECTORY)
  get_filename_component(facula_environment ${facula_environment} DIRECTORY)
  list(APPEND CMAKE_PREFIX_PATH ${facula_environment})
endif()

# ---- OpenMP ---------------------------------------------------------------------------------------
set(HAVE_OPENMP 0)
set(FACULA_OPENMP_TEXT "no: an own thread pool is used")
if(USE_OPENMP)
  find_package(OpenMP COMPONENTS CXX)
  if(OpenMP_CXX_FOUND)
    set(HAVE_OPENMP 1)
    set(FACULA_OPENMP_TEXT "${OpenMP_CXX_VERSION} (${OpenMP_CXX_LIB_NAMES})")
    string(REPLACE ";" " " FACULA_OPENMP_TEXT "${FACULA_OPENMP_TEXT}")
    target_link_libraries(facula_libraries INTERFACE OpenMP::OpenMP_CXX)
  endif()
endif()

# ---- BLAS -----------------------------------------------------------------------------------------
set(HAVE_CBLAS 0)
set(FACULA_BLAS_TEXT "no: the plain blocked product is used")
if(USE_BLAS AND NOT BLAS MATCHES "^([Nn]one|NONE|OFF|0)$")
  include(${PROJECT_SOURCE_DIR}/cmake/blas.cmake)
endif()

include(${PROJECT_SOURCE_DIR}/cmake/cuda.cmake)

# ---- oneDNN ---------------------------------------------------------------------------------------
set(HAVE_ONEDNN 0)
set(FACULA_ONEDNN_TEXT "no")
if(USE_MKLDNN)
  find_package(oneDNN 3.0)
  if(oneDNN_FOUND)
    set(HAVE_ONEDNN 1)
    set(FACULA_ONEDNN_TEXT "${oneDNN_VERSION}")
    # Nothing links with it: src/backends/cpu/onednn.cpp loads it when it is first needed.
    target_include_directories(facula_libraries SYSTEM INTERFACE ${oneDNN_INCLUDE_DIR})
    set_property(SOURCE src/backends/cpu/onednn.cpp APPEND PROPERTY COMPILE_DEFINITIONS
      FC_ONEDNN_PATH="${oneDNN_LIBRARY}")
  endif()
endif()

set(HAVE_NUMPY 0)
if(USE_NUMPY)
  set(HAVE_NUMPY 1)
endif()
target_compile_definitions(facula_flags INTERFACE FC_HAVE_OPENMP=${HAVE_OPENMP}
  FC_HAVE_CBLAS=${HAVE_CBLAS} FC_HAVE_ONEDNN=${HAVE_ONEDNN} FC_HAVE_NUMPY=${HAVE_NUMPY})
