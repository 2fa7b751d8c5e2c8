// SPDX-License-Identifier: Apache-2.0
// How operators use a device's gather and scatter families, and the two ways of writing by index: in place, and into
// a copy.
#pragma once
#include "define/calls.h"
#include "define/row.h"
#include "facula/families.h"

namespace fc {

// out[i] = in[i with coordinate dim replaced by index[i]]; index has out's sizes and may repeat (strides 0). Throws
// IndexError when an index is out of bounds, and Unsupported.
void gather_into(const Tensor& out, const Tensor& in, int64_t dim, const Tensor& index);
// out[i with coordinate dim replaced by index[i]] op= src[i], over index's sizes; src is at least as large.
void scatter_into(fc_scatter_opcode opcode, const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src);

Tensor at_least_1d(const Tensor& t);  // a view; 0-d tensors count as vectors of one element
Tensor repeated_number(const Scalar& v, const Tensor& like, IntSpan sizes);  // of like's type, one element in memory
Tensor int64_index(const char* op, const Tensor& index);                     // throws unless it holds int32 or int64
// An index along one dimension, as an int64 vector on self's device.
Tensor index_vector(const char* op, const Tensor& index, Device device);
// A vector seen with these sizes, varying along dim only.
Tensor along(const Tensor& vector, int64_t dim, IntSpan sizes);
// Throws unless mask is boolean, source of self's type and self without repeated elements.
void check_masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source);

namespace detail {
template <auto F, MemoryFormat format>
struct IntoCopy;
template <class... A, Tensor (*F)(const Tensor&, A...), MemoryFormat format>
struct IntoCopy<F, format> {
  static Tensor run(const Tensor& self, A... args) {
    Tensor out = clone(self, format);
    F(out, args...);
    return out;
  }
};
}  // namespace detail

// An operator that writes into its first argument: `name_` is F itself, `name` runs F on a copy, `name.out` follows.
struct WriteDef {
  const char* schema;  // of the functional form
  const char* doc;
  Kernel in_place, functional;
  const char* saves = "";
  GradFormula grad = nullptr;
  Devices devices = Devices::Same;
  const char* node = nullptr;  // autograd's name for a call, where that is not <Name>Backward0
  bool replaces = false;       // elements that it writes are not read
  bool may_repeat = false;     // Operator::may_repeat
};
constexpr WriteDef replacing(WriteDef def) {
  def.replaces = true;
  return def;
}
constexpr WriteDef repeating(WriteDef def) {
  def.may_repeat = true;
  return def;
}
template <auto F, MemoryFormat format = MemoryFormat::Contiguous>
constexpr WriteDef writes(const char* schema, const char* doc = nullptr, const char* saves = "",
                          GradFormula grad = nullptr, Devices devices = Devices::Same, const char* node = nullptr) {
  return {schema, doc, kernel<F>(), kernel<&detail::IntoCopy<F, format>::run>(), saves, grad, devices, node};
}
void define_write(const WriteDef& def);

}  // namespace fc
