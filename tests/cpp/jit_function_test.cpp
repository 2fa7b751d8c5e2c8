// SPDX-License-Identifier: Apache-2.0
// Functions called by name, classes with attributes and methods, interfaces, `with`, and all of it inlined.
#include <gtest/gtest.h>

#include "core/class_type.h"
#include "core/containers.h"
#include "jit/ir/parse.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"
#include "jit/passes/passes.h"
#include "jit/run/function.h"
#include "jit/run/interpreter.h"
#include "jit/run/nodes.h"
#include "runtime.h"

namespace fc::jit {
namespace {

class JitFunction : public testing::Test {
 protected:
  static void SetUpTestSuite() { initialise(); }
};

fc::Value call(const Function& f, std::vector<fc::Value> arguments) { return f(std::move(arguments)); }

Ref<Function> method(CompilationUnit& unit, TypeRef cls, std::string_view name, std::string_view text) {
  auto f = unit.create_function(std::string(cls->name()) + "." + std::string(name), parse_graph(text));
  add_method(cls, f);
  return f;
}

// class Counter: step: int; add(n) adds n to step and gives it; __enter__ gives step; __exit__ sets it to 0.
TypeRef counter(CompilationUnit& unit) {
  const TypeRef cls = new_class_type("__torch__.Counter");
  cls->class_info()->add_attribute("step", simple_type(TypeKind::Int));
  unit.register_type(cls);
  method(unit, cls, "__init__", R"(graph(%self : __torch__.Counter, %n : int):
  %none : NoneType = prim::Constant()
   = prim::SetAttr[name="step"](%self, %n)
  return (%none))");
  method(unit, cls, "add", R"(graph(%self : __torch__.Counter, %n : int):
  %step : int = prim::GetAttr[name="step"](%self)
  %sum : int = aten::add(%step, %n)
   = prim::SetAttr[name="step"](%self, %sum)
  return (%sum))");
  method(unit, cls, "__enter__", R"(graph(%self : __torch__.Counter):
  %step : int = prim::GetAttr[name="step"](%self)
  return (%step))");
  method(unit, cls, "__exit__", R"(graph(%self : __torch__.Counter, %a : Any, %b : Any, %c : Any):
  %zero : int = prim::Constant[value=0]()
  %none : NoneType = prim::Constant()
   = prim::SetAttr[name="step"](%self, %zero)
  return (%none))");
  return cls;
}

constexpr std::string_view uses_counter = R"(graph(%n : int):
  %c : __torch__.Counter = prim::CreateObject()
  %5 : NoneType = prim::CallMethod[name="__init__"](%c, %n)
  %a : int = prim::CallMethod[name="add"](%c, %n)
  %b : int = prim::CallMethod[name="add"](%c, %a)
  %i : int = prim::Enter(%c)
  %6 : NoneType = prim::Exit(%c)
  %z : int = prim::GetAttr[name="step"](%c)
  %r : (int, int, int, int) = prim::TupleConstruct(%a, %b, %i, %z)
  return (%r))";

TEST_F(JitFunction, CallsOthersByName) {
  CompilationUnit unit;
  unit.create_function("twice", parse_graph("graph(%x : int):\n  %y : int = aten::add(%x, %x)\n  return (%y)\n"));
  auto f = unit.create_function("f", parse_graph(R"(graph(%x : int):
  %g : Function = prim::Constant[name="twice"]()
  %a : int = prim::CallFunction(%g, %x)
  %b : int = prim::CallFunction(%g, %a)
  return (%b))"));
  EXPECT_EQ(call(*f, {5}).raw_int(), 20);
  const Ref<Graph> held = f->optimized_graph();
  const Graph& flat = *held;
  for_each_node(*flat.block(), [](Node* n) { EXPECT_FALSE(n->is(prim_CallFunction)); });
  EXPECT_EQ(run(*compile(flat, "flat"), {5})[0].raw_int(), 20);
  EXPECT_THROW(unit.create_function("f", parse_graph("graph(%x : int):\n  return (%x)\n")), Error);
}

TEST_F(JitFunction, UnknownFunctionIsNamed) {
  CompilationUnit unit;
  auto f = unit.create_function("f", parse_graph(R"(graph(%x : int):
  %g : Function = prim::Constant[name="nowhere"]()
  %a : int = prim::CallFunction(%g, %x)
  return (%a))"));
  try {
    call(*f, {5});
    FAIL();
  } catch (const Error& e) { EXPECT_NE(e.message().find("no function of that name"), std::string::npos); }
}

TEST_F(JitFunction, ObjectsHaveAttributesAndMethods) {
  CompilationUnit unit;
  const TypeRef cls = counter(unit);
  auto f = unit.create_function("f", parse_graph(uses_counter));
  EXPECT_EQ(f->graph().block()->first()->output()->type(), cls);
  for (const bool inlined : {false, true}) {
    const fc::Value r = inlined ? run(*compile(*f->optimized_graph(), "f"), {3})[0] : call(*f, {3});
    const auto& items = tuple_of(r).items;
    EXPECT_EQ(items[0].raw_int(), 6);
    EXPECT_EQ(items[1].raw_int(), 12);
    EXPECT_EQ(items[2].raw_int(), 12);
    EXPECT_EQ(items[3].raw_int(), 0);
  }
  ASSERT_NE(cls->class_info()->find_method("add"), nullptr);
  EXPECT_EQ(cls->class_info()->find_method("add")->parameters.size(), 1u);  // without self
}

TEST_F(JitFunction, WithIsLeftWhenItsBodyRaises) {
  CompilationUnit unit;
  const TypeRef cls = counter(unit);
  auto f = unit.create_function("f", parse_graph(R"(graph(%c : __torch__.Counter):
  %text : str = prim::Constant[value="no"]()
  %i : int = prim::Enter(%c)
   = prim::RaiseException(%text)
  %6 : NoneType = prim::Exit(%c)
  return (%i))"));
  auto object = make_ref<Instance>(cls, 1);
  object->slots[0] = 7;
  EXPECT_THROW(call(*f, {fc::Value(Tag::Instance, object)}), ScriptError);
  EXPECT_EQ(object->slots[0].raw_int(), 0);
}

TEST_F(JitFunction, InterfaceCallsWhatTheObjectHas) {
  CompilationUnit unit;
  const TypeRef cls = counter(unit), face = new_interface_type("__torch__.Adds");
  face->class_info()->methods.push_back({"add", {{"n", simple_type(TypeKind::Int)}}, simple_type(TypeKind::Int)});
  std::string why;
  EXPECT_TRUE(is_subtype(cls, face, &why)) << why;
  Ref<Graph> g = parse_graph(R"(graph(%c, %n : int):
  %r : int = prim::CallMethod[name="add"](%c, %n)
  return (%r))");
  g->inputs()[0]->set_type(face);
  auto f = make_ref<Function>("f", g);
  auto object = make_ref<Instance>(cls, 1);
  object->slots[0] = 7;
  EXPECT_EQ(call(*f, {fc::Value(Tag::Instance, object), 5}).raw_int(), 12);
}

TEST_F(JitFunction, DeclaredFunctionsAreDefinedWhenAsked) {
  int times = 0;
  auto f = make_ref<Function>("f", Graph::make(), [&](Function& self) {
    ++times;
    Graph& g = self.graph();
    Value* x = g.add_input("x");
    x->set_type(simple_type(TypeKind::Int));
    g.register_output(x);
  });
  EXPECT_FALSE(f->is_defined());
  EXPECT_EQ(call(*f, {2}).raw_int(), 2);
  EXPECT_EQ(call(*f, {3}).raw_int(), 3);
  EXPECT_EQ(times, 1);
  auto again = make_ref<Function>("again", Graph::make(), [](Function& self) { self.ensure_defined(); });
  EXPECT_THROW(again->ensure_defined(), Error);
  EXPECT_FALSE(again->is_defined());
}

TEST_F(JitFunction, WhatCallsItselfCannotBeInlined) {
  const TypeRef cls = new_class_type("__torch__.Again");
  CompilationUnit unit;
  unit.register_type(cls);
  Ref<Function> f = method(unit, cls, "go", R"(graph(%self : __torch__.Again, %n : int):
  %r : int = prim::CallMethod[name="go"](%self, %n)
  return (%r))");
  EXPECT_THROW(f->optimized_graph(), Error);
  EXPECT_THROW(call(*f, {fc::Value(Tag::Instance, make_ref<Instance>(cls, 0)), 1}), Error);  // too deep
}

TEST_F(JitFunction, NamesAreMadeUnique) {
  CompilationUnit unit;
  EXPECT_EQ(unit.mangle("__torch__.a.Net"), "__torch__.a.___torch_mangle_0.Net");
  EXPECT_EQ(unit.mangle("__torch__.a.___torch_mangle_0.Net"), "__torch__.a.___torch_mangle_1.Net");
  EXPECT_EQ(unit.mangle("f"), "___torch_mangle_2.f");
}

}  // namespace
}  // namespace fc::jit
