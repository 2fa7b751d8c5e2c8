// SPDX-License-Identifier: Apache-2.0
// A tensor's bytes as they are now, kept without a copy until something is about to write to them (copy on write).
#pragma once
#include "core/tensor.h"

namespace fc {

// Any thread may make, read and drop one. What writes to a storage calls Storage::about_to_change() first; writing
// through an address that was handed out before is not seen, hence can_keep().
class KeptTensor final : public RefCounted {
 public:
  static bool can_keep(const Tensor& t);  // strided, on the CPU, in memory of our own that nobody was lent
  explicit KeptTensor(const Tensor& t);   // can_keep(t)
  ~KeptTensor() override;
  Tensor read() const;  // for reading only; without autograd's history

 private:
  friend class Storage;
  Tensor kept_;
};

}  // namespace fc
