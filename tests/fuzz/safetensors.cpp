// SPDX-License-Identifier: Apache-2.0
// Any bytes are either a safetensors file whose tensors cover its data, and whose header reads back when we write it,
// or an Error.
#include "files/safetensors.h"

#include <cstdlib>

#include "fuzz.h"

namespace fc {
namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

void fuzz::safetensors(std::string_view bytes) {
  files::MemorySource source(bytes);
  files::SafetensorsHeader header;
  try {
    header = files::read_safetensors(source);
  } catch (const Error&) { return; }
  uint64_t total = 0;
  for (const files::SafeTensor& t : header.tensors) {
    require(t.offset <= bytes.size() && t.bytes <= bytes.size() - t.offset);
    total += t.bytes;
  }
  std::string text = files::write_safetensors(header);
  text.append(total, '\0');
  files::MemorySource again(text);
  const files::SafetensorsHeader second = files::read_safetensors(again);
  require(second.metadata == header.metadata && second.tensors.size() == header.tensors.size());
  for (size_t i = 0; i < second.tensors.size(); ++i) {
    const files::SafeTensor &a = header.tensors[i], &b = second.tensors[i];
    require(a.name == b.name && a.dtype == b.dtype && a.sizes == b.sizes && a.bytes == b.bytes);
  }
}

}  // namespace fc
