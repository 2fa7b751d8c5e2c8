// SPDX-License-Identifier: Apache-2.0
// Planning of pointwise operators: broadcasting, type promotion, the layout of the result; then one call of the
// device's `map` family. Kernels of unary, binary and ternary operators are all this function with another opcode.
#pragma once
#include "define/rule.h"
#include "dispatch/checks.h"
#include "dispatch/family_table.h"
#include "dispatch/operator.h"

namespace fc {

// An input: a tensor, or a scalar (which ranks below tensors in promotion).
struct MapInput {
  const Tensor* tensor = nullptr;
  Scalar scalar;
};

struct MapRequest {
  const char* op;  // for messages: "add"
  int opcode;
  Promote promote = Promote::Same;
  std::span<const MapInput> inputs;
  std::span<const Scalar> params = {};
  const Tensor* out = nullptr;  // write here (in-place or out=); its shape is checked or resized
  bool in_place = false;        // out is the first input and must not change shape
  OutType out_type = OutType::Castable;
  DType compute = DType::Undefined;  // overrides promotion when set
  // Beside half types numbers, like tensors of other types, are rounded to the type first, as in PyTorch; but for this
  // input, where it is a number or a tensor without dimensions.
  int exact_input = -1;
};

struct MapTypes {
  DType compute, natural;  // natural: of the result, unless `out` says otherwise
};
MapTypes map_types(const MapRequest& r);

// Runs it; the result is `out` if given. False: the device does not do this call, and nothing was computed.
bool try_map(const MapRequest& r, Tensor& result);

// `v` as an element of type t: rounded if that is a half type, else as it is.
Scalar rounded_to(DType t, const Scalar& v);

// The same by a formula in the base opcodes (decompose.cpp). False: there is none, or the device lacks a part of it.
bool decompose_map(const MapRequest& r, Tensor& result);

// The same for kernels: by the device, or by a formula in base opcodes; throws Unsupported (dispatch/family_table.h).
Tensor run_pointwise(const MapRequest& r);

// A whole kernel with one map: the inputs' promoted type is checked (check_kind), the form decides where it writes.
void run_map(const char* name, int opcode, std::span<const MapInput> in, std::span<const Scalar> params,
             Promote promote, const char* refuses, const Operator& op, const Arg* args, Value* results);

// One row per operator whose call is a single map: the first `inputs` arguments are its inputs (tensors or scalars),
// the next ones its parameters, as many as the opcode has.
struct MapRow {
  const char* schema;
  const char* doc = nullptr;
  int opcode;
  int inputs;
  Promote promote = Promote::Same;
  const char* refuses = "";  // kinds of the promoted type: b bool, i integers, f floating, c complex
  const char* saves = "";
  GradFormula grad = nullptr;  // null: no derivative flows
  bool in_place = false, out = false;
  bool hidden = false;  // only as torch.ops.aten.x
  OutType out_type = OutType::Castable;
  bool may_repeat = false;  // Operator::may_repeat
  bool rounds = false;      // its parameters are rounded to a half type, as numbers among the inputs are
};
void define_map_rows(std::span<const MapRow> rows);

// Throws NotImplementedError in PyTorch's words if `refuses` has t's kind, or t is for storage only.
void check_kind(const char* op, const char* refuses, DType t);
// The same once it is known where the result goes: what that cannot hold is an Error, and comes first.
void check_kind(const MapRequest& r, const char* refuses, DType t);
// What check_kind is asked about: where integers become floats, those for storage only are as good as the others.
inline DType seen_type(Promote promote, DType t) {
  return promote == Promote::Float && is_integral(t, false) ? DType::Int64 : t;
}
// A bound that is a scalar. Beyond what an integer type holds it bounds nothing, and is the type's own limit; throws if
// no value of the type is within it.
Scalar clamp_bound(const char* op, const Scalar& v, bool is_min, DType t);
// Where a form writes: the first argument of an in-place operator, the last one of an out= operator.
void set_target(MapRequest& r, const Operator& op, const Arg* args);
// A tensor argument, or a scalar.
inline MapInput map_input(const Arg& a) {
  MapInput in;
  if (a.is_tensor()) in.tensor = &a.tensor();
  else in.scalar = a.scalar();
  return in;
}

DType result_type(std::span<const MapInput> inputs);
Dims broadcast_shapes(const char* op, IntSpan a, IntSpan b);  // throws RuntimeError naming the dimension
// Strides a pointwise result of these inputs has: the inputs' common layout, as PyTorch lays results out.
Dims result_strides(IntSpan shape, std::span<const MapInput> inputs);

}  // namespace fc
