// SPDX-License-Identifier: Apache-2.0
#include "jit/frontend/error.h"

#include <utility>

namespace fc::jit {
namespace {

struct Call {
  std::string function;
  SourceRange at;
};
thread_local std::vector<Call> calls;

}  // namespace

Compiling::Compiling(std::string function, SourceRange where) {
  calls.push_back({std::move(function), std::move(where)});
}
Compiling::~Compiling() { leave(); }
void Compiling::leave() {
  if (std::exchange(inside_, false)) calls.pop_back();
}
void Compiling::at(const SourceRange& where) {
  if (!calls.empty()) calls.back().at = where;
}

std::string call_chain() {
  std::string out;
  for (size_t i = calls.size(); i-- > 1;)
    out += str("'", calls[i].function, "' is being compiled since it was called from '", calls[i - 1].function, "'\n",
               calls[i - 1].at.highlight());
  return out;
}

std::string error_text(const SourceRange& where, const std::string& what) {
  return str("\n", what, ":\n", where.highlight(), call_chain());
}

}  // namespace fc::jit
