// SPDX-License-Identifier: Apache-2.0
// Where a tensor lives. Type 0 is the CPU, 1 CUDA, 2 meta (shapes only); further types get a number when a backend
// registers its name, so any number of them live in one process.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace fc {

struct Device {
  enum : int8_t { CPU = 0, CUDA = 1, Meta = 2 };
  int8_t type = CPU;
  int8_t index = -1;  // -1: the current device of that type

  bool is_cpu() const { return type == CPU; }
  bool is_meta() const { return type == Meta; }
  // There is one CPU, whatever its index; of other types no index means the first.
  friend bool operator==(Device a, Device b) {
    return a.type == b.type && (a.index == b.index || (a.index <= 0 && b.index <= 0) || a.type == CPU);
  }
};

Device parse_device(std::string_view text);  // "cpu", "cuda:1"; throws RuntimeError
std::string to_string(Device d);

}  // namespace fc
