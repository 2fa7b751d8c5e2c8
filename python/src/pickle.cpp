// SPDX-License-Identifier: Apache-2.0
// Pickles of Python objects: files/pickle.h's instructions on one side, Python's objects on the other. What a name or a
// call in a pickle may mean, and how an object that is no plain data is described, is decided by the `policy` object
// (facula/_unpickler.py, facula/_pickler.py); here nothing is looked up, imported or called but its methods.
#include "files/pickle.h"

#include <nanobind/nanobind.h>

#include <unordered_map>

#include "bind.h"
#include "casters.h"

namespace nb = nanobind;

namespace fc {
namespace {

using files::Op;

nb::object steal(PyObject* o) { return nb::steal(py::check(o)); }
nb::str text_of(std::string_view s) {
  return nb::steal<nb::str>(
      py::check(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "surrogatepass")));
}
Py_ssize_t length(std::string_view s) { return static_cast<Py_ssize_t>(s.size()); }

// ---- reading

// A tuple's hash is computed by descending into it, without a limit on depth and through shared parts again and again.
// A key that has not ended after this many parts is refused.
constexpr int kKeyParts = 10000, kKeyDepth = 100;
void check_key(PyObject* key, int& parts, int depth) {
  if (!PyTuple_Check(key)) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
    if (++parts > kKeyParts || depth > kKeyDepth)
      raise<files::UnpicklingError>("a key of a dictionary or member of a set is nested too deeply or too large");
    check_key(PyTuple_GET_ITEM(key, i), parts, depth + 1);
  }
}
void check_key(const nb::object& key) {
  int parts = 0;
  check_key(key.ptr(), parts, 0);
}

class Builder {
 public:
  using Object = nb::object;
  Builder(nb::handle policy, const std::string& encoding) : policy_(policy), encoding_(encoding) {}

  Object none() { return nb::none(); }
  Object boolean(bool b) { return nb::bool_(b); }
  Object integer(int64_t v) { return steal(PyLong_FromLongLong(v)); }
  Object long_integer(std::string_view bytes) {
    return nb::handle(reinterpret_cast<PyObject*>(&PyLong_Type))
        .attr("from_bytes")(nb::bytes(bytes.data(), bytes.size()), "little", nb::arg("signed") = true);
  }
  Object real(double v) { return steal(PyFloat_FromDouble(v)); }
  Object text(std::string_view s) { return text_of(s); }
  Object old_string(std::string_view s) {  // a str of Python 2: text or bytes, the caller says which
    if (encoding_ == "bytes") return bytes(s);
    return steal(PyUnicode_Decode(s.data(), length(s), encoding_.c_str(), "strict"));
  }
  Object bytes(std::string_view s) { return steal(PyBytes_FromStringAndSize(s.data(), length(s))); }
  Object byte_array(std::string_view s) { return steal(PyByteArray_FromStringAndSize(s.data(), length(s))); }
  Object tuple(std::span<Object> items) {
    Object t = steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; i < items.size(); ++i)
      PyTuple_SET_ITEM(t.ptr(), static_cast<Py_ssize_t>(i), items[i].release().ptr());
    return t;
  }
  Object list() { return steal(PyList_New(0)); }
  void append(Object& list, std::span<Object> items) {
    if (!PyList_CheckExact(list.ptr())) policy_.attr("extend")(list, tuple(items));
    else
      for (Object& item : items) py::check(PyList_Append(list.ptr(), item.ptr()));
  }
  Object dict() { return steal(PyDict_New()); }
  void set_items(Object& dict, std::span<Object> items) {
    for (size_t i = 0; i < items.size(); i += 2) check_key(items[i]);
    const bool ordered = PyODict_CheckExact(dict.ptr());
    if (!ordered && !PyDict_CheckExact(dict.ptr())) {
      policy_.attr("set_items")(dict, tuple(items));
      return;
    }
    for (size_t i = 0; i < items.size(); i += 2)
      py::check((ordered ? PyODict_SetItem : PyDict_SetItem)(dict.ptr(), items[i].ptr(), items[i + 1].ptr()));
  }
  Object set() { return steal(PySet_New(nullptr)); }
  void add(Object& set, std::span<Object> items) {
    if (!PySet_CheckExact(set.ptr())) raise<files::UnpicklingError>("Can only add to sets");
    for (Object& item : items) {
      check_key(item);
      py::check(PySet_Add(set.ptr(), item.ptr()));
    }
  }
  Object frozen_set(std::span<Object> items) {
    for (Object& item : items) check_key(item);
    return steal(PyFrozenSet_New(tuple(items).ptr()));
  }
  Object global(std::string_view module, std::string_view name) { return global(text_of(module), text_of(name)); }
  Object global(const Object& module, const Object& name) { return policy_.attr("find_global")(module, name); }
  Object reduce(const Object& function, const Object& args) { return policy_.attr("reduce")(function, args); }
  Object new_object(const Object& type, const Object& args, const Object& named = nb::dict()) {
    return policy_.attr("new_object")(type, args, named);
  }
  void build(const Object& object, const Object& state) { policy_.attr("build")(object, state); }
  Object persistent(const Object& id) { return policy_.attr("persistent_load")(id); }

 private:
  nb::handle policy_;
  std::string encoding_;
};

// The bytes of anything with the buffer protocol, while this lives.
class Bytes {
 public:
  explicit Bytes(nb::handle o) { py::check(PyObject_GetBuffer(o.ptr(), &view_, PyBUF_SIMPLE)); }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::string_view get() const { return {static_cast<const char*>(view_.buf), static_cast<size_t>(view_.len)}; }

 private:
  Py_buffer view_;
};

nb::tuple unpickle(nb::handle data, size_t begin, nb::handle policy, const std::string& encoding) {
  Bytes bytes(data);
  FC_CHECK_AS(ValueError, begin <= bytes.get().size(), "a pickle cannot begin behind the data");
  Builder builder(policy, encoding);
  files::PickleReader reader(bytes.get().substr(begin), builder);
  nb::object result = reader.read();
  return nb::make_tuple(result, begin + reader.position());
}

// Names the globals without making anything.
struct NameCollector {
  struct Object {
    std::string text;  // of a short string, for names that come from the stack
  };
  nb::list names;
  Object none() { return {}; }
  Object boolean(bool) { return {}; }
  Object integer(int64_t) { return {}; }
  Object long_integer(std::string_view) { return {}; }
  Object real(double) { return {}; }
  Object text(std::string_view s) { return {std::string(s.substr(0, 1000))}; }
  Object old_string(std::string_view) { return {}; }
  Object bytes(std::string_view) { return {}; }
  Object byte_array(std::string_view) { return {}; }
  Object tuple(std::span<Object>) { return {}; }
  Object list() { return {}; }
  void append(Object&, std::span<Object>) {}
  Object dict() { return {}; }
  void set_items(Object&, std::span<Object>) {}
  Object set() { return {}; }
  void add(Object&, std::span<Object>) {}
  Object frozen_set(std::span<Object>) { return {}; }
  Object global(std::string_view module, std::string_view name) {
    names.append(nb::make_tuple(text_of(module), text_of(name)));
    return {};
  }
  Object global(const Object& module, const Object& name) { return global(module.text, name.text); }
  Object reduce(const Object&, const Object&) { return {}; }
  Object new_object(const Object&, const Object&, const Object& = {}) { return {}; }
  void build(const Object&, const Object&) {}
  Object persistent(const Object&) { return {}; }
};

nb::list pickled_names(nb::handle data) {
  Bytes bytes(data);
  NameCollector collector;
  files::PickleReader(bytes.get(), collector).read();
  return collector.names;
}

// ---- writing

// In the order and with the memo that Python's own pickler has, so that what PyTorch writes for the same object is the
// same bytes. policy.describe(object) says how anything but plain data is written: ("global", module, name),
// ("persistent", id) or ("reduce", what __reduce_ex__ gave).
class Pickler {
 public:
  explicit Pickler(nb::handle policy) : policy_(policy) {}
  std::string write(PyObject* o) {
    out_.start();
    save(o);
    out_.op(Op::Stop);
    return out_.take();
  }

 private:
  static constexpr size_t kBatch = 1000;

  struct Depth {  // Python's limit on recursion, as its own pickler has it
    Depth() {
      if (Py_EnterRecursiveCall(" while pickling an object")) throw py::PythonError{};
    }
    ~Depth() { Py_LeaveRecursiveCall(); }
  };

  void save(PyObject* o) {
    if (o == Py_None) return out_.op(Op::None);
    if (PyBool_Check(o)) return out_.op(o == Py_True ? Op::NewTrue : Op::NewFalse);
    if (PyLong_CheckExact(o)) return save_int(o);
    if (PyFloat_CheckExact(o)) return out_.real(PyFloat_AS_DOUBLE(o));
    if (known(o)) return;
    Depth depth;
    if (PyUnicode_CheckExact(o)) save_text(o);
    else if (PyTuple_CheckExact(o)) save_tuple(o);
    else if (PyList_CheckExact(o)) save_list(o);
    else if (PyDict_CheckExact(o)) save_dict(o);
    else save_described(o);
  }
  bool known(PyObject* o) {
    auto it = memo_.find(o);
    if (it != memo_.end()) out_.get(it->second);
    return it != memo_.end();
  }
  void memoize(PyObject* o) {
    const size_t n = memo_.size();
    out_.put(n);
    if (memo_.emplace(o, n).second) kept_.push_back(nb::borrow(o));
  }
  void save_int(PyObject* o) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) return out_.integer(v);
    nb::handle h(o);
    nb::object bits = h.attr("bit_length")();
    nb::bytes b = nb::cast<nb::bytes>(
        h.attr("to_bytes")(PyLong_AsLongLong(bits.ptr()) / 8 + 1, "little", nb::arg("signed") = true));
    std::string_view s(b.c_str(), b.size());
    if (overflow < 0 && s.size() > 1 && s.back() == '\xff' && s[s.size() - 2] < 0) s.remove_suffix(1);
    out_.long_integer(s);
  }
  void save_text(PyObject* o) {
    Py_ssize_t n = 0;
    if (const char* s = PyUnicode_AsUTF8AndSize(o, &n)) {
      out_.text({s, static_cast<size_t>(n)});
    } else {
      PyErr_Clear();  // it has lone surrogates
      nb::bytes b = nb::steal<nb::bytes>(py::check(PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass")));
      out_.text({b.c_str(), b.size()});
    }
    memoize(o);
  }
  void save_tuple(PyObject* o) {
    const Py_ssize_t n = PyTuple_GET_SIZE(o);
    if (n == 0) return out_.op(Op::EmptyTuple);
    if (n > 3) out_.op(Op::Mark);
    for (Py_ssize_t i = 0; i < n; ++i) save(PyTuple_GET_ITEM(o, i));
    if (memo_.contains(o)) {  // a part holds the tuple, which was written meanwhile
      if (n > 3) out_.op(Op::PopMark);
      else
        for (Py_ssize_t i = 0; i < n; ++i) out_.op(Op::Pop);
      known(o);
      return;
    }
    static constexpr Op ops[] = {Op::Tuple1, Op::Tuple2, Op::Tuple3};
    out_.op(n > 3 ? Op::Tuple : ops[n - 1]);
    memoize(o);
  }
  void save_list(PyObject* o) {
    out_.op(Op::EmptyList);
    memoize(o);
    append_items(nb::borrow(o), true);
  }
  void save_dict(PyObject* o) {
    out_.op(Op::EmptyDict);
    memoize(o);
    set_items(steal(PyDict_Items(o)), true);
  }
  // Runs f on what an iterator gives, in batches. A batch of one item has an instruction of its own; in lists and dicts
  // themselves (`plain`) only the first batch.
  template <class F>
  void in_batches(const nb::object& iterable, bool plain, Op single, Op several, F&& f) {
    nb::object it = steal(PyObject_GetIter(iterable.ptr())), item = next(it);
    for (bool first = true; item.is_valid(); first = false) {
      nb::object second = next(it);
      if (!second.is_valid() && (first || !plain)) {
        f(item);
        return out_.op(single);
      }
      out_.op(Op::Mark);
      f(item);
      item = std::move(second);
      for (size_t n = 1; n < kBatch && item.is_valid(); ++n) {
        f(item);
        item = next(it);
      }
      out_.op(several);
    }
  }
  static nb::object next(const nb::object& it) {
    nb::object item = nb::steal(PyIter_Next(it.ptr()));
    if (!item.is_valid() && PyErr_Occurred()) throw py::PythonError{};
    return item;
  }
  void append_items(const nb::object& items, bool plain = false) {
    in_batches(items, plain, Op::Append, Op::Appends, [&](const nb::object& item) { save(item.ptr()); });
  }
  void set_items(const nb::object& items, bool plain = false) {
    in_batches(items, plain, Op::SetItem, Op::SetItems, [&](const nb::object& pair) {
      FC_CHECK_AS(TypeError, PyTuple_Check(pair.ptr()) && PyTuple_GET_SIZE(pair.ptr()) == 2,
                  "dict items iterator must return 2-tuples");
      save(PyTuple_GET_ITEM(pair.ptr(), 0));
      save(PyTuple_GET_ITEM(pair.ptr(), 1));
    });
  }

  void save_described(PyObject* o) {
    nb::object description = policy_.attr("describe")(nb::handle(o));
    kept_.push_back(description);  // what it holds is in the memo by address
    const std::string kind = nb::cast<std::string>(description[0]);
    if (kind == "global") {
      nb::object module = description[1], name = description[2];
      out_.global(py::utf8(module.ptr()), py::utf8(name.ptr()));
      return memoize(o);
    }
    nb::object value = description[1];
    if (kind == "persistent") {
      save(value.ptr());
      return out_.op(Op::BinPersId);
    }
    FC_CHECK_AS(TypeError, PyTuple_Check(value.ptr()) && nb::len(value) >= 2 && nb::len(value) <= 6,
                "__reduce__ must return a tuple of two to six parts");
    auto part = [&](size_t i) { return i < nb::len(value) ? nb::object(value[i]) : nb::none(); };
    FC_CHECK_AS(TypeError, PyTuple_Check(part(1).ptr()),
                "second item of the tuple returned by __reduce__ must be a tuple");
    save_call(part(0), part(1));
    if (memo_.contains(o)) {  // its own arguments hold it
      out_.op(Op::Pop);
      known(o);
    } else {
      memoize(o);
    }
    if (!part(3).is_none()) append_items(part(3));
    if (!part(4).is_none()) set_items(part(4));
    if (part(2).is_none()) return;
    if (part(5).is_none()) {
      save(part(2).ptr());
      return out_.op(Op::Build);
    }
    save(part(5).ptr());  // a function that sets the state: called, its result dropped
    save(o);
    save(part(2).ptr());
    out_.op(Op::Tuple2);
    out_.op(Op::Reduce);
    out_.op(Op::Pop);
  }
  void save_call(const nb::object& function, const nb::object& args) {
    nb::object name = nb::getattr(function, "__name__", nb::none());
    if (PyUnicode_Check(name.ptr()) && py::utf8(name.ptr()) == "__newobj__" && nb::len(args) > 0) {
      nb::object type = args[0];
      save(type.ptr());
      save(steal(PyTuple_GetSlice(args.ptr(), 1, PyTuple_GET_SIZE(args.ptr()))));
      return out_.op(Op::NewObj);
    }
    save(function.ptr());
    save(args.ptr());
    out_.op(Op::Reduce);
  }
  void save(const nb::object& o) {
    kept_.push_back(o);
    save(o.ptr());
  }

  nb::handle policy_;
  files::PickleWriter out_;
  std::unordered_map<PyObject*, size_t> memo_;
  std::vector<nb::object> kept_;  // as long as the memo knows them by address
};

nb::bytes pickle(nb::handle object, nb::handle policy) {
  const std::string text = Pickler(policy).write(object.ptr());
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_pickle(nb::module_& m) {
  m.def("_unpickle", &unpickle);  // (object, where the pickle ended)
  m.def("_pickled_names", &pickled_names);
  m.def("_checked_keys", [](nb::object items) {  // a list or tuple whose items may be hashed
    nb::object copy = steal(PySequence_Tuple(items.ptr()));
    for (nb::handle item : nb::borrow<nb::tuple>(copy)) check_key(nb::borrow(item));
    return copy;
  });
  m.def("_pickle", &pickle, nb::arg("object").none(), nb::arg("policy"));
}

}  // namespace fc
