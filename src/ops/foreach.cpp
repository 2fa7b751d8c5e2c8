// SPDX-License-Identifier: Apache-2.0
// The _foreach_ family: an operator applied to every tensor of a list. Each form of the family calls the overload of
// the operator that has the same arguments, with the i-th item in place of each list. Lists of one floating type on the
// CPU are done in one pass over all elements, where the operator is a single map.
#include "define/calls.h"
#include "define/derive.h"
#include "define/row.h"
#include "ops/register.h"
#include "plan/lists.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

// An operator of the family and the one that it calls for each item.
struct Form {
  const Operator* plain;
  std::vector<Value> defaults;  // of the plain operator's parameters that the family does not have
};

// The i-th item of a list, or what is the same for all.
Arg item(const Arg& a, size_t i) {
  if (a.is_tensor_list()) return a.tensors()[i];
  if (a.tag() == Tag::ScalarList) return a.scalars()[i];
  return a;
}

size_t check_lists(const Operator& op, const Arg* args) {
  const char* name = op.schema().name.c_str();
  size_t n = SIZE_MAX;
  for (uint8_t i : op.tensor_args()) {
    if (!args[i].is_tensor_list()) {
      const Tensor& t = args[i].tensor();
      FC_CHECK(t.dim() == 0 && t.numel() == 1, name, ": scalar tensor expected to be 0 dim but it has ", t.dim(),
               " dimensions and ", t.numel(), " elements.");
    } else if (n == SIZE_MAX) {
      n = args[i].tensors().size();
      FC_CHECK(n > 0, name, ": Tensor list must have at least one tensor.");
    } else {
      check_list_lengths(name, n, args[i].tensors().size());
    }
  }
  for (size_t i = 0; i < op.num_args(); ++i)
    FC_CHECK(args[i].tag() != Tag::ScalarList || args[i].scalars().size() == n, name,
             ": Tensor list must have same number of elements as scalar list, got ", n, " and ",
             args[i].tag() == Tag::ScalarList ? args[i].scalars().size() : 0);
  return n;
}

// --- one pass

// Nothing looks at the calls below, and nothing is recorded.
bool nobody_looks(const Operator& op, const Arg* args) {
  const ThreadState& s = thread_state();
  const LayerSet ignored = s.exclude | layer::kObserve | (s.grad_mode ? LayerSet{0} : LayerSet{layer::Autograd});
  return ((s.include | process_layers() | op.argument_layers(args)) & ~ignored) == 0 && !s.inference_mode;
}

// Whether the tensors of every item are rows of one floating type on the CPU.
bool are_rows(const Operator& op, const Arg* args, size_t n) {
  const Tensor& first = args[0].tensors()[0];
  const DType type = first.dtype();
  if (!is_floating(type) || is_barebones(type)) return false;
  for (uint8_t a : op.tensor_args()) {
    if (!args[a].is_tensor_list()) {
      if (!args[a].tensor().device().is_cpu() || !is_floating(args[a].tensor().dtype())) return false;
      continue;
    }
    for (size_t i = 0; i < n; ++i) {
      const Tensor &t = args[a].tensors()[i], &self = args[0].tensors()[i];
      if (!t.defined() || t.dtype() != type || !t.device().is_cpu() || !same_rows(t, self)) return false;
      if (!op.is_in_place && !t.is_contiguous()) return false;
      if (t.impl().is_inference() || t.impl().is_wrapped_number()) return false;
    }
  }
  return true;
}

bool run_in_one_pass(const Operator& op, const Form& form, const Arg* args, size_t n, std::vector<Tensor>& out) {
  const MapFacts& map = form.plain->map;
  if (map.opcode < 0 || (map.promote != Promote::Same && map.promote != Promote::Float)) return false;
  if (!args[0].is_tensor_list() || !nobody_looks(op, args) || !are_rows(op, args, n)) return false;
  const TensorSpan self = args[0].tensors();
  if (op.is_in_place) {
    std::vector<TensorSpan> read;
    for (uint8_t a : op.tensor_args())
      if (a > 0 && args[a].is_tensor_list()) read.push_back(args[a].tensors());
    if (!items_are_apart(self, read)) return false;
    for (const Tensor& t : self) check_writable(op.schema().name.c_str(), t);
    out.assign(self.begin(), self.end());
  } else {
    for (const Tensor& t : self) out.push_back(empty_tensor(t.sizes(), t.dtype(), t.device()));
  }
  const size_t used = static_cast<size_t>(map.inputs) + map.params;
  std::vector<fc_number> numbers(used * n);  // by argument and item; tensors of one element are numbers here
  const DType type = self[0].dtype();
  bool by_item = false;
  for (size_t a = 0; a < used; ++a) {
    const Arg given = a < op.num_args() ? args[a] : form.defaults[a].arg();
    if (given.is_tensor_list()) continue;
    for (size_t i = 0; i < n; ++i) {
      const Arg v = item(given, i);
      const Scalar s = v.is_tensor() ? call<"aten::_local_scalar_dense", Scalar>(v.tensor()) : v.scalar();
      // A number that a half type does not have is rounded to it by some operators and not by others: they know.
      by_item |= s.is_complex() || (is_reduced(type) && s.to_double() != rounded_to(type, s).to_double());
      numbers[a * n + i] = to_number(s);
    }
  }
  if (by_item) {
    out.clear();
    return false;
  }
  const auto size = static_cast<int64_t>(item_size(type));
  const Families& cpu = families(Device::CPU);
  for_elements_of_all(self, int64_t{1} << 14, [&](size_t i, int64_t from, int64_t to) {
    const int64_t length = to - from;
    auto row = [&](const Tensor& t) {
      return fc_operand{static_cast<char*>(t.data()) + from * size, &size, static_cast<int32_t>(type), 0, {}};
    };
    fc_map c{};
    c.size = sizeof c;
    c.opcode = map.opcode;
    c.n_in = map.inputs;
    c.n_params = map.params;
    c.ndim = 1;
    c.compute = static_cast<int32_t>(compute_type(type));
    c.shape = &length;
    c.out = row(out[i]);
    for (size_t a = 0; a < used; ++a) {
      if (a >= map.inputs) c.params[a - map.inputs] = numbers[a * n + i];
      else if (a < op.num_args() && args[a].is_tensor_list()) c.in[a] = row(args[a].tensors()[i]);
      else c.in[a].value = numbers[a * n + i];
    }
    cpu.map(cpu.context, Device{}, c);
  });
  if (op.is_in_place)
    for (const Tensor& t : self) t.impl().bump_version();
  return true;
}

// --- the loop
void run(void* context, const Operator& op, const Arg* args, Value* results) {
  const Form& form = *static_cast<const Form*>(context);
  const size_t n = check_lists(op, args);
  std::vector<Tensor> out;
  if (!run_in_one_pass(op, form, args, n, out)) {
    std::vector<Arg> one(form.plain->num_args());
    for (size_t i = 0; i < n; ++i) {
      for (size_t a = 0; a < one.size(); ++a) one[a] = a < op.num_args() ? item(args[a], i) : form.defaults[a].arg();
      Value result[1];
      form.plain->call(one.data(), result);
      if (!op.is_in_place) out.push_back(result[0].take_tensor());
    }
  }
  if (!op.is_in_place) results[0] = Value(std::move(out));
}

void define_form(const std::string& schema, const std::string& plain) {
  Operator& op = define(schema);
  auto* form = new Form{&get_operator(plain), {}};  // for ever, like the operator
  for (const Parameter& p : form->plain->schema().parameters) form->defaults.push_back(p.default_value);
  op.set_composite({run, form});
  op.memory = form->plain->memory;
}

// --- forms whose arguments are not the plain operator's
using Scalars = std::span<const Scalar>;

std::vector<Scalar> numbers_of(const char* op, const Tensor& scalars, size_t n) {
  FC_CHECK(scalars.dim() == 1 && scalars.is_contiguous(), op,
           ": Expected packed scalar Tensor to be of dimension 1 and contiguous. Got ", scalars.dim(), " instead.");
  FC_CHECK(static_cast<size_t>(scalars.numel()) == n, op, ": Expected length of scalars to match input of length ", n,
           " but got ", scalars.numel(), " instead.");
  FC_CHECK(scalars.device().is_cpu(), op, ": Expected scalars to be on CPU, got ", scalars.device(), " instead.");
  std::vector<Scalar> out;
  for (size_t i = 0; i < n; ++i)
    out.push_back(call<"aten::_local_scalar_dense", Scalar>(select(scalars, 0, static_cast<int64_t>(i))));
  return out;
}
std::vector<Tensor> addcmul(TensorSpan self, TensorSpan a, TensorSpan b, const Tensor& scalars) {
  const auto v = numbers_of("_foreach_addcmul", scalars, self.size());
  return call<"aten::_foreach_addcmul.ScalarList", std::vector<Tensor>>(self, a, b, Scalars(v));
}
std::vector<Tensor> addcdiv(TensorSpan self, TensorSpan a, TensorSpan b, const Tensor& scalars) {
  const auto v = numbers_of("_foreach_addcdiv", scalars, self.size());
  return call<"aten::_foreach_addcdiv.ScalarList", std::vector<Tensor>>(self, a, b, Scalars(v));
}
void addcmul_(TensorSpan self, TensorSpan a, TensorSpan b, const Tensor& scalars) {
  const auto v = numbers_of("_foreach_addcmul_", scalars, self.size());
  call<"aten::_foreach_addcmul_.ScalarList", void>(self, a, b, Scalars(v));
}
void addcdiv_(TensorSpan self, TensorSpan a, TensorSpan b, const Tensor& scalars) {
  const auto v = numbers_of("_foreach_addcdiv_", scalars, self.size());
  call<"aten::_foreach_addcdiv_.ScalarList", void>(self, a, b, Scalars(v));
}

template <class F>
std::vector<Tensor> each(const char* op, TensorSpan self, F f) {
  FC_CHECK(!self.empty(), op, ": Tensor list must have at least one tensor.");
  std::vector<Tensor> out;
  for (const Tensor& t : self) out.push_back(f(t));
  return out;
}
std::vector<Tensor> norm(TensorSpan self, const Scalar& ord, std::optional<DType> dtype) {
  return each("_foreach_norm", self, [&](const Tensor& t) {
    return call<"aten::linalg_vector_norm", Tensor>(t, ord, std::optional<IntSpan>(), false, dtype);
  });
}
std::vector<Tensor> powsum(TensorSpan self, const Scalar& ord, std::optional<DType> dtype) {
  return each("_foreach_powsum", self,
              [&](const Tensor& t) { return sum(pow(abs(dtype ? to_dtype(t, *dtype) : t), ord)); });
}
// What the operators without _ in their name leave as it was.
std::vector<Tensor> zero(TensorSpan self) {
  return each("_foreach_zero", self, [](const Tensor& t) { return zeros_like(t); });
}
std::vector<Tensor> copy(TensorSpan self, TensorSpan src, bool non_blocking) {
  std::vector<Tensor> out = each("_foreach_copy", self, [](const Tensor& t) { return clone(t); });
  call<"aten::_foreach_copy_", void>(TensorSpan(out), src, non_blocking);
  return out;
}

constexpr OpDef special[] = {
    {.schema = "_foreach_addcmul.Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> Tensor[]",
     .composite = kernel<&addcmul>()},
    {.schema = "_foreach_addcdiv.Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> Tensor[]",
     .composite = kernel<&addcdiv>()},
    {.schema = "_foreach_addcmul_.Tensor(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> ()",
     .composite = kernel<&addcmul_>()},
    {.schema = "_foreach_addcdiv_.Tensor(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> ()",
     .composite = kernel<&addcdiv_>()},
    {.schema = "_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]",
     .composite = kernel<&norm>()},
    {.schema = "_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]",
     .composite = kernel<&powsum>()},
    {.schema = "_foreach_zero(Tensor[] self) -> Tensor[] self_out", .composite = kernel<&zero>()},
    {.schema = "_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[] self_out",
     .composite = kernel<&copy>()},
};

// The family's overloads, their parameters after self, and what they call for each item.
struct Row {
  const char *name, *overload, *parameters, *plain, *in_place;
};
constexpr Row rows[] = {
    {"add", "List", ", Tensor[] other, *, Scalar alpha=1", "add.Tensor", "add_.Tensor"},
    {"add", "Scalar", ", Scalar scalar", "add.Scalar", "add_.Scalar"},
    {"add", "ScalarList", ", Scalar[] scalars", "add.Scalar", "add_.Scalar"},
    {"add", "Tensor", ", Tensor other, *, Scalar alpha=1", "add.Tensor", "add_.Tensor"},
    {"sub", "List", ", Tensor[] other, *, Scalar alpha=1", "sub.Tensor", "sub_.Tensor"},
    {"sub", "Scalar", ", Scalar scalar", "sub.Scalar", "sub_.Scalar"},
    {"sub", "ScalarList", ", Scalar[] scalars", "sub.Scalar", "sub_.Scalar"},
    {"mul", "List", ", Tensor[] other", "mul.Tensor", "mul_.Tensor"},
    {"mul", "Scalar", ", Scalar scalar", "mul.Scalar", "mul_.Scalar"},
    {"mul", "ScalarList", ", Scalar[] scalars", "mul.Scalar", "mul_.Scalar"},
    {"mul", "Tensor", ", Tensor other", "mul.Tensor", "mul_.Tensor"},
    {"div", "List", ", Tensor[] other", "div.Tensor", "div_.Tensor"},
    {"div", "Scalar", ", Scalar scalar", "div.Scalar", "div_.Scalar"},
    {"div", "ScalarList", ", Scalar[] scalars", "div.Scalar", "div_.Scalar"},
    {"div", "Tensor", ", Tensor other", "div.Tensor", "div_.Tensor"},
    {"clamp_max", "List", ", Tensor[] other", "clamp_max.Tensor", "clamp_max_.Tensor"},
    {"clamp_max", "Scalar", ", Scalar scalar", "clamp_max", "clamp_max_"},
    {"clamp_max", "ScalarList", ", Scalar[] scalars", "clamp_max", "clamp_max_"},
    {"clamp_min", "List", ", Tensor[] other", "clamp_min.Tensor", "clamp_min_.Tensor"},
    {"clamp_min", "Scalar", ", Scalar scalar", "clamp_min", "clamp_min_"},
    {"clamp_min", "ScalarList", ", Scalar[] scalars", "clamp_min", "clamp_min_"},
    {"maximum", "List", ", Tensor[] other", "maximum", "clamp_min_.Tensor"},
    {"maximum", "Scalar", ", Scalar scalar", "clamp_min", "clamp_min_"},
    {"maximum", "ScalarList", ", Scalar[] scalars", "clamp_min", "clamp_min_"},
    {"minimum", "List", ", Tensor[] other", "minimum", "clamp_max_.Tensor"},
    {"minimum", "Scalar", ", Scalar scalar", "clamp_max", "clamp_max_"},
    {"minimum", "ScalarList", ", Scalar[] scalars", "clamp_max", "clamp_max_"},
    {"pow", "List", ", Tensor[] exponent", "pow.Tensor_Tensor", "pow_.Tensor_Tensor"},
    {"pow", "Scalar", ", Scalar exponent", "pow.Tensor_Scalar", "pow_.Tensor_Scalar"},
    {"pow", "ScalarList", ", Scalar[] exponent", "pow.Tensor_Scalar", "pow_.Tensor_Scalar"},
    {"addcmul", "Scalar", ", Tensor[] tensor1, Tensor[] tensor2, Scalar value=1", "addcmul", "addcmul_"},
    {"addcmul", "ScalarList", ", Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars", "addcmul", "addcmul_"},
    {"addcdiv", "Scalar", ", Tensor[] tensor1, Tensor[] tensor2, Scalar value=1", "addcdiv", "addcdiv_"},
    {"addcdiv", "ScalarList", ", Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars", "addcdiv", "addcdiv_"},
    {"lerp", "List", ", Tensor[] tensors1, Tensor[] weights", "lerp.Tensor", "lerp_.Tensor"},
    {"lerp", "Scalar", ", Tensor[] tensors1, Scalar weight", "lerp.Scalar", "lerp_.Scalar"},
    {"lerp", "ScalarList", ", Tensor[] tensors1, Scalar[] weight", "lerp.Scalar", "lerp_.Scalar"},
};

// Of an operator of one tensor whose row says so.
void define_unary_forms(const Operator& op) {
  if (!op.foreach) return;
  const std::string& name = op.schema().name;  // of a library with its namespace
  const std::string space = op.name().substr(0, op.name().find(':') + 2);
  const std::string form = space == "aten::" ? str("_foreach_", name) : str(space, "_foreach_", name);
  define_form(str(form, "(Tensor[] self) -> Tensor[]"), op.name());
  define_form(str(form, "_(Tensor(a!)[] self) -> ()"), str(space, name, "_"));
}

}  // namespace

void define_foreach() {
  derive_forms(define_unary_forms);
  for (const Row& r : rows) {
    define_form(str("_foreach_", r.name, ".", r.overload, "(Tensor[] self", r.parameters, ") -> Tensor[]"),
                str("aten::", r.plain));
    define_form(str("_foreach_", r.name, "_.", r.overload, "(Tensor(a!)[] self", r.parameters, ") -> ()"),
                str("aten::", r.in_place));
  }
  define_form("_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]", "aten::pow.Scalar");
  define_form("_foreach_max(Tensor[] self) -> Tensor[]", "aten::max");
  define_form("_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]", "aten::mm");
  define_form("_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]", "aten::clone");
  define_form("_foreach_zero_(Tensor(a!)[] self) -> ()", "aten::zero_");
  define_form("_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()", "aten::copy_");
  define_all(special);
}

}  // namespace fc
