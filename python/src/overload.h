// SPDX-License-Identifier: Apache-2.0
// The overloads of an operator as the matcher (call.cpp) wants them, and what is said about them in messages and help
// (overload_text.cpp). Names are Python's: borrowed here, and kept for as long as the process.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "dispatch/operator.h"
#include "py.h"

namespace fc::py {

// A parameter as the matcher wants it, close together.
struct ParameterInfo {
  FlatType type;
  bool has_default;
  PyObject* name;                // interned; "input" for self
  Arg default_value;             // borrows from the schema
  bool none_is_default = false;  // int[1] dim=[]: None is the empty list, also by position
};

struct OverloadInfo {
  const Operator* op;
  size_t positional;      // parameters by position
  bool varargs_function;  // torch.zeros(2, 3)
  bool varargs_method;    // x.view(2, 3)
  bool factory;           // takes requires_grad
  bool factory_out;       // its out= form, which takes dtype, device and their like, too, if they are those of out
  bool gives_list_back;   // torch._foreach_add_: the list that it wrote to; torch.ops has it give nothing
  std::vector<ParameterInfo> parameters;
};

// A function, a method or all overloads of an operator, while it is being called or described.
struct Callable {
  std::string_view name;
  std::span<const OverloadInfo> overloads;
  bool method = false;
};

// Why a call did not fit, for the error text when there is only one overload.
struct Misfit {
  enum { None, Type, Missing, TooMany, Unknown, Twice } what = None;
  size_t parameter = 0;
  PyObject* given = nullptr;
};

// What a function takes, for people: a form and the same with out= are one.
struct Form {
  const OverloadInfo* overload;
  std::string signature;
};
std::vector<Form> forms(const Callable& f);
bool is_out_form(const OverloadInfo& out, const OverloadInfo& of);  // the same arguments, and out=

// A call in a form from before numbers were given by name (old_forms.cpp), in the order of today.
struct OldForm {
  std::vector<PyObject*> given;  // borrowed
  size_t positional = 0;
  Own names;
  std::string_view places;
  bool find(const Callable& f, PyObject* const* args, size_t n, PyObject* kwnames);  // whether it is one
  void warn_once(const Callable& f, const OverloadInfo& now) const;
};

// Throws TypeError that says why n arguments by position, and others by name, do not fit this overload; returns where
// that is not known.
void raise_misfit(const Callable& f, const OverloadInfo& o, const Misfit& why, size_t n);
// Throws TypeError that lists the forms.
[[noreturn]] void raise_no_form(const Callable& f, std::span<const Form> known, PyObject* const* args, size_t n,
                                PyObject* kwnames);

}  // namespace fc::py
