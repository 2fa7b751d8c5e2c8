// SPDX-License-Identifier: Apache-2.0
// An operator: its schema, its kernels per device, and what the layers need to know of it. Operators live for ever
// at one address, so a found reference may be kept. Tables are filled at start-up and by libraries loaded later;
// readers take no lock.
#pragma once
#include "dispatch/layers.h"
#include "dispatch/schema.h"

namespace fc {

// The one calling convention: borrowed arguments in schema order (defaults filled in), results written to slots.
// `context` is what was given at registration (a table row, a plugin's function).
using KernelFn = void (*)(void* context, const Operator& op, const Arg* args, Value* results);
// The C++ types of a wrapped function (call.h), compared with the schema when the kernel is registered.
struct Signature {
  std::span<const FlatType> parameters, results;
};
struct Kernel {
  KernelFn fn = nullptr;
  void* context = nullptr;
  const Signature* signature = nullptr;  // null: takes its arguments as they come
  // A device's kernel may come while others call (Operator::set_kernel): what is seen with it is whole.
  explicit operator bool() const { return __atomic_load_n(&fn, __ATOMIC_ACQUIRE) != nullptr; }
};

struct GradRule;  // define/rule.h

enum class Autocast : uint8_t { None, Lower, Float32, Promote };  // cast class under autocast
// Whether zeros give zeros, so that of a sparse tensor the values alone are computed; what is linear need not
// add up repeated entries before.
enum class KeepsZero : uint8_t { No, Linear, Function };

// Which tensors of a call may be elsewhere than the others (checks.h).
enum class Devices : uint8_t {
  Same,     // none
  Numbers,  // those on the CPU that have no dimensions
  Any,      // the kernel looks itself
};
// What becomes of the memory of arguments that the schema marks as written (checks.h).
enum class Writes : uint8_t {
  Elements,  // each gets a value of its own, so none may be another's place or lie in an input
  Apart,     // the same, and not even exactly in an input's place: elements are read that were written already
  FromSelf,  // the same but for self: it is what the results start from
  OneValue,  // all that are written get the same value
  Geometry,  // nothing: only sizes, strides or the storage change
};

// What a call does to memory, as far as its schema does not say: bits are positions of arguments. Value profilers rest
// on it (observe/values); tests/ops/test_memory.py checks it for every row by filling memory with two poisons.
struct MemoryFacts {
  uint64_t overwritten = 0;  // written without being read: what was there has no influence
  uint64_t partial = 0;      // written, but some elements may stay as they are; which ones, the other arguments say
  uint64_t unread = 0;       // only sizes, strides, type and device are looked at
  bool unwritten = false;    // nobody wrote the results' elements (of resize_: those that came): whatever was there
};

// What type out= may have; as in PyTorch, where it depends on how the operator is built.
enum class OutType : uint8_t {
  Exact,     // the result's own
  Castable,  // one that the result can be cast to
  Chosen,    // any but bool: unless dtype= says another, the operator computes in it
};

// How the types of a pointwise operator's operands become that of its result.
enum class Promote : uint8_t {
  Same,       // computed and returned in the promoted type
  Float,      // integers become the default float type
  Compare,    // computed in the promoted type, returns bool
  Predicate,  // unary test: computed in the input's type, returns bool
  Real,       // abs, angle, real, imag: complex gives its real type
  RealFloat,  // the same, integers become the default float type
};
// What a pointwise operator asks of a device: one map of its first arguments, with the next ones as parameters.
struct MapFacts {
  int16_t opcode = -1;  // -1: it is no single map
  uint8_t inputs = 0, params = 0;
  Promote promote = Promote::Same;
};
// How many floating-point operations a call takes, from the shapes of its arguments. A function of a number is one.
using FlopFormula = int64_t (*)(const Arg* args);

class Operator {
 public:
  // A hidden one is TorchScript's alone: it takes numbers, strings, lists and dicts, has one kernel (all_devices) that
  // is called without layers, and is not among those that Python sees.
  static Operator* make(Schema schema, bool hidden = false);
  Operator(const Operator&) = delete;

  const Schema& schema() const { return schema_; }
  const std::string& name() const { return full_name_; }  // "aten::add.Tensor"
  size_t num_args() const { return num_args_; }
  size_t num_results() const { return num_results_; }

  // Runs the call through the layers. args: num_args() entries; results: num_results() empty slots.
  void call(const Arg* args, Value* results) const {
    LayerSet set = __atomic_load_n(&layers_, __ATOMIC_RELAXED) | thread_state().include | argument_layers(args);
    set &= ~thread_state().exclude;
    if (set == 0) [[likely]]
      run_kernel(args, results);
    else redispatch(*this, set, args, results);
  }
  LayerSet argument_layers(const Arg* args) const {  // of the tensors among them
    LayerSet set = 0;
    for (uint8_t i : tensor_args_) {
      const Arg& a = args[i];
      if (a.is_tensor()) {
        if (const Tensor& t = a.tensor(); t.defined()) set |= t.impl().layers();
      } else if (a.is_tensor_list()) {
        set |= list_layers(a);
      }
    }
    return set;
  }
  // Picks the device's kernel, or decomposes, or falls back, or throws NotImplementedError. What a kernel writes is its
  // own or was counted by the layer above, so operators that it calls count no versions and track no views.
  void run_kernel(const Arg* args, Value* results) const;
  // The same without the device's own kernel, for one that declines a call.
  void run_without_kernel(int device_type, const Arg* args, Value* results) const;
  void run_unsupported(const Arg* args, Value* results) const;    // after a kernel that threw Unsupported
  bool try_decomposition(const Arg* args, Value* results) const;  // false: there is none, or the device cannot

  // By its formula; a map takes one per element, everything else none: it moves data, or calls what counts itself.
  int64_t count_flops(const Arg* args) const;

  std::span<const uint8_t> tensor_args() const { return tensor_args_; }
  std::span<const uint8_t> written_args() const { return written_args_; }
  size_t viewed_arg() const { return viewed_arg_; }  // of a view operator: what its results are views of
  int pick_device(const Arg* args) const;            // the device type whose kernel runs
  Path planned_path(const Arg* args) const;          // what run_kernel will try first
  const Kernel& kernel(int device_type) const { return hidden_ ? all_devices_ : kernels_[device_type]; }
  bool is_hidden() const { return hidden_; }

  // --- registration (not on the call path). Throws if the kernel is a function of other types than the schema's.
  // A device's first kernel may be set while other threads call; to change one takes a pause (core/use.h).
  void set_kernel(int device_type, Kernel k);
  void set_all_devices(Kernel k);  // a kernel that works on every device through dispatch/family_table.h
  void set_composite(Kernel k);    // written in other operators, expands above autograd
  void set_decomposition(Kernel k);
  void set_autograd(Kernel k);  // called in place of the autograd layer: records what it wants, then goes on below
  bool has_kernel() const { return own_kernels_ || composite_ || all_devices_ || decomposition_; }
  const Kernel& composite() const { return composite_; }
  const Kernel& all_devices() const { return all_devices_; }
  const Kernel& decomposition() const { return decomposition_; }
  const Kernel& autograd() const { return autograd_; }

  const GradRule* grad = nullptr;
  const char* node = nullptr;  // what autograd calls a call of it; null: <Name>Backward0
  const char* doc = nullptr;   // one sentence, for help
  MapFacts map;
  FlopFormula flops = nullptr;
  bool differentiable = true;                // false: results never carry a gradient (comparisons, argmax, factories)
  size_t differentiable_results = SIZE_MAX;  // of several results only the first so many do: the others are statistics
  uint64_t constants = 0;                    // bits of arguments that may not require a gradient
  bool random = false;                       // draws random numbers
  Devices devices = Devices::Same;
  Writes writes = Writes::Elements;
  bool may_repeat = false;  // writes to what has several elements in one place: warns, as PyTorch does
  MemoryFacts memory;
  OutType out_type = OutType::Castable;  // of an out= form
  Autocast autocast = Autocast::None, cpu_autocast = Autocast::None;
  KeepsZero keeps_zero = KeepsZero::No;  // in its first argument, the others being numbers
  bool foreach = false;                  // has forms that map it over lists
  bool takes_numbers = false;            // numbers may stand for tensors where no overload fits otherwise
  bool view_copy = false;                // has a form whose results are copies
  bool python_hidden = false;            // no torch.xxx function or method, only torch.ops.aten.xxx
  const Operator* functional = nullptr;  // of an in-place or out= form: the operator without side effect
  bool is_in_place = false, is_out = false, is_view = false;

 private:
  friend void set_process_layers(LayerSet bits, bool on);
  friend Operator& define(std::string_view schema);
  Operator(Schema schema, bool hidden);
  static LayerSet list_layers(const Arg& a);
  const Kernel& checked(const Kernel& k) const;
  void set_own_layers(LayerSet layers);

  Schema schema_;
  std::string full_name_;
  size_t num_args_, num_results_;
  std::vector<uint8_t> tensor_args_;   // positions of tensors and lists of tensors
  std::vector<uint8_t> written_args_;  // those of them that the schema marks with !
  size_t viewed_arg_ = 0;
  int device_arg_ = -1;
  LayerSet own_layers_ = 0;
  LayerSet layers_ = 0;       // its own and the process's
  bool own_kernels_ = false;  // some device has one
  bool hidden_ = false;
  Kernel composite_, all_devices_, decomposition_, autograd_;
  Kernel kernels_[];  // one for each type of device, of a hidden one none: they would be half a megabyte
};

// --- the registry
Operator& define(std::string_view schema);                 // throws if the name exists
Operator& define_hidden(std::string_view schema);          // once, when TorchScript is first used
Operator* find_operator(std::string_view full_name);       // null if unknown
const Operator& get_operator(std::string_view full_name);  // throws
const Operator& get_operator(std::string_view full_name, size_t args,
                             size_t results);  // throws unless it has that many
// All overloads of a base name ("aten::add"), in order of definition, hidden ones last if asked for.
std::vector<Operator*> overloads(std::string_view base_name, bool hidden = false);
std::vector<Operator*> all_operators(bool hidden = false);
void hold_registry_at_forks();  // once, at start-up: the child inherits no lock that another thread held

// --- fallback to the CPU, for devices without a kernel
enum class FallbackMode : uint8_t { Count, Warn, Error };
void set_fallback_mode(FallbackMode mode);
FallbackMode fallback_mode();
struct FallbackCount {
  std::string op;
  int device_type;
  uint64_t count;
};
std::vector<FallbackCount> fallback_counts();
void reset_fallback_counts();
void run_on_cpu(const Operator& op, int device_type, const Arg* args, Value* results);
void count_fallback(const Operator& op, int device_type);  // for kernels that go to the CPU themselves; may throw

void warn(const std::string& message);  // to stderr, or to Python's warnings once the module is loaded
extern void (*warning_hook)(const std::string& message);

}  // namespace fc
