// SPDX-License-Identifier: Apache-2.0
#include <facula/jit.h>

#include <cstring>

#include "core/class_type.h"
#include "core/containers.h"
#include "files/atomic_file.h"
#include "jit/files/read.h"
#include "jit/files/write.h"
#include "jit/run/function.h"
#include "jit/run/interpreter.h"
#include "runtime.h"

namespace facula::jit {

using fc::Tag;

// What a handle points to.
struct Held final : fc::RefCounted {
  explicit Held(fc::Value v) : value(std::move(v)) {}
  const fc::Value value;
};

struct Access {
  static fc::Value get(const IValue& v) { return v.value_ ? static_cast<Held*>(v.value_.get())->value : fc::Value(); }
  static IValue make(fc::Value v) {
    IValue out;
    if (v.tag() != Tag::None) out.value_ = fc::make_ref<Held>(std::move(v));
    return out;
  }
  static fc::Value get(const Module& m) {
    FC_CHECK(m.object_, "an empty module");
    return {Tag::Instance, m.object_};
  }
  static fc::Instance& instance(const Module& m) { return *static_cast<fc::Instance*>(get(m).box()); }
  static Module module(const fc::Value& v) {
    Module m;
    m.object_ = fc::Ref<fc::RefCounted>(v.box());
    return m;
  }
};

namespace {

fc::Value expect(const IValue& v, Tag tag) {
  fc::Value out = Access::get(v);
  FC_CHECK(out.tag() == tag, "a ", to_string(tag), " was expected, the value is a ", v.kind());
  return out;
}

template <class T>
IValue list_of(const fc::Type* item, const std::vector<T>& v) {
  return Access::make(fc::list_value(item, std::vector<fc::Value>(v.begin(), v.end())));
}

size_t slot_of(const fc::Instance& o, const std::string& name) {
  const int i = o.type->class_info()->find_attribute(name);
  FC_CHECK_AS(AttributeError, i >= 0, "'", o.type->name(), "' object has no attribute '", name, "'");
  return static_cast<size_t>(i);
}

// Objects within the module, each with its dotted name, the module first.
std::vector<std::pair<std::string, fc::Instance*>> modules_of(fc::Instance& top) {
  std::vector<std::pair<std::string, fc::Instance*>> out{{"", &top}};
  for (size_t i = 0; i < out.size(); ++i) {
    const auto [prefix, o] = out[i];
    const auto& attributes = o->type->class_info()->attributes;
    for (size_t k = 0; k < attributes.size(); ++k) {
      if (o->slots[k].tag() != Tag::Instance) continue;
      auto* inner = static_cast<fc::Instance*>(o->slots[k].box());
      FC_CHECK(out.size() < 1000000, "the module has too many submodules, or contains itself");
      if (inner->type->class_info()->is_module) out.emplace_back(prefix + attributes[k].name + ".", inner);
    }
  }
  return out;
}

std::vector<std::pair<std::string, Tensor>> tensors_of(const Module& m, fc::ClassInfo::Role role) {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& [prefix, o] : modules_of(Access::instance(m))) {
    const auto& attributes = o->type->class_info()->attributes;
    for (size_t k = 0; k < attributes.size(); ++k)
      if (attributes[k].role == role && !o->slots[k].is_none())
        out.emplace_back(prefix + attributes[k].name, o->slots[k].tensor());
  }
  return out;
}

}  // namespace

IValue::IValue() = default;
IValue::IValue(const Tensor& v) : value_(fc::make_ref<Held>(fc::Value(static_cast<const fc::Tensor&>(v)))) {}
IValue::IValue(bool v) : value_(fc::make_ref<Held>(fc::Value(v))) {}
IValue::IValue(int64_t v) : value_(fc::make_ref<Held>(fc::Value(v))) {}
IValue::IValue(double v) : value_(fc::make_ref<Held>(fc::Value(v))) {}
IValue::IValue(const std::string& v) : value_(fc::make_ref<Held>(fc::Value(std::string_view(v)))) {}
IValue::IValue(const std::vector<Tensor>& v) {
  std::vector<fc::Value> items;
  for (const Tensor& t : v) items.emplace_back(static_cast<const fc::Tensor&>(t));
  *this = Access::make(fc::list_value(fc::tensor_type(), std::move(items)));
}
IValue::IValue(const std::vector<int64_t>& v) : IValue(list_of(fc::simple_type(fc::TypeKind::Int), v)) {}
IValue::IValue(const std::vector<double>& v) : IValue(list_of(fc::simple_type(fc::TypeKind::Float), v)) {}
IValue IValue::tuple(const std::vector<IValue>& items) {
  std::vector<fc::Value> own;
  for (const IValue& v : items) own.push_back(Access::get(v));
  return Access::make(fc::tuple_value(std::move(own)));
}

bool IValue::isNone() const { return Access::get(*this).is_none(); }
bool IValue::isTensor() const { return Access::get(*this).tag() == Tag::Tensor; }
bool IValue::isBool() const { return Access::get(*this).tag() == Tag::Bool; }
bool IValue::isInt() const { return Access::get(*this).tag() == Tag::Int; }
bool IValue::isDouble() const { return Access::get(*this).tag() == Tag::Double; }
bool IValue::isString() const { return Access::get(*this).tag() == Tag::String; }
bool IValue::isList() const { return fc::is_list(Access::get(*this).tag()); }
bool IValue::isTuple() const { return Access::get(*this).tag() == Tag::Tuple; }
bool IValue::isDict() const { return Access::get(*this).tag() == Tag::Dict; }
bool IValue::isModule() const {
  const fc::Value v = Access::get(*this);
  return v.tag() == Tag::Instance && static_cast<fc::Instance*>(v.box())->type->class_info()->is_module;
}

Tensor IValue::toTensor() const { return isNone() ? Tensor() : Tensor(expect(*this, Tag::Tensor).tensor()); }
bool IValue::toBool() const { return expect(*this, Tag::Bool).raw_int() != 0; }
int64_t IValue::toInt() const { return expect(*this, Tag::Int).raw_int(); }
double IValue::toDouble() const { return expect(*this, Tag::Double).raw_double(); }
std::string IValue::toString() const { return std::string(expect(*this, Tag::String).arg().text()); }
Module IValue::toModule() const {
  FC_CHECK(isModule(), "a module was expected, the value is a ", kind());
  return Access::module(Access::get(*this));
}
std::vector<Tensor> IValue::toTensorVector() const {
  const fc::Value v = expect(*this, Tag::TensorList);
  const fc::TensorSpan items = v.arg().tensors();
  return {items.begin(), items.end()};
}
std::vector<IValue> IValue::elements() const {
  const fc::Value v = Access::get(*this);
  std::vector<IValue> out;
  if (v.tag() == Tag::Tuple) {
    for (const fc::Value& i : fc::tuple_of(v).items) out.push_back(Access::make(i));
    return out;
  }
  FC_CHECK(fc::is_list(v.tag()), "a list or tuple was expected, the value is a ", kind());
  fc::visit_list(v, [&](const auto& items) {
    for (const auto& i : items) out.push_back(Access::make(fc::Value(i)));
  });
  return out;
}
std::vector<std::pair<IValue, IValue>> IValue::entries() const {
  const fc::Value v = expect(*this, Tag::Dict);
  fc::DictBox& d = fc::dict_of(v);
  std::vector<std::pair<IValue, IValue>> out;
  for (size_t at = d.next(0); at != SIZE_MAX; at = d.next(at + 1))
    out.emplace_back(Access::make(d.key_at(at)), Access::make(d.value_at(at)));
  return out;
}
std::string IValue::kind() const { return fc::annotation_text(fc::value_type(Access::get(*this))); }

IValue Module::run_method(const std::string& name, const std::vector<IValue>& arguments) const {
  const fc::Instance& o = Access::instance(*this);
  const fc::jit::Function* f = fc::jit::find_method(o.type, name);
  FC_CHECK_AS(AttributeError, f, "'", o.type->name(), "' object has no method '", name, "'");
  std::vector<fc::Value> all{Access::get(*this)};
  for (const IValue& v : arguments) all.push_back(Access::get(v));
  return Access::make((*f)(std::move(all)));
}
bool Module::has_method(const std::string& name) const {
  return fc::jit::find_method(Access::instance(*this).type, name);
}
std::vector<std::string> Module::method_names() const {
  std::vector<std::string> out;
  for (const auto& m : Access::instance(*this).type->class_info()->methods) out.push_back(m.name);
  return out;
}

IValue Module::attr(const std::string& name) const {
  const fc::Instance& o = Access::instance(*this);
  return Access::make(o.slots[slot_of(o, name)]);
}
bool Module::hasattr(const std::string& name) const {
  return Access::instance(*this).type->class_info()->find_attribute(name) >= 0;
}
void Module::setattr(const std::string& name, const IValue& value) const {
  fc::Instance& o = Access::instance(*this);
  const size_t slot = slot_of(o, name);
  const fc::Type* type = o.type->class_info()->attributes[slot].type;
  fc::Value v = Access::get(value);
  FC_CHECK_AS(TypeError, fc::fits(v, type), "attribute '", name, "' is a ", fc::annotation_text(type), ", not a ",
              value.kind());
  o.slots[slot] = std::move(v);
}

std::vector<std::pair<std::string, Tensor>> Module::named_parameters() const {
  return tensors_of(*this, fc::ClassInfo::Role::Parameter);
}
std::vector<std::pair<std::string, Tensor>> Module::named_buffers() const {
  return tensors_of(*this, fc::ClassInfo::Role::Buffer);
}
std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> out;
  for (auto& [name, t] : named_parameters()) out.push_back(std::move(t));
  return out;
}
void Module::train(bool on) const {
  for (const auto& [name, o] : modules_of(Access::instance(*this)))
    if (const int i = o->type->class_info()->find_attribute("training"); i >= 0) o->slots[static_cast<size_t>(i)] = on;
}
bool Module::is_training() const { return hasattr("training") && attr("training").toBool(); }

void Module::save(const std::string& path) const {
  fc::files::AtomicFile file(path);
  fc::jit::write_archive(file, fc::jit::archive_folder(path), Access::get(*this), {});
  file.commit();
}

Module load(const std::string& path, std::optional<Device> device) {
  fc::initialise();
  try {
    return Access::module(fc::jit::read_archive_file(path, device).module);
  } catch (const fc::files::SystemError& e) { fc::raise<fc::Error>(path, ": ", std::strerror(e.number)); }
}

}  // namespace facula::jit
