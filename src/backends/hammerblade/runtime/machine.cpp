// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/machine.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/error.h"
#include "backends/hammerblade/runtime/places.h"

namespace fc::hb {

std::string format(const char* form, ...) {
  char text[1024];
  va_list args;
  va_start(args, form);
  int n = vsnprintf(text, sizeof text, form, args);
  va_end(args);
  if (n < static_cast<int>(sizeof text)) return text;
  std::string all(static_cast<size_t>(n) + 1, '\0');
  va_start(args, form);
  vsnprintf(all.data(), all.size(), form, args);
  va_end(args);
  all.pop_back();
  return all;
}

namespace {

struct Key {
  const char *section, *name;
  int64_t Machine::*number = nullptr;
  int64_t least = 0, most = 0;
  bool Machine::*truth = nullptr;
  std::string Machine::*text = nullptr;
  const char* words = nullptr;  // allowed texts, separated by blanks; null: any
};

constexpr int64_t many = 1 << 20;

Key number(const char* section, const char* name, int64_t Machine::*member, int64_t least, int64_t most) {
  return {section, name, member, least, most};
}
Key truth(const char* section, const char* name, bool Machine::*member) {
  Key key{section, name};
  key.truth = member;
  return key;
}
Key text(const char* section, const char* name, std::string Machine::*member, const char* words = nullptr) {
  Key key{section, name};
  key.text = member;
  key.words = words;
  return key;
}

using M = Machine;
// clang-format off
const Key* table(size_t* count) {
  static const Key keys[] = {
      text("", "name", &M::name),
      number("tiles", "x", &M::tiles_x, 1, 64),  // six bits of x and five of y name a tile of a group
      number("tiles", "y", &M::tiles_y, 1, 32),
      number("core", "clock_mhz", &M::clock_mhz, 1, 100000),
      text("core", "isa", &M::isa, "rv32imaf rv32imafc"),
      truth("core", "multiply_high", &M::multiply_high),
      truth("core", "double", &M::has_double),
      truth("core", "amoadd", &M::amoadd),
      number("core", "outstanding_requests", &M::outstanding_requests, 1, 1024),
      number("scratchpad", "bytes", &M::scratchpad_bytes, 256, 32768),
      number("icache", "bytes", &M::icache_bytes, 64, many),
      number("icache", "block_bytes", &M::icache_block_bytes, 4, 1024),
      number("icache", "restart", &M::icache_restart, 1, many),
      number("address", "dram", &M::dram_address, 0x10000, 0xffffffff),
      number("address", "tile", &M::tile_address, 0x10000, 0xffffffff),
      number("address", "group", &M::group_address, 0x1000, 0xffffffff),
      number("vcache", "banks", &M::vcache_banks, 1, 4096),
      number("vcache", "sets", &M::vcache_sets, 1, many),
      number("vcache", "ways", &M::vcache_ways, 1, 64),
      number("vcache", "line_bytes", &M::vcache_line_bytes, 4, 4096),
      number("vcache", "stages", &M::vcache_stages, 1, 64),
      number("dram", "bytes", &M::dram_bytes, 1 << 16, 0x80000000),
      number("dram", "channels", &M::dram_channels, 1, 64),
      number("dram", "banks", &M::dram_banks, 1, 1024),
      number("dram", "row_bytes", &M::dram_row_bytes, 64, many),
      number("dram", "bytes_per_cycle", &M::dram_bytes_per_cycle, 1, 4096),
      number("dram", "activate", &M::dram_activate, 0, many),
      number("dram", "precharge", &M::dram_precharge, 0, many),
      number("dram", "column", &M::dram_column, 0, many),
      number("dram", "refresh_interval", &M::dram_refresh_interval, 0, many),
      number("dram", "refresh", &M::dram_refresh, 0, many),
      number("network", "ruche", &M::ruche, 0, 64),
      number("network", "input_fifo", &M::input_fifo, 1, 1024),
      number("network", "core_fifo", &M::core_fifo, 1, 1024),
      number("network", "hop_cycles", &M::hop_cycles, 1, 1024),
      text("barrier", "kind", &M::barrier_kind, "software hardware amoadd"),
      number("latency", "alu", &M::alu, 1, many),
      number("latency", "branch_miss", &M::branch_miss, 0, many),
      number("latency", "jump_miss", &M::jump_miss, 0, many),
      number("latency", "local_load", &M::local_load, 1, many),
      number("latency", "local_load_float", &M::local_load_float, 1, many),
      number("latency", "multiply", &M::multiply, 1, many),
      number("latency", "divide", &M::divide, 1, many),
      number("latency", "float_add", &M::float_add, 1, many),
      number("latency", "float_multiply", &M::float_multiply, 1, many),
      number("latency", "float_divide", &M::float_divide, 1, many),
      number("host", "word_cycles", &M::word_cycles, 1, many),
      number("host", "credits", &M::credits, 1, many),
      number("pods", "x", &M::pods_x, 1, 64),
      number("pods", "y", &M::pods_y, 1, 64),
  };
  *count = sizeof keys / sizeof *keys;
  return keys;
}
// clang-format on

std::string trimmed(const std::string& s) {
  size_t from = s.find_first_not_of(" \t\r"), to = s.find_last_not_of(" \t\r");
  return from == std::string::npos ? "" : s.substr(from, to - from + 1);
}

class Parser {
 public:
  explicit Parser(const std::string& path) : path_(path) {}

  Machine parse(const std::string& all) {
    if (all.find('\0') != std::string::npos) fail("the file is not text");
    std::istringstream lines(all);
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      read(trimmed(without_comment(line)));
    }
    line_ = 0;
    check();
    return machine_;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(HB_MC_INVALID, line_ ? format("%s:%d: %s", path_.c_str(), line_, reason.c_str())
                                     : format("%s: %s", path_.c_str(), reason.c_str()));
  }

  static std::string without_comment(const std::string& line) {
    bool quoted = false;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"') quoted = !quoted;
      if (line[i] == '#' && !quoted) return line.substr(0, i);
    }
    return line;
  }

  void read(const std::string& line) {
    if (line.empty()) return;
    if (line.front() == '[') {
      if (line.back() != ']') fail("a section is written [name]");
      section_ = trimmed(line.substr(1, line.size() - 2));
      std::string known;
      if (!knows_section(section_, &known)) fail("there is no section [" + section_ + "]; sections are " + known);
      return;
    }
    size_t equal = line.find('=');
    if (equal == std::string::npos) fail("expected key = value, found '" + line + "'");
    std::string name = trimmed(line.substr(0, equal)), value = trimmed(line.substr(equal + 1));
    std::string full = section_.empty() ? name : section_ + "." + name;
    const Key* key = find(section_, name);
    if (!key) {
      for (const char* gone :
           {"barrier.cycles", "latency.dram_hit", "latency.dram_miss", "latency.icache_miss", "host.launch_cycles"})
        if (full == gone)
          fail("the key " + full +
               " belongs to the old form of machine files: it is what the simulator finds out, from the network, the "
               "caches, the DRAM and the host's link; take it out");
      fail("there is no key " + full + where_else(name));
    }
    if (!seen_.insert(full).second) fail("the key " + full + " is given twice");
    if (key->number) {
      set_number(*key, full, value);
    } else if (key->truth) {
      if (value != "true" && value != "false") fail(full + " is true or false, not " + value);
      machine_.*key->truth = value == "true";
    } else {
      set_text(*key, full, value);
    }
  }

  void set_number(const Key& key, const std::string& full, const std::string& value) {
    char* end = nullptr;
    errno = 0;
    long long n = value.empty() ? 0 : strtoll(value.c_str(), &end, 0);
    if (value.empty() || *end || errno) fail(full + " is an integer, not '" + value + "'");
    if (n < key.least || n > key.most)
      fail(format("%s is %lld, but must be between %lld and %lld", full.c_str(), n, static_cast<long long>(key.least),
                  static_cast<long long>(key.most)));
    machine_.*key.number = n;
  }

  void set_text(const Key& key, const std::string& full, const std::string& value) {
    if (value.size() < 2 || value.front() != '"' || value.back() != '"' || value.find('"', 1) != value.size() - 1)
      fail(full + " is a text in double quotes, not " + value);
    std::string word = value.substr(1, value.size() - 2);
    if (key.words && (" " + std::string(key.words) + " ").find(" " + word + " ") == std::string::npos)
      fail(full + " is one of " + key.words + ", not " + word);
    machine_.*key.text = word;
  }

  static bool power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

  void check() {
    const Machine& m = machine_;
    if (m.pods_x * m.pods_y != 1)
      fail(format("%lld x %lld pods: one pod is modelled, of up to 64 x 32 tiles", static_cast<long long>(m.pods_x),
                  static_cast<long long>(m.pods_y)));
    if (!power_of_two(m.vcache_banks))
      fail("vcache.banks must be a power of two: addresses are spread over them by bits");
    if (!power_of_two(m.vcache_line_bytes)) fail("vcache.line_bytes must be a power of two");
    if (!power_of_two(m.vcache_sets)) fail("vcache.sets must be a power of two");
    if (m.dram_refresh_interval && m.dram_refresh >= m.dram_refresh_interval)
      fail("dram.refresh must be shorter than dram.refresh_interval");
    if (m.dram_address % 4096 || m.tile_address % 4096) fail("address.dram and address.tile must be multiples of 4096");
    if (m.dram_address + m.dram_bytes > (int64_t{1} << 32))
      fail(format("dram.bytes does not fit: DRAM at 0x%llx has room for 0x%llx bytes of 32-bit addresses",
                  static_cast<unsigned long long>(m.dram_address),
                  static_cast<unsigned long long>((int64_t{1} << 32) - m.dram_address)));
  }

  static bool knows_section(const std::string& section, std::string* known) {
    size_t count;
    const Key* keys = table(&count);
    bool found = false;
    std::string last;
    for (size_t i = 0; i < count; ++i) {
      if (!*keys[i].section || last == keys[i].section) continue;
      last = keys[i].section;
      found |= section == last;
      *known += (known->empty() ? "[" : ", [") + last + "]";
    }
    return found;
  }

  static const Key* find(const std::string& section, const std::string& name) {
    size_t count;
    const Key* keys = table(&count);
    for (size_t i = 0; i < count; ++i)
      if (section == keys[i].section && name == keys[i].name) return &keys[i];
    return nullptr;
  }

  std::string where_else(const std::string& name) const {
    size_t count;
    const Key* keys = table(&count);
    std::string here;
    for (size_t i = 0; i < count; ++i) {
      if (name == keys[i].name) return format("; it belongs to [%s]", keys[i].section);
      if (section_ == keys[i].section) here += (here.empty() ? "" : ", ") + std::string(keys[i].name);
    }
    return "; keys here are " + here;
  }

  std::string path_, section_;
  int line_ = 0;
  std::set<std::string> seen_;
  Machine machine_;
};

}  // namespace

Machine parse_machine(const std::string& text, const std::string& path) {
  Machine machine = Parser(path).parse(text);
  machine.path = path;
  return machine;
}

Machine read_machine(const std::string& name_or_path) {
  std::string path = name_or_path;
  if (path.find('/') == std::string::npos && !path.ends_with(".machine")) {
    path = places().machines + "/" + name_or_path + ".machine";
    if (!std::ifstream(path))
      throw Error(HB_MC_NOTFOUND,
                  format("there is no machine '%s' in %s; name one of them, or the path of a .machine file",
                         name_or_path.c_str(), places().machines.c_str()));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(HB_MC_NOTFOUND, format("machine file %s: %s", path.c_str(), strerror(errno)));
  constexpr size_t most = 1 << 20;
  std::string text(most, '\0');
  file.read(text.data(), most);
  if (static_cast<size_t>(file.gcount()) == most)
    throw Error(HB_MC_INVALID, path + " is no machine file: it is larger than 1 MiB");
  text.resize(static_cast<size_t>(file.gcount()));
  return parse_machine(text, path);
}

std::string print_machine(const Machine& machine) {
  size_t count;
  const Key* keys = table(&count);
  std::string out, section;
  for (size_t i = 0; i < count; ++i) {
    if (section != keys[i].section) out += "\n[" + (section = keys[i].section) + "]\n";
    out += keys[i].name + std::string(" = ");
    if (keys[i].number) {
      bool address = section == "address" || (section == "dram" && machine.*keys[i].number > 0xffff);
      out += format(address ? "0x%llx" : "%lld", static_cast<unsigned long long>(machine.*keys[i].number));
    } else if (keys[i].truth) {
      out += machine.*keys[i].truth ? "true" : "false";
    } else {
      out += "\"" + machine.*keys[i].text + "\"";
    }
    out += "\n";
  }
  return out;
}

}  // namespace fc::hb
