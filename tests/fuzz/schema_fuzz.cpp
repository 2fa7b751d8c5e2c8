// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any text is either a schema that prints and reads back the same, or a ValueError.
//   clang++ -std=c++20 -g -fsanitize=fuzzer,address,undefined -Isrc -Iinclude tests/fuzz/schema_fuzz.cpp \
//     src/dispatch/schema.cpp src/core/{format,dtype,device,scalar,value,tensor,storage,allocator,generator}.cpp
#include <cstdlib>

#include "core/error.h"
#include "dispatch/schema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    std::string printed = fc::to_string(fc::parse_schema(text));
    if (fc::to_string(fc::parse_schema(printed)) != printed) std::abort();
  } catch (const fc::ValueError&) {}
  return 0;
}
