// SPDX-License-Identifier: Apache-2.0
// Kernels of the manycore device, written as C++ functions with typed parameters. One file is one kernel:
//
//     #include <facula_hb/kernel.h>
//     template <class T>
//     void twice(hb::Out<T> out, hb::In<T> a) {
//       hb::map(out, [](T x) { return x + x; }, a);
//     }
//     HB_KERNEL(twice, "my::twice", HB_NUMBERS)
//
// HB_KERNEL makes tensorlib_twice, tensorlib_twice_Int and tensorlib_twice_Long: the names to launch and to set
// breakpoints at. Each argument is a word, the address of a record in the launch packet; the parameters' types say how
// they are unpacked, which element types the kernel is for, and how the host packs them. Statistics and the final
// barrier are supplied here. A row of table.h goes with each name, so nothing else has to know of a kernel.
//
// Everything runs on every tile (SPMD): hb::tile() of hb::tiles(). Arrays on the stack lie in the tile's scratchpad,
// tensors in device memory.
#pragma once
#include <stdint.h>

#include <kernel_common.hpp>

#include "table.h"

#if defined(__GNUC__) && !defined(__clang__)
#define HB_INDEPENDENT _Pragma("GCC ivdep")
#else
#define HB_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#endif
#define HB_INLINE [[gnu::always_inline]] inline

namespace hb {

template <class T>
HB_INLINE T load(const T* p) {
  return *p;
}
template <class T>
HB_INLINE void store(T* p, T value) {
  *p = value;
}

// ---- tiles ---------------------------------------------------------------------------------------------------------
inline int32_t tile() { return static_cast<int32_t>(__bsg_id); }
inline int32_t tiles() { return static_cast<int32_t>(bsg_tiles_X) * static_cast<int32_t>(bsg_tiles_Y); }
inline void barrier() { g_barrier.sync(); }

struct Range {
  int32_t begin, end;
};
// This tile's share of 0 … n-1: contiguous, whole multiples of `grain` but for the last.
inline Range share(int32_t n, int32_t grain = 1) {
  const int32_t t = tiles(), blocks = (n + grain - 1) / grain, each = (blocks + t - 1) / t * grain;
  // Below 2^32 for any tile: a 64-bit product is a call of a library on the chip.
  const uint32_t begin = static_cast<uint32_t>(each) * static_cast<uint32_t>(tile());
  const int32_t from = begin < static_cast<uint32_t>(n) ? static_cast<int32_t>(begin) : n;
  return {from, n - from < each ? n : from + each};
}
// f(i) for this tile's share of 0 … n-1.
template <class F>
HB_INLINE void each(int32_t n, F f) {
  const Range r = share(n);
  for (int32_t i = r.begin; i < r.end; ++i) f(i);
}

// ---- element types: PyTorch's numbers ------------------------------------------------------------------------------
template <class T>
inline constexpr int dtype_of = -1;
template <>
inline constexpr int dtype_of<uint8_t> = 0;
template <>
inline constexpr int dtype_of<int8_t> = 1;
template <>
inline constexpr int dtype_of<int16_t> = 2;
template <>
inline constexpr int dtype_of<int32_t> = 3;
template <>
inline constexpr int dtype_of<int64_t> = 4;
template <>
inline constexpr int dtype_of<float> = 6;
template <>
inline constexpr int dtype_of<double> = 7;
template <>
inline constexpr int dtype_of<bool> = 11;

// ---- parameters ----------------------------------------------------------------------------------------------------
// How a tensor lies: sizes and strides, in elements, copied into the scratchpad.
class Layout {
 public:
  // The element at flat position i, last dimension fastest.
  int32_t offset(int32_t i) const {
    int32_t at = 0;
    for (int32_t d = ndim; d-- > 1;) {
      const int32_t q = i / size[d];
      at += (i - q * size[d]) * stride[d];
      i = q;
    }
    return ndim ? at + i * stride[0] : 0;
  }
  template <class... I>
  HB_INLINE int32_t at(I... i) const {
    int32_t d = 0, sum = 0;
    ((sum += static_cast<int32_t>(i) * stride[d++]), ...);
    return sum;
  }

  int32_t numel, ndim;
  int32_t size[kMaxDims], stride[kMaxDims];

 protected:
  __attribute__((noinline)) explicit Layout(const hb_tensor_t& t)
      : numel(static_cast<int32_t>(t.N)), ndim(static_cast<int32_t>(t.dims)) {
    auto* sizes = reinterpret_cast<const uint32_t*>(static_cast<uintptr_t>(t.sizes));
    auto* strides = reinterpret_cast<const uint32_t*>(static_cast<uintptr_t>(t.strides));
    for (int32_t d = 0; d < ndim && d < kMaxDims; ++d) {
      size[d] = static_cast<int32_t>(sizes[d]);
      stride[d] = static_cast<int32_t>(strides[d]);
    }
  }
};
// A tensor in device memory.
template <class T>
class Tensor : public Layout {
 public:
  explicit Tensor(const void* packed) : Tensor(*static_cast<const hb_tensor_t*>(packed)) {}
  bool defined() const { return data; }
  // Elements at coordinates, all that there are.
  template <class... I>
  HB_INLINE T get(I... i) const {
    return load(data + at(i...));
  }
  template <class... I>
  HB_INLINE void set(T value, I... i) const {
    store(data + at(i...), value);
  }

  T* data;

 private:
  explicit Tensor(const hb_tensor_t& t) : Layout(t), data(reinterpret_cast<T*>(static_cast<uintptr_t>(t.data))) {}
};
template <class T>
struct Out : Tensor<T> {
  using Tensor<T>::Tensor;
};
template <class T>
struct In : Tensor<T> {
  using Tensor<T>::Tensor;
};
// The same without gaps, last dimension fastest: data[0] … data[numel - 1].
template <class T>
struct DenseOut : Tensor<T> {  // absent if not defined(): a gradient that nobody asked for
  using Tensor<T>::Tensor;
};
template <class T>
struct DenseIn : Tensor<T> {
  using Tensor<T>::Tensor;
};
template <class T>
struct Maybe : DenseIn<T> {  // absent if not defined()
  using DenseIn<T>::DenseIn;
};
template <class T>
struct Changed : Tensor<T> {  // an argument that is written, with any strides; may be absent
  using Tensor<T>::Tensor;
};
// Several tensors, some integers, some numbers.
template <class T>
struct List {
  explicit List(const void* packed) : words(static_cast<const uint32_t*>(packed)) {}
  int32_t n() const { return static_cast<int32_t>(words[0]); }
  In<T> operator[](int32_t i) const {
    return In<T>(reinterpret_cast<const void*>(static_cast<uintptr_t>(words[i + 1])));
  }
  const uint32_t* words;  // how many, then their addresses
};
struct Ints {
  explicit Ints(const void* packed) {
    auto* v = static_cast<const hb_vector_t*>(packed);
    n = static_cast<int32_t>(v->N);
    data = reinterpret_cast<const int32_t*>(static_cast<uintptr_t>(v->data));
  }
  int32_t operator[](int32_t i) const { return data[i]; }
  int32_t n;
  const int32_t* data;
};
template <class T>
struct Numbers {
  explicit Numbers(const void* packed) : data(static_cast<const T*>(packed)) {}
  const T* data;
};
struct Ignored {
  explicit Ignored(const void*) {}
};
// Where a kernel says that an index was out of range; the host raises it after the launch. The first tile's word
// counts.
struct Fault {
  explicit Fault(const void* packed) : word(static_cast<int*>(const_cast<void*>(packed))) {}
  void bad_index(int64_t index) const {
    if (bsg_amoswap(word, 1) == 0) word[1] = static_cast<int>(index);
  }
  int* word;
};

template <class P>
struct Unpack {  // a plain number, by address
  static constexpr Parameter facts{kNumber, dtype_of<P>, false};
  static P from(const void* packed) { return *static_cast<const P*>(packed); }
};
template <class P, uint8_t kind, int dtype, bool dense = false>
struct UnpackAs {
  static constexpr Parameter facts{kind, static_cast<int8_t>(dtype), dense};
  static P from(const void* packed) { return P(packed); }
};
template <class T>
struct Unpack<Out<T>> : UnpackAs<Out<T>, kOut, dtype_of<T>> {};
template <class T>
struct Unpack<In<T>> : UnpackAs<In<T>, kIn, dtype_of<T>> {};
template <class T>
struct Unpack<DenseOut<T>> : UnpackAs<DenseOut<T>, kOut, dtype_of<T>, true> {};
template <class T>
struct Unpack<DenseIn<T>> : UnpackAs<DenseIn<T>, kIn, dtype_of<T>, true> {};
template <class T>
struct Unpack<Maybe<T>> : UnpackAs<Maybe<T>, kMaybe, dtype_of<T>, true> {};
template <class T>
struct Unpack<Changed<T>> : UnpackAs<Changed<T>, kChanged, dtype_of<T>> {};
template <class T>
struct Unpack<List<T>> : UnpackAs<List<T>, kList, dtype_of<T>> {};
template <class T>
struct Unpack<Numbers<T>> : UnpackAs<Numbers<T>, kNumbers, dtype_of<T>> {};
template <>
struct Unpack<Ints> : UnpackAs<Ints, kInts, 3> {};
template <>
struct Unpack<Ignored> : UnpackAs<Ignored, kIgnored, -1> {};
template <>
struct Unpack<Fault> : UnpackAs<Fault, kFault, 4> {};

// ---- entry ----------------------------------------------------------------------------------------------------------
constexpr uint32_t arity(const Row& row) { return static_cast<uint32_t>(row.n_parameters); }

template <int32_t... i>
struct Positions {};
#if defined(__clang__)
template <class, int32_t... i>
using MakePositions = Positions<i...>;
template <int32_t n>
using FirstPositions = __make_integer_seq<MakePositions, int32_t, n>;
#else
template <int32_t n>
using FirstPositions = Positions<__integer_pack(n)...>;
#endif

template <auto kernel>
struct Entry;
template <class... P, void (*kernel)(P...)>
struct Entry<kernel> {
  template <int32_t... i>
  HB_INLINE static void call(const uint32_t* argv, Positions<i...>) {
    kernel(Unpack<P>::from(reinterpret_cast<const void*>(static_cast<uintptr_t>(argv[i])))...);
  }
  static constexpr Parameter parameters[] = {Unpack<P>::facts...};
  static constexpr int32_t n = sizeof...(P);
  static int run(const uint32_t* argv) {
    bsg_cuda_print_stat_kernel_start();
    call(argv, FirstPositions<n>());
    bsg_cuda_print_stat_kernel_end();
#if !defined(HB_EMUL) || defined(HB_EMUL_CHECK)
    barrier();  // the host takes one tile's end for everybody's; in fast mode it waits for all of them
#endif
    return 0;
  }
};

}  // namespace hb

// Element types of a kernel's variants, with the port's suffixes.
#define HB_FLOATS(X, ...) X(__VA_ARGS__, float, )
#define HB_INTS(X, ...) X(__VA_ARGS__, int32_t, _Int) X(__VA_ARGS__, int64_t, _Long)
#define HB_BOOL(X, ...) X(__VA_ARGS__, bool, _Bool)
#define HB_NUMBERS(X, ...) HB_FLOATS(X, __VA_ARGS__) HB_INTS(X, __VA_ARGS__)
#define HB_ALL(X, ...) HB_NUMBERS(X, __VA_ARGS__) HB_BOOL(X, __VA_ARGS__) X(__VA_ARGS__, uint8_t, _Byte)

// The C function of a kernel and what the host knows of it.
#if defined(HB_EMUL)
#define HB_ENTRY(name, row, body)                                                                             \
  extern "C" __attribute__((noinline, visibility("default"))) int name(const uint32_t* argv) { return body; } \
  static void hb_emul_call_##name(const uint32_t* argv) { name(argv); }                                       \
  static constexpr hb::Row hb_row_##name = row;                                                               \
  __attribute__((section("hb_kernels"), used)) static const hb_emul_kernel_t hb_emul_record_##name = {        \
      #name, hb::arity(hb_row_##name), &hb_emul_call_##name, "", __BASE_FILE__, __LINE__, &hb_row_##name};
#else  // words come in registers and on the stack, as the arguments of any C function
#define HB_ENTRY(name, row, body)                                                                \
  extern "C" __attribute__((noinline, visibility("default"))) int name(uint32_t first, ...) {    \
    constexpr hb::Row facts = row;                                                               \
    uint32_t argv[facts.n_parameters > 0 ? facts.n_parameters : 1] = {first};                    \
    __builtin_va_list rest;                                                                      \
    __builtin_va_start(rest, first);                                                             \
    for (int32_t i = 1; i < facts.n_parameters; ++i) argv[i] = __builtin_va_arg(rest, uint32_t); \
    __builtin_va_end(rest);                                                                      \
    return body;                                                                                 \
  }
#endif
#define HB_LIST(...) \
  { __VA_ARGS__ }

#define HB_KERNEL_OF_TYPE(name, op, accepts, T, suffix)                                                           \
  HB_ENTRY(tensorlib_##name##suffix,                                                                              \
           HB_LIST(op, hb::Entry<&name<T>>::parameters, hb::Entry<&name<T>>::n, -1, 0, hb::dtype_of<T>, accepts), \
           (hb::Entry<&name<T>>::run(argv)))
#define HB_KERNEL(name, op, types) types(HB_KERNEL_OF_TYPE, name, op, nullptr)
#define HB_KERNEL_IF(name, op, types, accepts) types(HB_KERNEL_OF_TYPE, name, op, accepts)

// A function that is not a template: its parameters have their types.
#define HB_KERNEL_PLAIN_IF(name, op, accepts)                                                                    \
  HB_ENTRY(tensorlib_##name, HB_LIST(op, hb::Entry<&name>::parameters, hb::Entry<&name>::n, -1, 0, -1, accepts), \
           (hb::Entry<&name>::run(argv)))
#define HB_KERNEL_PLAIN(name, op) HB_KERNEL_PLAIN_IF(name, op, nullptr)
// For an operator whose results' sizes only the kernel's author knows. Such a kernel gets arguments without elements
// too.
#define HB_KERNEL_SIZED(name, op, sizes)                                                              \
  HB_ENTRY(tensorlib_##name,                                                                          \
           HB_LIST(op, hb::Entry<&name>::parameters, hb::Entry<&name>::n, -1, 0, -1, nullptr, sizes), \
           (hb::Entry<&name>::run(argv)))
#define HB_KERNEL_SIZED_OF_TYPE(name, op, accepts, sizes, T, suffix)                                                \
  HB_ENTRY(                                                                                                         \
      tensorlib_##name##suffix,                                                                                     \
      HB_LIST(op, hb::Entry<&name<T>>::parameters, hb::Entry<&name<T>>::n, -1, 0, hb::dtype_of<T>, accepts, sizes), \
      (hb::Entry<&name<T>>::run(argv)))
#define HB_KERNEL_SIZED_IF(name, op, types, accepts, sizes) types(HB_KERNEL_SIZED_OF_TYPE, name, op, accepts, sizes)

// One of a family's: no operator, but an opcode.
#define HB_FAMILY_KERNEL(name, kernel, family, opcode, T)                                                              \
  HB_ENTRY(name,                                                                                                       \
           HB_LIST("", hb::Entry<kernel>::parameters, hb::Entry<kernel>::n, family, opcode, hb::dtype_of<T>, nullptr), \
           (hb::Entry<kernel>::run(argv)))

namespace hb {

// ---- loops ---------------------------------------------------------------------------------------------------------
namespace detail {

inline constexpr int32_t kChunk = 64;  // elements that are gathered in the scratchpad

// n elements with any stride, brought side by side into `scratch`, and back.
template <class T>
void gather(const void* from, int32_t stride, int32_t n, void* scratch) {
  auto* p = static_cast<const T*>(from);
  auto* to = static_cast<T*>(scratch);
  if (stride == 0) {
    const T value = load(p);
    for (int32_t i = 0; i < n; ++i) to[i] = value;
  } else {
    for (int32_t i = 0; i < n; ++i) to[i] = load(p + i * stride);
  }
}
template <class T>
void scatter(const void* scratch, int32_t stride, int32_t n, void* to) {
  for (int32_t i = 0; i < n; ++i) store(static_cast<T*>(to) + i * stride, static_cast<const T*>(scratch)[i]);
}

// A result or an argument along the rows of the result, whatever its elements are.
struct Cursor {
  template <class T>
  Cursor(const Tensor<T>& t, void (*move)(const void*, int32_t, int32_t, void*), T* scratch)
      : layout(t),
        data(reinterpret_cast<uintptr_t>(t.data)),
        bytes(sizeof(T)),
        step(t.ndim ? t.stride[t.ndim - 1] : 0),
        move(move),
        scratch(scratch) {}
  void row(int32_t i) {
    at = data + static_cast<uintptr_t>(layout.offset(i) * bytes);
    filled = false;
  }
  // The next n elements of an argument, side by side.
  const void* take(int32_t n) {
    auto* here = reinterpret_cast<const void*>(at);
    at += static_cast<uintptr_t>(n * step * bytes);
    if (step == 1) return here;
    if (!filled) move(here, step, step ? n : kChunk, scratch);
    filled = step == 0;
    return scratch;
  }
  const Layout& layout;
  uintptr_t data, at = 0;
  int32_t bytes, step;
  void (*move)(const void*, int32_t, int32_t, void*);  // gather of an argument, scatter of a result
  void* scratch;                                       // kChunk elements
  bool filled = false;
};

template <class T>
struct Argument : Cursor {
  explicit Argument(const In<T>& in) : Cursor(in, &gather<T>, elements) {}
  T elements[kChunk];
};

// One formula's work on elements that lie side by side: all of a kernel that differs from other kernels.
using RowLoop = void (*)(const void* f, void* out, int32_t n, const void* const* in);
template <class R, class F, class... T>
HB_INLINE void loop_over(const F f, R* out, int32_t n, const T*... in) {
  HB_INDEPENDENT
  for (int32_t k = 0; k < n; ++k) store(out + k, static_cast<R>(f(load(in + k)...)));
}
template <class R, class F, class... T, int32_t... i>
HB_INLINE void row_loop(const void* f, void* out, int32_t n, const void* const* in, Positions<i...>) {
  loop_over(*static_cast<const F*>(f), static_cast<R*>(out), n, static_cast<const T*>(in[i])...);
}
template <class R, class F, class... T>
void row_loop(const void* f, void* out, int32_t n, const void* const* in) {
  row_loop<R, F, T...>(f, out, n, in, FirstPositions<sizeof...(T)>());
}

// Kernels that are compiled for no processor in particular have the loops over floats a second time, for 512-bit
// vectors (HB_EMUL_WIDE: the attribute that says so). The results are the same, bit by bit.
#if defined(HB_EMUL_WIDE)
template <class R, class F, class... T>
HB_EMUL_WIDE void wide_row_loop(const void* f, void* out, int32_t n, const void* const* in) {
  row_loop<R, F, T...>(f, out, n, in, FirstPositions<sizeof...(T)>());
}
#endif
template <class R, class F, class... T>
RowLoop choose_loop() {
#if defined(HB_EMUL_WIDE)
  if constexpr ((... && (dtype_of<T> == dtype_of<float>)))
    if (hb_emul_wide()) return &wide_row_loop<R, F, T...>;
#endif
  return &row_loop<R, F, T...>;
}

// The walk over a tile's share of the rows.
inline constexpr int32_t kMaxInputs = 4;
__attribute__((noinline)) inline void map_rows(Cursor& out, Cursor* const* in, int32_t n_in, RowLoop loop,
                                               const void* f) {
  const Layout& of = out.layout;
  const int32_t columns = of.ndim ? of.size[of.ndim - 1] : 1;
  const bool whole = !of.ndim || out.step == 1;
  bool direct = whole;
  for (int32_t k = 0; k < n_in; ++k) direct &= in[k]->step == 1;
  const Range r = share(of.numel, of.ndim > 1 && columns >= kChunk ? 1 : kChunk);
  for (int32_t i = r.begin; i < r.end;) {
    const int32_t left = columns - i % columns, n = r.end - i < left ? r.end - i : left;
    out.row(i);
    for (int32_t k = 0; k < n_in; ++k) in[k]->row(i);
    for (int32_t done = 0; done < n;) {
      const int32_t m = direct ? n : n - done < kChunk ? n - done : kChunk;
      const void* from[kMaxInputs];
      for (int32_t k = 0; k < n_in; ++k) from[k] = in[k]->take(m);
      auto* to = reinterpret_cast<void*>(out.at);
      loop(f, whole ? to : out.scratch, m, from);
      if (!whole) out.move(out.scratch, out.step, m, to);
      out.at += static_cast<uintptr_t>(m * out.step * out.bytes);
      done += m;
    }
    i += n;
  }
}

template <class... A>
HB_INLINE void map_rows(Cursor out, RowLoop loop, const void* f, A&&... arguments) {
  static_assert(sizeof...(A) <= kMaxInputs);
  Cursor* const in[] = {&arguments...};
  map_rows(out, in, sizeof...(A), loop, f);
}

}  // namespace detail

// out[i] = f(in[i]...) for all elements. Inputs have the result's dimensions; stride 0 repeats.
template <class R, class F, class... T>
HB_INLINE void map(const Out<R>& out, F f, const In<T>&... in) {
  R results[detail::kChunk];
  detail::map_rows(detail::Cursor(out, &detail::scatter<R>, results), detail::choose_loop<R, F, T...>(), &f,
                   detail::Argument<T>(in)...);
}

}  // namespace hb
