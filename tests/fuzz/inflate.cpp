// SPDX-License-Identifier: Apache-2.0
// Any bytes either become exactly as many as was said, the same every time and from no other number, or are refused.
#include "files/inflate.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "core/error.h"
#include "fuzz.h"

namespace fc {
namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

// Three bytes say how many come out.
bool becomes(std::string_view deflated, size_t bytes, std::string& out) {
  out.assign(bytes, '?');
  try {
    files::inflate(deflated, out.data(), bytes);
    return true;
  } catch (const Error&) { return false; }
}

}  // namespace

void fuzz::inflate(std::string_view bytes) {
  if (bytes.size() < 3) return;
  size_t size = 0;
  std::memcpy(&size, bytes.data(), 3);
  bytes.remove_prefix(3);
  if (files::inflates_too_much(bytes.size(), size)) return;
  std::string once, again;
  if (!becomes(bytes, size, once)) return;
  require(becomes(bytes, size, again) && once == again);
  require(!becomes(bytes, size + 1, again));
  if (size > 0) require(!becomes(bytes, size - 1, again));
}

}  // namespace fc
