// SPDX-License-Identifier: Apache-2.0
// Tensors as one piece of host memory, one after the other, for an engine.
#pragma once
#include <vector>

#include "core/tensor.h"

namespace fc::distributed {

// Holds the tensors' memory. A single tensor that lies on the host without gaps is used in place; others pass through a
// copy, which is filled when made (where the engine reads) and brought back by `write_back` (where it writes).
class Staged {
 public:
  enum Use { Read = 1, Write = 2, ReadWrite = 3 };
  Staged() = default;  // nothing
  Staged(const std::vector<Tensor>& tensors, Use use);

  void* data() const { return buffer_.defined() ? buffer_.data() : nullptr; }
  size_t bytes() const {
    return buffer_.defined() ? static_cast<size_t>(buffer_.numel()) * item_size(buffer_.dtype()) : 0;
  }
  DType dtype() const { return buffer_.defined() ? buffer_.dtype() : DType::Undefined; }
  int64_t numel() const { return buffer_.defined() ? buffer_.numel() : 0; }
  const Tensor& buffer() const { return buffer_; }  // on the host, contiguous
  void write_back() const;

 private:
  std::vector<Tensor> tensors_;  // empty where the buffer is the tensor
  Tensor buffer_;
};

// Throws unless the tensors can take part: strided, of one element type and device, not read-only where written.
void check_tensors(const char* op, const std::vector<Tensor>& tensors, Staged::Use use);

}  // namespace fc::distributed
