// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: what is written goes to a file without a name in the same folder, and
// commit() makes it durable and puts it in the old one's place. Killed at any point, the old file is intact. What
// is no regular file (a pipe, /dev/null) is written to as it is. Throws SystemError with the system's error number.
#pragma once
#include <string>

#include "files/source.h"

namespace fc::files {

class AtomicFile final : public Sink {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile() override;  // without commit() the old file stays
  void write(const void* data, size_t bytes) override;
  void skip(size_t bytes) override;
  void commit();

 private:
  std::string path_;       // what is replaced, links resolved
  std::string temporary_;  // the new file's name while it has one
  int fd_ = -1;
  bool direct_ = false;
};

}  // namespace fc::files
