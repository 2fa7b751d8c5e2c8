// SPDX-License-Identifier: Apache-2.0
// Reflection, replication and circular padding, row by row of the memory that is written: forward the result's rows,
// each a piece of an input row with its edges; backward the input's rows, each the sum of those of the gradient that
// were made of it, in their order. Every element is written by one thread, whatever the number of threads.
#include "plan/edges.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/register.h"
#include "backends/cpu/walk.h"
#include "core/threads.h"
#include "define/calls.h"
#include "dispatch/call.h"

namespace fc::cpu {
namespace {

constexpr int64_t kGrain = 1 << 15;  // bytes worth a thread

// One dimension of the result: where each of its places comes from. Those in [first, last) are neighbours there too.
struct Axis {
  int64_t in = 1, first = 0, last = 1;
  std::vector<int64_t> from{0};
  Axis() = default;
  Axis(int64_t size, const EdgeLine* line, PadMode mode) : in(size), last(size) {
    const int64_t cut = !line || mode == kCircular ? 0 : line->cut_before;
    const int64_t out = line ? line->result() - (mode == kCircular ? 0 : line->cut_before + line->cut_after) : size;
    from.resize(static_cast<size_t>(out));
    for (int64_t i = 0; i < out; ++i) from[static_cast<size_t>(i)] = line ? line->source(mode, i + cut) : i;
    if (!line) return;
    first = std::min(std::max<int64_t>(line->before - cut, 0), out);
    last = std::clamp(line->before + line->size - cut, first, out);
  }
  int64_t out() const { return static_cast<int64_t>(from.size()); }
  int64_t operator[](int64_t i) const { return from[static_cast<size_t>(i)]; }
};

// Which places of the result each place of the input went to, in order: those of i are place[start[i] … start[i + 1]).
struct Targets {
  std::vector<int64_t> start, place;
  explicit Targets(const Axis& a) : start(static_cast<size_t>(a.in) + 1), place(a.from.size()) {
    for (int64_t from : a.from) ++start[static_cast<size_t>(from) + 1];
    for (size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
    std::vector<int64_t> next(start.begin(), start.end() - 1);
    for (int64_t i = 0; i < a.out(); ++i) place[static_cast<size_t>(next[static_cast<size_t>(a[i])]++)] = i;
  }
};

// The three last dimensions as far as they are padded; what lies before them are planes, and the channels of
// channels-last memory lanes.
struct Edges {
  Axis z, y, x;
  int64_t planes = 1, lanes = 1;
  MemoryFormat format = MemoryFormat::Contiguous;
  Dims shape;  // of the result

  Edges(IntSpan sizes, IntSpan pad, PadMode mode, MemoryFormat suggested)
      : shape(sizes), lines_(plan_edges(pad_names[mode], sizes, pad, mode)), mode_(mode), padded_(pad.size() / 2) {
    const size_t n = sizes.size(), padded = padded_;
    for (size_t i = 0; i < padded; ++i) {
      const size_t dim = n - 1 - i;
      FC_CHECK(!__builtin_add_overflow(shape[dim], pad[2 * i], &shape[dim]) &&
                   !__builtin_add_overflow(shape[dim], pad[2 * i + 1], &shape[dim]),
               "pad: sizes overflow");
    }
    const bool channels_last = suggested != MemoryFormat::Contiguous && n == padded + 2;
    if (channels_last) format = suggested;
    for (size_t d = 0; d + padded < n; ++d) (channels_last && d + padded + 1 == n ? lanes : planes) *= sizes[d];
  }
  // Once there is memory of that size.
  void find_places(IntSpan sizes) {
    Axis* axes[] = {&x, &y, &z};
    for (size_t i = 0; i < padded_; ++i) {
      const size_t dim = sizes.size() - 1 - i;
      const auto line = std::find_if(lines_.begin(), lines_.end(), [&](const EdgeLine& l) { return l.dim == dim; });
      *axes[i] = Axis(sizes[dim], line == lines_.end() ? nullptr : &*line, mode_);
    }
  }

 private:
  std::vector<EdgeLine> lines_;
  PadMode mode_;
  size_t padded_;
};

// Rows [begin, end) of the result; T is a pixel, or a byte of one of another size.
template <class T>
void copy_rows(const Edges& e, const char* src, char* dst, int64_t pixel, int64_t begin, int64_t end) {
  constexpr bool whole = sizeof(T) > 1;
  const int64_t* x = e.x.from.data();
  const int64_t first = e.x.first, last = e.x.last, out = e.x.out(), row = out * pixel;
  const size_t middle = static_cast<size_t>((last - first) * pixel);
  const int64_t start = middle ? x[first] * pixel : 0;
  auto copy_pixels = [&](char* to, const char* from, int64_t i, int64_t stop) {
    for (; i < stop; ++i) {
      if constexpr (whole) std::memcpy(to + i * sizeof(T), from + x[i] * static_cast<int64_t>(sizeof(T)), sizeof(T));
      else std::memcpy(to + i * pixel, from + x[i] * pixel, static_cast<size_t>(pixel));
    }
  };
  int64_t y = begin % e.y.out(), z = begin / e.y.out() % e.z.out(), plane = begin / e.y.out() / e.z.out();
  for (int64_t r = begin; r < end; ++r) {
    const char* from = src + ((plane * e.z.in + e.z[z]) * e.y.in + e.y[y]) * e.x.in * pixel;
    char* to = dst + r * row;
    copy_pixels(to, from, 0, first);
    std::memcpy(to + first * pixel, from + start, middle);
    copy_pixels(to, from, last, out);
    if (++y < e.y.out()) continue;
    y = 0;
    if (++z == e.z.out()) z = 0, ++plane;
  }
}

Tensor pad_edges(const Tensor& self, IntSpan pad, PadMode mode) {
  Edges e(self.sizes(), pad, mode, suggest_memory_format(self));
  const Tensor in = contiguous(self, e.format), out = empty_tensor(e.shape, self.dtype(), Device{}, e.format);
  if (out.numel() == 0) return out;
  e.find_places(self.sizes());
  const int64_t pixel = static_cast<int64_t>(item_size(self.dtype())) * e.lanes, row = e.x.out() * pixel;
  const char* src = in.data_as<char>();
  char* dst = out.data_as<char>();
  parallel_for(0, e.planes * e.z.out() * e.y.out(), std::max<int64_t>(1, kGrain / row),
               [&](int64_t begin, int64_t end) {
                 if (pixel == 4) copy_rows<uint32_t>(e, src, dst, pixel, begin, end);
                 else if (pixel == 8) copy_rows<uint64_t>(e, src, dst, pixel, begin, end);
                 else copy_rows<char>(e, src, dst, pixel, begin, end);
               });
  // Memory of channels-last form whose channels are padded: elsewhere nobody meets it.
  const MemoryFormat wanted = suggest_memory_format(self);
  return wanted == e.format ? out : contiguous(out, wanted);
}

// sum[i] += in[i], for rows that do not overlap.
template <class T>
void add_row(T* __restrict sum, const T* __restrict in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += in[i];
}

// The gradient's rows as T are added to the row of the input that they came from.
template <class T>
void add_edges(const Edges& e, const Tensor& grad, const Tensor& result, int64_t lanes) {
  const bool same = item_size(grad.dtype()) >= sizeof(T);
  const DType number = std::is_same_v<T, float> ? DType::Float32 : DType::Float64;
  const CastFn widen = same ? nullptr : cast_fn(grad.dtype(), number),
               narrow = same ? nullptr : cast_fn(number, grad.dtype());
  const auto item = static_cast<int64_t>(same ? sizeof(T) : item_size(grad.dtype()));
  const Targets zs(e.z), ys(e.y);
  const char* src = grad.data_as<char>();
  char* dst = result.data_as<char>();
  const int64_t in_row = e.x.in * lanes, out_row = e.x.out() * lanes;
  const int64_t start = e.x.last > e.x.first ? e.x[e.x.first] * lanes : 0;
  parallel_for(
      0, e.planes * e.z.in * e.y.in, std::max<int64_t>(1, kGrain / (in_row * item)), [&](int64_t begin, int64_t end) {
        Tensor memory =
            same ? Tensor()
                 : empty_tensor(Dims{(in_row + out_row) * static_cast<int64_t>(sizeof(T))}, DType::UInt8, Device{});
        T *own = same ? nullptr : memory.data_as<T>(), *read = own + (same ? 0 : in_row);
        for (int64_t r = begin; r < end; ++r) {
          const auto y = static_cast<size_t>(r % e.y.in), z = static_cast<size_t>(r / e.y.in % e.z.in);
          const int64_t plane = r / e.y.in / e.z.in;
          T* sum = same ? reinterpret_cast<T*>(dst + r * in_row * item) : own;
          std::fill(sum, sum + in_row, T(0));
          auto add_pixels = [&](const T* from, int64_t first, int64_t last) {
            for (int64_t x = first; x < last; ++x) add_row(sum + e.x[x] * lanes, from + x * lanes, lanes);
          };
          for (int64_t i = zs.start[z]; i < zs.start[z + 1]; ++i)
            for (int64_t j = ys.start[y]; j < ys.start[y + 1]; ++j) {
              const int64_t line =
                  (plane * e.z.out() + zs.place[static_cast<size_t>(i)]) * e.y.out() + ys.place[static_cast<size_t>(j)];
              const char* at = src + line * out_row * item;
              if (!same) widen(reinterpret_cast<char*>(read), sizeof(T), at, item, out_row);
              const T* from = same ? reinterpret_cast<const T*>(at) : read;
              add_pixels(from, 0, e.x.first);
              add_row(sum + start, from + e.x.first * lanes, (e.x.last - e.x.first) * lanes);
              add_pixels(from, e.x.last, e.x.out());
            }
          if (!same) narrow(dst + r * in_row * item, item, reinterpret_cast<const char*>(sum), sizeof(T), in_row);
        }
      });
}

void pad_edges_backward(void* general, const Operator& op, const Arg* args, Value* results) {
  const Tensor& grad = args[0].tensor();
  const bool complex = is_complex(grad.dtype());
  // Integers, which only a call by hand brings, and pairs of halves.
  if ((!complex && !is_floating(grad.dtype())) || grad.dtype() == DType::Complex32) {
    const Kernel& k = static_cast<const Operator*>(general)->all_devices();
    return k.fn(k.context, op, args, results);
  }
  const IntSpan sizes = args[1].ints(), pad = args[2].ints();
  const PadMode mode = checked_mode(args[3].integer());
  Edges e(sizes, pad, mode, suggest_memory_format(grad));
  check_edges_backward(grad, sizes, pad, mode);
  const Tensor from = contiguous(grad, e.format), out = empty_tensor(sizes, grad.dtype(), Device{}, e.format);
  if (grad.numel() == 0) zero_(out);
  else if (out.numel() != 0) {
    e.find_places(sizes);
    const int64_t lanes = e.lanes * (complex ? 2 : 1);
    if (grad.dtype() == DType::Float64 || grad.dtype() == DType::Complex128) add_edges<double>(e, from, out, lanes);
    else add_edges<float>(e, from, out, lanes);
  }
  results[0] = Value(out);
}

template <PadMode mode>
Tensor pad(const Tensor& self, IntSpan padding) {
  check_padded(self, padding, mode);
  return pad_edges(self, padding, mode);
}
Tensor pad_of_mode(const Tensor& self, IntSpan padding, int64_t mode) {
  return pad_edges(self, padding, checked_mode(mode));
}

}  // namespace

void register_edges() {
  for (const char* op : {"aten::reflection_pad1d", "aten::reflection_pad2d", "aten::reflection_pad3d"})
    set_cpu_kernel(op, kernel<&pad<kReflect>>());
  for (const char* op : {"aten::replication_pad1d", "aten::replication_pad2d", "aten::replication_pad3d"})
    set_cpu_kernel(op, kernel<&pad<kReplicate>>());
  set_cpu_kernel("aten::_pad_circular", kernel<&pad<kCircular>>());
  set_cpu_kernel("facula::pad_edges", kernel<&pad_of_mode>());
  Operator* backward = find_operator("facula::pad_edges_backward");
  backward->set_kernel(Device::CPU, {pad_edges_backward, backward});
}

}  // namespace fc::cpu
