// SPDX-License-Identifier: Apache-2.0
#include "overload.h"

#include <algorithm>

namespace fc::py {
namespace {

std::string type_name(const FlatType& t) {
  constexpr const char* names[] = {"Tensor",
                                   "Number",
                                   "int",
                                   "float",
                                   "bool",
                                   "str",
                                   "torch.device",
                                   "torch.dtype",
                                   "torch.layout",
                                   "torch.memory_format",
                                   "torch.Generator",
                                   "object"};
  std::string n = names[static_cast<int>(t.kind)];
  if (!t.list) return n;
  return str("tuple of ", n, "s");
}

// The signature as the reader of a message sees it. out: the number of results that out= may take, 0 for none.
std::string signature(const OverloadInfo& o, bool method, size_t out) {
  const auto& params = o.op->schema().parameters;
  std::string text;
  bool star = false;
  auto next = [&](bool keyword_only) {
    if (!text.empty()) text += ", ";
    if (keyword_only && !star) text += "*, ";
    star |= keyword_only;
  };
  for (size_t i = method ? 1 : 0; i < params.size(); ++i) {
    const Parameter& p = params[i];
    next(p.keyword_only);
    text += str(type_name(p.type), ' ', utf8(o.parameters[i].name));
    if (p.has_default) text += str(" = ", to_string(p.default_value));
  }
  if (out > 0) {
    next(true);
    text += out == 1 ? "Tensor out = None" : "tuple of Tensors out = None";
  }
  return str("(", text, ")");
}

// "float" or, for lists, which item is wrong.
std::string misfit_text(const FlatType& type, PyObject* given) {
  if (type.list && (PyTuple_Check(given) || PyList_Check(given)))
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(given, i);
      bool good = type.kind == Kind::Tensor ? is_tensor(item)
                  : type.kind == Kind::Int  ? PyIndex_Check(item) != 0
                                            : is_number(item);
      if (!good) return str(", but found element of type ", Py_TYPE(item)->tp_name, " at pos ", i);
    }
  return str(", not ", Py_TYPE(given)->tp_name);
}

std::string given_type(PyObject* o) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return Py_TYPE(o)->tp_name;
  std::string items;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  for (Py_ssize_t i = 0; i < n && i < 16; ++i)
    items += str(i ? ", " : "", Py_TYPE(PySequence_Fast_GET_ITEM(o, i))->tp_name);
  if (n > 16) items += ", ...";
  return PyTuple_Check(o) ? str("tuple of (", items, n == 1 ? ",)" : ")") : str("list of [", items, "]");
}

}  // namespace

bool is_out_form(const OverloadInfo& out, const OverloadInfo& of) {
  if (!out.op->is_out || of.op->is_out) return false;
  const auto &x = of.op->schema().parameters, &y = out.op->schema().parameters;
  const size_t n = of.factory ? of.positional : x.size();  // with out=, type and device are the tensor's
  if (n + out.op->num_results() != y.size()) return false;
  for (size_t i = 0; i < n; ++i)
    if (x[i].name != y[i].name || x[i].type != y[i].type) return false;
  return true;
}

std::vector<Form> forms(const Callable& f) {
  std::vector<Form> found;
  for (const OverloadInfo& o : f.overloads) {
    if (o.op->is_out &&
        (f.method || std::ranges::any_of(f.overloads, [&](const OverloadInfo& of) { return is_out_form(o, of); })))
      continue;
    size_t out = 0;
    for (const OverloadInfo& p : f.overloads)
      if (!f.method && is_out_form(p, o)) out = p.op->num_results();
    found.push_back({&o, signature(o, f.method, out)});
  }
  return found;
}

void raise_misfit(const Callable& f, const OverloadInfo& o, const Misfit& why, size_t n) {
  const auto& params = o.op->schema().parameters;
  auto parameter = [&] { return utf8(o.parameters[why.parameter].name); };
  switch (why.what) {
    case Misfit::Type: {
      std::string position =
          why.parameter < n ? str(" (position ", why.parameter + (f.method ? 0 : 1), ")") : std::string();
      raise<TypeError>(f.name, "(): argument '", parameter(), "'", position, " must be ",
                       type_name(params[why.parameter].type), misfit_text(params[why.parameter].type, why.given));
    }
    case Misfit::Missing: raise<TypeError>(f.name, "() missing 1 required positional arguments: \"", parameter(), "\"");
    case Misfit::TooMany:
      raise<TypeError>(f.name, "() takes ", o.positional - (f.method ? 1 : 0), " positional argument",
                       o.positional == 1 ? "" : "s", " but ", n - (f.method ? 1 : 0), " were given");
    case Misfit::Unknown: raise<TypeError>(f.name, "() got an unexpected keyword argument '", utf8(why.given), "'");
    case Misfit::Twice: raise<TypeError>(f.name, "() got multiple values for argument '", utf8(why.given), "'");
    case Misfit::None: break;
  }
}

void raise_no_form(const Callable& f, std::span<const Form> known, PyObject* const* args, size_t n, PyObject* kwnames) {
  std::string got;
  for (size_t i = f.method ? 1 : 0; i < n; ++i) got += str(got.empty() ? "" : ", ", given_type(args[i]));
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k)
    got += str(got.empty() ? "" : ", ", utf8(PyTuple_GET_ITEM(kwnames, k)), "=",
               given_type(args[n + static_cast<size_t>(k)]));
  std::string text =
      str(f.name, "() received an invalid combination of arguments - got (", got, "), but expected one of:\n");
  for (const Form& form : known) text += str(" * ", form.signature, "\n");
  raise<TypeError>(text);
}

}  // namespace fc::py
