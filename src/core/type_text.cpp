// SPDX-License-Identifier: Apache-2.0
// The three spellings of a type.
#include <atomic>
#include <cstdlib>
#include <utility>

#include "core/class_type.h"
#include "core/format.h"
#include "core/literal.h"
#include "core/type_parse.h"

namespace fc {
namespace {

std::string default_text(const Value& v) {
  std::string out;
  if (v.tag() == Tag::String) append_quoted(out, v.arg().text());
  else if (v.tag() == Tag::Double) append_number(out, v.arg().real());
  else out = to_string(v.arg());
  return out;
}

enum class Style { Graph, Annotation, Schema };

int verbosity_at_first() {
  const char* text = std::getenv("PYTORCH_JIT_TYPE_VERBOSITY");
  return text && *text ? std::atoi(text) : 3;
}
std::atomic<int>& verbosity() {
  static std::atomic<int> level = verbosity_at_first();
  return level;
}

struct SimpleText {
  TypeKind kind;
  const char* text;        // in graphs and schemas
  const char* annotation;  // null: the same
};
constexpr SimpleText simple_texts[] = {
    {TypeKind::Any, "Any", nullptr},
    {TypeKind::None, "NoneType", nullptr},
    {TypeKind::Number, "Scalar", "number"},
    {TypeKind::Int, "int", nullptr},
    {TypeKind::Float, "float", nullptr},
    {TypeKind::Complex, "complex", nullptr},
    {TypeKind::Bool, "bool", nullptr},
    {TypeKind::String, "str", nullptr},
    {TypeKind::Device, "Device", nullptr},
    {TypeKind::Generator, "Generator", nullptr},
    {TypeKind::Stream, "Stream", nullptr},
    {TypeKind::Storage, "Storage", nullptr},
    {TypeKind::Function, "Function", nullptr},
    {TypeKind::PyObject, "PyObject", nullptr},
    {TypeKind::Capsule, "Capsule", nullptr},
    {TypeKind::AnyClass, "AnyClassType", nullptr},
    {TypeKind::AnyEnum, "AnyEnumType", nullptr},
    {TypeKind::AnyList, "list", nullptr},
    {TypeKind::AnyTuple, "tuple", nullptr},
    {TypeKind::SymInt, "SymInt", "int"},
    {TypeKind::SymFloat, "SymFloat", "float"},
    {TypeKind::SymBool, "SymBool", "bool"},
    {TypeKind::DType, "ScalarType", nullptr},
    {TypeKind::Layout, "Layout", nullptr},
    {TypeKind::MemoryFormat, "MemoryFormat", nullptr},
    {TypeKind::QScheme, "QScheme", nullptr},
    {TypeKind::Dimname, "Dimname", nullptr},
};

class Printer {
 public:
  explicit Printer(Style style) : style_(style) {}
  std::string out;

  void print(TypeRef t) {
    using enum TypeKind;
    switch (t->kind()) {
      case Tensor: return style_ == Style::Graph && t->facts() ? tensor(*t->facts()) : void(out += "Tensor");
      case Variable:
      case Class: out += t->name(); return;
      case List:
        if (annotation()) return wrap("List[", t, "]");
        print(t->item());
        out += '[';
        if (t->length()) append(out, t->length());
        out += ']';
        return;
      case Optional:
        if (annotation()) return wrap("Optional[", t, "]");
        return wrap("", t, "?");
      case Dict: return annotation() ? wrap("Dict[", t, "]") : plain("Dict(", t);
      case Tuple: return tuple(t);
      case Union: return joined(t);
      case Future: return style_ == Style::Schema ? wrap("Future(", t, ")") : wrap("Future[", t, "]");
      case RRef: return style_ == Style::Schema ? wrap("RRef(", t, ")") : wrap("RRef[", t, "]");
      case Await: return annotation() ? wrap("Await[", t, "]") : plain("Await(", t);
      case Enum:
        if (annotation()) out += t->name();
        else out += str("Enum<", t->name(), '>');
        return;
      case Interface:
        if (annotation()) out += t->name();
        else out += str("InterfaceType<", t->name().substr(t->name().rfind('.') + 1), '>');
        return;
      default:
        for (const SimpleText& s : simple_texts)
          if (s.kind == t->kind()) out += annotation() && s.annotation ? s.annotation : s.text;
    }
  }

 private:
  bool annotation() const { return style_ == Style::Annotation; }

  void wrap(std::string_view before, TypeRef t, std::string_view after) {
    out += before;
    for (size_t i = 0; i < t->items().size(); ++i) {
      if (i) out += ", ";
      print(t->item(i));
    }
    out += after;
  }

  // Inside of these a graph spells types as schemas do: nothing is told of tensors.
  void plain(std::string_view before, TypeRef t) {
    const Style style = std::exchange(style_, Style::Schema);
    wrap(before, t, ")");
    style_ = style;
  }

  void tuple(TypeRef t) {
    const bool named = !t->name().empty();
    if (named && style_ != Style::Graph) {
      out += t->name();
    } else if (annotation()) {
      if (t->items().empty()) out += "Tuple[()]";
      else wrap("Tuple[", t, "]");
    } else if (named) {
      out += "NamedTuple(";
      for (size_t i = 0; i < t->items().size(); ++i) {
        out += str(i ? ", " : "", t->field_names()[i], " : ");
        print(t->item(i));
        for (const auto& [field, value] : field_defaults(t))
          if (field == t->field_names()[i]) out += str(" = ", default_text(value));
      }
      out += ')';
    } else {
      wrap("(", t, ")");
    }
  }

  // The three numbers together print as one, last.
  void joined(TypeRef t) {
    using enum TypeKind;
    auto is_part = [](TypeRef i) { return i->is(Int) || i->is(Float) || i->is(Complex); };
    size_t parts = 0;
    for (TypeRef i : t->items()) parts += is_part(i);
    const Style style = style_;
    if (style_ == Style::Graph) style_ = Style::Schema;
    const size_t from = out.size() + 6;
    out += annotation() ? "Union[" : "Union(";
    auto next = [&](TypeRef i) {
      if (out.size() > from) out += ", ";
      print(i);
    };
    for (TypeRef i : t->items())
      if (parts < 3 || !is_part(i)) next(i);
    if (parts == 3) next(simple_type(Number));
    out += annotation() ? ']' : ')';
    style_ = style;
  }

  void tensor(const TensorFacts& f) {
    const int level = graph_text_verbosity();
    if (f.dtype) {
      out += dtype_text(*f.dtype);
      if (!f.sizes) out += "Tensor";
    } else {
      out += "Tensor";
    }
    std::vector<std::string> parts;
    if (f.sizes) {
      for (const auto& s : *f.sizes)
        parts.push_back(s && *s >= 0 ? str(*s) : s && level >= 4 ? str("SS(", *s, ')') : "*");
      if (level >= 2) strides(f, parts);
    }
    if (level >= 3) {
      if (f.requires_grad) parts.push_back(*f.requires_grad ? "requires_grad=1" : "requires_grad=0");
      if (f.device) parts.push_back("device=" + to_string(*f.device));
    }
    if (f.sizes || !parts.empty()) {
      out += '(';
      for (size_t i = 0; i < parts.size(); ++i) out += (i ? ", " : "") + parts[i];
      out += ')';
    }
    if (f.undefined && *f.undefined) out += "[Undefined]";
  }

  // Only where all of them are known.
  static void strides(const TensorFacts& f, std::vector<std::string>& parts) {
    if (!f.strides || f.strides->empty()) return;
    std::string text = "strides=[";
    for (size_t i = 0; i < f.strides->size(); ++i) {
      if (!(*f.strides)[i]) return;
      text += str(i ? ", " : "", *(*f.strides)[i]);
    }
    parts.push_back(text + "]");
  }

  Style style_;
};

std::string text(TypeRef t, Style style) {
  Printer p(style);
  p.print(t);
  return std::move(p.out);
}

}  // namespace

std::string graph_text(TypeRef t) { return text(t, Style::Graph); }
std::string annotation_text(TypeRef t) { return text(t, Style::Annotation); }

std::string schema_text(TypeRef t, const AliasInfo* alias) {
  if (!alias || alias->empty()) return text(t, Style::Schema);
  // The mark stands behind the type and before its '?'; one of the item before the brackets, but not of deeper ones.
  const bool optional = t->is(TypeKind::Optional);
  if (optional) t = t->item();
  std::string out;
  if (t->is(TypeKind::List) && !alias->items.empty()) {
    out = schema_text(t->item(), &alias->items[0]) + "[";
    if (t->length()) append(out, t->length());
    out += ']';
  } else {
    out = text(t, Style::Schema);
  }
  return out + to_string(*alias) + (optional ? "?" : "");
}
TypeRef find_simple_type(std::string_view name) {
  for (const SimpleText& s : simple_texts)
    if (name == s.text) return simple_type(s.kind);
  return name == "None" ? simple_type(TypeKind::None) : nullptr;
}

int graph_text_verbosity() { return verbosity().load(std::memory_order_relaxed); }
void set_graph_text_verbosity(int level) { verbosity() = level; }
std::string_view dtype_text(DType t) { return exists(t) ? info(t).legacy : "Undefined"; }

}  // namespace fc
