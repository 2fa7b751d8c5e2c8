// SPDX-License-Identifier: Apache-2.0
#include "dispatch/family_table.h"

#include <algorithm>
#include <array>

namespace fc {
namespace {

constinit Families table[kMaxDeviceTypes];

struct NumberedOpcode {
  int number;
  MapOpcode opcode;
};
// clang-format off
constexpr NumberedOpcode rows[] = {
#define FC_OPCODE(number, name, inputs, params) {number, {#name, inputs, params}},
#include "facula/formulas/rows.h"
#include "facula/formulas/all.h"
#include "facula/formulas/end.h"
};
// clang-format on
constexpr int kCount = static_cast<int>(std::size(rows));
constexpr auto opcodes = [] {
  std::array<MapOpcode, kCount> by_number{};
  for (const NumberedOpcode& row : rows)
    if (row.number < kCount) by_number[static_cast<size_t>(row.number)] = row.opcode;
  return by_number;
}();
static_assert(std::ranges::all_of(opcodes, [](const MapOpcode& o) { return o.name != nullptr; }),
              "opcodes are numbered without gaps: a new formula takes the number that is one less than their count");

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

#define FC_RUN(name, NAME)                                                 \
  void run_family(Device device, const fc_##name& call) {                  \
    const Families& f = families(device.type);                             \
    if (!device_supports(f, FC_FAMILY_##NAME, &call)) throw Unsupported{}; \
    f.name(f.context, call);                                               \
  }
FC_RUN(copy, COPY)
FC_RUN(matmul, MATMUL)
FC_RUN(gather, GATHER)
FC_RUN(scatter, SCATTER)
FC_RUN(scan, SCAN)
FC_RUN(sort, SORT)
#undef FC_RUN

const MapOpcode& map_opcode(int code) { return opcodes[static_cast<size_t>(code)]; }
int map_opcode_count() { return kCount; }

int find_map_opcode(std::string_view name) {
  for (int i = 0; i < kCount; ++i)
    if (name == map_opcode(i).name) return i;
  return -1;
}

const char* reduce_name(int opcode) {
#define FC_NAME(enumerator, name) #name,
  constexpr const char* names[] = {FC_REDUCTIONS(FC_NAME)};
#undef FC_NAME
  return names[opcode];
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
