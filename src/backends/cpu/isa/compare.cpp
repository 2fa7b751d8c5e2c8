// SPDX-License-Identifier: Apache-2.0
// Comparisons and bits. Integers of one width are equal, or combine bits, alike whether signed or not, and bool is a
// byte of 0 or 1: one kernel serves them all. a > b is b < a. Logic is done on bool, whatever the operands are.
#include <initializer_list>

#include "backends/cpu/isa/tile.h"
#include "kernels/formulas/common.h"

namespace fc::cpu::FC_ISA {
namespace {

using Types = std::initializer_list<DType>;

template <class Op, class T>
void add_compare(KernelTable& t, Types types) {
  for (DType type : types) t.map[Op::code][static_cast<int>(type)] = {binary_flat<Op, T>, DType::Bool, 1};
}
template <class Op, class T>
void add_bits(KernelTable& t, Types types) {
  for (DType type : types) t.map[Op::code][static_cast<int>(type)] = {binary_flat<Op, T>, type, 1};
}

template <class Op>
void add_equality(KernelTable& t) {
  add_compare<Op, uint8_t>(t, {DType::Bool, DType::UInt8, DType::Int8});
  add_compare<Op, int16_t>(t, {DType::Int16, DType::UInt16});
  add_compare<Op, int32_t>(t, {DType::Int32, DType::UInt32});
  add_compare<Op, int64_t>(t, {DType::Int64, DType::UInt64});
  add_compare<Op, float>(t, {DType::Float32});
  add_compare<Op, double>(t, {DType::Float64});
  add_compare<Op, std::complex<float>>(t, {DType::Complex64});
  add_compare<Op, std::complex<double>>(t, {DType::Complex128});
}

template <class Op, class T>
void swapped(char* const* ptr, int64_t n, const void* params) {
  char* const other_way[] = {ptr[0], ptr[2], ptr[1]};
  binary_flat<Op, T>(other_way, n, params);
}

template <class Op, class Swapped, class T>
void add_order_of(KernelTable& t, Types types) {
  add_compare<Op, T>(t, types);
  for (DType type : types) t.map[Swapped::code][static_cast<int>(type)] = {swapped<Op, T>, DType::Bool, 1};
}
template <class Op, class Swapped>
void add_order(KernelTable& t) {
  add_order_of<Op, Swapped, uint8_t>(t, {DType::Bool, DType::UInt8});
  add_order_of<Op, Swapped, int8_t>(t, {DType::Int8});
  add_order_of<Op, Swapped, int16_t>(t, {DType::Int16});
  add_order_of<Op, Swapped, int32_t>(t, {DType::Int32});
  add_order_of<Op, Swapped, int64_t>(t, {DType::Int64});
  add_order_of<Op, Swapped, uint16_t>(t, {DType::UInt16});
  add_order_of<Op, Swapped, uint32_t>(t, {DType::UInt32});
  add_order_of<Op, Swapped, uint64_t>(t, {DType::UInt64});
  add_order_of<Op, Swapped, float>(t, {DType::Float32});
  add_order_of<Op, Swapped, double>(t, {DType::Float64});
}

template <class Op>
void add_bitwise(KernelTable& t) {
  if constexpr (Op::accepts & scalar::kBool) add_bits<Op, uint8_t>(t, {DType::Bool, DType::UInt8, DType::Int8});
  else add_bits<Op, uint8_t>(t, {DType::UInt8, DType::Int8});
  add_bits<Op, uint16_t>(t, {DType::Int16, DType::UInt16});
  add_bits<Op, uint32_t>(t, {DType::Int32, DType::UInt32});
  add_bits<Op, uint64_t>(t, {DType::Int64, DType::UInt64});
}

}  // namespace

void fill_compare(KernelTable& t) {
  add_equality<scalar::eq>(t);
  add_equality<scalar::ne>(t);
  add_order<scalar::lt, scalar::gt>(t);
  add_order<scalar::le, scalar::ge>(t);
  add_kernel<scalar::logical_and, bool>(t, 1);
  add_kernel<scalar::logical_or, bool>(t, 1);
  add_kernel<scalar::logical_xor, bool>(t, 1);
  add_bitwise<scalar::bitwise_and>(t);
  add_bitwise<scalar::bitwise_or>(t);
  add_bitwise<scalar::bitwise_xor>(t);
  add_bitwise<scalar::bitwise_left_shift>(t);
  add_op<scalar::bitwise_right_shift>(t, 1);
}

}  // namespace fc::cpu::FC_ISA
