// SPDX-License-Identifier: Apache-2.0
// Changes nothing: throws if a Python operator of the top block works in place.
//   %r = ^Mine[inplace=1]()(%x)   =>   error: inplace Mine not supported in the JIT
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool check_inplace(Graph& g, PassContext& context);

}  // namespace fc::jit
