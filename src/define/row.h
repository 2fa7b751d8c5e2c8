// SPDX-License-Identifier: Apache-2.0
// The table form of operators. A family's file holds a constexpr array of OpDef, one row per operator, and one
// function that defines them all; ops/register.cpp calls these functions. Regular families (unary, binary) have
// shorter rows of their own and make OpDefs in a loop.
#pragma once
#include <optional>

#include "define/rule.h"
#include "dispatch/call.h"

namespace fc {

struct OpDef {
  const char* schema;
  const char* doc = nullptr;   // one sentence for help; of several overloads the first one's counts
  const char* node = nullptr;  // autograd's name for a call of it, where that is not <Name>Backward0
  // How it runs; one of:
  Kernel composite{};      // in other operators, above autograd: needs no rule
  Kernel all{};            // on every device, through families
  Kernel cpu{};            // on the CPU only, with
  Kernel meta{};           //   its shape rule: makes the results without computing
  Kernel decomposition{};  // in other operators, below autograd, for devices without a kernel
  // What its backward needs and does (rule.h).
  const char* saves = "";
  GradFormula grad = nullptr;
  bool differentiable = true;                // false: results never need a gradient
  size_t differentiable_results = SIZE_MAX;  // of several only the first so many do
  const char* constant = nullptr;            // an argument without derivative: refused if it requires a gradient
  // Forms made from this one: `name_` writing into the first argument, `name.out` with keyword-only out arguments.
  bool in_place = false, out = false;
  bool own_forms = false;             // `all` looks at the operator's form and writes into its target itself
  std::optional<OutType> out_type{};  // unless given: Castable with forms of its own, else Exact
  Autocast autocast = Autocast::None;
  std::optional<Autocast>
      cpu_autocast{};                    // unless given: as autocast, but what others compute in float32 is left alone
  KeepsZero keeps_zero = KeepsZero::No;  // of its forms, too
  bool foreach = false;                  // _foreach_name and _foreach_name_ map it over lists
  bool takes_numbers = false;            // of its forms and second names, too
  bool view_copy = false;                // name_copy gives its results as copies
  Devices devices = Devices::Same;
  Writes writes = Writes::Elements;  // of the forms with out= and in place, too
  bool may_repeat = false;
  // MemoryFacts, by names of arguments with blanks between; of the in-place form too. An out is overwritten anyway.
  const char* overwrites = "";
  const char* partial = "";
  const char* looks_at = "";
  bool unwritten = false;
  bool random = false;
  bool hidden = false;          // only as torch.ops.aten.x
  MapFacts map{};               // what it asks of a device, if that is one map
  FlopFormula flops = nullptr;  // its work, where that is not one operation per element of a map
};

// The product of counts, or the largest number if it is larger.
inline int64_t flop_product(std::initializer_list<int64_t> counts) {
  int64_t product = 1;
  for (int64_t n : counts)
    if (__builtin_mul_overflow(product, n, &product)) return INT64_MAX;
  return product;
}
template <int per_element>  // for each element of the first argument
int64_t element_flops(const Arg* args) {
  return flop_product({per_element, args[0].tensor().numel()});
}

Operator& define(const OpDef& def);
inline void define_all(std::span<const OpDef> defs) {
  for (const OpDef& d : defs) define(d);
}

// Schemas of derived forms: "add.Tensor(Tensor self, …)" -> "add_.Tensor(Tensor(a!) self, …) -> Tensor(a!)" and
// "add.out(…, *, Tensor(a!) out) -> Tensor(a!)" ("add.Scalar" -> "add.Scalar_out"; the overload Tensor becomes out).
Schema in_place_schema(const Schema& functional);
Schema out_schema(const Schema& functional);

// Throws unless `out` may be given for a result of this type.
void check_out_type(const char* op, const Tensor& out, DType result_dtype, OutType allowed);
// Writes a computed result, whose type was checked, into a caller's `out`: resizes, copies.
void write_out(const char* op, const Tensor& out, const Tensor& result);
// Gives `out` these sizes before something is computed into it. Warns when it had other elements.
void prepare_out(const char* op, const Tensor& out, IntSpan sizes);

}  // namespace fc
