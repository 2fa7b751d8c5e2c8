// SPDX-License-Identifier: Apache-2.0
// The backend contract for C++ authors, header-only: derive from facula::backend::Backend, override what the device can do, and
// end the file with FACULA_BACKEND(MyBackend, "mydevice"). Functions that are not overridden are left out of the
// contract's struct; exceptions are caught at the boundary and become a status and a message.
//
// Below the class: helpers to walk strided operands of any element type (for_each, In, Out). They favour
// clearness over speed; a real device has kernels instead.
#pragma once
#include <complex>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <type_traits>

#include "facula/backend.h"
#include "facula/random.hpp"

namespace facula::backend {

class Failure : public std::exception {
 public:
  Failure(int status, std::string message) : status(status), message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  int status;

 private:
  std::string message_;
};
[[noreturn]] inline void fail(const std::string& message, int status = FC_ERROR) { throw Failure(status, message); }

class Backend {
 public:
  explicit Backend(const fc_host& host) : host(host) {}
  virtual ~Backend() = default;

  // Required.
  virtual int device_count() { return 1; }
  virtual uint32_t flags() { return 0; }  // fc_backend_flags
  virtual std::string describe(fc_context&) = 0;
  virtual void* alloc(fc_context&, size_t bytes) = 0;  // null: out of memory
  virtual void free(fc_context&, void* data, size_t bytes) = 0;
  virtual void copy_bytes(fc_context&, void* dst, const void* src, size_t bytes, fc_copy_kind kind,
                          bool non_blocking) = 0;
  virtual void fill_bytes(fc_context&, void* data, uint8_t value, size_t bytes) = 0;
  virtual void synchronise(fc_context&) = 0;

  // What it computes: supports says yes to a query, then the family's function gets such calls.
  virtual bool supports(const fc_query&) { return false; }
  virtual void copy(fc_context&, const fc_copy&) {}
  virtual void map(fc_context&, const fc_map&) {}
  virtual void reduce(fc_context&, const fc_reduce&) {}
  virtual void matmul(fc_context&, const fc_matmul&) {}
  virtual void gather(fc_context&, const fc_gather&) {}
  virtual void scatter(fc_context&, const fc_scatter&) {}
  virtual void scan(fc_context&, const fc_scan&) {}
  virtual void sort(fc_context&, const fc_sort&) {}
  virtual void random(fc_context&, const fc_random&) {}

  // Whole operators; the list ends with null. False declines one call.
  virtual const char* const* operators() { return nullptr; }
  virtual bool run_operator(fc_context&, const char* /*name*/, const fc_value* /*args*/, int /*n_args*/,
                            fc_value* /*results*/, int /*n_results*/) {
    return false;
  }

  // Functions that programs call by name; the list ends with null. The result is none unless it is set.
  virtual const char* const* functions() { return nullptr; }
  virtual void call(fc_context&, const char* function, const fc_value* /*args*/, int /*n_args*/, fc_value& /*result*/) {
    fail(std::string("no function ") + function, FC_UNSUPPORTED);
  }
  virtual const char* python_module() { return nullptr; }  // extends torch.<name>
  virtual void watch(fc_context&, const fc_watcher*) {}  // single accesses of kernels; null: no longer

  // Streams and events (all or none), pinned memory, counters (names ends with null), free memory.
  virtual void* stream_create(fc_context&) { return nullptr; }
  virtual void stream_destroy(fc_context&, void*) {}
  virtual void* event_create(fc_context&) { return nullptr; }
  virtual void event_destroy(fc_context&, void*) {}
  virtual void event_record(fc_context&, void*) {}
  virtual void event_wait(fc_context&, void*) {}
  virtual bool event_query(fc_context&, void*) { return true; }
  virtual void event_synchronise(fc_context&, void*) {}
  virtual double event_elapsed(fc_context&, void* /*start*/, void* /*end*/) { return 0; }  // milliseconds
  virtual void* host_alloc(fc_context&, size_t) { return nullptr; }
  virtual void host_free(fc_context&, void*, size_t) {}
  virtual void copy_peer(fc_context&, void* /*dst*/, const void* /*src*/, int /*src_device*/, size_t /*bytes*/,
                         bool /*non_blocking*/) {}
  virtual const char* const* counter_names() { return nullptr; }
  virtual void counters(fc_context&, uint64_t* /*values*/) {}
  virtual void memory_info(fc_context&, uint64_t* /*free*/, uint64_t* /*total*/) {}

  void* workspace(fc_context& context, size_t bytes) {  // device memory until the current function returns
    void* data = host.workspace(&context, bytes);
    if (!data) fail("no workspace of " + std::to_string(bytes) + " bytes", FC_OUT_OF_MEMORY);
    return data;
  }
  // Memory for a result whose size the data decide: row-major.
  fc_tensor make_result(fc_context& context, int result, int dtype, int ndim, const int64_t* sizes, int item = 0) {
    fc_tensor made{};
    if (int status = host.make_result(&context, result, item, dtype, ndim, sizes, &made))
      fail("no memory for result " + std::to_string(result), status);
    return made;
  }
  static bool observed(const fc_context& context) { return context.flags & FC_CONTEXT_OBSERVED; }
  void report_launch(fc_context& context, const char* name, uint64_t device_ns, uint64_t bytes = 0,
                     uint64_t start_ns = 0, const char* text = nullptr, uint64_t waited_ns = 0) {
    if (!observed(context)) return;
    const fc_launch launch{sizeof launch, 0, name, text, device_ns, start_ns, bytes, waited_ns};
    host.report_launch(&context, &launch);
  }
  // Sets a function's result to a text, which lives until this thread's next one.
  static void give_text(fc_value& result, std::string text) {
    thread_local std::string kept;
    kept = std::move(text);
    result.tag = FC_TAG_STRING;
    result.n = static_cast<int32_t>(kept.size());
    result.u.text = kept.c_str();
  }

 protected:
  const fc_host& host;
};

namespace detail {

template <class F>
int guard(fc_context* context, F body) noexcept {
  int status = FC_ERROR;
  const char* text = "an exception that is no std::exception";
  auto report = [&] {
    if (context && context->message_size) std::snprintf(context->message, context->message_size, "%s", text);
  };
  try {
    body();
    return FC_OK;
  } catch (const Failure& e) {
    status = e.status;
    text = e.what();
    report();
  } catch (const std::bad_alloc&) { return FC_OUT_OF_MEMORY; } catch (const std::exception& e) {
    text = e.what();
    report();
  } catch (...) { report(); }
  return status;
}

inline Backend& as(void* self) { return *static_cast<Backend*>(self); }

// A void member function as a C function: int (*)(void* self, fc_context*, …).
template <auto member>
struct Wrap;
template <class... A, void (Backend::*member)(fc_context&, A...)>
struct Wrap<member> {
  static int plain(void* self, fc_context* c, A... a) {
    return guard(c, [&] { (as(self).*member)(*c, a...); });
  }
};
template <class Call, void (Backend::*member)(fc_context&, const Call&)>
int family(void* self, fc_context* c, const Call* call) {
  return guard(c, [&] { (as(self).*member)(*c, *call); });
}
// A member function that makes something: the result goes through the last argument.
template <class... A, class R>
int give(void* self, fc_context* c, R (Backend::*member)(fc_context&, A...), R* out, A... a) {
  return guard(c, [&] {
    *out = (as(self).*member)(*c, a...);
    if (!*out) throw std::bad_alloc();
  });
}

template <const char* const* (Backend::*member)()>
const char* const* list(void* self) {
  const char* const* names = nullptr;
  guard(nullptr, [&] { names = (as(self).*member)(); });
  return names;
}

}  // namespace detail

// Fills the struct for class B. The object lives until the process ends.
template <class B>
int fill(const fc_host* host, fc_backend* given, const char* name) noexcept {
  using namespace detail;
  if (host->abi_version != FC_ABI_VERSION) return FC_UNSUPPORTED;
  fc_backend b{};
  int status = guard(nullptr, [&] {
    Backend* self = new B(*host);
    b.self = self;
    b.device_count = self->device_count();
    b.flags = self->flags();
    b.counter_names = self->counter_names();
    b.python_module = self->python_module();
  });
  if (status != FC_OK) return status;
  b.abi_version = FC_ABI_VERSION;
  b.name = name;
  b.describe = [](void* self, fc_context* c, char* text, size_t n) {
    return guard(c, [&] { std::snprintf(text, n, "%s", as(self).describe(*c).c_str()); });
  };
  b.alloc = [](void* self, fc_context* c, size_t bytes, void** data) {
    return give(self, c, &Backend::alloc, data, bytes);
  };
  b.free = Wrap<&Backend::free>::plain;
  b.copy = [](void* self, fc_context* c, void* dst, const void* src, size_t bytes, int32_t kind, uint32_t flags) {
    return guard(c, [&] {
      as(self).copy_bytes(*c, dst, src, bytes, static_cast<fc_copy_kind>(kind), flags & FC_COPY_NON_BLOCKING);
    });
  };
  b.fill_bytes = Wrap<&Backend::fill_bytes>::plain;
  b.synchronise = Wrap<&Backend::synchronise>::plain;
  // A function that B inherits unchanged has the base's type: it stays null.
#define FC_OVERRIDDEN(name) (!std::is_same_v<decltype(&B::name), decltype(&Backend::name)>)
  if constexpr (FC_OVERRIDDEN(supports))
    b.supports = [](void* self, const fc_query* q) {
      int yes = 0;
      return guard(nullptr, [&] { yes = as(self).supports(*q); }) == FC_OK ? yes : 0;
    };
  if constexpr (FC_OVERRIDDEN(copy)) b.family_copy = family<fc_copy, &Backend::copy>;
  if constexpr (FC_OVERRIDDEN(map)) b.map = family<fc_map, &Backend::map>;
  if constexpr (FC_OVERRIDDEN(reduce)) b.reduce = family<fc_reduce, &Backend::reduce>;
  if constexpr (FC_OVERRIDDEN(matmul)) b.matmul = family<fc_matmul, &Backend::matmul>;
  if constexpr (FC_OVERRIDDEN(gather)) b.gather = family<fc_gather, &Backend::gather>;
  if constexpr (FC_OVERRIDDEN(scatter)) b.scatter = family<fc_scatter, &Backend::scatter>;
  if constexpr (FC_OVERRIDDEN(scan)) b.scan = family<fc_scan, &Backend::scan>;
  if constexpr (FC_OVERRIDDEN(sort)) b.sort = family<fc_sort, &Backend::sort>;
  if constexpr (FC_OVERRIDDEN(random)) b.random = family<fc_random, &Backend::random>;
  if constexpr (FC_OVERRIDDEN(operators)) b.operators = list<&Backend::operators>;
  if constexpr (FC_OVERRIDDEN(functions)) b.functions = list<&Backend::functions>;
  if constexpr (FC_OVERRIDDEN(call))
    b.call = [](void* self, fc_context* c, const char* function, const fc_value* args, int32_t n, fc_value* result) {
      return guard(c, [&] { as(self).call(*c, function, args, n, *result); });
    };
  if constexpr (FC_OVERRIDDEN(run_operator))
    b.run_operator = [](void* self, fc_context* c, const char* name, const fc_value* args, int32_t n_args,
                        fc_value* results, int32_t n_results) {
      return guard(c, [&] {
        if (!as(self).run_operator(*c, name, args, n_args, results, n_results)) fail("declined", FC_UNSUPPORTED);
      });
    };
  if constexpr (FC_OVERRIDDEN(stream_create)) {
    b.stream_create = [](void* self, fc_context* c, void** out) { return give(self, c, &Backend::stream_create, out); };
    b.stream_destroy = Wrap<&Backend::stream_destroy>::plain;
    b.event_create = [](void* self, fc_context* c, void** out) { return give(self, c, &Backend::event_create, out); };
    b.event_destroy = Wrap<&Backend::event_destroy>::plain;
    b.event_record = Wrap<&Backend::event_record>::plain;
    b.event_wait = Wrap<&Backend::event_wait>::plain;
    b.event_query = [](void* self, fc_context* c, void* event, int32_t* done) {
      return guard(c, [&] { *done = as(self).event_query(*c, event); });
    };
  }
  if constexpr (FC_OVERRIDDEN(watch)) b.watch = Wrap<&Backend::watch>::plain;
  if constexpr (FC_OVERRIDDEN(event_synchronise)) b.event_synchronise = Wrap<&Backend::event_synchronise>::plain;
  if constexpr (FC_OVERRIDDEN(event_elapsed))
    b.event_elapsed = [](void* self, fc_context* c, void* start, void* end, double* ms) {
      return guard(c, [&] { *ms = as(self).event_elapsed(*c, start, end); });
    };
  if constexpr (FC_OVERRIDDEN(copy_peer))
    b.copy_peer = [](void* self, fc_context* c, void* dst, const void* src, int32_t from, size_t bytes, uint32_t flags) {
      return guard(c, [&] { as(self).copy_peer(*c, dst, src, from, bytes, flags & FC_COPY_NON_BLOCKING); });
    };
  if constexpr (FC_OVERRIDDEN(host_alloc)) {
    b.host_alloc = [](void* self, fc_context* c, size_t n, void** out) {
      return give(self, c, &Backend::host_alloc, out, n);
    };
    b.host_free = Wrap<&Backend::host_free>::plain;
  }
  if constexpr (FC_OVERRIDDEN(counters)) b.counters = Wrap<&Backend::counters>::plain;
  if constexpr (FC_OVERRIDDEN(memory_info)) b.memory_info = Wrap<&Backend::memory_info>::plain;
#undef FC_OVERRIDDEN
  b.size = given->size < sizeof b ? given->size : static_cast<uint32_t>(sizeof b);
  std::memcpy(given, &b, b.size);
  return FC_OK;
}

#define FACULA_BACKEND(Class, name)                                                                                   \
  extern "C" __attribute__((visibility("default"))) int facula_backend_v2(const fc_host* host, fc_backend* backend) { \
    return facula::backend::fill<Class>(host, backend, name);                                                                      \
  }

// ---- element types -------------------------------------------------------------------------------------------------

inline float half_to_float(uint16_t h) {
  uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31, mantissa = h & 1023, bits;
  if (exponent == 31) bits = sign | 0x7f800000u | mantissa << 13;
  else if (exponent) bits = sign | (exponent + 112) << 23 | mantissa << 13;
  else {
    float tiny = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -tiny : tiny;
  }
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}

inline uint16_t float_to_half(float f) {  // to nearest, ties to even
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (bits >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (bits < 0x38800000u) {  // subnormal: let the float unit round, then read the low bits
    float shifted;
    std::memcpy(&shifted, &bits, 4);
    shifted += 0.5f;
    std::memcpy(&bits, &shifted, 4);
    return static_cast<uint16_t>(sign | (bits - 0x3f000000u));
  }
  return static_cast<uint16_t>(sign | (((bits + 0xfffu + (bits >> 13 & 1u)) >> 13) - (112u << 10)));
}

inline float bfloat_to_float(uint16_t h) {
  uint32_t bits = static_cast<uint32_t>(h) << 16;
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}

inline uint16_t float_to_bfloat(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  if (f != f) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

template <class To, class From>
To convert(From v) {
  if constexpr (std::is_same_v<To, bool>) return v != From(0);
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)  // out of range is no undefined value
    return static_cast<To>(v >= From(-0x1p63) && v < From(0x1p63) ? static_cast<int64_t>(v) : INT64_MIN);
  else return static_cast<To>(v);
}

// Calls f with a value of the C++ type that stands for dtype. Half types are not among them: they are stored only.
template <class F>
void visit(int dtype, F f) {
  switch (dtype) {
    case FC_BOOL: f(bool()); break;
    case FC_UINT8: f(uint8_t()); break;
    case FC_INT8: f(int8_t()); break;
    case FC_INT16: f(int16_t()); break;
    case FC_INT32: f(int32_t()); break;
    case FC_INT64: f(int64_t()); break;
    case FC_FLOAT32: f(float()); break;
    case FC_FLOAT64: f(double()); break;
    default: fail("element type " + std::to_string(dtype) + " is not computed with", FC_UNSUPPORTED);
  }
}
inline bool visitable(int dtype) {
  return dtype == FC_BOOL || (dtype >= FC_UINT8 && dtype <= FC_INT64) || dtype == FC_FLOAT32 || dtype == FC_FLOAT64;
}
inline bool storable(int dtype) { return visitable(dtype) || dtype == FC_FLOAT16 || dtype == FC_BFLOAT16; }

template <class T>
T load(const void* at, int dtype) {
  if (dtype == FC_FLOAT16 || dtype == FC_BFLOAT16) {
    uint16_t bits;
    std::memcpy(&bits, at, 2);
    return convert<T>(dtype == FC_FLOAT16 ? half_to_float(bits) : bfloat_to_float(bits));
  }
  T out{};
  visit(dtype, [&](auto stored) {
    std::memcpy(&stored, at, sizeof stored);
    out = convert<T>(stored);
  });
  return out;
}

template <class T>
void store(void* at, int dtype, T v) {
  if (dtype == FC_FLOAT16 || dtype == FC_BFLOAT16) {
    float f = convert<float>(v);
    uint16_t bits = dtype == FC_FLOAT16 ? float_to_half(f) : float_to_bfloat(f);
    std::memcpy(at, &bits, 2);
    return;
  }
  visit(dtype, [&](auto stored) {
    stored = convert<decltype(stored)>(v);
    std::memcpy(at, &stored, sizeof stored);
  });
}

template <class T>
T number(const fc_number& n) {
  if (n.category == 4) return convert<T>(static_cast<uint64_t>(n.i));
  return n.category <= 1 ? convert<T>(n.i) : convert<T>(n.re);
}

// ---- strided operands ----------------------------------------------------------------------------------------------

// An operand seen as elements of type T, whatever it is stored as. `shift` is added to addresses: for devices whose
// memory lies elsewhere in the address space.
template <class T>
class In {
 public:
  explicit In(const fc_operand& o, ptrdiff_t shift = 0)
      : data_(static_cast<const char*>(o.data)), strides_(o.strides), dtype_(o.dtype) {
    if (data_) data_ += shift;
    else fixed_ = number<T>(o.value);
  }
  T at(const int64_t* index, int ndim) const {
    if (!data_) return fixed_;
    const char* p = data_;
    for (int d = 0; d < ndim; ++d) p += index[d] * strides_[d];
    return load<T>(p, dtype_);
  }

 private:
  const char* data_;
  const int64_t* strides_;
  int dtype_;
  T fixed_{};
};

template <class T>
class Out {
 public:
  explicit Out(const fc_operand& o, ptrdiff_t shift = 0)
      : data_(static_cast<char*>(o.data) + shift), strides_(o.strides), dtype_(o.dtype) {}
  void set(const int64_t* index, int ndim, T v) const { store(address(index, ndim), dtype_, v); }
  T get(const int64_t* index, int ndim) const { return load<T>(address(index, ndim), dtype_); }

 private:
  char* address(const int64_t* index, int ndim) const {
    char* p = data_;
    for (int d = 0; d < ndim; ++d) p += index[d] * strides_[d];
    return p;
  }
  char* data_;
  const int64_t* strides_;
  int dtype_;
};

// Calls f(index) for every element of the shape, last dimension fastest.
template <class F>
void for_each(int ndim, const int64_t* shape, F f) {
  int64_t index[64] = {};
  for (int d = 0; d < ndim; ++d)
    if (shape[d] == 0) return;
  for (;;) {
    f(static_cast<const int64_t*>(index));
    int d = ndim;
    while (d-- > 0) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

// The whole family `random`, element by element.
inline void draw_all(const fc_random& k, ptrdiff_t shift = 0) {
  uint64_t element = 0;
  auto draw_as = [&](auto one) {
    using T = decltype(one);
    In<T> p(k.p, shift);
    Out<T> out(k.out, shift);
    for_each(k.ndim, k.shape, [&](const int64_t* i) {
      const T probability = k.p.data ? p.at(i, k.ndim) : static_cast<T>(k.a);
      out.set(i, k.ndim, draw<T>(k, element++, probability));
    });
  };
  if (k.opcode == FC_RANDOM_INTEGER) {
    Out<int64_t> out(k.out, shift);
    for_each(k.ndim, k.shape, [&](const int64_t* i) { out.set(i, k.ndim, draw_integer(k, element++)); });
  } else if (k.out.dtype == FC_FLOAT64) draw_as(double());
  else draw_as(float());
}

}  // namespace facula::backend
