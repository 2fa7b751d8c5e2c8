// SPDX-License-Identifier: Apache-2.0
// Changes nothing: throws if a rule of ir/check.h is broken.
#pragma once
namespace fc::jit {
class Graph;
class PassContext;

bool lint(Graph& g, PassContext& context);

}  // namespace fc::jit
