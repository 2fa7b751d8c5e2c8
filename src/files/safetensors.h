// SPDX-License-Identifier: Apache-2.0
// The safetensors format: eight bytes with the header's length, a JSON header that names every tensor's type, shape and
// place, then the bytes. Reading a header checks all of it: known types, no name twice, each place as long as shape and
// type say, the places covering the data exactly, without holes and overlaps.
#pragma once
#include <facula/dtype.h>

#include <string>
#include <utility>
#include <vector>

#include "files/source.h"

namespace fc::files {

struct SafeTensor {
  std::string name;
  DType dtype = DType::Undefined;
  std::vector<int64_t> sizes;
  uint64_t offset = 0;  // in the file
  uint64_t bytes = 0;
};
struct SafetensorsHeader {
  std::vector<SafeTensor> tensors;  // in the order of the header
  std::vector<std::pair<std::string, std::string>> metadata;
};

SafetensorsHeader read_safetensors(Source& source);  // throws ValueError
// The bytes before the data. Puts the tensors into the order in which their bytes follow: wide types first, so that all
// are aligned.
std::string write_safetensors(SafetensorsHeader& header);

}  // namespace fc::files
