// SPDX-License-Identifier: Apache-2.0
// Calls as they were written before numbers became keywords: x.add_(alpha, y), x.addcmul_(value, a, b),
// torch.addmm(beta, x, alpha, a, b). Old optimisers are full of them. Looked at when no form of today fits.
#include <algorithm>
#include <atomic>

#include "call.h"
#include "dispatch/operator.h"

namespace fc::py {
namespace {

struct OldForm {
  std::string_view name;
  size_t tensors;
  bool beta;             // a number before the first tensor of the function, for that tensor
  const char* keywords;  // the numbers' names today, and the signature for the warning
};
constexpr OldForm old_forms[] = {
    {"add", 2, false, "alpha"},     {"sub", 2, false, "alpha"},   {"addcmul", 3, false, "value"},
    {"addcdiv", 3, false, "value"}, {"addmm", 3, true, "alpha"},  {"addmv", 3, true, "alpha"},
    {"addr", 3, true, "alpha"},     {"addbmm", 3, true, "alpha"}, {"baddbmm", 3, true, "alpha"},
};

}  // namespace

PyObject* call_old_form(PyObject* function, std::string_view name, bool method, PyObject* const* args, size_t n,
                        PyObject* kwnames) {
  const std::string_view base = name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
  const auto* form = std::ranges::find(old_forms, base, &OldForm::name);
  if (form == std::end(old_forms) || n <= form->tensors || n > form->tensors + 1 + form->beta) return nullptr;
  // [beta] x [number] the other tensors, or as a method x [beta] [number] the other tensors
  PyObject *beta = nullptr, *number = nullptr;
  std::vector<PyObject*> given;
  for (size_t i = 0; i < n; ++i) {
    if (is_tensor(args[i])) given.push_back(args[i]);
    else if (!is_number(args[i])) return nullptr;
    else if (form->beta && !beta && i == (method ? 1 : 0)) beta = args[i];
    else if (!number && given.size() == 1) number = args[i];
    else return nullptr;
  }
  if (given.size() != form->tensors || (form->beta ? !beta : !number)) return nullptr;
  const size_t extra = kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
  Own names(check(PyList_New(0)));
  auto name_one = [&](const char* keyword, PyObject* value) {
    if (!value) return;
    check(PyList_Append(names.get(), Own(check(PyUnicode_InternFromString(keyword))).get()));
    given.push_back(value);
  };
  name_one("beta", beta);
  name_one(form->keywords, number);
  for (size_t k = 0; k < extra; ++k) {
    check(PyList_Append(names.get(), PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(k))));
    given.push_back(args[n + k]);
  }
  static std::atomic<bool> warned = false;
  if (!warned.exchange(true))
    warn(str("This overload of ", name, " is deprecated: its numbers are keywords now, ", name, "(",
             form->tensors == 2 ? "Tensor other" : "Tensor a, Tensor b", form->beta ? ", *, Number beta" : ", *",
             ", Number ", form->keywords, ")"));
  Own keywords(check(PyList_AsTuple(names.get())));
  return check(PyObject_Vectorcall(function, given.data(), form->tensors, keywords.get()));
}

}  // namespace fc::py
