// SPDX-License-Identifier: Apache-2.0
// Deflated bytes (RFC 1951). The whole is in memory and so is what comes out, whose size the caller knows and has
// bounded: nothing is believed that the bytes say of it. Any thread may call; nothing is allocated.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fc::files {

// What a record may become: its size is the archive's word, and a few bytes can stand for a thousand times as many.
inline constexpr uint64_t kInflateRatio = 128, kInflateFree = 1 << 16;
inline bool inflates_too_much(uint64_t deflated, uint64_t inflated) {
  return inflated > kInflateFree && (inflated - kInflateFree) / kInflateRatio > deflated;
}

// Throws Error unless exactly `bytes` come out and nothing is left over.
void inflate(std::string_view deflated, char* to, size_t bytes);

}  // namespace fc::files
