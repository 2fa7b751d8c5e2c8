// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>

#include "backends/cpu/library.h"
#include "backends/plugin/library_file.h"
#include "core/error.h"
#include "core/instruction_set.h"
#include "core/threads.h"

namespace fc::cpu {
namespace {

// Integers are handed over as 64-bit ones to every library: one with 32-bit integers takes the lower half of the
// register, of the stack's slot or, in Fortran, of what the address names. So no library can be called wrongly,
// whatever its names say of its integers.
constexpr bool by_halves = std::endian::native == std::endian::little && sizeof(void*) == 8;
using Int = std::conditional_t<by_halves, int64_t, int>;

// The cblas interface is older than its headers' disagreements (enum types, const, complex): numbers and pointers.
enum : int { RowMajor = 101, Plain = 111, Transposed = 112 };
template <class Scalar>  // float, double, or the address of a complex number
using Gemm = void(int order, int ta, int tb, Int m, Int n, Int k, Scalar alpha, const void* a, Int lda, const void* b,
                  Int ldb, Scalar beta, void* c, Int ldc);
template <class Scalar>
using Gemv = void(int order, int t, Int m, Int n, Scalar alpha, const void* a, Int lda, const void* x, Int incx,
                  Scalar beta, void* y, Int incy);
// Fortran takes addresses, and behind all arguments the length of each text.
using FortranGemm = void(const char* ta, const char* tb, const Int* m, const Int* n, const Int* k, const void* alpha,
                         const void* a, const Int* lda, const void* b, const Int* ldb, const void* beta, void* c,
                         const Int* ldc, size_t, size_t);
using FortranGemv = void(const char* t, const Int* m, const Int* n, const void* alpha, const void* a, const Int* lda,
                         const void* x, const Int* incx, const void* beta, void* y, const Int* incy, size_t);

constexpr char kLetters[] = {'s', 'd', 'c', 'z'};
constexpr DType kTypes[] = {DType::Float32, DType::Float64, DType::Complex64, DType::Complex128};
size_t slot(DType t) { return static_cast<size_t>(std::ranges::find(kTypes, t) - kTypes); }

enum : int { MklSequential = 1, MklGnu = 3 };  // of MKL_Set_Threading_Layer
bool shares_openmp() { return std::string_view(thread_pool_name()) == "OpenMP"; }

int cblas(bool transposed) { return transposed ? Transposed : Plain; }
const char* text(bool transposed) { return transposed ? "T" : "N"; }

template <class T>
void gemm(void (*fn)(), bool fortran, const LibraryProduct& p) {
  const T alpha(static_cast<decltype(std::abs(T()))>(p.alpha)), beta(static_cast<decltype(std::abs(T()))>(p.beta));
  if (fortran) {  // column by column: c.T = b.T @ a.T
    const Int m = p.m, n = p.n, k = p.k, lda = p.lda, ldb = p.ldb, ldc = p.ldc;
    reinterpret_cast<FortranGemm*>(fn)(text(p.transpose_b), text(p.transpose_a), &n, &m, &k, &alpha, p.b, &ldb, p.a,
                                       &lda, &beta, p.c, &ldc, 1, 1);
  } else if constexpr (std::is_floating_point_v<T>) {
    reinterpret_cast<Gemm<T>*>(fn)(RowMajor, cblas(p.transpose_a), cblas(p.transpose_b), p.m, p.n, p.k, alpha, p.a,
                                   p.lda, p.b, p.ldb, beta, p.c, p.ldc);
  } else {
    reinterpret_cast<Gemm<const void*>*>(fn)(RowMajor, cblas(p.transpose_a), cblas(p.transpose_b), p.m, p.n, p.k,
                                             &alpha, p.a, p.lda, p.b, p.ldb, &beta, p.c, p.ldc);
  }
}

// y = alpha * op(a) @ x + beta * y, a is m x n as it lies in memory.
template <class T>
void gemv(void (*fn)(), bool fortran, bool transposed, Int m, Int n, const void* a, Int lda, const void* x, Int incx,
          void* y, Int incy, double alpha, double beta) {
  const T by = static_cast<T>(alpha), keep = static_cast<T>(beta);
  if (fortran)
    reinterpret_cast<FortranGemv*>(fn)(text(!transposed), &n, &m, &by, a, &lda, x, &incx, &keep, y, &incy, 1);
  else reinterpret_cast<Gemv<T>*>(fn)(RowMajor, cblas(transposed), m, n, by, a, lda, x, incx, keep, y, incy);
}

// Vectors are worth their own routine: the general one packs them first.
template <class T>
void real_product(void (*matrix)(), void (*vector)(), bool fortran, const LibraryProduct& p) {
  if (vector && p.n == 1)
    gemv<T>(vector, fortran, p.transpose_a, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.a, p.lda, p.b,
            p.transpose_b ? 1 : p.ldb, p.c, p.ldc, p.alpha, p.beta);
  else if (vector && p.m == 1)
    gemv<T>(vector, fortran, !p.transpose_b, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p.b, p.ldb, p.a,
            p.transpose_a ? p.lda : 1, p.c, 1, p.alpha, p.beta);
  else gemm<T>(matrix, fortran, p);
}

}  // namespace

const Blas& Blas::load(const std::string& file) {
  struct Loaded {
    std::mutex mutex;
    std::map<void*, std::unique_ptr<const Blas>> by_handle;
  };
  static Loaded& loaded = *new Loaded;  // calls may come while the process ends
  if (file.find('/') != file.npos)
    if (std::string fault = library_file_fault(file); !fault.empty())
      raise<Error>("BLAS: cannot open ", file, ": ", fault);
  void* handle = open_blas(file.c_str());  // the same one for a file that is open already
  if (!handle) {
    const char* why = dlerror();
    raise<Error>("BLAS: cannot open ", file, ": ", why ? why : "unknown reason");
  }
  {
    std::lock_guard lock(loaded.mutex);
    if (auto it = loaded.by_handle.find(handle); it != loaded.by_handle.end()) return *it->second;
  }
  std::unique_ptr<const Blas> fresh(new Blas(file, handle));  // calls the library: not under the lock
  std::lock_guard lock(loaded.mutex);
  return *loaded.by_handle.try_emplace(handle, std::move(fresh)).first->second;
}

Blas::Blas(const std::string& file, void* handle) : path_(file), handle_(handle) {
  choose_layer();
  find_interface();
  find_threads();
  check_products();
}

template <class F>
bool Blas::find(const std::string& name, F*& fn) const {
  fn = reinterpret_cast<F*>(dlsym(handle_, name.c_str()));
  return fn != nullptr;
}

std::string Blas::symbol(const std::string& routine) const {
  return fortran_ ? prefix_ + routine + "_" + suffix_ : prefix_ + "cblas_" + routine + suffix_;
}

// MKL loads its threads with its first call, and keeps them. Its own choice is Intel's OpenMP, a second team beside
// ours; its layer for GNU's does not name libgomp.
void Blas::choose_layer() const {
  int (*layer)(int) = nullptr;
  if (!find("MKL_Set_Threading_Layer", layer) || std::getenv("MKL_THREADING_LAYER")) return;
  layer(shares_openmp() && dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL) ? MklGnu : MklSequential);
}

// Builds with 64-bit integers end in 64_ (OpenBLAS) or _64 (MKL, LAPACK 3.11), SciPy's also begin with scipy_.
// Fortran's names come first: the reference's cblas_sgemm calls sgemm_, by which it would reach another library that
// lent its names to the whole process, as MKL does.
void Blas::find_interface() {
  for (bool fortran : {true, false})
    for (const char* prefix : {"", "scipy_"})
      for (const char* suffix : {"", "64_", "_64"}) {
        if (gemm_[0]) break;
        fortran_ = fortran, prefix_ = prefix, suffix_ = suffix;
        find(symbol("sgemm"), gemm_[0]);
      }
  void* onednn = nullptr;
  FC_CHECK(gemm_[0], "BLAS: ", path_, " has neither cblas_sgemm nor sgemm_ (nor cblas_sgemm64_, cblas_sgemm_64, ",
           "sgemm_64_, the names with 64-bit integers)",
           find("dnnl_sgemm", onednn) ? "; it is oneDNN, which is chosen by the name onednn" : "");
  for (size_t i = 1; i < 4; ++i) find(symbol(std::string(1, kLetters[i]) + "gemm"), gemm_[i]);
  FC_CHECK(gemm_[1], "BLAS: ", path_, " has ", symbol("sgemm"), ", but lacks ", symbol("dgemm"));
  for (size_t i = 0; i < 2; ++i) find(symbol(std::string(1, kLetters[i]) + "gemv"), gemv_[i]);

  wide_ = !suffix_.empty();
  // A number whose lower half is 1: to a library with 64-bit integers it is negative, and the sum is empty.
  if (void (*ddot)() = nullptr; by_halves && find(symbol("ddot"), ddot)) {
    const auto n = static_cast<Int>((int64_t{-1} << 32) | 1);
    const Int step = 1;
    const double one = 1;
    const double sum =
        fortran_ ? reinterpret_cast<double (*)(const Int*, const double*, const Int*, const double*, const Int*)>(ddot)(
                       &n, &one, &step, &one, &step)
                 : reinterpret_cast<double (*)(Int, const double*, Int, const double*, Int)>(ddot)(n, &one, step, &one,
                                                                                                   step);
    wide_ = sum == 0;
  }
}

void Blas::find_threads() {
  int (*kind)() = nullptr;
  if (find(prefix_ + "openblas_get_parallel" + suffix_, kind)) {
    enum { None, Own, OpenMP };
    team_ = kind() == OpenMP ? "OpenMP" : kind() == Own ? "threads of its own" : "one thread";
    alone_ = kind() == None;  // Debian's serial variant gives wrong products to two threads at once
    if (kind() == OpenMP && shares_openmp()) return;  // it asks OpenMP, whose answer is LibraryThreads'
  }
  if (int (*layer)(int) = nullptr; find("MKL_Set_Threading_Layer", layer)) {  // too late to change it: it answers
    const int is = layer(MklSequential);
    team_ = is == MklSequential ? "one thread" : is == MklGnu && shares_openmp() ? "OpenMP" : "threads of its own";
  }
  int64_t (*openmp)() = nullptr;
  if (find("bli_info_get_enable_openmp", openmp) && openmp()) team_ = "OpenMP";
  const bool sets = find(prefix_ + "openblas_set_num_threads" + suffix_, set_threads_) ||
                    find("bli_thread_set_num_threads", set_threads_) || find("MKL_Set_Num_Threads", set_threads_);
  if (sets && team_.empty()) team_ = "threads of its own";
}

void Blas::use_threads(int n) const {
  if (!set_threads_ || threads_.load(std::memory_order_relaxed) == n) return;
  if (setting_.test_and_set(std::memory_order_acquire)) return;  // another thread is at it, or was when this one forked
  set_threads_(n);
  threads_.store(n, std::memory_order_relaxed);
  setting_.clear(std::memory_order_release);
}

// The names are there; do they mean what they say?
void Blas::check_products() const {
  use_threads(1);
  auto right = [&]<class T>(T, DType type) {
    const T a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    T c[4] = {};
    product(type, {false, false, 2, 2, 2, 2, 2, 2, a, b, c, 1, 0});
    return c[0] == T(19) && c[1] == T(22) && c[2] == T(43) && c[3] == T(50);
  };
  const bool agree[] = {right(0.0F, kTypes[0]), right(0.0, kTypes[1]),
                        !gemm_[2] || right(std::complex<float>(), kTypes[2]),
                        !gemm_[3] || right(std::complex<double>(), kTypes[3])};
  for (size_t i = 0; i < 4; ++i)
    FC_CHECK(agree[i], "BLAS: ", path_, ": its ", symbol(std::string(1, kLetters[i]) + "gemm"),
             " gives a wrong product of two 2 x 2 matrices: it is another function, or takes other arguments");
}

bool Blas::multiplies(DType t) const { return slot(t) < 4 && gemm_[slot(t)]; }

void Blas::product(DType t, const LibraryProduct& p) const {
  std::unique_lock lock(one_, std::defer_lock);
  if (alone_) lock.lock();
  switch (t) {
    case DType::Float32: return real_product<float>(gemm_[0], gemv_[0], fortran_, p);
    case DType::Float64: return real_product<double>(gemm_[1], gemv_[1], fortran_, p);
    case DType::Complex64: return gemm<std::complex<float>>(gemm_[2], fortran_, p);
    default: return gemm<std::complex<double>>(gemm_[3], fortran_, p);
  }
}

std::string Blas::describe() const {
  std::string out;
  char* (*name)() = nullptr;
  const char* (*version)() = nullptr;
  void (*mkl)(char*, int) = nullptr;
  if (find(prefix_ + "openblas_get_config" + suffix_, name)) {
    const std::string_view config = name();  // OpenBLAS 0.3.21 DYNAMIC_ARCH …
    out = config.substr(0, config.find(' ', config.find(' ') + 1));
    if (find(prefix_ + "openblas_get_corename" + suffix_, name)) out += str(", kernels for ", name());
    if (!knows_processor()) out += " (it does not know this processor)";
  } else if (find("bli_info_get_version_str", version)) {
    out = str("BLIS ", version());
  } else if (find("MKL_Get_Version_String", mkl)) {
    char line[256] = {};  // Intel(R) oneAPI Math Kernel Library Version 2026.2-Product Build …
    mkl(line, sizeof line - 1);
    const std::string_view all = line, from = all.substr(std::min(all.find("Version "), all.size()));
    out = str("MKL ", from.substr(std::min<size_t>(8, from.size()), from.find('-') - 8));
  } else {
    out = fortran_ ? "Fortran interface" : "cblas interface";
  }
  if (!team_.empty()) out += ", " + team_;
  return out + (wide_ ? ", 64-bit integers" : ", 32-bit integers");
}

bool Blas::knows_processor() const {
  char* (*core_name)() = nullptr;
  if (cpu_level() == CpuLevel::Baseline || !find(prefix_ + "openblas_get_corename" + suffix_, core_name)) return true;
  static constexpr std::string_view without_avx[] = {
      "Katmai",  "Coppermine", "Northwood", "Prescott",     "Banias",    "Atom",   "Core2", "Penryn", "Dunnington",
      "Nehalem", "Athlon",     "Opteron",   "Opteron_SSE3", "Barcelona", "Bobcat", "Nano",  "Generic"};
  return std::ranges::find(without_avx, core_name()) == std::end(without_avx);
}

}  // namespace fc::cpu
