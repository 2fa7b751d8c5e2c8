// SPDX-License-Identifier: Apache-2.0
// From a graph to instructions, in two walks without recursion: where each value ends, then what is done.
#include <algorithm>
#include <unordered_map>

#include "core/containers.h"
#include "dispatch/operator.h"
#include "jit/ir/operators.h"
#include "jit/ir/walk.h"
#include "jit/passes/subgraph.h"
#include "jit/run/function.h"
#include "jit/run/nodes.h"

namespace fc::jit {
namespace {

struct Life {
  int32_t depth = 0;           // of the block that defines it
  const Node* last = nullptr;  // the node of that block with which it ends; null: nobody uses it
  bool inside = false;         // used last within that node's blocks
  bool constant = false;
};
using Lives = std::unordered_map<const Value*, Life>;

// Where each value ends: at a node of its own block, whose return node counts.
class Liveness final : public Visitor {
 public:
  Lives lives;
  std::vector<const Value*> constants;

  void enter_block(Block* b) override {
    ++depth_;
    owners_.resize(static_cast<size_t>(depth_) + 1);
    for (const Value* v : b->inputs()) lives[v].depth = depth_;
  }
  bool enter(Node* n) override {
    owners_[static_cast<size_t>(depth_)] = n;
    for (size_t i = 0; i < n->num_inputs(); ++i) use(n->input(i), n);
    for (const Value* v : n->outputs()) {
      Life& life = lives[v];
      life.depth = depth_;
      life.constant = n->is(prim_Constant) && constant_of(v).has_value();
      if (life.constant) constants.push_back(v);
    }
    return true;
  }
  void leave_block(Block* b) override {
    for (size_t i = 0; i < b->num_outputs(); ++i) use(b->output(i), b->return_node());
    --depth_;
  }

 private:
  void use(const Value* v, const Node* by) {
    Life& life = lives[v];
    life.inside = life.depth != depth_;
    life.last = life.inside ? owners_[static_cast<size_t>(life.depth)] : by;
  }
  int32_t depth_ = 0;
  std::vector<const Node*> owners_;  // by depth: the node whose blocks are being walked
};

struct Fast {
  std::string_view op;
  Op code;
};
constexpr Fast fast[] = {
    {"aten::add.int", Op::ADD_INT},
    {"aten::sub.int", Op::SUB_INT},
    {"aten::mul.int", Op::MUL_INT},
    {"aten::floordiv.int", Op::FLOORDIV_INT},
    {"aten::remainder.int", Op::REMAINDER_INT},
    {"aten::lt.int", Op::LT_INT},
    {"aten::le.int", Op::LE_INT},
    {"aten::gt.int", Op::GT_INT},
    {"aten::ge.int", Op::GE_INT},
    {"aten::eq.int", Op::EQ_INT},
    {"aten::ne.int", Op::NE_INT},
    {"aten::add.float", Op::ADD_FLOAT},
    {"aten::sub.float", Op::SUB_FLOAT},
    {"aten::mul.float", Op::MUL_FLOAT},
    {"aten::div.float", Op::DIV_FLOAT},
    {"aten::lt.float", Op::LT_FLOAT},
    {"aten::le.float", Op::LE_FLOAT},
    {"aten::gt.float", Op::GT_FLOAT},
    {"aten::ge.float", Op::GE_FLOAT},
    {"aten::__and__.bool", Op::AND_BOOL},
    {"aten::__or__.bool", Op::OR_BOOL},
    {"aten::__not__", Op::NOT_BOOL},
    {"aten::__getitem__.t", Op::LIST_GET},
    {"aten::len.t", Op::LIST_LEN},
};

bool is_plain(TypeRef t) {  // nothing to let go of
  return t->is_number() || t->is(TypeKind::Bool) || t->is(TypeKind::None) || t->is(TypeKind::Device);
}

PassAs pass_of(const FlatType& t) {
  switch (t.kind) {
    case Kind::DType: return PassAs::DType;
    case Kind::Layout: return PassAs::Layout;
    case Kind::MemoryFormat: return PassAs::MemoryFormat;
    default: return PassAs::Any;
  }
}

class Compiler final : public Visitor {
 public:
  Compiler(Code& code, Lives& lives, const std::vector<const Value*>& constants) : code_(code), lives_(lives) {
    for (const Value* v : constants) {
      slots_[v] = static_cast<int32_t>(code_.constants.size());
      code_.constants.push_back(*constant_of(v));
    }
    zero_ = static_cast<int32_t>(code_.constants.size());
    code_.constants.emplace_back(int64_t{0});
    code_.registers = static_cast<int32_t>(code_.constants.size());
    for (const auto& [v, life] : lives_)
      if (life.last && !life.constant) ending_[life.last].push_back(v);
    for (auto& [node, values] : ending_)  // the same instructions for the same graph
      std::sort(values.begin(), values.end(), [](auto a, auto b) { return a->unique() < b->unique(); });
  }

  void enter_block(Block* b) override {
    if (!b->owning_node()) {
      for (const Value* v : b->inputs()) code_.parameters.push_back(define(v));
    } else if (b->owning_node()->is(prim_Loop)) {
      begin_loop(b);
    }
  }

  bool enter(Node* n) override {
    range_ = n->range();
    site_ = n->call_site();
    if (n->is(prim_Constant)) {
      if (!lives_[n->output()].constant)
        fail(n, n->output()->type()->is(TypeKind::Function) ? "no function of that name is known"
                                                            : "a constant that the interpreter cannot make");
      return false;
    }
    if (n->is(prim_If)) {
      for (const Value* v : n->outputs()) define(v);
      open_.push_back({.jump = emit(Op::JF, slot(n->input()))});
      return true;
    }
    if (n->is(prim_Loop)) {
      open_.push_back({});
      return true;
    }
    if (is_any(n->kind(), prim_CallFunction, prim_CallMethod, prim_Enter, prim_Exit, prim_fork)) {
      function(n);
      end(n);
      return false;
    }
    if (!n->blocks().empty()) fail(n, str("blocks, which the interpreter knows of prim::If and prim::Loop only"));
    plain(n);
    end(n);
    return false;
  }

  void leave_block(Block* b) override {
    Node* owner = b->owning_node();
    if (!owner) {
      for (size_t i = 0; i < b->num_outputs(); ++i) {
        code_.results.push_back(slot(b->output(i)));
        code_.result_moves.push_back(moves(b->output(i), b->return_node(), b->outputs(), i));
      }
      emit(Op::RET);
      return;
    }
    Open& open = open_.back();
    if (owner->is(prim_If)) {
      std::vector<Move> moves;
      for (size_t i = 0; i < b->num_outputs(); ++i) add_move(moves, b, i, slot(owner->output(i)));
      emit(moves);
      end(b->return_node());
      if (b == owner->block(0)) {
        const size_t over = emit(Op::JMP);
        code_.instructions[open.jump].b = here();
        open.jump = over;
      } else {
        code_.instructions[open.jump].a = here();
      }
    } else {
      std::vector<Move> moves;
      add_move(moves, b, 0, open.turn + 2);
      for (size_t i = 1; i < b->num_outputs(); ++i) add_move(moves, b, i, slot(owner->output(i - 1)));
      emit(moves);
      for (const Value* v : b->inputs()) pinned_.erase(v);
      end(b->return_node(), b);
      emit(Op::BACK, open.head);
      code_.instructions[open.jump].c = here();
      release(slots_.at(b->inputs()[0]));
      for (int32_t k = 0; k < 3; ++k) release(open.turn + k);
    }
  }

  void leave(Node* n) override {
    open_.pop_back();
    end(n);
  }

 private:
  struct Open {  // a node whose blocks are being walked
    size_t jump = 0;
    int32_t head = 0, turn = 0;
  };
  struct Move {
    int32_t to, from;
    bool move;
  };

  [[noreturn]] void fail(const Node* n, const std::string& what) {
    raise<Error>("the interpreter cannot run ", n->kind().text(), ": ", what, "\n", n->range().highlight());
  }
  int32_t here() const { return static_cast<int32_t>(code_.instructions.size()); }
  size_t emit(Op op, int32_t a = 0, int32_t b = 0, int32_t c = 0) {
    code_.instructions.push_back({op, a, b, c});
    code_.ranges.push_back(range_);
    code_.sites.push_back(site_);
    return code_.instructions.size() - 1;
  }
  int32_t slot(const Value* v) const { return slots_.at(v); }

  int32_t fresh() {
    if (!free_.empty()) {
      const int32_t r = free_.back();
      free_.pop_back();
      return r;
    }
    FC_CHECK(code_.registers < INT32_MAX - 4, "a graph of more than 2^31 values");
    return code_.registers++;
  }
  void release(int32_t r) { free_.push_back(r); }
  int32_t define(const Value* v) { return slots_[v] = fresh(); }

  // Whether the use of `v` as `by`'s operand i, of all its operands, is its end.
  bool moves(const Value* v, const Node* by, const std::vector<Value*>& operands, size_t i) const {
    const Life& life = lives_.at(v);
    if (life.constant || life.last != by || life.inside) return false;
    return std::find(operands.begin() + static_cast<std::ptrdiff_t>(i) + 1, operands.end(), v) == operands.end() &&
           std::find(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(i), v) ==
               operands.begin() + static_cast<std::ptrdiff_t>(i);
  }

  void add_move(std::vector<Move>& list, Block* b, size_t i, int32_t to) {
    const std::vector<Value*> outputs = b->outputs();
    list.push_back({to, slot(outputs[i]), moves(outputs[i], b->return_node(), outputs, i)});
  }
  // All at once: where one's target is another's source, through registers in between.
  void emit(std::vector<Move> list) {
    std::erase_if(list, [](const Move& m) { return m.to == m.from; });
    std::vector<int32_t> targets;
    for (const Move& m : list) targets.push_back(m.to);
    std::sort(targets.begin(), targets.end());
    const bool crossing = std::any_of(list.begin(), list.end(), [&](const Move& m) {
      return std::binary_search(targets.begin(), targets.end(), m.from);
    });
    std::vector<int32_t> between;
    for (Move& m : list) {
      const int32_t to = crossing ? between.emplace_back(fresh()) : m.to;
      emit(m.move ? Op::MOVE : Op::COPY, to, m.from);
      if (m.move) dropped_.insert({m.from, true});
    }
    for (size_t i = 0; i < between.size(); ++i) {
      emit(Op::MOVE, list[i].to, between[i]);
      release(between[i]);
    }
  }

  void begin_loop(Block* b) {
    Node* n = b->owning_node();
    Open& open = open_.back();
    open.turn = code_.registers;
    code_.registers += 3;
    emit(Op::COPY, open.turn, zero_);
    emit(Op::COPY, open.turn + 1, slot(n->input(0)));
    emit(Op::COPY, open.turn + 2, slot(n->input(1)));
    const std::vector<Value*> inputs = n->inputs();
    define(b->inputs()[0]);
    pinned_[b->inputs()[0]] = true;
    for (size_t i = 2; i < inputs.size(); ++i) {  // what is carried has one register, in the block and behind it
      const Value *in = b->inputs()[i - 1], *out = n->output(i - 2);
      pinned_[in] = true;
      emit(moves(inputs[i], n, inputs, i) ? Op::MOVE : Op::COPY, define(in), slot(inputs[i]));
      slots_[out] = slot(in);
    }
    open.head = here();
    open.jump = emit(Op::LOOP, open.turn, slot(b->inputs()[0]));
  }

  // What ends with this node lets go of its content and its register.
  void end(const Node* n, const Block* loop = nullptr) {
    if (auto found = ending_.find(n); found != ending_.end())
      for (const Value* v : found->second) {
        // A value that is carried on keeps its register: the next turn fills it.
        const bool carried = loop && v->node() == loop->param_node();
        if (!is_plain(v->type()) && !dropped_.contains(slot(v)) && !carried) emit(Op::DROP, slot(v));
        if (!pinned_.contains(v) && !carried) release(slot(v));
      }
    dropped_.clear();
    if (n->kind() == Symbol(prim_Return)) return;
    for (const Value* v : n->outputs())
      if (!lives_.at(v).last) {
        if (!is_plain(v->type())) emit(Op::DROP, slot(v));
        release(slot(v));
      }
  }

  void plain(Node* n) {
    const Operator* op = n->find_operator();
    if (op)
      FC_CHECK(op->num_results() == n->num_outputs(), op->name(), " returns ", op->num_results(), " values, not ",
               n->num_outputs(), "\n", n->range().highlight());
    if (op && fast_one(n, *op)) return;
    if (n->is(aten_wait) && n->num_inputs() == 1) {
      const int32_t from = slot(n->input());
      emit(Op::WAIT, define(n->output()), from);
      return;
    }
    NodeCall call;
    const NodeKind* kind = find_node_kind(n->kind());
    if (!kind && !op) n->get_operator();  // throws, with every candidate
    if (kind) {
      const std::vector<Value*> inputs = n->inputs();
      for (size_t i = 0; i < inputs.size(); ++i) {
        const bool last = moves(inputs[i], n, inputs, i);
        call.in.push_back({slot(inputs[i]), PassAs::Any, last});
        if (last) dropped_.insert({slot(inputs[i]), true});
      }
      if (n->num_outputs() == 1) call.type = n->output()->type();
      if (kind->prepare) kind->prepare(*n, call);
    } else {
      operands(n, *op, call);
    }
    for (const Value* v : n->outputs()) call.out.push_back(define(v));
    code_.calls.push_back(std::move(call));
    const auto index = static_cast<int32_t>(code_.calls.size() - 1);
    if (kind) emit(Op::NODE, index, static_cast<int32_t>(index_of(*kind)));
    else emit(Op::CALL_OP, index);
  }

  // A call, which opens a frame. What is called is known here, or, of an interface's method, by its name.
  void function(Node* n) {
    NodeCall call;
    const std::vector<Value*> inputs = n->inputs();
    Op op = Op::CALL;
    size_t first = 0;
    if (n->is(prim_fork)) {
      const auto* subgraph = n->get<Ref<Graph>>(attr_Subgraph);
      if (!subgraph) fail(n, "a fork without a Subgraph");
      call.function = make_ref<Function>("forked", (*subgraph)->copy());
      call.text = "forked";
      op = Op::FORK;
    } else {
      if (inputs.empty()) fail(n, "no operand");
      call.type = inputs[0]->type();
      if (n->is(prim_CallMethod)) {
        if (const auto* name = n->get<std::string>(attr_name)) call.text = *name;
      } else if (!n->is(prim_CallFunction)) {
        op = n->is(prim_Enter) ? Op::ENTER : Op::EXIT;
        call.text = n->is(prim_Enter) ? "__enter__" : "__exit__";
      }
      call.function = Ref<Function>(op == Op::CALL ? callee_of(*n) : find_method(call.type, call.text));
      if (n->is(prim_CallFunction)) {
        if (call.function) call.text = call.function->name();
        first = call.function ? 1 : 0;
      }
    }
    for (size_t i = first; i < inputs.size(); ++i) {
      const bool last = moves(inputs[i], n, inputs, i);
      call.in.push_back({slot(inputs[i]), PassAs::Any, last});
      if (last) dropped_.insert({slot(inputs[i]), true});
    }
    for (const Value* v : n->outputs()) call.out.push_back(define(v));
    if (call.out.size() > 1) fail(n, "more results than one");
    code_.calls.push_back(std::move(call));
    emit(op, static_cast<int32_t>(code_.calls.size() - 1));
  }

  void operands(const Node* n, const Operator& op, NodeCall& call) {
    call.op = &op;
    call.prepared.resize(n->num_inputs());
    for (size_t i = 0; i < n->num_inputs(); ++i) {
      const Value* v = n->input(i);
      Operand o{slot(v), op.is_hidden() ? PassAs::Whole : pass_of(op.schema().parameters[i].type)};
      call.in.push_back(o);
    }
    for (const Parameter& r : op.schema().returns)
      if (pass_of(r.type) != PassAs::Any) call.plain_results = false;
    if (auto found = ending_.find(n); found != ending_.end())
      for (const Value* v : found->second)
        if (!is_plain(v->type())) {
          call.drop.push_back(slot(v));
          dropped_.insert({slot(v), true});
        }
  }

  bool fast_one(Node* n, const Operator& op) {
    if (n->is(aten___is__) || n->is(aten___isnot__)) {
      if (!is_none(n->input(1)) && !n->input(1)->type()->is(TypeKind::None)) return false;
      const int32_t from = slot(n->input(0));
      emit(n->is(aten___is__) ? Op::IS_NONE : Op::IS_SET, define(n->output()), from);
      return true;
    }
    for (const Fast& f : fast)
      if (f.op == op.name()) {
        const int32_t b = slot(n->input(0)), c = n->num_inputs() > 1 ? slot(n->input(1)) : 0;
        emit(f.code, define(n->output()), b, c);
        return true;
      }
    return false;
  }

  Code& code_;
  Lives& lives_;
  std::unordered_map<const Value*, int32_t> slots_;
  std::unordered_map<const Node*, std::vector<const Value*>> ending_;
  std::unordered_map<const Value*, bool> pinned_;  // registers that a loop keeps
  std::unordered_map<int32_t, bool> dropped_;      // by the instruction of the node at hand
  std::vector<int32_t> free_;
  std::vector<Open> open_;
  SourceRange range_;
  Ref<CallSite> site_;
  int32_t zero_ = 0;
};

// Constants are read from where they are, so that a call only fills in what varies.
void prepare(Code& code) {
  const auto constants = static_cast<int32_t>(code.constants.size());
  for (NodeCall& call : code.calls) {
    if (!call.op) continue;
    std::vector<Operand> varying;
    for (size_t i = 0; i < call.in.size(); ++i) {
      const Operand& o = call.in[i];
      if (o.slot < constants) call.prepared[i] = pass(code.constants[static_cast<size_t>(o.slot)], o.pass);
      else varying.push_back({o.slot, o.pass, false, static_cast<uint16_t>(i)});
    }
    call.in = std::move(varying);
  }
}

}  // namespace

Arg pass(const fc::Value& v, PassAs how) {
  if (v.tag() == Tag::Int) switch (how) {
      case PassAs::DType: return argument_of(Kind::DType, v.raw_int());
      case PassAs::Layout: return argument_of(Kind::Layout, v.raw_int());
      case PassAs::MemoryFormat: return argument_of(Kind::MemoryFormat, v.raw_int());
      default: return v.raw_int();
    }
  if (how == PassAs::Whole && v.tag() >= Tag::IntList) return Arg::whole(v);
  return v.arg();
}

Ref<Code> compile(const Graph& g, std::string name) {
  auto code = make_ref<Code>();
  code->name = std::move(name);
  code->graph = g.copy();
  for (Node *n = walk_first(*code->graph->block()), *next = nullptr; n; n = next) {
    next = walk_next(n, *code->graph->block());
    if (n->is(prim_DifferentiableGraph)) dissolve_group(n);  // operators record what they need, as everywhere
  }
  Liveness liveness;
  walk(*code->graph->block(), liveness);
  Compiler compiler(*code, liveness.lives, liveness.constants);
  walk(*code->graph->block(), compiler);
  prepare(*code);
  code->graph = {};  // its places are kept with the instructions
  return code;
}

std::string_view to_string(Op op) {
  constexpr std::string_view names[] = {
#define OPCODE(name) #name,
#include "jit/run/opcodes.def"
#undef OPCODE
  };
  return names[static_cast<size_t>(op)];
}

std::string dump(const Code& code) {
  std::string out;
  for (size_t i = 0; i < code.constants.size(); ++i)
    out += str("constant ", i, ": ", to_string(code.constants[i]), '\n');
  for (size_t i = 0; i < code.instructions.size(); ++i) {
    const Instruction& in = code.instructions[i];
    out += str(i, ' ', to_string(in.op), ' ', in.a, ' ', in.b, ' ', in.c);
    if (in.op == Op::CALL_OP || in.op == Op::NODE || in.op == Op::CALL || in.op == Op::FORK || in.op == Op::ENTER ||
        in.op == Op::EXIT) {
      const NodeCall& call = code.calls[static_cast<size_t>(in.a)];
      out += str(" # ",
                 call.op             ? std::string_view(call.op->name())
                 : in.op == Op::NODE ? node_kind(static_cast<size_t>(in.b)).kind.text
                                     : std::string_view(call.text),
                 '(');
      for (size_t k = 0; k < call.in.size(); ++k)
        out += str(k ? ", " : "", 'r', call.in[k].slot, call.in[k].last ? "!" : "");
      out += ") ->";
      for (const int32_t r : call.out) out += str(" r", r);
      for (const int32_t r : call.drop) out += str(", drop r", r);
    }
    out += '\n';
  }
  return out;
}

}  // namespace fc::jit
