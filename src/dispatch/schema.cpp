// SPDX-License-Identifier: Apache-2.0
#include "dispatch/schema.h"

#include <algorithm>
#include <charconv>
#include <forward_list>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/literal.h"
#include "core/type_parse.h"

namespace fc {
namespace {

struct KindName {
  const char* text;
  Kind kind;
  TypeKind type;
};
constexpr KindName kind_names[] = {
    {"Tensor", Kind::Tensor, TypeKind::Tensor},
    {"Scalar", Kind::Scalar, TypeKind::Number},
    {"int", Kind::Int, TypeKind::Int},
    {"float", Kind::Float, TypeKind::Float},
    {"bool", Kind::Bool, TypeKind::Bool},
    {"str", Kind::Str, TypeKind::String},
    {"Device", Kind::Device, TypeKind::Device},
    {"ScalarType", Kind::DType, TypeKind::DType},
    {"Layout", Kind::Layout, TypeKind::Layout},
    {"MemoryFormat", Kind::MemoryFormat, TypeKind::MemoryFormat},
    {"Generator", Kind::Generator, TypeKind::Generator},
    {"Any", Kind::Any, TypeKind::Any},
    {"SymInt", Kind::Int, TypeKind::SymInt},
    {"SymFloat", Kind::Float, TypeKind::SymFloat},
    {"SymBool", Kind::Bool, TypeKind::SymBool},
    {"Dimname", Kind::Str, TypeKind::Dimname},
};

FlatType flatten(TypeRef t) {
  FlatType flat;
  flat.optional = t->is(TypeKind::Optional);
  if (flat.optional) t = t->item();
  if (t->is(TypeKind::List)) {
    flat.list = true;
    flat.length = static_cast<int8_t>(t->length());
    t = t->item();
    flat.optional_item = t->is(TypeKind::Optional);
    if (flat.optional_item) t = t->item();
  }
  flat.kind = Kind::Any;
  for (const KindName& k : kind_names)
    if (t->is(k.type)) flat.kind = k.kind;
  return flat;
}

// Of tensors only: a list that is changed holds other tensors, it does not change one.
Alias flatten(const FlatType& type, const AliasInfo& marks) {
  if (type.kind != Kind::Tensor) return {};
  const AliasInfo& m = !type.list ? marks : marks.items.empty() ? AliasInfo{} : marks.items[0];
  if (m.before.empty()) return {};
  return {m.before[0][0], m.write, m.before[0] == "*"};
}

// The types of parameters by their text: a few hundred serve all schemas, so each is parsed once.
struct TypedText {
  FlatType type;
  Alias alias;
  TypeRef whole = nullptr;
  const AliasInfo* marks = nullptr;
};
class TypeTexts {
 public:
  static TypeTexts& it() {
    static TypeTexts& texts = *new TypeTexts;  // never destroyed: schemas point to marks
    return texts;
  }

  // Throws TypeSyntaxError with the place in `text`.
  TypedText find(std::string_view text) {
    std::lock_guard lock(mutex_);
    if (auto it = texts_.find(text); it != texts_.end()) return it->second;
    auto marks = std::make_unique<AliasInfo>();
    size_t at = 0;
    TypedText t;
    t.whole = parse_type(text, at, {.schema = true}, marks.get());
    if (at != text.size()) throw TypeSyntaxError("text behind a type", at);
    t.type = flatten(t.whole);
    t.alias = flatten(t.type, *marks);
    t.marks = marks->empty() ? nullptr : marks.get();
    const std::string& kept = keys_.emplace_front(text);
    texts_.emplace(kept, t);
    marks_.push_front(std::move(marks));
    return t;
  }

 private:
  std::mutex mutex_;
  std::forward_list<std::string> keys_;
  std::forward_list<std::unique_ptr<AliasInfo>> marks_;
  std::unordered_map<std::string_view, TypedText> texts_;
};

void set_type(Parameter& p, const TypedText& t) {
  p.type = t.type;
  p.alias = t.alias;
  p.whole_type = t.whole;
  p.marks = t.marks;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema schema() {
    Schema s;
    s.space = "aten";
    s.name = word("an operator name");
    if (accept("::")) {
      s.space = s.name;
      s.name = word("an operator name");
    }
    if (accept(".")) s.overload = word("an overload name");
    expect("(");
    bool keyword_only = false;
    if (!accept(")")) {
      do {
        if (s.more_parameters) fail("a parameter behind '...'");
        if (accept("...")) {
          s.more_parameters = true;
          continue;
        }
        if (accept("*")) {
          if (keyword_only) fail("a second '*'");
          keyword_only = true;
          continue;
        }
        s.parameters.push_back(parameter(keyword_only));
      } while (accept(","));
      expect(")");
    }
    expect("->");
    if (accept("...")) {
      s.more_returns = true;
    } else if (accept("(")) {
      if (!accept(")")) {
        do {
          if (s.more_returns) fail("a result behind '...'");
          if (accept("...")) s.more_returns = true;
          else s.returns.push_back(result());
        } while (accept(","));
        expect(")");
      }
    } else {
      s.returns.push_back(result());
    }
    skip();
    if (at_ != text_.size()) fail("text after the end");
    if (s.parameters.size() > 64) fail("more than 64 parameters");  // sets of them are 64 bits
    if (s.returns.size() > 64) fail("more than 64 results");
    for (Parameter& r : s.returns) {
      if (!r.alias.set || r.alias.all) continue;
      int of = s.find_alias(r.alias.set);
      for (const std::string& set : (r.type.list ? r.marks->items[0] : *r.marks).before)  // Tensor(b|a): one will do
        if (of < 0 && (of = s.find_alias(set[0])) >= 0) r.alias.set = set[0];
      if (of < 0 && s.more_parameters) continue;  // one of those that follow
      if (of < 0) fail(str("a result that aliases '", r.alias.set, "', which no parameter does"));
      if (s.parameters[static_cast<size_t>(of)].type.list && !r.alias.write) fail("a view of a list");
    }
    return s;
  }

 private:
  Parameter parameter(bool keyword_only) {
    Parameter p = typed();
    p.keyword_only = keyword_only;
    p.name = word("a parameter name");
    if (accept("=")) {
      p.has_default = true;
      p.default_value = literal(p.type);
      if (!suits(p.type, p.default_value.tag())) fail("a default that is no " + to_string(p.type));
      if (p.type.list && p.type.length > 0 && p.default_value.tag() == Tag::Int)  // int[2] padding=0 means [0, 0]
        p.default_value = Value(IntSpan(Dims(static_cast<size_t>(p.type.length), p.default_value.arg().integer())));
    }
    return p;
  }

  Parameter result() {
    Parameter p = typed();
    skip();
    if (at_ < text_.size() && is_word(text_[at_])) p.name = word("a name");
    return p;
  }

  Parameter typed() {
    skip();
    const size_t from = at_;
    int open = 0;  // a type ends at a blank, a comma or a parenthesis that is not its own
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (open == 0 && (c == ' ' || c == ',' || c == ')' || c == '=')) break;
      open += (c == '(' || c == '[') - (c == ')' || c == ']');
    }
    const std::string_view text = text_.substr(from, at_ - from);
    if (text.empty()) fail("no type");
    Parameter p;
    try {
      set_type(p, TypeTexts::it().find(text));
    } catch (const TypeSyntaxError& e) {
      at_ = from + e.at;
      fail(e.message());
    }
    return p;
  }

  static bool suits(const FlatType& type, Tag tag) {
    if (tag == Tag::None) return type.optional;
    const bool repeated = type.list && type.length > 0 && type.kind == Kind::Int;  // int[2] x=0
    const bool list = tag >= Tag::IntList && tag <= Tag::List;
    if (list || (type.list && !repeated)) return list && type.list;
    switch (type.kind) {
      case Kind::Scalar: return tag == Tag::Int || tag == Tag::Double || tag == Tag::Bool;
      case Kind::Int: return tag == Tag::Int;
      case Kind::Float: return tag == Tag::Double || (type.optional && tag == Tag::Int);
      case Kind::Bool: return tag == Tag::Bool;
      case Kind::Str: return tag == Tag::String;
      case Kind::Device: return tag == Tag::Device;
      case Kind::DType: return tag == Tag::DType;
      case Kind::Layout: return tag == Tag::Layout;
      case Kind::MemoryFormat: return tag == Tag::MemoryFormat;
      case Kind::Any: return true;
      case Kind::Tensor:
      case Kind::Generator: return false;
    }
    return false;
  }

  Value literal(const FlatType& type) {
    skip();
    if (accept("[")) {
      if (!type.list) fail("a list as default of a type that is none");
      std::vector<Value> items;
      if (!accept("]")) {
        const FlatType item{.kind = type.kind};
        do {
          items.push_back(literal(item));
          if (!suits(item, items.back().tag())) fail("a list item that is no " + to_string(item));
        } while (accept(","));
        expect("]");
      }
      if (type.kind == Kind::Int) {
        Dims v;
        for (const Value& i : items) v.push_back(i.arg().integer());
        return IntSpan(v);
      }
      if (type.kind == Kind::Bool) {
        std::basic_string<bool> v;
        for (const Value& i : items) v += i.arg().boolean();
        return Value(Arg(std::span<const bool>(v)));
      }
      if (type.kind == Kind::Float) {
        std::vector<double> v;
        v.reserve(items.size());
        for (const Value& i : items) v.push_back(i.arg().real());
        return Value(Arg(std::span<const double>(v)));
      }
      if (!items.empty() || type.kind != Kind::Tensor) fail("a default list of this type");
      return Value(std::vector<Tensor>());
    }
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      std::string content;
      if (!parse_quoted(text_, at_, content)) fail("an unfinished string");
      return Value(std::string_view(content));
    }
    if (at_ < text_.size() && (text_[at_] == '-' || (text_[at_] >= '0' && text_[at_] <= '9'))) return number(type);
    std::string name = word("a default value");
    if (name == "None") return {};
    if (name == "True" || name == "False") return Value(name == "True");
    if (name == "inf") return Value(std::numeric_limits<double>::infinity());
    if (name == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
    if (name == "Mean") return Value(1);
    if (name == "contiguous_format") return Value(Arg(MemoryFormat::Contiguous));
    if (name == "preserve_format") return Value(Arg(MemoryFormat::Preserve));
    if (name == "strided") return Value(Arg(Layout::Strided));
    if (name == "cpu") return Value(Device{});
    if (DType t = parse_dtype(name == "long" ? "int64" : name); t != DType::Undefined) return Value(t);
    fail("an unknown default '" + name + "'");
  }

  Value number(const FlatType& type) {
    size_t from = at_;
    if (text_[at_] == '-') ++at_;
    if (accept("inf")) return Value(-std::numeric_limits<double>::infinity());
    double d = 0;
    auto [end, ec] = std::from_chars(text_.data() + from, text_.data() + text_.size(), d);
    if (ec != std::errc{}) fail("a number that cannot be read");
    std::string_view digits = text_.substr(from, static_cast<size_t>(end - text_.data()) - from);
    at_ = from + digits.size();
    if (digits.find_first_of(".eE") == digits.npos) {
      int64_t i = 0;
      auto r = std::from_chars(digits.data(), digits.data() + digits.size(), i);
      if (r.ec != std::errc{}) fail("an integer out of range");
      if (type.kind == Kind::Float && !type.optional) return Value(static_cast<double>(i));
      if (type.kind == Kind::DType && exists(static_cast<DType>(i)) && i == static_cast<int8_t>(i))
        return Value(static_cast<DType>(i));
      if (type.kind == Kind::MemoryFormat && i >= 0 && i <= static_cast<int64_t>(MemoryFormat::ChannelsLast3d))
        return Value(Arg(static_cast<MemoryFormat>(i)));
      if (type.kind == Kind::Layout && i == static_cast<int64_t>(Layout::Strided)) return Value(Arg(Layout::Strided));
      return Value(i);
    }
    return Value(d);
  }

  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  std::string word(const char* what) {
    skip();
    size_t from = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (from == at_) fail(std::string("no ") + what);
    return std::string(text_.substr(from, at_ - from));
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(std::string_view s) {
    skip();
    if (text_.substr(at_, s.size()) != s) return false;
    at_ += s.size();
    return true;
  }
  void expect(std::string_view s) {
    if (!accept(s)) fail(str("no '", s, "'"));
  }
  [[noreturn]] void fail(const std::string& what) {
    raise<ValueError>("schema: found ", what, " at position ", at_, " of: ", text_);
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string print_default(const Parameter& p) {
  const Arg v = p.default_value.arg();
  std::string out;
  switch (v.tag()) {
    case Tag::String: append_quoted(out, v.text()); return out;
    case Tag::Double: append_number(out, v.real()); return out;
    case Tag::DType: return str(static_cast<int>(v.dtype()));
    case Tag::Layout: return str(static_cast<int>(v.layout()));
    case Tag::MemoryFormat: return str(static_cast<int>(v.memory_format()));
    case Tag::DoubleList:
      for (const double d : v.doubles()) append_number(out += out.empty() ? "[" : ", ", d);
      return out.empty() ? "[]" : out + "]";
    case Tag::IntList:  // int[2] padding=0, but not so of SymInt[2] or int[2]?
      if (const IntSpan ints = v.ints(); ints.size() > 1 && p.whole_type->is(TypeKind::List) &&
                                         p.whole_type->item()->is(TypeKind::Int) &&
                                         std::count(ints.begin(), ints.end(), ints[0]) == std::ssize(ints))
        return str(ints[0]);
      return to_string(v);
    default: return to_string(v);
  }
}

std::string print(const Parameter& p) {
  std::string out = schema_text(p.whole_type, p.marks);
  if (!p.name.empty()) out += ' ' + p.name;
  if (p.has_default) out += '=' + print_default(p);
  return out;
}

}  // namespace

std::string to_string(const FlatType& t) {
  std::string out;
  for (const KindName& k : kind_names)
    if (k.kind == t.kind) {
      out = k.text;
      break;
    }
  if (t.list) {
    if (t.optional_item) out += '?';
    out += '[';
    if (t.length) append(out, static_cast<int>(t.length));
    out += ']';
  }
  return t.optional ? out + "?" : out;
}

void Parameter::set_alias(char set, bool write) {
  const std::string text = schema_text(whole_type);
  const size_t end = text.size() - type.optional, at = type.list ? text.rfind('[') - type.optional_item : end;
  set_type(*this, TypeTexts::it().find(str(text.substr(0, at), '(', set, write ? "!)" : ")", text.substr(at))));
}
void Parameter::clear_alias() { set_type(*this, TypeTexts::it().find(schema_text(whole_type))); }

int Schema::find(std::string_view parameter) const {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == parameter) return static_cast<int>(i);
  return -1;
}

int Schema::find_alias(char set) const {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].alias.set == set) return static_cast<int>(i);
  return -1;
}

size_t Schema::positional() const {
  size_t n = 0;
  while (n < parameters.size() && !parameters[n].keyword_only) ++n;
  return n;
}

bool Schema::mutates() const {
  for (const Parameter& p : parameters)
    if (p.alias.write) return true;
  return false;
}

bool Schema::is_out() const {
  for (const Parameter& p : parameters)
    if (p.alias.write && p.keyword_only) return true;
  return false;
}

bool Schema::is_view() const {
  if (mutates()) return false;
  for (const Parameter& r : returns)
    if (r.alias.set) return true;
  return false;
}

Schema parse_schema(std::string_view text) { return Parser(text).schema(); }

std::string to_string(const Schema& s) {
  std::string out = (s.space.empty() ? s.name : s.full_name()) + "(";  // of a graph's function: no namespace
  auto next = [&, first = out.size()](const std::string& text) {
    if (out.size() > first) out += ", ";
    out += text;
  };
  bool star = false;
  for (const Parameter& p : s.parameters) {
    if (p.keyword_only && !std::exchange(star, true)) next("*");
    next(print(p));
  }
  if (s.more_parameters) next("...");
  std::string results;
  for (const Parameter& r : s.returns) results += (results.empty() ? "" : ", ") + print(r);
  if (s.more_returns) results += results.empty() ? "..." : ", ...";
  // One result needs no parentheses, unless it begins with one.
  const bool bare = s.returns.size() + s.more_returns == 1 && results[0] != '(';
  return out + ") -> " + (bare ? results : "(" + results + ")");
}

std::string dump(const Schema& s) { return to_string(s); }

}  // namespace fc
