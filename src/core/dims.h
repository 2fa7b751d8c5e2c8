// SPDX-License-Identifier: Apache-2.0
// A short list of int64 that lives inline up to six entries: shapes, strides, dimension lists.
#pragma once
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>

namespace fc {

using IntSpan = std::span<const int64_t>;

class Dims {
 public:
  Dims() = default;
  explicit Dims(size_t n, int64_t fill = 0) {
    resize(n);
    for (size_t i = 0; i < n; ++i) data_[i] = fill;
  }
  Dims(IntSpan v) { assign(v); }
  Dims(std::initializer_list<int64_t> v) { assign({v.begin(), v.size()}); }
  Dims(const Dims& o) { assign(o); }
  Dims(Dims&& o) noexcept { take(o); }
  Dims& operator=(const Dims& o) {
    if (this != &o) assign(o);
    return *this;
  }
  Dims& operator=(Dims&& o) noexcept {
    if (this != &o) {
      if (data_ != inline_) delete[] data_;
      take(o);
    }
    return *this;
  }
  ~Dims() {
    if (data_ != inline_) delete[] data_;
  }

  operator IntSpan() const { return {data_, size_}; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t* begin() { return data_; }
  int64_t* end() { return data_ + size_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  int64_t* data() { return data_; }
  const int64_t* data() const { return data_; }
  int64_t& operator[](size_t i) { return std::span(data_, size_)[i]; }  // as a span: a sanitized build checks i
  int64_t operator[](size_t i) const { return IntSpan(*this)[i]; }
  int64_t& back() { return (*this)[size_ - 1]; }
  int64_t back() const { return (*this)[size_ - 1]; }

  void resize(size_t n) {  // new entries are not initialised
    if (n > capacity_) grow(n);
    size_ = static_cast<uint32_t>(n);
  }
  void push_back(int64_t v) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = v;
  }
  void insert(size_t at, int64_t v) {
    push_back(v);
    for (size_t i = size_ - 1; i > at; --i) data_[i] = data_[i - 1];
    data_[at] = v;
  }
  void erase(size_t at) {
    for (size_t i = at + 1; i < size_; ++i) data_[i - 1] = data_[i];
    --size_;
  }
  void assign(IntSpan v) {
    if (v.size() > capacity_) grow(v.size());
    if (!v.empty()) std::memmove(data_, v.data(), v.size() * sizeof(int64_t));
    size_ = static_cast<uint32_t>(v.size());
  }
  friend bool operator==(const Dims& a, const Dims& b) { return same(a, b); }
  static bool same(IntSpan a, IntSpan b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(int64_t)) == 0);
  }

 private:
  void grow(size_t n) {
    size_t capacity = n > 2 * capacity_ ? n : 2 * capacity_;
    auto* bigger = new int64_t[capacity];
    if (size_) std::memcpy(bigger, data_, size_ * sizeof(int64_t));
    if (data_ != inline_) delete[] data_;
    data_ = bigger;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void take(Dims& o) noexcept {
    if (o.data_ == o.inline_) {
      data_ = inline_;
      capacity_ = kInline;
      std::memcpy(inline_, o.inline_, sizeof inline_);
    } else {
      data_ = o.data_;
      capacity_ = o.capacity_;
      o.data_ = o.inline_;
      o.capacity_ = kInline;
    }
    size_ = o.size_;
    o.size_ = 0;
  }

  static constexpr uint32_t kInline = 6;
  int64_t* data_ = inline_;
  uint32_t size_ = 0;
  uint32_t capacity_ = kInline;
  int64_t inline_[kInline];
};

}  // namespace fc
