// SPDX-License-Identifier: Apache-2.0
#include "dispatch/operator.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "dispatch/family_table.h"
#include "dispatch/warn_once.h"

namespace fc {
namespace {

LayerHandler handlers[32];
uint64_t last_call_id = 0;
LayerSet process_set = 0;  // changes with the registry's lock held

struct Registry {
  std::mutex mutex;
  std::vector<Operator*> operators, hidden;  // which live for ever
  std::unordered_map<std::string, Operator*> by_name;
  std::unordered_map<std::string, std::vector<Operator*>> by_base, hidden_by_base;
};
Registry& registry() {
  static Registry& r = *new Registry;  // operators live for ever
  return r;
}

}  // namespace

LayerSet process_layers() { return __atomic_load_n(&process_set, __ATOMIC_RELAXED); }
void set_process_layers(LayerSet bits, bool on) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  __atomic_store_n(&process_set, on ? process_set | bits : process_set & ~bits, __ATOMIC_RELAXED);
  for (Operator* op : r.operators) __atomic_store_n(&op->layers_, op->own_layers_ | process_set, __ATOMIC_RELAXED);
}
void Operator::set_own_layers(LayerSet layers) {
  std::lock_guard lock(registry().mutex);
  own_layers_ = layers;
  __atomic_store_n(&layers_, own_layers_ | process_set, __ATOMIC_RELAXED);
}
void hold_registry_at_forks() {
  pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); }, [] { registry().mutex.unlock(); });
}

constinit thread_local ThreadState tls_state [[gnu::tls_model("initial-exec")]];
uint64_t new_call_id() { return __atomic_add_fetch(&last_call_id, 1, __ATOMIC_RELAXED); }

void set_layer_handler(LayerSet bit, LayerHandler handler) { handlers[std::countr_zero(bit)] = handler; }

LayerSet add_user_layer(LayerHandler handler) {
  std::lock_guard lock(registry().mutex);
  for (LayerSet bit : {layer::User0, layer::User1, layer::User2, layer::User3})
    if (LayerHandler& h = handlers[std::countr_zero(bit)]; !h.fn) {
      h = handler;
      return bit;
    }
  raise<Error>("add_layer: all four slots for layers are taken");
}

void remove_user_layer(LayerSet bit) {
  std::lock_guard lock(registry().mutex);
  handlers[std::countr_zero(bit)] = {};
}

// A layer from outside that neither goes on nor answers. Some results alone may be absent: gradients nobody asked for.
static void check_results(const char* layer, const Operator& op, const Value* results) {
  bool missing = false;
  for (size_t i = 0; i < op.num_results(); ++i) {
    if (results[i].tag() != Tag::None) return;
    missing |= !op.schema().returns[i].type.optional;
  }
  FC_CHECK(!missing, "layer ", layer, " gave no result for ", op.name(),
           ": it must call redispatch or fill the results");
}

// A layer whose own calls reach it again would use up the stack.
static void run_user_layer(const LayerHandler& h, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  static constinit thread_local int depth = 0;
  struct Scope {
    Scope() { ++depth; }
    ~Scope() { --depth; }
  } inside;
  FC_CHECK(depth <= 500, "layer ", h.name,
           " was entered again by its own calls: it goes on with redispatch, and what it "
           "computes for itself belongs inside fc::ExcludeLayers");
  h.fn(h.context, op, below, args, results);
  check_results(h.name, op, results);
}

void redispatch(const Operator& op, LayerSet set, const Arg* args, Value* results) {
  for (;;) {
    if (set == 0) {
      op.run_kernel(args, results);
      return;
    }
    LayerSet bit = std::bit_floor(set);
    const LayerHandler h = handlers[std::countr_zero(bit)];  // a copy: a layer may be removed by what it runs
    set &= layer::below(bit);
    // A composite operator without a derivative of its own expands, and its parts are what autograd sees; a trace saw
    // it whole. Next to the kernel it does so unless it has one, so that being watched changes nothing; nor does it
    // where the device has one.
    const auto path = [&] { return bit > layer::Devices ? Path::Composite : op.planned_path(args); };
    if (op.composite() && bit < layer::Trace && !(bit == layer::Autograd && op.autograd()) &&
        (bit == layer::Devices ? path() != Path::Kernel : path() == Path::Composite)) {
      op.composite().fn(op.composite().context, op, args, results);
      thread_state().path = Path::Composite;
      return;
    }
    if (h.fn) {
      if ((bit >= layer::User0 && bit <= layer::User3) || bit == layer::Route) [[unlikely]]
        run_user_layer(h, op, set, args, results);
      else h.fn(h.context, op, set, args, results);
      return;
    }
  }
}

Operator* Operator::make(Schema schema, bool hidden) {
  const size_t slots = hidden ? 0 : kMaxDeviceTypes;
  void* place = ::operator new(sizeof(Operator) + slots * sizeof(Kernel));
  Operator* op = new (place) Operator(std::move(schema), hidden);
  std::uninitialized_default_construct_n(op->kernels_, slots);
  return op;
}

Operator::Operator(Schema schema, bool hidden)
    : schema_(std::move(schema)),
      full_name_(schema_.full_name()),
      num_args_(schema_.parameters.size()),
      num_results_(schema_.returns.size()),
      hidden_(hidden) {
  if (hidden) return;  // no layer has anything to see
  for (size_t i = 0; i < schema_.parameters.size(); ++i) {
    const FlatType& t = schema_.parameters[i].type;
    if (t.kind == Kind::Tensor) tensor_args_.push_back(static_cast<uint8_t>(i));
    if (schema_.parameters[i].alias.write) written_args_.push_back(static_cast<uint8_t>(i));
    if (t.kind == Kind::Device && !t.list) device_arg_ = static_cast<int>(i);
  }
  is_out = schema_.is_out();
  is_in_place = schema_.is_in_place();
  is_view = schema_.is_view();
  if (is_out)
    for (const uint8_t i : written_args_)
      if (schema_.parameters[i].keyword_only) memory.overwritten |= uint64_t{1} << i;
  if (is_out || is_in_place || is_view) own_layers_ = layers_ = layer::ViewInPlace;
  for (const Parameter& r : schema_.returns)
    if (is_view && r.alias.set) viewed_arg_ = static_cast<size_t>(schema_.find_alias(r.alias.set));
}

LayerSet Operator::list_layers(const Arg& a) {
  LayerSet set = 0;
  for (const Tensor& t : a.tensors())
    if (t.defined()) set |= t.impl().layers();
  return set;
}

namespace {

bool fits(const FlatType& schema, const FlatType& cpp) {
  // An absent tensor is an undefined one and an absent generator a null; any other optional needs a std::optional.
  bool absent = cpp.optional || schema.kind == Kind::Generator || (schema.kind == Kind::Tensor && !schema.list);
  return schema.kind == cpp.kind && schema.list == cpp.list && (!schema.optional || absent);
}

std::string cpp_name(const FlatType& t) {
  constexpr const char* one[] = {"Tensor", "Scalar", "int64_t", "double",       "bool",       "std::string_view",
                                 "Device", "DType",  "Layout",  "MemoryFormat", "Generator*", "Arg"};
  std::string name = one[static_cast<int>(t.kind)];
  if (t.list)
    name = t.kind == Kind::Tensor ? "TensorSpan" : t.kind == Kind::Int ? "IntSpan" : "std::span<const " + name + ">";
  return t.optional ? "std::optional<" + name + ">" : name;
}

}  // namespace

const Kernel& Operator::checked(const Kernel& k) const {
  if (!k.signature) return k;
  auto compare = [&](const char* what, std::span<const FlatType> cpp, const std::vector<Parameter>& schema) {
    FC_CHECK(cpp.size() == schema.size(), "kernel for ", full_name_, ": the C++ function has ", cpp.size(), " ", what,
             "(s), the schema ", schema.size(), ": ", to_string(schema_));
    for (size_t i = 0; i < cpp.size(); ++i)
      FC_CHECK(fits(schema[i].type, cpp[i]), "kernel for ", full_name_, ": ", what, " ", i,
               schema[i].name.empty() ? "" : " (" + schema[i].name + ")", " is ", to_string(schema[i].type),
               " in the schema and ", cpp_name(cpp[i]), " in the C++ function: ", to_string(schema_));
  };
  compare("parameter", k.signature->parameters, schema_.parameters);
  compare("result", k.signature->results, schema_.returns);
  return k;
}

void Operator::set_kernel(int device_type, Kernel k) {
  FC_CHECK(!hidden_, full_name_, " is TorchScript's own: it takes one kernel");
  Kernel& slot = kernels_[device_type];
  const Kernel& fresh = checked(k);
  slot.context = fresh.context;
  slot.signature = fresh.signature;
  __atomic_store_n(&slot.fn, fresh.fn, __ATOMIC_RELEASE);
  __atomic_store_n(&own_kernels_, true, __ATOMIC_RELAXED);
}

void Operator::set_all_devices(Kernel k) { all_devices_ = checked(k); }
void Operator::set_decomposition(Kernel k) { decomposition_ = checked(k); }

void Operator::set_composite(Kernel k) {
  composite_ = checked(k);
  set_own_layers(own_layers_ & layer::Autograd);  // its parts are looked at one by one
}

void Operator::set_autograd(Kernel k) {
  autograd_ = checked(k);
  set_own_layers(own_layers_ | layer::Autograd);
}

int Operator::pick_device(const Arg* args) const {
  int device = -1;
  auto see = [&](const Tensor& t) {
    // What is on the CPU may be a number beside tensors of another device (checks.h), so the first of those decides.
    if (t.defined() && (device < 0 || device == Device::CPU)) device = t.device().type;
  };
  for (uint8_t i : tensor_args_) {
    if (args[i].is_tensor()) see(args[i].tensor());
    else if (args[i].is_tensor_list())
      for (const Tensor& t : args[i].tensors()) see(t);
  }
  if (device_arg_ >= 0 && args[device_arg_].tag() == Tag::Device) device = args[device_arg_].device().type;
  if (device < 0) device = device_arg_ >= 0 ? static_cast<int>(default_device().type) : static_cast<int>(Device::CPU);
  return device;
}

Path Operator::planned_path(const Arg* args) const {
  if (__atomic_load_n(&own_kernels_, __ATOMIC_RELAXED) && kernels_[pick_device(args)]) return Path::Kernel;
  if (all_devices_) return Path::Family;
  if (composite_) return Path::Composite;
  return decomposition_ ? Path::Decomposition : Path::Fallback;
}

int64_t Operator::count_flops(const Arg* args) const {
  if (flops) return flops(args);
  if (map.opcode < 0) return 0;
  int64_t elements = 1;
  size_t rank = 0;
  for (size_t i = 0; i < map.inputs; ++i)
    if (args[i].is_tensor()) rank = std::max(rank, args[i].tensor().sizes().size());
  for (size_t d = 1; d <= rank; ++d) {  // from the last, as shapes are broadcast
    int64_t size = 1;
    for (size_t i = 0; i < map.inputs; ++i) {
      if (!args[i].is_tensor()) continue;
      IntSpan sizes = args[i].tensor().sizes();
      if (d <= sizes.size() && sizes[sizes.size() - d] != 1) size = sizes[sizes.size() - d];
    }
    if (__builtin_mul_overflow(elements, size, &elements)) return INT64_MAX;
  }
  return elements;
}

namespace {

class KernelScope {  // what a kernel calls
 public:
  explicit KernelScope(const Operator& op) : exclude_(thread_state().exclude), op_(thread_state().op) {
    thread_state().exclude = exclude_ | layer::ViewInPlace;
    thread_state().op = &op;
  }
  ~KernelScope() {
    thread_state().exclude = exclude_;
    thread_state().op = op_;
  }
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  LayerSet exclude_;
  const Operator* op_;
};

}  // namespace

void Operator::run_kernel(const Arg* args, Value* results) const {
  const Kernel* k = &all_devices_;
  if (__atomic_load_n(&own_kernels_, __ATOMIC_RELAXED) || !*k) {
    const int device = pick_device(args);
    if (kernels_[device]) k = &kernels_[device];
    if (!*k) {
      run_without_kernel(device, args, results);
      return;
    }
  }
  KernelScope inside(*this);
  try {
    k->fn(k->context, *this, args, results);
  } catch (const Unsupported&) { run_unsupported(args, results); }
}

void Operator::run_unsupported(const Arg* args, Value* results) const {
  const int device = pick_device(args);
  FC_CHECK_AS(NotImplementedError, device != Device::CPU && device != Device::Meta, "'", full_name_,
              "' is not implemented for these arguments on the '", device_type_name(device), "' backend");
  if (!try_decomposition(args, results)) run_on_cpu(*this, device, args, results);
}

bool Operator::try_decomposition(const Arg* args, Value* results) const {
  if (!decomposition_) return false;
  try {
    decomposition_.fn(decomposition_.context, *this, args, results);
    thread_state().path = Path::Decomposition;
    return true;
  } catch (const Unsupported&) { return false; }
}

void Operator::run_without_kernel(int device, const Arg* args, Value* results) const {
  if (composite_ && !all_devices_) {
    composite_.fn(composite_.context, *this, args, results);
    thread_state().path = Path::Composite;
    return;
  }
  KernelScope inside(*this);
  if (all_devices_) {  // a plugin's kernel that declined comes here
    all_devices_.fn(all_devices_.context, *this, args, results);
    if (thread_state().path == Path::Kernel) thread_state().path = Path::Family;  // unless it went further
    return;
  }
  if (try_decomposition(args, results)) return;
  if (device != Device::CPU && device != Device::Meta && !is_view && kernels_[Device::CPU]) {
    run_on_cpu(*this, device, args, results);
    return;
  }
  raise<NotImplementedError>(
      "Could not run '", full_name_, "' with arguments from the '", device_type_name(device), "' backend: it has no ",
      device == Device::Meta ? "shape rule (`meta` of its row, or register_fake)" : "kernel there",
      is_view ? " (views never fall back)" : "");
}

// Texts of schemas may repeat a name (one of PyTorch's does); an operator whose arguments have names may not.
static Schema defined_schema(std::string_view text) {
  Schema s = parse_schema(text);
  for (size_t i = 0; i < s.parameters.size(); ++i)
    FC_CHECK_AS(ValueError, s.find(s.parameters[i].name) == static_cast<int>(i), "schema: found a repeated name '",
                s.parameters[i].name, "' in: ", text);
  return s;
}

Operator& define(std::string_view text) {
  Schema schema = defined_schema(text);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  std::string name = schema.full_name();
  if (auto it = r.by_name.find(name); it != r.by_name.end()) {
    Operator& before = *it->second;  // one that never got a kernel (its library failed to load) may be defined again
    FC_CHECK(!before.has_kernel() && to_string(before.schema()) == to_string(schema), "operator ", name,
             " is already defined: ", to_string(before.schema()));
    return before;
  }
  std::string base = schema.base_name();
  Operator& op = *r.operators.emplace_back(Operator::make(std::move(schema)));
  op.layers_ |= process_set;
  r.by_name.emplace(std::move(name), &op);
  r.by_base[base].push_back(&op);
  return op;
}

Operator* find_operator(std::string_view full_name) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  auto it = r.by_name.find(std::string(full_name));
  return it == r.by_name.end() ? nullptr : it->second;
}

const Operator& get_operator(std::string_view full_name) {
  Operator* op = find_operator(full_name);
  FC_CHECK(op, "no operator named ", full_name);
  return *op;
}

const Operator& get_operator(std::string_view full_name, size_t args, size_t results) {
  const Operator& op = get_operator(full_name);
  FC_CHECK(op.num_args() == args && op.num_results() == results, "call of ", full_name, " with ", args,
           " arguments for ", results, " results, but it is ", to_string(op.schema()));
  return op;
}

Operator& define_hidden(std::string_view text) {
  Schema schema = defined_schema(text);
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  std::string name = schema.full_name(), base = schema.base_name();
  FC_CHECK(!r.by_name.contains(name), "operator ", name, " is already defined");
  Operator& op = *r.hidden.emplace_back(Operator::make(std::move(schema), true));
  r.by_name.emplace(std::move(name), &op);
  r.hidden_by_base[std::move(base)].push_back(&op);
  return op;
}

std::vector<Operator*> overloads(std::string_view base_name, bool hidden) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  const std::string base(base_name);
  std::vector<Operator*> out;
  if (auto it = r.by_base.find(base); it != r.by_base.end()) out = it->second;
  if (hidden)
    if (auto it = r.hidden_by_base.find(base); it != r.hidden_by_base.end())
      out.insert(out.end(), it->second.begin(), it->second.end());
  return out;
}

std::vector<Operator*> all_operators(bool hidden) {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  std::vector<Operator*> out = r.operators;
  if (hidden) out.insert(out.end(), r.hidden.begin(), r.hidden.end());
  return out;
}

void (*warning_hook)(const std::string&) = nullptr;
void warn(const std::string& message) {
  if (warning_hook) warning_hook(message);
  else std::fprintf(stderr, "facula: warning: %s\n", message.c_str());
}
std::atomic<bool> warn_always = false;  // of warn_once.h

}  // namespace fc
