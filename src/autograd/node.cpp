// SPDX-License-Identifier: Apache-2.0
#include "autograd/node.h"

#include "autograd/saved.h"
#include "core/error.h"

namespace fc::autograd {
namespace {

uint64_t hook_counter = 0;
// A thread counts its own nodes: backward's order matters among those, and one counter for all would be waited for.
constinit thread_local uint64_t sequence_here [[gnu::tls_model("initial-exec")]] = 0;

}  // namespace

uint64_t next_hook_id() { return __atomic_add_fetch(&hook_counter, 1, __ATOMIC_RELAXED); }
uint64_t peek_sequence() { return sequence_here; }

Node::Node() : sequence(sequence_here++) {}
Node::~Node() = default;

SavedItem Node::saved(size_t) { raise<Error>(name(), " saved nothing"); }
void Node::replace_saved(size_t, size_t, const SavedTensor&) { raise<Error>(name(), " saved nothing"); }

void Node::raise_released() {
  raise<Error>(
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
      "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
      "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
      "saved tensors after calling backward.");
}

uint32_t Node::add_input(const Tensor& result) {
  InputMeta& m = inputs.emplace_back();  // of an undefined result, too: it keeps the numbers of those after it
  if (result.defined()) {
    m.sizes = result.sizes();
    m.dtype = result.dtype();
    m.device = result.device();
    m.transposed = result.dim() == 2 && result.stride(0) == 1 && result.stride(1) == result.size(0) &&
                   result.size(0) > 1 && result.size(1) > 1;
  }
  return static_cast<uint32_t>(inputs.size() - 1);
}

}  // namespace fc::autograd
