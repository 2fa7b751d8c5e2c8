// SPDX-License-Identifier: Apache-2.0
// The machine description: one text file from which emulator, allocator and compile command take the device's facts.
//
//   # comment
//   name = "text"          strings in double quotes
//   [section]
//   key = 128              integers (0x… too), true or false
//
// What a file leaves out has the default machine's value. A key or section that does not exist, a value of another type
// or out of its range, and a key given twice are errors that name file, line and reason.
#pragma once

#include <cstdint>
#include <string>

#include "backends/hammerblade/runtime/error.h"

namespace fc::hb {

struct Machine {
  std::string name = "pod_X1Y1_ruche_X16Y8";
  std::string path;  // of the file; empty: the values below
  int64_t tiles_x = 16, tiles_y = 8;
  int64_t pods_x = 1, pods_y = 1;
  int64_t clock_mhz = 1000;
  std::string isa = "rv32imaf";
  bool multiply_high = false, has_double = false, amoadd = true;
  int64_t outstanding_requests = 32;
  int64_t scratchpad_bytes = 4096;
  int64_t icache_bytes = 4096, icache_block_bytes = 16, icache_restart = 4;
  int64_t dram_address = 0x80000000, tile_address = 0x40000000, group_address = 0x20000000;
  int64_t vcache_banks = 32, vcache_sets = 64, vcache_ways = 8, vcache_line_bytes = 128, vcache_stages = 2;
  int64_t dram_bytes = 0x80000000, dram_channels = 2, dram_banks = 16;
  int64_t dram_row_bytes = 2048, dram_bytes_per_cycle = 32;
  int64_t dram_activate = 14, dram_precharge = 14, dram_column = 14, dram_refresh_interval = 3900, dram_refresh = 260;
  int64_t ruche = 3, input_fifo = 2, core_fifo = 3, hop_cycles = 1;
  std::string barrier_kind = "software";
  int64_t alu = 1, branch_miss = 2, jump_miss = 2, local_load = 2, local_load_float = 3, multiply = 2, divide = 40,
          float_add = 4, float_multiply = 4, float_divide = 26;
  int64_t word_cycles = 24, credits = 32;
};

// From a file's text; `path` is for messages. Throws Error.
FC_HB_API Machine parse_machine(const std::string& text, const std::string& path);

// A path (it has a slash or ends in .machine), or the name of one of the machines beside the library.
FC_HB_API Machine read_machine(const std::string& name_or_path);

// The file's form again, all keys with their values.
FC_HB_API std::string print_machine(const Machine&);

}  // namespace fc::hb
