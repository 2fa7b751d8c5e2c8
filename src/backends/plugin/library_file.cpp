// SPDX-License-Identifier: Apache-2.0
#include "backends/plugin/library_file.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/format.h"

extern "C" const ElfW(Ehdr) __ehdr_start [[gnu::visibility("hidden")]];  // of this library itself, from the linker

namespace fc {
namespace {

class File {
 public:
  explicit File(const char* path) : fd_(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return fd_ >= 0; }
  bool stat(struct stat& s) const { return fstat(fd_, &s) == 0; }
  bool read(void* into, size_t bytes, uint64_t at) const {
    return pread(fd_, into, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  }

 private:
  int fd_;
};

constexpr bool is_64_bit = sizeof(void*) == 8;
constexpr unsigned char kClass = is_64_bit ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char kOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

}  // namespace

std::string library_file_fault(const std::string& path) {
  File file(path.c_str());
  if (!file.is_open()) return std::strerror(errno);
  struct stat about {};
  if (!file.stat(about)) return std::strerror(errno);
  if (!S_ISREG(about.st_mode)) return "it is no file";
  const auto size = static_cast<uint64_t>(about.st_size);
  auto inside = [&](uint64_t from, uint64_t bytes) { return from <= size && bytes <= size - from; };

  ElfW(Ehdr) head;
  if (!file.read(&head, sizeof head, 0) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
    return "it is no shared library (no ELF header)";
  if (head.e_ident[EI_CLASS] != kClass || head.e_ident[EI_DATA] != kOrder || head.e_type != ET_DYN)
    return "it is no shared library for this machine";
  if (head.e_machine != __ehdr_start.e_machine)
    return str("it is a library for another processor (ELF machine ", head.e_machine, ", this one is ",
               __ehdr_start.e_machine, ")");
  if (head.e_phentsize != sizeof(ElfW(Phdr)) || head.e_phnum == 0 ||
      !inside(head.e_phoff, uint64_t{head.e_phnum} * sizeof(ElfW(Phdr))))
    return "the file is damaged: its program headers are not in it";
  std::vector<ElfW(Phdr)> parts(head.e_phnum);
  if (!file.read(parts.data(), parts.size() * sizeof(ElfW(Phdr)), head.e_phoff)) return std::strerror(errno);
  uint64_t end = 0;  // of what is loaded, as addresses
  for (const auto& p : parts) {
    if (p.p_type != PT_LOAD) continue;
    uint64_t last;
    if (p.p_memsz < p.p_filesz || __builtin_add_overflow(p.p_vaddr, p.p_memsz, &last) || p.p_vaddr < end)
      return "the file is damaged: a segment has no place in memory";
    end = last;
    if (!inside(p.p_offset, p.p_filesz))
      return str("the file is damaged: it has ", size, " bytes, and a segment takes ", p.p_filesz, " from byte ",
                 p.p_offset);
  }
  for (const auto& p : parts)
    if (p.p_type == PT_DYNAMIC && !inside(p.p_offset, p.p_filesz))
      return "the file is damaged: its dynamic section is not in it";
  return {};
}

}  // namespace fc
