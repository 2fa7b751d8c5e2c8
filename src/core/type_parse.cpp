// SPDX-License-Identifier: Apache-2.0
#include "core/type_parse.h"

#include <charconv>

namespace fc {
namespace {

constexpr int kMaxLevels = 100;  // as many as a type may have

struct Parsed {
  TypeRef type = nullptr;
  AliasInfo alias = {};
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, size_t at, const TypeSyntax& syntax) : text_(text), at_(at), syntax_(syntax) {}
  size_t at() const { return at_; }

  Parsed type() {
    if (++level_ > kMaxLevels) fail(str("types nested more than ", kMaxLevels, " deep"));
    Parsed p = base();
    mark(p.alias);
    while (at_ < text_.size()) {
      if (accept("[Undefined]")) {
        if (!p.type->is(TypeKind::Tensor)) fail("[Undefined] behind what is no Tensor");
        TensorFacts facts = p.type->facts() ? *p.type->facts() : TensorFacts{};
        facts.undefined = true;
        p.type = tensor_type(facts);
      } else if (accept("[")) {
        p.type = list_type(p.type, length());
        AliasInfo item = std::move(p.alias);
        p.alias = {};
        if (!item.empty()) p.alias.items.push_back(std::move(item));
        mark(p.alias);
      } else if (accept("?")) {
        p.type = optional_type(p.type);
        mark(p.alias);
      } else {
        break;
      }
    }
    --level_;
    return p;
  }

  [[noreturn]] void fail(const std::string& what) const { throw TypeSyntaxError(what, at_); }

 private:
  Parsed base() {
    using enum TypeKind;
    skip();
    const size_t from = at_;
    if (accept("(")) return items(")", tuple_type);
    const std::string_view name = word();
    auto is = [&](std::string_view n) { return name == n; };
    if (is("Tensor")) return {tensor({}, true)};
    if (TypeRef t = find_simple_type(name)) return {t};
    if (is("number") && !syntax_.schema) return {simple_type(Number)};  // of schemas a variable, in PyTorch too
    if (is("List")) return in_brackets(1, [](std::vector<TypeRef> i) { return list_type(i[0]); });
    if (is("Optional")) return in_brackets(1, [](std::vector<TypeRef> i) { return optional_type(i[0]); });
    if (is("Dict")) return in_brackets(2, [](std::vector<TypeRef> i) { return dict_type(i[0], i[1]); });
    if (is("Future")) return in_brackets(1, [](std::vector<TypeRef> i) { return future_type(i[0]); });
    if (is("RRef")) return in_brackets(1, [](std::vector<TypeRef> i) { return rref_type(i[0]); });
    if (is("Await")) return in_brackets(1, [](std::vector<TypeRef> i) { return await_type(i[0]); });
    if (is("Union")) return in_brackets(0, union_type);
    if (is("Tuple")) {
      expect("[");
      if (!accept("()")) return items("]", tuple_type);
      expect("]");
      return {tuple_type({})};
    }
    if (is("NamedTuple")) return {named_tuple()};
    if (is("Enum") || is("InterfaceType")) {
      expect("<");
      const TypeRef t = class_named(word());
      expect(">");
      return {t};
    }
    if (name.find('.') != name.npos) return {class_named(name)};
    if (auto dtype = dtype_named(name)) {
      TensorFacts facts;
      facts.dtype = dtype;
      return {tensor(facts, name.ends_with("Tensor"))};
    }
    if (name[0] >= 'a' && name[0] <= 'z') return {variable_type(name)};
    at_ = from;
    fail(str("unknown type specifier '", name, "'"));
  }

  static std::optional<DType> dtype_named(std::string_view name) {
    if (name.ends_with("Tensor")) name.remove_suffix(6);
    for (int i = 0; i < kDTypeSlots; ++i)
      if (const DType t = static_cast<DType>(i); exists(t) && name == dtype_text(t)) return t;
    return std::nullopt;
  }

  TypeRef class_named(std::string_view name) {
    if (syntax_.classes)
      if (TypeRef t = syntax_.classes->find_class(name)) return t;
    return named_class_type(name);
  }

  template <class Make>
  Parsed items(std::string_view close, Make make) {
    Parsed p;
    std::vector<TypeRef> types;
    bool marked = false;
    if (!accept(close)) {
      do {
        Parsed item = type();
        types.push_back(item.type);
        marked = marked || !item.alias.empty();
        p.alias.items.push_back(std::move(item.alias));
      } while (accept(","));
      expect(close);
    }
    if (!marked) p.alias.items.clear();
    p.type = make(std::move(types));
    return p;
  }

  // Dict(str, int) and Dict[str, int]; `count` 0: any number.
  template <class Make>
  Parsed in_brackets(size_t count, Make make) {
    std::string_view close = ")";
    if (!accept("(")) {
      expect("[");
      close = "]";
    }
    return items(close, [&](std::vector<TypeRef> types) {
      if (count ? types.size() != count : types.empty())
        fail(str(types.size(), " types where ", count ? count : 1, " are needed"));
      return make(std::move(types));
    });
  }

  TypeRef named_tuple() {
    expect("(");
    std::vector<std::string> fields;
    std::vector<TypeRef> types;
    if (!accept(")")) {
      do {
        fields.emplace_back(word());
        expect(":");
        types.push_back(type().type);
      } while (accept(","));
      expect(")");
    }
    return named_tuple_type("NamedTuple", std::move(fields), std::move(types));
  }

  // Behind the name of a tensor type: (2, *, strides=[3, 1], requires_grad=0, device=cpu). Without a rank there are
  // no sizes, and no parentheses are needed.
  TypeRef tensor(TensorFacts facts, bool rankless) {
    if (syntax_.schema && rankless) return tensor_type(facts);  // a mark follows
    if (at_ == text_.size() || text_[at_] != '(') {
      if (!rankless) fail("no '(' behind the type of elements");
      return tensor_type(facts);
    }
    ++at_;
    std::vector<std::optional<int64_t>> sizes;
    bool has_sizes = !rankless;
    if (!accept(")")) {
      do {
        if (fact(facts)) continue;
        has_sizes = true;
        sizes.push_back(extent());
      } while (accept(","));
      expect(")");
    } else {
      has_sizes = true;
    }
    if (facts.strides && (facts.strides->size() != sizes.size())) fail("another number of strides than of sizes");
    if (has_sizes) facts.sizes = std::move(sizes);
    return tensor_type(facts);
  }

  bool fact(TensorFacts& facts) {
    if (accept("strides")) {
      expect("=");
      expect("[");
      facts.strides.emplace();
      if (accept("]")) return true;
      do facts.strides->push_back(extent());
      while (accept(","));
      expect("]");
      return true;
    }
    if (accept("requires_grad")) {
      expect("=");
      facts.requires_grad = integer() != 0;
      return true;
    }
    if (accept("device")) {
      expect("=");
      skip();
      const size_t from = at_;
      word();
      if (accept(":")) integer();
      try {
        facts.device = parse_device(text_.substr(from, at_ - from));
      } catch (const Error& e) {
        at_ = from;
        fail(e.message());
      }
      return true;
    }
    return false;
  }

  std::optional<int64_t> extent() {
    if (accept("*")) return std::nullopt;
    if (!accept("SS")) return integer();
    expect("(");
    const int64_t symbol = integer();
    if (symbol >= -1) fail("a symbol that is not below -1");
    expect(")");
    return symbol;
  }

  int length() {
    if (accept("]")) return 0;
    if (!syntax_.schema) fail("a length, which only lists of schemas have");
    const int64_t n = integer();
    if (n < 1 || n > 64) fail("a list length outside 1..64");
    expect("]");
    return static_cast<int>(n);
  }

  // Directly behind the type, without a blank: "t (a)" would be a tuple.
  void mark(AliasInfo& alias) {
    if (!syntax_.schema || at_ >= text_.size() || text_[at_] != '(') return;
    ++at_;
    if (!alias.before.empty()) fail("a second mark");
    sets(alias.before);
    alias.write = accept("!");
    if (accept("->")) sets(alias.after);
    else alias.after = alias.before;
    expect(")");
  }

  void sets(std::vector<std::string>& into) {
    do {
      if (accept("*")) into.emplace_back("*");
      else into.emplace_back(word());
    } while (accept("|"));
  }

  int64_t integer() {
    skip();
    int64_t v = 0;
    const auto [end, ec] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (ec != std::errc{}) fail(ec == std::errc::result_out_of_range ? "an integer out of range" : "no integer");
    at_ = static_cast<size_t>(end - text_.data());
    return v;
  }

  // Letters, digits, and points between them.
  std::string_view word() {
    skip();
    const size_t from = at_;
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || (at_ > from && is_digit(text_[at_])) ||
            (text_[at_] == '.' && at_ > from && at_ + 1 < text_.size() && is_letter(text_[at_ + 1]))))
      ++at_;
    if (from == at_) fail("no name");
    return text_.substr(from, at_ - from);
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(std::string_view s) {
    const size_t from = at_;
    skip();
    if (text_.substr(at_, s.size()) == s) {
      at_ += s.size();
      return true;
    }
    at_ = from;
    return false;
  }
  void expect(std::string_view s) {
    if (!accept(s)) fail(str("no '", s, "'"));
  }

  std::string_view text_;
  size_t at_;
  const TypeSyntax& syntax_;
  int level_ = 0;
};

}  // namespace

std::string to_string(const AliasInfo& a) {
  if (a.before.empty()) return {};
  std::string out = "(";
  auto sets = [&](const std::vector<std::string>& names) {
    for (size_t i = 0; i < names.size(); ++i) out += (i ? "|" : "") + names[i];
  };
  sets(a.before);
  if (a.write) out += '!';
  if (a.after != a.before) {
    out += " -> ";
    sets(a.after);
  }
  return out + ")";
}

TypeRef parse_type(std::string_view text, size_t& at, const TypeSyntax& syntax, AliasInfo* alias) {
  Parser parser(text, at, syntax);
  try {
    Parsed p = parser.type();
    if (alias) *alias = std::move(p.alias);
    at = parser.at();
    return p.type;
  } catch (const TypeError& e) {  // a type that cannot be: say where
    parser.fail(e.message());
  }
}

TypeRef parse_type(std::string_view text) {
  size_t at = 0;
  const TypeRef t = parse_type(text, at, {});
  if (at != text.size()) throw TypeSyntaxError("text behind the type", at);
  return t;
}

}  // namespace fc
