// SPDX-License-Identifier: Apache-2.0
// The device functions of the PyTorch HammerBlade port, over CUDA-Lite. The device opens itself at first use, with the
// kernels of Facula's operators or the program named by FACULA_HB_PROGRAM. A failure throws std::runtime_error.
#pragma once

#include <bsg_manycore_cuda.h>
#include <facula_hb.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace c10::hammerblade {

inline void check(int status) {
  if (status == HB_MC_SUCCESS) return;
  throw std::runtime_error(std::string("HammerBlade error: ") + hb_mc_strerror(status) + ": " + facula_hb_last_error());
}
#define C10_HB_CHECK(call) ::c10::hammerblade::check(call)

inline hb_mc_device_t& device() {
  static hb_mc_device_t* opened = [] {
    static hb_mc_device_t made;
    const char* program = std::getenv("FACULA_HB_PROGRAM");
    std::string path = program ? program : "";
    if (path.empty()) {
      char folder[4096];
      facula_hb_folder("library", folder, sizeof folder);
      path = std::string(folder) + "/hammerblade_kernels.so";
    }
    check(hb_mc_device_init(&made, "HB_PYTORCH_PORT", 0));
    check(hb_mc_device_program_init(&made, path.c_str(), "default_allocator", 0));
    return &made;
  }();
  return *opened;
}

inline eva_t device_malloc(size_t bytes) {
  if (bytes > UINT32_MAX) throw std::runtime_error("HammerBlade error: Out of memory: device addresses have 32 bits");
  eva_t address = 0;
  check(hb_mc_device_malloc(&device(), static_cast<uint32_t>(bytes), &address));
  return address;
}
inline void device_free(eva_t address) { check(hb_mc_device_free(&device(), address)); }

inline void memcpy_host_to_device(void* dst, const void* src, uint32_t bytes) {
  check(hb_mc_device_memcpy(&device(), dst, src, bytes, HB_MC_MEMCPY_TO_DEVICE));
}
inline void memcpy_device_to_host(void* dst, const void* src, uint32_t bytes) {
  check(hb_mc_device_memcpy(&device(), dst, src, bytes, HB_MC_MEMCPY_TO_HOST));
}
inline void DMA_host_to_device(void* dst, const void* src, uint32_t bytes) {
  hb_mc_dma_htod_t job{static_cast<hb_mc_eva_t>(reinterpret_cast<uintptr_t>(dst)), src, bytes};
  check(hb_mc_device_dma_to_device(&device(), &job, 1));
}
inline void DMA_device_to_host(void* dst, const void* src, uint32_t bytes) {
  hb_mc_dma_dtoh_t job{static_cast<hb_mc_eva_t>(reinterpret_cast<uintptr_t>(src)), dst, bytes};
  check(hb_mc_device_dma_to_host(&device(), &job, 1));
}

// One group of all tiles; blocks until it is done.
inline void offload_kernel(const char* kernel, std::vector<eva_t> args) {
  hb_mc_device_t& d = device();
  check(hb_mc_kernel_enqueue(&d, hb_mc_dimension(1, 1), d.mesh->dim, kernel, static_cast<uint32_t>(args.size()),
                             args.data()));
  check(hb_mc_device_tile_groups_execute(&d));
}

inline void enable_hb_trace() { check(hb_mc_manycore_trace_enable(device().mc)); }
inline void disable_hb_trace() { check(hb_mc_manycore_trace_disable(device().mc)); }

}  // namespace c10::hammerblade
