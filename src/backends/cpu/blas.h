// SPDX-License-Identifier: Apache-2.0
// One BLAS library in this process, through its cblas or its Fortran interface, with 32-bit or 64-bit integers. A
// library is loaded once and stays. Everything here may be called from any thread.
#pragma once
#include <atomic>
#include <mutex>
#include <string>

#include "backends/cpu/matmul.h"

namespace fc::cpu {

class Blas {
 public:
  // A path, or the name of a library that the system's loader finds. Throws: the file is missing, damaged, for another
  // machine, or lacks a routine.
  static const Blas& load(const std::string& file);

  bool multiplies(DType t) const;  // float32 and float64; complex64 and complex128 where the library has them
  void product(DType t, const LibraryProduct& p) const;
  // Threads of its own for the calls that follow, from any thread. A library that shares our OpenMP team, or that has
  // no threads, ignores it.
  void use_threads(int n) const;
  bool one_at_a_time() const { return alone_; }  // it works in memory that all calls share: they wait for each other

  bool wide() const { return wide_; }  // its integers have 64 bits

  const std::string& path() const { return path_; }
  std::string describe() const;  // version, processor that its kernels are for, threads, width of integers
  // False: an OpenBLAS older than the processor, whose kernels of a decade ago are several times slower than our own.
  bool knows_processor() const;

 private:
  Blas(const std::string& file, void* handle);
  void choose_layer() const;
  void find_interface();
  void find_threads();
  void check_products() const;
  std::string symbol(const std::string& routine) const;
  template <class F>
  bool find(const std::string& name, F*& fn) const;

  std::string path_;
  void* handle_;
  std::string prefix_, suffix_;  // what this build of the library adds to names of routines
  std::string team_;             // whose threads it uses, in words
  bool fortran_ = false, wide_ = false, alone_ = false;
  void (*gemm_[4])() = {}, (*gemv_[2])() = {};  // float32, float64, complex64, complex128
  void (*set_threads_)(int64_t) = nullptr;
  mutable std::atomic<int> threads_ = 0;
  mutable std::atomic_flag setting_ = {};
  mutable std::mutex one_;
};

}  // namespace fc::cpu
