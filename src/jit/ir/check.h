// SPDX-License-Identifier: Apache-2.0
// What a graph may be, as a program: numbered rules (check.cpp), of which the first that is broken is thrown with the
// node's text and its place. Runs after parsing, from `lint`, and after every pass of a debug build.
#pragma once
namespace fc::jit {
class Graph;

void check(const Graph& g);  // throws Error

}  // namespace fc::jit
