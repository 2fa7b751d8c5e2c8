// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/error.h"

namespace fc::hb {

namespace {

constexpr std::string_view prefix = "facula-hb-kernels-";

using Listing = std::unique_ptr<DIR, int (*)(DIR*)>;

void remove_folder(const std::string& folder) {
  if (Listing listing{opendir(folder.c_str()), &closedir}; listing)
    while (const dirent* entry = readdir(listing.get())) unlinkat(dirfd(listing.get()), entry->d_name, 0);
  rmdir(folder.c_str());
}

// The system lets go of a lock when its process has ended, however that was. -1: there is no such folder of ours, or
// somebody has locked it.
int lock(const std::string& folder) {
  int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat s;
  if (fd >= 0 && !fstat(fd, &s) && s.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB)) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

void remove_abandoned(const std::string& parent) {
  Listing listing{opendir(parent.c_str()), &closedir};
  if (!listing) return;
  while (const dirent* entry = readdir(listing.get())) {
    if (!std::string_view(entry->d_name).starts_with(prefix)) continue;
    const std::string folder = parent + "/" + entry->d_name;
    if (int fd = lock(folder); fd >= 0) {
      remove_folder(folder);
      close(fd);
    }
  }
}

struct Scratch {
  std::string folder;
  pid_t owner = 0;
};
Scratch& scratch() {
  static auto* one = new Scratch;  // exit handlers may come late
  return *one;
}

}  // namespace

std::string scratch_folder() {
  static std::mutex mutex;
  std::lock_guard guard(mutex);
  Scratch& own = scratch();
  if (own.owner == getpid()) return own.folder;
  const char* named = getenv("TMPDIR");
  const std::string parent = named && *named ? named : "/tmp";
  remove_abandoned(parent);
  for (int tries = 0; tries < 100; ++tries) {
    std::string folder = parent + "/" + std::string(prefix) + "XXXXXX";
    if (!mkdtemp(folder.data()))
      throw Error(HB_MC_FAIL, format("%s cannot be made: %s", folder.c_str(), strerror(errno)));
    // Before it is locked, another process may take it for abandoned.
    int fd = lock(folder);
    if (struct stat s; fd < 0 || fstat(fd, &s) || !s.st_nlink) {
      if (fd >= 0) close(fd);
      continue;
    }
    if (!own.owner)
      atexit([] {
        if (scratch().owner == getpid()) remove_folder(scratch().folder);
      });
    own = {folder, getpid()};  // the lock is held until the process ends
    return folder;
  }
  throw Error(HB_MC_FAIL, format("no folder for compiled kernels could be locked in %s", parent.c_str()));
}

}  // namespace fc::hb
