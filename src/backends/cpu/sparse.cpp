// SPDX-License-Identifier: Apache-2.0
// The loops of sparse tensors on the CPU (ops/sparse_primitives.cpp says what each computes). An index is read once,
// checked, then used: the program may change indices at any time. Sums are in the order of the entries, so results do
// not depend on the number of threads.
#include "backends/cpu/sparse.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <complex>
#include <memory>
#include <vector>

#include "backends/cpu/register.h"
#include "core/threads.h"
#include "plan/sparse.h"

namespace fc::cpu {
namespace {

constexpr int64_t kWork = 1 << 14;  // elements worth a thread

// Half types are computed in float32, integers and bool (which adds up to "any") in int64.
DType wide_type(DType t) { return is_floating(t) || is_complex(t) ? compute_type(t) : DType::Int64; }
Tensor widened(const Tensor& t) { return contiguous(to_dtype(t, wide_type(t.dtype()))); }

template <class F>
void with_type(DType t, const F& f) {
  switch (t) {
    case DType::Float32: return f(float());
    case DType::Float64: return f(double());
    case DType::Complex64: return f(std::complex<float>());
    case DType::Complex128: return f(std::complex<double>());
    default: return f(uint64_t());  // of integers the sum wraps
  }
}

// The smallest position that failed, over threads.
class FirstBad {
 public:
  void at(int64_t k) {
    int64_t before = first_.load(std::memory_order_relaxed);
    while (k < before && !first_.compare_exchange_weak(before, k)) {}
  }
  bool any() const { return first_ != INT64_MAX; }
  int64_t get() const { return first_; }

 private:
  std::atomic<int64_t> first_ = INT64_MAX;
};

// --- sorting positions by key

struct Pair {
  uint64_t key, position;
};
inline bool operator<(const Pair& a, const Pair& b) { return a.key != b.key ? a.key < b.key : a.position < b.position; }
inline uint64_t key_of(const Pair& p, int) { return p.key; }
inline uint64_t key_of(uint64_t packed, int shift) { return packed >> shift; }

// Stable, by the lowest `bits` of the keys (above `shift`); all threads count, then all place.
template <class E>
void radix_sort(std::unique_ptr<E[]>& items, int64_t n, int bits, int shift) {
  constexpr int kDigit = 11;
  constexpr size_t kBuckets = size_t{1} << kDigit;
  auto other = std::make_unique_for_overwrite<E[]>(static_cast<size_t>(n));
  const int64_t parts = std::clamp<int64_t>(n / kWork, 1, num_threads());
  auto from = [&](int64_t p) { return n / parts * p + std::min(p, n % parts); };
  std::vector<int64_t> counts(static_cast<size_t>(parts) * kBuckets);
  for (int low = 0; low < bits; low += kDigit) {
    auto digit = [&](const E& e) { return (key_of(e, shift) >> low) & (kBuckets - 1); };
    std::fill(counts.begin(), counts.end(), 0);
    parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        int64_t* mine = counts.data() + static_cast<size_t>(p) * kBuckets;
        for (int64_t i = from(p); i < from(p + 1); ++i) ++mine[digit(items[static_cast<size_t>(i)])];
      }
    });
    int64_t total = 0;
    for (size_t b = 0; b < kBuckets; ++b)
      for (size_t p = 0; p < static_cast<size_t>(parts); ++p) total += std::exchange(counts[p * kBuckets + b], total);
    parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        int64_t* mine = counts.data() + static_cast<size_t>(p) * kBuckets;
        for (int64_t i = from(p); i < from(p + 1); ++i) {
          const E e = items[static_cast<size_t>(i)];
          other[static_cast<size_t>(mine[digit(e)]++)] = e;
        }
      }
    });
    std::swap(items, other);
  }
}

// Entries that are in order already, or one sorted list behind another as in a sum, need no more than a merge.
template <class E>
bool merge_runs(std::unique_ptr<E[]>& items, int64_t n) {
  E *first = items.get(), *last = first + n, *second = std::is_sorted_until(first, last);
  if (second == last) return true;
  if (!std::is_sorted(second, last)) return false;
  auto other = std::make_unique_for_overwrite<E[]>(static_cast<size_t>(n));
  std::merge(first, second, second, last, other.get());
  std::swap(items, other);
  return true;
}

int bits_of(uint64_t largest) { return std::bit_width(largest); }

// Calls f(count, key of i, position of i) with the keys, which are below `limit`, in order.
template <class F>
void sorted_by_key(const char* op, const int64_t* keys, int64_t n, int64_t limit, const F& f) {
  FirstBad bad;
  const int key_bits = bits_of(limit > 0 ? static_cast<uint64_t>(limit - 1) : 0);
  const int position_bits = bits_of(n > 0 ? static_cast<uint64_t>(n - 1) : 0);
  auto fill = [&](auto& items, auto make) {
    parallel_for(0, n, kWork, [&](int64_t a, int64_t b) {
      for (int64_t i = a; i < b; ++i) {
        const int64_t key = keys[i];
        if (key < 0 || key >= limit) [[unlikely]]
          bad.at(i);
        items[static_cast<size_t>(i)] = make(static_cast<uint64_t>(key), static_cast<uint64_t>(i));
      }
    });
    if (bad.any()) raise_bad_index(op, keys[bad.get()], limit);
  };
  if (key_bits + position_bits <= 64) {  // both in one word
    auto items = std::make_unique_for_overwrite<uint64_t[]>(static_cast<size_t>(n));
    fill(items, [&](uint64_t key, uint64_t i) { return position_bits < 64 ? key << position_bits | i : i; });
    if (!merge_runs(items, n)) radix_sort(items, n, key_bits, position_bits);
    const uint64_t mask = (uint64_t{1} << position_bits) - 1;
    f([&](int64_t i) { return items[static_cast<size_t>(i)] >> position_bits; },
      [&](int64_t i) { return static_cast<int64_t>(items[static_cast<size_t>(i)] & mask); });
  } else {
    auto items = std::make_unique_for_overwrite<Pair[]>(static_cast<size_t>(n));
    fill(items, [](uint64_t key, uint64_t i) { return Pair{key, i}; });
    if (!merge_runs(items, n)) radix_sort(items, n, key_bits, 0);
    f([&](int64_t i) { return items[static_cast<size_t>(i)].key; },
      [&](int64_t i) { return static_cast<int64_t>(items[static_cast<size_t>(i)].position); });
  }
}

// --- positions

Tensor flat_index(const Tensor& indices, IntSpan size) {
  check_index_type("sparse indices", "indices", indices);
  FC_CHECK(indices.dim() == 2 && indices.size(0) == static_cast<int64_t>(size.size()),
           "sparse indices: expected one row for each of ", size.size(), " sizes, got ", indices.sizes());
  checked_numel(size);
  const Tensor rows = contiguous(indices);
  const int64_t n = rows.size(1);
  Tensor out = empty_tensor(Dims{n}, DType::Int64, Device{});
  auto* to = out.data_as<int64_t>();
  const auto* from = rows.data_as<int64_t>();
  FirstBad bad;
  parallel_for(0, n, kWork, [&](int64_t a, int64_t b) {
    std::fill(to + a, to + b, 0);
    for (size_t d = 0; d < size.size(); ++d) {
      const int64_t* row = from + static_cast<int64_t>(d) * n;
      const auto limit = static_cast<uint64_t>(size[d]);
      bool outside = false;
      for (int64_t i = a; i < b; ++i) {
        const auto index = static_cast<uint64_t>(row[i]);
        outside |= index >= limit;
        to[i] = static_cast<int64_t>(static_cast<uint64_t>(to[i]) * limit + index);
      }
      if (outside) bad.at(static_cast<int64_t>(d));
    }
  });
  if (bad.any()) {
    const auto d = static_cast<size_t>(bad.get());
    const int64_t* row = from + bad.get() * n;
    for (int64_t i = 0; i < n; ++i) FC_CHECK(row[i] >= 0, "found negative index ", row[i], " for dim ", d);
    for (int64_t i = 0; i < n; ++i)
      FC_CHECK(row[i] < size[d], "size is inconsistent with indices: for dim ", d, ", size is ", size[d],
               " but found index ", row[i]);
  }
  return out;
}

Two coalesce_entries(const Tensor& flat, const Tensor& given, int64_t limit) {
  check_index_type("coalesce", "positions", flat);
  FC_CHECK(flat.dim() == 1 && given.dim() > 0 && given.size(0) == flat.size(0),
           "coalesce: expected one value per position, got ", flat.sizes(), " and ", given.sizes());
  const Tensor positions = contiguous(flat), values = widened(given);
  const int64_t n = flat.size(0), width = n ? values.numel() / n : 0;
  const auto* keys = positions.data_as<int64_t>();
  Tensor first, sums;
  sorted_by_key("coalesce", keys, n, limit, [&](const auto& key, const auto& position) {
    // Where groups begin: each part counts its own, then writes them behind those of the parts before.
    const int64_t parts = std::clamp<int64_t>(n / kWork, 1, num_threads());
    auto from = [&](int64_t p) { return n / parts * p + std::min(p, n % parts); };
    auto begins = [&](int64_t i) { return i == 0 || key(i) != key(i - 1); };
    std::vector<int64_t> before(static_cast<size_t>(parts) + 1);
    parallel_for(0, parts, 1, [&](int64_t a, int64_t b) {
      for (int64_t p = a; p < b; ++p)
        for (int64_t i = from(p); i < from(p + 1); ++i) before[static_cast<size_t>(p) + 1] += begins(i);
    });
    for (size_t p = 0; p < static_cast<size_t>(parts); ++p) before[p + 1] += before[p];
    const int64_t groups = before.back();
    first = empty_tensor(Dims{groups}, DType::Int64, Device{});
    Dims sizes(values.sizes());
    sizes[0] = groups;
    sums = empty_tensor(sizes, values.dtype(), Device{});
    auto* leads = first.data_as<int64_t>();
    with_type(values.dtype(), [&]<class T>(T) {
      const T* in = values.data_as<T>();
      T* out = sums.data_as<T>();
      parallel_for(0, parts, 1, [&](int64_t a, int64_t b) {
        for (int64_t p = a; p < b; ++p) {
          int64_t group = before[static_cast<size_t>(p)], i = from(p);
          while (i < n && !begins(i)) ++i;  // the part before adds these up
          for (const int64_t end = from(p + 1); i < end; ++group) {
            const int64_t lead = position(i);
            leads[group] = lead;
            T* sum = out + group * width;
            std::copy_n(in + lead * width, width, sum);
            for (++i; i < n && !begins(i); ++i) {
              const T* term = in + position(i) * width;
              for (int64_t j = 0; j < width; ++j) sum[j] += term[j];
            }
          }
        }
      });
    });
  });
  return {first, to_dtype(sums, given.dtype())};
}

Two common(const Tensor& a, const Tensor& b) {
  for (const Tensor* t : {&a, &b}) {
    check_index_type("sparse positions", "positions", *t);
    FC_CHECK(t->dim() == 1, "sparse positions: expected two vectors, got ", a.sizes(), " and ", b.sizes());
  }
  const Tensor left = contiguous(a), right = contiguous(b);
  const auto *x = left.data_as<int64_t>(), *y = right.data_as<int64_t>();
  const int64_t n = a.size(0), m = b.size(0);
  Tensor in_a = empty_tensor(Dims{std::min(n, m)}, DType::Int64, Device{}),
         in_b = empty_tensor(in_a.sizes(), DType::Int64, {});
  auto *to_a = in_a.data_as<int64_t>(), *to_b = in_b.data_as<int64_t>();
  int64_t count = 0;
  for (int64_t i = 0, j = 0; i < n && j < m;) {
    const int64_t p = x[i], q = y[j];
    if (p == q) {
      to_a[count] = i;
      to_b[count++] = j;
    }
    i += p <= q;
    j += q <= p;
  }
  return {narrow(in_a, 0, 0, count), narrow(in_b, 0, 0, count)};
}

Tensor compress(const Tensor& rows, int64_t size) {
  check_index_type("sparse rows", "rows", rows);
  FC_CHECK(rows.dim() == 1 && size >= 0 && size < INT64_MAX, "sparse rows: expected a vector and a size, got ",
           rows.sizes(), " and ", size);
  const Tensor sorted = contiguous(rows);
  const auto* row = sorted.data_as<int64_t>();
  const int64_t n = rows.size(0);
  Tensor out = empty_tensor(Dims{size + 1}, DType::Int64, Device{});
  auto* to = out.data_as<int64_t>();
  int64_t next = 0;  // the first row whose beginning is not known
  for (int64_t i = 0; i < n; ++i) {
    const int64_t r = row[i];
    if (r + 1 == next) continue;  // of the same row as the one before
    if (r < 0 || r >= size) raise_bad_index("sparse rows", r, size);
    FC_CHECK(r >= next, "sparse rows: they must be sorted, but ", r, " follows ", next - 1);
    do to[next] = i;
    while (next++ < r);
  }
  while (next <= size) to[next++] = n;
  return out;
}

// Rows [a, b) of a matrix by rows: f(row, first entry, end), for ranges that lie within the entries.
template <class F>
void each_row(const char* op, const int64_t* compressed, int64_t entries, int64_t a, int64_t b, const F& f) {
  for (int64_t r = a; r < b; ++r) {
    const int64_t from = compressed[r], to = compressed[r + 1];
    FC_CHECK(from >= 0 && from <= to && to <= entries, op, ": row ", r, " has entries [", from, ", ", to,
             "), but there are ", entries, " (were the indices changed after the tensor was made?)");
    f(r, from, to);
  }
}

Tensor decompress(const Tensor& compressed, int64_t entries) {
  check_index_type("sparse rows", "compressed indices", compressed);
  FC_CHECK(compressed.dim() == 1 && compressed.size(0) > 0 && entries >= 0,
           "sparse rows: expected at least one compressed index, got ", compressed.sizes());
  const Tensor starts = contiguous(compressed);
  const auto* start = starts.data_as<int64_t>();
  const int64_t rows = compressed.size(0) - 1;
  FC_CHECK(start[0] == 0 && start[rows] == entries, "sparse rows: compressed indices must go from 0 to the number of ",
           "entries, ", entries, ", but go from ", start[0], " to ", start[rows]);
  Tensor out = empty_tensor(Dims{entries}, DType::Int64, Device{});
  auto* to = out.data_as<int64_t>();
  each_row("sparse rows", start, entries, 0, rows,
           [&](int64_t r, int64_t from, int64_t end) { std::fill(to + from, to + end, r); });
  return out;
}

// --- products

// Cuts rows so that each part has about as many entries, and gives every part to a thread: body(first row, end).
template <class F>
void spread_rows(const int64_t* compressed, int64_t rows, int64_t entries, int64_t width, const F& body) {
  const int64_t work = entries + rows;
  const int64_t parts = std::clamp<int64_t>(work * std::max<int64_t>(width, 1) / kWork, 1, 8 * num_threads());
  std::vector<int64_t> cuts(static_cast<size_t>(parts) + 1, rows);
  cuts[0] = 0;
  for (int64_t p = 1; p < parts; ++p) {
    int64_t low = cuts[static_cast<size_t>(p) - 1], high = rows;
    const int64_t target = work / parts * p;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (compressed[middle] + middle < target) low = middle + 1;
      else high = middle;
    }
    cuts[static_cast<size_t>(p)] = low;
  }
  parallel_for(0, parts, 1,
               [&](int64_t a, int64_t b) { body(cuts[static_cast<size_t>(a)], cuts[static_cast<size_t>(b)]); });
}

template <class T>
int64_t row_product(const T* values, const int64_t* columns, int64_t n, const T* dense, int64_t rows, int64_t width,
                    T* y) {
  if constexpr (std::is_floating_point_v<T>) {
    static const SparseKernels* const table = *FC_VARIANT(sparse_table);
    return table[std::is_same_v<T, double>].row(values, columns, n, dense, rows, width, y);
  } else {
    std::fill_n(y, width, T(0));
    for (int64_t k = 0; k < n; ++k) {
      const int64_t column = columns[k];
      if (column < 0 || column >= rows) return k;
      for (int64_t j = 0; j < width; ++j) y[j] += values[k] * dense[column * width + j];
    }
    return n;
  }
}

Tensor product_by_rows(const int64_t* compressed, const int64_t* columns, const Tensor& values, const Tensor& dense,
                       int64_t rows, DType result) {
  const int64_t entries = values.size(0), inner = dense.size(0), width = dense.size(1);
  Tensor out = empty_tensor(Dims{rows, width}, values.dtype(), Device{});
  FirstBad bad;
  with_type(values.dtype(), [&]<class T>(T) {
    const T *v = values.data_as<T>(), *d = dense.data_as<T>();
    T* y = out.data_as<T>();
    spread_rows(compressed, rows, entries, width, [&](int64_t a, int64_t b) {
      each_row("mm", compressed, entries, a, b, [&](int64_t r, int64_t from, int64_t to) {
        const int64_t good = row_product(v + from, columns + from, to - from, d, inner, width, y + r * width);
        if (good < to - from) bad.at(from + good);
      });
    });
  });
  if (bad.any()) raise_bad_index("mm", columns[bad.get()], inner);
  return to_dtype(out, result);
}

Tensor csr_mm(const Tensor& compressed, const Tensor& columns, const Tensor& values, const Tensor& dense) {
  check_compressed("mm", compressed, columns, values);
  check_factor("mm", values, dense);
  const Tensor starts = contiguous(compressed), at = contiguous(columns);
  return product_by_rows(starts.data_as<int64_t>(), at.data_as<int64_t>(), widened(values), widened(dense),
                         compressed.size(0) - 1, values.dtype());
}

Tensor coo_mm(const Tensor& indices, const Tensor& values, const Tensor& dense, int64_t rows) {
  FC_CHECK(indices.dim() == 2 && indices.size(0) == 2 && rows >= 0 && rows < INT64_MAX,
           "mm: expected indices [2, n], got ", indices.sizes());
  check_entries("mm", indices, values);
  check_factor("mm", values, dense);
  const Tensor at = contiguous(indices);
  const int64_t n = values.size(0);
  const auto *row = at.data_as<int64_t>(), *column = row + n;
  const Tensor wide = widened(values), factor = widened(dense);
  if (std::is_sorted(row, row + n)) {
    const Tensor starts = compress(select(at, 0, 0), rows);
    return product_by_rows(starts.data_as<int64_t>(), column, wide, factor, rows, values.dtype());
  }
  // By rows first: an entry's place in its row is that among all.
  Tensor starts = empty_tensor(Dims{rows + 1}, DType::Int64, Device{}), order = empty_tensor(Dims{n}, DType::Int64, {});
  Tensor sorted_rows = empty_tensor(Dims{n}, DType::Int64, Device{});
  sorted_by_key("mm", row, n, rows, [&](const auto& key, const auto& position) {
    auto *to = order.data_as<int64_t>(), *by = sorted_rows.data_as<int64_t>();
    parallel_for(0, n, kWork, [&](int64_t a, int64_t b) {
      for (int64_t i = a; i < b; ++i) {
        to[i] = position(i);
        by[i] = static_cast<int64_t>(key(i));
      }
    });
  });
  starts = compress(sorted_rows, rows);
  const Tensor columns = call<"aten::index_select", Tensor>(select(at, 0, 1), 0, order);
  return product_by_rows(starts.data_as<int64_t>(), columns.data_as<int64_t>(),
                         call<"aten::index_select", Tensor>(wide, 0, order), factor, rows, values.dtype());
}

Tensor sampled_mm(const Tensor& indices, const Tensor& a, const Tensor& b) {
  check_index_type("sampled mm", "indices", indices);
  FC_CHECK(indices.dim() == 2 && indices.size(0) == 2 && a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(1) &&
               a.dtype() == b.dtype(),
           "sampled mm: expected indices [2, n] and two matrices with rows of one size and type, got ", indices.sizes(),
           ", ", a.sizes(), " and ", b.sizes());
  const Tensor at = contiguous(indices), left = widened(a), right = widened(b);
  const int64_t n = indices.size(1), width = a.size(1), rows = a.size(0), columns = b.size(0);
  const auto *row = at.data_as<int64_t>(), *column = row + n;
  Tensor out = empty_tensor(Dims{n}, left.dtype(), Device{});
  FirstBad bad;
  with_type(left.dtype(), [&]<class T>(T) {
    const T *x = left.data_as<T>(), *y = right.data_as<T>();
    T* to = out.data_as<T>();
    parallel_for(0, n, std::max<int64_t>(1, kWork / std::max<int64_t>(width, 1)), [&](int64_t from, int64_t end) {
      for (int64_t k = from; k < end; ++k) {
        const int64_t r = row[k], c = column[k];
        if (r < 0 || r >= rows || c < 0 || c >= columns) {
          bad.at(k);
          return;
        }
        if constexpr (std::is_floating_point_v<T>) {
          static const SparseKernels* const table = *FC_VARIANT(sparse_table);
          to[k] = static_cast<T>(table[std::is_same_v<T, double>].dot(x + r * width, y + c * width, width));
        } else {
          T sum = 0;
          for (int64_t j = 0; j < width; ++j) sum += x[r * width + j] * y[c * width + j];
          to[k] = sum;
        }
      }
    });
  });
  if (bad.any()) {
    const int64_t r = row[bad.get()];
    if (r < 0 || r >= rows) raise_bad_index("sampled mm", r, rows);
    raise_bad_index("sampled mm", column[bad.get()], columns);
  }
  return to_dtype(out, a.dtype());
}

// Row by row (Gustavson): the columns that a row reaches are marked, sorted, and added up in a dense row. A first pass
// counts them, so that every row knows where it begins.
Three csr_csr_mm(const Tensor& compressed, const Tensor& columns, const Tensor& values, const Tensor& compressed2,
                 const Tensor& columns2, const Tensor& values2, int64_t size) {
  check_compressed("mm", compressed, columns, values);
  check_compressed("mm", compressed2, columns2, values2);
  FC_CHECK(values.dtype() == values2.dtype() && size >= 0, "mm: expected two matrices of one type, got ",
           values.dtype(), " and ", values2.dtype());
  const Tensor s1 = contiguous(compressed), c1 = contiguous(columns), v1 = widened(values);
  const Tensor s2 = contiguous(compressed2), c2 = contiguous(columns2), v2 = widened(values2);
  const auto *starts = s1.data_as<int64_t>(), *at = c1.data_as<int64_t>();
  const auto *starts2 = s2.data_as<int64_t>(), *at2 = c2.data_as<int64_t>();
  const int64_t rows = s1.size(0) - 1, inner = s2.size(0) - 1, n1 = v1.size(0), n2 = v2.size(0);
  // Calls f(column, entry of the first, entry of the second) for the products of a row.
  auto each_product = [&](int64_t from, int64_t to, const auto& f) {
    for (int64_t k = from; k < to; ++k) {
      const int64_t middle = at[k];
      if (middle < 0 || middle >= inner) raise_bad_index("mm", middle, inner);
      each_row("mm", starts2, n2, middle, middle + 1, [&](int64_t, int64_t a, int64_t b) {
        for (int64_t l = a; l < b; ++l) {
          const int64_t column = at2[l];
          if (column < 0 || column >= size) raise_bad_index("mm", column, size);
          f(column, k, l);
        }
      });
    }
  };
  Tensor out_starts = zeros(Dims{rows + 1}, DType::Int64, Device{});
  auto* begins = out_starts.data_as<int64_t>();
  const auto wide = static_cast<size_t>(size);
  spread_rows(starts, rows, n1, 8, [&](int64_t a, int64_t b) {
    std::vector<int64_t> seen(wide, -1);
    each_row("mm", starts, n1, a, b, [&](int64_t r, int64_t from, int64_t to) {
      int64_t count = 0;
      each_product(from, to, [&](int64_t column, int64_t, int64_t) {
        count += std::exchange(seen[static_cast<size_t>(column)], r) != r;
      });
      begins[r + 1] = count;
    });
  });
  for (int64_t r = 0; r < rows; ++r) begins[r + 1] += begins[r];
  const int64_t total = begins[rows];
  Tensor out_columns = empty_tensor(Dims{total}, DType::Int64, Device{}),
         out_values = empty_tensor(Dims{total}, v1.dtype(), Device{});
  auto* to_columns = out_columns.data_as<int64_t>();
  with_type(v1.dtype(), [&]<class T>(T) {
    const T *x = v1.data_as<T>(), *y = v2.data_as<T>();
    T* to_values = out_values.data_as<T>();
    spread_rows(starts, rows, n1, 8, [&](int64_t a, int64_t b) {
      std::vector<int64_t> seen(wide, -1);
      std::vector<T> sums(wide);
      each_row("mm", starts, n1, a, b, [&](int64_t r, int64_t from, int64_t to) {
        int64_t next = begins[r];
        each_product(from, to, [&](int64_t column, int64_t k, int64_t l) {
          const auto c = static_cast<size_t>(column);
          if (std::exchange(seen[c], r) != r) {
            FC_CHECK(next < begins[r + 1], "mm: the indices changed meanwhile");
            to_columns[next++] = column;
            sums[c] = 0;
          }
          sums[c] += x[k] * y[l];
        });
        FC_CHECK(next == begins[r + 1], "mm: the indices changed meanwhile");
        std::sort(to_columns + begins[r], to_columns + next);
        for (int64_t i = begins[r]; i < next; ++i) to_values[i] = sums[static_cast<size_t>(to_columns[i])];
      });
    });
  });
  return {out_starts, out_columns, to_dtype(out_values, values.dtype())};
}

}  // namespace

void register_sparse() {
  set_cpu_kernel("aten::_sparse_flat_index", kernel<&flat_index>());
  set_cpu_kernel("aten::_sparse_coalesce_entries", kernel<&coalesce_entries>());
  set_cpu_kernel("aten::_sparse_common", kernel<&common>());
  set_cpu_kernel("aten::_sparse_compress", kernel<&compress>());
  set_cpu_kernel("aten::_sparse_decompress", kernel<&decompress>());
  set_cpu_kernel("aten::_sparse_coo_mm", kernel<&coo_mm>());
  set_cpu_kernel("aten::_sparse_csr_mm", kernel<&csr_mm>());
  set_cpu_kernel("aten::_sparse_csr_csr_mm", kernel<&csr_csr_mm>());
  set_cpu_kernel("aten::_sparse_sampled_mm", kernel<&sampled_mm>());
}

}  // namespace fc::cpu
