# What is known of CUDA before there is a backend for it: the toolkit that CUDA_PATH names, and the architectures of
# TORCH_CUDA_ARCH_LIST ("8.0 9.0+PTX", "Ampere;Hopper"), checked here and shown on the configuration page.

set(FACULA_CUDA_TEXT "no")
if(CUDA_PATH)
  if(EXISTS ${CUDA_PATH}/bin/nvcc)
    execute_process(COMMAND ${CUDA_PATH}/bin/nvcc --version OUTPUT_VARIABLE version ERROR_QUIET TIMEOUT 10)
    if(version MATCHES "release ([0-9.]+)")
      set(toolkit "toolkit ${CMAKE_MATCH_1}")
    else()
      set(toolkit "a toolkit that does not tell its version")
    endif()
    set(FACULA_CUDA_TEXT "no backend yet (${toolkit} in ${CUDA_PATH})")
  else()
    message(STATUS "CUDA_PATH=${CUDA_PATH} holds no bin/nvcc: no toolkit is shown")
  endif()
endif()

string(REGEX REPLACE "[ ,;]+" ";" architectures "${TORCH_CUDA_ARCH_LIST}")
foreach(architecture IN LISTS architectures)
  if(NOT architecture MATCHES "^([0-9]+\\.[0-9][af]?|Maxwell|Pascal|Volta|Turing|Ampere|Ada|Hopper|Blackwell)([+](PTX|Tegra))?$" AND
     NOT architecture MATCHES "^(All|Common|Auto)$")
    message(STATUS "TORCH_CUDA_ARCH_LIST: ${architecture} is no architecture (8.0, 9.0+PTX or Hopper is one)")
  endif()
endforeach()
