// SPDX-License-Identifier: Apache-2.0
#include "dispatch/schema.h"

#include <charconv>
#include <limits>

namespace fc {
namespace {

struct KindName {
  const char* text;
  Kind kind;
};
constexpr KindName kind_names[] = {
    {"Tensor", Kind::Tensor},
    {"Scalar", Kind::Scalar},
    {"int", Kind::Int},
    {"float", Kind::Float},
    {"bool", Kind::Bool},
    {"str", Kind::Str},
    {"Device", Kind::Device},
    {"ScalarType", Kind::DType},
    {"Layout", Kind::Layout},
    {"MemoryFormat", Kind::MemoryFormat},
    {"Generator", Kind::Generator},
    {"Any", Kind::Any},
    {"SymInt", Kind::Int},
    {"number", Kind::Scalar},
    {"Dimname", Kind::Str},
};

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
        if (accept("*")) {
          if (keyword_only) fail("a second '*'");
          keyword_only = true;
          continue;
        }
        s.parameters.push_back(parameter(keyword_only));
        if (s.find(s.parameters.back().name) != static_cast<int>(s.parameters.size()) - 1) fail("a repeated name");
      } while (accept(","));
      expect(")");
    }
    expect("->");
    if (accept("(")) {
      if (!accept(")")) {
        do s.returns.push_back(result());
        while (accept(","));
        expect(")");
      }
    } else {
      s.returns.push_back(result());
    }
    skip();
    if (at_ != text_.size()) fail("text after the end");
    if (s.parameters.size() > 64) fail("more than 64 parameters");  // sets of them are 64 bits
    if (s.returns.size() > 64) fail("more than 64 results");
    for (const Parameter& r : s.returns) {
      if (!r.alias.set || r.alias.all) continue;
      const int of = s.find_alias(r.alias.set);
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
    Parameter p;
    std::string name = word("a type");
    const KindName* found = nullptr;
    for (const KindName& k : kind_names)
      if (name == k.text) found = &k;
    if (!found) fail("an unknown type '" + name + "'");
    p.type.kind = found->kind;
    alias(p);
    bool question = accept("?");
    if (accept("[")) {
      p.type.list = true;
      p.type.optional_item = question;
      skip();
      if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
        int64_t n = integer();
        if (n < 1 || n > 64) fail("a list length outside 1..64");
        p.type.length = static_cast<int8_t>(n);
      }
      expect("]");
      alias(p);
      p.type.optional = accept("?");
    } else {
      p.type.optional = question;
    }
    return p;
  }

  void alias(Parameter& p) {
    if (at_ >= text_.size() || text_[at_] != '(') return;  // directly behind the type, without a space
    ++at_;
    if (accept("*")) p.alias = {'*', false, true};
    else {
      std::string set = word("an alias set");
      p.alias.set = set[0];
    }
    p.alias.write = accept("!");
    while (accept("|")) word("an alias set");
    if (accept("->")) {
      if (!accept("*")) word("an alias set");
    }
    expect(")");
  }

  static bool suits(const FlatType& type, Tag tag) {
    if (tag == Tag::None) return type.optional;
    const bool repeated = type.list && type.length > 0 && type.kind == Kind::Int;  // int[2] x=0
    const bool list = tag >= Tag::IntList && tag <= Tag::List;
    if (list || (type.list && !repeated)) return list && type.list;
    switch (type.kind) {
      case Kind::Scalar: return tag == Tag::Int || tag == Tag::Double || tag == Tag::Bool;
      case Kind::Int: return tag == Tag::Int;
      case Kind::Float: return tag == Tag::Double;
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
    if (accept("\"") || accept("'")) {
      char quote = text_[at_ - 1];
      size_t from = at_;
      while (at_ < text_.size() && text_[at_] != quote) ++at_;
      if (at_ == text_.size()) fail("an unfinished string");
      return Value(text_.substr(from, at_++ - from));
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
      if (type.kind == Kind::Float) return Value(static_cast<double>(i));
      return Value(i);
    }
    return Value(d);
  }

  int64_t integer() {
    int64_t v = 0;
    auto [end, ec] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (ec != std::errc{}) fail("an integer out of range");
    at_ = static_cast<size_t>(end - text_.data());
    return v;
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

void print_type(std::string& out, const Parameter& p) {
  for (const KindName& k : kind_names)
    if (k.kind == p.type.kind) {
      out += k.text;
      break;
    }
  auto alias = [&] {
    if (!p.alias.set) return;
    out += '(';
    out += p.alias.set;
    if (p.alias.write) out += '!';
    out += ')';
  };
  if (!p.type.list) {
    alias();
    if (p.type.optional) out += '?';
    return;
  }
  if (p.type.optional_item) out += '?';
  out += '[';
  if (p.type.length) append(out, static_cast<int>(p.type.length));
  out += ']';
  alias();
  if (p.type.optional) out += '?';
}

std::string print_default(const Parameter& p) {
  const Value& v = p.default_value;
  if (v.tag() == Tag::String) return str('"', v.arg().text(), '"');
  return to_string(v);
}

}  // namespace

std::string to_string(const FlatType& t) {
  std::string out;
  print_type(out, Parameter{"", t, {}, false, false, {}});
  return out;
}

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
  std::string out = s.full_name() + "(";
  bool star = false;
  for (size_t i = 0; i < s.parameters.size(); ++i) {
    const Parameter& p = s.parameters[i];
    if (i) out += ", ";
    if (p.keyword_only && !star) {
      out += "*, ";
      star = true;
    }
    print_type(out, p);
    out += ' ' + p.name;
    if (p.has_default) out += '=' + print_default(p);
  }
  out += ") -> ";
  bool tuple = s.returns.size() != 1;
  if (tuple) out += '(';
  for (size_t i = 0; i < s.returns.size(); ++i) {
    if (i) out += ", ";
    print_type(out, s.returns[i]);
    if (!s.returns[i].name.empty()) out += ' ' + s.returns[i].name;
  }
  if (tuple) out += ')';
  return out;
}

std::string dump(const Schema& s) { return to_string(s); }

}  // namespace fc
