// SPDX-License-Identifier: Apache-2.0
#include "jit/files/body_printer.h"

#include <algorithm>
#include <array>

#include "core/class_type.h"
#include "core/containers.h"
#include "core/format.h"
#include "core/literal.h"
#include "core/type_parse.h"
#include "dispatch/operator.h"
#include "jit/ir/value_text.h"
#include "jit/ir/walk.h"

namespace fc::jit {
namespace {

constexpr size_t deepest_block = 500;

// Names that mean something where the text is read.
constexpr std::array reserved{
    "_",      "and",       "as",       "aten",     "attribute", "assert", "async",         "await",
    "break",  "class",     "continue", "def",      "del",       "elif",   "else",          "except",
    "False",  "finally",   "for",      "from",     "global",    "if",     "import",        "in",
    "is",     "lambda",    "None",     "nonlocal", "not",       "or",     "pass",          "raise",
    "return", "True",      "try",      "while",    "with",      "yield",  "uninitialized", "unchecked_cast",
    "fork",   "CONSTANTS", "inf",      "nan",      "infj",      "nanj",   "ops",           "getattr",
};

std::string identifier(std::string_view candidate) {
  std::string out;
  if (candidate.empty() || (candidate[0] >= '0' && candidate[0] <= '9')) out += '_';
  for (const char c : candidate) out += is_identifier(std::string{'_', c}) ? c : '_';
  return out;
}

std::string_view base_name(std::string_view name) {  // x of x.1
  const size_t dot = name.rfind('.');
  return dot != name.npos && name.find_first_not_of("0123456789", dot + 1) == name.npos ? name.substr(0, dot) : name;
}

const Node* before_constants(const Node* n) {
  do n = n->prev();
  while (n->is(prim_Constant));
  return n;
}

bool is_out(const Parameter& p) { return p.keyword_only && p.alias.write; }

// Whether a call without the argument means the same.
bool is_default(const Parameter& p, const Value* v) {
  if (!p.has_default) return false;
  const std::optional<fc::Value> given = constant_of(v);
  if (!given) return false;
  const auto plain = [](const fc::Value& x) {
    if (x.tag() != Tag::Scalar) return x;
    const Scalar s = x.arg().scalar();
    return s.is_bool()            ? fc::Value(s.to_bool())
           : s.is_integral(false) ? fc::Value(s.to_int())
           : s.is_complex()       ? x
                                  : fc::Value(s.to_double());
  };
  const fc::Value a = plain(p.default_value), b = plain(*given);
  const auto is_number = [](const fc::Value& x) {
    return x.tag() == Tag::Bool || x.tag() == Tag::Int || x.tag() == Tag::Double;
  };
  const auto is_name = [](const fc::Value& x) {
    return x.tag() == Tag::DType || x.tag() == Tag::Layout || x.tag() == Tag::MemoryFormat;
  };
  if (is_name(a) && b.tag() == Tag::Int) return a.raw_int() == b.raw_int();
  if (is_number(a) && is_number(b) && a.tag() != b.tag()) return false;
  return equal(a, b);
}

}  // namespace

// --- which values are written where they are used

bool BodyPrinter::can_inline(const Value* v) const {
  const Node* n = v->node();
  if (n->num_outputs() != 1 || v->uses().size() != 1 || !n->blocks().empty()) return false;
  if (n->is(prim_isinstance)) return false;  // as a condition it would refine types once more
  const Use use = *v->uses().begin();
  if (v->has_name() && !use.user->is(prim_Return)) return false;  // it was a variable
  if (use.user->is(prim_Loop) && use.offset >= 2) return false;
  return !is_any(use.user->kind(), prim_fork, prim_rpc_async, prim_rpc_sync, prim_rpc_remote, prim_Enter, prim_Exit,
                 prim_awaitable);
}

// A node's inputs, from the last one, are what a reader of the text computes before it: as long as they stand in this
// order before the node, they can be written into it, and theirs into them.
const Node* BodyPrinter::scan_node(const Node* top) {
  if (is_inlined(top)) return top;
  struct Frame {
    const Node* node;
    size_t left;
    const Node* at;
  };
  std::vector<Frame> open{{top, top->num_inputs(), before_constants(top)}};
  for (;;) {
    Frame& f = open.back();
    if (f.left == 0) {
      const Frame done = f;
      open.pop_back();
      if (open.empty()) return done.at;
      inlined_.insert(done.node);
      open.back().at = done.at;
      continue;
    }
    const Value* v = f.node->input(--f.left);
    const Node* n = v->node();
    if (n == f.at && can_inline(v)) open.push_back({n, n->num_inputs(), before_constants(n)});
    else if (n->is(prim_Constant)) inlined_.insert(n);
  }
}

void BodyPrinter::scan(const Block& top) {
  std::vector<const Block*> blocks{&top};
  for_each_node(top, [&](const Node* n) { blocks.insert(blocks.end(), n->blocks().begin(), n->blocks().end()); });
  for (const Block* b : blocks) {
    scan_node(b->return_node());
    for (const Node* n = b->last(); n != b->end(); n = n->prev()) scan_node(n);
  }
}

// An expression that became too long gets a name, and with it all that is written before it in the statement: what is
// computed in the middle must not come before what stands to its left.
void BodyPrinter::split_long(const Value* v) {
  std::vector<const Value*> found;
  Use use = *v->uses().begin();
  auto offset = static_cast<int64_t>(use.offset);
  for (;;) {
    const auto known = split_.find(use.user);
    const bool seen = known != split_.end();
    for (int64_t i = offset; i >= (seen ? known->second + 1 : 0); --i) {
      const Value* before = use.user->input(static_cast<size_t>(i));
      if (!before->node()->is(prim_Constant) && is_inlined(before->node())) found.push_back(before);
    }
    split_[use.user] = offset;
    if (seen || !is_inlined(use.user)) break;
    use = *use.user->output()->uses().begin();
    offset = static_cast<int64_t>(use.offset) - 1;  // what the user is for is still being written
  }
  for (size_t i = found.size(); i-- > 0;) assign_outputs(*found[i]->node(), std::string(text_of(found[i])));
}

// --- names

std::string BodyPrinter::take_name(std::string_view candidate) {
  std::string name(candidate);
  while (names_.contains(name) || std::ranges::count(reserved, name)) name = str(candidate, out_.next_id_[name]++);
  names_.insert(name);
  return name;
}

void BodyPrinter::name(std::span<Value* const> values) {
  for (const Value* v : values) text_[v] = take_name(v->has_name() ? identifier(base_name(v->name())) : "_");
}

const std::string& BodyPrinter::text_of(const Value* v) const {
  const auto found = text_.find(v);
  FC_CHECK(found != text_.end(), "%", v->name(), " is used before it is computed: the graph cannot be printed as code");
  return found->second;
}

std::string BodyPrinter::list(std::span<Value* const> values) const {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i) out += ", ";
    out += text_of(values[i]);
  }
  return out;
}

// --- statements

std::string& BodyPrinter::line(const Node& n) {
  if (n.range().source) out_.marks_.push_back({out_.text_.size(), n.range()});
  out_.text_.append(2 * level_, ' ');
  return out_.text_;
}

void BodyPrinter::definition(const Function& f, bool typed_self) {
  const Schema& s = f.schema();
  const Graph& g = f.graph();
  FC_CHECK(s.parameters.size() == g.inputs().size(), f.qualified_name(),
           " has another number of inputs than its graph");
  std::string& text = line(*g.param_node());
  text += str("def ", f.name(), "(");
  for (size_t i = 0; i < s.parameters.size(); ++i) {
    const Parameter& p = s.parameters[i];
    const std::string own = take_name(p.name);
    text += i ? ",\n    " + own : own;
    if (i || typed_self) text += ": " + out_.name_of_type(p.whole_type);
    if (p.has_default) text += "=" + (p.default_value.is_none() ? "None" : out_.constant(p.default_value));
    text_[g.inputs()[i]] = own;
  }
  text +=
      ") -> " + (s.returns.size() == 1 ? out_.name_of_type(s.returns[0].whole_type) : std::string("NoneType")) + ":\n";
  body(*g.block());
}

void BodyPrinter::body(const Block& b) {
  scan(b);
  ++level_;
  // Constants first, in the order of their uses; most have no text of their own.
  std::unordered_set<const Node*> known;
  const auto constants_of = [&](const Node& n) {
    for (const Value* v : n.inputs())
      if (v->node()->is(prim_Constant) && known.insert(v->node()).second) node(*v->node(), true);
  };
  struct Uses final : Visitor {
    explicit Uses(std::function<void(const Node&)> f) : each(std::move(f)) {}
    bool enter(Node* n) override {
      each(*n);
      return true;
    }
    void leave_block(Block* inner) override { each(*inner->return_node()); }
    std::function<void(const Node&)> each;
  } uses(constants_of);
  walk(const_cast<Block&>(b), uses);
  block(b, b.num_outputs() > 0);
  node(*b.return_node());
  --level_;
}

void BodyPrinter::block(const Block& b, bool more_follows) {
  FC_CHECK(++depth_ <= deepest_block, "blocks nest more than ", deepest_block, " deep");
  if (!more_follows && b.empty()) out_.text_ += std::string(2 * level_, ' ') + "pass\n";
  for (const Node* n = b.first(); n != b.end(); n = n->next()) node(*n);
  --depth_;
}

void BodyPrinter::assign_outputs(const Node& n, const std::string& expression) {
  name(n.outputs());
  std::string& text = line(n);
  if (n.num_outputs()) text += list(n.outputs()) + " = ";
  text += expression + "\n";
}

void BodyPrinter::assign(const Node& n, std::span<Value* const> to, std::span<Value* const> from) {
  if (!to.empty()) line(n) += list(to) + " = " + list(from) + "\n";
}

void BodyPrinter::node(const Node& n, bool constants) {
  for (const Value* v : n.outputs()) out_.dependencies_.add(v->type());
  if (n.is(prim_Constant) && !constants) return;
  if (n.is(prim_Return)) {
    FC_CHECK(!out_.importable_ || n.num_inputs() == 1, "a function that is exported must have one return value");
    if (n.num_inputs()) line(n) += "return " + list(n.inputs()) + "\n";
  } else if (n.is(prim_If)) {
    if_statement(n);
  } else if (n.is(prim_Loop)) {
    loop(n);
  } else if (is_any(n.kind(), prim_TupleUnpack, prim_ListUnpack)) {
    name(n.outputs());
    std::string& text = line(n);
    if (n.num_outputs()) text += list(n.outputs()) + ", = ";
    text += text_of(n.input()) + "\n";
  } else if (n.is(prim_SetAttr)) {
    line(n) += text_of(n.input(0)) + "." + *n.get<std::string>(attr_name) + " = " + text_of(n.input(1)) + "\n";
  } else if (n.is(prim_fork)) {
    fork(n);
  } else if (n.is(prim_Enter)) {
    std::string& text = line(n);
    text += "with " + text_of(n.input());
    if (n.has_uses()) {
      name(n.outputs());
      text += " as " + text_of(n.output(0));
    }
    text += ":\n";
    ++level_;
  } else if (n.is(prim_Exit)) {
    if (n.prev()->is(prim_Enter)) line(n) += "pass\n";
    --level_;
  } else if (n.is(prim_ModuleContainerIndex)) {
    name(n.outputs());
    line(n) += text_of(n.output()) + " : " + out_.name_of_type(n.output()->type()) + " = " + text_of(n.input(0)) + "[" +
               text_of(n.input(1)) + "]\n";
  } else {
    std::string text = expression(n);
    const bool long_text = is_long(text);
    if (!is_inlined(&n) || (n.is(prim_Constant) && long_text)) return assign_outputs(n, text);
    text_[n.output()] = std::move(text);
    if (long_text) split_long(n.output());
  }
}

void BodyPrinter::if_statement(const Node& n) {
  name(n.outputs());
  line(n) += "if " + text_of(n.input()) + ":\n";
  for (size_t i = 0; i < 2; ++i) {
    if (i) line(n) += "else:\n";
    ++level_;
    block(*n.block(i), n.num_outputs() > 0);
    assign(n, n.outputs(), n.block(i)->outputs());
    --level_;
  }
}

void BodyPrinter::loop(const Node& n) {
  const Block& b = *n.block(0);
  const bool is_for = constant_bool(n.input(1)) == true && constant_bool(b.output(0)) == true;
  FC_CHECK(is_for || constant_int(n.input(0)) == INT64_MAX,
           "a loop that is both a for and a while loop cannot be printed as code");
  name(n.outputs());
  for (size_t i = 0; i < n.num_outputs(); ++i) text_[b.inputs()[i + 1]] = text_of(n.output(i));
  for (size_t i = 0; i < n.num_outputs(); ++i) {
    std::string& text = line(n);
    text += text_of(n.output(i));
    if (n.output(i)->type()->unshaped() != n.input(i + 2)->type()->unshaped())
      text += ": " + out_.name_of_type(n.output(i)->type());
    text += " = " + text_of(n.input(i + 2)) + "\n";
  }
  const std::span<Value* const> turn = b.inputs().first(1);
  name(turn);
  Value* const condition = n.input(1);
  if (is_for) {
    line(n) += "for " + text_of(turn[0]) + " in range(" + text_of(n.input(0)) + "):\n";
  } else {  // the turn is not used: its name is the condition's
    assign(n, turn, std::span(&condition, 1));
    line(n) += "while " + text_of(turn[0]) + ":\n";
  }
  ++level_;
  const size_t from = is_for ? 1 : 0;
  const std::vector<Value*> outputs = b.outputs();
  block(b, b.inputs().size() > from);
  assign(n, b.inputs().subspan(from), std::span(outputs).subspan(from));
  --level_;
}

void BodyPrinter::fork(const Node& n) {
  FC_CHECK(++depth_ <= deepest_block, "blocks nest more than ", deepest_block, " deep");
  const std::string own = take_name("__forked_function");
  const Graph& g = **n.get<Ref<Graph>>(attr_Subgraph);
  line(n) += "def " + own + "():\n";
  for (size_t i = 0; i < g.inputs().size(); ++i) text_[g.inputs()[i]] = text_of(n.input(i));
  body(*g.block());
  --depth_;
  assign_outputs(n, "fork(" + own + ")");
}

// --- expressions

std::string BodyPrinter::list_construct(const Node& n) {
  const TypeRef type = n.output()->type();
  const std::string items = "[" + list(n.inputs()) + "]";
  return n.num_inputs() && items_tell_type(type->item()) ? items : annotated(type, items);
}

std::string BodyPrinter::dict_construct(const Node& n) {
  const TypeRef type = n.output()->type();
  std::string items = "{";
  for (size_t i = 0; i + 1 < n.num_inputs(); i += 2)
    items += (i ? ", " : "") + text_of(n.input(i)) + ": " + text_of(n.input(i + 1));
  items += "}";
  return n.num_inputs() && items_tell_type(type->item(0)) && items_tell_type(type->item(1)) ? items
                                                                                            : annotated(type, items);
}

// Of an operator. What is the default is left out at the end; results that are given stand last.
std::string BodyPrinter::call(const Node& n) {
  std::string out = n.kind() == Symbol::of("aten::backward") ? "torch.autograd.backward"
                    : n.kind() == Symbol::of("aten::grad")   ? "torch.autograd.grad"
                    : n.kind().space() == "aten"             ? str("torch.", n.kind().name())
                                                             : str("ops.", n.kind().space(), ".", n.kind().name());
  const Operator* op = n.find_operator();
  const std::vector<Parameter> none;
  const auto& parameters = op ? op->schema().parameters : none;
  size_t needed = n.num_inputs(), results = 0;
  if (parameters.size() >= n.num_inputs()) {
    size_t i = parameters.size();
    while (i > 0 && is_out(parameters[i - 1])) --i;
    results = parameters.size() - i;
    while (i > 0 && (i > n.num_inputs() || is_default(parameters[i - 1], n.input(i - 1)))) --i;
    needed = i;
  }
  if (n.is(prim_RaiseException) && n.num_inputs() == 2 && is_none(n.input(1))) needed = 1;
  out += "(";
  for (size_t i = 0; i < needed; ++i) {
    if (i) out += ", ";
    if (i < parameters.size() && parameters[i].keyword_only) out += parameters[i].name + "=";
    out += text_of(n.input(i));
  }
  for (size_t i = parameters.size() - results; i < parameters.size() && i < n.num_inputs(); ++i)
    out += ", " + parameters[i].name + "=" + text_of(n.input(i));
  return out + ")";
}

std::string BodyPrinter::expression(const Node& n) {
  const auto all = [&](const char* open, const char* close = ")") { return open + list(n.inputs()) + close; };
  const auto type = [&] { return out_.name_of_type(n.output()->type()); };
  const auto text = [&](size_t i) -> const std::string& { return text_of(n.input(i)); };
  const auto arguments = [&] {
    std::string out = "(";
    for (size_t i = 1; i < n.num_inputs(); ++i) out += text(i) + ", ";
    return out + ")";
  };
  if (n.is(prim_Constant)) {
    if (n.output()->type()->is(TypeKind::Function)) {
      auto* f = dynamic_cast<Function*>(n.attached().get());
      FC_CHECK(f, "a constant names a function that is not there");
      out_.dependencies_.add(Ref<Function>(f));
      return f->qualified_name();
    }
    const std::optional<fc::Value> v = constant_of(n.output());
    return v ? out_.constant(*v) : "None";
  }
  if (n.is(prim_Uninitialized)) return "uninitialized(" + type() + ")";
  if (is_any(n.kind(), aten_ScalarImplicit, aten_FloatImplicit, aten_IntImplicit))
    return annotated(n.output()->type(), text(0));
  if (n.is(aten_Int)) return all("int(");
  if (n.is(aten_Float)) return all("float(");
  if (n.is(aten_Bool)) return all("bool(");
  if (n.is(aten_str)) return all("str(");
  if (n.is(aten___getitem__)) return (is_identifier(text(0)) ? text(0) : "(" + text(0) + ")") + "[" + text(1) + "]";
  if (n.is(prim_Print)) return all("print(");
  if (n.kind() == Symbol::of("aten::sorted")) return all("sorted(");
  if (n.is(prim_TupleConstruct)) {
    if (!n.output()->type()->name().empty()) return type() + all("(");
    return all("(", n.num_inputs() == 1 ? ",)" : ")");
  }
  if (n.is(prim_TupleIndex)) return "(" + text(0) + ")[" + text(1) + "]";
  if (n.is(prim_TupleSlice))
    return str("(", text(0), ")[", *n.get<int64_t>(attr_beg), ":", *n.get<int64_t>(attr_end), "]");
  if (n.is(prim_ListConstruct)) return list_construct(n);
  if (n.is(prim_DictConstruct)) return dict_construct(n);
  if (n.is(prim_CreateObject)) {
    const std::string cls = type();
    return cls + ".__new__(" + cls + ")";
  }
  if (n.is(prim_GetAttr)) {
    const std::string& field = *n.get<std::string>(attr_name);
    if (is_identifier(field)) return text(0) + "." + field;
    std::string out = "getattr(" + text(0) + ", ";
    append_quoted(out, field);
    return out + ")";
  }
  if (n.is(prim_CallFunction)) return text(0) + arguments();
  if (n.is(prim_CallMethod)) {
    out_.dependencies_.add(n.input(0)->type());
    return "(" + text(0) + ")." + *n.get<std::string>(attr_name) + arguments();
  }
  if (n.is(aten__unwrap_optional) && (n.input(0)->type()->is(TypeKind::None) || n.input(0)->node()->must_be_none()))
    return "torch._unwrap_optional(" + annotated(optional_type(n.output()->type()), text(0)) + ")";
  if (is_any(n.kind(), prim_unchecked_unwrap_optional, prim_unchecked_cast))
    return "unchecked_cast(" + type() + ", " + text(0) + ")";
  if (n.is(prim_isinstance)) {
    const auto* types = n.get<std::vector<TypeRef>>(attr_types);
    FC_CHECK(types, "prim::isinstance without types");
    std::string names;
    for (TypeRef t : *types) names += (names.empty() ? "" : ", ") + out_.name_of_type(t);
    return "isinstance(" + text(0) + ", " + (types->size() == 1 ? names : "(" + names + ")") + ")";
  }
  if (n.is(prim_tolist)) return annotated(n.output()->type(), text(0) + ".tolist()");
  if (n.is(prim_EnumName)) return "(" + text(0) + ").name";
  if (n.is(prim_EnumValue)) return "(" + text(0) + ").value";
  if (n.is(prim_PythonOp)) {
    const auto *name = n.get<std::string>(attr_python_name), *scalars = n.get<std::string>(attr_python_scalars);
    FC_CHECK(!out_.importable_, "Could not export Python function call '", name ? *name : "?",
             "'. Remove calls to Python functions before export. Did you forget to add @script or @script_method "
             "annotation? "
             "If this is a nn.ModuleList, add it to __constants__");
    return "^" + (name ? *name : "Python") + (scalars ? *scalars : "()") + all("(");
  }
  FC_CHECK(n.blocks().empty(), "a node of kind ", n.kind(), " cannot be printed as code");
  return call(n);
}

}  // namespace fc::jit
