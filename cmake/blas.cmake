# The library behind BLAS=: anything with the cblas interface. OpenBLAS's OpenMP variant is asked
# for first, since it shares the thread pool; a variant with threads of its own is taken last.

if(BLAS STREQUAL "OpenBLAS")
  find_library(FACULA_CBLAS_LIBRARY NAMES openblas PATH_SUFFIXES
    x86_64-linux-gnu/openblas-openmp aarch64-linux-gnu/openblas-openmp openblas-openmp)
elseif(BLAS STREQUAL "MKL")
  # PyPI's package has the versioned file only.
  find_library(FACULA_CBLAS_LIBRARY NAMES mkl_rt libmkl_rt.so.3 libmkl_rt.so.2 PATHS $ENV{MKLROOT}/lib PATH_SUFFIXES intel64)
elseif(BLAS STREQUAL "BLIS")
  find_library(FACULA_CBLAS_LIBRARY NAMES blis-mt blis)
elseif(BLAS STREQUAL "Generic")
  find_library(FACULA_CBLAS_LIBRARY NAMES cblas blas openblas)
else()
  message(STATUS "BLAS=${BLAS} is not known (OpenBLAS, MKL, BLIS, Generic, none): none is used")
endif()

# The choice may change between two configures of one build folder: forget what the last one found.
set(facula_cblas_library ${FACULA_CBLAS_LIBRARY})
unset(FACULA_CBLAS_LIBRARY CACHE)

if(facula_cblas_library)
  set(HAVE_CBLAS 1)
  # Debian's name in the folder `openblas-openmp` is a link to the versioned file.
  file(REAL_PATH ${facula_cblas_library} facula_cblas_real)
  get_filename_component(facula_cblas_name ${facula_cblas_real} NAME)
  get_filename_component(facula_cblas_folder ${facula_cblas_library} DIRECTORY)
  get_filename_component(facula_cblas_folder ${facula_cblas_folder} NAME)
  set(FACULA_BLAS_TEXT "${BLAS} (${facula_cblas_folder}/${facula_cblas_name})")
  set(facula_cblas_soname ${facula_cblas_name})
  if(BLAS STREQUAL "OpenBLAS")
    set(facula_cblas_soname libopenblas.so.0)
  endif()
  # Nothing links with it: src/backends/cpu/{blas_choice,lapack}.cpp load it when it is first needed.
  set_property(SOURCE src/backends/cpu/blas_choice.cpp src/backends/cpu/lapack.cpp APPEND PROPERTY COMPILE_DEFINITIONS
    FC_CBLAS_PATH="${facula_cblas_library}" FC_CBLAS_NAME="${facula_cblas_soname}")
elseif(BLAS MATCHES "^(OpenBLAS|MKL|BLIS|Generic)$")
  message(STATUS "BLAS=${BLAS} was not found: the plain blocked product stands in")
endif()
