// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/matmul.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <optional>

#include "backends/cpu/blas_choice.h"
#include "backends/cpu/cut.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/product.h"
#include "core/instruction_set.h"
#include "core/threads.h"
#include "dispatch/family_table.h"
#include "dispatch/observe.h"

namespace fc::cpu {
namespace {

constexpr int64_t kTiny = 1 << 15;        // multiplications below which a library's call costs more than it saves
constexpr int64_t kSmall = 1 << 19;       // the same for calls on many threads at once, where libraries get slower
constexpr int64_t kHalfNative = 1 << 18;  // half types: below this, converting while packing beats converting first

// One operand of a batched product; strides in bytes.
struct Operand {
  char* data;
  int64_t batch, row, col;
};

// How a library would read a rows x cols operand: leading dimension in elements, or 0 if it cannot.
struct Form {
  bool transposed = false;
  int64_t ld = 0;
};
Form form_of(const Operand& o, int64_t rows, int64_t cols, int64_t item) {
  auto leading = [&](int64_t n_outer, int64_t n_inner, int64_t outer, int64_t inner) -> int64_t {
    if (n_inner != 1 && inner != item) return 0;
    int64_t ld = n_outer == 1 ? std::max<int64_t>(n_inner, 1) : outer / item;
    return ld >= n_inner && ld <= INT_MAX && (n_outer == 1 || outer % item == 0) ? ld : 0;
  };
  if (int64_t ld = leading(rows, cols, o.row, o.col)) return {false, ld};
  return {true, leading(cols, rows, o.col, o.row)};
}

void copy_operand(int64_t batch, int64_t rows, int64_t cols, const Operand& to, DType to_type, const Operand& from,
                  DType from_type) {
  const int64_t shape[] = {batch, rows, cols}, dst[] = {to.batch, to.row, to.col},
                src[] = {from.batch, from.row, from.col};
  fc_copy c{};
  c.size = sizeof c;
  c.ndim = 3;
  c.shape = shape;
  c.dst = {to.data, dst, static_cast<int32_t>(to_type), 0, {}};
  c.src = {from.data, src, static_cast<int32_t>(from_type), 0, {}};
  families(Device::CPU).copy(nullptr, Device{}, c);
}

// A contiguous copy of an operand (or room for one). A batch stride of 0 stays 0.
struct Temporary {
  Tensor memory;
  Operand operand;
  Temporary(const Operand& like, int64_t batch, int64_t rows, int64_t cols, DType type) {
    const auto item = static_cast<int64_t>(item_size(type));
    bool repeated = like.batch == 0 || batch == 1;
    memory = empty_tensor(Dims{repeated ? 1 : batch, rows, cols}, type, Device{});
    operand = {memory.data_as<char>(), repeated ? 0 : rows * cols * item, cols * item, item};
  }
};
Temporary copied(const Operand& from, DType from_type, int64_t batch, int64_t rows, int64_t cols, DType type) {
  Temporary t(from, batch, rows, cols, type);
  copy_operand(t.operand.batch ? batch : 1, rows, cols, t.operand, type, from, from_type);
  return t;
}

struct Sides {
  Operand a, b, c;
  explicit Sides(const fc_matmul& m)
      : a{static_cast<char*>(m.a), m.a_batch, m.a_row, m.a_col},
        b{static_cast<char*>(m.b), m.b_batch, m.b_row, m.b_col},
        c{static_cast<char*>(m.c), m.c_batch, m.c_row, m.c_col} {}
  void write(fc_matmul& m) const {
    m.a = a.data, m.a_batch = a.batch, m.a_row = a.row, m.a_col = a.col;
    m.b = b.data, m.b_batch = b.batch, m.b_row = b.row, m.b_col = b.col;
    m.c = c.data, m.c_batch = c.batch, m.c_row = c.row, m.c_col = c.col;
  }
};

void swap_sides(fc_matmul& m) {  // c.T = b.T @ a.T
  Sides s(m);
  std::swap(s.a, s.b);
  for (Operand* o : {&s.a, &s.b, &s.c}) std::swap(o->row, o->col);
  std::swap(m.m, m.n);
  s.write(m);
}

Product block_of(const fc_matmul& c, int64_t batch, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  return {rows,
          cols,
          c.k,
          static_cast<char*>(c.a) + batch * c.a_batch + row * c.a_row,
          static_cast<char*>(c.b) + batch * c.b_batch + col * c.b_col,
          static_cast<char*>(c.c) + batch * c.c_batch + row * c.c_row + col * c.c_col,
          c.a_row,
          c.a_col,
          c.b_row,
          c.b_col,
          c.c_row,
          c.c_col,
          c.alpha,
          c.beta};
}

int team_size() { return in_parallel_region() ? 1 : num_threads(); }

// f(batch, row, rows, column, columns) for every block, on all threads.
template <class F>
void each_block(const fc_matmul& c, const Cut& cut, const F& f) {
  const int64_t blocks = cut.down * cut.across;
  parallel_for(0, c.batch * blocks, cut.how == Cut::Serial ? c.batch * blocks : 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const int64_t row = i % blocks / cut.across * cut.rows, column = i % cut.across * cut.columns;
      if (row < c.m && column < c.n)
        f(i / blocks, row, std::min(cut.rows, c.m - row), column, std::min(cut.columns, c.n - column));
    }
  });
}

// A matrix times a vector whose sums run along memory.
bool is_dots(const fc_matmul& c, int64_t item) {
  return (c.n == 1 && (c.a_col == item || c.m == 1)) || (c.m == 1 && c.b_row == item);
}

void native_product(const ProductKernels& kernel, fc_matmul c) {
  const auto item = static_cast<int64_t>(item_size(static_cast<DType>(c.dtype)));
  if (c.n == 1 && c.a_row == item && c.a_col != item) swap_sides(c);
  if (is_dots(c, item)) {
    for (int64_t b = 0; b < c.batch; ++b) kernel.dots(block_of(c, b, 0, c.m, 0, c.n));
    return;
  }
  each_block(c, cut_products(c.batch, c.m, c.n, c.k, team_size()),
             [&](int64_t batch, int64_t row, int64_t rows, int64_t column, int64_t columns) {
               kernel.blocks(block_of(c, batch, row, rows, column, columns));
             });
}

const ProductKernels& product_kernels(DType type) {
  struct Table {
    ProductTable kernels;
    Table() { FC_VARIANT(fill_product)(kernels); }
  };
  static const Table table;
  return table.kernels[static_cast<int>(type)];
}

// Who computes a product: oneDNN, a BLAS, or (neither) our own kernel.
struct Who {
  bool onednn = false;
  const Blas* blas = nullptr;
};
Who choose(const Choice& choice, const fc_matmul& c, DType type) {
  if (type != DType::Float32 && type != DType::Float64 && !is_complex(type)) return {};
  if (std::max({c.m, c.n, c.k}) > INT_MAX || c.k == 0 || choice.engine == Engine::Facula) return {};
  const Blas* chosen = choice.library && choice.library->multiplies(type) ? choice.library : nullptr;
  if (choice.force) return {choice.engine == Engine::OneDnn && type == DType::Float32, chosen};
  if (deterministic_algorithms()) return {};
  // What our own kernel would do: it fills whole tiles, and sums whole vectors where one side is a vector.
  const int64_t tiles = (c.m + 5) / 6 * 6 * ((c.n + 15) / 16 * 16);
  if (c.m == 1 && c.n == 1) return {};
  if (tiles <= kTiny / c.k) return {};
  if (chosen) return {false, chosen};
  // Many threads: 17 against 26 us for oneDNN (1024 x 1024, 16 threads); with few the two are level.
  if (team_size() > 4 && is_dots(c, static_cast<int64_t>(item_size(type)))) return {};
  if (type == DType::Float32 && onednn_available()) return {true};
  const Blas* any = default_blas();
  return {false, any && any->multiplies(type) ? any : nullptr};
}

const char* gemm_name(DType t) {
  switch (t) {
    case DType::Float32: return "sgemm";
    case DType::Float64: return "dgemm";
    case DType::Complex64: return "cgemm";
    default: return "zgemm";
  }
}

// One thread of oneDNN packs up to 9984 columns at a time: 15 MB of the C library's heap, which seldom go back to the
// system. Fewer columns take no longer.
constexpr int64_t kColumnsAtOnce = 4096;

void library_product(Who who, bool force, DType type, fc_matmul c) {
  const auto item = static_cast<int64_t>(item_size(type));
  Sides s(c);
  Tensor keep_a, keep_b, keep_c;
  const Operand result = s.c;
  Form form = form_of(s.c, c.m, c.n, item);
  if (!form.ld) {
    Temporary t(s.c, c.batch, c.m, c.n, type);
    if (c.beta != 0) copy_operand(c.batch, c.m, c.n, t.operand, type, s.c, type);
    s.c = t.operand;
    keep_c = t.memory;
    form = form_of(s.c, c.m, c.n, item);
  }
  s.write(c);
  if (form.transposed) {
    swap_sides(c);
    s = Sides(c);
  }
  Form fa = form_of(s.a, c.m, c.k, item), fb = form_of(s.b, c.k, c.n, item);
  if (!fa.ld) {
    Temporary t = copied(s.a, type, c.batch, c.m, c.k, type);
    s.a = t.operand;
    keep_a = t.memory;
    fa = form_of(s.a, c.m, c.k, item);
  }
  if (!fb.ld) {
    Temporary t = copied(s.b, type, c.batch, c.k, c.n, type);
    s.b = t.operand;
    keep_b = t.memory;
    fb = form_of(s.b, c.k, c.n, item);
  }
  s.write(c);
  auto call = [&](int64_t batch, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    LibraryProduct p{fa.transposed,
                     fb.transposed,
                     static_cast<int>(rows),
                     static_cast<int>(columns),
                     static_cast<int>(c.k),
                     static_cast<int>(fa.ld),
                     static_cast<int>(fb.ld),
                     static_cast<int>(form.ld),
                     s.a.data + batch * s.a.batch + row * s.a.row,
                     s.b.data + batch * s.b.batch + column * s.b.col,
                     s.c.data + batch * s.c.batch + row * s.c.row + column * s.c.col,
                     c.alpha,
                     c.beta};
    if (who.onednn) onednn_product(p);
    else if (who.blas) who.blas->product(type, p);
    else product_kernels(type).blocks(block_of(c, batch, row, rows, column, columns));
  };
  // In deterministic mode a library that is forced gets whole products, and one thread.
  const int team = deterministic_algorithms() || (who.blas && who.blas->one_at_a_time()) ? 1 : team_size();
  const Cut cut = cut_products(c.batch, c.m, c.n, c.k, team);
  if (cut.how == Cut::Blocks && !force && cut.rows * cut.columns < kSmall / c.k) who = {};
  const bool along_k = !fa.transposed && fb.transposed && cpu_level() == CpuLevel::AVX512;
  const bool whole = worth_library_threads(c.batch, c.m, c.n, c.k, team) ||
                     (who.onednn && along_k && cut.how == Cut::Blocks && c.batch == 1 && onednn_packs(c.m, c.n) &&
                      !onednn_packs_serially(cut.rows, cut.columns, c.k, fa.ld, fb.ld));
  if (who.blas) who.blas->use_threads(whole ? team : 1);
  std::optional<EventScope> told;
  if (who.onednn || who.blas)
    told.emplace(EventKind::Library, [&](Event& e) {
      e.name = who.onednn ? "dnnl_sgemm" : gemm_name(type);
      if (who.blas) e.text = who.blas->path();
      e.m = c.m, e.n = c.n, e.k = c.k, e.batch = c.batch;
      e.add_matrix(s.a.data, type, {c.batch, c.m, c.k}, {s.a.batch, s.a.row, s.a.col}, true, false);
      e.add_matrix(s.b.data, type, {c.batch, c.k, c.n}, {s.b.batch, s.b.row, s.b.col}, true, false);
      e.add_matrix(s.c.data, type, {c.batch, c.m, c.n}, {s.c.batch, s.c.row, s.c.col}, c.beta != 0, true);
    });
  auto run = [&](int64_t batch, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const int64_t most = who.onednn && !whole ? kColumnsAtOnce : columns;
    for (int64_t at = 0; at < columns; at += most) call(batch, row, rows, column + at, std::min(most, columns - at));
  };
  if (whole || cut.how == Cut::Serial) {
    LibraryThreads threads(!whole);
    for (int64_t i = 0; i < c.batch; ++i) run(i, 0, c.m, 0, c.n);
  } else {
    each_block(c, cut, run);
  }
  if (keep_c.defined()) copy_operand(c.batch, c.m, c.n, result, type, s.c, type);
}

// Large half products that no library does as they are: converted to float32 once.
void through_float(const fc_matmul& c, DType type) {
  Sides s(c);
  Temporary a = copied(s.a, type, c.batch, c.m, c.k, DType::Float32),
            b = copied(s.b, type, c.batch, c.k, c.n, DType::Float32);
  Temporary out(s.c, c.batch, c.m, c.n, DType::Float32);
  if (c.beta != 0) copy_operand(c.batch, c.m, c.n, out.operand, DType::Float32, s.c, type);
  fc_matmul wide = c;
  wide.dtype = static_cast<int32_t>(DType::Float32);
  Operand to = s.c;
  s.a = a.operand;
  s.b = b.operand;
  s.c = out.operand;
  s.write(wide);
  matmul(nullptr, Device{}, wide);
  copy_operand(c.batch, c.m, c.n, to, type, out.operand, DType::Float32);
}

}  // namespace

void* product_workspace(size_t bytes) {
  struct Buffer {
    void* data = nullptr;
    size_t size = 0;
    ~Buffer() { std::free(data); }
  };
  thread_local Buffer buffer;
  if (bytes > buffer.size) {
    std::free(buffer.data);
    buffer.data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    buffer.size = buffer.data ? bytes : 0;
    FC_CHECK_AS(OutOfMemoryError, buffer.data, "matmul: not enough memory: ", bytes, " bytes of workspace");
  }
  return buffer.data;
}

void matmul(void*, Device, const fc_matmul& c) {
  const auto type = static_cast<DType>(c.dtype);
  const ProductKernels& kernel = product_kernels(type);
  FC_CHECK_AS(NotImplementedError, kernel.blocks, "\"addmm_impl_cpu_\" not implemented for '", info(type).legacy, "'");
  if (c.batch == 0 || c.m == 0 || c.n == 0) return;
  // Our own kernel packs half types along the whole of k: fine for vectors of ordinary length.
  const bool large = static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k) > kHalfNative;
  const Choice& choice = blas_choice();
  const bool forced = choice.force && choice.engine != Engine::Facula;
  if (is_reduced(type) && (forced || (large && (c.k > 1 << 16 || (c.m != 1 && c.n != 1))))) {
    const bool library = std::max({c.m, c.n, c.k}) <= INT_MAX && c.k != 0 && !deterministic_algorithms() &&
                         choice.engine != Engine::Facula && choice.allows(Engine::OneDnn);
    if (!library || !onednn_half_product(c)) through_float(c, type);
    return;
  }
  const Who who = choose(choice, c, type);
  if (who.onednn || who.blas) library_product(who, choice.force, type, c);
  else native_product(kernel, c);
}

}  // namespace fc::cpu
