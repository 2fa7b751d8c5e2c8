// SPDX-License-Identifier: Apache-2.0
// Calls from before numbers were given by name, which programs still make: x.add_(-lr, grad) is
// x.add_(grad, alpha=-lr).
#include <string>
#include <utility>

#include "dispatch/warn_once.h"
#include "overload.h"

namespace fc::py {
namespace {

// What stood at each place, T a tensor and N a number, and what the numbers are called now.
struct Row {
  std::string_view names;  // each between blanks
  bool method, function;
  std::string_view places;
  const char* numbers[2];
};
constexpr std::string_view kProducts = " addmm addmv addr addbmm baddbmm ";
constexpr Row rows[] = {
    {" add sub ", true, true, "TNT", {"alpha", nullptr}}, {" addcmul addcdiv ", true, true, "TNTT", {"value", nullptr}},
    {kProducts, false, true, "NTNTT", {"beta", "alpha"}}, {kProducts, false, true, "NTTT", {"beta", nullptr}},
    {kProducts, true, false, "TNNTT", {"beta", "alpha"}}, {kProducts, true, false, "TNTT", {"beta", nullptr}},
};

bool has_name(const Row& r, std::string_view name) {
  if (name.ends_with('_')) name.remove_suffix(1);
  return r.names.find(str(' ', name, ' ')) != std::string_view::npos;
}

bool stands_at(char place, PyObject* o) {
  if (place == 'T') return is_tensor(o);
  return is_number(o) || (is_tensor(o) && tensor_of(o).dim() == 0);
}

// By position may be as many as one likes, the numbers among them.
bool fits(const Row& r, PyObject* const* args, size_t n) {
  if (n > r.places.size() || n <= r.places.rfind('N')) return false;
  for (size_t i = 0; i < n; ++i)
    if (!stands_at(r.places[i], args[i])) return false;
  return true;
}

}  // namespace

bool OldForm::find(const Callable& f, PyObject* const* args, size_t n, PyObject* kwnames) {
  for (const Row& r : rows) {
    if (!(f.method ? r.method : r.function) || !has_name(r, f.name) || !fits(r, args, n)) continue;
    places = r.places;
    for (size_t i = 0; i < n; ++i)
      if (places[i] == 'T') given.push_back(args[i]);
    positional = given.size();
    const size_t numbers = n - positional, named = kwnames ? static_cast<size_t>(PyTuple_GET_SIZE(kwnames)) : 0;
    names = Own(check(PyTuple_New(static_cast<Py_ssize_t>(numbers + named))));
    for (size_t i = 0, k = 0; i < n; ++i) {
      if (places[i] != 'N') continue;
      given.push_back(args[i]);
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(k), check(PyUnicode_InternFromString(r.numbers[k])));
      ++k;
    }
    for (size_t i = 0; i < named; ++i) {
      given.push_back(args[n + i]);
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(numbers + i),
                       Py_NewRef(PyTuple_GET_ITEM(kwnames, static_cast<Py_ssize_t>(i))));
    }
    return true;
  }
  return false;
}

void OldForm::warn_once(const Callable& f, const OverloadInfo& now) const {
  static bool said = false;  // for all forms together, as in PyTorch; with the interpreter's lock held
  if (std::exchange(said, true) && !warn_always) return;
  std::string old, form;
  for (size_t i = 0, tensor = 0, number = 0; i < places.size(); ++i) {
    const bool is_tensor = places[i] == 'T';
    PyObject* name =
        is_tensor ? now.parameters[tensor++].name : PyTuple_GET_ITEM(names.get(), static_cast<Py_ssize_t>(number++));
    if (i > 0 || !f.method) old += str(old.empty() ? "" : ", ", is_tensor ? "Tensor " : "Number ", utf8(name));
  }
  for (const Form& known : forms(f))
    if (known.overload == &now || is_out_form(now, *known.overload)) form = known.signature;
  const std::string text = str("This overload of ", f.name, " is deprecated:\n\t", f.name, '(', old,
                               f.method ? ")" : ", *, Tensor out = None)",
                               "\nConsider using one of the following signatures instead:\n\t", f.name, form);
  check(PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1));
}

}  // namespace fc::py
