// SPDX-License-Identifier: Apache-2.0
// Whoever computes a product or convolution, the result is the same: engines, strides, factors, threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backends/cpu/blas_choice.h"
#include "backends/cpu/cut.h"
#include "backends/cpu/onednn.h"
#include "core/threads.h"
#include "plan/conv.h"
#include "runtime.h"

namespace fc {
namespace {

Tensor numbers(IntSpan sizes, DType type, int seed) {
  initialise();
  Tensor t = empty_tensor(sizes, DType::Float64, Device{});
  uint32_t state = 12345u + static_cast<uint32_t>(seed);
  for (int64_t i = 0; i < t.numel(); ++i) {
    state = state * 1664525u + 1013904223u;
    t.data_as<double>()[i] = static_cast<double>(static_cast<int32_t>(state >> 16) % 9 - 4);
  }
  return to_dtype(t, type);
}

// The same numbers, lying differently.
Tensor relaid(const Tensor& t, int how) {
  switch (how) {
    case 0: return t;
    case 1: return transpose(contiguous(transpose(t, 0, 1)), 0, 1);
    default: {
      Tensor wide = zeros(Dims{t.size(0) * 2, t.size(1) * 3}, t.dtype(), Device{});
      Tensor view_of = slice(slice(wide, 0, 0, {}, 2), 1, 1, {}, 3);
      copy_(view_of, t);
      return view_of;
    }
  }
}

std::vector<double> values(const Tensor& t) {
  Tensor d = to_dtype(contiguous(t), is_complex(t.dtype()) ? DType::Complex128 : DType::Float64);
  std::vector<double> out(static_cast<size_t>(d.numel()) * (is_complex(t.dtype()) ? 2 : 1));
  std::memcpy(out.data(), d.data(), out.size() * sizeof(double));
  return out;
}

// Every library that is here, preferred and forced.
std::vector<std::string> engines() {
  std::vector<std::string> out{"auto", "facula", "facula,force"};
  if (cpu::onednn_available()) out.insert(out.end(), {"onednn", "onednn,force"});
  for (const cpu::FoundBlas& found : cpu::find_blas()) {
    try {
      cpu::Blas::load(found.path);
      out.push_back(found.path + ",force");
    } catch (const Error&) {  // a file of that name that is no BLAS for this process
    }
  }
  return out;
}

TEST(Matmul, EveryEngineTypeAndLayoutAgrees) {
  for (auto [m, k, n] : {std::tuple<int64_t, int64_t, int64_t>{3, 4, 5},
                         {70, 33, 41},
                         {1, 300, 40},
                         {64, 300, 1},
                         {1, 70000, 1},
                         {2, 0, 3}}) {
    Tensor a = numbers(Dims{m, k}, DType::Int64, 1), b = numbers(Dims{k, n}, DType::Int64, 2);
    std::vector<double> want(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t q = 0; q < k; ++q)
          want[static_cast<size_t>(i * n + j)] +=
              static_cast<double>(a.data_as<int64_t>()[i * k + q] * b.data_as<int64_t>()[q * n + j]);
    for (DType type : {DType::Float32, DType::Float64, DType::Complex64, DType::Complex128, DType::Int64, DType::Int32,
                       DType::Int16, DType::BFloat16})
      for (const std::string& engine : engines())
        for (auto [la, lb] : {std::pair{0, 0}, {0, 1}, {1, 1}, {2, 2}}) {
          if ((la || lb) && k == 0) continue;
          cpu::set_preferred_blas(engine);
          std::vector<double> got = values(mm(relaid(to_dtype(a, type), la), relaid(to_dtype(b, type), lb)));
          const size_t step = is_complex(type) ? 2 : 1;
          for (size_t i = 0; i < want.size(); ++i) {
            double expected = type == DType::Int16 ? static_cast<int16_t>(static_cast<int64_t>(want[i])) : want[i];
            ASSERT_NEAR(got[i * step], expected, type == DType::BFloat16 ? std::abs(expected) / 200 + 1e-9 : 1e-9)
                << engine << ' ' << to_string(type) << ' ' << m << 'x' << k << 'x' << n << " layouts " << la << lb;
          }
        }
  }
  cpu::set_preferred_blas("auto");
  EXPECT_THROW(cpu::set_preferred_blas("atlas"), ValueError);
  EXPECT_THROW(cpu::set_preferred_blas("auto,force"), ValueError);
}

TEST(Matmul, FactorsAndNan) {
  Tensor a = numbers(Dims{40, 50}, DType::Float32, 1), b = numbers(Dims{50, 60}, DType::Float32, 2);
  Tensor nan = full(Dims{40, 60}, std::nan(""), DType::Float32, Device{});
  std::vector<double> plain = values(mm(a, b));
  auto addmm = [](T self, T x, T y, Scalar beta, Scalar alpha) {
    return call<"aten::addmm", Tensor>(self, x, y, beta, alpha);
  };
  EXPECT_EQ(values(addmm(nan, a, b, 0, 1)), plain);
  std::vector<double> twice = values(addmm(full(Dims{60}, 3, DType::Float32, Device{}), a, b, 2, 0.5));
  for (size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(twice[i], 6 + plain[i] / 2);
}

// Our own kernels give the same bits for any number of threads; libraries do so in deterministic mode.
TEST(Matmul, BitsDoNotDependOnThreads) {
  Tensor a = div(numbers(Dims{150, 700}, DType::Float32, 1), 7.3),
         b = div(numbers(Dims{700, 90}, DType::Float32, 2), 3.7);
  Tensor x = div(numbers(Dims{2, 8, 20, 20}, DType::Float32, 3), 7.3),
         w = div(numbers(Dims{16, 8, 3, 3}, DType::Float32, 4), 3.7);
  Tensor g = div(numbers(Dims{2, 16, 18, 18}, DType::Float32, 5), 1.7);
  const int before = num_threads();
  set_deterministic_algorithms(true);
  std::vector<double> first[3];
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    const Dims one{1, 1}, zero{0, 0};
    const bool mask[] = {true, true, true};
    auto [gi, gw, gb] = call<"aten::convolution_backward", ConvGradients>(
        g, x, w, std::optional<IntSpan>(), one, zero, one, false, zero, 1, std::span<const bool>(mask));
    std::vector<double> now[] = {values(mm(a, b)), values(gw), values(gi)};
    for (int i = 0; i < 3; ++i) {
      if (threads == 1) first[i] = now[i];
      EXPECT_EQ(now[i], first[i]) << i << " with " << threads << " threads";
    }
  }
  set_deterministic_algorithms(false);
  set_num_threads(before);
}

// The library's convolutions against matrix products in float64: shapes, groups, transposed ones, layouts.
TEST(Convolution, LibraryAndProductsAgree) {
  struct Row {
    Dims x, w;
    int64_t stride, padding, dilation, groups;
    bool transposed;
    int64_t extra = 0;
  };
  const Row rows[] = {
      {{2, 3, 9, 8}, {4, 3, 3, 2}, 1, 0, 1, 1, false},       {{2, 4, 9, 8}, {6, 2, 3, 3}, 2, 1, 1, 2, false},
      {{1, 6, 7, 7}, {6, 1, 3, 3}, 1, 1, 1, 6, false},       {{2, 3, 11, 9}, {4, 3, 3, 3}, 2, 2, 2, 1, false},
      {{2, 5, 6, 6}, {7, 5, 1, 1}, 1, 0, 1, 1, false},       {{2, 4, 9}, {6, 2, 3}, 2, 1, 1, 2, false},
      {{1, 2, 5, 6, 5}, {3, 2, 2, 3, 2}, 1, 1, 1, 1, false}, {{2, 4, 5, 6}, {4, 3, 3, 3}, 2, 1, 1, 2, true, 1},
      {{2, 3, 5, 4}, {3, 2, 2, 2}, 1, 0, 3, 1, true, 2},     {{1, 2, 6}, {2, 3, 4}, 3, 1, 1, 1, true},
  };
  for (const Row& r : rows)
    for (DType type : {DType::Float32, DType::BFloat16})
      for (bool last : {false, true}) {
        if (last && r.x.size() != 4) continue;
        const Dims stride{r.stride}, padding{r.padding}, dilation{r.dilation}, extra{r.extra};
        Tensor x = numbers(r.x, DType::Float64, 1), w = numbers(r.w, DType::Float64, 2);
        Tensor bias = numbers(Dims{r.transposed ? r.w[1] * r.groups : r.w[0]}, DType::Float64, 3);
        auto run = [&](DType t) {
          Tensor in = to_dtype(x, t);
          if (last) in = contiguous(in, MemoryFormat::ChannelsLast);
          return call<"aten::convolution", Tensor>(in, to_dtype(w, t), to_dtype(bias, t), stride, padding, dilation,
                                                   r.transposed, extra, r.groups);
        };
        Tensor want = run(DType::Float64), got = run(type);
        ASSERT_TRUE(Dims::same(want.sizes(), got.sizes()));
        EXPECT_TRUE(!last || got.is_contiguous(MemoryFormat::ChannelsLast));
        auto close = [&](T a, T b) {
          std::vector<double> p = values(a), q = values(b);
          for (size_t i = 0; i < p.size(); ++i)
            ASSERT_NEAR(p[i], q[i], type == DType::BFloat16 ? std::abs(p[i]) / 100 + 1e-3 : 1e-3);
        };
        close(want, got);
        Tensor g = numbers(want.sizes(), DType::Float64, 4);
        const bool mask[] = {true, true, true};
        auto back = [&](DType t) {
          return call<"aten::convolution_backward", ConvGradients>(
              to_dtype(g, t), to_dtype(x, t), to_dtype(w, t), std::optional<IntSpan>(), stride, padding, dilation,
              r.transposed, extra, r.groups, std::span<const bool>(mask));
        };
        auto [wi, ww, wb] = back(DType::Float64);
        auto [gi, gw, gb] = back(type);
        close(wi, gi);
        close(ww, gw);
        close(wb, gb);
      }
}

// However many threads there are, the blocks of a cut cover every element once, and small work is left alone.
TEST(Matmul, CutsCoverTheResult) {
  const int64_t shapes[][4] = {{1, 1, 1, 1},         {1, 64, 64, 64},   {1, 128, 768, 3072}, {12, 128, 128, 64},
                               {1, 1, 100000, 4096}, {3, 7, 5000, 900}, {1, 100000, 3, 17},  {40, 33, 31, 1000}};
  for (auto [batch, m, n, k] : shapes)
    for (int threads : {1, 2, 3, 7, 16, 61}) {
      const cpu::Cut cut = cpu::cut_products(batch, m, n, k, threads);
      EXPECT_TRUE(cut.how == cpu::Cut::Serial || threads > 1);
      EXPECT_GE(cut.down * cut.rows, m);
      EXPECT_GE(cut.across * cut.columns, n);
      EXPECT_TRUE(cut.how != cpu::Cut::Serial || (cut.down == 1 && cut.across == 1));
      EXPECT_LE(cut.down, threads);
      EXPECT_LE(cut.across, threads);
    }
  EXPECT_EQ(cpu::cut_products(1, 16, 16, 16, 16).how, cpu::Cut::Serial);
  EXPECT_EQ(cpu::cut_products(12, 128, 128, 64, 16).how, cpu::Cut::Blocks);
  EXPECT_TRUE(cpu::worth_library_threads(1, 32, 32, 1 << 16, 2));  // nothing but k to cut
  EXPECT_TRUE(cpu::worth_library_threads(1, 512, 512, 512, 16));
  EXPECT_FALSE(cpu::worth_library_threads(1, 128, 3072, 768, 16));
  EXPECT_FALSE(cpu::worth_library_threads(1, 512, 512, 512, 2));
  EXPECT_FALSE(cpu::worth_library_threads(16, 64, 64, 64, 16));
  EXPECT_TRUE(cpu::onednn_packs(700, 2600));  // an LSTM's gates: the whole is packed, a thread's half is not
  EXPECT_FALSE(cpu::onednn_packs_serially(700, 1312, 650, 650, 650));
  EXPECT_TRUE(cpu::onednn_packs_serially(700, 1312, 768, 768, 768));
}

TEST(Matmul, ManyThreadsGiveTheSameProduct) {
  const int before = num_threads();
  Tensor a = numbers(Dims{5, 150, 170}, DType::Float32, 1), b = numbers(Dims{5, 170, 130}, DType::Float32, 2);
  set_num_threads(1);
  std::vector<double> want = values(call<"aten::bmm", Tensor>(a, b));
  for (int threads : {2, 5, 16}) {
    set_num_threads(threads);
    EXPECT_EQ(values(call<"aten::bmm", Tensor>(a, b)), want) << threads;  // whole numbers: exact in any order
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace fc
