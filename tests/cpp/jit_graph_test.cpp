// SPDX-License-Identifier: Apache-2.0
// The graph itself: names, uses, places, copies, blocks of any depth. What it prints is compared with PyTorch's in
// tests/jit/test_graph.py.
#include "jit/ir/graph.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "jit/ir/check.h"
#include "jit/ir/parse.h"
#include "jit/passes/pass.h"
#include "jit/ir/walk.h"
#include "runtime.h"

namespace fc::jit {
namespace {

constexpr const char* loop = R"(graph(%x.1 : Tensor,
      %n.1 : int):
  %2 : bool = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=1]()
  %4 : Tensor = prim::Loop(%n.1, %2, %x.1)
    block0(%i : int, %y.9 : Tensor):
      %7 : Tensor = aten::add(%y.9, %x.1, %3)
      -> (%2, %7)
  return (%4)
)";

class JitGraph : public testing::Test {
 protected:
  static void SetUpTestSuite() { initialise(); }
};

TEST_F(JitGraph, PrintsWhatItParsed) {
  const char* texts[] = {
      loop,
      "graph():\n  return ()\n",
      R"(graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)):
  %1 : str = prim::Constant[value="a\"b\\\n\001"]()
  %2 : int[] = prim::Constant[value=[1, -2]]()
  %3 : float = prim::Constant[value=-0.]()
  %4 : float = prim::Constant[value=inf]()
  %5 : complex = prim::Constant[value=1.-2.5j]()
  %6 : NoneType = prim::Constant()
  %7 : Device = prim::Constant[value="cuda:1"]()
   = prim::Print(%1)
  %8 : Tensor = my::op[a=1, b=[Tensor, int[]], c=Dict(str, int)](%x), scope: A/B
  return (%8)
)",
      R"(graph(%x : Tensor):
  %1 : Future[Tensor] = prim::fork_0(%x)
  %2 : Tensor = aten::wait(%1)
  return (%2)
with prim::fork_0 = graph(%y : Tensor):
  %1 : Tensor = prim::Group_0[a=1](%y)
  return (%1)
with prim::Group_0 = graph(%z : Tensor):
  %1 : Tensor = aten::neg(%z)
  return (%1)
)",
      R"(graph(%x : Tensor):
  %1 : Tensor = ^Mine[inplace=1](2, (3, 4))(%x)
  return (%1)
)",
  };
  for (const char* text : texts) EXPECT_EQ(parse_graph(text)->text(), text);
}

TEST_F(JitGraph, TheNewestOwnerHasThePlainName) {
  auto g = Graph::make();
  Value* first = g->add_input("x");
  Value* second = g->add_input("x");
  EXPECT_EQ(first->name(), "x.1");
  Value* third = g->add_input("x");
  EXPECT_EQ(second->name(), "x.3");
  EXPECT_EQ(third->name(), "x");
  g->add_input("x.1");
  EXPECT_EQ(first->name(), "x.5");
  EXPECT_THROW(first->set_name("12"), ValueError);
  Value* huge = g->add_input("y.99999999999999999999");
  g->add_input("y.99999999999999999999");
  EXPECT_EQ(huge->name(), "y.99999999999999999999.1");
}

TEST_F(JitGraph, UsesKeepTheirOrder) {
  auto g = Graph::make();
  Value* x = g->add_input("x");
  std::vector<Node*> nodes;
  for (int i = 0; i < 100; ++i) nodes.push_back(g->insert(g->create(aten_neg, std::span<Value* const>(&x, 1))));
  for (int i = 0; i < 100; ++i)
    if (i % 7) nodes[static_cast<size_t>(i)]->destroy();
  size_t k = 0;
  for (const Use& u : x->uses()) EXPECT_EQ(u.user, nodes[7 * k++]);
  EXPECT_EQ(k, x->uses().size());
  check(*g);
  Value* y = g->add_input("y");
  x->replace_uses_with(y);
  EXPECT_FALSE(x->has_uses());
  EXPECT_EQ(y->uses().size(), k);
  check(*g);
}

TEST_F(JitGraph, KnowsWhatStandsBefore) {
  auto g = parse_graph(loop);
  Node* head = g->block()->last();
  Node* body = head->block(0)->first();
  EXPECT_TRUE(g->block()->first()->is_before(body));
  EXPECT_TRUE(head->is_before(body));
  EXPECT_FALSE(body->is_before(head));
  EXPECT_TRUE(body->is_before(g->return_node()));
  for (int i = 0; i < 5000; ++i) g->create(aten_neg, 0)->insert_after(g->block()->first());  // positions run out
  int64_t count = 0;
  for (Node* n = g->block()->first(); n->next() != g->block()->end(); n = n->next(), ++count)
    ASSERT_TRUE(n->is_before(n->next()));
  EXPECT_EQ(count, 5002);
}

TEST_F(JitGraph, CopiesAreAlikeAndApart) {
  auto g = parse_graph(loop);
  auto copy = g->copy();
  EXPECT_EQ(copy->text(), g->text());
  copy->block()->clear();
  EXPECT_EQ(g->text(), loop);
}

TEST_F(JitGraph, BlocksNestToAnyDepth) {
  constexpr int depth = 100'000;
  std::string text = "graph(%c : bool):\n";
  for (int i = 0; i < depth; ++i) text += " prim::If(%c)\n block0():\n";
  for (int i = 0; i < depth; ++i) text += " -> ()\n block1():\n -> ()\n";
  text += " return ()\n";
  auto g = parse_graph(text);
  size_t nodes = 0;
  for_each_node(*g->block(), [&](Node*) { ++nodes; });
  EXPECT_EQ(nodes, size_t{depth});
  auto copy = g->copy();
  std::string printed = copy->text();
  EXPECT_EQ(parse_graph(printed)->text(), printed);
}

TEST_F(JitGraph, PassesTakeBlocksOfAnyDepth) {
  // A writer at the bottom, which all that stands around it is asked about.
  constexpr int depth = 3'000;
  std::string text = "graph(%c : bool, %x : Tensor):\n %one : int = prim::Constant[value=1]()\n";
  for (int i = 0; i < depth; ++i) text += str(" %y", i, "a : Tensor = prim::If(%c)\n block0():\n");
  text += " %w : Tensor = aten::add_(%x, %x, %one)\n -> (%w)\n block1():\n -> (%x)\n";
  for (int i = depth - 1; i > 0; --i) text += str(" -> (%y", i, "a)\n block1():\n -> (%x)\n");
  const auto g = parse_graph(text + " return (%y0a)\n");
  for (const Pass* p : all_passes()) {
    SCOPED_TRACE(p->name);
    auto copy = g->copy();
    try {
      run_pass(*copy, *p);
    } catch (const Error&) { continue; }
    EXPECT_NO_THROW(check(*copy));
  }
}

TEST_F(JitGraph, AMillionNodes) {
  auto g = Graph::make();
  Value* x = g->add_input("x");
  for (int i = 0; i < 1'000'000; ++i) x = g->insert(g->create(aten_neg, std::span<Value* const>(&x, 1)))->output();
  g->register_output(x);
  check(*g);
}

TEST_F(JitGraph, SaysWhereTextFails) {
  struct Row {
    const char *text, *place, *what;
  } rows[] = {
      {"", "line 1, column 1", "expected a name"},
      {"graph(%x):\n  %1 = aten::neg(%q)\n  return (%1)\n", "line 2, column 18", "name 'q'"},
      {"graph(%x):\n  %1 = aten::neg(%x\n  return (%1)\n", "line 3", "expected )"},
      {"graph(%x):\n  return (%x)\nmore", "line 3, column 1", "expected the end"},
      {"graph(%x : Foo(", "line 1", ""},
      {"graph(%x):\n  %1 : str = prim::Constant[value=\"open]()\n", "line 2", "does not end"},
      {"graph(%x):\n  %1 : int = prim::Constant[value=99999999999999999999]()\n", "line 2", "64 bits"},
      {"graph(%x):\n  -> ()\n", "line 2", ""},
      {"graph(%x):\n  block0():\n", "line 2", "behind its node"},
      {"graph(%x):\n  %1 : Tensor = prim::Constant[value={2}]()\n  return (%1)\n", "line 2", "parse_tensor_constants"},
      {"graph(%x):\n  %1, %2 = aten::neg(%x)\n  return (%1)\n", "line 2", "returns 1 values"},
      {"graph(%x):\n  %1 : int = aten::neg(%x)\n  return (%1)\n", "line 2", "does not match"},
  };
  for (const Row& row : rows) {
    try {
      parse_graph(row.text);
      ADD_FAILURE() << "accepted: " << row.text;
    } catch (const ParseError& e) {
      EXPECT_NE(e.message().find(row.place), std::string::npos) << e.message();
      EXPECT_NE(e.message().find(row.what), std::string::npos) << e.message();
    }
  }
}

TEST_F(JitGraph, RefusesWhatIsNoGraph) {
  const char* texts[] = {
      "graph(%c : bool):\n  prim::If(%c)\n    block0():\n      -> ()\n  return ()\n",
      "graph(%c : bool):\n  %1 = prim::If(%c)\n    block0():\n      -> ()\n    block1():\n      -> ()\n  return ()\n",
      "graph(%c : bool):\n  %1 = prim::Loop(%c)\n  return ()\n",
      "graph(%c : bool):\n  prim::Return()\n  return ()\n",
      "graph(%c : bool):\n  %1 : int, %2 : int = prim::Constant[value=1]()\n  return ()\n",
  };
  for (const char* text : texts) {
    try {
      parse_graph(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& e) { EXPECT_NE(e.message().find("rule"), std::string::npos) << e.message(); }
  }
  auto g = parse_graph(loop);
  Node* first = g->block()->first();
  first->move_after(g->block()->last());  // a use before its definition
  EXPECT_THROW(check(*g), Error);
}

}  // namespace
}  // namespace fc::jit
