// SPDX-License-Identifier: Apache-2.0
// Memory that is a file's. When somebody makes the file shorter, or the disk fails, touching what is gone would end the
// process (SIGBUS). Here zeros take its place, a sentence goes to stderr, and the next call from Python raises.
#pragma once
#include <cstddef>
#include <string>

namespace fc {

// One range of mapped memory, known to the handler of SIGBUS while this lives. Whoever maps it makes this after mmap
// and drops it before munmap. Other faults go to whom they went before.
class MappedRange {
 public:
  MappedRange() = default;
  MappedRange(void* begin, size_t bytes, int fd);  // fd: for the file's name in errors; may be closed afterwards
  ~MappedRange();
  MappedRange(MappedRange&& o) noexcept;
  MappedRange& operator=(MappedRange&& o) noexcept;

  struct Entry;

 private:
  Entry* entry_ = nullptr;
};

extern const MappedRange::Entry* lost_range;  // of a file that lost bytes that were touched, until that is raised
[[noreturn]] void raise_lost_range();
inline void check_mapped_ranges() {
  if (__atomic_load_n(&lost_range, __ATOMIC_RELAXED)) [[unlikely]]
    raise_lost_range();
}

}  // namespace fc
