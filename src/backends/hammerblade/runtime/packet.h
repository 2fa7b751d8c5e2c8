// SPDX-License-Identifier: Apache-2.0
// A launch packet: the words of a launch and all they point to (tensor and vector
// records, sizes, strides, scalars) in one buffer that is copied to the device once. Layouts are those of
// include/device/hb_tensor.hpp, 32-bit addresses included, so that an emulated and a simulated device read the same
// bytes.
//
//   [argc words] [records, arrays and scalars, each on a boundary of 8]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/hammerblade/runtime/error.h"
#include "backends/hammerblade/runtime/memory.h"

namespace fc::hb {

class FC_HB_API Packet {
 public:
  // Arguments in the kernel's order. Sizes and strides are in elements; a dimension of more than 32 bits is an Error.
  // `element`: what its elements are (hb_emul_records.h), so that a kernel that takes them for others is told; 0: any.
  void tensor(Eva data, std::span<const int64_t> sizes, std::span<const int64_t> strides, uint32_t element = 0);
  void vector(std::span<const int32_t> elements);  // an hb_vector_t with its elements
  void tensor_list(size_t count);                  // the next `count` tensors become one argument: an array of pointers
  void counted_list(size_t count);                 // the same with their number before them
  void scalar(const void* bytes, size_t size);     // by pointer
  // A tensor whose every element is the one that lies in the packet.
  void repeated(const void* bytes, size_t size, std::span<const int64_t> sizes);
  void word(uint32_t value);  // by value
  void clear();

  uint32_t argc() const { return static_cast<uint32_t>(words_.size()); }
  size_t bytes() const { return words_.size() * 4 + 8 + body_.size(); }
  // The buffer as it lies at `address`.
  void write(void* to, Eva address) const;

 private:
  struct Fix {
    size_t at, target;  // offsets in the body: the word at `at` becomes the address of `target`
  };
  size_t append(const void* bytes, size_t size);
  void argument(size_t offset);

  struct Word {
    uint32_t value;
    bool address;  // an offset in the body
  };
  std::vector<Word> words_;
  std::vector<uint8_t> body_;
  std::vector<Fix> fixes_;
  size_t list_left_ = 0, list_at_ = 0;
};

}  // namespace fc::hb
