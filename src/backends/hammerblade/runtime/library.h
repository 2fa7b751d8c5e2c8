// SPDX-License-Identifier: Apache-2.0
// A library of kernels: a shared object that HB_EMUL_REG_KERNEL filled with records. It is what the emulator runs, and
// for every engine the table of a program's kernels. Its variables are private to a tile, as on the chip: each tile has
// its own copy in its 64 KiB, put in place while the tile runs. A library without variables can be run by several
// threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/hammerblade/include/device/hb_emul_records.h"
#include "backends/hammerblade/runtime/engine.h"

namespace fc::hb {

class Library final : public Image {
 public:
  // Loads it. Throws Error: not found, not a library of kernels, one for the other mode. `made`: a file that goes with
  // it.
  Library(const std::string& path, bool check, bool made = false);
  ~Library() override;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const std::string& path() const { return path_; }
  bool check() const { return check_; }
  const std::vector<const hb_emul_kernel_t*>& kernels() const { return kernels_; }
  const hb_emul_kernel_t* find(const std::string& name) const;

  uintptr_t base() const { return base_; }
  bool holds(uintptr_t address) const { return address - base_ < end_ - base_; }
  bool holds_code(uintptr_t address) const { return address - code_ < code_end_ - code_; }

  // The variables: how many bytes, and the offset of a tile's copy in its 64 KiB.
  size_t variable_bytes() const { return initial_.size(); }
  size_t copy_offset = 0;
  bool is_variable(uintptr_t address) const;
  // Where in a tile's copy the variable at `address` lies.
  size_t offset_of(uintptr_t address) const;
  void reset(uint8_t* copy) const;                // as the library was loaded
  void put(const uint8_t* copy) const;            // what the code sees, from a copy
  void fetch(uint8_t* copy) const;                // and back
  void restore() const { put(initial_.data()); }  // what the code sees, as the library was loaded

 private:
  std::string path_;
  bool check_, made_;
  void* handle_ = nullptr;
  uintptr_t base_ = 0, end_ = 0, code_ = 0, code_end_ = 0;
  struct Piece {  // of .data and .bss; the table of kernels may lie between
    uint8_t* start = nullptr;
    size_t bytes = 0;
  };
  Piece pieces_[2];
  std::vector<uint8_t> initial_;
  std::vector<const hb_emul_kernel_t*> kernels_;
  std::unordered_map<std::string_view, const hb_emul_kernel_t*> by_name_;
};

}  // namespace fc::hb
