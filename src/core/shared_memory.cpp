// SPDX-License-Identifier: Apache-2.0
#include "core/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/device.h"
#include "core/error.h"
#include "core/mapped_range.h"

namespace fc {
namespace {

class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  File(File&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  File& operator=(File&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A named file begins with this; its elements follow at a distance that keeps them aligned.
struct Header {
  std::atomic<uint32_t> users;
};
constexpr size_t kHeader = 64;
static_assert(std::atomic<uint32_t>::is_always_lock_free, "the count is shared by processes");

// What a block of mapped memory keeps, as its context.
struct Map {
  void* base = nullptr;
  size_t bytes = 0;
  bool shared = true;
  File file;         // of anonymous memory that may be handed on
  std::string name;  // of named memory
  std::string path;  // of a file of the program's
  int tracker = -1;
  MappedRange range;
  Block lent;  // the storage's memory before, where others still look at it
  size_t lent_bytes = 0;

  Map() = default;
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;
  ~Map() {
    if (lent.free) lent.free(lent.data, lent_bytes, lent.context);
    range = MappedRange();
    const bool last = base && !name.empty() && users().fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (base) ::munmap(base, bytes);
    if (!last) return;
    ::shm_unlink(name.c_str());
    const std::string gone = "UNREGISTER:" + name + ":shared_memory\n";
    if (tracker >= 0 && ::write(tracker, gone.data(), gone.size()) < 0) return;  // then there is nobody to tell
  }
  std::atomic<uint32_t>& users() const { return static_cast<Header*>(base)->users; }
  char* data() const { return static_cast<char*>(base) + (name.empty() ? 0 : kHeader); }
};

void unmap(void*, size_t, void* context) { delete static_cast<Map*>(context); }

Map* map_of(const Storage& s) { return s.block().free == unmap ? static_cast<Map*>(s.block().context) : nullptr; }

std::string reason() {
  const int e = errno;
  return str(std::strerror(e), " (", e, ")");
}

void do_map(Map& m, int fd, size_t bytes, bool shared = true) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
  FC_CHECK(p != MAP_FAILED, "unable to mmap ", bytes, " bytes: ", reason());
  m.base = p;
  m.bytes = bytes;
  m.shared = shared;
  m.range = MappedRange(p, bytes, fd);
}

size_t with_header(size_t bytes) {
  FC_CHECK(bytes <= SIZE_MAX / 2, "no file has room for ", bytes, " bytes");
  return bytes + kHeader;
}

size_t size_of(int fd) {
  struct stat st {};
  FC_CHECK(::fstat(fd, &st) == 0, "unable to stat a shared file: ", reason());
  return static_cast<size_t>(st.st_size);
}

std::unique_ptr<Map> anonymous(size_t bytes) {
  auto m = std::make_unique<Map>();
  m->file = File(::memfd_create("facula", MFD_CLOEXEC));
  FC_CHECK(m->file.get() >= 0, "unable to make shared memory: ", reason());
  FC_CHECK(::ftruncate(m->file.get(), static_cast<off_t>(bytes)) == 0, "unable to make ", bytes,
           " bytes of shared memory: ", reason());
  do_map(*m, m->file.get(), bytes);
  return m;
}

std::unique_ptr<Map> named(size_t bytes, int tracker) {
  static std::atomic<uint32_t> made{0};
  auto m = std::make_unique<Map>();
  const std::string name = str("/facula_", ::getpid(), "_", made++);
  ::shm_unlink(name.c_str());  // of a process that had this number before and was killed
  File file(::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
  FC_CHECK(file.get() >= 0, "unable to open shared memory object <", name, "> in read-write mode: ", reason());
  try {
    // Taken now: a file of the room that is there, touched later, would end the process.
    errno = ::posix_fallocate(file.get(), 0, static_cast<off_t>(with_header(bytes)));
    FC_CHECK(errno == 0, "unable to resize shared memory <", name, "> to ", bytes, " bytes: ", reason());
    do_map(*m, file.get(), with_header(bytes));
  } catch (...) {
    ::shm_unlink(name.c_str());
    throw;
  }
  m->name = name;
  m->tracker = tracker;
  m->users().store(1, std::memory_order_relaxed);
  return m;
}

Ref<Storage> storage_on(std::unique_ptr<Map> m, size_t bytes) {
  auto s = make_ref<Storage>(Block{m->data(), unmap, m.get()}, bytes, Device{}, nullptr);
  static_cast<void>(m.release());  // the block's
  return s;
}

void write_file(int fd, size_t offset, const void* from, size_t bytes) {
  for (auto p = static_cast<const char*>(from); bytes > 0;) {
    const ssize_t n = ::pwrite(fd, p, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    FC_CHECK(n > 0, "unable to write ", bytes, " bytes of shared memory: ", reason());
    p += n;
    offset += static_cast<size_t>(n);
    bytes -= static_cast<size_t>(n);
  }
}

void move_to(Storage& s, std::unique_ptr<Map> m) {
  if (m->file.get() >= 0) write_file(m->file.get(), 0, s.data(), s.bytes());
  else std::memcpy(m->data(), s.data(), s.bytes());
  Map* fresh = m.release();
  Block before = s.exchange({fresh->data(), unmap, fresh});
  if (s.lent()) {
    fresh->lent = before;
    fresh->lent_bytes = s.bytes();
  } else if (before.free) {
    before.free(before.data, s.bytes(), before.context);
  }
}

void check_shareable(const Storage& s) {
  FC_CHECK(s.device().is_cpu(), "only memory of the CPU can be shared with other processes, not of ", s.device());
}

}  // namespace

Ref<Storage> new_shared_storage(size_t bytes) {
  if (bytes == 0) return allocate_storage(0, Device{});
  return storage_on(anonymous(bytes), bytes);
}

bool is_shared(const Storage& s) {
  const Map* m = map_of(s);
  return m && m->shared;
}
bool write_shared(const Storage& s, size_t offset, const void* from, size_t bytes) {
  const Map* m = map_of(s);
  if (!m || m->file.get() < 0 || !m->shared || !m->name.empty() || !m->path.empty()) return false;
  write_file(m->file.get(), offset, from, bytes);
  return true;
}

void share(Storage& s) {
  check_shareable(s);
  if (s.bytes() > 0 && !is_shared(s)) move_to(s, anonymous(s.bytes()));
}

int shared_descriptor(Storage& s) {
  check_shareable(s);
  FC_CHECK(s.bytes() > 0, "an empty storage has no shared memory");
  const Map* m = map_of(s);
  if (!m || m->file.get() < 0) move_to(s, anonymous(s.bytes()));
  return map_of(s)->file.get();
}

Ref<Storage> map_descriptor(int descriptor, size_t bytes, bool keep) {
  FC_CHECK(bytes > 0 && size_of(descriptor) >= bytes, "the shared memory has ", size_of(descriptor),
           " bytes, fewer than ", bytes);
  auto m = std::make_unique<Map>();
  if (keep) {
    m->file = File(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    FC_CHECK(m->file.get() >= 0, "unable to keep a shared memory descriptor: ", reason());
  }
  do_map(*m, descriptor, bytes);
  return storage_on(std::move(m), bytes);
}

std::string share_by_name(Storage& s, int tracker) {
  check_shareable(s);
  const Map* m = map_of(s);
  if (!m || m->name.empty()) move_to(s, named(s.bytes(), tracker));
  map_of(s)->users().fetch_add(1, std::memory_order_relaxed);
  return map_of(s)->name;
}

bool has_name(const Storage& s) {
  const Map* m = map_of(s);
  return m && !m->name.empty();
}

Ref<Storage> map_name(const std::string& name, size_t bytes, int tracker) {
  File file(::shm_open(name.c_str(), O_RDWR, 0600));
  FC_CHECK(file.get() >= 0, "unable to open shared memory object <", name, "> in read-write mode: ", reason());
  FC_CHECK(size_of(file.get()) >= with_header(bytes), "the shared memory <", name, "> has fewer than ", bytes,
           " bytes");
  auto m = std::make_unique<Map>();
  do_map(*m, file.get(), with_header(bytes));
  m->name = name;
  m->tracker = tracker;
  return storage_on(std::move(m), bytes);
}

Ref<Storage> map_file(const std::string& path, bool shared, size_t bytes) {
  FC_CHECK(path.find('\0') == std::string::npos, "a file name cannot contain a null character");
  File file(shared ? ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)
                   : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  FC_CHECK(file.get() >= 0, "unable to open file <", path, "> in ", shared ? "read-write" : "read-only",
           " mode: ", reason());
  const size_t there = size_of(file.get());
  if (there < bytes) {
    FC_CHECK(shared, "file <", path, "> size <", there, "> is smaller than the required mapping size <", bytes, ">");
    FC_CHECK(::ftruncate(file.get(), static_cast<off_t>(bytes)) == 0, "unable to resize file <", path, "> to ", bytes,
             " bytes: ", reason());
  }
  if (bytes == 0) return allocate_storage(0, Device{});
  auto m = std::make_unique<Map>();
  do_map(*m, file.get(), bytes, shared);
  if (shared) {
    m->path = path;
    m->file = std::move(file);
  }
  return storage_on(std::move(m), bytes);
}

std::string mapped_path(const Storage& s) {
  const Map* m = map_of(s);
  return m ? m->path : std::string();
}

}  // namespace fc
