// SPDX-License-Identifier: Apache-2.0
// Pointwise kernels that a branch once kept from becoming vector code: beside one of the same operands that is nothing
// but loads, an instruction and a store. Scalar code is forty times slower, so a factor of ten leaves room for noise.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "backends/cpu/isa.h"
#include "core/instruction_set.h"
#include "dispatch/family_table.h"
#include "facula/opcodes.h"

using namespace fc;

namespace {

double shortest_run(int opcode, DType type) {
  constexpr int64_t n = 4096;
  std::vector<std::vector<char>> data(FC_MAX_INPUTS, std::vector<char>(n * 16));
  for (size_t k = 1; k < data.size(); ++k)  // 0 and 1, which no branch predicts
    for (size_t i = 0; i < data[k].size(); ++i)
      data[k][i] = static_cast<char>((i * (2 * k + 1) * 2654435761u) >> 31 & 1);
  char* ptr[FC_MAX_INPUTS];
  for (size_t k = 0; k < data.size(); ++k) ptr[k] = data[k].data();
  const char params[16 * FC_MAX_PARAMS] = {1};
  double best = 1e9;
  for (int i = 0; i < 2000; ++i) {
    const auto start = std::chrono::steady_clock::now();
    cpu::kernels().map[opcode][static_cast<int>(type)].fn(ptr, n, params);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

TEST(Kernels, NarrowTypesAreVectorCode) {
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "only an optimised build is fast";
#endif
  if (cpu_level() == CpuLevel::Baseline) GTEST_SKIP() << "the baseline is built to be right, not fast";
  const double bytes = shortest_run(FC_MAP_bitwise_or, DType::Bool),
               pairs = shortest_run(FC_MAP_bitwise_or, DType::Int16);
  const int of_bool[] = {FC_MAP_add,        FC_MAP_sub,         FC_MAP_rsub,        FC_MAP_mul,
                         FC_MAP_pow,        FC_MAP_heaviside,   FC_MAP_maximum,     FC_MAP_logical_and,
                         FC_MAP_logical_or, FC_MAP_logical_xor, FC_MAP_logical_not, FC_MAP_where};
  for (int opcode : of_bool)
    EXPECT_LT(shortest_run(opcode, DType::Bool), 10 * bytes) << map_opcode(opcode).name << " of bool";
  for (DType type : {DType::Float16, DType::BFloat16, DType::Int16})
    EXPECT_LT(shortest_run(FC_MAP_where, type), 10 * pairs) << "where of " << info(type).name;
}

}  // namespace
