// SPDX-License-Identifier: Apache-2.0
#include "plugin_pack.h"

#include "backends/hammerblade/include/device/hb_emul_records.h"

#include <limits>
#include <vector>

namespace hammerblade {
namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

fc::hb::Eva address(const void* data) {
  const auto at = reinterpret_cast<uintptr_t>(data);
  if (at > std::numeric_limits<fc::hb::Eva>::max())
    fb::fail("a tensor is not in the memory of the device 'hammerblade': bring it there with .hammerblade()");
  return static_cast<fc::hb::Eva>(at);
}

// A number as it lies in memory.
struct Stored {
  Stored(int dtype, const fc_number& n) : size(static_cast<size_t>(item_size(dtype))) {
    if (dtype == FC_FLOAT16 || dtype == FC_BFLOAT16) fb::store(bytes, dtype, fb::number<float>(n));
    else fb::visit(dtype, [&](auto as) { fb::store(bytes, dtype, fb::number<decltype(as)>(n)); });
  }
  uint8_t bytes[8];
  size_t size;
};

}  // namespace

int item_size(int dtype) {
  switch (dtype) {
    case FC_BOOL:
    case FC_UINT8:
    case FC_INT8:
    case FC_FLOAT8_E5M2:
    case FC_FLOAT8_E4M3FN: return 1;
    case FC_INT16:
    case FC_UINT16:
    case FC_FLOAT16:
    case FC_BFLOAT16: return 2;
    case FC_INT32:
    case FC_UINT32:
    case FC_FLOAT32: return 4;
    case FC_COMPLEX128: return 16;
    default: return 8;
  }
}

std::string type_name(int dtype) {
  static const char* const names[] = {"uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"};
  return dtype >= 0 && dtype < 8 ? names[dtype] : dtype == FC_BOOL ? "bool" : "type " + std::to_string(dtype);
}

int64_t View::numel() const {
  int64_t n = 1;
  for (int d = 0; d < ndim; ++d) n *= size[d];
  return n;
}

int64_t elements(const fc_tensor& t) {
  int64_t n = 1;
  for (int d = 0; d < t.ndim; ++d) n *= t.sizes[d];
  return n;
}

bool contiguous(const fc_tensor& t) {
  int64_t expect = item_size(t.dtype);
  for (int d = t.ndim; d-- > 0;) {
    if (t.sizes[d] != 1 && t.strides[d] != expect) return false;
    expect *= t.sizes[d];
  }
  return true;
}

View view_of(void* data, int ndim, const int64_t* sizes, const int64_t* strides, int dtype) {
  View v;
  v.data = data;
  const int64_t item = item_size(dtype);
  int64_t reach = 0, numel = 1;
  if (ndim > kMaxDims) fb::fail("the device has tensors of at most 8 dimensions", FC_UNSUPPORTED);
  for (int d = 0; d < ndim; ++d) {
    v.size[d] = sizes[d];
    v.stride[d] = sizes[d] == 1 ? 0 : strides[d] / item;
    // The sizes are of existing tensors: products of them do not overflow.
    reach += sizes[d] ? (sizes[d] - 1) * v.stride[d] : 0;
    numel *= sizes[d];
  }
  v.ndim = ndim;
  if (numel > kMost || reach > kMost) fb::fail("the device reaches 2^31 elements of a tensor at most", FC_UNSUPPORTED);
  return v;
}

View view_of(const fc_tensor& t) { return view_of(t.data, t.ndim, t.sizes, t.strides, t.dtype); }

void pack(Packet& p, const View& v) {
  const auto n = static_cast<size_t>(v.ndim);
  p.tensor(address(v.data), {v.size, n}, {v.stride, n});
}

void pack_typed(Packet& p, const fc_tensor& t) {
  const View v = view_of(t);
  const auto n = static_cast<size_t>(v.ndim);
  const bool complex = t.dtype == FC_COMPLEX64 || t.dtype == FC_COMPLEX128;
  const bool point = t.dtype == FC_FLOAT16 || t.dtype == FC_BFLOAT16 || t.dtype == FC_FLOAT32 || t.dtype == FC_FLOAT64;
  const auto bytes = static_cast<uint32_t>(item_size(t.dtype));
  p.tensor(address(v.data), {v.size, n}, {v.stride, n}, complex ? 0x200u | bytes : HB_EMUL_ELEMENT(bytes, point));
}

void pack_absent(Packet& p) {
  const int64_t none[] = {0};
  p.tensor(0, none, none);
}

void pack_list(Packet& p, const fc_tensor* tensors, int n) {
  p.counted_list(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) pack(p, view_of(tensors[i]));
}

void pack_ints(Packet& p, const int64_t* all, int64_t n) {
  std::vector<int32_t> narrow;
  for (int64_t i = 0; i < n; ++i) {
    if (all[i] > kMost || all[i] < -kMost) fb::fail("the device's integers have 32 bits", FC_UNSUPPORTED);
    narrow.push_back(static_cast<int32_t>(all[i]));
  }
  p.vector(narrow);
}

void pack_number(Packet& p, int dtype, const fc_number& n) { pack_numbers(p, dtype, &n, 1); }

void pack_numbers(Packet& p, int dtype, const fc_number* all, int n) {
  uint8_t bytes[8 * FC_MAX_PARAMS];
  size_t at = 0;
  for (int i = 0; i < n; ++i) {
    const Stored s(dtype, all[i]);
    std::memcpy(bytes + at, s.bytes, s.size);
    at += s.size;
  }
  p.scalar(bytes, at);
}

void pack_integer(Packet& p, int dtype, int64_t value) { pack_number(p, dtype, {1, 0, value, 0, 0}); }

void pack_repeated(Packet& p, int dtype, const fc_number& n, int ndim, const int64_t* sizes) {
  const Stored s(dtype, n);
  p.repeated(s.bytes, s.size, {sizes, static_cast<size_t>(ndim)});
}

}  // namespace hammerblade
