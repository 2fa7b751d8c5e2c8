// SPDX-License-Identifier: Apache-2.0
// Any DLPack struct is either a tensor that goes out again as the same struct, or an exception; its deleter runs once
// if it was taken and never if it was refused.
#include "core/dlpack.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "fuzz.h"

namespace fc {
namespace {

constexpr size_t kMemory = 256;
int deleted;

struct Bytes {
  std::string_view rest;
  template <class T>
  T take() {
    T value{};
    size_t n = std::min(sizeof(T), rest.size());
    std::memcpy(&value, rest.data(), n);
    rest.remove_prefix(n);
    return value;
  }
};

void require(bool promise) {
  if (!promise) std::abort();
}

template <class M>
void round_trip(Bytes in) {
  alignas(16) char memory[kMemory];
  for (size_t i = 0; i < kMemory; ++i) memory[i] = static_cast<char>(i);
  int64_t shape[kMaxRank] = {}, strides[kMaxRank] = {};
  M m{};
  m.deleter = [](M*) { ++deleted; };
  if constexpr (requires { m.major; }) m.major = in.take<uint8_t>();
  auto nulls = in.take<uint8_t>();
  dlpack::View& v = m.tensor;
  v.data = nulls & 1 ? nullptr : memory;
  v.device = {in.take<int8_t>(), in.take<int8_t>()};
  v.ndim = in.take<int8_t>();
  v.dtype = {in.take<uint8_t>(), in.take<uint8_t>(), in.take<uint8_t>()};
  v.byte_offset = nulls & 2 ? in.take<uint64_t>() : 0;
  v.shape = nulls & 4 ? nullptr : shape;
  v.strides = nulls & 8 ? strides : nullptr;
  const bool wide = nulls & 16;
  for (int d = 0; d < std::clamp<int>(v.ndim, 0, kMaxRank); ++d) {
    shape[d] = wide ? in.take<int64_t>() : in.take<int8_t>();
    strides[d] = wide ? in.take<int64_t>() : in.take<int8_t>();
  }

  deleted = 0;
  bool taken = false;
  try {
    Tensor t = dlpack::import_tensor(m);
    taken = true;
    require(t.dim() == v.ndim && std::equal(t.sizes().begin(), t.sizes().end(), shape));
    const size_t bytes = t.impl().storage()->bytes();
    if (v.byte_offset <= kMemory && bytes <= kMemory - v.byte_offset &&
        v.data)  // what the tensor claims is ours to read
      require(std::equal(memory + v.byte_offset, memory + v.byte_offset + bytes, static_cast<const char*>(t.data())));
    M* out = dlpack::export_tensor<M>(t, false);
    require(out->tensor.ndim == v.ndim && out->tensor.dtype.code == v.dtype.code &&
            out->tensor.dtype.bits == v.dtype.bits);
    t.reset();
    require(deleted == 0);  // the export holds it
    out->deleter(out);
  } catch (const Error&) {
    // refused
  }
  require(deleted == (taken ? 1 : 0));
}

}  // namespace

void fuzz::dlpack(std::string_view bytes) {
  Bytes in{bytes};
  if (in.take<uint8_t>() & 1) round_trip<fc::dlpack::Versioned>(in);
  else round_trip<fc::dlpack::Managed>(in);
}

}  // namespace fc
