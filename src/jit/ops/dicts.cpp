// SPDX-License-Identifier: Apache-2.0
// Operators on dicts, one overload for each type of key.
#include "core/type.h"
#include "jit/ops/script_ops.h"

namespace fc::jit {
namespace {

#define KERNEL(name) void name(void*, const Operator&, [[maybe_unused]] const Arg* a, [[maybe_unused]] fc::Value* r)

DictBox& dict(const Arg& a) { return dict_of(held(a)); }
fc::Value& at(const Arg* a) {
  fc::Value* v = dict(a[0]).find(value_of(a[1]));
  if (!v) raise<IndexError>("KeyError: ", to_string(value_of(a[1])));
  return *v;
}
template <class F>
void each(DictBox& d, F&& f) {
  for (size_t i = d.next(0); i != SIZE_MAX; i = d.next(i + 1)) f(d.key_at(i), d.value_at(i));
}
fc::Value copied(DictBox& d) {
  fc::Value out = dict_value(d.key, d.value);
  each(d, [&](const fc::Value& k, const fc::Value& v) { dict_of(out).set(k, v); });
  return out;
}

KERNEL(get_item) { r[0] = at(a); }
KERNEL(get) {
  if (const fc::Value* v = dict(a[0]).find(value_of(a[1]))) r[0] = *v;
}
KERNEL(get_or) {
  const fc::Value* v = dict(a[0]).find(value_of(a[1]));
  r[0] = v ? *v : value_of(a[2]);
}
KERNEL(set_default) {
  const fc::Value key = value_of(a[1]);
  if (!dict(a[0]).find(key)) dict(a[0]).set(key, value_of(a[2]));
  r[0] = *dict(a[0]).find(key);
}
KERNEL(set_item) { dict(a[0]).set(value_of(a[1]), value_of(a[2])); }
KERNEL(remove) {
  at(a);
  dict(a[0]).erase(value_of(a[1]));
}
KERNEL(pop) {
  r[0] = at(a);
  dict(a[0]).erase(value_of(a[1]));
}
KERNEL(pop_or) {
  const fc::Value key = value_of(a[1]);
  const fc::Value* v = dict(a[0]).find(key);
  r[0] = v ? *v : value_of(a[2]);
  dict(a[0]).erase(key);
}
KERNEL(pop_item) {  // the first, as PyTorch
  DictBox& d = dict(a[0]);
  FC_CHECK(d.size() > 0, "popitem(): dictionary is empty");
  const size_t first = d.next(0);
  const fc::Value key = d.key_at(first);
  r[0] = tuple_value({key, d.value_at(first)});
  d.erase(key);
}
KERNEL(clear) { dict(a[0]).clear(); }
KERNEL(copy) { r[0] = copied(dict(a[0])); }
KERNEL(length) { r[0] = static_cast<int64_t>(dict(a[0]).size()); }
KERNEL(contains) { r[0] = dict(a[0]).find(value_of(a[1])) != nullptr; }
KERNEL(update) {
  const fc::Value from = copied(dict(a[1]));  // it may be the same dict
  each(dict_of(from), [&](const fc::Value& k, const fc::Value& v) { dict(a[0]).set(k, v); });
}
KERNEL(keys) {
  std::vector<fc::Value> out;
  each(dict(a[0]), [&](const fc::Value& k, const fc::Value&) { out.push_back(k); });
  r[0] = list_value(dict(a[0]).key, std::move(out));
}
KERNEL(values) {
  std::vector<fc::Value> out;
  each(dict(a[0]), [&](const fc::Value&, const fc::Value& v) { out.push_back(v); });
  r[0] = list_value(dict(a[0]).value, std::move(out));
}
KERNEL(items) {
  std::vector<fc::Value> out;
  each(dict(a[0]), [&](const fc::Value& k, const fc::Value& v) { out.push_back(tuple_value({k, v})); });
  r[0] = list_value(tuple_type({dict(a[0]).key, dict(a[0]).value}), std::move(out));
}
KERNEL(empty) { r[0] = dict_value(simple_type(TypeKind::String), tensor_type()); }
template <TypeKind key>
KERNEL(from_pairs) {
  std::vector<fc::Value> pairs = list_of(held(a[0])).items;
  TypeRef item = list_of(held(a[0])).item;
  const bool known = item && item->is(TypeKind::Tuple) && item->items().size() == 2;
  r[0] = dict_value(simple_type(key), known ? item->item(1) : simple_type(TypeKind::Any));
  for (const fc::Value& p : pairs) {
    FC_CHECK(p.tag() == Tag::Tuple && tuple_of(p).items.size() == 2, "dict() of what are no pairs");
    dict_of(r[0]).set(tuple_of(p).items[0], tuple_of(p).items[1]);
  }
}

// K stands for the type of the keys; `prefix` is that of the overload's name.
struct Form {
  const char *name, *prefix, *rest;
  KernelFn run;
};
constexpr Form forms[] = {
    {"__getitem__", "Dict_", "(Dict(K, t) self, K key) -> t(*)", get_item},
    {"get", "", "(Dict(K, t) self, K key) -> t(*)?", get},
    {"get", "default_", "(Dict(K, t) self, K key, t default_value) -> t(*)", get_or},
    {"setdefault", "", "(Dict(K, t)(a!) self, K(b -> *) key, t(c -> *) default_value) -> t(*)", set_default},
    {"_set_item", "", "(Dict(K, t)(a!) l, K(b -> *) idx, t(c -> *) v) -> ()", set_item},
    {"Delete", "Dict_", "(Dict(K, t)(a!) self, K key) -> ()", remove},
    {"pop", "Dict_", "(Dict(K, t)(a!) self, K key) -> t(*)", pop},
    {"pop", "Dict_default_", "(Dict(K, t)(a!) self, K key, t default_value) -> t(*)", pop_or},
    {"popitem", "", "(Dict(K, t)(a!) self) -> ((K, t))", pop_item},
    {"clear", "", "(Dict(K, t)(a!) self) -> ()", clear},
    {"copy", "Dict_", "(Dict(K, t)(a) self) -> Dict(K, t)", copy},
    {"dict", "Dict_", "(Dict(K, t)(a) self) -> Dict(K, t)", copy},
    {"len", "Dict_", "(Dict(K, t) self) -> int", length},
    {"__contains__", "", "(Dict(K, t) dict, K key) -> bool", contains},
    {"update", "", "(Dict(K, t)(a!) self, Dict(K, t)(a!) to_add) -> ()", update},
    {"keys", "", "(Dict(K, t) self) -> K[](*)", keys},
    {"values", "", "(Dict(K, t) self) -> t[](*)", values},
    {"items", "", "(Dict(K, t) self) -> ((K, t)[])", items},
};

constexpr ScriptRow rows[] = {
    {"aten::dict() -> Dict(str, Tensor)", empty},
    {"aten::dict.str((str, tVal)[] inputs) -> Dict(str, tVal)", from_pairs<TypeKind::String>},
    {"aten::dict.int((int, tVal)[] inputs) -> Dict(int, tVal)", from_pairs<TypeKind::Int>},
    {"aten::dict.bool((bool, tVal)[] inputs) -> Dict(bool, tVal)", from_pairs<TypeKind::Bool>},
    {"aten::dict.float((float, tVal)[] inputs) -> Dict(float, tVal)", from_pairs<TypeKind::Float>},
    {"aten::dict.complex((complex, tVal)[] inputs) -> Dict(complex, tVal)", from_pairs<TypeKind::Complex>},
    {"aten::dict.Tensor((Tensor, tVal)[] inputs) -> Dict(Tensor, tVal)", from_pairs<TypeKind::Tensor>},
};

std::string with_key(std::string_view rest, std::string_view key) {
  std::string out;
  for (size_t i = 0; i < rest.size(); ++i) {
    const bool alone = rest[i] == 'K' && (i == 0 || !std::isalnum(static_cast<unsigned char>(rest[i - 1])));
    if (alone) out += key;
    else out += rest[i];
  }
  return out;
}

}  // namespace

void define_dict_operators() {
  for (const char* key : {"str", "int", "bool", "float", "complex", "Tensor"})
    for (const Form& f : forms)
      define_hidden(str("aten::", f.name, '.', f.prefix, key, with_key(f.rest, key))).set_all_devices({f.run, nullptr});
  define_rows(rows);
}

}  // namespace fc::jit
