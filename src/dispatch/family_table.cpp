// SPDX-License-Identifier: Apache-2.0
#include "dispatch/family_table.h"

#include "facula/opcodes.h"

namespace fc {
namespace {

constinit Families table[kMaxDeviceTypes];

#define FC_ROW(number, name, inputs, params) {#name, inputs, params},
constexpr MapOpcode opcodes[] = {FC_MAP_OPCODES(FC_ROW)};
#undef FC_ROW
static_assert(std::size(opcodes) == FC_MAP_COUNT, "opcodes are numbered without gaps, in order");

}  // namespace

const Families& families(int device_type) { return table[device_type]; }
void set_families(int device_type, const Families& f) { table[device_type] = f; }

bool device_supports(const Families& f, fc_family family, const void* call) {
  auto present = [&] {
    switch (family) {
      case FC_FAMILY_COPY: return f.copy != nullptr;
      case FC_FAMILY_MAP: return f.map != nullptr;
      case FC_FAMILY_REDUCE: return f.reduce != nullptr;
      case FC_FAMILY_MATMUL: return f.matmul != nullptr;
      case FC_FAMILY_GATHER: return f.gather != nullptr;
      case FC_FAMILY_SCATTER: return f.scatter != nullptr;
      case FC_FAMILY_SCAN: return f.scan != nullptr;
      case FC_FAMILY_SORT: return f.sort != nullptr;
      default: return false;
    }
  };
  return present() && (!f.supports || f.supports(f.context, family, call));
}

const MapOpcode& map_opcode(int code) { return opcodes[code]; }

int find_map_opcode(std::string_view name) {
  for (int i = 0; i < FC_MAP_COUNT; ++i)
    if (name == opcodes[i].name) return i;
  return -1;
}

fc_number to_number(const Scalar& s) {
  fc_number n{};
  n.category = static_cast<int32_t>(s.kind());
  ComplexDouble c = s.to_complex();
  n.re = c.re;
  n.im = c.im;
  n.i = s.is_integral(true) ? static_cast<int64_t>(s.bits()) : 0;
  return n;
}

Scalar to_scalar(const fc_number& n) {
  switch (n.category) {
    case 0: return n.i != 0;
    case 1: return n.i;
    case 2: return n.re;
    case 4: return static_cast<uint64_t>(n.i);
    default: return ComplexDouble{n.re, n.im};
  }
}

}  // namespace fc
