// SPDX-License-Identifier: Apache-2.0
#include "dispatch/layers.h"

#include <gtest/gtest.h>

#include <thread>

#include "autograd/autograd.h"
#include "define/calls.h"
#include "define/row.h"
#include "dispatch/call.h"
#include "dispatch/family_table.h"
#include "runtime.h"

namespace fc {
namespace {

class LayersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    initialise();
    x_ = full(Dims{3}, 2.0, DType::Float32, {});
  }
  Tensor x_;
};

// Boxed: one function for all operators. It sees the call, may go on, and may change the result.
void count_and_double_neg(void* context, const Operator& op, LayerSet below, const Arg* args, Value* results) {
  static_cast<std::vector<std::string>*>(context)->push_back(op.name());
  redispatch(op, below, args, results);
  if (op.name() == "aten::neg") {
    ExcludeLayers none(layer::User0 | layer::User1 | layer::User2 | layer::User3);
    results[0] = Value(mul(results[0].tensor(), 2.0));
  }
}

TEST_F(LayersTest, ALayerAddedAtRunTimeSeesEveryOperator) {
  std::vector<std::string> seen;
  LayerSet bit = add_user_layer({count_and_double_neg, &seen, "test"});
  {
    IncludeLayers on(bit);
    EXPECT_EQ(*neg(x_).data_as<float>(), -4.0f);
    add(x_, x_);
    call<"aten::softmax.int", Tensor>(x_, 0, std::optional<DType>());  // composite: the layer sees it and its parts
  }
  neg(x_);  // off again
  remove_user_layer(bit);
  ASSERT_GE(seen.size(), 4u);
  EXPECT_EQ(seen[0], "aten::neg");
  EXPECT_EQ(seen[1], "aten::add.Tensor");
  EXPECT_EQ(seen[2], "aten::softmax.int");
  EXPECT_EQ(seen[3], "aten::_softmax");
}

TEST_F(LayersTest, FourSlotsAndNoMore) {
  LayerSet bits[4];
  for (LayerSet& b : bits) b = add_user_layer({count_and_double_neg, nullptr, "test"});
  EXPECT_THROW(add_user_layer({count_and_double_neg, nullptr, "fifth"}), Error);
  for (LayerSet b : bits) remove_user_layer(b);
}

TEST_F(LayersTest, WorkersTakeOverLayersAndGiveThemBack) {
  std::vector<std::string> seen;
  LayerSet bit = add_user_layer({count_and_double_neg, &seen, "test"});
  ThreadState snapshot;
  {
    IncludeLayers on(bit);
    GradMode off(false);
    snapshot = thread_state();
  }
  std::thread([&] {
    {
      StateScope scope(snapshot);
      EXPECT_FALSE(grad_enabled());
      EXPECT_EQ(*neg(x_).data_as<float>(), -4.0f);
    }
    EXPECT_TRUE(grad_enabled());
    EXPECT_EQ(*neg(x_).data_as<float>(), -2.0f);
  }).join();
  EXPECT_EQ(seen, std::vector<std::string>{"aten::neg"});
  remove_user_layer(bit);
}

std::string message_of(auto&& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "nothing was thrown";
}

TEST_F(LayersTest, ALayerThatNeitherGoesOnNorAnswersIsNamed) {
  LayerSet bit = add_user_layer({[](void*, const Operator&, LayerSet, const Arg*, Value*) {}, nullptr, "lazy"});
  std::string message;
  {
    IncludeLayers on(bit);
    message = message_of([&] { neg(x_); });
  }
  remove_user_layer(bit);
  EXPECT_EQ(message, "layer lazy gave no result for aten::neg: it must call redispatch or fill the results");
}

TEST_F(LayersTest, ALayerThatReachesItselfIsNamedBeforeTheStackEnds) {
  auto again = [](void*, const Operator& op, LayerSet, const Arg* args, Value* results) { op.call(args, results); };
  LayerSet bit = add_user_layer({again, nullptr, "again"});
  std::string message;
  {
    IncludeLayers on(bit);
    message = message_of([&] { neg(x_); });
  }
  remove_user_layer(bit);
  EXPECT_NE(message.find("layer again was entered again by its own calls"), std::string::npos) << message;
  EXPECT_EQ(*neg(x_).data_as<float>(), -2.0f);
}

void passes(Grad& g) { g.set(0, g.out()); }
Tensor same(const Tensor& a) { return a; }

TEST_F(LayersTest, AKernelThatGivesBackItsArgumentHasAHistoryOfItsOwn) {
  static constexpr OpDef row{.schema = "layers_test::same(Tensor a) -> Tensor", .cpu = kernel<&same>(), .grad = passes};
  define_all({&row, 1});
  autograd::set_requires_grad(x_, true);
  Tensor y = call<"layers_test::same", Tensor>(x_);
  EXPECT_TRUE(autograd::is_leaf(x_));
  EXPECT_FALSE(autograd::is_leaf(y));
  autograd::backward(sum(y));
  EXPECT_EQ(*autograd::grad_of(x_).data_as<float>(), 1.0f);
}

void reads_a(Grad& g) { g.set(0, mul(g.out(), g.in(0))); }

TEST_F(LayersTest, ADerivativeThatReadsWhatIsNotSavedIsToldItsName) {
  static constexpr OpDef row{
      .schema = "layers_test::forgets(Tensor a) -> Tensor", .cpu = kernel<&same>(), .grad = reads_a};
  define_all({&row, 1});
  autograd::set_requires_grad(x_, true);
  std::string message = message_of([&] { autograd::backward(sum(call<"layers_test::forgets", Tensor>(x_))); });
  EXPECT_EQ(message,
            "the derivative of layers_test::forgets reads 'a', which its rule does not save: name it in `saves`");
}

Tensor first(const Tensor& a, int64_t) { return a; }
std::tuple<Tensor, Tensor> both(const Tensor& a, double) { return {a, a}; }
Tensor whole(const Tensor& a, double) { return a; }

TEST_F(LayersTest, AKernelOfOtherTypesThanTheSchemasIsRefused) {
  Operator& op = define("layers_test::typed(Tensor a, float b) -> Tensor");
  EXPECT_NE(message_of([&] {
              op.set_composite(kernel<&first>());
            }).find("parameter 1 (b) is float in the schema and int64_t"),
            std::string::npos);
  EXPECT_NE(message_of([&] { op.set_all_devices(kernel<&both>()); }).find("has 2 result(s), the schema 1"),
            std::string::npos);
  EXPECT_NE(
      message_of([&] { op.set_kernel(Device::CPU, kernel<&ones_like>()); }).find("has 1 parameter(s), the schema 2"),
      std::string::npos);
  EXPECT_EQ(&define("layers_test::typed(Tensor a, float b) -> Tensor"), &op);  // it never got a kernel: a second try
  op.set_composite(kernel<&whole>());
  EXPECT_NE(message_of([&] { define("layers_test::typed(Tensor a, float b) -> Tensor"); }).find("already defined"),
            std::string::npos);
}

}  // namespace
TEST_F(LayersTest, SaysWhichMapItIs) {
  const MapFacts& add = get_operator("aten::add.Tensor").map;
  EXPECT_EQ(std::string_view(map_opcode(add.opcode).name), "add");
  EXPECT_EQ(add.inputs, 2);
  EXPECT_EQ(add.params, 1);
  EXPECT_EQ(get_operator("aten::exp").map.promote, Promote::Float);
  EXPECT_EQ(get_operator("aten::mm").map.opcode, -1);
}

TEST_F(LayersTest, WhatTheCpuCannotDoIsAnErrorThatNamesIt) {
  Operator& op = define("cannot::do_it(Tensor self) -> Tensor");
  op.set_kernel(Device::CPU, {[](void*, const Operator&, const Arg*, Value*) { throw Unsupported{}; }});
  Tensor x = zeros(Dims{2}, DType::Float32, Device{});
  const Arg args[] = {x};
  Value result[1];
  try {
    op.call(args, result);
    FAIL() << "no error";
  } catch (const NotImplementedError& e) {
    EXPECT_NE(std::string(e.message()).find("cannot::do_it"), std::string::npos);
  }
}

}  // namespace fc
