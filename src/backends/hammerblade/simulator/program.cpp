// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/program.h"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/lines.h"

namespace fc::hb::sim {

namespace {

class Reader {
 public:
  Reader(const std::string& path, const std::vector<char>& file) : path_(path), file_(file) {}
  [[noreturn]] void fail(const char* why) const {
    throw Error(HB_MC_INVALID, format("%s is no program for this machine: %s", path_.c_str(), why));
  }
  template <class T>
  T get(uint64_t at) const {
    T value;
    if (at > file_.size() || file_.size() - at < sizeof value) fail("the file ends too early");
    memcpy(&value, file_.data() + at, sizeof value);
    return value;
  }
  const char* range(uint64_t at, uint64_t size) const {
    if (at > file_.size() || file_.size() - at < size) fail("the file ends too early");
    return file_.data() + at;
  }
  std::string text(uint64_t at) const {
    if (at >= file_.size()) fail("a name lies outside of the file");
    const char* from = file_.data() + at;
    return {from, strnlen(from, file_.size() - at)};
  }

 private:
  const std::string& path_;
  const std::vector<char>& file_;
};

bool does_double(const std::string& name) {
  static constexpr std::string_view names[] = {"__adddf3",      "__subdf3",     "__muldf3",    "__divdf3",
                                               "__extendsfdf2", "__truncdfsf2", "__floatsidf", "__floatunsidf",
                                               "__fixdfsi",     "__fixunsdfsi"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

Program::Program(const std::string& path, uint32_t text, const Machine& machine) : path_(path), text_(text) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(HB_MC_NOTFOUND, format("program %s: %s", path.c_str(), strerror(errno)));
  const std::vector<char> file{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const Reader in(path, file);
  const auto header = in.get<Elf32_Ehdr>(0);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) in.fail("it is no ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS32 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_RISCV)
    in.fail("it is not for RV32");
  constexpr uint32_t compressed = 1, float_abi = 6, single = 2;  // of e_flags
  if (header.e_flags & compressed) in.fail("it has compressed instructions");
  if ((header.e_flags & float_abi) != single)
    in.fail("its floating-point numbers are not passed as ilp32f passes them");

  const auto scratchpad = static_cast<uint64_t>(machine.scratchpad_bytes);
  variables.assign(scratchpad, 0);
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = in.get<Elf32_Phdr>(uint64_t{header.e_phoff} + uint64_t{i} * sizeof(Elf32_Phdr));
    if (segment.p_type != PT_LOAD || !segment.p_memsz) continue;
    const uint64_t from = segment.p_vaddr, size = segment.p_memsz;
    if (segment.p_filesz > segment.p_memsz) in.fail("a segment is shorter than its contents");
    const char* contents = in.range(segment.p_offset, segment.p_filesz);
    if (from + size <= scratchpad) {
      memcpy(variables.data() + from, contents, segment.p_filesz);
      continue;
    }
    if (from < text || from - text + size > 0x1000000) in.fail("it was linked for other addresses");
    const uint64_t offset = from - text;
    if (bytes.size() < offset + size) bytes.resize(offset + size);
    memcpy(bytes.data() + offset, contents, segment.p_filesz);
    if (segment.p_flags & PF_X) code_end_ = std::max(code_end_, static_cast<uint32_t>(offset + size) & ~3u);
    if (segment.p_flags & PF_W) {
      written_from = static_cast<uint32_t>(from);
      written_end = static_cast<uint32_t>(from + size);
    }
  }
  if (header.e_entry != text) in.fail("it does not begin where the chip begins");

  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    const auto section = in.get<Elf32_Shdr>(uint64_t{header.e_shoff} + uint64_t{i} * sizeof(Elf32_Shdr));
    if (section.sh_flags & SHF_ALLOC) ++loaded_sections;
    if (section.sh_type != SHT_SYMTAB) continue;
    const auto names = in.get<Elf32_Shdr>(uint64_t{header.e_shoff} + uint64_t{section.sh_link} * sizeof(Elf32_Shdr));
    for (uint64_t at = 0; at + sizeof(Elf32_Sym) <= section.sh_size; at += sizeof(Elf32_Sym)) {
      const auto symbol = in.get<Elf32_Sym>(section.sh_offset + at);
      if (!symbol.st_name || symbol.st_shndx == SHN_UNDEF) continue;
      std::string name = in.text(uint64_t{names.sh_offset} + symbol.st_name);
      const int type = ELF32_ST_TYPE(symbol.st_info);
      if (type == STT_FUNC) functions_[symbol.st_value] = {symbol.st_size, name};
      if (type == STT_OBJECT && symbol.st_value < scratchpad) objects_[symbol.st_value] = {symbol.st_size, name};
      if (ELF32_ST_BIND(symbol.st_info) != STB_LOCAL || !by_name_.contains(name)) by_name_[name] = symbol.st_value;
    }
  }
  variables_end = symbol("__variables_end");
  barrier_at = symbol("g_barrier");
  const auto object = objects_.find(barrier_at);
  if (object == objects_.end() || barrier_at + object->second.size > scratchpad) in.fail("its barrier is not there");
  barrier.resize(object->second.size);

  code.resize(code_end_ / 4);
  for (size_t i = 0; i < code.size(); ++i) {
    uint32_t word;
    memcpy(&word, bytes.data() + i * 4, 4);
    code[i] = decode(word, machine.multiply_high, machine.amoadd);
    const Instruction& it = code[i];
    if (it.kind == Kind::Csr && (it.imm == 1 || it.imm == 3) && it.rd) keeps_flags = true;
  }
  for (const auto& [address, function] : functions_)
    if (does_double(function.name) && holds(address)) code[(address - text) / 4].marks |= at_double;
  if (uint32_t place; find("__kernel_returned", &place) && holds(place)) code[(place - text) / 4].marks |= at_return;
}

bool Program::find(const std::string& name, uint32_t* address) const {
  const auto at = by_name_.find(name);
  if (at == by_name_.end()) return false;
  *address = at->second;
  return true;
}

uint32_t Program::symbol(const std::string& name) const {
  uint32_t address;
  if (!find(name, &address)) throw Error(HB_MC_NOTFOUND, format("program %s has no %s", path_.c_str(), name.c_str()));
  return address;
}

std::string Program::name_at(uint32_t address, bool variable) const {
  const auto& table = variable ? objects_ : functions_;
  auto at = table.upper_bound(address);
  if (at == table.begin()) return "";
  --at;
  const uint32_t offset = address - at->first;
  if (offset >= std::max(at->second.size, 1u)) return "";
  return offset ? format("%s+0x%x", at->second.name.c_str(), offset) : at->second.name;
}

std::string Program::line_of(const std::vector<uint32_t>& pcs) const {
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < pcs.size(); ++i) addresses.push_back(i ? pcs[i] - 1 : pcs[i]);
  std::string line = locate_in(path_, addresses);
  if (!line.empty()) return line;
  for (uint32_t pc : pcs)
    if (std::string name = name_at(pc); !name.empty()) return name;
  return "an unknown place";
}

}  // namespace fc::hb::sim
