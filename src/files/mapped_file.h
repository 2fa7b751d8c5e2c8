// SPDX-License-Identifier: Apache-2.0
// A file's bytes as memory, read when they are touched. Private: writes stay in this process. Shared: they reach the
// file. Storages made of parts keep the map. When the file becomes shorter meanwhile: core/mapped_range.h.
#pragma once
#include <facula/storage.h>

#include <cstdint>

#include "core/mapped_range.h"

namespace fc::files {

class MappedFile : public RefCounted {
 public:
  MappedFile(int fd, bool shared);  // throws SystemError; does not keep the descriptor
  ~MappedFile() override;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  char* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  uint64_t size_ = 0;
  MappedRange range_;
};

// A part of the file, which lies inside of it.
Ref<Storage> storage_of(const Ref<MappedFile>& file, uint64_t offset, uint64_t bytes);

}  // namespace fc::files
