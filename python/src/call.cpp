// SPDX-License-Identifier: Apache-2.0
// Calling operators from Python: torch.add, Tensor.add and torch.ops.aten.add.Tensor are objects of the types here.
// A call matches its arguments against the schemas of the operator's overloads, first fit wins, straight into the
// array of borrowed arguments that the dispatcher takes: no tuple, no boxing, no copy on the way.
#include "py.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <unordered_map>

#include "autograd/autograd.h"
#include "call.h"
#include "core/mapped_range.h"
#include "define/calls.h"
#include "dispatch/operator.h"
#include "dispatch/sparse.h"
#include "overload.h"
#include "tracing.h"

namespace fc::py {
namespace {

constexpr size_t kMaxArgs = 64;  // as many as a schema may have

// Worth giving other Python threads a turn: many elements, or a device that works by itself.
bool elsewhere(Device d) { return !d.is_cpu() && !d.is_meta(); }
bool takes_long(const Tensor& t) { return t.defined() && (t.numel() > 1024 || elsewhere(t.device())); }

// Room for what arguments borrow from: converted numbers, lists. Only what a call uses is made: making all of it takes
// longer than a small call.
struct Scratch {
  Scratch() {}
  ~Scratch() {
    for (int i = 0; i < made_ints; ++i) ints[i].~Dims();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  static constexpr int kMaxInts = 6;  // without the heap
  Dims& next_ints() {                 // counts as used when n_ints is raised
    if (n_ints >= kMaxInts) return next(lists().ints, n_ints - kMaxInts);
    if (n_ints == made_ints) new (&ints[made_ints++]) Dims;
    ints[n_ints].resize(0);
    return ints[n_ints];
  }
  // A list of a kind, empty, that no list before the n-th uses. Lists stay where they are while more are made.
  template <class List>
  static List& next(std::deque<List>& made, int n) {
    while (made.size() <= static_cast<size_t>(n)) made.emplace_back();
    List& list = made[static_cast<size_t>(n)];
    list.resize(0);
    return list;
  }

  union {
    Arg args[kMaxArgs];
  };
  union {
    Scalar scalars[kMaxArgs];
  };
  union {
    Dims ints[kMaxInts];
  };
  struct Lists {
    std::deque<Dims> ints;
    std::deque<std::vector<Tensor>> tensors;
    std::deque<std::vector<double>> doubles;
    std::deque<std::basic_string<bool>> bools;
    std::deque<std::vector<Scalar>> scalars;
  };
  std::optional<Lists> rare;
  Lists& lists() { return rare ? *rare : rare.emplace(); }
  int n_ints = 0, made_ints = 0, n_lists = 0;  // n_lists: of all other kinds together
  bool big = false;                            // worth giving other Python threads a turn
  bool requires_grad = false;                  // of a factory
  bool numbers = false;                        // stand for tensors where they are given for those
  Layout layout = Layout::Strided;             // asked for: one of those picks the kernel, as a tensor of it would
  std::optional<DType> out_dtype;              // given beside a factory's out=
  std::optional<Device> out_device;
};

struct FunctionObject {
  PyObject_HEAD vectorcallfunc call;
  std::vector<OverloadInfo>* overloads;
  PyObject* name;         // "add"
  PyObject* result_type;  // named tuple class, or null
  bool method;
};
PyTypeObject *function_type, *method_type;
PyObject* functions = nullptr;  // name -> function
PyObject* methods = nullptr;    // name -> method
PyObject* hidden = nullptr;     // name -> function, for what only torch.ops and torch.nn.functional show

FunctionObject* fn(PyObject* o) { return reinterpret_cast<FunctionObject*>(o); }
Callable callable(const FunctionObject* f) { return {utf8(f->name), *f->overloads, f->method}; }

// --- one argument
bool is_tensor_like_number(PyObject* o) { return is_tensor(o) && tensor_of(o).dim() == 0; }

// An item of a list of sizes or dimensions.
int64_t list_item(PyObject* o, size_t i) {
  try {
    return to_int(o);
  } catch (const ValueError& e) {
    raise<TypeError>("failed to unpack the object at pos ", i + 1, " with error \"", e.what(), "\"");
  }
}

// A tensor stands for a number: a trace keeps the tensor. `out` is one of the call's arguments.
const Tensor& as_number(PyObject* o, const Scratch& s, const Arg& out) {
  if (tracing()) [[unlikely]]
    note_traced_number(static_cast<size_t>(&out - s.args), o);
  return tensor_of(o);
}
int64_t integer_of(PyObject* o, const Scratch& s, const Arg& out) {
  if (!PyLong_Check(o) && is_tensor(o)) as_number(o, s, out);
  return to_int(o);
}
int64_t list_item(PyObject* o, size_t i, const Scratch& s, const Arg& out) {
  if (tracing()) [[unlikely]]
    note_traced_item(static_cast<size_t>(&out - s.args), i, o);
  return list_item(o, i);
}

// A list may change while its items are converted: __index__ is anyone's code. So each item is owned, and the length
// asked for anew.
Own list_item_at(PyObject* list, Py_ssize_t i) {
  return Own(i < PySequence_Fast_GET_SIZE(list) ? Py_NewRef(PySequence_Fast_GET_ITEM(list, i)) : nullptr);
}

bool convert_ints(PyObject* o, const FlatType& type, Scratch& s, Arg& out) {
  if (PyLong_Check(o) || (PyIndex_Check(o) && !PySequence_Check(o) && !is_tensor(o)) ||
      (is_tensor_like_number(o) && is_integral(tensor_of(o).dtype(), false))) {
    if (type.length == 0 || PyBool_Check(o)) return false;
    const int64_t number = to_int(o);
    Dims& v = s.next_ints();
    v.resize(static_cast<size_t>(type.length));
    for (int64_t& d : v) d = number;
    ++s.n_ints;
    out = v;
    return true;
  }
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  Dims& v = s.next_ints();
  for (Py_ssize_t i = 0; Own item = list_item_at(o, i); ++i) {
    PyObject* number = item.get();
    if (PyLong_Check(number) ? i > 0 || !PyBool_Check(number)  // as PyTorch, which looks at the first item
        : is_tensor(number)  ? tensor_of(number).numel() == 1 && is_integral(tensor_of(number).dtype(), false)
                             : PyIndex_Check(number) != 0)
      v.push_back(list_item(number, static_cast<size_t>(i), s, out));
    else return false;
  }
  ++s.n_ints;
  out = v;
  return true;
}

bool convert_tensors(PyObject* o, const FlatType& type, Scratch& s, Arg& out) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  auto& list = Scratch::next(s.lists().tensors, s.n_lists);
  for (Py_ssize_t i = 0; Own item = list_item_at(o, i); ++i) {
    if (is_tensor(item.get())) list.push_back(tensor_of(item.get()));
    else if (item.get() == Py_None && type.optional_item) list.emplace_back();
    else return false;
    s.big |= takes_long(list.back());
  }
  ++s.n_lists;
  out = list;
  return true;
}

// Lists of other kinds: `read` appends an item, or says that it does not fit.
template <class List, class F>
bool convert_list(PyObject* o, Scratch& s, std::deque<List>& made, Arg& out, F read) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  List& list = Scratch::next(made, s.n_lists);
  for (Py_ssize_t i = 0; Own item = list_item_at(o, i); ++i)
    if (!read(list, item.get())) return false;
  ++s.n_lists;
  out = std::span(std::as_const(list));
  return true;
}

bool convert(PyObject* o, const FlatType& type, Scratch& s, Arg& out, Scalar& number) {
  if (o == Py_None) {
    if (!type.optional) return type.kind == Kind::Generator;
    out = Arg();
    return true;
  }
  if (type.list) {
    switch (type.kind) {
      case Kind::Int: return convert_ints(o, type, s, out);
      case Kind::Tensor: return convert_tensors(o, type, s, out);
      case Kind::Float:
        return convert_list(o, s, s.lists().doubles, out, [](auto& list, PyObject* item) {
          if (!is_number(item)) return false;
          list.push_back(to_scalar(item).to_double());
          return true;
        });
      case Kind::Bool:
        return convert_list(o, s, s.lists().bools, out, [](auto& list, PyObject* item) {
          if (PyBool_Check(item)) list += item == Py_True;
          return PyBool_Check(item) != 0;
        });
      case Kind::Scalar:
        return convert_list(o, s, s.lists().scalars, out, [](auto& list, PyObject* item) {
          if (!is_number(item)) return false;
          list.push_back(to_scalar(item));
          return true;
        });
      default: return false;
    }
  }
  switch (type.kind) {
    case Kind::Tensor:
      if (!is_tensor(o)) return false;
      out = tensor_of(o);
      s.big |= takes_long(tensor_of(o));
      return true;
    case Kind::Scalar:
      if (is_number(o)) number = to_scalar(o);
      else if (is_tensor_like_number(o) && !autograd::requires_grad(tensor_of(o)))
        number = call<"aten::_local_scalar_dense", Scalar>(as_number(o, s, out));
      else return false;
      out = number;
      return true;
    case Kind::Int:
      if (PyBool_Check(o) || PyFloat_Check(o)) return false;
      if (!PyLong_Check(o) && !(is_tensor(o) ? tensor_of(o).numel() == 1 && is_integral(tensor_of(o).dtype(), false)
                                             : PyIndex_Check(o) != 0))
        return false;
      out = integer_of(o, s, out);
      return true;
    case Kind::Float:
      if (is_number(o)) {
        Scalar v = to_scalar(o);
        if (v.is_complex()) return false;
        out = v.to_double();
      } else if (is_tensor_like_number(o) && !autograd::requires_grad(tensor_of(o))) {
        out = call<"aten::_local_scalar_dense", Scalar>(as_number(o, s, out)).to_double();
      } else {
        return false;
      }
      return true;
    case Kind::Bool:
      if (PyBool_Check(o)) out = o == Py_True;
      else if (std::strncmp(Py_TYPE(o)->tp_name, "numpy.bool", 10) == 0) {
        const int yes = PyObject_IsTrue(o);
        check(yes);
        out = yes == 1;
      } else {
        return false;
      }
      return true;
    case Kind::Str:
      if (!PyUnicode_Check(o)) return false;
      out = utf8(o);
      return true;
    case Kind::Device:
      if (!is_device(o)) return false;
      out = to_device(o);
      s.big |= elsewhere(out.device());
      return true;
    case Kind::DType:
      if (!is_dtype(o)) return false;
      out = to_dtype(o);
      return true;
    case Kind::Layout:
      if (!is_layout(o)) return false;
      out = to_layout(o);
      s.layout = to_layout(o);
      return true;
    case Kind::MemoryFormat:
      if (!is_memory_format(o)) return false;
      out = to_memory_format(o);
      return true;
    case Kind::Generator:
      if (Generator* g = to_generator(o)) {
        out = g;
        return true;
      }
      return false;
    case Kind::Any: return false;
  }
  return false;
}

bool convert_number(PyObject* o, const FlatType& type, Scratch& s, Arg& out) {
  if (type.kind != Kind::Tensor || type.list || !is_number(o)) return false;
  auto& list = Scratch::next(s.lists().tensors, s.n_lists++);
  list.push_back(wrapped_number(to_scalar(o)));
  out = list.front();
  return true;
}

// --- one overload
// Options of a factory that is given out=, which has them already.
bool convert_option(PyObject* key, PyObject* value, Scratch& s) {
  auto is = [&](const char* name) { return PyUnicode_CompareWithASCIIString(key, name) == 0; };
  if (is("requires_grad") && PyBool_Check(value)) s.requires_grad = value == Py_True;
  else if (is("dtype") && (value == Py_None || is_dtype(value))) {
    if (value != Py_None) s.out_dtype = to_dtype(value);
  } else if (is("device") && (value == Py_None || is_device(value))) {
    if (value != Py_None) s.out_device = to_device(value);
  } else {
    return (is("layout") && (value == Py_None || is_layout(value))) ||
           (is("pin_memory") && (value == Py_None || PyBool_Check(value)));
  }
  return true;
}
void check_options(const Tensor& out, const Scratch& s) {
  FC_CHECK(!s.out_dtype || *s.out_dtype == out.dtype(), "dtype ", info(*s.out_dtype).legacy,
           " does not match dtype of out parameter (", info(out.dtype()).legacy, ")");
  FC_CHECK(!s.out_device || *s.out_device == out.device(), "device ", *s.out_device,
           " does not match device of out parameter (", out.device(), ")");
}

bool match(const OverloadInfo& o, bool method, PyObject* const* args, size_t n, PyObject* kwnames, Scratch& s,
           Misfit* why) {
  const ParameterInfo* params = o.parameters.data();
  const size_t total = o.op->num_args();
  s.n_ints = s.n_lists = 0;
  s.requires_grad = false;
  if (o.factory_out) s.out_dtype = {}, s.out_device = {};
  const auto fits = [&](PyObject* value, size_t i) {
    return convert(value, params[i].type, s, s.args[i], s.scalars[i]) ||
           (value == Py_None && params[i].none_is_default && (s.args[i] = params[i].default_value, true)) ||
           (s.numbers && i < o.positional && convert_number(value, params[i].type, s, s.args[i]));
  };
  uint64_t filled = 0;
  size_t given = n;
  bool varargs = method ? o.varargs_method : o.varargs_function;
  size_t list_at = method ? 1 : 0;
  if (varargs && n > list_at &&
      ((PyLong_Check(args[list_at]) && !PyBool_Check(args[list_at])) ||
       (is_tensor(args[list_at]) && tensor_of(args[list_at]).numel() == 1 &&
        is_integral(tensor_of(args[list_at]).dtype(), true)) ||
       (PyIndex_Check(args[list_at]) && !PyLong_Check(args[list_at]) && !is_tensor(args[list_at])))) {
    Dims& v = s.next_ints();
    ++s.n_ints;
    for (size_t i = list_at; i < n; ++i) {
      if (!PyLong_Check(args[i]) && !PyIndex_Check(args[i])) return false;
      v.push_back(list_item(args[i], i - list_at, s, s.args[list_at]));
    }
    s.args[list_at] = v;
    filled |= uint64_t{1} << list_at;
    given = list_at;
  }
  if (given > o.positional) {
    if (why) *why = {Misfit::TooMany, given, nullptr};
    return false;
  }
  for (size_t i = 0; i < given; ++i) {
    if (!fits(args[i], i)) {
      if (why) *why = {Misfit::Type, i, args[i]};
      return false;
    }
    filled |= uint64_t{1} << i;
  }
  if (kwnames) {
    Py_ssize_t n_kw = PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; k < n_kw; ++k) {
      PyObject* key = PyTuple_GET_ITEM(kwnames, k);
      PyObject* value = args[n + static_cast<size_t>(k)];
      size_t i = 0;
      while (i < total && params[i].name != key) ++i;
      if (i == total)  // not interned, or another spelling
        for (i = 0; i < total; ++i) {
          const std::string& name = o.op->schema().parameters[i].name;
          if (PyUnicode_Compare(params[i].name, key) == 0 ||
              (name == "self" &&
               (PyUnicode_CompareWithASCIIString(key, "self") == 0 || PyUnicode_CompareWithASCIIString(key, "a") == 0 ||
                PyUnicode_CompareWithASCIIString(key, "x") == 0 || PyUnicode_CompareWithASCIIString(key, "x1") == 0)) ||
              (name == "other" && PyUnicode_CompareWithASCIIString(key, "x2") == 0) ||
              (name == "dim" && PyUnicode_CompareWithASCIIString(key, "axis") == 0) ||
              (name == "keepdim" && PyUnicode_CompareWithASCIIString(key, "keepdims") == 0))
            break;
        }
      if (i == total) {
        if (o.factory && PyUnicode_CompareWithASCIIString(key, "requires_grad") == 0 && PyBool_Check(value)) {
          s.requires_grad = value == Py_True;
          continue;
        }
        if (o.factory_out && convert_option(key, value, s)) continue;
        if (value == Py_None && PyUnicode_CompareWithASCIIString(key, "out") == 0) continue;
        // out=(a, b): the results of an operator that has several.
        const size_t outs = o.op->is_out ? o.op->num_results() : 0;
        if (outs > 1 && PyUnicode_CompareWithASCIIString(key, "out") == 0 &&
            (PyTuple_Check(value) || PyList_Check(value)) &&
            static_cast<size_t>(PySequence_Fast_GET_SIZE(value)) == outs) {
          Arg given_outs;
          bool fit = convert_tensors(value, FlatType{}, s, given_outs) && given_outs.tensors().size() == outs;
          for (size_t j = 0; fit && j < outs; ++j) {
            const size_t at = total - outs + j;
            fit = !(filled >> at & 1);
            s.args[at] = given_outs.tensors()[j];
            filled |= uint64_t{1} << at;
          }
          if (fit) continue;
        }
        if (why) *why = {Misfit::Unknown, 0, key};
        return false;
      }
      if (filled >> i & 1) {
        if (why) *why = {Misfit::Twice, i, key};
        return false;
      }
      if (!fits(value, i)) {
        if (value == Py_None && params[i].has_default) continue;
        if (why) *why = {Misfit::Type, i, value};
        return false;
      }
      filled |= uint64_t{1} << i;
    }
  }
  for (size_t i = 0; i < total; ++i) {
    if (filled >> i & 1) continue;
    if (!params[i].has_default) {
      if (why) *why = {Misfit::Missing, i, nullptr};
      return false;
    }
    s.args[i] = params[i].default_value;
  }
  if (o.factory_out) check_options(s.args[total - 1].tensor(), s);
  return true;
}

// --- no overload fits
bool takes_numbers(const OverloadInfo& o) { return o.op->takes_numbers; }
bool takes_numbers(const Operator* op) { return op->takes_numbers; }
// Numbers may stand for tensors then, if a row says so: torch.mul(2, x), aten.add.Tensor(x, 1).
bool again_with_numbers(Scratch& s, const auto& overloads) {
  if (s.numbers || std::ranges::none_of(overloads, [](const auto& o) { return takes_numbers(o); })) return false;
  s.numbers = true;
  return true;
}

bool has_keyword(PyObject* kwnames, const char* name) {
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, k), name) == 0) return true;
  return false;
}

// Says what is wrong with the one form that the function has, or lists all of them.
[[noreturn]] void no_overload(const Callable& f, PyObject* const* args, size_t n, PyObject* kwnames) {
  const std::vector<Form> known = forms(f);
  if (known.size() == 1) {
    const OverloadInfo* meant = known.front().overload;
    if (has_keyword(kwnames, "out"))
      for (const OverloadInfo& o : f.overloads)
        if (is_out_form(o, *known.front().overload)) meant = &o;
    Scratch s;
    Misfit why;
    match(*meant, f.method, args, n, kwnames, s, &why);
    raise_misfit(f, *meant, why, n);
  }
  raise_no_form(f, known, args, n, kwnames);
}

// --- the call
// What numbers alone give is a tensor like any other, of the type that a tensor of the number has.
void settle(Value& result) {
  if (!result.is_tensor() || !result.tensor().impl().is_wrapped_number()) return;
  const DType t = result.tensor().dtype();
  Tensor settled = to_dtype(result.tensor(), is_complex(t)    ? complex_of(default_dtype())
                                             : is_floating(t) ? default_dtype()
                                                              : t);
  settled.impl().set_wrapped_number(false);
  result = Value(std::move(settled));
}

PyObject* results_of(FunctionObject* f, const Operator& op, Value* results, const Scratch& s) {
  size_t n = op.num_results();
  if (s.numbers) settle(results[0]);
  if (n == 1) {
    if (s.requires_grad) autograd::set_requires_grad(results[0].tensor(), true);
    return results[0].is_tensor() ? wrap(results[0].take_tensor()) : wrap(std::move(results[0]));
  }
  if (n == 0) Py_RETURN_NONE;
  Own tuple(check(PyTuple_New(static_cast<Py_ssize_t>(n))));
  for (size_t i = 0; i < n; ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), check(wrap(std::move(results[i]))));
  if (op.schema().returns[0].name.empty() || !f) return tuple.release();
  if (!f->result_type) f->result_type = make_result_type(op);
  return PyObject_CallFunctionObjArgs(f->result_type, tuple.get(), nullptr);
}

PyObject* run_into(Value* results, FunctionObject* f, const Operator& op, Scratch& s, const LayerSet* layers) {
  {
    const bool unlocked = s.big && op.writes != Writes::Geometry;  // which waits for uses of others (core/use.h)
    ReleaseGil release(unlocked, ReleaseGil::Kernels);
    UseScope use(unlocked);
    // A layer may have gone on with tensors of another device than it was given.
    if (layers)
      redispatch(op, *layers | (op.argument_layers(s.args) & (layer::Devices | layer::Sparse)), s.args, results);
    else if (s.layout == Layout::Strided) [[likely]] op.call(s.args, results);
    else call_for_layout(op, s.layout, s.args, results);
  }
  check_mapped_ranges();
  return results_of(f, op, results, s);
}
template <size_t room>
PyObject* run_with_room(FunctionObject* f, const Operator& op, Scratch& s, const LayerSet* layers) {
  Value results[room];
  return run_into(results, f, op, s, layers);
}
PyObject* run(FunctionObject* f, const OverloadInfo& o, Scratch& s, const LayerSet* layers = nullptr) {
  const Operator& op = *o.op;
  if (op.num_results() == 1) return run_with_room<1>(f, op, s, layers);
  if (op.num_results() <= 8) return run_with_room<8>(f, op, s, layers);
  std::vector<Value> results(op.num_results());
  return run_into(results.data(), f, op, s, layers);
}

// Does any argument want to handle the call itself (__torch_function__)?
bool overrides(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == tensor_class || type == &PyLong_Type || type == &PyFloat_Type || type == &PyTuple_Type ||
      type == &PyBool_Type || o == Py_None || type == &PyUnicode_Type)
    return false;
  return has_torch_function(o);
}
bool any_overrides(PyObject* const* args, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (Py_TYPE(args[i]) == tensor_class) continue;
    if (overrides(args[i])) return true;
    if (PyTuple_Check(args[i]) || PyList_Check(args[i]))
      for (Py_ssize_t k = 0; Own item = list_item_at(args[i], k); ++k)
        if (overrides(item.get())) return true;
  }
  return false;
}

// Which of the arguments by name is the list that an operator writes to.
size_t index_of_self(PyObject* kwnames) {
  size_t i = 0;
  while (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i)), "self") != 0 &&
         PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i)), "input") != 0)
    ++i;
  return i;
}

PyObject* vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    FunctionObject* f = fn(self);
    size_t n = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
    size_t all = n + (kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0);
    if (torch_function_mode_active() || any_overrides(args, all)) [[unlikely]] {
      if (PyObject* r = call_torch_function(self, args, n, kwnames)) return r;
    }
    Scratch s;
    do {
      for (const OverloadInfo& o : *f->overloads) {
        if (!match(o, f->method, args, n, kwnames, s, nullptr)) continue;
        if (!o.gives_list_back) [[likely]]
          return run(f, o, s);
        Own none(check(run(f, o, s)));
        return Py_NewRef(n > 0 ? args[0] : args[index_of_self(kwnames)]);
      }
    } while (again_with_numbers(s, *f->overloads));
    OldForm old;
    if (old.find(callable(f), args, n, kwnames)) {
      for (const OverloadInfo& o : *f->overloads) {
        if (!match(o, f->method, old.given.data(), old.positional, old.names.get(), s, nullptr)) continue;
        old.warn_once(callable(f), o);
        return run(f, o, s);
      }
    }
    no_overload(callable(f), args, n, kwnames);
  });
}

PyObject* descr_get(PyObject* self, PyObject* object, PyObject*) {
  if (!object) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

void function_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete fn(self)->overloads;
  Py_XDECREF(fn(self)->name);
  Py_XDECREF(fn(self)->result_type);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* function_repr(PyObject* self) {
  return PyUnicode_FromFormat(
      fn(self)->method ? "<method '%U' of 'torch._C.TensorBase' objects>" : "<built-in method %U of type object>",
      fn(self)->name);
}
PyObject* function_doc(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    std::string out;
    for (const Form& form : forms(callable(fn(self)))) out += str(utf8(fn(self)->name), form.signature, "\n");
    Own docs(check(PyImport_ImportModule("facula._docs")));
    Own text(check(PyObject_CallMethod(docs.get(), "docstring", "O", fn(self)->name)));
    if (text.get() != Py_None) out += str("\n", utf8(text.get()), "\n");
    out += "\n";
    for (const OverloadInfo& o : *fn(self)->overloads) out += str(to_string(o.op->schema()), "\n");
    return PyUnicode_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size()));
  });
}
PyObject* function_overloads(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Own list(check(PyList_New(0)));
    for (const OverloadInfo& o : *fn(self)->overloads) {
      Own name(
          check(PyUnicode_FromString(o.op->schema().overload.empty() ? "default" : o.op->schema().overload.c_str())));
      check(PyList_Append(list.get(), name.get()));
    }
    return list.release();
  });
}
PyObject* function_schemas(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    Own list(check(PyList_New(0)));
    for (const OverloadInfo& o : *fn(self)->overloads) {
      Own text(check(PyUnicode_FromString(to_string(o.op->schema()).c_str())));
      check(PyList_Append(list.get(), text.get()));
    }
    return list.release();
  });
}
PyObject* function_name(PyObject* self, void*) { return Py_NewRef(fn(self)->name); }
PyObject* function_module(PyObject*, void*) { return PyUnicode_FromString("facula"); }
PyObject* function_qualname(PyObject* self, void*) {
  return PyUnicode_FromFormat(fn(self)->method ? "TensorBase.%U" : "%U", fn(self)->name);
}
PyObject* function_reduce(PyObject* self, PyObject*) {  // facula.add, or what _tensor.py finds under this name
  return guarded([&]() -> PyObject* {
    if (!fn(self)->method) return Py_NewRef(fn(self)->name);
    Own module(check(PyImport_ImportModule("facula._tensor")));
    Own find(check(PyObject_GetAttrString(module.get(), "_find_method")));
    return Py_BuildValue("O(O)", find.get(), fn(self)->name);
  });
}
PyObject* function_signature(PyObject* self, void*) {  // one for all overloads, for inspect.signature
  return guarded([&]() -> PyObject* {
    Own module(check(PyImport_ImportModule("facula._docs")));
    const std::string base = fn(self)->overloads->front().op->schema().base_name();
    return PyObject_CallMethod(module.get(), "function_signature", "sO", base.c_str(),
                               fn(self)->method ? Py_True : Py_False);
  });
}
PyGetSetDef function_getset[] = {{"__doc__", function_doc, nullptr, nullptr, nullptr},
                                 {"__signature__", function_signature, nullptr, nullptr, nullptr},
                                 {"__name__", function_name, nullptr, nullptr, nullptr},
                                 {"__qualname__", function_qualname, nullptr, nullptr, nullptr},
                                 {"__module__", function_module, nullptr, nullptr, nullptr},
                                 {"_overload_names", function_overloads, nullptr, nullptr, nullptr},
                                 {"_schemas", function_schemas, nullptr, nullptr, nullptr},
                                 {}};
PyMethodDef function_methods[] = {{"__reduce__", function_reduce, METH_NOARGS, nullptr}, {}};
PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, call), READONLY, nullptr}, {}};

bool is_int_list(const Parameter& p) { return p.type.kind == Kind::Int && p.type.list && !p.keyword_only; }

bool is_factory(const Operator& op) {
  return op.schema().find("dtype") >= 0 && op.schema().find("layout") >= 0 && op.schema().find("pin_memory") >= 0;
}

OverloadInfo describe(const Operator& op) {
  OverloadInfo o{&op, op.schema().positional(), false, false, is_factory(op), false, false, {}};
  o.factory_out = op.is_out && op.num_results() == 1 &&
                  std::ranges::any_of(overloads(op.schema().base_name()), [](Operator* f) { return is_factory(*f); });
  o.gives_list_back = op.schema().name.starts_with("_foreach_") && op.num_results() == 0 && !op.is_out;
  const auto& params = op.schema().parameters;
  o.varargs_function = o.positional == 1 && is_int_list(params[0]);
  o.varargs_method = o.positional == 2 && is_int_list(params[1]) && params[0].type.kind == Kind::Tensor;
  for (const Parameter& p : params)
    o.parameters.push_back(
        {p.type, p.has_default, PyUnicode_InternFromString(p.name == "self" ? "input" : p.name.c_str()),
         p.has_default ? p.default_value.arg() : Arg(),
         is_int_list(p) && p.default_value.tag() == Tag::IntList && p.default_value.arg().ints().empty()});
  return o;
}

// What the matcher needs to know about an operator, made at its first call by name. Operators live for ever.
const OverloadInfo& described(const Operator& op) {
  static auto& made = *new std::unordered_map<const Operator*, OverloadInfo>;
  const auto found = made.find(&op);
  return found != made.end() ? found->second : made.emplace(&op, describe(op)).first->second;
}

// In the order in which they are tried: a tensor of one element fits a Scalar or an int as well, so what takes fewer
// Scalars comes first, and of these what takes tensors where others take an int.
void sort_overloads(std::span<Operator*> ops) {
  uint64_t tensors = 0;  // places where some form takes one
  for (const Operator* op : ops)
    for (size_t i = 0; i < op->num_args(); ++i) {
      const FlatType& type = op->schema().parameters[i].type;
      if (type.kind == Kind::Tensor && !type.list) tensors |= uint64_t{1} << i;
    }
  std::ranges::stable_sort(ops, {}, [&](const Operator* op) {
    const auto& parameters = op->schema().parameters;
    int64_t scalars = 0, ints = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      scalars += parameters[i].type.kind == Kind::Scalar;
      ints += parameters[i].type.kind == Kind::Int && (tensors >> i & 1);
    }
    return std::pair(scalars, ints);
  });
}

PyObject* make_function(PyTypeObject* type, const char* name, std::span<Operator* const> ops, bool method) {
  auto* f = reinterpret_cast<FunctionObject*>(check(type->tp_alloc(type, 0)));
  f->call = vectorcall;
  f->overloads = new std::vector<OverloadInfo>;
  f->name = PyUnicode_InternFromString(name);
  f->method = method;
  std::vector<Operator*> sorted(ops.begin(), ops.end());
  sort_overloads(sorted);
  for (Operator* op : sorted)
    if (!method || (op->num_args() > 0 && op->schema().parameters[0].type == FlatType{}))
      f->overloads->push_back(describe(*op));
  return reinterpret_cast<PyObject*>(f);
}

}  // namespace

PyObject* make_result_type(const Operator& op) {
  Own module(check(PyImport_ImportModule("facula.return_types")));
  Own names(check(PyTuple_New(static_cast<Py_ssize_t>(op.num_results()))));
  for (size_t i = 0; i < op.num_results(); ++i)
    PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i),
                     check(PyUnicode_FromString(op.schema().returns[i].name.c_str())));
  return check(PyObject_CallMethod(module.get(), "_make", "sO", op.schema().name.c_str(), names.get()));
}

namespace {
void must_match(const OverloadInfo& o, PyObject* const* args, size_t n, PyObject* kwnames, Scratch& s) {
  do
    if (match(o, false, args, n, kwnames, s, nullptr)) return;
  while (again_with_numbers(s, std::span(&o, 1)));
  const std::string name = o.op->name();
  no_overload({name, {&o, 1}}, args, n, kwnames);
}
}  // namespace

PyObject* call_boxed(const Operator& op, PyObject* const* args, size_t n, PyObject* kwnames, const LayerSet* layers) {
  Scratch s;
  const OverloadInfo& o = described(op);
  must_match(o, args, n, kwnames, s);
  return run(nullptr, o, s, layers);
}

int64_t count_flops(const Operator& op, PyObject* const* args, size_t n, PyObject* kwnames) {
  Scratch s;
  const OverloadInfo& o = described(op);
  must_match(o, args, n, kwnames, s);
  return op.count_flops(s.args);
}

PyObject* call_packet(const std::string& name, PyObject* const* args, size_t n, PyObject* kwnames,
                      const Operator** chosen) {
  Scratch s;
  std::vector<Operator*> ops = overloads(name);
  sort_overloads(ops);
  do {
    for (const Operator* op : ops) {
      const OverloadInfo& o = described(*op);
      if (!match(o, false, args, n, kwnames, s, nullptr)) continue;
      *chosen = op;
      return run(nullptr, o, s);
    }
  } while (again_with_numbers(s, ops));
  std::vector<OverloadInfo> all;
  for (const Operator* op : ops) all.push_back(described(*op));
  no_overload({name, all}, args, n, kwnames);
}

PyObject* find_function(const char* name) { return PyDict_GetItemString(functions, name); }

PyObject* call_method(PyObject* name, PyObject* const* args, Py_ssize_t n) {
  if (PyObject* m = PyDict_GetItem(methods, name)) {
    Own keep(Py_NewRef(m));  // a library that is loaded meanwhile may put another in its place
    return vectorcall(m, args, static_cast<size_t>(n), nullptr);
  }
  Own method(PyObject_GetAttr(reinterpret_cast<PyObject*>(tensor_class), name));  // written in Python
  return method ? PyObject_Vectorcall(method.get(), args, static_cast<size_t>(n), nullptr) : nullptr;
}

// torch.linalg, torch.fft and torch.special have these, as functions only.
bool is_of_module(std::string_view name) {
  return name.starts_with("linalg_") || name.starts_with("fft_") || name.starts_with("special_");
}

// One function object per base name in a namespace, and a method where the first parameter is a tensor.
void publish_operators(std::string_view space) {
  std::unordered_map<std::string, std::vector<Operator*>> groups;
  std::vector<std::string> order;
  for (Operator* op : all_operators()) {
    if (op->schema().space != space) continue;
    if (op->python_hidden) {
      Own f(make_function(function_type, op->schema().name.c_str(), overloads(op->schema().base_name()), false));
      check(PyDict_SetItemString(hidden, op->schema().name.c_str(), f.get()));
      continue;
    }
    auto& g = groups[op->schema().name];
    if (g.empty()) order.push_back(op->schema().name);
    g.push_back(op);
  }
  for (const std::string& name : order) {
    const auto& ops = groups[name];
    Own f(make_function(function_type, name.c_str(), ops, false));
    check(PyDict_SetItemString(functions, name.c_str(), f.get()));
    if (is_of_module(name)) continue;
    Own m(make_function(method_type, name.c_str(), ops, true));
    if (!fn(m.get())->overloads->empty()) check(PyDict_SetItemString(methods, name.c_str(), m.get()));
  }
}

void add_function_types(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
                         {Py_tp_repr, reinterpret_cast<void*>(function_repr)},
                         {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_getset, function_getset},
                         {Py_tp_methods, function_methods},
                         {Py_tp_members, function_members},
                         {0, nullptr},
                         {0, nullptr}};
  PyType_Spec spec{
      "facula._C.Function", sizeof(FunctionObject), 0,
      static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION),
      slots};
  function_type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)));
  slots[6] = {Py_tp_descr_get, reinterpret_cast<void*>(descr_get)};
  PyType_Spec method_spec{"facula._C.Method", sizeof(FunctionObject), 0,
                          static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                                                Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION),
                          slots};
  method_type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&method_spec)));
  check(PyModule_AddObjectRef(module, "Function", reinterpret_cast<PyObject*>(function_type)));
  check(PyModule_AddObjectRef(module, "Method", reinterpret_cast<PyObject*>(method_type)));
  functions = check(PyDict_New());
  methods = check(PyDict_New());
  hidden = check(PyDict_New());
  publish_operators("aten");
  check(PyModule_AddObjectRef(module, "_functions", functions));
  check(PyModule_AddObjectRef(module, "_methods", methods));
  check(PyModule_AddObjectRef(module, "_hidden", hidden));
}

}  // namespace fc::py
