// SPDX-License-Identifier: Apache-2.0
#include "define/row.h"

#include "core/use.h"
#include "define/calls.h"
#include "define/derive.h"
#include "dispatch/checks.h"

namespace fc {
namespace {

// In-place and out= forms of an operator that has none of its own: run the functional one, then copy. A composite's
// in-place form is composite too, so that autograd sees the parts and the copy.
template <bool composite>
void run_in_place(void* functional, const Operator&, const Arg* args, Value* results) {
  const auto& op = *static_cast<const Operator*>(functional);
  std::vector<Value> result(op.num_results());
  std::vector<Arg> kept;
  Tensor start;
  if constexpr (composite) {
    // What the parts save of self is the value from before.
    if (thread_state().grad_mode && (args[0].tensor().impl().layers() & layer::Autograd)) {
      start = clone(args[0].tensor());
      kept.assign(args, args + op.num_args());
      kept[0] = start;
    }
    op.call(start.defined() ? kept.data() : args, result.data());
  } else {
    op.run_kernel(args, result.data());
  }
  const Tensor& self = args[0].tensor();
  const Tensor& value = result[0].tensor();
  FC_CHECK(can_cast(value.dtype(), self.dtype()), "result type ", info(value.dtype()).legacy,
           " can't be cast to the desired output type ", info(self.dtype()).legacy);
  FC_CHECK(Dims::same(value.sizes(), self.sizes()), op.schema().name, "_: the result has shape ", value.sizes(),
           ", which is not that of self: ", self.sizes());
  copy_(self, value);
  results[0] = Value(Tensor(self));
}

void run_out(void* functional, const Operator& out_op, const Arg* args, Value* results) {
  const auto& op = *static_cast<const Operator*>(functional);
  const size_t n = op.num_args();
  const char* name = out_op.schema().name.c_str();
  std::vector<Arg> chosen;
  if (out_op.out_type == OutType::Chosen) {
    const auto dtype = static_cast<size_t>(op.schema().find("dtype"));
    chosen.assign(args, args + out_op.num_args());
    const DType type = args[n].tensor().dtype();
    if (args[dtype].is_none() && type != DType::Bool) chosen[dtype] = type;
    args = chosen.data();
  }
  std::vector<Value> computed(op.num_results());
  op.run_kernel(args, computed.data());
  for (size_t i = 0; i < computed.size(); ++i) {
    const Tensor& out = args[n + i].tensor();
    check_out_type(name, out, computed[i].tensor().dtype(), out_op.out_type);
    write_out(name, out, computed[i].tensor());
    results[i] = Value(Tensor(out));
  }
}

// The out= forms that PyTorch names otherwise than by their functional form's overload.
constexpr std::pair<std::string_view, const char*> out_names[] = {
    {"any", "all_out"},   {"any.dim", "out"},   {"all", "all_out"},   {"all.dim", "out"},    {"max", "unary_out"},
    {"min", "unary_out"}, {"max.other", "out"}, {"min.other", "out"}, {"mean", "dtype_out"}, {"mean.dim", "out"},
};

uint64_t constants_of(const Operator& op, const char* constant) {
  if (!constant) return 0;
  const auto& parameters = op.schema().parameters;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == constant) return uint64_t{1} << i;
  raise<Error>(op.name(), " has no argument '", constant, "'");
}

uint64_t positions(const Operator& op, std::string_view names) {
  uint64_t bits = 0;
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    const int i = op.schema().find(names.substr(0, end));
    FC_CHECK(i >= 0, op.name(), " has no argument '", names.substr(0, end), "'");
    bits |= uint64_t{1} << i;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return bits;
}

// Of the row's operator, or of a form made from it, which writes what the row's may only have read.
void attach_memory_facts(Operator& op, const OpDef& def) {
  uint64_t written = 0;
  for (const uint8_t i : op.written_args()) written |= uint64_t{1} << i;
  op.memory.overwritten |= positions(op, def.overwrites) & written;
  if (def.unwritten) op.memory.overwritten = 0;  // empty(out=) gives its argument a shape and no elements
  op.memory.partial = positions(op, def.partial) & written;
  op.memory.unread = positions(op, def.looks_at) & ~written;
  op.memory.unwritten = def.unwritten;
  op.random = def.random;
}

void attach_number_facts(Operator& op, const OpDef& def) {
  op.keeps_zero = def.keeps_zero;
  op.takes_numbers = def.takes_numbers;
}

// Other threads may be reading the sizes and the storage that such a kernel changes.
void run_alone(void* context, const Operator& op, const Arg* args, Value* results) {
  const ChangeScope alone;
  const auto& kernel = *static_cast<const Kernel*>(context);
  kernel.fn(kernel.context, op, args, results);
}
Kernel alone(const Kernel& kernel, const OpDef& def) {
  if (!kernel || def.writes != Writes::Geometry) return kernel;
  return {run_alone, new Kernel(kernel), kernel.signature};  // lives as long as the operator: for ever
}

void attach(Operator& op, const OpDef& def) {
  if (def.composite) op.set_composite(def.composite);
  if (def.all) op.set_all_devices(alone(def.all, def));
  if (def.cpu) op.set_kernel(Device::CPU, alone(def.cpu, def));
  if (def.meta) op.set_kernel(Device::Meta, alone(def.meta, def));
  if (def.decomposition) op.set_decomposition(def.decomposition);
  op.differentiable = def.differentiable;
  op.differentiable_results = def.differentiable_results;
  op.constants = constants_of(op, def.constant);
  op.autocast = def.autocast;
  op.cpu_autocast = def.cpu_autocast.value_or(def.autocast == Autocast::Float32 ? Autocast::None : def.autocast);
  op.foreach = def.foreach;
  op.view_copy = def.view_copy;
  attach_number_facts(op, def);
  op.devices = def.devices;
  op.writes = def.writes;
  op.may_repeat = def.may_repeat;
  attach_memory_facts(op, def);
  op.python_hidden = def.hidden;
  op.node = def.node;
  op.doc = def.doc;
  op.map = def.map;
  op.flops = def.flops;
  if (def.grad) op.grad = make_rule(op.schema(), def.saves, def.grad).release();
}

std::vector<void (*)(const Operator&)>& derivations() {
  static auto& all = *new std::vector<void (*)(const Operator&)>;
  return all;
}

}  // namespace

void derive_forms(void (*derive)(const Operator& op)) {
  for (const Operator* op : all_operators()) derive(*op);
  derivations().push_back(derive);
}

Operator& define(const OpDef& def) {
  Operator& op = define(std::string_view(def.schema));
  attach(op, def);
  if (def.in_place) {
    Operator& form = define(to_string(in_place_schema(op.schema())));
    if (def.own_forms) form.set_all_devices(def.all);
    else if (def.composite) form.set_composite({run_in_place<true>, &op});
    else form.set_all_devices({run_in_place<false>, &op});
    attach_memory_facts(form, def);
    attach_number_facts(form, def);
    form.functional = &op;
    form.python_hidden = def.hidden;
    form.differentiable = def.differentiable;
    form.devices = def.devices;
    form.writes = def.writes;
    form.may_repeat = def.may_repeat;
    form.node = def.node;
    form.map = def.map;
    form.flops = def.flops;
    if (def.grad) form.grad = make_rule(form.schema(), def.saves, def.grad).release();
  }
  if (def.out) {
    Schema schema = out_schema(op.schema());
    if (find_operator(schema.full_name()))
      schema.overload = op.schema().overload + "_out";  // clamp.out is taken: clamp.Tensor_out
    Operator& form = define(to_string(schema));
    form.set_all_devices(def.own_forms ? def.all : Kernel{run_out, &op});
    form.out_type = def.out_type.value_or(def.own_forms ? OutType::Castable : OutType::Exact);
    attach_memory_facts(form, def);
    attach_number_facts(form, def);
    form.functional = &op;
    form.python_hidden = def.hidden;
    form.differentiable = def.differentiable;
    form.devices = def.devices;
    form.writes = def.writes;
    form.map = def.map;
    form.flops = def.flops;
  }
  for (auto* derive : derivations()) derive(op);
  return op;
}

Schema in_place_schema(const Schema& f) {
  Schema s = f;
  s.name += '_';
  s.parameters[0].name = "self";  // dropout(Tensor input, …) has dropout_(Tensor(a!) self, …)
  s.parameters[0].set_alias('a', true);
  s.returns[0].set_alias('a', true);
  s.returns.resize(1);
  return s;
}

Schema out_schema(const Schema& f) {
  Schema s = f;
  s.overload = f.overload.empty() || f.overload == "Tensor" ? "out" : f.overload + "_out";
  for (const auto& [functional, out] : out_names)
    if (f.name == functional.substr(0, functional.find('.')) &&
        str(f.name, f.overload.empty() ? "" : ".", f.overload) == functional)
      s.overload = out;
  for (size_t i = 0; i < f.returns.size(); ++i) {
    Parameter out = f.returns[i];
    if (f.returns.size() == 1) out.name = "out";
    else if (out.name.empty()) out.name = str("out", i);
    out.keyword_only = true;
    out.set_alias(static_cast<char>('a' + i), true);
    s.parameters.push_back(out);
    s.returns[i].set_alias(out.alias.set, true);
  }
  return s;
}

void check_out_type(const char* op, const Tensor& out, DType result_dtype, OutType allowed) {
  if (out.dtype() == result_dtype) return;
  FC_CHECK(allowed == OutType::Castable, op, ": Expected out tensor to have dtype ", result_dtype, ", but got ",
           out.dtype(), " instead");
  FC_CHECK(can_cast(result_dtype, out.dtype()), "result type ", info(result_dtype).legacy,
           " can't be cast to the desired output type ", info(out.dtype()).legacy);
}

void prepare_out(const char* op, const Tensor& out, IntSpan sizes) {
  if (Dims::same(out.sizes(), sizes)) return;
  if (out.numel() != 0)
    warn(str("An output with one or more elements was resized since it had shape ", out.sizes(),
             ", which does not match the required output shape ", sizes, ". (", op,
             ") This behavior is deprecated: resize it to zero elements with t.resize_(0) first."));
  resize_tensor(out, sizes);
}

void write_out(const char* op, const Tensor& out, const Tensor& result) {
  FC_CHECK(out.device() == result.device(), op, ": expected out on ", result.device(), ", but it is on ", out.device());
  prepare_out(op, out, result.sizes());
  copy_(out, result);
}

std::unique_ptr<GradRule> make_rule(const Schema& schema, const char* saves, GradFormula formula) {
  auto rule = std::make_unique<GradRule>();
  rule->formula = formula;
  std::string_view text = saves;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (item.empty()) continue;
    size_t colon = item.find(':');
    std::string_view what = item.substr(0, colon);
    GradRule::Save save;
    if (what.ends_with('~')) {
      save.may_change = true;
      what.remove_suffix(1);
    }
    if (what.starts_with("result")) {
      save.result = static_cast<int8_t>(what.size() > 6 ? what[6] - '0' : 0);
    } else {
      save.arg = static_cast<int8_t>(schema.find(what));
      FC_CHECK(save.arg >= 0, schema.full_name(), ": its rule saves '", what, "', which is no parameter");
    }
    if (colon != item.npos) {
      save.when = 0;
      std::string_view names = item.substr(colon + 1);
      while (!names.empty()) {
        size_t comma = std::min(names.find(','), names.size());
        int arg = schema.find(names.substr(0, comma));
        FC_CHECK(arg >= 0, schema.full_name(), ": its rule names '", names, "', which is no parameter");
        save.when |= uint64_t{1} << arg;
        names.remove_prefix(std::min(comma + 1, names.size()));
      }
    }
    rule->saves.push_back(save);
  }
  return rule;
}

}  // namespace fc
