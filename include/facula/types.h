// SPDX-License-Identifier: Apache-2.0
// The small types of the C++ front, under the names that libtorch programs use.
#pragma once
#if __cplusplus < 202002L
#error "Facula's headers need C++20: compile with -std=c++20"
#endif
#include <array>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <facula/device.h>
#include <facula/dtype.h>
#include <facula/error.h>
#include <facula/scalar.h>
#include <facula/tensor_impl.h>

namespace fc {
class Generator;
}

namespace facula {

using fc::Device;
using fc::Error;
using fc::IndexError;
using fc::Layout;
using fc::MemoryFormat;
using fc::NotImplementedError;
using fc::Scalar;
using fc::TypeError;
using fc::ValueError;
using Dtype = fc::DType;
using ScalarType = fc::DType;

inline constexpr Dtype kBool = Dtype::Bool, kUInt8 = Dtype::UInt8, kInt8 = Dtype::Int8, kInt16 = Dtype::Int16,
                       kInt32 = Dtype::Int32, kInt64 = Dtype::Int64, kFloat16 = Dtype::Float16,
                       kBFloat16 = Dtype::BFloat16, kFloat32 = Dtype::Float32, kFloat64 = Dtype::Float64,
                       kComplex64 = Dtype::Complex64, kComplex128 = Dtype::Complex128;
inline constexpr Dtype kByte = kUInt8, kChar = kInt8, kShort = kInt16, kInt = kInt32, kLong = kInt64, kHalf = kFloat16,
                       kFloat = kFloat32, kDouble = kFloat64;
inline const Device kCPU{Device::CPU, -1}, kMeta{Device::Meta, -1};
inline Device device(std::string_view text) { return fc::parse_device(text); }

// Integers for sizes and dimensions: from {2, 3}, a vector, an array, a span, or one number. Arrays are borrowed until
// the end of the call (for parameters only); one number is kept here, since it is often a temporary of another type.
class IntArrayRef {
 public:
  IntArrayRef() = default;
  IntArrayRef(std::initializer_list<int64_t> v) : data_(std::data(v)), size_(v.size()) {}
  IntArrayRef(const std::vector<int64_t>& v) : data_(v.data()), size_(v.size()) {}
  IntArrayRef(std::span<const int64_t> v) : data_(v.data()), size_(v.size()) {}
  template <size_t n>
  IntArrayRef(const std::array<int64_t, n>& v) : data_(v.data()), size_(n) {}
  template <size_t n>
  IntArrayRef(const int64_t (&v)[n]) : data_(v), size_(n) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) IntArrayRef(T one) : one_(static_cast<int64_t>(one)), size_(1) {}
  operator std::span<const int64_t>() const { return {data(), size_}; }
  const int64_t* data() const { return data_ || size_ == 0 ? data_ : &one_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  int64_t operator[](size_t i) const { return data()[i]; }
  std::vector<int64_t> vec() const { return {begin(), end()}; }

 private:
  const int64_t* data_ = nullptr;
  int64_t one_ = 0;
  size_t size_ = 0;
};

// The same, or nothing. Not std::optional<IntArrayRef>, whose constructor would make the integers' temporaries itself,
// and let them end before the call.
class OptionalIntArrayRef {
 public:
  OptionalIntArrayRef() = default;
  OptionalIntArrayRef(std::nullopt_t) {}
  OptionalIntArrayRef(IntArrayRef v) : value_(v), given_(true) {}
  OptionalIntArrayRef(std::initializer_list<int64_t> v) : OptionalIntArrayRef(IntArrayRef(v)) {}
  OptionalIntArrayRef(const std::vector<int64_t>& v) : OptionalIntArrayRef(IntArrayRef(v)) {}
  OptionalIntArrayRef(std::span<const int64_t> v) : OptionalIntArrayRef(IntArrayRef(v)) {}
  template <size_t n>
  OptionalIntArrayRef(const std::array<int64_t, n>& v) : OptionalIntArrayRef(IntArrayRef(v)) {}
  template <size_t n>
  OptionalIntArrayRef(const int64_t (&v)[n]) : OptionalIntArrayRef(IntArrayRef(v)) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) OptionalIntArrayRef(T one) : OptionalIntArrayRef(IntArrayRef(one)) {}
  template <class T>
  requires std::constructible_from<IntArrayRef, const T&> OptionalIntArrayRef(const std::optional<T>& v)
      : given_(v.has_value()) {
    if (v) value_ = *v;
  }
  bool has_value() const { return given_; }
  explicit operator bool() const { return given_; }
  const IntArrayRef& operator*() const { return value_; }
  const IntArrayRef* operator->() const { return &value_; }

 private:
  IntArrayRef value_;
  bool given_ = false;
};

// A bool and nothing else, where another overload takes integers: x.std(1) means the dimension.
class Flag {
 public:
  template <std::same_as<bool> T>
  Flag(T value) : value_(value) {}
  operator bool() const { return value_; }

 private:
  bool value_;
};

// A stream of random numbers on the CPU. Copies are handles of one stream.
class Generator {
 public:
  explicit Generator(uint64_t seed);
  fc::Generator* get() const;
  void set_current_seed(uint64_t seed);

 private:
  fc::Ref<fc::RefCounted> impl_;
};

// dtype, device and requires_grad of a new tensor: dtype(kFloat64).requires_grad(true).
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(Dtype t) : dtype_(t) {}
  TensorOptions(Device d) : device_(d) {}
  TensorOptions dtype(Dtype t) const {
    return with([&](TensorOptions& o) { o.dtype_ = t; });
  }
  TensorOptions device(Device d) const {
    return with([&](TensorOptions& o) { o.device_ = d; });
  }
  TensorOptions requires_grad(bool on = true) const {
    return with([&](TensorOptions& o) { o.requires_grad_ = on; });
  }
  const std::optional<Dtype>& dtype_opt() const { return dtype_; }
  const std::optional<Device>& device_opt() const { return device_; }
  bool requires_grad_set() const { return requires_grad_; }

 private:
  template <class F>
  TensorOptions with(F&& f) const {
    TensorOptions o = *this;
    f(o);
    return o;
  }
  std::optional<Dtype> dtype_;
  std::optional<Device> device_;
  bool requires_grad_ = false;
};
inline TensorOptions dtype(Dtype t) { return TensorOptions(t); }
inline TensorOptions requires_grad(bool on = true) { return TensorOptions().requires_grad(on); }

}  // namespace facula
