// SPDX-License-Identifier: Apache-2.0
// A tensor kept for backward. It remembers the version it had; reading it after an in-place change throws an error
// that names the tensor and its maker. Results are kept without their history (they would own their own node).
#pragma once
#include <optional>
#include <string>

#include "autograd/node.h"
#include "core/value.h"

namespace fc::autograd {

struct SavedTensorHooks;

class SavedTensor {
 public:
  SavedTensor() = default;
  // may_change: of an argument, that the program may overwrite it before it is unpacked.
  SavedTensor(const Tensor& t, bool is_result, bool may_change = false);
  Tensor unpack(const Ref<Node>& owner) const;  // owner: the node that saved it
  bool has_hooks() const { return static_cast<bool>(packed_); }
  // Packs the tensor from now on; it must have no hooks of the program's yet.
  void register_hooks(Ref<SavedTensorHooks> hooks, const Ref<Node>& owner);
  void reset() { *this = SavedTensor(); }
  bool empty() const { return !data_.defined() && !packed_; }

 private:
  bool has_own_hooks() const;  // not those that keep bytes
  void pack(const Tensor& t, const Tensor& shown, Ref<SavedTensorHooks> hooks);

  Tensor data_;
  Ref<RefCounted> packed_;  // what a pack hook made of it, or its bytes as they were if they may change
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  bool is_result_ = false;
  bool is_leaf_result_ = false;
};

// What stands under one name in a node: a tensor, several, or another value.
struct SavedItem {
  std::vector<SavedTensor> tensors;
  bool is_list = false;
  Value value;  // None beside tensors
};

// saved_tensors_hooks: while set, saved tensors are packed on save and unpacked on use.
struct SavedTensorHooks : RefCounted {
  virtual Ref<RefCounted> pack(const Tensor& t) = 0;
  virtual Tensor unpack(RefCounted& packed) = 0;
};
void hand_saved_tensor_hooks_to_workers();  // once, at start-up
void push_saved_tensor_hooks(Ref<SavedTensorHooks> hooks);
void pop_saved_tensor_hooks();
// From now on, on this thread, hooks raise an error with this text; none: they are allowed. Returns what held before.
std::optional<std::string> disable_saved_tensor_hooks(std::optional<std::string> because);

}  // namespace fc::autograd
