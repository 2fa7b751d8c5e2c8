// SPDX-License-Identifier: Apache-2.0
// Factorisations and solvers: each is one LAPACK routine run over a batch of matrices that lie column by column.
// Results come from the operators' shape rules (plan/linalg.h); what LAPACK overwrites is a copy in the result itself.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <tuple>

#include "backends/cpu/lapack.h"
#include "backends/cpu/register.h"
#include "core/threads.h"
#include "define/calls.h"
#include "plan/linalg.h"

namespace fc::cpu {
namespace {

constexpr int kNotFinite = 1 << 30;  // in the place of a code from LAPACK, which would loop or answer nonsense

int rows_of(const Tensor& a) { return static_cast<int>(a.size(-2)); }
int columns_of(const Tensor& a) { return static_cast<int>(a.size(-1)); }
int at_least_one(int n) { return std::max(n, 1); }

// --- the driver
// Runs body(from, to) over the matrices of a batch. Several small ones share the threads; few large ones are taken one
// after the other, and the library spreads each, unless it is too small for that: factorisations are hundreds of short
// steps, and beside other work every one of them waits for a thread that does not run.
constexpr double kSpread = 2e7;  // the third power of the smallest size that a library spreads
template <class F>
void each_chunk(int64_t batch, double work, const F& body) {
  const int threads = num_threads();
  if (batch == 1 || (batch < threads && work > 1e7)) {
    LibraryThreads scope(work < kSpread);
    body(int64_t{0}, batch);
    return;
  }
  LibraryThreads scope(true);
  parallel_for(0, batch, std::max<int64_t>(1, static_cast<int64_t>(2e4 / (work + 1))), body);
}
template <class F>
void each_matrix(int64_t batch, double work, const F& body) {
  each_chunk(batch, work, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) body(i);
  });
}
double cube(const Tensor& a) {
  const double m = static_cast<double>(a.size(-2)), n = static_cast<double>(a.size(-1));
  return m * n * std::min(m, n);
}

// How many matrices (or vectors, with one dimension) a tensor holds, and where the i-th begins.
int64_t count(const Tensor& t, size_t inner = 2) {
  int64_t n = 1;
  for (int64_t s : t.sizes().first(t.sizes().size() - inner)) n *= s;
  return n;
}
template <class T>
struct Blocks {
  T* data;
  int64_t step;
  explicit Blocks(const Tensor& t, size_t inner = 2) : data(t.data_as<T>()), step(1) {
    for (int64_t s : t.sizes().last(inner)) step *= s;
  }
  T* operator[](int64_t i) const { return data + i * step; }
};

Tensor columns(const Tensor& a) {
  if (is_column_major(a)) return a;
  Tensor out = empty_matrices(batch_of(a), a.size(-2), a.size(-1), a);
  copy_(out, a);
  return out;
}
Tensor columns_of_batch(const Tensor& a, IntSpan batch) {
  return columns(expand(a, matrix_sizes(batch, a.size(-2), a.size(-1))));
}
Tensor copied_columns(const Tensor& a) {
  Tensor out = empty_matrices(batch_of(a), a.size(-2), a.size(-1), a);
  copy_(out, a);
  return out;
}

// LAPACK says as a floating-point number how many elements of workspace it wants; float32 may round that down.
template <class T>
int workspace(T wanted) {
  const double n = std::real(wanted) * (1 + 1e-6) + 1;
  return static_cast<int>(std::min(n, static_cast<double>(std::numeric_limits<int>::max())));
}

template <class T>
bool all_finite(const T* a, int64_t n) {
  const auto* x = reinterpret_cast<const RealOf<T>*>(a);
  for (int64_t i = 0; i < n * static_cast<int64_t>(sizeof(T) / sizeof(*x)); ++i)
    if (!std::isfinite(x[i])) return false;
  return true;
}

// --- LU
Three lu_factor_ex(const Tensor& a, bool pivot, bool check) {
  FC_CHECK(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  const char* op = "linalg.lu_factor";
  Tensor lu, pivots, info;
  std::tie(lu, pivots, info) = lu_results(a);
  copy_(lu, a);
  with_lapack_type(op, a.dtype(), [&]<class T>() {
    Blocks<T> matrices(lu);
    Blocks<int> swaps(pivots, 1), infos(info, 0);
    each_matrix(count(a), cube(a), [&](int64_t i) {
      int m = rows_of(a), n = columns_of(a), ld = at_least_one(m);
      lapack<T, "getrf">(op, &m, &n, matrices[i], &ld, swaps[i], infos[i]);
    });
  });
  if (check) check_info("torch.linalg.lu_factor_ex", info, zero_on_diagonal);
  return {lu, pivots, info};
}

Pair inv_ex(const Tensor& a, bool check) {
  const char* op = "linalg.inv";
  Tensor out, info;
  std::tie(out, info) = square_results(op, a);
  copy_(out, a);
  with_lapack_type(op, a.dtype(), [&]<class T>() {
    Blocks<T> matrices(out);
    Blocks<int> infos(info, 0);
    int n = columns_of(a), ld = at_least_one(n);
    each_chunk(count(a), 3 * cube(a), [&](int64_t from, int64_t to) {
      std::vector<int> pivots(static_cast<size_t>(n) + 1);
      std::vector<T> work;
      for (int64_t i = from; i < to; ++i) {
        lapack<T, "getrf">(op, &n, &n, matrices[i], &ld, pivots.data(), infos[i]);
        if (*infos[i] != 0) {
          std::fill_n(matrices[i], int64_t{n} * n, std::numeric_limits<RealOf<T>>::infinity());
          continue;
        }
        if (work.empty()) {
          T wanted{};
          int query = -1;
          lapack<T, "getri">(op, &n, matrices[i], &ld, pivots.data(), &wanted, &query, infos[i]);
          work.resize(static_cast<size_t>(workspace(wanted)));
        }
        int length = static_cast<int>(work.size());
        lapack<T, "getri">(op, &n, matrices[i], &ld, pivots.data(), work.data(), &length, infos[i]);
      }
    });
  });
  if (check) check_info("linalg.inv_ex", info, no_inverse);
  return {out, info};
}

// LAPACK trusts pivots with its memory.
void check_pivots(const char* op, const Tensor& pivots, int64_t n) {
  const auto* row = pivots.data_as<int32_t>();
  for (int64_t i = 0; i < pivots.numel(); ++i)
    FC_CHECK(row[i] != 0 && std::abs(int64_t{row[i]}) <= n, op, ": pivots must be between 1 and ", n, ", got ", row[i]);
}

// A X = B or X A = B with the factors of A; the second is the first of the transposes.
Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint) {
  const char* op = "linalg.lu_solve";
  Tensor out = lu_solve_result(lu, pivots, b, left), x = left ? out : transpose(out, -2, -1);
  const Dims batch = batch_of(out);
  Tensor factors = columns_of_batch(lu, batch),
         dense = contiguous(expand(pivots, vector_sizes(batch, pivots.size(-1))));
  Tensor right = left ? b : transpose(b, -2, -1);
  if (!left && adjoint) right = conj(right);
  copy_(x, expand(right, x.sizes()));
  check_pivots(op, dense, lu.size(-1));
  with_lapack_type(op, b.dtype(), [&]<class T>() {
    Blocks<T> as(factors), xs(x);
    Blocks<int> ps(dense, 1);
    const char side = left ? (adjoint ? 'C' : 'N') : (adjoint ? 'N' : 'T');
    int n = rows_of(x), k = columns_of(x), ld = at_least_one(n);
    if (n > 0 && k > 0)
      each_matrix(count(x), static_cast<double>(n) * n * k, [&](int64_t i) {
        int status = 0;
        lapack<T, "getrs">(op, &side, &n, &k, as[i], &ld, ps[i], xs[i], &ld, &status);
      });
  });
  return !left && adjoint ? conj(out) : out;
}

// The rows' order that a factorisation's exchanges amount to.
Tensor lu_permutation(const Tensor& pivots, int64_t rows) {
  FC_CHECK(pivots.dim() > 0 && pivots.dtype() == DType::Int32,
           "_lu_permutation: int32 pivots along the last dimension "
           "are expected, got ",
           pivots.dtype(), " ", pivots.sizes());
  const int64_t k = pivots.size(-1);
  FC_CHECK(k <= rows, "_lu_permutation: ", k, " pivots of ", rows, " rows");
  Tensor from = contiguous(pivots),
         out = empty_tensor(vector_sizes(pivots.sizes().first(pivots.sizes().size() - 1), rows), DType::Int64,
                            pivots.device());
  Blocks<int> swaps(from, 1);
  Blocks<int64_t> orders(out, 1);
  for (int64_t i = 0, n = count(pivots, 1); i < n; ++i) {
    int64_t* order = orders[i];
    for (int64_t r = 0; r < rows; ++r) order[r] = r;
    for (int64_t r = 0; r < k; ++r) {
      const int64_t other = swaps[i][r] - 1;
      FC_CHECK(0 <= other && other < rows, "lu_unpack: LU_pivots must be between 1 and LU.size(-2), got ", other + 1);
      std::swap(order[r], order[other]);
    }
  }
  return out;
}

// --- Cholesky
Pair cholesky_ex(const Tensor& a, bool upper, bool check) {
  const char* op = "linalg.cholesky";
  Tensor out, info;
  std::tie(out, info) = square_results(op, a);
  copy_(out, a);
  with_lapack_type(op, a.dtype(), [&]<class T>() {
    Blocks<T> matrices(out);
    Blocks<int> infos(info, 0);
    each_matrix(count(a), cube(a), [&](int64_t i) {
      int n = columns_of(a), ld = at_least_one(n);
      const char part = upper ? 'U' : 'L';
      T* x = matrices[i];
      lapack<T, "potrf">(op, &part, &n, x, &ld, infos[i]);
      // OpenBLAS takes a NaN for a positive pivot.
      for (int64_t c = 0; c < n && *infos[i] == 0; ++c)
        if (x[c * n + c] != x[c * n + c]) *infos[i] = static_cast<int>(c + 1);
      for (int64_t c = 0; c < n; ++c)
        if (upper) std::fill(x + c * n + c + 1, x + (c + 1) * n, T(0));
        else std::fill(x + c * n, x + c * n + c, T(0));
    });
  });
  if (check) check_info("linalg.cholesky_ex", info, not_positive);
  return {out, info};
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unit) {
  const char* op = "linalg.solve_triangular";
  Tensor x = triangular_result(a, b, left);
  const bool swapped = a.dim() == 2 && a.is_contiguous() && !is_column_major(a);  // then read as the transpose
  Tensor factors = swapped ? a : columns_of_batch(a, batch_of(x));
  copy_(x, expand(b, x.sizes()));
  if (x.numel() == 0) return x;
  with_lapack_type(op, b.dtype(), [&]<class T>() {
    Blocks<T> as(factors), xs(x);
    if (swapped) as.step = 0;
    const char side = left ? 'L' : 'R', part = upper != swapped ? 'U' : 'L', form = swapped ? 'T' : 'N',
               diagonal = unit ? 'U' : 'N';
    int m = rows_of(x), n = columns_of(x), ld = left ? m : n;
    const T one(1);
    each_matrix(count(x), static_cast<double>(m) * n * ld, [&](int64_t i) {
      lapack<T, "trsm">(op, &side, &part, &form, &diagonal, &m, &n, &one, as[i], &ld, xs[i], &m);
    });
  });
  return x;
}

// --- QR
Pair geqrf(const Tensor& a) {
  const char* op = "geqrf";
  Tensor out, tau;
  std::tie(out, tau) = geqrf_results(a);
  copy_(out, a);
  with_lapack_type(op, a.dtype(), [&]<class T>() {
    Blocks<T> matrices(out), taus(tau, 1);
    int m = rows_of(a), n = columns_of(a), ld = at_least_one(m), query = -1, status = 0;
    if (m == 0 || n == 0) return;
    T wanted{};
    lapack<T, "geqrf">(op, &m, &n, matrices[0], &ld, taus[0], &wanted, &query, &status);
    each_chunk(count(a), 2 * cube(a), [&](int64_t from, int64_t to) {
      int length = workspace(wanted), code = 0;
      std::vector<T> work(static_cast<size_t>(length));
      for (int64_t i = from; i < to; ++i)
        lapack<T, "geqrf">(op, &m, &n, matrices[i], &ld, taus[i], work.data(), &length, &code);
    });
  });
  return {out, tau};
}

Tensor householder_product(const Tensor& a, const Tensor& tau) {
  const char* op = "linalg.householder_product";
  Tensor out = householder_result(a, tau), factors = contiguous(tau);
  copy_(out, a);
  if (out.numel() == 0) return out;
  with_lapack_type(op, a.dtype(), [&]<class T>() {
    Blocks<T> matrices(out), taus(factors, 1);
    int m = rows_of(a), n = columns_of(a), k = static_cast<int>(tau.size(-1)), query = -1, status = 0;
    T wanted{};
    lapack<T, "orgqr", "ungqr">(op, &m, &n, &k, matrices[0], &m, taus[0], &wanted, &query, &status);
    each_chunk(count(a), 2 * cube(a), [&](int64_t from, int64_t to) {
      int length = workspace(wanted), code = 0;
      std::vector<T> work(static_cast<size_t>(length));
      for (int64_t i = from; i < to; ++i)
        lapack<T, "orgqr", "ungqr">(op, &m, &n, &k, matrices[i], &m, taus[i], work.data(), &length, &code);
    });
  });
  return out;
}

Tensor ormqr(const Tensor& a, const Tensor& tau, const Tensor& other, bool left, bool transposed) {
  const char* op = "ormqr";
  Tensor out = ormqr_result(a, tau, other, left), reflectors = columns(a), factors = contiguous(tau);
  copy_(out, other);
  if (out.numel() == 0 || tau.numel() == 0) return out;
  with_lapack_type(op, a.dtype(), [&]<class T>() {
    Blocks<T> as(reflectors), taus(factors, 1), outs(out);
    const char side = left ? 'L' : 'R', form = !transposed ? 'N' : is_complex(a.dtype()) ? 'C' : 'T';
    int m = rows_of(out), n = columns_of(out), k = static_cast<int>(tau.size(-1)), ld = left ? m : n, query = -1,
        status = 0;
    T wanted{};
    lapack<T, "ormqr", "unmqr">(op, &side, &form, &m, &n, &k, as[0], &ld, taus[0], outs[0], &m, &wanted, &query,
                                &status);
    each_chunk(count(out), static_cast<double>(m) * n * k, [&](int64_t from, int64_t to) {
      int length = workspace(wanted), code = 0;
      std::vector<T> work(static_cast<size_t>(length));
      for (int64_t i = from; i < to; ++i)
        lapack<T, "ormqr", "unmqr">(op, &side, &form, &m, &n, &k, as[i], &ld, taus[i], outs[i], &m, work.data(),
                                    &length, &code);
    });
  });
  return out;
}

// --- eigenvalues and singular values
std::string no_eigenvalues(int code) {
  return str(
      "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
      "eigenvalues (error code: ",
      code, ").");
}
std::string no_singular_values(int code) {
  if (code == kNotFinite)
    return "The algorithm failed to converge because the input matrix contained non-finite values.";
  return str(
      "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
      "singular values (error code: ",
      code, ").");
}

Pair eigh(const Tensor& a, std::string_view uplo, bool vectors) {
  const char* op = "linalg.eigh";
  Tensor values, results;
  std::tie(values, results) = eigh_results(a, uplo, vectors);
  const int n = columns_of(a);
  Tensor out = vectors ? results : copied_columns(a), info = zeros(batch_of(a), DType::Int32, a.device());
  if (vectors) copy_(out, a);
  if (a.numel() > 0)
    with_lapack_type(op, a.dtype(), [&]<class T>() {
      using R = RealOf<T>;
      Blocks<T> matrices(out);
      Blocks<R> lists(values, 1);
      Blocks<int> infos(info, 0);
      const char job = vectors ? 'V' : 'N', part = uplo[0] == 'U' || uplo[0] == 'u' ? 'U' : 'L';
      auto run = [&](T* x, R* w, T* work, int* lwork, R* rwork, int* lrwork, int* iwork, int* liwork, int* code) {
        int order = n;
        if constexpr (LapackType<T>::complex)
          lapack<T, "syevd", "heevd">(op, &job, &part, &order, x, &order, w, work, lwork, rwork, lrwork, iwork, liwork,
                                      code);
        else lapack<T, "syevd">(op, &job, &part, &order, x, &order, w, work, lwork, iwork, liwork, code);
      };
      T wanted{};
      R wanted_real{};
      int wanted_int = 0, query = -1, status = 0;
      run(matrices[0], lists[0], &wanted, &query, &wanted_real, &query, &wanted_int, &query, &status);
      each_chunk(count(a), 8 * cube(a), [&](int64_t from, int64_t to) {
        int length = workspace(wanted), real_length = workspace(wanted_real), int_length = std::max(wanted_int, 1);
        std::vector<T> work(static_cast<size_t>(length));
        std::vector<R> real_work(static_cast<size_t>(real_length));
        std::vector<int> int_work(static_cast<size_t>(int_length));
        for (int64_t i = from; i < to; ++i) {
          if (!all_finite(matrices[i], int64_t{n} * n)) {
            *infos[i] = 1;
            continue;
          }
          run(matrices[i], lists[i], work.data(), &length, real_work.data(), &real_length, int_work.data(), &int_length,
              infos[i]);
        }
      });
    });
  check_info(op, info, no_eigenvalues);
  return {values, results};
}

// Real matrices have complex eigenvalues in pairs; LAPACK packs the vectors of a pair as real and imaginary part.
template <class R>
void unpack_pairs(int n, const R* im, const R* packed, std::complex<R>* out) {
  for (int64_t j = 0; j < n; ++j) {
    const R* x = packed + j * n;
    std::complex<R>* y = out + j * n;
    if (im[j] == 0 || j + 1 == n) {
      std::copy(x, x + n, y);
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      y[i] = {x[i], x[i + n]};
      y[i + n] = {x[i], -x[i + n]};
    }
    ++j;
  }
}

Pair eig_of(const Tensor& a, bool vectors) {
  const char* op = "linalg.eig";
  Tensor values, out;
  std::tie(values, out) = eig_results(a, vectors);
  const int n = columns_of(a);
  Tensor x = copied_columns(a), info = zeros(batch_of(a), DType::Int32, a.device());
  FC_CHECK(all_true(isfinite(a)), "torch.linalg.eig: input tensor should not contain infs or NaNs.");
  if (a.numel() > 0)
    with_lapack_type(op, a.dtype(), [&]<class T>() {
      using R = RealOf<T>;
      using C = std::complex<R>;
      Blocks<T> matrices(x);
      Blocks<C> lists(values, 1), results(vectors ? out : values, vectors ? 2 : 1);
      Blocks<int> infos(info, 0);
      const char none = 'N', job = vectors ? 'V' : 'N';
      int order = n;
      auto run = [&](T* m, C* w, R* re, R* im, T* v, T* work, int* lwork, R* rwork, int* code) {
        if constexpr (LapackType<T>::complex)
          lapack<T, "geev">(op, &none, &job, &order, m, &order, w, static_cast<T*>(nullptr), &order, v, &order, work,
                            lwork, rwork, code);
        else
          lapack<T, "geev">(op, &none, &job, &order, m, &order, re, im, static_cast<T*>(nullptr), &order, v, &order,
                            work, lwork, code);
      };
      T wanted{};
      int query = -1, status = 0;
      R some[2] = {};  // queries write, too
      T none_yet{};
      run(matrices[0], lists[0], some, some, &none_yet, &wanted, &query, some, &status);
      each_chunk(count(a), 20 * cube(a), [&](int64_t from, int64_t to) {
        int length = workspace(wanted);
        const auto size = static_cast<size_t>(n);
        std::vector<T> work(static_cast<size_t>(length)), v(LapackType<T>::complex || !vectors ? 1 : size * size);
        std::vector<R> re(2 * size), im(size);
        for (int64_t i = from; i < to; ++i) {
          if constexpr (LapackType<T>::complex) {
            run(matrices[i], lists[i], nullptr, nullptr, results[i], work.data(), &length, re.data(), infos[i]);
          } else {
            run(matrices[i], nullptr, re.data(), im.data(), v.data(), work.data(), &length, nullptr, infos[i]);
            for (int64_t j = 0; j < n; ++j) lists[i][j] = {re[static_cast<size_t>(j)], im[static_cast<size_t>(j)]};
            if (vectors) unpack_pairs(n, im.data(), v.data(), results[i]);
          }
        }
      });
    });
  check_info(op, info, no_eigenvalues);
  return {values, out};
}
Pair eig(const Tensor& a) { return eig_of(a, true); }
Tensor eigvals(const Tensor& a) { return std::get<0>(eig_of(a, false)); }

Three svd(const Tensor& a, bool full, bool vectors, std::optional<std::string_view> driver) {
  const char* op = "linalg.svd";
  FC_CHECK(!driver,
           "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
  Tensor u, s, vh;
  std::tie(u, s, vh) = svd_results(a, full, vectors);
  const int m = rows_of(a), n = columns_of(a), k = std::min(m, n);
  Tensor x = copied_columns(a), info = zeros(batch_of(a), DType::Int32, a.device());
  if (a.numel() == 0) {
    if (vectors)
      for (const Tensor& t : {u, vh}) {
        zero_(t);
        fill_(call<"aten::diagonal", Tensor>(t, 0, -2, -1), 1);
      }
    return {u, s, vh};
  }
  with_lapack_type(op, a.dtype(), [&]<class T>() {
    using R = RealOf<T>;
    Blocks<T> matrices(x), us(vectors ? u : x), vs(vectors ? vh : x);
    Blocks<R> values(s, 1);
    Blocks<int> infos(info, 0);
    const char job = !vectors ? 'N' : full ? 'A' : 'S';
    int rows = m, cols = n, vrows = vectors ? rows_of(vh) : 1;
    auto run = [&](int64_t i, T* work, int* lwork, R* rwork, int* iwork, int* code) {
      T *left = vectors ? us[i] : nullptr, *right = vectors ? vs[i] : nullptr;
      if constexpr (LapackType<T>::complex)
        lapack<T, "gesdd">(op, &job, &rows, &cols, matrices[i], &rows, values[i], left, &rows, right, &vrows, work,
                           lwork, rwork, iwork, code);
      else
        lapack<T, "gesdd">(op, &job, &rows, &cols, matrices[i], &rows, values[i], left, &rows, right, &vrows, work,
                           lwork, iwork, code);
    };
    T wanted{};
    int query = -1, status = 0;
    R some{};
    int few = 0;
    run(0, &wanted, &query, &some, &few, &status);
    // Most of it are products of a matrix and a vector, which wait for memory: little that threads could share.
    each_chunk(count(a), cube(a) / 8, [&](int64_t from, int64_t to) {
      int length = workspace(wanted);
      const auto small = static_cast<size_t>(k), large = static_cast<size_t>(std::max(m, n));
      std::vector<T> work(static_cast<size_t>(length));
      std::vector<R> real_work(
          LapackType<T>::complex ? std::max(5 * small * (small + 1), 2 * small * (large + small + 1)) + small : 1);
      std::vector<int> int_work(8 * small);
      for (int64_t i = from; i < to; ++i) {
        if (!all_finite(matrices[i], int64_t{m} * n)) *infos[i] = kNotFinite;
        else run(i, work.data(), &length, real_work.data(), int_work.data(), infos[i]);
      }
    });
  });
  check_info(op, info, no_singular_values);
  return {u, s, vh};
}

// --- least squares
// `driver` is gels (full rank, QR), gelsy (pivoted QR), gelsd or gelss (SVD). x has max(m, n) rows and is overwritten.
Three lstsq_driver(const Tensor& a, const Tensor& b, double rcond, std::string_view driver) {
  const char* op = "torch.linalg.lstsq";
  const int m = rows_of(a), n = columns_of(a), k = columns_of(b), tall = std::max(m, n), least = std::min(m, n);
  Tensor x, rank, s;
  std::tie(x, rank, s) = lstsq_results(a, b);
  Tensor factors = copied_columns(a), info = zeros(batch_of(a), DType::Int32, a.device());
  for (const Tensor& t : {x, rank, s}) zero_(t);
  copy_(narrow(x, -2, 0, m), b);
  if (a.numel() > 0 && k > 0)
    with_lapack_type(op, a.dtype(), [&]<class T>() {
      using R = RealOf<T>;
      constexpr bool complex = LapackType<T>::complex;
      Blocks<T> as(factors), xs(x);
      Blocks<R> values(s, 1);
      Blocks<int64_t> ranks(rank, 0);
      Blocks<int> infos(info, 0);
      const auto limit = static_cast<R>(rcond);
      const char form = 'N';
      int rows = m, cols = n, right = k, ld = at_least_one(m), ldx = at_least_one(tall);
      auto run = [&](int64_t i, int* pivots, int* found, T* work, int* lwork, R* rwork, int* iwork, int* code) {
        if (driver == "gels") {
          lapack<T, "gels">(op, &form, &rows, &cols, &right, as[i], &ld, xs[i], &ldx, work, lwork, code);
          *found = least;
        } else if (driver == "gelsy") {
          if constexpr (complex)
            lapack<T, "gelsy">(op, &rows, &cols, &right, as[i], &ld, xs[i], &ldx, pivots, &limit, found, work, lwork,
                               rwork, code);
          else
            lapack<T, "gelsy">(op, &rows, &cols, &right, as[i], &ld, xs[i], &ldx, pivots, &limit, found, work, lwork,
                               code);
        } else if (driver == "gelsd") {
          if constexpr (complex)
            lapack<T, "gelsd">(op, &rows, &cols, &right, as[i], &ld, xs[i], &ldx, values[i], &limit, found, work, lwork,
                               rwork, iwork, code);
          else
            lapack<T, "gelsd">(op, &rows, &cols, &right, as[i], &ld, xs[i], &ldx, values[i], &limit, found, work, lwork,
                               iwork, code);
        } else {
          if constexpr (complex)
            lapack<T, "gelss">(op, &rows, &cols, &right, as[i], &ld, xs[i], &ldx, values[i], &limit, found, work, lwork,
                               rwork, code);
          else
            lapack<T, "gelss">(op, &rows, &cols, &right, as[i], &ld, xs[i], &ldx, values[i], &limit, found, work, lwork,
                               code);
        }
      };
      // gelsd answers a query with the lengths of all three workspaces.
      std::vector<T> wanted(1);
      R wanted_real{};
      int wanted_int = 0, query = -1, found = 0, status = 0;
      std::vector<int> no_pivots(static_cast<size_t>(n));
      run(0, no_pivots.data(), &found, wanted.data(), &query, &wanted_real, &wanted_int, &status);
      const size_t real_length =
          std::max<size_t>(driver == "gelsd" ? static_cast<size_t>(wanted_real) : 0, 5 * static_cast<size_t>(tall));
      each_chunk(count(a), 4 * cube(a), [&](int64_t from, int64_t to) {
        int length = workspace(wanted[0]);
        std::vector<T> work(static_cast<size_t>(length));
        std::vector<R> real_work(real_length);
        std::vector<int> int_work(static_cast<size_t>(std::max(wanted_int, 1))), pivots(static_cast<size_t>(n));
        for (int64_t i = from; i < to; ++i) {
          int numerical_rank = 0;
          if (!all_finite(as[i], int64_t{m} * n)) {
            *infos[i] = kNotFinite;
            continue;
          }
          std::ranges::fill(pivots, 0);
          run(i, pivots.data(), &numerical_rank, work.data(), &length, real_work.data(), int_work.data(), infos[i]);
          *ranks[i] = numerical_rank;
        }
      });
    });
  check_info(op, info, [](int code) {
    if (code == kNotFinite)
      return std::string(
          "The least squares solution could not be computed because the input matrix contained non-finite values.");
    return str(
        "The least squares solution could not be computed because the input matrix does not have full rank (error "
        "code: ",
        code, ").");
  });
  return {x, rank, s};
}

// --- symmetric indefinite matrices
Three ldl_factor_ex(const Tensor& a, bool hermitian, bool check) {
  const char* op = "torch.linalg.ldl_factor_ex";
  Tensor out, pivots, info;
  std::tie(out, pivots, info) = ldl_results(a);
  copy_(out, a);
  zero_(info);
  if (a.numel() > 0)
    with_lapack_type(op, a.dtype(), [&]<class T>() {
      Blocks<T> matrices(out);
      Blocks<int> swaps(pivots, 1), infos(info, 0);
      const char part = 'L';
      int n = columns_of(a);
      auto run = [&](int64_t i, T* work, int* lwork) {
        if (hermitian) lapack<T, "sytrf", "hetrf">(op, &part, &n, matrices[i], &n, swaps[i], work, lwork, infos[i]);
        else lapack<T, "sytrf">(op, &part, &n, matrices[i], &n, swaps[i], work, lwork, infos[i]);
      };
      T wanted{};
      int query = -1;
      run(0, &wanted, &query);
      each_chunk(count(a), cube(a), [&](int64_t from, int64_t to) {
        int length = workspace(wanted);
        std::vector<T> work(static_cast<size_t>(length));
        for (int64_t i = from; i < to; ++i) run(i, work.data(), &length);
      });
    });
  if (check) check_info(op, info, no_ldl);
  return {call<"aten::tril", Tensor>(out, int64_t{0}), pivots, info};
}

Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
  const char* op = "torch.linalg.ldl_solve";
  Tensor x = ldl_solve_result(ld, pivots, b);
  const Dims batch = batch_of(x);
  Tensor factors = columns_of_batch(ld, batch),
         dense = contiguous(expand(pivots, vector_sizes(batch, pivots.size(-1))));
  copy_(x, expand(b, x.sizes()));
  if (x.numel() == 0) return x;
  check_pivots(op, dense, b.size(-2));
  with_lapack_type(op, b.dtype(), [&]<class T>() {
    Blocks<T> as(factors), xs(x);
    Blocks<int> ps(dense, 1);
    const char part = 'L';
    int n = rows_of(x), k = columns_of(x);
    each_matrix(count(x), static_cast<double>(n) * n * k, [&](int64_t i) {
      int status = 0;
      if (hermitian) lapack<T, "sytrs", "hetrs">(op, &part, &n, &k, as[i], &n, ps[i], xs[i], &n, &status);
      else lapack<T, "sytrs">(op, &part, &n, &k, as[i], &n, ps[i], xs[i], &n, &status);
    });
  });
  return x;
}

}  // namespace

void register_linalg() {
  set_cpu_kernel("aten::linalg_lu_factor_ex", kernel<&lu_factor_ex>());
  set_cpu_kernel("aten::linalg_inv_ex", kernel<&inv_ex>());
  set_cpu_kernel("aten::linalg_lu_solve", kernel<&lu_solve>());
  set_cpu_kernel("aten::_lu_permutation", kernel<&lu_permutation>());
  set_cpu_kernel("aten::linalg_cholesky_ex", kernel<&cholesky_ex>());
  set_cpu_kernel("aten::linalg_solve_triangular", kernel<&solve_triangular>());
  set_cpu_kernel("aten::geqrf", kernel<&geqrf>());
  set_cpu_kernel("aten::_householder_product", kernel<&householder_product>());
  set_cpu_kernel("aten::_ormqr", kernel<&ormqr>());
  set_cpu_kernel("aten::_linalg_eigh", kernel<&eigh>());
  set_cpu_kernel("aten::linalg_eig", kernel<&eig>());
  set_cpu_kernel("aten::_linalg_eigvals", kernel<&eigvals>());
  set_cpu_kernel("aten::_linalg_svd", kernel<&svd>());
  set_cpu_kernel("aten::_lstsq", kernel<&lstsq_driver>());
  set_cpu_kernel("aten::linalg_ldl_factor_ex", kernel<&ldl_factor_ex>());
  set_cpu_kernel("aten::linalg_ldl_solve", kernel<&ldl_solve>());
}

}  // namespace fc::cpu
