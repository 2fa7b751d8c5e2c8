// SPDX-License-Identifier: Apache-2.0
// What the files of the Python module share: the small value types (dtype, device, Size …), the tensor object, and
// the rule that no C++ exception crosses into the interpreter (`guarded`).
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>

#include <memory>
#include <new>
#include <optional>

#include "core/error.h"
#include "core/generator.h"
#include "core/use.h"
#include "core/value.h"

namespace fc {
class Operator;
}

namespace fc::py {

struct Decref {
  void operator()(PyObject* o) const { Py_XDECREF(o); }
};
using Own = std::unique_ptr<PyObject, Decref>;  // a reference that is given back

// Thrown when the interpreter already holds the error.
struct PythonError {};
inline PyObject* check(PyObject* o) {
  if (!o) throw PythonError{};
  return o;
}
inline void check(int status) {
  if (status < 0) throw PythonError{};
}
void add_exceptions(PyObject* module);
void set_python_error();  // call in a catch block: turns the current exception into a Python one
// A backend written in Python failed with this exception and handed `message` on: the error that ends with the message
// gets the exception as its cause. Takes effect once; needs the interpreter's lock.
void set_backend_error(PyObject* exception, std::string message);

[[noreturn]] void sleep_until_exit() noexcept;  // see in_interpreter

template <class F>
__attribute__((no_sanitize("null"))) auto guarded(F&& f) noexcept -> decltype(f()) {
  using R = decltype(f());
  try {
    return f();
  } catch (const abi::__forced_unwind&) { sleep_until_exit(); } catch (...) {
    set_python_error();
    if constexpr (std::is_pointer_v<R>) return nullptr;
    else return static_cast<R>(-1);
  }
}

// Once the interpreter shuts down it ends every other thread that asks for its lock, by unwinding the thread's stack;
// C++ frames that neither throw nor let through what they do not know would end the process. So each place where this
// module asks for the lock, or runs Python code below frames of its own, does so inside of here: a thread that is to
// end sleeps instead, until the process is gone. Nothing with a destructor belongs inside: it would run without the
// lock. (What unwinds carries no object, so the reference in `catch` is to none: the sanitizer is told to leave it.)
template <class F>
__attribute__((no_sanitize("null"))) auto in_interpreter(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const abi::__forced_unwind&) { sleep_until_exit(); }
}
bool shutting_down();  // the interpreter is, or is gone
// Before Python code runs below frames of C++: false, with RecursionError set, while the thread's stack still has room
// for that. What sys.setrecursionlimit allows may be more than a stack holds.
bool stack_left();

class ReleaseGil {
 public:
  // Kernels: what this thread does without the lock is to be over before libraries are taken apart.
  enum What { Other, Kernels };
  explicit ReleaseGil(bool on = true, What what = Other) {
    if (on) let_go(what);
  }
  ~ReleaseGil() {
    if (state_) take_back();
  }
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;

 private:
  void let_go(What what);
  void take_back();
  PyThreadState* state_ = nullptr;
  bool before_ = false;
};
// For C++ that may run on any thread. Throws when the interpreter is shutting down and this is another thread than the
// one that does it, or is told with TakeGil(std::nothrow) to have no lock then.
class TakeGil {
 public:
  TakeGil();
  explicit TakeGil(std::nothrow_t) noexcept;
  ~TakeGil();
  explicit operator bool() const { return held_; }
  TakeGil(const TakeGil&) = delete;
  TakeGil& operator=(const TakeGil&) = delete;

 private:
  PauseUse pause_;  // first: goes on when the lock is let go
  bool held_ = false, computes_;
  PyGILState_STATE state_{};
};
// For changes of what other threads read without the lock (core/use.h). The lock is held, and let go while waiting.
class ChangeAlone {
 public:
  ChangeAlone();
  ~ChangeAlone() { end_change(); }
  ChangeAlone(const ChangeAlone&) = delete;
  ChangeAlone& operator=(const ChangeAlone&) = delete;
};
// Gives up a reference, outside of a use; keeps it when there is no interpreter any more.
void drop_reference(PyObject* o) noexcept;
void drop_later(TensorImpl& dying) noexcept;  // keeps a tensor that ends inside of a use until the use does
void add_gil_hooks();                         // once, at start-up

inline std::string_view utf8(PyObject* o) {  // of a str
  Py_ssize_t n = 0;
  const char* p = PyUnicode_AsUTF8AndSize(o, &n);
  if (!p) throw PythonError{};
  return {p, static_cast<size_t>(n)};
}

// --- small value types
PyObject* wrap(DType t);  // new references throughout
PyObject* wrap(Device d);
PyObject* wrap(MemoryFormat f);
PyObject* wrap(Layout l);
PyObject* wrap_size(IntSpan sizes);
bool is_size(PyObject* o);       // torch.Size
PyObject* wrap_ints(IntSpan v);  // a tuple
PyObject* wrap(const Scalar& s);
PyObject* wrap(const Ref<Generator>& g);
bool is_dtype(PyObject* o);  // a dtype object, or the types float, int, bool, complex
DType to_dtype(PyObject* o);
bool is_device(PyObject* o);
Device to_device(PyObject* o);  // device, str, int; throws
bool is_memory_format(PyObject* o);
MemoryFormat to_memory_format(PyObject* o);
bool is_layout(PyObject* o);
Layout to_layout(PyObject* o);
Generator* to_generator(PyObject* o);  // null if it is none
void add_value_types(PyObject* module);

// --- tensors
struct TensorObject {
  PyObject_HEAD Tensor
      tensor;  // while the C++ side owns this object, a plain pointer without a count (see tensor_object.cpp)
  PyObject* dict;
  PyObject* weakrefs;
  TensorObject* next_waiting;  // of a tensor that drop_later keeps
};
extern PyTypeObject* tensor_base;   // facula._C.TensorBase
extern PyTypeObject* tensor_class;  // facula.Tensor
inline bool is_tensor(PyObject* o) { return Py_TYPE(o) == tensor_class || PyObject_TypeCheck(o, tensor_base); }
inline const Tensor& tensor_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->tensor; }
PyObject* wrap(Tensor t);                         // the one object of this tensor; None for an undefined one
PyObject* wrap_as(PyTypeObject* type, Tensor t);  // a fresh tensor as an instance of a subclass
void add_tensor_type(PyObject* module);

// --- numbers, lists, values
bool is_number(PyObject* o);    // int, float, bool, complex, NumPy scalars; not tensors
Scalar to_scalar(PyObject* o);  // throws TypeError
int64_t to_int(PyObject* o);    // by __index__; throws TypeError, OverflowError
PyObject* wrap(Value v);        // any result
Tensor tensor_from(PyObject* data, std::optional<DType> dtype, std::optional<Device> device, bool copy);
// Shares the memory of anything with the buffer protocol; what is read-only there is a read-only tensor. Memory that is
// not aligned cannot be shared: it is copied if nobody may write to it or `may_copy`.
Tensor tensor_from_buffer(PyObject* o, bool may_copy = false);
Tensor dtype_cast(const Tensor& t, DType dtype);
PyObject* to_list(const Tensor& t);  // nested lists, or a number for 0-d
PyObject* get_item(PyObject* self, PyObject* index);
int set_item(PyObject* self, PyObject* index, PyObject* value);

// --- operators
void add_function_types(PyObject* module);
PyObject* find_function(const char* name);                                   // torch.<name>, borrowed; null if none
PyObject* call_method(PyObject* name, PyObject* const* args, Py_ssize_t n);  // Tensor.<name>(*args)

}  // namespace fc::py
