// SPDX-License-Identifier: Apache-2.0
// Compute families: what a device does, as opposed to what an operator means. Operators plan (shapes, types,
// allocation) and call a family; the CPU implements families in backends/cpu, a plugin through the C contract. The
// call structs are those of <facula/backend.h>, so nothing is translated on the way.
#pragma once
#include "core/device_record.h"
#include "core/scalar.h"
#include "core/tensor.h"
#include "facula/families.h"

namespace fc {

inline const Families& families(int device_type) {
  return device_record(device_type).families;
}  // all null: it has none
bool device_supports(const Families& f, fc_family family, const void* call);  // function present and claimed

// How everything says that a device does not do a call: thrown before anything is written, and let through by kernels
// for all devices. Operator::run_kernel then runs the operator's decomposition, or the CPU's kernel
// (dispatch/fallback.cpp).
struct Unsupported {};
void run_family(Device device, const fc_copy& call);  // throw Unsupported
void run_family(Device device, const fc_matmul& call);
void run_family(Device device, const fc_gather& call);
void run_family(Device device, const fc_scatter& call);
void run_family(Device device, const fc_scan& call);
void run_family(Device device, const fc_sort& call);
void run_family(Device device, const fc_random& call);

std::string_view family_name(fc_family family);                       // "map"
std::string_view opcode_name(fc_family family, const void* request);  // "add"; empty where a family does one thing

struct MapOpcode {
  const char* name;
  uint8_t inputs, params;
};
const MapOpcode& map_opcode(int code);  // code < map_opcode_count()
int map_opcode_count();
int find_map_opcode(std::string_view name);  // -1 if unknown

struct ReduceOpcode {
  const char* name;
  double identity;  // what a reduction of nothing gives; the extremes have none and are refused before
};
const ReduceOpcode& reduce_opcode(int code);  // code < reduce_opcode_count()
int reduce_opcode_count();

fc_number to_number(const Scalar& s);
Scalar to_scalar(const fc_number& n);

// Strides in bytes, for operands; keeps them alive while the call struct points to them.
class ByteStrides {
 public:
  ByteStrides() = default;
  explicit ByteStrides(const Tensor& t) : strides_(t.strides()) {
    for (int64_t& s : strides_) s *= static_cast<int64_t>(item_size(t.dtype()));
  }
  const int64_t* data() const { return strides_.data(); }
  Dims& dims() { return strides_; }

 private:
  Dims strides_;
};
inline fc_operand operand(const Tensor& t, const ByteStrides& strides) {
  return {t.data(), strides.data(), static_cast<int32_t>(t.dtype()), 0, {}};
}

}  // namespace fc
