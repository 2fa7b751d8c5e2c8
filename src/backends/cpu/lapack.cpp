// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lapack.h"

#include <string>

#include "backends/cpu/blas_choice.h"
#include "backends/cpu/library.h"

#ifndef FC_CBLAS_PATH  // built without BLAS
#define FC_CBLAS_PATH "libopenblas.so.0"
#define FC_CBLAS_NAME "libopenblas.so.0"
#endif

namespace fc::cpu {

namespace {

void* open_either(const char* path, const char* name, std::string* fault = nullptr) {
  if (void* handle = open_blas(path)) return handle;
  if (const char* why = dlerror(); fault && why) *fault = why;
  return open_blas(name);
}

// Calls here have 32-bit integers. The BLAS is asked for its own before its LAPACK is called, so MKL has its threads.
bool wide() {
  const Blas* blas = default_blas();
  return blas && blas->wide();
}

}  // namespace

// OpenBLAS and MKL contain LAPACK; a plain BLAS has it beside itself.
void* lapack_routine(const char* op, char letter, const char* name) {
  static std::string& fault = *new std::string;
  static void* const libraries[] = {wide() ? nullptr : open_either(FC_CBLAS_PATH, FC_CBLAS_NAME),
                                    open_either("liblapack.so.3", "liblapack.so", &fault)};
  const std::string symbol = std::string(1, letter) + name + "_";
  for (void* library : libraries)
    if (void* found = library ? dlsym(library, symbol.c_str()) : nullptr) return found;
  raise<Error>(op, ": this needs LAPACK, and neither ", FC_CBLAS_NAME, wide() ? " (whose integers have 64 bits)" : "",
               " nor liblapack.so.3 ", fault.empty() ? "" : "(" + fault + ") ", "has ", symbol,
               " on this machine. Install OpenBLAS (Debian: libopenblas0-openmp).");
}

}  // namespace fc::cpu
