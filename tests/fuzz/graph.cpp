// SPDX-License-Identifier: Apache-2.0
// Any text is either a graph, or an error of ours that says where it is none. A graph prints and reads back the same,
// every pass leaves a graph or throws, and the interpreter gives a result or throws.
#include "jit/ir/graph.h"

#include <cstdlib>

#include "core/containers.h"
#include "core/error.h"
#include "core/type.h"
#include "define/calls.h"
#include "fuzz.h"
#include "jit/ir/check.h"
#include "jit/ir/parse.h"
#include "jit/ir/walk.h"
#include "jit/passes/pass.h"
#include "jit/run/function.h"
#include "jit/run/interpreter.h"
#include "runtime.h"

namespace fc::fuzz {
namespace {

constexpr int64_t kNumbers = 16;  // how large one may be in a graph that is run, so that it takes no time and memory
constexpr size_t kItems = 6;      // of a constant list
constexpr size_t kNodes = 200;

bool is_small(const Value& v) {
  switch (v.tag()) {
    case Tag::Int: return std::abs(v.raw_int()) <= kNumbers;
    case Tag::IntList:
    case Tag::TensorList:
    case Tag::List:
    case Tag::Tuple: return false;
    case Tag::String: return v.arg().text().size() <= kItems;
    default: return true;
  }
}

// Whether running it takes little: small numbers, and nothing that grows in a loop or writes files.
bool may_run(const jit::Graph& g) {
  if (g.num_nodes() > kNodes) return false;
  bool may = true;
  jit::for_each_node(*g.block(), [&](const jit::Node* n) {
    if (n->kind().text() == "aten::from_file" || n->kind().text() == "aten::save") may = false;
    const bool inside = n->owning_block()->owning_node() != nullptr;
    for (const jit::Value* v : n->outputs()) {
      if (inside && (v->type()->is(TypeKind::String) || v->type()->is(TypeKind::List))) may = false;
      if (const auto c = jit::constant_of(v); c && !is_small(*c)) may = false;
    }
    if (n->is(jit::prim_ListConstruct) && n->num_inputs() > kItems) may = false;
  });
  return may;
}

std::optional<Value> argument(TypeRef t) {
  switch (t->kind()) {
    case TypeKind::Tensor: return Value(full(Dims{2, 3}, 1.0, DType::Float32, {}));
    case TypeKind::Int: return Value(2);
    case TypeKind::Float: return Value(0.5);
    case TypeKind::Bool: return Value(true);
    case TypeKind::String: return Value("a");
    case TypeKind::Optional:
    case TypeKind::None: return Value();
    case TypeKind::List: {
      const auto item = argument(t->item());
      if (!item) return {};
      return list_value(t->item(), {*item, *item});
    }
    default: return {};
  }
}

void run(Ref<jit::Graph> g) {
  if (!may_run(*g)) return;
  std::vector<Value> arguments;
  for (const jit::Value* v : g->inputs()) {
    auto made = argument(v->type());
    if (!made) return;
    arguments.push_back(std::move(*made));
  }
  jit::check_interrupt = [] { raise<Error>("too many turns"); };
  try {
    (*make_ref<jit::Function>("f", std::move(g)))(std::move(arguments));
  } catch (const Error&) {}
}

}  // namespace

void graph(std::string_view text) {
  initialise();
  Ref<jit::Graph> g;
  try {
    g = jit::parse_graph(text, true);
  } catch (const Error&) { return; }
  if (text.find_first_of("<{") == text.npos) {  // numbers of tensors are printed rounded
    const std::string printed = g->text();
    if (jit::parse_graph(printed, true)->copy()->inputs().size() != g->inputs().size()) std::abort();
  }
  for (const jit::Pass* p : jit::all_passes()) {
    Ref<jit::Graph> copy = g->copy();
    try {
      jit::run_pass(*copy, *p);
    } catch (const Error&) { continue; }
    jit::check(*copy);
  }
  run(std::move(g));
}

}  // namespace fc::fuzz
