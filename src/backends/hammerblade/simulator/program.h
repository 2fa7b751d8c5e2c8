// SPDX-License-Identifier: Apache-2.0
// A program for the chip as the simulator holds it: text decoded once, the scratchpad's first contents, symbols.
//
// The variables of its tiles belong to it: they last from launch to launch, and while another program runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/hammerblade/runtime/engine.h"
#include "backends/hammerblade/runtime/machine.h"
#include "backends/hammerblade/simulator/isa.h"

namespace fc::hb::sim {

class Program final : public Image {
 public:
  // Reads an ELF file that was linked for text at `text`. Throws Error: it is none, it is for another machine, it is
  // damaged.
  Program(const std::string& path, uint32_t text, const Machine&);

  const std::string& path() const { return path_; }
  uint32_t text() const { return text_; }
  uint32_t text_end() const { return text_ + static_cast<uint32_t>(bytes.size()); }
  bool holds(uint32_t pc) const { return pc - text_ < code_end_; }
  const Instruction* at(uint32_t pc) const {
    const uint32_t offset = pc - text_;
    return offset < code_end_ && !(offset & 3) ? &code[offset >> 2] : nullptr;
  }
  // The address of a symbol. Throws Error where there is none.
  uint32_t symbol(const std::string& name) const;
  bool find(const std::string& name, uint32_t* address) const;
  // "name+0x10" of an address of text or of a variable; empty: unknown.
  std::string name_at(uint32_t address, bool variable = false) const;
  // Its line in a kernel file, or of whoever called it: pcs innermost first, return addresses but for the first.
  std::string line_of(const std::vector<uint32_t>& pcs) const;

  std::vector<Instruction> code;
  std::vector<uint8_t> bytes;                  // of text and constants; what is written of them is kept here
  uint32_t written_from = 0, written_end = 0;  // addresses of variables in DRAM
  std::vector<uint8_t> variables;              // a scratchpad as the loader fills it
  uint32_t variables_end = 0;                  // above is the stack
  std::vector<uint8_t> scratchpads;            // of all tiles, one behind the other; empty: not started yet
  std::vector<uint8_t> barrier;                // the barrier's object, before the first launch
  uint32_t barrier_at = 0;
  uint32_t number = 0;           // among those of this process
  uint32_t loaded_sections = 0;  // of the file: what debuggers count
  bool keeps_flags = false;      // it reads the floating-point flags

 private:
  struct Symbol {
    uint32_t size;
    std::string name;
  };
  std::string path_;
  uint32_t text_ = 0, code_end_ = 0;
  std::unordered_map<std::string, uint32_t> by_name_;
  std::map<uint32_t, Symbol> functions_, objects_;
};

}  // namespace fc::hb::sim
