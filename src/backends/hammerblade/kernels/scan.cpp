// SPDX-License-Identifier: Apache-2.0
// Running sums, products and extremes. The host moves the scanned dimension last. A line is cut into as many parts as
// keep all tiles busy; a part folds its elements into one state, and after a barrier goes over them again with the
// states of the parts before it. An element is always the join of those and of its own part's beginning, so where
// nothing is added, nothing changes.
#include <facula_hb/kernel.h>

#include "facula/families.h"
#include "kernels/formulas/base.h"

namespace {

// What a stretch of a line has come to: of(x, i) for one element, join(a, b) for two stretches side by side.
template <class T>
struct Sum {
  T value;
  static Sum of(T x, int32_t) { return {x}; }
  static Sum join(Sum a, Sum b) { return {a.value + b.value}; }
};
// The CPU adds floats in double, which the chip has not; here a second float keeps what rounding has lost.
template <>
struct Sum<float> {
  float value, lost;
  static Sum of(float x, int32_t) { return {x, 0}; }
  static Sum join(Sum a, Sum b) {
    const float sum = a.value + b.value, from_b = sum - a.value;
    if (!(sum - sum == 0)) return {sum, 0};  // infinite or NaN
    const float lost = (a.value - (sum - from_b)) + (b.value - from_b) + (a.lost + b.lost), value = sum + lost;
    return {value, lost - (value - sum)};
  }
};
template <class T>
struct Product {
  T value;
  static Product of(T x, int32_t) { return {x}; }
  static Product join(Product a, Product b) { return {a.value * b.value}; }
};
// Of equal elements the last one counts; a NaN stays, and its index is the last NaN's.
template <bool max, class T>
struct Extreme {
  T value;
  int32_t at;
  static Extreme of(T x, int32_t i) { return {x, i}; }
  static Extreme join(Extreme a, Extreme b) {
    const bool later = b.value != b.value || (a.value == a.value && (max ? b.value >= a.value : b.value <= a.value));
    return later ? b : a;
  }
};
template <class T>
using Max = Extreme<true, T>;
template <class T>
using Min = Extreme<false, T>;
template <class T>
struct LogSum {  // log(e^a + e^b)
  T value;
  static LogSum of(T x, int32_t) { return {x}; }
  static LogSum join(LogSum a, LogSum b) {
    if (a.value != a.value || b.value != b.value) return {a.value + b.value};
    const T high = a.value < b.value ? b.value : a.value, low = a.value < b.value ? a.value : b.value;
    if (high == low && !(high - high == 0)) return {high};  // both infinite
    return {high + fc::math::log1p(fc::math::exp(low - high))};
  }
};

__attribute__((noinline)) int32_t offset(const hb::Layout& t, int32_t i) { return t.offset(i); }

template <class State, class T>
void scan(hb::Out<T> out, hb::Changed<int64_t> indices, hb::In<T> in, int32_t parts, hb::Changed<int64_t> memory) {
  const int32_t length = in.size[in.ndim - 1], lines = in.numel / length, part = (length + parts - 1) / parts;
  const int32_t step = in.stride[in.ndim - 1], out_step = out.stride[out.ndim - 1];
  const int32_t where_step = indices.defined() ? indices.stride[indices.ndim - 1] : 0;
  State* states = reinterpret_cast<State*>(memory.data);
  if (parts > 1) {
    hb::each(lines * parts, [&](int32_t item) {
      const int32_t line = item / parts, begin = (item - line * parts) * part;
      const int32_t end = length - begin < part ? length : begin + part;
      if (begin >= end) return;
      const T* p = in.data + offset(in, line * length);
      State state = State::of(hb::load(p + begin * step), begin);
      for (int32_t i = begin + 1; i < end; ++i) state = State::join(state, State::of(hb::load(p + i * step), i));
      hb::store(states + item, state);
    });
    hb::barrier();
  }
  hb::each(lines * parts, [&](int32_t item) {
    const int32_t line = item / parts, first = line * parts, begin = (item - first) * part;
    const int32_t end = length - begin < part ? length : begin + part;
    if (begin >= end) return;
    State before{};
    for (int32_t i = first; i < item; ++i) {
      const State s = hb::load(states + i);
      before = i == first ? s : State::join(before, s);
    }
    const T* p = in.data + offset(in, line * length);
    T* to = out.data + offset(out, line * length);
    int64_t* where = indices.defined() ? indices.data + offset(indices, line * length) : nullptr;
    State state{};
    for (int32_t i = begin; i < end; ++i) {
      const State x = State::of(hb::load(p + i * step), i);
      state = i == begin ? x : State::join(state, x);
      const State all = item == first ? state : State::join(before, state);
      hb::store(to + i * out_step, all.value);
      if constexpr (requires { all.at; })
        if (where) hb::store(where + i * where_step, static_cast<int64_t>(all.at));
    }
  });
}

}  // namespace

#define HB_SCAN(name, State, opcode, T, suffix) \
  HB_FAMILY_KERNEL(tensorlib_##name##suffix, (&scan<State<T>, T>), FC_FAMILY_SCAN, opcode, T)
HB_SCAN(cumsum, Sum, FC_SCAN_SUM, float, )
HB_SCAN(cumsum, Sum, FC_SCAN_SUM, int64_t, _Long)
HB_SCAN(cumprod, Product, FC_SCAN_PROD, float, )
HB_SCAN(cumprod, Product, FC_SCAN_PROD, int64_t, _Long)
HB_ALL(HB_SCAN, cummax, Max, FC_SCAN_MAX)
HB_ALL(HB_SCAN, cummin, Min, FC_SCAN_MIN)
HB_FLOATS(HB_SCAN, logcumsumexp, LogSum, FC_SCAN_LOGSUMEXP)
