// SPDX-License-Identifier: Apache-2.0
// Sorting, topk and searchsorted. Elements become unsigned keys whose order is the wanted one (NaN last ascending, -0
// equal to 0, everything inverted when descending), paired with their indices, so that a key's order is stable and no
// comparison looks at floats. Long lines are sorted by radix, short ones by comparison.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "backends/cpu/register.h"
#include "backends/cpu/walk.h"
#include "core/tensor.h"
#include "core/threads.h"
#include "define/calls.h"
#include "dispatch/call.h"
#include "dispatch/family_table.h"
#include "dispatch/warn_once.h"
#include "kernels/sort_key.h"
#include "plan/pointwise.h"

namespace fc::cpu {
namespace {

// Key and position of an element. Keys of up to 32 bits and the position share one word.
struct Packed {
  uint64_t word;
  static Packed make(uint64_t key, int64_t position) { return {key << 32 | static_cast<uint64_t>(position)}; }
  uint64_t key() const { return word >> 32; }
  int64_t position() const { return static_cast<int64_t>(word & 0xffffffff); }
  friend bool operator<(const Packed& a, const Packed& b) { return a.word < b.word; }
};
struct Wide {
  uint64_t k;
  int64_t p;
  static Wide make(uint64_t key, int64_t position) { return {key, position}; }
  uint64_t key() const { return k; }
  int64_t position() const { return p; }
  friend bool operator<(const Wide& a, const Wide& b) { return a.k != b.k ? a.k < b.k : a.p < b.p; }
};

// Least significant byte first; a byte that is the same in all keys costs only its count.
template <class Entry>
void radix_sort(std::vector<Entry>& a, std::vector<Entry>& b, int bytes) {
  b.resize(a.size());
  for (int byte = 0; byte < bytes; ++byte) {
    size_t count[256] = {};
    const int shift = 8 * byte;
    for (const Entry& e : a) ++count[e.key() >> shift & 255];
    if (count[a[0].key() >> shift & 255] == a.size()) continue;
    size_t start = 0;
    for (size_t& c : count) start += std::exchange(c, start);
    for (const Entry& e : a) b[count[e.key() >> shift & 255]++] = e;
    a.swap(b);
  }
}

struct Line {  // n elements; strides in bytes
  const char* in;
  char* out;
  int64_t* indices;
  int64_t n, in_step, out_step, index_step;
};

// Gathers a line's keys; `flip` turns the order around.
template <class T, class Entry>
void gather_keys(const Line& l, bool flip, std::vector<Entry>& a) {
  const uint64_t mask = !flip ? 0 : sizeof(T) == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * sizeof(T)) - 1;
  a.resize(static_cast<size_t>(l.n));
  for (int64_t i = 0; i < l.n; ++i)
    a[static_cast<size_t>(i)] = Entry::make(sort_key(*reinterpret_cast<const T*>(l.in + i * l.in_step)) ^ mask, i);
}
template <class T, class Entry>
void write_line(const Line& l, const std::vector<Entry>& a, int64_t k) {
  for (int64_t i = 0; i < k; ++i) {
    int64_t position = a[static_cast<size_t>(i)].position();
    *reinterpret_cast<T*>(l.out + i * l.out_step) = *reinterpret_cast<const T*>(l.in + position * l.in_step);
    *reinterpret_cast<int64_t*>(reinterpret_cast<char*>(l.indices) + i * l.index_step) = position;
  }
}

struct Scratch {
  std::vector<Packed> packed, packed2;
  std::vector<Wide> wide, wide2;
};

// k < 0: the whole line sorted; otherwise its first k.
template <class T, class Entry>
void order_line(const Line& l, bool flip, int64_t k, bool sorted, std::vector<Entry>& a, std::vector<Entry>& b) {
  gather_keys<T>(l, flip, a);
  if (k < 0 || k * 4 > l.n * 3) {
    if (l.n > 400) radix_sort(a, b, sizeof(T));
    else std::sort(a.begin(), a.end());
  } else if (k > 0) {
    std::nth_element(a.begin(), a.begin() + k - 1, a.end());
    if (sorted) std::sort(a.begin(), a.begin() + k);
  }
  write_line<T>(l, a, k < 0 ? l.n : k);
}
template <class T>
void order(const Line& l, bool flip, int64_t k, bool sorted, Scratch& s) {
  if (sizeof(T) <= 4 && l.n < (int64_t{1} << 32)) order_line<T>(l, flip, k, sorted, s.packed, s.packed2);
  else order_line<T>(l, flip, k, sorted, s.wide, s.wide2);
}

using OrderFn = void (*)(const Line&, bool flip, int64_t k, bool sorted, Scratch&);
OrderFn pick(const char* op, DType t) {
  switch (t) {
    case DType::Bool:
    case DType::UInt8: return order<uint8_t>;
    case DType::Int8: return order<int8_t>;
    case DType::Int16: return order<int16_t>;
    case DType::Int32: return order<int32_t>;
    case DType::Int64: return order<int64_t>;
    case DType::UInt16: return order<uint16_t>;
    case DType::UInt32: return order<uint32_t>;
    case DType::UInt64: return order<uint64_t>;
    case DType::Float32: return order<float>;
    case DType::Float64: return order<double>;
    default: raise<NotImplementedError>("\"", op, "_cpu\" not implemented for '", info(t).legacy, "'");
  }
}

// Calls line(i-th line) for all lines along dim.
template <class F>
void each_line(const int64_t* shape, int ndim, int dim, const fc_operand& in, const fc_operand& out,
               const fc_operand& indices, const F& f) {
  int64_t lines = 1;
  for (int d = 0; d < ndim; ++d)
    if (d != dim) lines *= shape[d];
  const int64_t n = shape[dim];
  parallel_for(0, lines, std::max<int64_t>(2048 / std::max<int64_t>(n, 1), 1), [&](int64_t from, int64_t to) {
    Scratch scratch;
    for (int64_t i = from; i < to; ++i) {
      int64_t rest = i, a = 0, b = 0, c = 0;
      for (int d = ndim; d-- > 0;) {
        if (d == dim) continue;
        int64_t k = rest % shape[d];
        rest /= shape[d];
        a += k * in.strides[d];
        b += k * out.strides[d];
        c += k * indices.strides[d];
      }
      f(Line{static_cast<const char*>(in.data) + a, static_cast<char*>(out.data) + b,
             reinterpret_cast<int64_t*>(static_cast<char*>(indices.data) + c), n, in.strides[dim], out.strides[dim],
             indices.strides[dim]},
        scratch);
    }
  });
}

// float16 and bfloat16 sort as float32: the conversion is exact both ways.
bool widens(DType t) { return t == DType::Float16 || t == DType::BFloat16; }

std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  dim = wrap_dim(dim, self.dim(), "topk");
  const int64_t size = self.dim() ? self.size(dim) : 1;
  FC_CHECK(k >= 0 && k <= size, "topk: selected index k out of range: k is ", k, ", dimension ", dim, " has size ",
           size);
  if (widens(self.dtype())) {
    auto [values, indices] = topk(to_dtype(self, DType::Float32), k, dim, largest, sorted);
    return {to_dtype(values, self.dtype()), indices};
  }
  OrderFn fn = pick("topk", self.dtype());
  Dims sizes(self.sizes());
  if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = k;
  Tensor values = empty_tensor(sizes, self.dtype(), Device{}), indices = empty_tensor(sizes, DType::Int64, Device{});
  if (self.dim() == 0) {
    if (k == 1) copy_(values, self);
    zero_(indices);
    return {values, indices};
  }
  if (values.numel() == 0) return {values, indices};
  ByteStrides in(self), out(values), positions(indices);
  each_line(self.sizes().data(), static_cast<int>(self.dim()), static_cast<int>(dim), operand(self, in),
            operand(values, out), operand(indices, positions),
            [&](const Line& l, Scratch& s) { fn(l, largest, k, sorted, s); });
  return {values, indices};
}

// --- searchsorted
template <class T>
bool before(T a, T b) {  // NaN is largest
  if constexpr (std::is_floating_point_v<T>) return a < b || (a == a && b != b);
  else return a < b;
}
template <class T, class Out>
void search(const Tensor& sequence, const Tensor& values, const int64_t* sorter, const Tensor& result, bool right) {
  const int64_t n = sequence.dim() ? sequence.size(-1) : 0;
  const int64_t per_line = sequence.dim() == 1 ? values.numel() : values.size(-1);
  const T* s = sequence.data_as<T>();
  const T* v = values.data_as<T>();
  Out* out = result.data_as<Out>();
  parallel_for(0, values.numel(), 1024, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const int64_t line = sequence.dim() == 1 ? 0 : i / per_line * n;
      int64_t low = 0, high = n;
      while (low < high) {
        int64_t mid = low + (high - low) / 2;
        T x = s[line + (sorter ? sorter[line + mid] : mid)];
        if (right ? !before(v[i], x) : before(x, v[i])) low = mid + 1;
        else high = mid;
      }
      out[i] = static_cast<Out>(low);
    }
  });
}

// Once for each kind of operand. What the framework itself asks for is contiguous.
template <int which>
void tell_copy(const char* what, const Tensor& t) {
  static std::atomic<bool> said;
  if (t.defined() && !t.is_contiguous())
    warn_once(said, str("torch.searchsorted(): ", what,
                        " tensor is non-contiguous, this will lower the performance due to extra data copy when "
                        "converting non-contiguous tensor to contiguous, please use contiguous ",
                        what, " tensor if possible. This message will only appear once per program.")
                        .c_str());
}

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right,
                    std::optional<std::string_view> side, const Tensor& sorter) {
  if (side) {
    FC_CHECK(*side == "left" || *side == "right", "searchsorted(): side can only be 'left' or 'right' but got ", *side);
    FC_CHECK(!right || *side == "right", "searchsorted(): side and right can't be set to opposites, got side of ",
             *side, " while right was True");
    right = *side == "right";
  }
  FC_CHECK(sorted_sequence.dim() > 0,
           "searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but got boundaries "
           "of dimension 0");
  if (sorted_sequence.dim() != 1) {
    bool fits = self.dim() == sorted_sequence.dim();
    for (int64_t d = 0; fits && d + 1 < self.dim(); ++d) fits = self.size(d) == sorted_sequence.size(d);
    FC_CHECK(fits,
             "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
             "and input value tensor must match, but we got boundaries tensor ",
             sorted_sequence.sizes(), " and input value tensor ", self.sizes());
  }
  if (sorter.defined()) {
    FC_CHECK(sorter.dtype() == DType::Int64, "searchsorted(): sorter must be a tensor of long dtype but got dtype ",
             sorter.dtype());
    FC_CHECK(Dims::same(sorter.sizes(), sorted_sequence.sizes()),
             "searchsorted(): boundary and sorter must have the same size, but got boundary tensor ",
             sorted_sequence.sizes(), " and sorter ", sorter.sizes());
  }
  tell_copy<0>("input value", self);
  tell_copy<1>("boundary", sorted_sequence);
  tell_copy<2>("sorter", sorter);
  const MapInput both[] = {{&sorted_sequence, {}}, {&self, {}}};  // 3.5 lies between 3 and 4
  DType type = compute_type(result_type(both));
  if (type == DType::Bool) type = DType::UInt8;
  Tensor sequence = contiguous(to_dtype(sorted_sequence, type)), values = contiguous(to_dtype(self, type));
  Tensor order = sorter.defined() ? contiguous(sorter) : sorter;
  Tensor result = empty_tensor(self.sizes(), out_int32 ? DType::Int32 : DType::Int64, Device{});
  if (order.defined()) {
    const int64_t* p = order.data_as<int64_t>();
    for (int64_t i = 0; i < order.numel(); ++i)
      FC_CHECK(p[i] >= 0 && p[i] < sequence.size(-1), "torch.searchsorted(): sorter index out of range: ", p[i]);
  }
  if (values.numel() == 0) return result;
  auto run = [&]<class T>(T) {
    const int64_t* p = order.defined() ? order.data_as<int64_t>() : nullptr;
    if (out_int32) search<T, int32_t>(sequence, values, p, result, right);
    else search<T, int64_t>(sequence, values, p, result, right);
  };
  switch (type) {
    case DType::UInt8: run(uint8_t{}); break;
    case DType::Int8: run(int8_t{}); break;
    case DType::Int16: run(int16_t{}); break;
    case DType::Int32: run(int32_t{}); break;
    case DType::Int64: run(int64_t{}); break;
    case DType::Float32: run(float{}); break;
    case DType::Float64: run(double{}); break;
    default: raise<NotImplementedError>("\"searchsorted_cpu\" not implemented for '", info(type).legacy, "'");
  }
  return result;
}

}  // namespace

void sort(void*, Device, const fc_sort& c) {
  DType type = static_cast<DType>(c.in.dtype);
  if (!widens(type)) {
    OrderFn fn = pick("sort", type);
    each_line(c.shape, c.ndim, c.dim, c.in, c.out, c.indices,
              [&](const Line& l, Scratch& s) { fn(l, c.descending != 0, -1, true, s); });
    return;
  }
  CastFn up = cast_fn(type, DType::Float32), down = cast_fn(DType::Float32, type);
  each_line(c.shape, c.ndim, c.dim, c.in, c.out, c.indices, [&](const Line& l, Scratch& s) {
    std::vector<float> in(static_cast<size_t>(l.n)), out(in.size());
    up(reinterpret_cast<char*>(in.data()), 4, l.in, l.in_step, l.n);
    order<float>({reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data()), l.indices, l.n, 4, 4,
                  l.index_step},
                 c.descending != 0, -1, true, s);
    down(l.out, l.out_step, reinterpret_cast<const char*>(out.data()), 4, l.n);
  });
}

void register_sort() {
  set_cpu_kernel("aten::topk", kernel<&topk>());
  set_cpu_kernel("aten::searchsorted.Tensor", kernel<&searchsorted>());
}

}  // namespace fc::cpu
