// SPDX-License-Identifier: Apache-2.0
// The checksum of zip records, at the speed of memory where the processor multiplies without carries.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fc::files {

uint32_t crc32(uint32_t crc, const void* data, size_t bytes);  // goes on from crc; begins with 0

}  // namespace fc::files
