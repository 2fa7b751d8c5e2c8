// SPDX-License-Identifier: Apache-2.0
// Operators on numbers, strings, lists and dicts, which only TorchScript calls: hidden rows of the registry, defined
// when the first graph is made. Each file has the rows of one kind of value; a row is a schema and a kernel, and one
// kernel serves all overloads whose values tell it what to do.
#pragma once
#include <cstddef>
#include <span>

#include "core/containers.h"
#include "dispatch/operator.h"

namespace fc::jit {

void define_script_operators();  // once; any thread, any number of times

struct ScriptRow {
  const char* schema;
  KernelFn run;
};
void define_rows(std::span<const ScriptRow> rows);
void define_number_operators();
void define_list_operators();
void define_dict_operators();
void define_string_operators();
void define_tensor_fact_operators();
void define_tensor_operators();
void define_layer_operators();

// An argument as a value: containers come whole.
inline fc::Value value_of(const Arg& a) { return a.tag() == Tag::Value ? a.whole() : fc::Value(a); }
inline const fc::Value& held(const Arg& a) { return a.whole(); }
// Python's slice of `n` items: where it begins, how many there are.
struct Slice {
  int64_t start, step, count;
};
Slice slice_of(int64_t n, const Arg& start, const Arg& end, const Arg& step);
int64_t place(int64_t i, size_t n, const char* what);  // i, or from the end; throws IndexError

}  // namespace fc::jit
