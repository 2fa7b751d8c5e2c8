// SPDX-License-Identifier: Apache-2.0
#include "files/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "core/error.h"

namespace fc::files {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash + 1);
}

// A name that nobody has: the process may have several threads that save, and others save as well.
std::string temporary_name(const std::string& path) {
  static unsigned counter = 0;
  const unsigned n = __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED);
  return folder_of(path) + "." + path.substr(path.rfind('/') + 1).substr(0, 200) + "." + str(getpid(), ".", n, ".tmp");
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (real) path_ = real.get();  // a link goes on pointing to the file
  struct stat old;
  const bool exists = stat(path_.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) {
    direct_ = true;
    fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) throw SystemError(errno, path);
    return;
  }
  if (exists && access(path_.c_str(), W_OK) != 0) throw SystemError(errno, path);  // replacing it would ignore that
  fd_ = open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {  // not every file system can
    temporary_ = temporary_name(path_);
    fd_ = open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  }
  if (fd_ < 0) {
    temporary_.clear();
    throw SystemError(errno, path);
  }
  if (exists && fchmod(fd_, old.st_mode & 07777) != 0) {
    // It then has the permissions that a new file gets.
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  for (auto p = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t n = ::write(fd_, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw SystemError(errno, path_);
    p += n;
    bytes -= static_cast<size_t>(n);
  }
}

void AtomicFile::skip(size_t bytes) {
  // A hole at the end would not lengthen the file, but after a record there is always something.
  if (direct_) Sink::skip(bytes);
  else if (lseek(fd_, static_cast<off_t>(bytes), SEEK_CUR) < 0) throw SystemError(errno, path_);
}

void AtomicFile::commit() {
  if (!direct_) {
    if (fsync(fd_) != 0) throw SystemError(errno, path_);
    if (temporary_.empty()) {
      std::string name = temporary_name(path_);
      if (linkat(AT_FDCWD, str("/proc/self/fd/", fd_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
        throw SystemError(errno, path_);
      temporary_ = std::move(name);
    }
    if (rename(temporary_.c_str(), path_.c_str()) != 0) throw SystemError(errno, path_);
    temporary_.clear();
    // So that the new name survives a loss of power. Where a folder cannot be synchronised, nothing is lost but that.
    const int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
      fsync(folder);
      close(folder);
    }
  }
  if (close(std::exchange(fd_, -1)) != 0) throw SystemError(errno, path_);
}

}  // namespace fc::files
