// SPDX-License-Identifier: Apache-2.0
// What runs on a device that lacks an opcode, before the CPU is asked: every pointwise formula applied to expressions,
// which are put together from the base set (opcodes up to `where`), and every reduction beyond the base as a sum of its
// terms, which are made likewise. tests/backends/test_decompose.py holds each formula to the accuracy given here
// against the CPU's own:
//
//   exact or the CPU's own expression   comparisons, rounding, signs, logic, bits, fmod, clamp, piecewise activations
//   8 ulp   expm1 log1p tanh sinh cosh asinh acosh atanh tan asin acos atan atan2 hypot erf erfc, and the
//           activations made of them (gelu, mish, softplus, elu …); 32 ulp gelu_tanh_backward, mish_backward
//   1e-12 (float64) or 1e-5 (float32) of 1 + |result|   lgamma digamma polygamma erfinv i0 special_erfcx
//
// Complex numbers are decomposed where the formula is plain arithmetic; what takes them apart (real, imag, angle …) is
// left to the CPU, and so are special functions that need loops.
#include <algorithm>

#include "define/calls.h"
#include "define/row.h"
#include "facula/opcodes/common.h"
#include "facula/opcodes/math.h"
#include "facula/opcodes/special.h"
#include "plan/expression.h"
#include "plan/pointwise.h"
#include "plan/reduce.h"
// After the expressions, whose functions they name.
#include "kernels/formulas/binary.h"
#include "kernels/formulas/common.h"
#include "kernels/formulas/derivative.h"
#include "kernels/formulas/folds.h"
#include "kernels/formulas/math.h"
#include "kernels/formulas/shared.h"
#include "kernels/formulas/shared_folds.h"
#include "kernels/formulas/unary.h"

namespace fc {
namespace {

using math::Kind, math::Operand;

// The formula of one opcode for one kind of element type; null: it has none.
using Decomposition = Operand (*)(const Operand* in, const Scalar* params);

template <class Op, Kind K>
Operand apply(const Operand* in, const Scalar* params) {
  using math::Number, math::X;
  auto x = [&](int i) { return X<K>(in[i]); };
  auto with = [&](const Number<K>* p) -> Operand {
    if constexpr (Op::arity == 1) return Op::apply(x(0), p);
    else if constexpr (Op::arity == 2) return Op::apply(x(0), x(1), p);
    else return Op::apply(x(0), x(1), x(2), p);
  };
  if constexpr (Op::params == 0) {
    return with(nullptr);
  } else {
    Number<K> p[FC_MAX_PARAMS] = {Number<K>(0), Number<K>(0), Number<K>(0), Number<K>(0)};
    for (int i = 0; i < Op::params; ++i) p[i] = Number<K>(params[i]);
    return with(p);
  }
}

template <class Op, Kind K>
constexpr Decomposition decomposition_of() {
  constexpr unsigned kinds[] = {scalar::kBool, scalar::kInt, scalar::kReal, scalar::kComplex};
  if constexpr (!(Op::accepts & kinds[static_cast<int>(K)]) || (Op::accepts & scalar::kWhole)) return nullptr;
  else if constexpr (K == Kind::Complex && (Op::accepts & scalar::kApart)) return nullptr;
  else return apply<Op, K>;
}

struct Row {
  int opcode;
  Decomposition by_kind[4];
};
template <class Op>
constexpr Row row_of() {
  return {Op::code,
          {decomposition_of<Op, Kind::Bool>(), decomposition_of<Op, Kind::Int>(), decomposition_of<Op, Kind::Real>(),
           decomposition_of<Op, Kind::Complex>()}};
}

// No formula for tensors: an error function of exact tails, and a choice whose condition is not of the values' type.
Operand special_erfcx(const Operand* in, const Scalar*) { return math::erfcx(math::Real(in[0])); }
Operand masked_fill(const Operand* in, const Scalar*) { return math::run(FC_MAP_where, {&in[1], &in[2], &in[0]}); }

// clang-format off
constexpr Row rows[] = {
    {FC_MAP_special_erfcx, {nullptr, nullptr, special_erfcx, nullptr}},
    {FC_MAP_masked_fill, {masked_fill, masked_fill, masked_fill, masked_fill}},
#define FC_UNARY(number, name, ...) row_of<scalar::name>(),
#define FC_MATH FC_UNARY
#define FC_BINARY FC_UNARY
#define FC_COMPARE FC_UNARY
#define FC_DERIVATIVE FC_UNARY
#define FC_TERNARY FC_UNARY
#include "facula/formulas/rest.h"
#include "facula/formulas/common.def"
#include "facula/formulas/shared.def"
#include "facula/formulas/unary.def"
#include "facula/formulas/math.def"
#include "facula/formulas/binary.def"
#include "facula/formulas/derivative.def"
#include "facula/formulas/end.h"
};
// clang-format on

Kind kind_of(DType type) {
  switch (info(type).kind) {
    case 'b': return Kind::Bool;
    case 'f': return Kind::Real;
    case 'c': return Kind::Complex;
    default: return Kind::Int;
  }
}
Decomposition find_decomposition(int opcode, DType compute) {
  for (const Row& row : rows) {
    if (row.opcode != opcode) continue;
    return row.by_kind[static_cast<int>(kind_of(compute))];
  }
  return nullptr;
}

// What a reduction beyond the base sums up, for one kind of element type.
using Term = Operand (*)(const Operand& x, const Operand& shift);
template <class Fold, Kind K>
Operand term_of(const Operand& x, const Operand& shift) {
  return Fold::term(math::X<K>(x), math::X<K>(shift));
}
struct TermRow {
  int opcode;
  bool is_mean;
  Term by_kind[4];
};
template <class Fold>
constexpr TermRow term_row() {
  constexpr unsigned types = Fold::accepts;
  TermRow row{Fold::code, Fold::is_mean, {}};
  if constexpr (types & scalar::kBool) row.by_kind[static_cast<int>(Kind::Bool)] = term_of<Fold, Kind::Bool>;
  if constexpr (types & scalar::kInt) row.by_kind[static_cast<int>(Kind::Int)] = term_of<Fold, Kind::Int>;
  if constexpr (types & scalar::kReal) row.by_kind[static_cast<int>(Kind::Real)] = term_of<Fold, Kind::Real>;
  if constexpr (types & scalar::kComplex) row.by_kind[static_cast<int>(Kind::Complex)] = term_of<Fold, Kind::Complex>;
  return row;
}
// clang-format off
constexpr TermRow term_rows[] = {
#define FC_SUM(number, name, ...) term_row<folds::name>(),
#define FC_MEAN FC_SUM
#include "facula/formulas/rest.h"
#include "facula/formulas/shared_folds.def"
#include "facula/formulas/folds.def"
#include "facula/formulas/end.h"
};
// clang-format on

Tensor cast(const Tensor& t, DType dtype) {
  Tensor out = t.impl().is_dense() ? empty_strided_tensor(t.sizes(), t.strides(), dtype, t.device())
                                   : empty_tensor(t.sizes(), dtype, t.device());
  copy_(out, t);
  return out;
}

}  // namespace

bool decompose_map(const MapRequest& r, Tensor& result) {
  MapTypes types = map_types(r);
  const Decomposition formula = find_decomposition(r.opcode, compute_type(types.compute));
  if (!formula) return false;
  Program here(compute_type(types.compute));
  std::vector<Operand> inputs;
  Device device;
  for (const MapInput& in : r.inputs)
    if (in.tensor && (device.is_cpu() || !in.tensor->device().is_cpu())) device = in.tensor->device();
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    const MapInput& in = r.inputs[i];
    DType wanted = r.opcode == FC_MAP_masked_fill && i == 1 ? DType::Bool : here.compute;
    Tensor t = in.tensor ? *in.tensor : full({}, in.scalar, wanted, Device{});
    if (!(t.device() == device) || t.dtype() != wanted) {
      Tensor there = empty_tensor(t.sizes(), wanted, device);
      copy_(there, t);
      t = there;
    }
    inputs.push_back({t, {}});
  }
  const Operand value = formula(inputs.data(), r.params.data());
  if (here.failed) return false;
  if (r.out) {
    FC_CHECK(!r.in_place || Dims::same(r.out->sizes(), value.tensor.sizes()), r.op, "_: output with shape ",
             r.out->sizes(), " doesn't match the broadcast shape ", value.tensor.sizes());
    write_out(r.op, *r.out, value.tensor);
    result = *r.out;
    return true;
  }
  bool is_input = false;
  for (const MapInput& in : r.inputs) is_input |= in.tensor && in.tensor->same(value.tensor);
  // Parts of the formula may have seen the inputs in another order: the result lies as if made from them at once.
  Dims strides = result_strides(value.tensor.sizes(), r.inputs);
  if (value.tensor.dtype() == types.natural && !is_input && Dims::same(strides, value.tensor.strides())) {
    result = value.tensor;
  } else {
    result = empty_strided_tensor(value.tensor.sizes(), strides, types.natural, device);
    copy_(result, value.tensor);
  }
  return true;
}

bool decompose_reduce(const ReduceRequest& r, Tensor& result) {
  const TermRow* row = std::ranges::find(term_rows, r.opcode, &TermRow::opcode);
  if (row == std::end(term_rows) || r.in.device().is_cpu()) return false;
  const Term term = row->by_kind[static_cast<int>(kind_of(r.compute))];
  if (!term) return false;
  Program here(r.compute);
  const Operand x{r.in.dtype() == r.compute ? r.in : cast(r.in, r.compute), {}};
  const Operand terms = term(x, {r.shift ? *r.shift : Tensor(), {}});
  if (here.failed) return false;
  const DType compute = r.compute == DType::Bool ? DType::Int64 : r.compute;
  ReduceRequest plain{.op = r.op,
                      .opcode = FC_REDUCE_sum,
                      .in = terms.tensor,
                      .dims = r.dims,
                      .keepdim = r.keepdim,
                      .compute = compute,
                      .result = compute};
  if (!try_reduce(plain, result)) return false;
  if (row->is_mean) result = div(result, Scalar(static_cast<double>(reduced_numel(r.in.sizes(), r.dims))));
  if (result.dtype() != r.result) result = cast(result, r.result);
  return true;
}

}  // namespace fc
