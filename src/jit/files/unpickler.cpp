// SPDX-License-Identifier: Apache-2.0
#include "jit/files/unpickler.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "core/class_type.h"
#include "core/containers.h"
#include "core/device_record.h"
#include "files/pickle.h"
#include "jit/run/interpreter.h"

namespace fc::jit {
namespace {

// What a pickle has beside values.
struct Special final : RefCounted {
  std::string name;        // "torch._utils._rebuild_tensor_v2"
  TypeRef type = nullptr;  // a class or an enum
  Ref<Storage> storage;    // of elements of
  DType dtype = DType::Undefined;
  std::vector<fc::Value> items;  // a tuple that holds one of these
  bool is_tuple = false;

 protected:
  void destroy() noexcept override { delete_in_turn(this); }
};
const Special* special(const fc::Value& v) { return v.tag() == Tag::Object ? static_cast<Special*>(v.box()) : nullptr; }
fc::Value value_of(Ref<Special> s) { return {Tag::Object, std::move(s)}; }

[[noreturn]] void damaged(const auto&... parts) { raise<Error>("the archive's data is damaged: ", parts...); }

std::span<const fc::Value> items_of(const fc::Value& v) {
  if (v.tag() == Tag::Tuple) return tuple_of(v).items;
  const Special* s = special(v);
  if (!s || !s->is_tuple) damaged("arguments are no tuple");
  return s->items;
}

int64_t number(const fc::Value& v) {
  if (v.tag() != Tag::Int) damaged("a number is a ", to_string(v.tag()));
  return v.raw_int();
}
std::string_view string(const fc::Value& v) {
  if (v.tag() != Tag::String) damaged("a string is a ", to_string(v.tag()));
  return v.arg().text();
}

DType storage_dtype(std::string_view name) {
  constexpr std::string_view ending = "Storage";
  if (!name.starts_with("torch.") || !name.ends_with(ending)) return DType::Undefined;
  name = name.substr(6, name.size() - 6 - ending.size());
  for (const DType t : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::UInt8, DType::Int8,
                        DType::Int16, DType::Int32, DType::Int64, DType::Bool, DType::Complex64, DType::Complex128})
    if (dtype_text(t) == name) return t;
  return DType::Undefined;
}

constexpr int64_t state_turns = 1000;  // times 1024 turns of loops: what a __setstate__ may take

}  // namespace

void ValueUnpickler::refuse(const char* what) { raise<Error>("archives of TorchScript hold no ", what); }

fc::Value ValueUnpickler::read(const std::string& record) {
  const std::string text = zip_.read(record);
  files::PickleReader reader(std::string_view(text), *this);
  fc::Value out = reader.read();
  if (special(out)) damaged(record, " is no value");
  return out;
}

ValueUnpickler::Object ValueUnpickler::long_integer(std::string_view s) {
  if (s.size() > 8) refuse("numbers of more than 64 bits");
  uint64_t v = !s.empty() && s.back() < 0 ? ~uint64_t{0} : 0;
  for (size_t i = s.size(); i-- > 0;) v = v << 8 | static_cast<unsigned char>(s[i]);
  return static_cast<int64_t>(v);
}

ValueUnpickler::Object ValueUnpickler::tuple(std::span<Object> items) {
  std::vector<fc::Value> own(items.begin(), items.end());
  if (std::ranges::none_of(own, [](const auto& v) { return special(v) != nullptr; }))
    return tuple_value(std::move(own));
  auto s = make_ref<Special>();
  s->is_tuple = true;
  s->items = std::move(own);
  return value_of(std::move(s));
}

ValueUnpickler::Object ValueUnpickler::list() {
  return {Tag::List, make_ref<ListBox>(nullptr, std::vector<fc::Value>())};
}
ValueUnpickler::Object ValueUnpickler::dict() { return {Tag::Dict, make_ref<DictBox>(nullptr, nullptr)}; }

void ValueUnpickler::append(Object& to, std::span<Object> items) {
  if (to.tag() != Tag::List || list_of(to).item) damaged("something is appended to what is no list");
  for (const fc::Value& v : items) {
    if (special(v)) damaged("a list holds what is no value");
    list_of(to).items.push_back(v);
  }
}

void ValueUnpickler::set_items(Object& to, std::span<Object> items) {
  if (to.tag() != Tag::Dict || dict_of(to).key) damaged("a key is set of what is no dict");
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (special(items[i]) || special(items[i + 1])) damaged("a dict holds what is no value");
    dict_of(to).set(items[i], items[i + 1]);
  }
}

ValueUnpickler::Object ValueUnpickler::global(std::string_view module, std::string_view name) {
  auto s = make_ref<Special>();
  s->name = str(module, ".", name);
  if (s->name.starts_with("__torch__.")) {
    s->type = importer_.find_class(s->name);
    return value_of(std::move(s));
  }
  s->dtype = storage_dtype(s->name);
  constexpr std::string_view known[] = {
      "torch._utils._rebuild_tensor_v2",
      "torch.jit._pickle.build_intlist",
      "torch.jit._pickle.build_doublelist",
      "torch.jit._pickle.build_boollist",
      "torch.jit._pickle.build_tensorlist",
      "torch.jit._pickle.restore_type_tag",
      "torch.jit._pickle.build_tensor_from_id",
      "collections.OrderedDict",
      "builtins.complex",
      "torch.device",
  };
  if (s->name == "torch._utils._rebuild_qtensor" || s->name.starts_with("torch.Q"))
    refuse("quantized tensors that are read here");
  if (s->name == "torch._utils._rebuild_sparse_tensor") refuse("sparse tensors that are read here");
  if (s->name.starts_with("torch.distributed.rpc")) refuse("remote references (RPC) that are read here");
  FC_CHECK(s->dtype != DType::Undefined || std::ranges::find(known, s->name) != std::end(known), "the archive names '",
           s->name, "', which is nothing that archives of TorchScript are known to hold");
  return value_of(std::move(s));
}

ValueUnpickler::Object ValueUnpickler::persistent(const Object& id) {
  const auto parts = items_of(id);
  if (parts.size() < 5 || string(parts[0]) != "storage") damaged("a storage is described in another way");
  const Special* type = special(parts[1]);
  if (!type || type->dtype == DType::Undefined) damaged("the type of a storage is none");
  const std::string key(string(parts[2]));
  const int64_t numel = number(parts[4]);
  fc::Value& known = storages_[key];
  if (!known.is_none()) {
    if (special(known)->dtype != type->dtype) damaged("storage ", key, " has two types");
    return known;
  }
  const files::Record& record = zip_.get(folder_ + "/" + key);
  if (numel < 0 || record.bytes != static_cast<uint64_t>(numel) * item_size(type->dtype) ||
      static_cast<uint64_t>(numel) > record.bytes)
    damaged("record ", folder_, "/", key, " has ", record.bytes, " bytes, not those of ", numel, " elements");
  auto s = make_ref<Special>();
  s->dtype = type->dtype;
  const Device device = target_ ? *target_ : parse_device(string(parts[3]));
  s->storage = allocate_storage(record.bytes, device);
  if (device.is_cpu()) {
    if (record.bytes) zip_.read(record, s->storage->data());
  } else if (record.bytes) {
    std::string bytes(record.bytes, '\0');
    zip_.read(record, bytes.data());
    copy_bytes(s->storage->data(), device, bytes.data(), Device{}, record.bytes);
  }
  return known = value_of(std::move(s));
}

Tensor ValueUnpickler::tensor(std::span<const fc::Value> args) {
  if (args.size() < 6) damaged("a tensor has too few parts");
  const Special* storage = special(args[0]);
  if (!storage || !storage->storage) damaged("a tensor has no storage");
  Dims sizes, strides;
  for (const fc::Value& v : items_of(args[2])) sizes.push_back(number(v));
  for (const fc::Value& v : items_of(args[3])) strides.push_back(number(v));
  const int64_t offset = number(args[1]);
  if (sizes.size() != strides.size() || sizes.size() > kMaxRank || offset < 0 ||
      std::ranges::any_of(sizes, [](int64_t n) { return n < 0; }) ||
      std::ranges::any_of(strides, [](int64_t n) { return n < 0 || n > kMaxStride; }))
    damaged("sizes ", IntSpan(sizes), " and strides ", IntSpan(strides), " fit no tensor");
  checked_numel(sizes);
  if (storage_bytes_needed(sizes, strides, offset, storage->dtype) > storage->storage->bytes())
    damaged("a tensor of sizes ", IntSpan(sizes), " lies outside of its storage");
  Tensor t(make_ref<TensorImpl>(storage->storage, storage->dtype, storage->storage->device()));
  t.impl().set_geometry(sizes, strides, offset);
  if (args[4].tag() != Tag::Bool) damaged("requires_grad is no truth value");
  if (args[4].raw_int()) autograd::set_requires_grad(t, true);
  return t;
}

// The value as one of that type: plain tuples become named ones, lists and dicts those of their items.
fc::Value ValueUnpickler::typed(const fc::Value& v, TypeRef t) {
  using enum TypeKind;
  if (special(v)) damaged("a value of type ", annotation_text(t), " is none");
  switch (t->kind()) {
    case Optional: return v.is_none() ? v : typed(v, t->item());
    case Union:
      for (TypeRef i : t->items())
        if (fits(v, i)) return v;
      for (TypeRef i : t->items())
        if (i->is(Tuple) && v.tag() == Tag::Tuple) return typed(v, i);
      break;
    case Tuple: {
      if (v.tag() != Tag::Tuple || tuple_of(v).items.size() != t->items().size()) break;
      std::vector<fc::Value> items;
      for (size_t i = 0; i < t->items().size(); ++i) items.push_back(typed(tuple_of(v).items[i], t->item(i)));
      return tuple_value(std::move(items), t->name().empty() ? nullptr : t);
    }
    case List: {
      if (!is_list(v.tag())) break;
      if (v.tag() != Tag::List || list_of(v).item) {
        if (fits(v, t)) return v;
        break;
      }
      std::vector<fc::Value> items;
      for (const fc::Value& i : list_of(v).items) items.push_back(typed(i, t->item()));
      return list_value(t->item(), std::move(items));
    }
    case Dict: {
      if (v.tag() != Tag::Dict) break;
      DictBox& from = dict_of(v);
      if (from.key) {
        if (fits(v, t)) return v;
        break;
      }
      fc::Value out = dict_value(t->item(0), t->item(1));
      for (size_t at = from.next(0); at != SIZE_MAX; at = from.next(at + 1))
        dict_of(out).set(typed(from.key_at(at), t->item(0)), typed(from.value_at(at), t->item(1)));
      return out;
    }
    case Tensor:
      if (v.is_none()) return fc::Tensor();
      break;
    default: break;
  }
  if (!fits(v, t)) damaged("a value of type ", annotation_text(t), " is a ", annotation_text(value_type(v)));
  return v;
}

ValueUnpickler::Object ValueUnpickler::reduce(const Object& function, const Object& args) {
  const Special* f = special(function);
  if (!f || f->is_tuple) damaged("something is called that cannot be");
  if (f->type) {
    if (!f->type->is(TypeKind::Enum)) damaged("an object of class ", f->type->name(), " is made by a call");
    for (const auto& [name, value] : f->type->class_info()->constants) {
      const fc::Value& own = value.tag() == Tag::Enum ? static_cast<EnumBox*>(value.box())->value : value;
      if (own.tag() == args.tag() && equal(own, args)) return {Tag::Enum, make_ref<EnumBox>(f->type, name, own)};
    }
    damaged("enum ", f->type->name(), " has no such value");
  }
  const auto given = items_of(args);
  const std::string& name = f->name;
  const auto need = [&](size_t n) {
    if (given.size() != n) damaged(name, " takes ", n, " arguments, not ", given.size());
  };
  if (name == "collections.OrderedDict") return {};
  if (name == "torch._utils._rebuild_tensor_v2") return tensor(given);
  if (name == "builtins.complex") {
    need(2);
    return Scalar(ComplexDouble{given[0].arg().real(), given[1].arg().real()});
  }
  if (name == "torch.device") {
    need(1);
    return parse_device(string(given[0]));
  }
  if (name == "torch.jit._pickle.restore_type_tag") {
    need(2);
    return typed(given[0], importer_.type_of_text(std::string(string(given[1]))));
  }
  using enum TypeKind;
  const TypeRef item = name.ends_with("intlist")      ? simple_type(Int)
                       : name.ends_with("doublelist") ? simple_type(Float)
                       : name.ends_with("boollist")   ? simple_type(Bool)
                       : name.ends_with("tensorlist") ? tensor_type()
                                                      : nullptr;
  if (!item) damaged(name, " is called");
  need(1);
  return typed(given[0], list_type(item));
}

ValueUnpickler::Object ValueUnpickler::new_object(const Object& type, const Object& args) {
  const Special* s = special(type);
  if (!s || !s->type || !s->type->is(TypeKind::Class)) damaged("an object is made of what is no class");
  if (!items_of(args).empty()) damaged("an object of class ", s->type->name(), " is made with arguments");
  return {Tag::Instance, make_ref<Instance>(s->type, s->type->class_info()->attributes.size())};
}

void ValueUnpickler::build(Object& object, const Object& state) {
  if (object.tag() != Tag::Instance) damaged("state is given to what is no object");
  auto& o = *static_cast<Instance*>(object.box());
  const ClassInfo& info = *o.type->class_info();
  if (const Function* set_state = find_method(o.type, "__setstate__")) {
    const Schema& s = set_state->schema();
    FC_CHECK(s.parameters.size() == 2, o.type->name(), ".__setstate__ takes one argument beside self");
    const TurnLimit limit(state_turns);
    (*set_state)({object, typed(state, s.parameters[1].whole_type)});
    return;
  }
  if (state.tag() != Tag::Dict) damaged("the state of an object is no dict");
  DictBox& given = dict_of(state);
  std::vector<bool> set(info.attributes.size());
  for (size_t at = given.next(0); at != SIZE_MAX; at = given.next(at + 1)) {
    const std::string_view name = string(given.key_at(at));
    const int i = info.find_attribute(name);
    FC_CHECK(i >= 0, "the archive gives an object of class '", o.type->name(), "' an attribute '", name,
             "', which the class has not");
    const auto slot = static_cast<size_t>(i);
    o.slots[slot] = typed(given.value_at(at), info.attributes[slot].type);
    set[slot] = true;
  }
  for (size_t i = 0; i < set.size(); ++i)
    FC_CHECK(set[i] || info.attributes[i].type->is(TypeKind::Optional) || info.attributes[i].type->is(TypeKind::None),
             "the archive gives an object of class '", o.type->name(), "' no attribute '", info.attributes[i].name,
             "'");
}

}  // namespace fc::jit
