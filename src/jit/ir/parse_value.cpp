// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/parse_value.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/type_parse.h"
#include "define/calls.h"
#include "jit/ir/graph.h"

namespace fc::jit {

TypeRef parse_type_here(Lexer& lexer) {
  size_t at = lexer.begin();
  try {
    TypeRef t = parse_type(lexer.text(), at, TypeSyntax{});
    lexer.jump(at);
    return t;
  } catch (const TypeSyntaxError& e) {
    const size_t where = std::min(e.at, lexer.text().size());
    lexer.fail_at({lexer.source(), where, where + 1}, e.message());
  }
}

namespace {

constexpr int deepest_value = 64;  // types nest no deeper

// Numbers of a printed tensor: ` 1  2 [ CPULongType{2} ]`. Gives where it ends, or npos if this is none.
size_t printed_tensor_end(std::string_view text, size_t begin) {
  size_t mark = text.find("[ ", begin);
  size_t stop = text.find_first_of("\n%\"", begin);
  if (mark == text.npos || mark >= stop) return text.npos;
  constexpr std::string_view inside = "0123456789+-.e,()=* nainfColumsto\t";
  for (size_t i = begin; i < mark; ++i)
    if (inside.find(text[i]) == inside.npos) return text.npos;
  size_t end = text.find("} ]", mark);
  size_t type = text.find("Type{", mark);
  if (end == text.npos || type == text.npos || type > end || end >= stop) return text.npos;
  return end + 3;
}

class ValueParser {
 public:
  ValueParser(Lexer& lexer, const ValueContext& context) : lexer_(lexer), context_(context) {}

  Attribute::Content attribute() {
    if (size_t end = printed_tensor_end(lexer_.text(), lexer_.begin()); end != std::string_view::npos)
      return printed_tensor(end);
    if (lexer_.is("[")) return list_attribute();
    if (lexer_.kind() == Token::String || number_begins()) {
      fc::Value v = value(0);
      const Arg a = v.arg();
      switch (v.tag()) {
        case Tag::Int: return a.integer();
        case Tag::Double: return a.real();
        case Tag::String: return std::string(a.text());
        default: break;
      }
      if (v.tag() == Tag::Scalar) return Attribute::Complex(a.scalar().to_complex().re, a.scalar().to_complex().im);
      return v;
    }
    if (is_tensor_sign()) return tensor(context_.declared);
    if (lexer_.is("{") || lexer_.is("annotate") || value_name() || tuple_value()) {
      SourceRange where = lexer_.range();
      fc::Value v = value(0);
      if (v.is_tensor()) return v.tensor();
      return v;
    }
    if (lexer_.kind() == Token::Name || lexer_.is("(")) return parse_type_here(lexer_);
    lexer_.fail(str("expected a value but found ",
                    lexer_.kind() == Token::End ? "the end" : str("'", lexer_.word(), "'"), " here"));
  }

 private:
  bool number_begins() const {
    if (lexer_.kind() == Token::Number) return true;
    if (lexer_.is("inf") || lexer_.is("nan")) return true;
    if (!lexer_.is("-") && !lexer_.is("+")) return false;
    Lexer ahead = lexer_;
    ahead.next();
    return ahead.kind() == Token::Number || ahead.is("inf") || ahead.is("nan");
  }
  bool value_name() const { return lexer_.is("None") || lexer_.is("True") || lexer_.is("False") || lexer_.is("torch"); }
  bool is_tensor_sign() const { return lexer_.is("<"); }
  bool tuple_value() const {  // (1, 2), not (int, int)
    if (!lexer_.is("(")) return false;
    Lexer ahead = lexer_;
    while (ahead.skip("(") || ahead.skip("[")) {}
    return ahead.kind() == Token::Number || ahead.kind() == Token::String || ahead.is(")") || ahead.is("]") ||
           ahead.is("-") || ahead.is("None") || ahead.is("True") || ahead.is("False") || ahead.is("annotate") ||
           ahead.is("inf") || ahead.is("nan") || ahead.is("{");
  }

  // A real number, or with `int_too` an integer.
  fc::Value real() {
    bool negative = false;
    if (lexer_.is("-") || lexer_.is("+")) {
      negative = lexer_.is("-");
      lexer_.next();
    }
    if (lexer_.is("inf") || lexer_.is("nan")) {
      double v = lexer_.is("inf") ? HUGE_VAL : std::nan("");
      lexer_.next();
      return negative ? -v : v;
    }
    if (lexer_.kind() != Token::Number) lexer_.fail("expected a number");
    std::string_view word = lexer_.word();
    SourceRange where = lexer_.range();
    lexer_.next();
    if (word.find_first_of(".eE") == word.npos && !(lexer_.is("j") && lexer_.begin() == where.end)) {
      std::string text = (negative ? "-" : "") + std::string(word);
      int64_t i = 0;
      auto read = std::from_chars(text.data(), text.data() + text.size(), i);
      if (read.ec != std::errc()) lexer_.fail_at(where, "the integer does not fit into 64 bits");
      return i;
    }
    double d = 0;
    std::from_chars(word.data(), word.data() + word.size(), d);
    return negative ? -d : d;
  }

  fc::Value number() {
    fc::Value first = real();
    auto imaginary = [&](const Lexer& l) { return l.is("j"); };
    if (imaginary(lexer_)) {
      lexer_.next();
      return Scalar(ComplexDouble{0, first.arg().real()});
    }
    if (first.tag() == Tag::Double && (lexer_.is("+") || lexer_.is("-"))) {
      fc::Value second = real();
      if (!imaginary(lexer_)) lexer_.fail("expected the j of a complex number");
      lexer_.next();
      return Scalar(ComplexDouble{first.arg().real(), second.arg().real()});
    }
    return first;
  }

  fc::Value value(int depth) {
    if (depth > deepest_value) lexer_.fail("values nest too deeply");
    if (number_begins()) return number();
    if (lexer_.kind() == Token::String) {
      fc::Value v(std::string_view(lexer_.string_value()));
      lexer_.next();
      return v;
    }
    if (lexer_.skip("None")) return {};
    if (lexer_.skip("True")) return true;
    if (lexer_.skip("False")) return false;
    if (lexer_.is("torch")) return device();
    if (lexer_.is("<")) return tensor(context_.declared);
    if (lexer_.is("annotate")) return annotated(depth);
    if (lexer_.is("[")) return list(depth, nullptr);
    if (lexer_.is("(")) return tuple(depth);
    if (lexer_.is("{")) return braces(depth, nullptr);
    if (size_t end = printed_tensor_end(lexer_.text(), lexer_.begin()); end != std::string_view::npos)
      return printed_tensor(end);
    lexer_.fail("expected a value");
  }

  fc::Value device() {
    SourceRange where = lexer_.range();
    lexer_.next();
    lexer_.expect(".");
    if (!lexer_.is("device")) lexer_.fail_at(where, "of torch. only torch.device(\"…\") can be written as a constant");
    lexer_.next();
    lexer_.expect("(");
    if (lexer_.kind() != Token::String) lexer_.fail("expected the device in quotes");
    fc::Value v(parse_device(lexer_.string_value()));
    lexer_.next();
    lexer_.expect(")");
    return v;
  }

  std::vector<fc::Value> items(std::string_view close, int depth) {
    std::vector<fc::Value> out;
    lexer_.next();
    if (lexer_.skip(close)) return out;
    do {
      if (lexer_.is(close)) break;  // (1,)
      out.push_back(value(depth + 1));
    } while (lexer_.skip(","));
    lexer_.expect(close);
    return out;
  }

  fc::Value list(int depth, TypeRef item) {
    SourceRange where = lexer_.range();
    Lexer ahead = lexer_;
    ahead.next();
    if (ahead.is("<")) {  // [<Tensors>]
      if (!context_.tensor_constants) missing("the tensors of a list");
      ahead.next();
      ahead.expect("Tensors");
      ahead.expect(">");
      ahead.expect("]");
      lexer_ = ahead;
      return std::vector<Tensor>{};
    }
    std::vector<fc::Value> v = items("]", depth);
    try {
      return make_list(std::move(v), item);
    } catch (const Error& e) { lexer_.fail_at(where, e.message()); }
  }

  fc::Value tuple(int depth) { return make_tuple(items(")", depth)); }

  // {2} is a tensor of one element, {1: 2} a dict.
  fc::Value braces(int depth, TypeRef dict) {
    SourceRange where = lexer_.range();
    lexer_.next();
    std::vector<std::pair<fc::Value, fc::Value>> entries;
    if (!lexer_.is("}")) {
      if (lexer_.is("(")) return one_element(where);
      fc::Value key = value(depth + 1);
      if (lexer_.is("}")) return one_element(where, key);
      for (;;) {
        lexer_.expect(":");
        entries.emplace_back(key, value(depth + 1));
        if (!lexer_.skip(",")) break;
        key = value(depth + 1);
      }
    }
    lexer_.expect("}");
    try {
      return make_dict(std::move(entries), dict);
    } catch (const Error& e) { lexer_.fail_at(where, e.message()); }
  }

  fc::Value one_element(const SourceRange& where) {  // {(1,2)}: complex
    lexer_.next();
    double re = number().arg().real();
    lexer_.expect(",");
    double im = number().arg().real();
    lexer_.expect(")");
    return one_element(where, Scalar(ComplexDouble{re, im}));
  }
  fc::Value one_element(const SourceRange& where, const fc::Value& v) {
    if (!context_.tensor_constants)
      lexer_.fail_at(where, "Single-element tensor constant encountered but `parse_tensor_constants` is set to false");
    lexer_.expect("}");
    Scalar s = v.arg().scalar();
    const TensorFacts* facts = context_.declared ? context_.declared->facts() : nullptr;
    std::optional<DType> dtype = facts ? facts->dtype : std::nullopt;
    if (!dtype)
      dtype = s.is_bool()            ? DType::Bool
              : s.is_integral(false) ? DType::Int64
              : s.is_complex()       ? DType::Complex64
                                     : DType::Float32;
    Dims sizes;
    if (facts && facts->sizes)
      for (const auto& n : *facts->sizes) sizes.push_back(n.value_or(1));
    return call<"aten::full", Tensor>(IntSpan(sizes), s, *dtype, std::optional<Layout>(), std::optional<Device>(),
                                      std::optional<bool>());
  }

  [[noreturn]] void missing(std::string_view what) {
    lexer_.fail(str(what, " are not in the text; parse_tensor_constants=True makes them of the declared type"));
  }

  // <Tensor>: of the declared sizes and type, its elements are zero.
  Tensor tensor(TypeRef declared) {
    SourceRange where = lexer_.range();
    if (!context_.tensor_constants)
      lexer_.fail("Tensor constant encountered but `parse_tensor_constants` is set to false");
    lexer_.next();
    lexer_.expect("Tensor");
    lexer_.expect(">");
    const TensorFacts* f = declared ? declared->facts() : nullptr;
    Dims sizes;
    bool complete = f && f->dtype && f->sizes;
    if (complete)
      for (const auto& n : *f->sizes) {
        complete = complete && n && *n >= 0;
        sizes.push_back(n.value_or(0));
      }
    if (!complete) lexer_.fail_at(where, "Tensor constant needs a type with dtype and all sizes to be made");
    return call<"aten::zeros", Tensor>(IntSpan(sizes), *f->dtype, std::optional<Layout>(), f->device,
                                       std::optional<bool>());
  }

  Tensor printed_tensor(size_t end) {
    std::string_view text = lexer_.text().substr(lexer_.begin(), end - lexer_.begin());
    SourceRange where{lexer_.source(), lexer_.begin(), end};
    size_t mark = text.find("[ "), type = text.find("Type{", mark), brace = text.find('}', type);
    std::string_view body = text.substr(0, mark), name = text.substr(mark + 2, type - mark - 2);
    std::optional<DType> dtype;
    for (int i = 0; i < kDTypeSlots; ++i)
      if (const char* legacy = info(static_cast<DType>(i)).legacy)
        if (std::string_view l = legacy;
            name.ends_with(l) && (!dtype || l.size() > std::string_view(info(*dtype).legacy).size()))
          dtype = static_cast<DType>(i);
    if (!dtype) lexer_.fail_at(where, str("unknown tensor type ", name));
    Dims sizes;
    int64_t count = 1;
    for (std::string_view rest = text.substr(type + 5, brace - type - 5); !rest.empty();) {
      int64_t n = 0;
      auto read = std::from_chars(rest.data(), rest.data() + rest.size(), n);
      if (read.ec != std::errc() || n < 0 || (n > 0 && count > 4096 / n))
        lexer_.fail_at(where, "sizes of no printed tensor");
      count *= n;
      sizes.push_back(n);
      rest.remove_prefix(std::min(rest.size(), static_cast<size_t>(read.ptr - rest.data()) + 1));
    }
    std::vector<double> numbers;
    double scale = 1;
    for (size_t i = 0; i < body.size();) {
      if (body[i] == '(') {  // (1,.,.) =
        i = std::min(body.find('=', i), body.size() - 1) + 1;
      } else if (body[i] == '*') {
        if (numbers.size() == 1) scale = numbers[0];
        numbers.clear();
        ++i;
      } else if (body[i] == ' ') {
        ++i;
      } else {
        double v = 0;
        auto read = std::from_chars(body.data() + i + (body[i] == '+'), body.data() + body.size(), v);
        if (read.ec != std::errc()) lexer_.fail_at(where, "expected the numbers of a tensor");
        numbers.push_back(v * scale);
        i = static_cast<size_t>(read.ptr - body.data());
      }
    }
    if (static_cast<int64_t>(numbers.size()) != count)
      lexer_.fail_at(where, str("a tensor of ", count, " elements has ", numbers.size(), " numbers"));
    Tensor t = call<"aten::zeros", Tensor>(IntSpan(sizes), DType::Float64, std::optional<Layout>(),
                                           std::optional<Device>(), std::optional<bool>());
    std::ranges::copy(numbers, t.data_as<double>());
    lexer_.jump(end);
    return to_dtype(t, *dtype);
  }

  fc::Value annotated(int depth) {
    lexer_.next();
    lexer_.expect("(");
    TypeRef t = parse_type_here(lexer_);
    lexer_.expect(",");
    fc::Value v;
    if (t->is(TypeKind::List) && lexer_.is("[")) v = list(depth, t->item());
    else if (t->is(TypeKind::Dict) && lexer_.is("{")) v = braces(depth, t);
    else v = value(depth + 1);
    lexer_.expect(")");
    return v;
  }

  // A list of types is tys, every other a constant of its own.
  Attribute::Content list_attribute() {
    Lexer ahead = lexer_;
    ahead.next();
    if (ahead.kind() == Token::Name && !ahead.is("None") && !ahead.is("True") && !ahead.is("False") &&
        !ahead.is("annotate") && !ahead.is("inf") && !ahead.is("nan") && !ahead.is("torch")) {
      lexer_.next();
      std::vector<TypeRef> types;
      do types.push_back(parse_type_here(lexer_));
      while (lexer_.skip(","));
      lexer_.expect("]");
      return types;
    }
    if (ahead.is("]") && !(context_.declared && context_.declared->is(TypeKind::List))) {
      lexer_.next();
      lexer_.next();
      return fc::Value();
    }
    return list(0, context_.declared && context_.declared->is(TypeKind::List) ? context_.declared->item() : nullptr);
  }

  Lexer& lexer_;
  const ValueContext& context_;
};

}  // namespace

Attribute::Content parse_attribute(Lexer& lexer, const ValueContext& context) {
  return ValueParser(lexer, context).attribute();
}

}  // namespace fc::jit
