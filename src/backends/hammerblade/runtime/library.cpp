// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/error.h"

namespace fc::hb {

namespace {

struct Segments {
  uintptr_t address;  // asked for: any address in it
  uintptr_t base = 0, end = 0, data = 0, data_end = 0, code = 0, code_end = 0;
};

// The writable part of a library, less what the loader made read-only again after relocating: .data and .bss.
int find_image(dl_phdr_info* info, size_t, void* out) {
  auto& image = *static_cast<Segments*>(out);
  uintptr_t lowest = ~uintptr_t{0}, highest = 0, data = 0, data_end = 0, relro_end = 0, code = 0, code_end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    uintptr_t from = info->dlpi_addr + segment.p_vaddr, to = from + segment.p_memsz;
    if (segment.p_type == PT_GNU_RELRO) relro_end = std::max(relro_end, to);
    if (segment.p_type != PT_LOAD) continue;
    lowest = std::min(lowest, from);
    highest = std::max(highest, to);
    if (segment.p_flags & PF_X) {
      code = code ? std::min(code, from) : from;
      code_end = std::max(code_end, to);
    }
    if (segment.p_flags & PF_W) {
      data = data ? std::min(data, from) : from;
      data_end = std::max(data_end, to);
    }
  }
  if (image.address < lowest || image.address >= highest) return 0;
  image.base = info->dlpi_addr;
  image.end = highest;
  image.code = code;
  image.code_end = code_end;
  image.data = std::max(data, relro_end);
  image.data_end = data_end;
  return 1;
}

}  // namespace

Library::Library(const std::string& path, bool check, bool made) : path_(path), check_(check), made_(made) {
  if (access(path.c_str(), R_OK))
    throw Error(HB_MC_NOTFOUND, format("kernel library %s: %s", path.c_str(), strerror(errno)));
  // A name without a slash would be searched along the library path.
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) throw Error(HB_MC_INVALID, format("kernel library %s cannot be loaded: %s", path.c_str(), dlerror()));
  auto fail = [&](const std::string& reason) {
    dlclose(handle_);
    throw Error(HB_MC_INVALID, format("kernel library %s: %s", path.c_str(), reason.c_str()));
  };
  auto* table =
      reinterpret_cast<const hb_emul_kernel_t* (*)(const hb_emul_kernel_t**)>(dlsym(handle_, "hb_emul_kernels"));
  if (!table)
    fail("it holds no kernels (kernel files include kernel_common.hpp and name theirs with HB_EMUL_REG_KERNEL)");
  if (check && !dlsym(handle_, "hb_emul_instrumented"))
    fail("it was not compiled for check mode (facula_hb_compile with \"check\", or -DHB_EMUL_CHECK -fsanitize=thread)");
  const hb_emul_kernel_t* end = nullptr;
  for (const hb_emul_kernel_t* k = table(&end); k != end; ++k) {
    kernels_.push_back(k);
    by_name_.emplace(k->name, k);
  }

  Segments image{reinterpret_cast<uintptr_t>(table)};
  if (!dl_iterate_phdr(find_image, &image)) fail("its segments cannot be found");
  base_ = image.base;
  end_ = image.end;
  code_ = image.code;
  code_end_ = image.code_end;
  auto* records = reinterpret_cast<uint8_t*>(const_cast<hb_emul_kernel_t*>(table(&end)));
  auto *from = reinterpret_cast<uint8_t*>(image.data), *to = reinterpret_cast<uint8_t*>(image.data_end);
  auto* behind = reinterpret_cast<uint8_t*>(const_cast<hb_emul_kernel_t*>(end));
  if (records >= from && behind <= to) {
    pieces_[0] = {from, static_cast<size_t>(records - from)};
    pieces_[1] = {behind, static_cast<size_t>(to - behind)};
  } else if (to > from) {
    pieces_[0] = {from, static_cast<size_t>(to - from)};
  }
  initial_.resize(pieces_[0].bytes + pieces_[1].bytes);
  fetch(initial_.data());
}

bool Library::is_variable(uintptr_t address) const {
  for (const Piece& piece : pieces_)
    if (address - reinterpret_cast<uintptr_t>(piece.start) < piece.bytes) return true;
  return false;
}

size_t Library::offset_of(uintptr_t address) const {
  size_t first = address - reinterpret_cast<uintptr_t>(pieces_[0].start);
  if (first < pieces_[0].bytes) return first;
  return pieces_[0].bytes + (address - reinterpret_cast<uintptr_t>(pieces_[1].start));
}

void Library::reset(uint8_t* copy) const {
  if (!initial_.empty()) memcpy(copy, initial_.data(), initial_.size());
}

void Library::put(const uint8_t* copy) const {
  for (const Piece& piece : pieces_) {
    if (piece.bytes) memcpy(piece.start, copy, piece.bytes);
    copy += piece.bytes;
  }
}

void Library::fetch(uint8_t* copy) const {
  for (const Piece& piece : pieces_) {
    if (piece.bytes) memcpy(copy, piece.start, piece.bytes);
    copy += piece.bytes;
  }
}

Library::~Library() {
  if (handle_) dlclose(handle_);
  if (made_) unlink(path_.c_str());
}

const hb_emul_kernel_t* Library::find(const std::string& name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

}  // namespace fc::hb
