// SPDX-License-Identifier: Apache-2.0
// Checksums against their definition, archives of more than 4 GiB, files that appear whole or not at all.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/error.h"
#include "core/ref.h"
#include "files/atomic_file.h"
#include "files/crc32.h"
#include "files/mapped_file.h"
#include "files/zip.h"

namespace fc::files {
namespace {

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / str("facula-files-", getpid())) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const char* name) const { return path_ / name; }
  size_t count() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {})); }

 private:
  std::filesystem::path path_;
};

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

uint32_t bit_by_bit(std::string_view s) {
  uint32_t crc = ~0u;
  for (char c : s) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = crc & 1 ? 0xEDB88320u ^ (crc >> 1) : crc >> 1;
  }
  return ~crc;
}

TEST(Files, ChecksumsAreTheDefinition) {
  EXPECT_EQ(crc32(0, "123456789", 9), 0xCBF43926u);
  std::string s(3000, '\0');
  for (size_t i = 0; i < s.size(); ++i) s[i] = static_cast<char>(i * 37 + i / 91);
  for (size_t n = 0; n < s.size(); n += n < 600 ? 1 : 61) {
    const std::string_view part(s.data() + n % 7, n - n % 7);
    EXPECT_EQ(crc32(0, part.data(), part.size()), bit_by_bit(part)) << n;
    const size_t half = part.size() / 3;
    EXPECT_EQ(crc32(crc32(0, part.data(), half), part.data() + half, part.size() - half), bit_by_bit(part)) << n;
    const uint32_t first = crc32(0, part.data(), half), rest = crc32(0, part.data() + half, part.size() - half);
    EXPECT_EQ(Crc32Shift(part.size() - half)(first) ^ rest, bit_by_bit(part)) << n;
  }
}

TEST(Files, ArchivesOfMoreThanFourGigabytes) {
  Folder folder;
  const std::string path = folder / "big.pt";
  const uint64_t wide = (uint64_t{5} << 30) + 3;
  {
    AtomicFile file(path);
    ZipWriter zip(file, "big");
    zip.add("first", "one");
    zip.add_hole("wide", wide);
    zip.add_hole("empty", 0);
    zip.add("last", "two");
    zip.finish();
    file.commit();
  }
  const int fd = open(path.c_str(), O_RDONLY);
  FileSource source(fd);
  const ZipReader zip(source);
  EXPECT_EQ(zip.names(), (std::vector<std::string>{"first", "wide", "empty", "last"}));
  EXPECT_EQ(zip.read("first"), "one");
  EXPECT_EQ(zip.read("last"), "two");
  EXPECT_EQ(zip.get("wide").bytes, wide);
  EXPECT_GT(zip.get("last").offset, wide);
  for (const std::string& name : zip.names()) EXPECT_EQ(zip.get(name).offset % kAlignment, 0u) << name;
  const auto map = make_ref<MappedFile>(fd, false);
  EXPECT_EQ(std::string_view(static_cast<char*>(storage_of(map, zip.get("last").offset, 3)->data()), 3), "two");
  EXPECT_THROW(storage_of(map, map->size(), 1), Error);
  EXPECT_THROW(storage_of(map, ~uint64_t{0}, 2), Error);
  close(fd);
}

TEST(Files, ManyRecords) {
  MemorySink sink;
  ZipWriter writer(sink, "many");
  for (int i = 0; i < 70000; ++i) writer.add(str("data/", i), str(i));  // more than 16 bits count
  writer.finish();
  MemorySource source(sink.text);
  const ZipReader zip(source);
  EXPECT_EQ(zip.names().size(), 70000u);
  EXPECT_EQ(zip.read("data/69999"), "69999");
}

TEST(Files, AppearWholeOrNotAtAll) {
  Folder folder;
  const std::string path = folder / "x";
  {
    AtomicFile file(path);
    file.write("old", 3);
    file.commit();
  }
  {
    AtomicFile file(path);
    file.write("new", 3);
    EXPECT_EQ(contents(path), "old");
  }
  EXPECT_EQ(contents(path), "old");
  {
    AtomicFile file(path);
    file.write("new", 3);
    file.commit();
  }
  EXPECT_EQ(contents(path), "new");
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_THROW(AtomicFile(folder / "no/such/folder"), SystemError);
  EXPECT_THROW(AtomicFile file(folder / "."), SystemError);
}

}  // namespace
}  // namespace fc::files
