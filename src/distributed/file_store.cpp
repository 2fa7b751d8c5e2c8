// SPDX-License-Identifier: Apache-2.0
// A table as a file that only grows: each change is a record at its end, written under the file's lock, and every
// process replays what it has not read yet. A record is the lengths of key and value (4 bytes each, little end first;
// the value's is kRemoved where the key is gone) and their bytes. A record that a killed process left half written is
// cut off by the next who writes.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

#include "distributed/key_table.h"

namespace fc::distributed {
namespace {

constexpr uint32_t kRemoved = 0xffffffff;
constexpr char kUsers[] = "\1users";

class FileStore final : public Store {
 public:
  explicit FileStore(std::string path) : path_(std::move(path)), pid_(getpid()) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    FC_CHECK_AS(distributed::StoreError, fd_ >= 0, "FileStore: ", path_, ": ", std::strerror(errno));
    struct stat status;
    if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(fd_);
      raise<StoreError>("FileStore: ", path_, " is not a regular file");
    }
    try {
      add(kUsers, 1);
    } catch (...) {
      ::close(fd_);
      throw;
    }
  }
  ~FileStore() override {
    if (getpid() == pid_) try {
        if (add(kUsers, -1) <= 0) ::unlink(path_.c_str());
      } catch (const std::exception&) {  // the file is gone or full: nobody is left to tell
      }
    ::close(fd_);
  }

  void set(const std::string& key, const std::string& value) override {
    change([&] { record(key, value); });
  }
  std::string get(const std::string& key) override {
    wait({key}, timeout());
    std::lock_guard lock(mutex_);
    const std::string* value = table_.find(key);
    FC_CHECK_AS(distributed::StoreError, value, "store.get: '", key, "' was removed meanwhile");
    return *value;
  }
  int64_t add(const std::string& key, int64_t amount) override {
    return change([&] {
      const int64_t sum = table_.add(key, amount);
      record(key, std::to_string(sum));
      return sum;
    });
  }
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override {
    return change([&] {
      const std::string now = table_.compare_set(key, expected, desired);
      if (now == desired) record(key, desired);
      return now;
    });
  }
  bool remove(const std::string& key) override {
    return change([&] {
      const bool had = table_.remove(key);
      if (had) write_record(key, nullptr);
      return had;
    });
  }
  bool check(const Strings& keys) override {
    look();
    std::lock_guard lock(mutex_);
    return table_.has(keys);
  }
  void wait(const Strings& keys, Duration timeout) override {
    const auto end = Clock::now() + timeout;
    for (int i = 0; !check(keys); ++i) {
      FC_CHECK_AS(distributed::StoreError, Clock::now() < end, describe(), ": after ", seconds(timeout),
                  " there is still no ", key_list(missing(keys)));
      std::this_thread::sleep_for(std::chrono::milliseconds(i < 20 ? 1 : 10));
      if (i % 10 == 9) check_interrupt();
    }
  }
  int64_t count() override {
    look();
    std::lock_guard lock(mutex_);
    return table_.count() - 1;  // kUsers is ours
  }
  void append(const std::string& key, const std::string& value) override {
    change([&] {
      const std::string* old = table_.find(key);
      record(key, old ? *old + value : value);
    });
  }
  Strings keys() override {
    look();
    std::lock_guard lock(mutex_);
    Strings all = table_.keys();
    std::erase(all, kUsers);
    return all;
  }
  std::string describe() const override { return "the store in " + path_; }

 private:
  class FileLock {
   public:
    explicit FileLock(int fd, int how) : fd_(fd) {
      while (::flock(fd, how) != 0)
        FC_CHECK_AS(distributed::StoreError, errno == EINTR, "FileStore: cannot lock: ", std::strerror(errno));
    }
    ~FileLock() { ::flock(fd_, LOCK_UN); }

   private:
    int fd_;
  };

  template <class F>
  auto change(F&& f) -> decltype(f()) {
    std::lock_guard lock(mutex_);
    check_process();
    FileLock file(fd_, LOCK_EX);
    replay();
    if (::ftruncate(fd_, read_) != 0)  // what a killed process left
      raise<StoreError>(describe(), ": ", std::strerror(errno));
    return f();
  }
  void look() {
    std::lock_guard lock(mutex_);
    check_process();
    FileLock file(fd_, LOCK_SH);
    replay();
  }
  void check_process() const {
    FC_CHECK_AS(distributed::StoreError, getpid() == pid_, describe(),
                " was opened before a fork: open it in the child");
  }
  Strings missing(const Strings& keys) {
    std::lock_guard lock(mutex_);
    return table_.missing(keys);
  }

  void record(const std::string& key, const std::string& value) {
    write_record(key, &value);
    table_.set(key, value);
  }
  void write_record(const std::string& key, const std::string* value) {
    FC_CHECK_AS(ValueError, key.size() < kRemoved && (!value || value->size() < kRemoved),
                "FileStore: keys and values are shorter than 4 GiB");
    const uint32_t lengths[2] = {static_cast<uint32_t>(key.size()),
                                 value ? static_cast<uint32_t>(value->size()) : kRemoved};
    std::string bytes(reinterpret_cast<const char*>(lengths), sizeof lengths);
    bytes += key;
    if (value) bytes += *value;
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::pwrite(fd_, bytes.data() + done, bytes.size() - done, read_ + static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      FC_CHECK_AS(distributed::StoreError, n > 0, describe(), ": cannot write: ", std::strerror(errno));
      done += static_cast<size_t>(n);
    }
    read_ += static_cast<off_t>(bytes.size());
  }
  bool read_at(off_t at, void* into, size_t n) const {
    for (size_t done = 0; done < n;) {
      const ssize_t r = ::pread(fd_, static_cast<char*>(into) + done, n - done, at + static_cast<off_t>(done));
      if (r < 0 && errno == EINTR) continue;
      if (r <= 0) return false;
      done += static_cast<size_t>(r);
    }
    return true;
  }
  void replay() {
    struct stat status;
    FC_CHECK_AS(distributed::StoreError, ::fstat(fd_, &status) == 0, describe(), ": ", std::strerror(errno));
    for (;;) {
      uint32_t lengths[2];
      if (status.st_size - read_ < static_cast<off_t>(sizeof lengths) || !read_at(read_, lengths, sizeof lengths))
        return;
      const size_t value_bytes = lengths[1] == kRemoved ? 0 : lengths[1];
      if (static_cast<uint64_t>(status.st_size - read_) < sizeof lengths + lengths[0] + value_bytes) return;
      std::string key(lengths[0], 0), value(value_bytes, 0);
      const off_t at = read_ + static_cast<off_t>(sizeof lengths);
      if (!read_at(at, key.data(), key.size()) ||
          !read_at(at + static_cast<off_t>(key.size()), value.data(), value.size()))
        return;
      if (lengths[1] == kRemoved) table_.remove(key);
      else table_.set(key, value);
      read_ = at + static_cast<off_t>(key.size() + value.size());
    }
  }

  std::string path_;
  pid_t pid_;
  int fd_ = -1;
  off_t read_ = 0;  // how far this process has replayed
  std::mutex mutex_;
  KeyTable table_;
};

}  // namespace

Ref<Store> make_file_store(const std::string& path) { return make_ref<FileStore>(path); }

}  // namespace fc::distributed
