// SPDX-License-Identifier: Apache-2.0
#include "files/source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/threads.h"

namespace fc::files {

void MemorySource::read(uint64_t offset, void* to, size_t bytes) {
  FC_CHECK(offset <= bytes_.size() && bytes <= bytes_.size() - offset, "the data ends early");
  std::memcpy(to, bytes_.data() + offset, bytes);
}

FileSource::FileSource(int fd, uint64_t begin) : Source(0), fd_(fd), begin_(begin) {
  struct stat s;
  FC_CHECK(fstat(fd, &s) == 0, "cannot ask for the size of the file: ", std::strerror(errno));
  FC_CHECK(S_ISREG(s.st_mode), "not a regular file");
  const auto size = static_cast<uint64_t>(s.st_size);
  size_ = size - std::min(size, begin);
}

void FileSource::read(uint64_t offset, void* to, size_t bytes) {
  const auto chunks = static_cast<int64_t>((bytes + kReadChunk - 1) / kReadChunk);
  parallel_for(0, chunks, 4, [&](int64_t from, int64_t end) {
    const size_t first = static_cast<size_t>(from) * kReadChunk, last = static_cast<size_t>(end) * kReadChunk;
    read_part(offset + first, static_cast<char*>(to) + first, std::min(last, bytes) - first);
  });
}

void FileSource::read_part(uint64_t offset, char* p, size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = pread(fd_, p, bytes, static_cast<off_t>(begin_ + offset));
    if (n < 0 && errno == EINTR) continue;
    FC_CHECK(n >= 0, "cannot read the file: ", std::strerror(errno));
    FC_CHECK(n > 0, "the file ends early");
    p += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
}

void Sink::skip(size_t bytes) {
  static const char zeros[4096] = {};
  for (; bytes > 0; bytes -= std::min(bytes, sizeof zeros)) write(zeros, std::min(bytes, sizeof zeros));
}

}  // namespace fc::files
