# Every switch of the build, under the names people know from PyTorch.
#
# A value is read from `-DNAME=value` and from the environment on every configure. The one that
# changed last wins, so neither an old cache entry nor an old export can stick; `works` switches
# leave their effective value in the plain variable NAME. What a switch does here is its state:
#
#   works        changes this build
#   reserved     has its place in the design, nothing to switch yet
#   meaningless  belongs to a part of PyTorch that Facula does not have
#
# facula_switch(name type default state help); type is BOOL, or STRING for a free value.

function(facula_truth value out)
  string(TOUPPER "${value}" upper)
  if(upper MATCHES "^(1|ON|TRUE|YES|Y)$")
    set(${out} ON PARENT_SCOPE)
  elseif(upper MATCHES "^(0|OFF|FALSE|NO|N|)$")
    set(${out} OFF PARENT_SCOPE)
  else()
    set(${out} INVALID PARENT_SCOPE)
  endif()
endfunction()

function(facula_switch name type default state help)
  list(APPEND FACULA_SWITCHES ${name})
  set(FACULA_SWITCHES "${FACULA_SWITCHES}" PARENT_SCOPE)

  # 1. Who spoke last? "-" stands for "not set".
  set(cached "-")
  if(DEFINED CACHE{${name}})
    set(cached "$CACHE{${name}}")
  endif()
  set(environment "-")
  if(DEFINED ENV{${name}})
    set(environment "$ENV{${name}}")
  endif()
  set(source "default")
  if(NOT cached STREQUAL "-" AND
     (environment STREQUAL "-" OR NOT cached STREQUAL "$CACHE{FACULA_SEEN_CACHE_${name}}"))
    set(source "cmake")
  elseif(NOT environment STREQUAL "-" AND
         (cached STREQUAL "-" OR NOT environment STREQUAL "$CACHE{FACULA_SEEN_ENV_${name}}"))
    set(source "environment")
  elseif(NOT cached STREQUAL "-")
    set(source "$CACHE{FACULA_SOURCE_${name}}")
  endif()
  set(FACULA_SEEN_CACHE_${name} "${cached}" CACHE INTERNAL "")
  set(FACULA_SEEN_ENV_${name} "${environment}" CACHE INTERNAL "")
  set(FACULA_SOURCE_${name} "${source}" CACHE INTERNAL "")

  # 2. Its value.
  set(value "${default}")
  if(source STREQUAL "cmake")
    set(value "${cached}")
  elseif(source STREQUAL "environment")
    set(value "${environment}")
  endif()
  if(type STREQUAL "BOOL")
    facula_truth("${value}" truth)
    if(truth STREQUAL "INVALID")
      message(STATUS "${name}=${value} (${source}) is neither true nor false: ignored, "
                     "${default} is used")
      set(truth ${default})
      set(source "default")
    endif()
    set(value ${truth})
  endif()

  # 3. What it means here.
  if(NOT source STREQUAL "default")
    if(state STREQUAL "works")
      message(STATUS "${name}=${value} (from ${source}): ${help}")
    elseif(state STREQUAL "reserved" AND NOT value STREQUAL default)
      message(STATUS "${name}=${value} (from ${source}) is reserved and changes nothing yet: "
                     "${help}")
    elseif(state STREQUAL "meaningless")
      message(STATUS "${name}=${value} (from ${source}) means nothing here: ${help}")
    endif()
  endif()
  if(NOT state STREQUAL "works")
    set(value ${default})
  endif()
  set(${name} "${value}" PARENT_SCOPE)
  set(FACULA_STATE_${name} "${state}" PARENT_SCOPE)
  set(FACULA_FROM_${name} "${source}" PARENT_SCOPE)
endfunction()

# ---- the table ----------------------------------------------------------------------------------
#             name               type   default state       help
facula_switch(DEBUG              BOOL   OFF     works       "unoptimised build with full symbols")
facula_switch(REL_WITH_DEB_INFO  BOOL   OFF     works       "optimised build with full symbols")
facula_switch(BUILD_TEST         BOOL   ON      works       "the C++ tests")
facula_switch(BUILD_PYTHON       BOOL   ON      works       "the Python module")
facula_switch(BUILD_SHARED_LIBS  BOOL   ON      reserved    "libfacula is always a shared library")
facula_switch(USE_OPENMP         BOOL   ON      works       "OpenMP as the one thread pool (off: an own pool)")
facula_switch(USE_MKLDNN         BOOL   ON      works       "oneDNN for products and convolutions")
facula_switch(USE_NUMPY          BOOL   ON      meaningless "NumPy is found at run time; nothing is compiled against it")
facula_switch(BLAS               STRING OpenBLAS works      "OpenBLAS, MKL, BLIS, Generic (any cblas) or none")
facula_switch(USE_BLAS           BOOL   ON      works       "the library named by BLAS")
facula_switch(USE_CCACHE         BOOL   ON      works       "ccache as the compiler's launcher when found")
facula_switch(USE_MOLD           BOOL   ON      works       "mold, else lld, as the linker when found")
facula_switch(USE_NINJA          BOOL   ON      works       "Ninja runs the build when found (off: make)")
facula_switch(WERROR             BOOL   OFF     works       "warnings are errors")
facula_switch(MAX_JOBS           STRING ""      works       "jobs of make build (default: all cores)")
facula_switch(USE_HAMMERBLADE    BOOL   ON      works       "the HammerBlade device, emulated (libfacula_hb)")
facula_switch(USE_CUDA           BOOL   OFF     reserved    "the CUDA backend is not written yet")
facula_switch(USE_CUDNN          BOOL   OFF     reserved    "comes with the CUDA backend")
facula_switch(USE_LLVM           STRING OFF     reserved    "the fusing compiler is not written yet")
facula_switch(USE_DISTRIBUTED    BOOL   ON      works       "engines of torch.distributed, where their libraries are found")
facula_switch(USE_NCCL           BOOL   ON      works       "process groups over NCCL (CUDA's toolkit with nccl.h; loaded at run time)")
facula_switch(USE_GLOO           BOOL   ON      works       "process groups over Gloo (libgloo-dev)")
facula_switch(USE_MPI            BOOL   ON      works       "process groups over MPI (libopenmpi-dev or libmpich-dev)")
facula_switch(USE_SYSTEM_NCCL    BOOL   ON      meaningless "NCCL is the one that is found at run time")
facula_switch(CUDA_PATH          STRING ""      works       "the CUDA toolkit, shown until there is a CUDA backend")
facula_switch(TORCH_CUDA_ARCH_LIST STRING ""    works       "architectures, shown until there is a CUDA backend")
facula_switch(USE_KINETO         BOOL   OFF     meaningless "the profiler is a layer and always there")
facula_switch(USE_ITT            BOOL   OFF     meaningless "the profiler is a layer and always there")
facula_switch(USE_FBGEMM         BOOL   OFF     meaningless "products go to oneDNN or BLAS")
facula_switch(USE_NNPACK         BOOL   OFF     meaningless "products go to oneDNN or BLAS")
facula_switch(USE_QNNPACK        BOOL   OFF     meaningless "products go to oneDNN or BLAS")
facula_switch(USE_PYTORCH_QNNPACK BOOL  OFF     meaningless "products go to oneDNN or BLAS")
facula_switch(USE_XNNPACK        BOOL   OFF     meaningless "products go to oneDNN or BLAS")
facula_switch(USE_MKL            BOOL   OFF     meaningless "BLAS=MKL chooses it")
facula_switch(USE_FLASH_ATTENTION BOOL  OFF     meaningless "attention is one operator, and always there")
facula_switch(USE_MEM_EFF_ATTENTION BOOL OFF    meaningless "attention is one operator, and always there")
facula_switch(USE_PRECOMPILED_HEADERS BOOL OFF  meaningless "headers are small")
facula_switch(USE_PER_OPERATOR_HEADERS BOOL OFF meaningless "headers hold no list of operators")
facula_switch(USE_TENSORPIPE     BOOL   OFF     meaningless "there is no RPC")
facula_switch(USE_ROCM           BOOL   OFF     meaningless "other devices come as backend plugins")
facula_switch(USE_XPU            BOOL   OFF     meaningless "other devices come as backend plugins")
facula_switch(USE_MPS            BOOL   OFF     meaningless "other devices come as backend plugins")
facula_switch(USE_TBB            BOOL   OFF     meaningless "one thread pool: OpenMP or our own")
facula_switch(USE_NATIVE_ARCH    BOOL   OFF     meaningless "kernels are chosen at run time")
facula_switch(BUILD_CAFFE2       BOOL   OFF     meaningless "there is no Caffe2 here")
facula_switch(BUILD_CAFFE2_OPS   BOOL   OFF     meaningless "there is no Caffe2 here")
facula_switch(BUILD_BINARY       BOOL   OFF     meaningless "benchmarks are Python scripts")

# The generator is chosen before this is read: by tools/configure.sh, or by pyproject.toml's overrides.
set(ninja OFF)
if(CMAKE_GENERATOR MATCHES "Ninja")
  set(ninja ON)
endif()
if(FACULA_FROM_USE_NINJA STREQUAL "cmake" AND NOT USE_NINJA STREQUAL ninja)
  message(STATUS "USE_NINJA=${USE_NINJA} comes too late from -D: give -G, or set it in the environment of make or setup.py")
endif()
set(USE_NINJA ${ninja})

# ---- names that look like switches but are none --------------------------------------------------
get_cmake_property(facula_cache_names CACHE_VARIABLES)
execute_process(COMMAND ${CMAKE_COMMAND} -E environment OUTPUT_VARIABLE facula_environment)
string(REGEX MATCHALL "(^|\n)(USE|BUILD)_[A-Z0-9_]+=" facula_env_names "${facula_environment}")
foreach(name IN LISTS facula_env_names facula_cache_names)
  string(REGEX REPLACE "[\n=]" "" name "${name}")
  if(name MATCHES "^(USE|BUILD)_[A-Z0-9_]+$" AND NOT name IN_LIST FACULA_SWITCHES AND
     NOT name STREQUAL "BUILD_TESTING")
    message(STATUS "${name} is no switch of this build: ignored (cmake/options.cmake lists all)")
  endif()
endforeach()
