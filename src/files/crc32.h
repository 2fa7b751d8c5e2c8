// SPDX-License-Identifier: Apache-2.0
// The checksum of zip records, at the speed of memory where the processor multiplies without carries.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fc::files {

uint32_t crc32(uint32_t crc, const void* data, size_t bytes);  // goes on from crc; begins with 0

// Joins checksums of parts: with a part b of `bytes` bytes, crc32 of a and b is shift(crc32 of a) ^ crc32 of b.
class Crc32Shift {
 public:
  explicit Crc32Shift(uint64_t bytes);
  uint32_t operator()(uint32_t crc) const;

 private:
  uint32_t factor_;
};

}  // namespace fc::files
