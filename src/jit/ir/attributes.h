// SPDX-License-Identifier: Apache-2.0
// What a node carries beside its inputs: named values of a fixed set of kinds, in the order in which they were set.
#pragma once
#include <complex>
#include <string>
#include <variant>
#include <vector>

#include "core/type.h"
#include "core/value.h"
#include "jit/ir/symbol.h"

namespace fc::jit {

class Graph;

// In the order of Content's alternatives; PyTorch's names.
enum class AttributeKind : uint8_t { f, fs, c, cs, i, is, s, ss, t, ts, g, gs, ty, tys, ival };
std::string_view to_string(AttributeKind k);

struct Attribute {
  using Complex = std::complex<double>;
  using Content = std::variant<double, std::vector<double>, Complex, std::vector<Complex>, int64_t,
                               std::vector<int64_t>, std::string, std::vector<std::string>, Tensor, std::vector<Tensor>,
                               Ref<Graph>, std::vector<Ref<Graph>>, TypeRef, std::vector<TypeRef>, fc::Value>;
  Symbol name;
  Content content;
  AttributeKind kind() const { return static_cast<AttributeKind>(content.index()); }
};

}  // namespace fc::jit
