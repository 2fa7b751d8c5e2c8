// SPDX-License-Identifier: Apache-2.0
#include "jit/files/pickler.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "core/class_type.h"
#include "core/containers.h"
#include "core/sparse.h"
#include "jit/run/interpreter.h"

namespace fc::jit {
namespace {

constexpr int deepest_value = 1000;

struct Nested {
  int& depth;
  explicit Nested(int& d) : depth(d) {
    FC_CHECK(++depth <= deepest_value, "a value nests deeper than ", deepest_value,
             " or contains itself: archives do not hold such values");
  }
  ~Nested() { --depth; }
};

// What a value's type says of it, where the declared one is of its kind.
TypeRef tag_type(const fc::Value& v, TypeRef declared) {
  TypeRef own = type_of(v)->unshaped();
  if (declared && declared->is(TypeKind::Optional)) declared = declared->item();
  return declared && declared->kind() == own->kind() ? declared->unshaped() : own;
}

}  // namespace

void ValuePickler::text(std::string_view s) {
  const auto [at, fresh] = texts_.try_emplace(std::string(s), next_);
  if (!fresh) return out_.get(at->second);
  out_.text(s);
  put();
}

void ValuePickler::global(std::string_view module, std::string_view name) {
  const auto [at, fresh] = globals_.try_emplace(str(module, "\n", name), next_);
  if (!fresh) return out_.get(at->second);
  out_.global(module, name);
  put();
}

void ValuePickler::class_name(TypeRef t) {
  if (met_) met_->add(t);
  const size_t dot = t->name().rfind('.');
  FC_CHECK(dot != std::string_view::npos, "class '", t->name(), "' has no qualified name: it cannot be saved");
  global(t->name().substr(0, dot), t->name().substr(dot + 1));
}

// PyTorch reads longer ones than 32 bits with all eight bytes only.
void ValuePickler::integer(int64_t v) {
  if (v == static_cast<int32_t>(v)) return out_.integer(v);
  char bytes[8];
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(static_cast<uint64_t>(v) >> (8 * i));
  out_.long_integer({bytes, 8});
}

void ValuePickler::tuple_end(size_t items) {
  using files::Op;
  constexpr Op ops[] = {Op::EmptyTuple, Op::Tuple1, Op::Tuple2, Op::Tuple3};
  out_.op(items < std::size(ops) ? ops[items] : Op::Tuple);
}

void ValuePickler::tuple(size_t items, const std::function<void(size_t)>& item) {
  if (items > 3) mark();
  for (size_t i = 0; i < items; ++i) item(i);
  tuple_end(items);
}

void ValuePickler::tensor(const Tensor& t) {
  FC_CHECK(!is_sparse(t), "archives of TorchScript hold no sparse tensors");
  FC_CHECK(!t.device().is_meta(), "archives of TorchScript hold no tensors of the meta device");
  const Storage* storage = t.impl().storage().get();
  const auto [at, fresh] = storage_numbers_.try_emplace(storage, storages_.size());
  const DType dtype = storage_types_.try_emplace(storage, t.dtype()).first->second;
  FC_CHECK(dtype == t.dtype(), "Cannot save multiple tensors or storages that view the same data as different types");
  if (fresh) storages_.push_back(t.impl().storage());
  const std::string_view name = dtype_text(dtype);
  constexpr std::string_view typed[] = {"Float", "Double", "Half", "BFloat16", "Byte",         "Char",
                                        "Short", "Int",    "Long", "Bool",     "ComplexFloat", "ComplexDouble"};
  FC_CHECK(std::ranges::find(typed, name) != std::end(typed), "archives of TorchScript hold no tensors of ", dtype);
  global("torch._utils", "_rebuild_tensor_v2");
  mark();
  mark();
  text("storage");
  global("torch", str(name, "Storage"));
  text(str(at->second));
  text(to_string(t.device()));
  integer(static_cast<int64_t>(storage->bytes() / item_size(dtype)));
  out_.op(files::Op::Tuple);
  out_.op(files::Op::BinPersId);
  integer(t.impl().offset());
  for (const IntSpan numbers : {IntSpan(t.sizes()), IntSpan(t.strides())}) {
    mark();
    for (const int64_t n : numbers) integer(n);
    out_.op(files::Op::Tuple);
  }
  out_.op(autograd::requires_grad(t) ? files::Op::NewTrue : files::Op::NewFalse);
  global("collections", "OrderedDict");
  out_.op(files::Op::EmptyTuple);
  reduce();
  out_.op(files::Op::Tuple);
  reduce();
}

void ValuePickler::list(const fc::Value& v, TypeRef declared) {
  TypeRef type = tag_type(v, declared);
  using enum TypeKind;
  const char* builder = type->item()->is(Int)      ? "build_intlist"
                        : type->item()->is(Float)  ? "build_doublelist"
                        : type->item()->is(Bool)   ? "build_boollist"
                        : type->item()->is(Tensor) ? "build_tensorlist"
                                                   : nullptr;
  global("torch.jit._pickle", builder ? builder : "restore_type_tag");
  if (builder) mark();
  out_.op(files::Op::EmptyList);
  mark();
  visit_list(v, [&](const auto& items) {
    for (const auto& i : items) value(fc::Value(i), type->item());
  });
  out_.op(files::Op::Appends);
  if (builder) {
    out_.op(files::Op::Tuple);
  } else {
    if (met_) met_->add(type);
    text(annotation_text(type));
    out_.op(files::Op::Tuple2);
  }
  reduce();
}

void ValuePickler::dict(const fc::Value& v, TypeRef declared) {
  TypeRef type = tag_type(v, declared);
  if (met_) met_->add(type);
  global("torch.jit._pickle", "restore_type_tag");
  out_.op(files::Op::EmptyDict);
  mark();
  DictBox& d = dict_of(v);
  for (size_t at = d.next(0); at != SIZE_MAX; at = d.next(at + 1)) {
    value(d.key_at(at), type->item(0));
    value(d.value_at(at), type->item(1));
  }
  out_.op(files::Op::SetItems);
  text(annotation_text(type));
  out_.op(files::Op::Tuple2);
  reduce();
}

void ValuePickler::object(const fc::Value& v) {
  const auto& o = *static_cast<Instance*>(v.box());
  const ClassInfo& info = *o.type->class_info();
  class_name(o.type);
  out_.op(files::Op::EmptyTuple);
  out_.op(files::Op::NewObj);
  if (const Function* state = find_method(o.type, "__getstate__"); state && find_method(o.type, "__setstate__")) {
    value((*state)({v}));
  } else {
    out_.op(files::Op::EmptyDict);
    mark();
    for (size_t i = 0; i < info.attributes.size(); ++i) {
      text(info.attributes[i].name);
      value(o.slots[i], info.attributes[i].type);
    }
    out_.op(files::Op::SetItems);
  }
  out_.op(files::Op::Build);
}

void ValuePickler::value(const fc::Value& v, TypeRef declared) {
  const Nested nested(depth_);
  using files::Op;
  const Arg a = v.arg();
  // What can be changed, or compared by identity, is the same object again.
  const void* address = v.tag() == Tag::Tensor && v.tensor().defined()                         ? &v.tensor().impl()
                        : is_list(v.tag()) || v.tag() == Tag::Dict || v.tag() == Tag::Instance ? v.box()
                                                                                               : nullptr;
  if (address) {
    if (const auto known = known_.find(address); known != known_.end()) return out_.get(known->second);
  }
  if (v.is_none()) return out_.op(Op::None);
  switch (v.tag()) {
    case Tag::Tensor: tensor(v.tensor()); break;
    case Tag::Bool: return out_.op(a.boolean() ? Op::NewTrue : Op::NewFalse);
    case Tag::Int:
    case Tag::DType:
    case Tag::Layout:
    case Tag::MemoryFormat: return integer(v.raw_int());
    case Tag::Double: return out_.real(v.raw_double());
    case Tag::Scalar: {
      const Scalar s = a.scalar();
      if (!s.is_complex())
        return value(s.is_bool()            ? fc::Value(s.to_bool())
                     : s.is_integral(false) ? fc::Value(s.to_int())
                                            : fc::Value(s.to_double()));
      global("builtins", "complex");
      out_.real(s.to_complex().re);
      out_.real(s.to_complex().im);
      out_.op(Op::Tuple2);
      return reduce();
    }
    case Tag::String: return text(a.text());
    case Tag::Device:
      global("torch", "device");
      text(to_string(a.device()));
      out_.op(Op::Tuple1);
      return reduce();
    case Tag::Tuple: {
      const auto& items = tuple_of(v).items;
      if (TypeRef named = tuple_of(v).named; named && met_) met_->add(named);
      const bool typed = declared && declared->is(TypeKind::Tuple) && declared->items().size() == items.size();
      return tuple(items.size(), [&](size_t i) { value(items[i], typed ? declared->item(i) : nullptr); });
    }
    case Tag::Enum: {
      const auto& e = *static_cast<EnumBox*>(v.box());
      class_name(e.type);
      value(e.value);
      return reduce();
    }
    case Tag::Dict: dict(v, declared); break;
    case Tag::Instance: object(v); break;
    case Tag::Future: raise<Error>("archives of TorchScript hold no futures");
    default:
      FC_CHECK(is_list(v.tag()), "archives of TorchScript hold no values of type ", to_string(v.tag()));
      list(v, declared);
  }
  known_.emplace(address, next_);
  kept_.push_back(v);
  put();
}

std::string ValuePickler::finish() {
  out_.op(files::Op::Stop);
  return out_.take();
}

}  // namespace fc::jit
