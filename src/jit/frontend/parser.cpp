// SPDX-License-Identifier: Apache-2.0
#include "jit/frontend/parser.h"

#include <functional>
#include <utility>

#include "jit/frontend/error.h"
#include "jit/frontend/lexer.h"

namespace fc::jit {
namespace {

using enum Syntax;
using Trees = std::vector<TreeRef>;
constexpr int kMaxNesting = 500;

// Of binary operators, weakest first. `if … else` is weaker than all of them.
constexpr int kOr = 1, kAnd = 2, kNot = 3, kCompare = 4, kMinus = 11, kPow = 12;
int precedence(const SourceToken& t) {
  if (t.kind != SourceToken::Kind::Name && t.kind != SourceToken::Kind::Sign) return 0;
  constexpr std::pair<std::string_view, int> table[] = {
      {"or", kOr},     {"and", kAnd},    {"in", kCompare}, {"not", kCompare}, {"is", kCompare}, {"<", kCompare},
      {">", kCompare}, {"<=", kCompare}, {">=", kCompare}, {"==", kCompare},  {"!=", kCompare}, {"|", 5},
      {"^", 6},        {"&", 7},         {"<<", 8},        {">>", 8},         {"+", 9},         {"-", 9},
      {"*", 10},       {"/", 10},        {"//", 10},       {"%", 10},         {"@", 10},        {"**", kPow},
  };
  for (const auto& [sign, level] : table)
    if (t.text == sign) return level;
  return 0;
}

class SourceParser {
 public:
  explicit SourceParser(Ref<Source> source) : lexer_(std::move(source)) {}

  Trees program() {
    Trees out;
    while (now().kind != SourceToken::Kind::End) {
      if (now().kind == SourceToken::Kind::NewLine) lexer_.next();
      else if (now().is("def")) out.push_back(function(false));
      else if (now().is("class")) out.push_back(class_definition());
      else lexer_.unexpected("'def' or 'class'");
    }
    return out;
  }
  TreeRef only_expression() {
    TreeRef e = expression();
    while (now().kind == SourceToken::Kind::NewLine) lexer_.next();
    if (now().kind != SourceToken::Kind::End) lexer_.unexpected("the end of the source");
    return e;
  }
  TreeRef type_comment_decl() {
    const SourceRange begin = lexer_.expect("(").range;
    Trees params;
    while (!now().is(")")) {
      const SourceRange r = now().range;
      TreeRef type = expression();
      params.push_back(
          Tree::make(Param, r, {Tree::ident(r, ""), Tree::option(r, type), Tree::option(r, {}), Tree::make(False, r)}));
      if (!lexer_.next_if(",")) break;
    }
    lexer_.expect(")");
    lexer_.expect("->");
    TreeRef result = expression();
    const SourceRange r = result->range();
    return Tree::make(Decl, begin, {Tree::list(begin, std::move(params)), Tree::option(r, result)});
  }

 private:
  struct Nested {  // bounds the depth of calls
    explicit Nested(SourceParser& p) : p(p) {
      if (++p.nesting_ > kMaxNesting) fail(p.now().range, "Expressions nested more than ", kMaxNesting, " deep");
    }
    ~Nested() { --p.nesting_; }
    SourceParser& p;
  };
  const SourceToken& now() const { return lexer_.now(); }

  TreeRef ident() {
    const SourceToken t = lexer_.expect(SourceToken::Kind::Name, "a name");
    return Tree::ident(t.range, std::string(t.text));
  }
  TreeRef option(TreeRef t, const SourceRange& otherwise) {
    const SourceRange r = t ? t->range() : otherwise;
    return Tree::option(r, std::move(t));
  }
  TreeRef binary(Syntax kind, TreeRef a, TreeRef b) {
    const SourceRange r = a->range();
    return Tree::make(kind, r, {std::move(a), std::move(b)});
  }

  // --- expressions
  TreeRef expression() {
    const Nested guard(*this);
    TreeRef e = operation(kOr);
    if (!now().is("if")) return e;
    lexer_.next();
    TreeRef test = operation(kOr);
    lexer_.expect("else");
    TreeRef otherwise = expression();
    const SourceRange r = test->range();
    return Tree::make(IfExpr, r, {std::move(test), std::move(e), std::move(otherwise)});
  }

  TreeRef operation(int level) {
    TreeRef left = prefixed();
    for (int own; (own = precedence(now())) >= level && own > 0;) {
      if (own == kCompare) {
        left = comparison(std::move(left));
        continue;
      }
      const SourceToken sign = lexer_.next();
      if (own == kPow) {  // from the right; and its right side may be negative
        const Nested guard(*this);
        left = binary(Pow, std::move(left), now().is("-") ? prefixed() : operation(kPow));
      } else {
        left = binary(operator_kind(sign.text), std::move(left), operation(own + 1));
      }
    }
    return left;
  }

  // a < b < c is (a < b) and (b < c)
  TreeRef comparison(TreeRef left) {
    TreeRef out;
    while (precedence(now()) == kCompare) {
      const SourceToken sign = lexer_.next();
      const bool not_in = sign.is("not");
      if (not_in) lexer_.expect("in");
      const bool is_not = sign.is("is") && lexer_.next_if("not");
      const Syntax kind = not_in ? In : is_not ? IsNot : operator_kind(sign.text);
      TreeRef right = operation(kCompare + 1);
      TreeRef one = binary(kind, left, right);
      if (not_in) one = Tree::make(Not, sign.range, {one});
      out = out ? binary(And, std::move(out), std::move(one)) : std::move(one);
      left = std::move(right);
    }
    return out;
  }

  TreeRef prefixed() {
    const Nested guard(*this);
    if (now().is("not")) {
      const SourceRange r = lexer_.next().range;
      return Tree::make(Not, r, {operation(kCompare)});
    }
    if (now().is("~")) {
      const SourceRange r = lexer_.next().range;
      return Tree::make(Invert, r, {operation(kMinus)});
    }
    if (now().is("-")) {
      const SourceRange r = lexer_.next().range;
      TreeRef e = operation(kMinus);
      // A negative number is one, so that attributes can be it.
      if (e->is(Const)) return Tree::make(Const, e->range(), {Tree::string("-" + e->part(0).text())});
      return Tree::make(UnaryMinus, r, {std::move(e)});
    }
    return postfixed(atom());
  }

  TreeRef starred_or_expression() {
    if (!now().is("*")) return expression();
    const SourceRange r = lexer_.next().range;
    return Tree::make(Starred, r, {expression()});
  }

  TreeRef comprehension(Syntax kind, const SourceRange& r, Trees items) {
    lexer_.expect("for");
    items.push_back(targets());
    lexer_.expect("in");
    items.push_back(operation(kOr));
    if (now().is("if")) fail(now().range, "Comprehension ifs are not supported yet");
    if (now().is("for")) fail(now().range, "Only a single generator is currently supported");
    return Tree::make(kind, r, std::move(items));
  }

  // What stands left of `in`: names, in tuples
  TreeRef targets() {
    const SourceRange r = now().range;
    Trees items{target()};
    bool tuple = false;
    while (lexer_.next_if(",")) {
      tuple = true;
      if (now().is("in")) break;
      items.push_back(target());
    }
    if (!tuple) return items[0];
    return Tree::make(TupleLiteral, r, {Tree::list(r, std::move(items))});
  }
  TreeRef target() {
    if (now().is("*")) {
      const SourceRange r = lexer_.next().range;
      return Tree::make(Starred, r, {target()});
    }
    return postfixed(atom());
  }

  TreeRef atom() {
    const Nested guard(*this);
    const SourceToken t = now();
    switch (t.kind) {
      case SourceToken::Kind::Number:
        lexer_.next();
        return Tree::make(Const, t.range, {Tree::string(std::string(t.text))});
      case SourceToken::Kind::String: {
        std::string text;
        while (now().kind == SourceToken::Kind::String) text += unescape(lexer_.next());
        return Tree::make(StringLiteral, t.range, {Tree::string(std::move(text))});
      }
      case SourceToken::Kind::Name: {
        const Syntax literal = t.text == "True" ? True : t.text == "False" ? False : t.text == "None" ? None : String;
        if (literal != String) {
          lexer_.next();
          return Tree::make(literal, t.range);
        }
        TreeRef name = ident();
        return Tree::make(Variable, t.range, {std::move(name)});
      }
      case SourceToken::Kind::Sign: break;
      default: lexer_.unexpected("an expression");
    }
    if (lexer_.next_if("...")) return Tree::make(Dots, t.range);
    if (lexer_.next_if("(")) return in_parentheses(t.range);
    if (lexer_.next_if("[")) {
      if (lexer_.next_if("]")) return Tree::make(ListLiteral, t.range, {Tree::list(t.range, {})});
      TreeRef first = starred_or_expression();
      if (now().is("for")) {
        TreeRef out = comprehension(ListComp, t.range, {std::move(first)});
        lexer_.expect("]");
        return out;
      }
      return Tree::make(ListLiteral, t.range, {rest_of_list(t.range, std::move(first), "]")});
    }
    if (lexer_.next_if("{")) return dict(t.range);
    lexer_.unexpected("an expression");
  }
  TreeRef rest_of_list(const SourceRange& r, TreeRef first, const char* end) {
    Trees items{std::move(first)};
    while (lexer_.next_if(",") && !now().is(end)) items.push_back(starred_or_expression());
    lexer_.expect(end);
    return Tree::list(r, std::move(items));
  }
  TreeRef in_parentheses(const SourceRange& r) {
    if (lexer_.next_if(")")) return Tree::make(TupleLiteral, r, {Tree::list(r, {})});
    TreeRef first = starred_or_expression();
    if (now().is(",")) return Tree::make(TupleLiteral, r, {rest_of_list(r, std::move(first), ")")});
    lexer_.expect(")");
    return first;
  }
  TreeRef dict(const SourceRange& r) {
    Trees keys, values;
    while (!now().is("}")) {
      keys.push_back(expression());
      lexer_.expect(":");
      values.push_back(expression());
      if (keys.size() == 1 && now().is("for")) {
        TreeRef out = comprehension(DictComp, r, {keys[0], values[0]});
        lexer_.expect("}");
        return out;
      }
      if (!lexer_.next_if(",")) break;
    }
    lexer_.expect("}");
    return Tree::make(DictLiteral, r, {Tree::list(r, std::move(keys)), Tree::list(r, std::move(values))});
  }

  TreeRef postfixed(TreeRef e) {
    for (;;) {
      if (lexer_.next_if(".")) {
        TreeRef name = member();
        const SourceRange r = e->range();
        e = Tree::make(Select, r, {std::move(e), std::move(name)});
      } else if (now().is("(")) {
        e = call(std::move(e));
      } else if (now().is("[")) {
        lexer_.next();
        e = subscript(std::move(e));
      } else {
        return e;
      }
    }
  }
  TreeRef member() {  // keywords name attributes too: torch.add(x, y).not is PyTorch's own trouble, `x.is` is not
    if (now().kind != SourceToken::Kind::Name) lexer_.unexpected("a name");
    const SourceToken t = lexer_.next();
    return Tree::ident(t.range, std::string(t.text));
  }
  TreeRef call(TreeRef callee) {
    const SourceRange r = lexer_.next().range, own = callee->range();
    Trees args, named;
    while (!now().is(")")) {
      TreeRef e = starred_or_expression();
      if (e->is(Variable) && now().is("=")) {
        lexer_.next();
        TreeRef value = expression();
        named.push_back(Tree::make(Attribute, e->range(), {TreeRef(&e->part(0)), std::move(value)}));
      } else {
        if (now().is("for")) e = comprehension(ListComp, e->range(), {e});
        args.push_back(std::move(e));
      }
      if (!lexer_.next_if(",")) break;
    }
    lexer_.expect(")");
    return Tree::make(Apply, own,
                      {std::move(callee), Tree::list(own, std::move(args)), Tree::list(own, std::move(named))});
  }
  TreeRef subscript(TreeRef base) {
    const SourceRange r = base->range();
    Trees indices;
    while (!now().is("]")) {
      indices.push_back(index(r));
      if (!lexer_.next_if(",")) break;
    }
    lexer_.expect("]");
    if (indices.empty()) fail(r, "a subscript of nothing");
    return Tree::make(Subscript, r, {std::move(base), Tree::list(r, std::move(indices))});
  }
  TreeRef index(const SourceRange& r) {
    const auto ends = [&] { return now().is(":") || now().is("]") || now().is(","); };
    TreeRef first, last, step;
    if (!now().is(":")) first = starred_or_expression();
    if (!lexer_.next_if(":")) return first;
    if (!ends()) last = expression();
    if (lexer_.next_if(":") && !ends()) step = expression();
    return Tree::make(Slice, r, {option(first, r), option(last, r), option(step, r)});
  }
  // a, b without parentheses, as right sides and targets have it
  TreeRef expression_list() {
    const SourceRange r = now().range;
    TreeRef first = starred_or_expression();
    if (!now().is(",")) return first;
    Trees items{std::move(first)};
    const auto ends = [&] {
      return now().kind == SourceToken::Kind::NewLine || now().kind == SourceToken::Kind::End || now().is("=") ||
             now().is(":");
    };
    while (lexer_.next_if(",") && !ends()) items.push_back(starred_or_expression());
    return Tree::make(TupleLiteral, r, {Tree::list(r, std::move(items))});
  }

  // --- statements
  void end_of_statement() {
    if (lexer_.next_if(";")) {
      if (now().kind == SourceToken::Kind::NewLine) lexer_.next();
      return;
    }
    if (now().kind == SourceToken::Kind::End || now().kind == SourceToken::Kind::Dedent) return;
    if (now().kind == SourceToken::Kind::TypeComment) lexer_.next();
    lexer_.expect(SourceToken::Kind::NewLine, "the end of the line");
  }
  TreeRef body(const SourceRange& r, bool methods = false) {
    lexer_.expect(":");
    Trees out;
    if (now().kind != SourceToken::Kind::NewLine) {  // on the same line
      const size_t line = r.source->line_of(now().range.begin);
      do out.push_back(statement());
      while (now().kind != SourceToken::Kind::End && now().kind != SourceToken::Kind::Dedent &&
             now().kind != SourceToken::Kind::NewLine && r.source->line_of(now().range.begin) == line);
      return Tree::list(r, std::move(out));
    }
    lexer_.next();
    lexer_.expect(SourceToken::Kind::Indent, "indented text");
    if (now().kind == SourceToken::Kind::TypeComment) {
      comment_ = std::string(lexer_.next().text);
      if (now().kind == SourceToken::Kind::NewLine) lexer_.next();
    }
    while (now().kind != SourceToken::Kind::Dedent && now().kind != SourceToken::Kind::End) {
      if (now().kind == SourceToken::Kind::NewLine || now().kind == SourceToken::Kind::TypeComment) lexer_.next();
      else out.push_back(methods && now().is("def") ? function(true) : statement(methods));
    }
    if (now().kind == SourceToken::Kind::Dedent) lexer_.next();
    return Tree::list(r, std::move(out));
  }

  TreeRef statement(bool in_class = false) {
    const Nested guard(*this);
    const SourceToken t = now();
    const SourceRange r = t.range;
    if (t.kind == SourceToken::Kind::Name) {
      if (t.text == "if") return conditional();
      if (t.text == "while") {
        lexer_.next();
        TreeRef test = expression(), own = body(r);
        if (now().is("else")) fail(now().range, "else branches of while loops aren't supported");
        return Tree::make(While, r, {std::move(test), std::move(own)});
      }
      if (t.text == "for") {
        lexer_.next();
        TreeRef target = targets();
        lexer_.expect("in");
        TreeRef iterated = expression_list(), own = body(r);
        if (now().is("else")) fail(now().range, "else branches of for loops aren't supported");
        return Tree::make(For, r,
                          {Tree::list(r, {std::move(target)}), Tree::list(r, {std::move(iterated)}), std::move(own)});
      }
      if (t.text == "with") return with();
      if (t.text == "def") return function(false);
      TreeRef out = simple_keyword(t);
      if (out) {
        end_of_statement();
        return out;
      }
    }
    TreeRef out = assignment(in_class);
    end_of_statement();
    return out;
  }

  TreeRef simple_keyword(const SourceToken& t) {
    const SourceRange& r = t.range;
    if (lexer_.next_if("pass")) return Tree::make(Pass, r);
    if (lexer_.next_if("break")) return Tree::make(Break, r);
    if (lexer_.next_if("continue")) return Tree::make(Continue, r);
    if (lexer_.next_if("return")) {
      const bool bare =
          now().kind == SourceToken::Kind::NewLine || now().kind == SourceToken::Kind::End || now().is(";");
      return Tree::make(Return, r, {bare ? Tree::make(None, r) : expression_list()});
    }
    if (lexer_.next_if("raise")) return Tree::make(Raise, r, {expression()});
    if (lexer_.next_if("assert")) {
      TreeRef test = expression(), message;
      if (lexer_.next_if(",")) message = expression();
      return Tree::make(Assert, r, {std::move(test), option(message, r)});
    }
    if (lexer_.next_if("del")) {
      TreeRef all = expression_list();
      Trees targets;
      if (all->is(TupleLiteral)) targets.assign(all->part(0).parts().begin(), all->part(0).parts().end());
      else targets.push_back(std::move(all));
      return Tree::make(Delete, r, {Tree::list(r, std::move(targets))});
    }
    if (t.is("import") || t.is("global"))
      fail(r, t.text == "import" ? "import statements" : "global variables", " aren't supported");
    return {};
  }

  TreeRef conditional() {  // elif makes depth, which the tree bounds; this is a loop
    struct Part {
      SourceRange r;
      TreeRef test, yes;
    };
    std::vector<Part> parts;
    TreeRef otherwise;
    for (;;) {
      const SourceRange r = lexer_.next().range;
      TreeRef test = expression(), yes = body(r);
      parts.push_back({r, std::move(test), std::move(yes)});
      if (now().is("elif")) continue;
      otherwise = Tree::list(r, {});
      if (now().is("else")) {
        lexer_.next();
        otherwise = body(r);
      }
      break;
    }
    TreeRef out;
    while (!parts.empty()) {
      Part& p = parts.back();
      out = Tree::make(If, p.r, {p.test, p.yes, otherwise});
      parts.pop_back();
      if (!parts.empty()) otherwise = Tree::list(parts.back().r, {out});
    }
    return out;
  }

  TreeRef with() {
    const SourceRange r = lexer_.next().range;
    Trees items;
    do {
      TreeRef e = expression(), name;
      if (lexer_.next_if("as")) {
        const SourceRange at = now().range;
        name = Tree::make(Variable, at, {ident()});
      }
      const SourceRange own = e->range();
      items.push_back(Tree::make(WithItem, own, {std::move(e), option(name, own)}));
    } while (lexer_.next_if(","));
    TreeRef own = body(r);
    return Tree::make(With, r, {Tree::list(r, std::move(items)), std::move(own)});
  }

  TreeRef assignment(bool in_class) {
    TreeRef left = expression_list();
    const SourceRange r = left->range();
    if (lexer_.next_if(":")) {
      TreeRef type = expression(), right;
      if (lexer_.next_if("=")) right = expression_list();
      else if (!in_class) fail(r, "annotated assignments without assigned value aren't supported");
      return Tree::make(Assign, r, {Tree::list(r, {left}), option(right, r), option(type, r)});
    }
    if (now().kind == SourceToken::Kind::Sign && now().text.size() >= 2 && now().text.back() == '=' &&
        !precedence(now())) {
      const SourceToken sign = lexer_.next();
      const Syntax kind = operator_kind(sign.text.substr(0, sign.text.size() - 1));
      if (kind == FloorDiv || kind == MatMul) fail(sign.range, "unsupported kind of augmented assignment: ", sign.text);
      return Tree::make(AugAssign, r, {left, Tree::make(kind, r), expression_list()});
    }
    if (!now().is("=")) return Tree::make(ExprStmt, r, {left});
    Trees all;
    while (lexer_.next_if("=")) {
      all.push_back(std::move(left));
      left = expression_list();
    }
    return Tree::make(Assign, r,
                      {Tree::list(r, std::move(all)), Tree::option(left->range(), left), Tree::option(r, {})});
  }

  // --- definitions
  TreeRef parameter(bool keyword) {
    TreeRef name = ident(), type, value;
    const SourceRange r = name->range();
    if (lexer_.next_if(":")) type = expression();
    if (lexer_.next_if("=")) value = expression();
    return Tree::make(Param, r,
                      {std::move(name), option(type, r), option(value, r), Tree::make(keyword ? True : False, r)});
  }
  TreeRef function(bool) {
    const SourceRange r = lexer_.next().range;
    TreeRef name = ident();
    const SourceRange begin = lexer_.expect("(").range;
    Trees params;
    bool keyword = false;
    while (!now().is(")")) {
      if (lexer_.next_if("*")) keyword = true;
      else params.push_back(parameter(keyword));
      if (!lexer_.next_if(",")) break;
    }
    lexer_.expect(")");
    TreeRef result;
    if (lexer_.next_if("->")) result = expression();
    TreeRef decl = Tree::make(Decl, begin, {Tree::list(begin, std::move(params)), option(result, begin)});
    comment_.clear();
    TreeRef own = body(r);
    if (!comment_.empty()) decl = merge_type_comment(*decl, *parse_type_comment(std::exchange(comment_, {})), false);
    const SourceRange at = name->range();
    return Tree::make(Def, at, {std::move(name), std::move(decl), std::move(own)});
  }
  TreeRef class_definition() {
    const SourceRange r = lexer_.next().range;
    TreeRef name = ident(), base;
    if (lexer_.next_if("(")) {
      if (!now().is(")")) base = expression();
      lexer_.expect(")");
    }
    TreeRef own = body(r, true);
    const SourceRange at = name->range();
    return Tree::make(Class, at,
                      {std::move(name), option(base, at), std::move(own), Tree::option(at, {}), Tree::option(at, {})});
  }

  SourceLexer lexer_;
  int nesting_ = 0;
  std::string comment_;  // the type comment of the body that was just read
};

}  // namespace

std::vector<TreeRef> parse_program(Ref<Source> source) { return SourceParser(std::move(source)).program(); }
TreeRef parse_expression(Ref<Source> source) { return SourceParser(std::move(source)).only_expression(); }

TreeRef parse_type_comment(const std::string& text) {
  constexpr std::string_view begin = "# type:";
  const size_t from = text.find(begin);
  std::string rest(text, from == text.npos ? 0 : from + begin.size());
  rest.erase(0, rest.find_first_not_of(" \t"));
  return SourceParser(make_ref<Source>(std::move(rest))).type_comment_decl();
}

TreeRef merge_type_comment(const Tree& decl, const Tree& comment, bool method) {
  const auto own = decl.part(0).parts(), said = comment.part(0).parts();
  const size_t first = method && own.size() == said.size() + 1 ? 1 : 0;
  if (own.size() != said.size() + first)
    fail(comment.part(0).range(), "Number of type annotations (", said.size(), ") did not match the number of ",
         method ? "method" : "function", " parameters (", own.size(), ")");
  Trees params;
  for (size_t i = 0; i < own.size(); ++i) {
    if (i < first) {
      params.push_back(own[i]);
      continue;
    }
    const Tree& p = *own[i];
    params.push_back(
        Tree::make(Param, p.range(), {p.parts()[0], said[i - first]->parts()[1], p.parts()[2], p.parts()[3]}));
  }
  return Tree::make(Decl, decl.range(), {Tree::list(decl.part(0).range(), std::move(params)), comment.parts()[1]});
}

}  // namespace fc::jit
