// SPDX-License-Identifier: Apache-2.0
// Where bytes of files come from and go to: a file of the system, memory, or an object of Python's (python/src).
// A reader believes no size that a file states before it was compared with Source::size().
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace fc::files {

struct SystemError : Error {  // OSError in Python
  SystemError(int number, std::string path) : Error(path), number(number) {}
  int number;
};

inline constexpr size_t kReadChunk = 1 << 18;  // what is read at a time stays in the cache for its checksum

class Source {
 public:
  virtual ~Source() = default;
  uint64_t size() const { return size_; }
  virtual bool serves_threads() const { return true; }  // may be read by several at once
  // Throws when the bytes are not all there (the file may have become shorter).
  virtual void read(uint64_t offset, void* to, size_t bytes) = 0;
  std::string read(uint64_t offset, size_t bytes) {
    std::string s(bytes, '\0');
    read(offset, s.data(), bytes);
    return s;
  }

 protected:
  explicit Source(uint64_t size) : size_(size) {}
  uint64_t size_;
};

class MemorySource final : public Source {
 public:
  explicit MemorySource(std::string_view bytes) : Source(bytes.size()), bytes_(bytes) {}
  using Source::read;
  void read(uint64_t offset, void* to, size_t bytes) override;

 private:
  std::string_view bytes_;
};

// From `begin` to the file's end; does not own the descriptor. Much at once is read by all threads: copying out of the
// page cache into fresh memory is work, of which a core does a few gigabytes a second.
class FileSource final : public Source {
 public:
  explicit FileSource(int fd, uint64_t begin = 0);
  using Source::read;
  void read(uint64_t offset, void* to, size_t bytes) override;

 private:
  void read_part(uint64_t offset, char* to, size_t bytes);
  int fd_;
  uint64_t begin_;
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(const void* data, size_t bytes) = 0;
  virtual void skip(size_t bytes);  // writes zeros; a file gets a hole
};

class MemorySink final : public Sink {
 public:
  void write(const void* data, size_t bytes) override { text.append(static_cast<const char*>(data), bytes); }
  std::string text;
};

}  // namespace fc::files
