// SPDX-License-Identifier: Apache-2.0
#include "files/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "core/ref.h"
#include "files/source.h"

namespace fc::files {

MappedFile::MappedFile(int fd, bool shared) {
  struct stat s;
  if (fstat(fd, &s) != 0) throw SystemError(errno, "mmap");
  size_ = static_cast<uint64_t>(s.st_size);
  if (size_ == 0) return;
  void* p = mmap(nullptr, size_, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE, fd, 0);
  if (p == MAP_FAILED) throw SystemError(errno, "mmap");
  try {
    range_ = MappedRange(p, size_, fd);
  } catch (...) {
    munmap(p, size_);
    throw;
  }
  data_ = static_cast<char*>(p);
}

MappedFile::~MappedFile() {
  range_ = MappedRange();
  if (data_) munmap(data_, size_);
}

Ref<Storage> storage_of(const Ref<MappedFile>& file, uint64_t offset, uint64_t bytes) {
  FC_CHECK(offset <= file->size() && bytes <= file->size() - offset, "a part of ", bytes, " bytes from byte ", offset,
           " on lies outside of a file of ", file->size());
  auto kept = std::make_unique<Ref<MappedFile>>(file);
  auto free = [](void*, size_t, void* context) { delete static_cast<Ref<MappedFile>*>(context); };
  auto storage = make_ref<Storage>(Block{file->data() + offset, free, kept.get()}, bytes, Device{}, nullptr);
  kept.release();
  return storage;
}

}  // namespace fc::files
