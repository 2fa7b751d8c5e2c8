// SPDX-License-Identifier: Apache-2.0
#include "dispatch/schema.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "dispatch/operator.h"
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

TEST(Schema, SaysWhereItFails) {
  for (const char* text :
       {"", "add", "add(", "add(Tensor", "add(Tensor self", "add(Tensor self) ->", "add(Foo x) -> Tensor",
        "add(Tensor a, Tensor a) -> Tensor", "add(int x=99999999999999999999) -> Tensor", "f(*, *) -> Tensor",
        "f(int[0] x) -> Tensor", "f(Tensor x) -> Tensor extra words", "f(str s=\"open) -> Tensor"}) {
    try {
      parse_schema(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const ValueError& e) { EXPECT_NE(e.message().find("position"), std::string::npos) << e.message(); }
  }
}

TEST(Schema, KnowsWhatIsWritten) {
  EXPECT_TRUE(parse_schema("f_(Tensor(a!) self) -> Tensor(a!)").is_in_place());
  EXPECT_TRUE(parse_schema("f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)").is_out());
  EXPECT_TRUE(parse_schema("v(Tensor(a) self) -> Tensor(a)").is_view());
}

}  // namespace
}  // namespace fc
