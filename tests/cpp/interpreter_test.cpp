// SPDX-License-Identifier: Apache-2.0
#include "jit/run/interpreter.h"

#include <gtest/gtest.h>
#include <thread>

#include "core/containers.h"
#include "core/future.h"
#include "core/type.h"
#include "define/calls.h"
#include "jit/ir/parse.h"
#include "jit/run/function.h"
#include "runtime.h"

namespace fc::jit {
namespace {

using Values = std::vector<fc::Value>;

fc::Value run_text(const std::string& text, Values arguments = {}) {
  initialise();
  return (*make_ref<Function>("f", parse_graph(text)))(std::move(arguments));
}
fc::Value ones(int64_t n) { return fc::Value(full(Dims{n}, 1.0, DType::Float32, {})); }

TEST(Interpreter, Arithmetic) {
  const std::string text = R"(graph(%a : int, %b : int):
  %s : int = aten::add(%a, %b)
  %p : int = aten::mul(%s, %b)
  %q : int = aten::floordiv(%p, %a)
  %r : int = aten::remainder(%q, %b)
  %f : float = aten::div(%s, %b)
  %i : int = aten::Int(%f)
  %t : (int, int, float, int) = prim::TupleConstruct(%q, %r, %f, %i)
  return (%t)
)";
  EXPECT_EQ(to_string(run_text(text, {-7, 3})), "(1, 1, -1.3333333333333333, -1)");
  EXPECT_EQ(to_string(run_text(text, {INT64_MAX, -1})), "(-1, 0, -9223372036854775808.0, " + str(INT64_MIN) + ")");
}

TEST(Interpreter, LoopsAndBranches) {
  // Fibonacci by carried values that change places, and the odd turns counted.
  const std::string text = R"(graph(%n : int):
  %true : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %x : int, %y : int, %odd : int = prim::Loop(%n, %true, %zero, %one, %zero)
    block0(%i : int, %a : int, %b : int, %count : int):
      %next : int = aten::add(%a, %b)
      %rest : int = aten::remainder(%i, %two)
      %is : bool = aten::eq(%rest, %one)
      %more : int = prim::If(%is)
        block0():
          %up : int = aten::add(%count, %one)
          -> (%up)
        block1():
          -> (%count)
      -> (%true, %b, %next, %more)
  %t : (int, int, int) = prim::TupleConstruct(%x, %y, %odd)
  return (%t)
)";
  EXPECT_EQ(to_string(run_text(text, {10})), "(55, 89, 5)");
  EXPECT_EQ(to_string(run_text(text, {0})), "(0, 1, 0)");
  EXPECT_EQ(to_string(run_text(text, {-3})), "(0, 1, 0)");
}

TEST(Interpreter, ValuesThatChangePlaces) {
  const std::string text = R"(graph(%n : int, %x : Tensor, %y : Tensor):
  %true : bool = prim::Constant[value=1]()
  %p : Tensor, %q : Tensor = prim::Loop(%n, %true, %x, %y)
    block0(%i : int, %a : Tensor, %b : Tensor):
      -> (%true, %b, %a)
  %t : (Tensor, Tensor) = prim::TupleConstruct(%p, %q)
  return (%t)
)";
  const fc::Value x = ones(1), y = ones(2);
  for (int n : {0, 1, 2, 5}) {
    const fc::Value t = run_text(text, {n, x, y});
    EXPECT_TRUE(tuple_of(t).items[n % 2].tensor().same(x.tensor()));
    EXPECT_TRUE(tuple_of(t).items[1 - n % 2].tensor().same(y.tensor()));
  }
}

TEST(Interpreter, Tensors) {
  const std::string text = R"(graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %type : int = prim::Constant[value=7]()
  %no : bool = prim::Constant[value=0]()
  %none : NoneType = prim::Constant()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %s : Tensor):
      %more : Tensor = aten::add(%s, %x, %one)
      -> (%true, %more)
  %z : Tensor = aten::to(%y, %type, %no, %no, %none)
  %d : int = prim::dtype(%z)
  %sizes : int[] = aten::size(%z)
  %t : (Tensor, int, int[]) = prim::TupleConstruct(%z, %d, %sizes)
  return (%t)
)";
  const fc::Value t = run_text(text, {ones(3), 4});
  EXPECT_EQ(to_string(tuple_of(t).items[1]), "7");
  EXPECT_EQ(to_string(tuple_of(t).items[2]), "[3]");
  EXPECT_EQ((call<"aten::_local_scalar_dense", Scalar>(select(tuple_of(t).items[0].tensor(), 0, 2)).to_double()), 5.0);
}

TEST(Interpreter, ListsAreShared) {
  const std::string text = R"(graph(%l : int[], %n : int):
  %zero : int = prim::Constant[value=0]()
  %m : int[] = aten::append(%l, %n)
  %len : int = aten::len(%l)
  %first : int = aten::__getitem__(%m, %zero)
  %copy : int[] = aten::list(%l)
  %more : int[] = aten::append(%copy, %len)
  %t : (int, int, int[]) = prim::TupleConstruct(%len, %first, %more)
  return (%t)
)";
  const fc::Value list = list_value(simple_type(TypeKind::Int), {5, 6});
  EXPECT_EQ(to_string(run_text(text, {list, 7})), "(3, 5, [5, 6, 7, 3])");
  EXPECT_EQ(to_string(list), "[5, 6, 7]");
}

TEST(Interpreter, DictsAndStrings) {
  const std::string text = R"(graph(%s : str, %n : int):
  %a : str = prim::Constant[value="a"]()
  %one : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %max : int = prim::Constant[value=-1]()
  %d : Dict(str, int) = prim::DictConstruct(%a, %one, %s, %n)
   = aten::_set_item(%d, %a, %n)
  %keys : str[] = aten::keys(%d)
  %has : bool = aten::__contains__(%d, %s)
  %got : int = aten::__getitem__(%d, %a)
  %up : str = aten::upper(%s)
  %parts : str[] = aten::split(%up, %none, %max)
  %f : str = prim::Constant[value="{}: {}"]()
  %text : str = aten::format(%f, %up, %got)
  %t : (str[], bool, int, str[], str) = prim::TupleConstruct(%keys, %has, %got, %parts, %text)
  return (%t)
)";
  EXPECT_EQ(to_string(run_text(text, {"b c", 4})), "(['a', 'b c'], True, 4, ['B', 'C'], 'B C: 4')");
}

TEST(Interpreter, ErrorsSayWhere) {
  const std::string text = R"(graph(%a : int):
  %zero : int = prim::Constant[value=0]()
  %q : int = aten::floordiv(%a, %zero)
  return (%q)
)";
  try {
    run_text(text, {1});
    ADD_FAILURE() << "no error";
  } catch (const ScriptError& e) {
    EXPECT_TRUE(
        e.message().starts_with("The following operation failed in the TorchScript interpreter.\nTraceback of "
                                "TorchScript (most recent call last):\n"))
        << e.message();
    EXPECT_NE(e.message().find("  %q : int = aten::floordiv(%a, %zero)\n             ~~~~"), std::string::npos)
        << e.message();
    EXPECT_TRUE(e.message().ends_with(" <--- HERE\n  return (%q)\nRuntimeError: division by 0\n")) << e.message();
    EXPECT_FALSE(e.raised);
  }
  EXPECT_THROW(run_text("graph(%a : int):\n  return (%a)\n", {}), Error);
  EXPECT_THROW(run_text("graph(%a : int):\n  return (%a)\n", {1.5}), Error);
  EXPECT_THROW(run_text("graph(%l : int[], %i : int):\n  %x : int = aten::__getitem__(%l, %i)\n  return (%x)\n",
                        {list_value(simple_type(TypeKind::Int), {1}), 1}),
               ScriptError);
  EXPECT_THROW(run_text("graph(%a : int):\n  %b : int = mine::nothing(%a)\n  return (%b)\n", {1}), Error);
}

TEST(Interpreter, RaisesWhatTheGraphRaises) {
  const std::string text = R"(graph(%a : int):
  %text : str = prim::Constant[value="boom"]()
  %kind : str = prim::Constant[value="builtins.KeyError"]()
   = prim::RaiseException(%text, %kind)
  return (%a)
)";
  try {
    run_text(text, {1});
    ADD_FAILURE() << "no error";
  } catch (const ScriptError& e) {
    EXPECT_TRUE(e.raised);
    EXPECT_EQ(e.python_class, "builtins.KeyError");
    EXPECT_EQ(e.last_line, "boom");
  }
}

TEST(Interpreter, BlocksAsDeepAsMemory) {
  std::string text = "graph(%c : bool, %x : int):\n", tail;
  constexpr int depth = 2000;
  for (int i = 0; i < depth; ++i) text += str("  %y", i, "a : int = prim::If(%c)\n    block0():\n");
  text += "      -> (%x)\n    block1():\n      -> (%x)\n";
  for (int i = depth - 1; i > 0; --i) text += str("      -> (%y", i, "a)\n    block1():\n      -> (%x)\n");
  text += "  return (%y0a)\n";
  EXPECT_EQ(to_string(run_text(text, {true, 3})), "3");
  EXPECT_EQ(to_string(run_text(text, {false, 4})), "4");
}

TEST(Interpreter, DumpsItsCode) {
  initialise();
  const auto f = make_ref<Function>("f", parse_graph("graph(%a : int, %x : Tensor):\n  %b : int = aten::add(%a, %a)\n  "
                                                     "%y : Tensor = aten::relu(%x)\n  return (%b, %y)\n"));
  EXPECT_EQ(dump(*f->code()),
            "constant 0: 0\n0 ADD_INT 3 1 1\n1 CALL_OP 0 0 0 # aten::relu(r2) -> r1, drop r2\n2 RET 0 0 0\n");
}

TEST(Interpreter, ForkAndWait) {
  initialise();
  Ref<Graph> forked = parse_graph("graph(%x : int):\n  %y : int = aten::mul(%x, %x)\n  return (%y)\n");
  Ref<Graph> g = parse_graph("graph(%x : int):\n  return (%x)\n");
  Node* fork = g->create(Symbol::of("prim::fork"), std::vector<Value*>{g->inputs()[0]});
  fork->set(Symbol::of("Subgraph"), forked);
  fork->output()->set_type(future_type(simple_type(TypeKind::Int)));
  g->insert(fork);
  Node* wait = g->create(Symbol::of("aten::wait"), std::vector<Value*>{fork->output()});
  wait->output()->set_type(simple_type(TypeKind::Int));
  g->insert(wait);
  g->block()->replace_output(0, wait->output());
  const auto f = make_ref<Function>("f", g);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 50; ++i) EXPECT_EQ((*f)({i}).arg().integer(), i * i);
    });
}

TEST(Future, CompletesOnce) {
  struct Count final : Future::Callback {
    explicit Count(int& n) : n(n) {}
    int& n;
    void done(Future&) override { ++n; }
  };
  int n = 0;
  const auto f = make_ref<Future>();
  EXPECT_THROW(f->value(), Error);
  f->when_done(std::make_unique<Count>(n));
  std::jthread other([&] { f->set(fc::Value(3)); });
  f->wait();
  other.join();
  f->when_done(std::make_unique<Count>(n));
  EXPECT_EQ(n, 2);
  EXPECT_EQ(f->value().arg().integer(), 3);
  EXPECT_THROW(f->set(fc::Value(4)), Error);
}

TEST(Containers, DictKeepsOrderAndCloses) {
  fc::Value v = dict_value(simple_type(TypeKind::Int), simple_type(TypeKind::Int));
  DictBox& d = dict_of(v);
  for (int64_t i = 0; i < 1000; ++i) d.set(i * 7919, i);
  for (int64_t i = 0; i < 1000; i += 2) EXPECT_TRUE(d.erase(i * 7919));
  EXPECT_FALSE(d.erase(0));
  EXPECT_EQ(d.size(), 500u);
  int64_t expect = 1;
  for (size_t at = d.next(0); at != SIZE_MAX; at = d.next(at + 1), expect += 2)
    EXPECT_EQ(d.value_at(at).arg().integer(), expect);
  EXPECT_TRUE(d.find(fc::Value(7919.0)));  // 1.0 and 1 are one key
  EXPECT_THROW(d.set(list_value(simple_type(TypeKind::Int), {}), 1), TypeError);
}

TEST(Containers, NestAsDeepAsMemory) {
  fc::Value v = fc::Value(1);
  for (int i = 0; i < 200000; ++i) v = list_value(simple_type(TypeKind::Any), {std::move(v)});
  EXPECT_THROW(equal(v, fc::Value(v)), Error);
  EXPECT_LT(to_string(tuple_value({v})).size(), 100u);
}

}  // namespace
}  // namespace fc::jit
