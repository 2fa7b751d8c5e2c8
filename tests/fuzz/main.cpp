// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fc::fuzz::FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
