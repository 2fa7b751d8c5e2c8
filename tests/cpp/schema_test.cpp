// SPDX-License-Identifier: Apache-2.0
#include "dispatch/schema.h"

#include <gtest/gtest.h>
#include <fstream>
#include <set>

#include "core/error.h"
#include "dispatch/operator.h"
#include "core/type_parse.h"
#include "jit/ops/script_ops.h"
#include "runtime.h"

namespace fc {
namespace {

TEST(Schema, PrintsWhatItParsed) {
  const char* texts[] = {
      "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
      "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
      "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
      "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
      "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
      "mine::nothing() -> ()",
  };
  for (const char* text : texts) EXPECT_EQ(to_string(parse_schema(text)), text);
}

TEST(Schema, EveryOperatorsSchemaReadsBack) {
  initialise();
  for (const Operator* op : all_operators()) {
    std::string text = to_string(op->schema());
    EXPECT_EQ(to_string(parse_schema(text)), text);
  }
}

std::vector<std::string> golden() {
  std::ifstream file(FC_TEST_GOLDEN "/jit/schemas.txt");
  EXPECT_TRUE(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(Schema, EveryTextThatPyTorchListsReadsBack) {
  const std::vector<std::string> lines = golden();
  EXPECT_GT(lines.size(), 4400u);
  for (const std::string& line : lines) EXPECT_EQ(to_string(parse_schema(line)), line);
}

// What both have is spelled alike, but for the rows of docs/differences.md.
TEST(Schema, OurTextsArePyTorchs) {
  initialise();
  jit::define_script_operators();
  const std::set<std::string> differ = {"aten::special_round",
                                        "aten::special_round.out",
                                        "aten::fft_fftfreq.out",
                                        "aten::fft_rfftfreq.out",
                                        "aten::_fused_adagrad_.tensor_lr",
                                        "aten::to.prim_Device",
                                        "aten::to.prim_dtype",
                                        "aten::to.prim_other"};
  size_t both = 0, hidden = 0;
  for (const std::string& line : golden()) {
    const Operator* op = find_operator(parse_schema(line).full_name());
    if (!op) continue;
    ++both;
    hidden += op->is_hidden();
    EXPECT_EQ(to_string(op->schema()) != line, differ.contains(op->name())) << to_string(op->schema());
  }
  EXPECT_GT(both, 2300u);
  EXPECT_GT(hidden, 480u);
  for (const Operator* op : all_operators(true))
    if (op->is_hidden()) {
      EXPECT_FALSE(op->is_in_place || op->is_out || op->is_view) << op->name();
      EXPECT_TRUE(op->tensor_args().empty()) << op->name();
    }
}

TEST(Schema, MarksOfListsAreNobodysBelow) {
  const Schema s = parse_schema("f(Tensor[](a!) self, t[](b!) l, Tensor(c!)[] out) -> Tensor(c!)[]");
  EXPECT_EQ(s.parameters[0].alias.set, 0);
  EXPECT_EQ(s.parameters[1].alias.set, 0);
  EXPECT_EQ(s.parameters[2].alias.set, 'c');
  EXPECT_TRUE(s.parameters[2].alias.write);
  EXPECT_TRUE(s.parameters[0].marks->write);
  Parameter p = s.parameters[2];
  p.clear_alias();
  EXPECT_EQ(p.marks, nullptr);
  p.set_alias('x', true);
  EXPECT_EQ(p.alias.set, 'x');
}

TEST(Schema, SaysWhereItFails) {
  for (const char* text : {"", "add", "add(", "add(Tensor", "add(Tensor self", "add(Tensor self) ->",
                           "add(Foo x) -> Tensor", "add(int x=99999999999999999999) -> Tensor", "f(*, *) -> Tensor",
                           "f(int[0] x) -> Tensor", "f(Tensor x) -> Tensor extra words", "f(...,  int x) -> int",
                           "f(Tensor(a x) -> Tensor", "f(Dict(int[], t) d) -> t", "f(str s=\"open) -> Tensor"}) {
    try {
      parse_schema(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const ValueError& e) { EXPECT_NE(e.message().find("position"), std::string::npos) << e.message(); }
  }
}

TEST(Schema, OperatorsRepeatNoName) { EXPECT_THROW(define("mine::twice(Tensor a, Tensor a) -> Tensor"), ValueError); }

TEST(Schema, KnowsWhatIsWritten) {
  EXPECT_TRUE(parse_schema("f_(Tensor(a!) self) -> Tensor(a!)").is_in_place());
  EXPECT_TRUE(parse_schema("f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)").is_out());
  EXPECT_TRUE(parse_schema("v(Tensor(a) self) -> Tensor(a)").is_view());
}

}  // namespace
}  // namespace fc
