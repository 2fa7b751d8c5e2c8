// SPDX-License-Identifier: Apache-2.0
#include "distributed/staged.h"

#include "core/error.h"
#include "define/calls.h"
#include "dispatch/layers.h"

namespace fc::distributed {
namespace {

struct NoHistory {  // what is copied here is no step of the program's
  ThreadState plain() {
    ThreadState s = thread_state();
    s.grad_mode = false;
    s.exclude |= layer::Autograd | layer::Autocast | layer::Python;
    return s;
  }
  StateScope scope{plain()};
};

Tensor part_of(const Tensor& buffer, const Tensor& t, int64_t at) {
  return make_view(buffer, t.sizes(), contiguous_strides(t.sizes()), at);
}

}  // namespace

void check_tensors(const char* op, const std::vector<Tensor>& tensors, Staged::Use use) {
  for (auto& t : tensors) {
    FC_CHECK_AS(TypeError, t.defined(), op, ": expected a Tensor, not None");
    FC_CHECK_AS(ValueError, !t.impl().is_sparse(), op,
                ": sparse tensors cannot be sent: to_dense() makes strided ones");
    FC_CHECK_AS(ValueError, t.dtype() == tensors[0].dtype(), op, ": one list has tensors of ",
                to_string(tensors[0].dtype()), " and of ", to_string(t.dtype()));
    FC_CHECK_AS(ValueError, t.device() == tensors[0].device(), op, ": one list has tensors on two devices");
    FC_CHECK(!(use & Staged::Write) || !t.impl().is_inference() || thread_state().inference_mode, op,
             ": an inference tensor is written in inference mode only");
  }
}

Staged::Staged(const std::vector<Tensor>& tensors, Use use) {
  if (tensors.empty()) return;
  if (tensors.size() == 1 && tensors[0].is_contiguous() && tensors[0].device().is_cpu()) {
    buffer_ = shallow_copy(tensors[0], true);
    if (use & Write) buffer_.impl().bump_version();
    return;
  }
  NoHistory off;
  int64_t numel = 0;
  for (auto& t : tensors)
    FC_CHECK_AS(ValueError, !__builtin_add_overflow(numel, t.numel(), &numel), "too many elements in one call");
  buffer_ = empty_tensor(Dims{numel}, tensors[0].dtype(), Device{});
  int64_t at = 0;
  for (auto& t : tensors) {
    if (use & Read) copy_(part_of(buffer_, t, at), shallow_copy(t, true));
    at += t.numel();
  }
  if (!(use & Write)) return;
  for (auto& t : tensors) tensors_.push_back(shallow_copy(t, true));
}

void Staged::write_back() const {
  if (tensors_.empty()) return;
  NoHistory off;
  int64_t at = 0;
  for (auto& t : tensors_) {
    copy_(t, part_of(buffer_, t, at));
    at += t.numel();
  }
}

}  // namespace fc::distributed
