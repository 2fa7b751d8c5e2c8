// SPDX-License-Identifier: Apache-2.0
#include "dispatch/family_table.h"

#include <algorithm>
#include <array>

#include "dispatch/observe.h"

namespace fc {
namespace {

template <class Opcode>
struct Numbered {
  int number;
  Opcode opcode;
};
// By number; a name stays null where a number is missing.
template <class Opcode, size_t n>
constexpr std::array<Opcode, n> in_order(const Numbered<Opcode> (&rows)[n]) {
  std::array<Opcode, n> out{};
  for (const Numbered<Opcode>& row : rows)
    if (row.number < static_cast<int>(n)) out[static_cast<size_t>(row.number)] = row.opcode;
  return out;
}
constexpr int first_free(const auto& opcodes) {
  auto nameless = [](const auto& opcode) { return opcode.name == nullptr; };
  return static_cast<int>(std::ranges::find_if(opcodes, nameless) - opcodes.begin());
}
// The compiler shows the number in its message, which is why it is a parameter of a template.
template <int next_free_opcode, size_t rows>
constexpr bool numbered_without_gaps() {
  static_assert(next_free_opcode == rows,
                "two formulas have one opcode, or a number was left out: use next_free_opcode");
  return true;
}

// clang-format off
constexpr Numbered<MapOpcode> map_rows[] = {
#define FC_OPCODE(number, name, inputs, params) {number, {#name, inputs, params}},
#include "facula/formulas/rows.h"
#include "facula/formulas/all.h"
#include "facula/formulas/end.h"
};
constexpr Numbered<ReduceOpcode> reduce_rows[] = {
#define FC_SUM(number, name, ...) {number, {#name, 0}},
#define FC_MEAN(number, name, ...) {number, {#name, __builtin_nan("")}},
#define FC_FOLD(number, name, types, identity, ...) {number, {#name, identity}},
#define FC_EXTREME FC_SUM
#define FC_OPCODE FC_SUM
#include "facula/formulas/rest.h"
#include "facula/formulas/base_folds.def"
#include "facula/formulas/shared_folds.def"
#include "facula/formulas/folds.def"
#include "facula/formulas/end.h"
};
// clang-format on
constexpr auto map_opcodes = in_order(map_rows);
constexpr auto reduce_opcodes = in_order(reduce_rows);
static_assert(numbered_without_gaps<first_free(map_opcodes), map_opcodes.size()>());
static_assert(numbered_without_gaps<first_free(reduce_opcodes), reduce_opcodes.size()>());

}  // namespace

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
      case FC_FAMILY_RANDOM: return f.random != nullptr;
      default: return false;
    }
  };
  return present() && (!f.supports || f.supports(f.context, family, call));
}

#define FC_RUN(name, NAME)                                                 \
  void run_family(Device device, const fc_##name& call) {                  \
    const Families& f = families(device.type);                             \
    if (!device_supports(f, FC_FAMILY_##NAME, &call)) throw Unsupported{}; \
    launch(device, FC_FAMILY_##NAME, f.name, f.context, call);             \
  }
FC_RUN(copy, COPY)
FC_RUN(matmul, MATMUL)
FC_RUN(gather, GATHER)
FC_RUN(scatter, SCATTER)
FC_RUN(scan, SCAN)
FC_RUN(sort, SORT)
FC_RUN(random, RANDOM)
#undef FC_RUN

const MapOpcode& map_opcode(int code) { return map_opcodes[static_cast<size_t>(code)]; }
int map_opcode_count() { return static_cast<int>(map_opcodes.size()); }
const ReduceOpcode& reduce_opcode(int code) { return reduce_opcodes[static_cast<size_t>(code)]; }
int reduce_opcode_count() { return static_cast<int>(reduce_opcodes.size()); }

int find_map_opcode(std::string_view name) {
  for (int i = 0; i < map_opcode_count(); ++i)
    if (name == map_opcode(i).name) return i;
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
