// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/value_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/containers.h"
#include "core/device.h"
#include "core/format.h"
#include "core/type.h"
#include "define/calls.h"
#include "define/tensor_text.h"
#include "jit/ir/graph.h"

namespace fc::jit {
namespace {

constexpr int64_t largest_shown = 10;  // elements of a tensor that is written out

void append_plain(std::string& out, double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", v);
  out += text;
}

void append_complex(std::string& out, const std::complex<double>& v) {
  append_number(out, v.real());
  out += v.imag() >= 0 ? '+' : '-';
  append_number(out, std::fabs(v.imag()));
  out += 'j';
}

void append_tensor(std::string& out, const Tensor& t) {
  if (t.defined() && t.numel() == 1 && !t.device().is_meta()) {
    Scalar s = call<"aten::_local_scalar_dense", Scalar>(t);
    out += '{';
    if (s.is_complex()) {
      out += '(';
      append_plain(out, s.to_complex().re);
      out += ',';
      append_plain(out, s.to_complex().im);
      out += ')';
    } else if (!s.is_integral(true)) {
      append_plain(out, s.to_double());
    } else {
      append_int(out, s.to_int());
    }
    out += '}';
  } else if (t.defined() && t.numel() > largest_shown) {
    out += "<Tensor>";
  } else {
    std::string text = tensor_text(t);
    std::ranges::replace(text, '\n', ' ');
    out += text;
  }
}

}  // namespace

namespace {

TypeRef list_item_type(const fc::Value& v) { return type_of(v)->item(); }

template <class Items, class F>
void append_items(std::string& out, const Items& items, const char* open, const char* close, F&& each) {
  out += open;
  bool first = true;
  for (const auto& i : items) {
    if (!std::exchange(first, false)) out += ", ";
    each(i);
  }
  out += close;
}

template <class Items, class F>
void append_list(std::string& out, const Items& items, TypeRef item, F&& each) {  // an empty one names its type
  bool told = !items.empty() && items_tell_type(item);
  if (!told) out += str("annotate(", annotation_text(list_type(item)), ", ");
  append_items(out, items, "[", "]", each);
  if (!told) out += ')';
}

void append_scalar(std::string& out, const Scalar& s) {
  if (s.is_bool()) out += s.to_bool() ? "True" : "False";
  else if (s.is_integral(false)) append_int(out, s.to_int());
  else if (s.is_complex()) append_complex(out, {s.to_complex().re, s.to_complex().im});
  else append_number(out, s.to_double());
}

// Types bound how deeply values nest.
void append_value(std::string& out, const fc::Value& v, const ValueWriter& own) {
  if (own && own(out, v)) return;
  const Arg a = v.arg();
  switch (v.tag()) {
    case Tag::None: out += "None"; return;
    case Tag::Tensor: append_tensor(out, a.tensor()); return;
    case Tag::Bool: out += a.boolean() ? "True" : "False"; return;
    case Tag::Int: append_int(out, a.integer()); return;
    case Tag::Double: append_number(out, a.real()); return;
    case Tag::Scalar: append_scalar(out, a.scalar()); return;
    case Tag::String: append_quoted(out, a.text()); return;
    case Tag::Device:
      out += "torch.device(";
      append_quoted(out, to_string(a.device()));
      out += ')';
      return;
    case Tag::DType: append_int(out, static_cast<int64_t>(a.dtype())); return;
    case Tag::Layout: append_int(out, static_cast<int64_t>(a.layout())); return;
    case Tag::MemoryFormat: append_int(out, static_cast<int64_t>(a.memory_format())); return;
    case Tag::IntList:
      return append_list(out, a.ints(), simple_type(TypeKind::Int), [&](int64_t i) { append_int(out, i); });
    case Tag::DoubleList:
      return append_list(out, a.doubles(), simple_type(TypeKind::Float), [&](double d) { append_number(out, d); });
    case Tag::BoolList:
      return append_list(out, a.bools(), simple_type(TypeKind::Bool), [&](bool b) { out += b ? "True" : "False"; });
    case Tag::ScalarList:
      return append_list(out, a.scalars(), simple_type(TypeKind::Number),
                         [&](const Scalar& s) { append_scalar(out, s); });
    case Tag::TensorList:
      if (!own) out += "[<Tensors>]";
      else append_list(out, a.tensors(), tensor_type(), [&](const Tensor& t) { append_value(out, fc::Value(t), own); });
      return;
    case Tag::List:
      return append_list(out, a.values(), list_item_type(v), [&](const fc::Value& i) { append_value(out, i, own); });
    case Tag::Tuple: {
      const auto& items = tuple_of(v).items;
      append_items(out, items, "(", items.size() == 1 ? ",)" : ")",
                   [&](const fc::Value& i) { append_value(out, i, own); });
      return;
    }
    case Tag::Dict: {
      DictBox& d = dict_of(v);
      out += '{';
      for (size_t at = d.next(0), first = at; at != SIZE_MAX; at = d.next(at + 1)) {
        if (at != first) out += ", ";
        append_value(out, d.key_at(at), own);
        out += ": ";
        append_value(out, d.value_at(at), own);
      }
      out += '}';
      return;
    }
    case Tag::Enum: {
      const auto& e = *static_cast<EnumBox*>(v.box());
      out += str(e.type->name(), '.', e.name);
      return;
    }
    default: out += str("<", to_string(v.tag()), ">"); return;
  }
}

}  // namespace

std::string complex_text(const std::complex<double>& v) {
  std::string out;
  append_complex(out, v);
  return out;
}

std::string value_text(const fc::Value& v) { return value_text(v, {}); }
std::string value_text(const fc::Value& v, const ValueWriter& own) {
  std::string out;
  append_value(out, v, own);
  return out;
}

bool items_tell_type(TypeRef item) {
  using enum TypeKind;
  return !item->is(Optional) && !item->is(Union) && !item->is(Number) && !item->is(Any) && !item->is(Interface);
}

std::string printed_text(const fc::Value& v) {
  std::string out;
  const auto join = [&](const char* open, const char* close, size_t n, auto&& item) {
    out += open;
    for (size_t i = 0; i < n; ++i) out += str(i ? ", " : "", item(i));
    out += close;
  };
  switch (v.tag()) {
    case Tag::String: return std::string(v.arg().text());
    case Tag::Double: append_number(out, v.arg().real()); return out;
    case Tag::IntList:
    case Tag::DoubleList:
    case Tag::BoolList:
    case Tag::ScalarList:
    case Tag::List:
      visit_list(v, [&](auto& items) {
        join("[", "]", items.size(), [&](size_t i) { return printed_text(fc::Value(items[i])); });
      });
      return out;
    case Tag::Tuple: {
      const auto& items = tuple_of(v).items;
      join("(", items.size() == 1 ? ",)" : ")", items.size(), [&](size_t i) { return printed_text(items[i]); });
      return out;
    }
    case Tag::Dict: {
      DictBox& d = dict_of(v);
      size_t at = d.next(0);
      join("{", "}", d.size(), [&](size_t) {
        const size_t own = std::exchange(at, d.next(at + 1));
        return printed_text(d.key_at(own)) + ": " + printed_text(d.value_at(own));
      });
      return out;
    }
    default: return to_string(v);
  }
}

}  // namespace fc::jit
