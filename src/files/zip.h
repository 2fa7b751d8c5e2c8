// SPDX-License-Identifier: Apache-2.0
// The container of torch.save and torch.jit.save: a zip archive of records under one top folder, each record's bytes
// aligned to 64. Files of more than 4 GiB use zip64. Records are stored; PyTorch deflates TorchScript's code.
//
// Reader: opening it validates everything that later reads rely on. Every record lies inside of the file, none overlaps
// another or the directory, no name comes twice or leads out of the folder, header and directory agree. What is
// allocated for that is a small multiple of the directory's size. A deflated record that says it becomes more than a
// bounded multiple of its bytes is refused (inflate.h), and what it becomes is compared with what it said.
//
// Writer: the bytes are those that PyTorch writes for the same records, because its readers compute offsets from the
// layout (record ".format_version" says so).
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "files/source.h"

namespace fc::files {

inline constexpr size_t kAlignment = 64;

struct Record {
  uint64_t offset = 0;  // of the bytes
  uint64_t bytes = 0;
  uint64_t stored = 0;  // in the file; less than `bytes` where it is deflated
  uint32_t crc = 0;
  bool deflated = false;  // the bytes do not stand in the file
};

class ZipReader {
 public:
  explicit ZipReader(Source& source);
  const Record* find(const std::string& name) const;  // without the top folder; null if there is none
  const Record& get(const std::string& name) const;
  const std::vector<std::string>& names() const { return names_; }
  void read(const Record& record, void* to) const;  // compares the checksum
  std::string read(const std::string& name) const;

 private:
  Source& source_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, Record> records_;
};

class ZipWriter {
 public:
  ZipWriter(Sink& sink, std::string folder) : sink_(sink), folder_(std::move(folder)) {}
  void add(std::string_view name, const void* data, uint64_t bytes);
  void add(std::string_view name, std::string_view text) { add(name, text.data(), text.size()); }
  void add_hole(std::string_view name, uint64_t bytes);  // zeros that need no space on the disk
  std::string id() const;                                // 40 digits that depend on names and checksums so far
  void finish();                                         // the directory

 private:
  struct Entry {
    std::string name;
    uint64_t header, bytes;
    uint32_t crc;
  };
  Entry begin(std::string_view name, uint64_t bytes);
  void end(Entry entry);
  void put(const std::string& text);

  Sink& sink_;
  std::string folder_;
  uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace fc::files
