// SPDX-License-Identifier: Apache-2.0
#include <facula/facula.h>
#include <gtest/gtest.h>

#include <sstream>

namespace {

using facula::Tensor;

TEST(Front, OperatorsAndMethods) {
  Tensor x = facula::tensor({1.0, 2.0, 3.0});
  EXPECT_EQ((x * 2 + 1).sum().item<double>(), 15.0);
  EXPECT_EQ((1.0 - x).sum().item<double>(), -3.0);
  EXPECT_TRUE((x > 1.5).any().item<bool>());
  EXPECT_EQ(x.add(x).mul(x).dtype(), facula::kFloat32);
  EXPECT_EQ(facula::zeros({2, 3}, facula::kInt64).dtype(), facula::kInt64);
}

TEST(Front, Gradients) {
  Tensor x = facula::full({3}, 2.0, facula::requires_grad());
  (x * x).sum().backward();
  EXPECT_EQ(x.grad()[0].item<double>(), 4.0);
  {
    facula::NoGradGuard no_grad;
    EXPECT_FALSE((x * x).requires_grad());
  }
  x.mutable_grad() = Tensor();
  EXPECT_FALSE(x.grad().defined());
}

TEST(Front, Indexing) {
  using namespace facula::indexing;
  Tensor x = facula::arange(12).reshape({3, 4});
  EXPECT_EQ(x[1][2].item<int64_t>(), 6);
  EXPECT_EQ(x.index({Slice{0, 2, 1}, 1}).sum().item<int64_t>(), 6);
  EXPECT_EQ(x.index({Ellipsis(), None}).dim(), 3);
  x.index_put_({0}, facula::Scalar(0));
  EXPECT_EQ(x[0].sum().item<int64_t>(), 0);
}

TEST(Front, PrintsLikeLibtorch) {
  std::ostringstream out;
  out << facula::ones({2, 2});
  EXPECT_EQ(out.str(), " 1  1\n 1  1\n[ CPUFloatType{2,2} ]");
}

TEST(Front, ErrorsAreExceptions) {
  Tensor x = facula::ones({2, 3}), y = facula::ones({4});
  try {
    x + y;
    ADD_FAILURE();
  } catch (const facula::Error& e) {
    EXPECT_NE(std::string(e.what()).find("must match the size of tensor b (4)"), std::string::npos) << e.what();
  }
  EXPECT_THROW(x.select(0, 5), facula::IndexError);
}

}  // namespace
