// SPDX-License-Identifier: Apache-2.0
// Whole operators: a kernel's parameters take the operator's results, then its arguments, in order. What does not
// fit (another
// element type, an absent tensor) declines the call, and the host goes another way; a launch by name says why instead.
// Kernels of the port have no row: their arguments are packed by the types that HB_EMUL_REG_KERNEL names.
#include <cstring>
#include <deque>

#include "plugin.h"

namespace hammerblade {

// One call, on its way to one kernel.
struct HammerBlade::Binding {
  const fc_value* args;
  int n_args;
  fc_value* results;
  int n_results;
  hb::Call call = {};
  Packet packet = {};
  std::string why = {};  // it does not fit
  bool nothing = true;   // no result has elements
  bool fault = false;
  uint64_t bytes = 0;
  struct Back {  // a result that was computed without gaps
    fc_tensor to, from;
  };
  std::vector<Back> back = {};
  std::deque<std::vector<int64_t>> strides = {};
};

namespace {

bool number_of(const fc_value& v, fc_number& n) {
  switch (v.tag) {
    case FC_TAG_BOOL:
    case FC_TAG_INT:
    case FC_TAG_DTYPE: n = {1, 0, v.u.i, static_cast<double>(v.u.i), 0}; return true;
    case FC_TAG_DOUBLE: n = {2, 0, 0, v.u.d, 0}; return true;
    case FC_TAG_NUMBER: n = *v.u.number; return n.category != 3;
    default: return false;
  }
}

hb::Call::Argument seen(const fc_value& v) {
  hb::Call::Argument a{v.tag != FC_TAG_NONE, 0, nullptr, 0};
  if (fc_number n; number_of(v, n)) a.number = fb::number<double>(n);
  if (v.tag == FC_TAG_INTS) a.list = v.u.ints, a.n = v.n;
  if (v.tag == FC_TAG_TENSOR && v.u.tensor) a.list = v.u.tensor->sizes, a.n = v.u.tensor->ndim;
  return a;
}

const fc_tensor* tensor_of(const fc_value& v) { return v.tag == FC_TAG_TENSOR ? v.u.tensor : nullptr; }

fc_copy copy_of(const fc_tensor& to, const fc_tensor& from) {
  fc_copy k{sizeof k, to.ndim, to.sizes, {}, {}};
  k.dst = {to.data, to.strides, to.dtype, 0, {}};
  k.src = {from.data, from.strides, from.dtype, 0, {}};
  return k;
}

}  // namespace

bool HammerBlade::bind(fc_context& c, const Kernel& kernel, Binding& b) {
  const hb::Row& row = *kernel.row;
  int result = 0, arg = 0;
  auto no = [&](const std::string& why) {
    b.why = why;
    return false;
  };
  auto dense = [&](const fc_tensor& t) {
    fc_tensor made = t;
    std::vector<int64_t>& strides = b.strides.emplace_back(static_cast<size_t>(t.ndim));
    int64_t stride = item_size(t.dtype);
    for (int d = t.ndim; d-- > 0;) {
      strides[static_cast<size_t>(d)] = stride;
      stride *= t.sizes[d];
    }
    made.strides = strides.data();
    made.data = workspace(c, static_cast<size_t>(stride));
    return made;
  };
  for (int i = 0; i < row.n_parameters; ++i) {
    const hb::Parameter& p = row.parameters[i];
    const std::string place = "argument " + std::to_string(i) + " of " + kernel.name;
    const bool from_results = p.kind == hb::kOut && b.results;
    if (p.kind == hb::kFault) {
      b.packet.word(fault());
      b.fault = true;
      continue;
    }
    if (p.kind == hb::kNumbers && arg == b.n_args) {
      b.packet.scalar(nullptr, 0);
      continue;
    }
    if (from_results ? result == b.n_results : arg == b.n_args)
      return no(kernel.name + " takes " + std::to_string(row.n_parameters) + " arguments, but was given " +
                std::to_string(b.n_args));
    const fc_value* given = from_results ? &b.results[result++] : &b.args[arg++];
    fc_value made{FC_TAG_TENSOR, 0, {}};
    fc_tensor memory;
    if (given->tag == FC_TAG_UNMADE) {
      if (!row.sizes)
        return no(place +
                  " has a size that only the operator knows: torch.library.register_fake says it to the host, "
                  "HB_KERNEL_SIZED to the device");
      int64_t sizes[kMaxDims];
      const int ndim = row.sizes(b.call, result - 1, sizes);
      memory = make_result(c, result - 1, p.dtype, ndim, sizes);
      made.u.tensor = &memory;
      given = &made;
    }
    const fc_value& v = *given;
    switch (p.kind) {
      case hb::kOut:
      case hb::kIn:
      case hb::kMaybe:
      case hb::kChanged: {
        const fc_tensor* t = tensor_of(v);
        if (!t || (!t->data && t->ndim == 0)) {
          if (p.kind == hb::kIn || (v.tag != FC_TAG_NONE && v.tag != FC_TAG_TENSOR)) return no(place + " is a tensor");
          pack_absent(b.packet);
          break;
        }
        if (t->dtype != p.dtype)
          return no(place + " is a tensor of " + type_name(p.dtype) + ", but was given one of " + type_name(t->dtype));
        if (t->ndim > kMaxDims) return no(place + " has at most 8 dimensions");
        const bool writes = p.kind == hb::kOut || p.kind == hb::kChanged;
        const int64_t n = elements(*t);
        if (writes) b.nothing &= n == 0;
        b.bytes += static_cast<uint64_t>(n * item_size(t->dtype));
        fc_tensor here = *t;
        if (p.dense && n && !contiguous(*t)) {
          here = dense(*t);
          if (writes) b.back.push_back({*t, here});
          else copy(c, copy_of(here, *t));
        }
        pack(b.packet, view_of(here));
        break;
      }
      case hb::kList:
        if (v.tag != FC_TAG_TENSORS) return no(place + " is a list of tensors");
        for (int k = 0; k < v.n; ++k)
          if (v.u.tensor[k].dtype != p.dtype || v.u.tensor[k].ndim > kMaxDims)
            return no(place + " is a list of tensors of " + type_name(p.dtype));
        pack_list(b.packet, v.u.tensor, v.n);
        break;
      case hb::kInts:
        if (v.tag != FC_TAG_INTS) return no(place + " is a list of integers");
        pack_ints(b.packet, v.u.ints, v.n);
        break;
      case hb::kNumber:
      case hb::kNumbers: {
        fc_number n;
        if (!number_of(v, n)) return no(place + " is a number");
        pack_number(b.packet, p.dtype, n);
        break;
      }
      default: b.packet.word(0); break;
    }
  }
  if (arg != b.n_args)
    return no(kernel.name + " takes " + std::to_string(arg) + " arguments, but was given " + std::to_string(b.n_args));
  return true;
}

void HammerBlade::run(fc_context& c, const Kernel& kernel, Binding& b) {
  if (b.fault) {
    std::lock_guard lock(state().indexing);
    launch(c, kernel, b.packet, b.bytes);
    check_fault();
  } else {
    launch(c, kernel, b.packet, b.bytes);
  }
  for (const Binding::Back& back : b.back) copy(c, copy_of(back.to, back.from));
}

namespace {

// The port's kernels: types as they were named, "hb_tensor_t*, float*".
std::vector<std::string> types_of(const std::string& signature) {
  std::vector<std::string> types;
  std::string one;
  for (char c : signature + ",") {
    if (c == ' ') continue;
    if (c == ',') {
      if (!one.empty()) types.push_back(one);
      one.clear();
    } else {
      one += c;
    }
  }
  return types;
}

int port_dtype(const std::string& kernel) {  // by the suffix of its name
  const struct {
    const char* suffix;
    int dtype;
  } known[] = {
      {"_Int", FC_INT32}, {"_Long", FC_INT64}, {"_Double", FC_FLOAT64}, {"_Bool", FC_BOOL}, {"_Byte", FC_UINT8}};
  for (auto& k : known)
    if (kernel.ends_with(k.suffix)) return k.dtype;
  return FC_FLOAT32;
}

int scalar_dtype(const std::string& type) {
  if (type.find("float") != std::string::npos) return FC_FLOAT32;
  if (type.find("double") != std::string::npos) return FC_FLOAT64;
  if (type.find("int64") != std::string::npos || type.find("longlong") != std::string::npos) return FC_INT64;
  if (type.find("bool") != std::string::npos) return FC_BOOL;
  return FC_INT32;
}

// Packs one value as the port does; false: the type is another.
bool pack_port(Packet& p, const fc_value& v, const std::string& type) {
  const bool tensor = type.find("hb_tensor_t") != std::string::npos,
             vector = type.find("hb_vector_t") != std::string::npos;
  if (v.tag == FC_TAG_TENSOR && v.u.tensor) return tensor ? pack_typed(p, *v.u.tensor), true : false;
  if (v.tag == FC_TAG_NONE) return tensor ? pack_absent(p), true : false;
  if (v.tag == FC_TAG_INTS) return vector ? pack_ints(p, v.u.ints, v.n), true : false;
  if (v.tag == FC_TAG_TENSORS) {
    if (!tensor) return false;
    p.tensor_list(static_cast<size_t>(v.n));
    for (int i = 0; i < v.n; ++i) pack_typed(p, v.u.tensor[i]);
    return true;
  }
  fc_number n;
  if (tensor || vector || !number_of(v, n)) return false;
  const int dtype = scalar_dtype(type);
  if (type.ends_with("*")) pack_number(p, dtype, n);
  else if (dtype == FC_FLOAT32) p.word(__builtin_bit_cast(uint32_t, fb::number<float>(n)));
  else p.word(static_cast<uint32_t>(fb::number<int64_t>(n)));
  return true;
}

}  // namespace

bool HammerBlade::bind_port(const Kernel& kernel, Binding& b) {
  const auto types = types_of(kernel.signature);
  const int n = b.n_results + b.n_args;
  if (static_cast<size_t>(n) != types.size()) {
    b.why = "it takes (" + kernel.signature + ")";
    return false;
  }
  for (int i = 0; i < n; ++i) {
    const fc_value& v = i < b.n_results ? b.results[i] : b.args[i - b.n_results];
    const std::string place = "argument " + std::to_string(i) + " of " + kernel.name;
    if (const fc_tensor* t = tensor_of(v)) {
      if (elements(*t) == 0) return false;  // nothing to be told of
      if (t->dtype != port_dtype(kernel.name)) {
        b.why = place + " is a tensor of " + type_name(port_dtype(kernel.name)) +
                " by its name, but was given one of " + type_name(t->dtype);
        return false;
      }
    }
    if (!pack_port(b.packet, v, types[static_cast<size_t>(i)])) {
      b.why = place + " is a " + types[static_cast<size_t>(i)];
      return false;
    }
  }
  return true;
}

void HammerBlade::declined(const char* op, const Kernel& kernel, const std::string& why) {
  const std::string text =
      "hammerblade: the kernel " + kernel.name + " does not do this call of " + op + ", which goes another way: " + why;
  {
    std::lock_guard lock(state().told_lock);
    if (!state().told.insert(text).second) return;
  }
  host.log(FC_LOG_WARNING, text.c_str());
}

bool HammerBlade::run_operator(fc_context& c, const char* name, const fc_value* args, int n_args, fc_value* results,
                               int n_results) {
  const auto* kernels = library().find_operator(name);
  if (!kernels) return false;
  std::vector<hb::Call::Argument> arguments;
  for (int i = 0; i < n_args; ++i) arguments.push_back(seen(args[i]));
  const hb::Call seen_call{arguments.data(), n_args};
  for (const Kernel* kernel : *kernels) {
    Binding b{args, n_args, results, n_results, seen_call};
    if (!kernel->row) {
      if (!bind_port(*kernel, b)) {
        if (!b.why.empty()) declined(name, *kernel, b.why);
        continue;
      }
      launch(c, *kernel, b.packet);
      return true;
    }
    if (kernel->row->accepts && !kernel->row->accepts(seen_call)) continue;
    if (!bind(c, *kernel, b)) {
      if (kernel->name == library().bound(name) || strncmp(name, "aten::", 6) != 0) declined(name, *kernel, b.why);
      continue;
    }
    bool empty = false;  // an argument without elements: the host knows what becomes of it, unless the kernel does
    for (int i = 0; i < n_args; ++i)
      if (const fc_tensor* t = tensor_of(args[i])) empty |= elements(*t) == 0 && t->ndim > 0;
    if (empty && !b.nothing && !kernel->row->sizes) continue;
    if (!b.nothing) run(c, *kernel, b);
    return true;
  }
  return false;
}

void HammerBlade::launch_by_name(fc_context& c, const fc_value* args, int n_args) {
  if (n_args < 1 || args[0].tag != FC_TAG_STRING) fb::fail("launch takes a kernel's name, then its arguments");
  const Kernel* kernel = library().find(std::string(args[0].u.text));
  if (!kernel) {
    device().kernel_signature(args[0].u.text);  // says what there is
    fb::fail("there is no kernel " + std::string(args[0].u.text));
  }
  Binding b{args + 1, n_args - 1, nullptr, 0};
  if (kernel->row) {
    if (!bind(c, *kernel, b)) fb::fail(b.why);
    return run(c, *kernel, b);
  }
  const auto types = types_of(kernel->signature);
  if (static_cast<size_t>(b.n_args) != types.size())
    fb::fail(kernel->name + " takes " + std::to_string(types.size()) + " arguments (" + kernel->signature +
             "), but was given " + std::to_string(b.n_args));
  for (int i = 0; i < b.n_args; ++i)
    if (!pack_port(b.packet, b.args[i], types[static_cast<size_t>(i)]))
      fb::fail("argument " + std::to_string(i) + " of " + kernel->name + " is a " + types[static_cast<size_t>(i)]);
  launch(c, *kernel, b.packet);
}

}  // namespace hammerblade
