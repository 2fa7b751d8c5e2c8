// SPDX-License-Identifier: Apache-2.0
#include "files/zip.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/error.h"
#include "core/threads.h"
#include "files/crc32.h"
#include "files/inflate.h"

namespace fc::files {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50, kDescriptor = 0x08074b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr uint32_t k32 = 0xFFFFFFFF;  // "see the 64-bit field"

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  // Programs look for these words.
  raise<Error>("PytorchStreamReader failed reading zip archive: ", parts...);
}
#define FC_ZIP(cond, ...)     \
  do {                        \
    if (!(cond)) [[unlikely]] \
      refuse(__VA_ARGS__);    \
  } while (false)

uint64_t number(std::string_view text, size_t at, size_t bytes) {
  uint64_t v = 0;
  for (size_t i = 0; i < bytes; ++i) v |= uint64_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
  return v;
}
void append_number(std::string& out, uint64_t v, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(v >> (8 * i));
}

struct Directory {
  uint64_t offset, bytes, count;
};

Directory find_directory(Source& source) {
  const uint64_t size = source.size();
  FC_ZIP(size >= kEndBytes, "failed finding central directory");
  const size_t tail_bytes = std::min<uint64_t>(size, kEndBytes + 0xFFFF);
  const std::string tail = source.read(size - tail_bytes, tail_bytes);
  size_t at = tail_bytes - kEndBytes + 1;
  do {  // the record is the last thing but for a comment of the length it states
    FC_ZIP(at > 0, "failed finding central directory");
    --at;
  } while (number(tail, at, 4) != kEnd || number(tail, at + 20, 2) != tail_bytes - at - kEndBytes);
  FC_ZIP(number(tail, at + 4, 4) == 0 && number(tail, at + 8, 2) == number(tail, at + 10, 2), "it has several parts");
  Directory d{number(tail, at + 16, 4), number(tail, at + 12, 4), number(tail, at + 10, 2)};
  uint64_t end = size - tail_bytes + at;
  if (end >= kLocatorBytes) {
    const std::string locator = source.read(end - kLocatorBytes, kLocatorBytes);
    if (number(locator, 0, 4) == kLocator64) {
      const uint64_t at64 = number(locator, 8, 8);
      FC_ZIP(end - kLocatorBytes >= kEnd64Bytes && at64 <= end - kLocatorBytes - kEnd64Bytes,
             "the zip64 directory record lies outside of the file");
      const std::string record = source.read(at64, kEnd64Bytes);
      FC_ZIP(number(record, 0, 4) == kEnd64, "there is no zip64 directory record where one should be");
      FC_ZIP(number(record, 16, 8) == 0 && number(record, 24, 8) == number(record, 32, 8), "it has several parts");
      const Directory wide{number(record, 48, 8), number(record, 40, 8), number(record, 32, 8)};
      auto agree = [](uint64_t narrow, uint64_t wide_value, uint64_t none) {
        return narrow == none || narrow == wide_value;
      };
      FC_ZIP(agree(d.offset, wide.offset, k32) && agree(d.bytes, wide.bytes, k32) && agree(d.count, wide.count, 0xFFFF),
             "its two directory records differ");
      d = wide;
      end = at64;
    }
  }
  FC_ZIP(d.offset <= end && d.bytes == end - d.offset, "the directory does not lie at the end of the file");
  FC_ZIP(d.count <= d.bytes / kCentralBytes, "the directory is too small for ", d.count, " records");
  return d;
}

bool good_name(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != name.npos) return false;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    if (name.substr(begin, end - begin) == "..") return false;
    begin = end + 1;
  }
  return true;
}

struct Header {
  uint64_t offset;  // of the local header
  Record record;
  std::string name;
};

// The header of one record in the directory, which begins at `at`; moves `at` behind it.
Header parse_central(std::string_view text, size_t& at) {
  FC_ZIP(text.size() - at >= kCentralBytes && number(text, at, 4) == kCentral, "the directory is damaged");
  const size_t name_bytes = number(text, at + 28, 2), extra_bytes = number(text, at + 30, 2);
  const size_t begin = at + kCentralBytes, total = name_bytes + extra_bytes + number(text, at + 32, 2);
  FC_ZIP(text.size() - begin >= total, "the directory is damaged");
  Header h{number(text, at + 42, 4), {}, std::string(text.substr(begin, name_bytes))};
  FC_ZIP(good_name(h.name), "the name of a record is empty or leads out of the archive: '", h.name, "'");
  FC_ZIP(!(number(text, at + 8, 2) & 1), "record '", h.name, "' is encrypted");
  const uint64_t method = number(text, at + 10, 2);
  FC_ZIP(method == 0 || method == 8, "record '", h.name, "' is compressed in a way (", method,
         ") that is not read: only stored and deflated ones are");
  h.record.deflated = method == 8;
  uint64_t& stored = h.record.stored = number(text, at + 20, 4);
  h.record.bytes = number(text, at + 24, 4);
  h.record.crc = static_cast<uint32_t>(number(text, at + 16, 4));
  std::string_view extra = text.substr(begin + name_bytes, extra_bytes);
  while (extra.size() >= 4) {
    const size_t bytes = number(extra, 2, 2);
    FC_ZIP(bytes <= extra.size() - 4, "the directory is damaged at '", h.name, "'");
    if (number(extra, 0, 2) == 1) {  // zip64: those of these fields that are full above, in this order
      size_t next = 4;
      for (uint64_t* field : {&h.record.bytes, &stored, &h.offset}) {
        if (*field != k32) continue;
        FC_ZIP(next + 8 <= 4 + bytes, "the directory is damaged at '", h.name, "'");
        *field = number(extra, next, 8);
        next += 8;
      }
    }
    extra.remove_prefix(4 + bytes);
  }
  if (h.record.deflated)
    FC_ZIP(!inflates_too_much(stored, h.record.bytes), "record '", h.name, "' says that its ", stored, " bytes become ",
           h.record.bytes, ": more than ", kInflateRatio, " times as many are not believed");
  else FC_ZIP(stored == h.record.bytes, "the sizes of record '", h.name, "' differ");
  at = begin + total;
  return h;
}

}  // namespace

ZipReader::ZipReader(Source& source) : source_(source) {
  const Directory directory = find_directory(source);
  const std::string text = source.read(directory.offset, directory.bytes);
  std::vector<Header> headers;
  size_t at = 0;
  for (uint64_t i = 0; i < directory.count; ++i) headers.push_back(parse_central(text, at));
  FC_ZIP(!headers.empty(), "it is empty");
  const std::string folder = headers[0].name.substr(0, headers[0].name.find('/') + 1);

  std::vector<Header*> by_offset;
  for (Header& h : headers) by_offset.push_back(&h);
  std::sort(by_offset.begin(), by_offset.end(), [](auto a, auto b) { return a->offset < b->offset; });
  uint64_t free = 0;  // what lies before belongs to records already seen
  for (Header* h : by_offset) {
    const size_t head_bytes = kLocalBytes + h->name.size();
    FC_ZIP(h->offset >= free && h->offset <= directory.offset && directory.offset - h->offset >= head_bytes, "record '",
           h->name, "' overlaps another or lies outside of the file");
    const std::string head = source.read(h->offset, head_bytes);
    FC_ZIP(number(head, 0, 4) == kLocal && number(head, 8, 2) == (h->record.deflated ? 8 : 0) &&
               number(head, 26, 2) == h->name.size() && std::string_view(head).substr(kLocalBytes) == h->name,
           "the header of record '", h->name, "' is not what the directory says");
    h->record.offset = h->offset + head_bytes + number(head, 28, 2);
    FC_ZIP(h->record.offset <= directory.offset && h->record.stored <= directory.offset - h->record.offset, "record '",
           h->name, "' lies outside of the file");
    free = h->record.offset + h->record.stored;
  }
  for (Header& h : headers) {
    if (!h.name.starts_with(folder) || h.name.ends_with('/')) continue;
    std::string name = h.name.substr(folder.size());
    FC_ZIP(records_.emplace(name, h.record).second, "record '", h.name, "' is there twice");
    names_.push_back(std::move(name));
  }
}

const Record* ZipReader::find(const std::string& name) const {
  auto it = records_.find(name);
  return it == records_.end() ? nullptr : &it->second;
}

const Record& ZipReader::get(const std::string& name) const {
  const Record* r = find(name);
  FC_CHECK(r, "PytorchStreamReader failed locating file ", name, ": file not found");
  return *r;
}

void ZipReader::read(const Record& record, void* to) const {
  auto p = static_cast<char*>(to);
  // Zero is also what writers leave there that were told to compute none.
  const auto check = [&](uint32_t crc) {
    FC_ZIP(record.crc == 0 || crc == record.crc, "the checksum of a record differs: the file is damaged");
  };
  if (record.deflated) {
    inflate(source_.read(record.offset, record.stored), p, record.bytes);
    return check(crc32(0, p, record.bytes));
  }
  const uint64_t chunks = (record.bytes + kReadChunk - 1) / kReadChunk;
  std::vector<uint32_t> sums(chunks);
  parallel_for(0, static_cast<int64_t>(chunks), source_.serves_threads() ? 4 : INT64_MAX,
               [&](int64_t from, int64_t end) {
                 for (auto i = static_cast<uint64_t>(from); i < static_cast<uint64_t>(end); ++i) {
                   const uint64_t at = i * kReadChunk;
                   const size_t n = std::min<uint64_t>(kReadChunk, record.bytes - at);
                   source_.read(record.offset + at, p + at, n);
                   sums[i] = crc32(0, p + at, n);
                 }
               });
  uint32_t crc = 0;
  const Crc32Shift whole(kReadChunk), last(chunks ? record.bytes - (chunks - 1) * kReadChunk : 0);
  for (uint64_t i = 0; i < chunks; ++i) crc = (i + 1 < chunks ? whole : last)(crc) ^ sums[i];
  check(crc);
}

std::string ZipReader::read(const std::string& name) const {
  const Record& r = get(name);
  std::string text(r.bytes, '\0');
  read(r, text.data());
  return text;
}

// ---- writing

namespace {
std::string wide_fields(uint64_t bytes, uint64_t header) {  // the zip64 part of a record's extra field, if it needs one
  std::string out;
  if (bytes < k32 && header < k32) return out;
  append_number(out, 1, 2);
  append_number(out, (bytes >= k32 ? 16 : 0) + (header >= k32 ? 8 : 0), 2);
  if (bytes >= k32) {
    append_number(out, bytes, 8);
    append_number(out, bytes, 8);
  }
  if (header >= k32) append_number(out, header, 8);
  return out;
}
}  // namespace

void ZipWriter::put(const std::string& text) {
  sink_.write(text.data(), text.size());
  position_ += text.size();
}

ZipWriter::Entry ZipWriter::begin(std::string_view name, uint64_t bytes) {
  Entry e{folder_ + "/" + std::string(name), position_, bytes, 0};
  FC_CHECK_AS(ValueError, e.name.size() <= 0xFFFF - 2 * kAlignment, "the name of a record is too long");
  std::string extra = wide_fields(bytes, e.header);
  const uint64_t start = position_ + kLocalBytes + e.name.size() + extra.size() + 4;
  const size_t padding = (kAlignment - start % kAlignment) % kAlignment;
  extra += "FB";
  append_number(extra, padding, 2);
  extra.append(padding, 'Z');
  std::string head;
  append_number(head, kLocal, 4);
  append_number(head, 0, 2);
  append_number(head, bytes ? 0x0808 : 0x0800, 2);  // names are UTF-8; sizes follow the bytes
  head.append(18, '\0');
  append_number(head, e.name.size(), 2);
  append_number(head, extra.size(), 2);
  put(head + e.name + extra);
  return e;
}

void ZipWriter::end(Entry e) {
  position_ += e.bytes;
  if (e.bytes > 0) {
    const size_t width = e.bytes >= k32 || e.header >= k32 ? 8 : 4;
    std::string descriptor;
    append_number(descriptor, kDescriptor, 4);
    append_number(descriptor, e.crc, 4);
    append_number(descriptor, e.bytes, width);
    append_number(descriptor, e.bytes, width);
    put(descriptor);
  }
  entries_.push_back(std::move(e));
}

void ZipWriter::add(std::string_view name, const void* data, uint64_t bytes) {
  Entry e = begin(name, bytes);
  for (uint64_t done = 0; done < bytes;) {
    const size_t n = std::min<uint64_t>(kReadChunk, bytes - done);
    auto p = static_cast<const char*>(data) + done;
    e.crc = crc32(e.crc, p, n);
    sink_.write(p, n);
    done += n;
  }
  end(std::move(e));
}

void ZipWriter::add_hole(std::string_view name, uint64_t bytes) {
  Entry e = begin(name, bytes);  // without a checksum: the bytes are to be filled in later
  sink_.skip(bytes);
  end(std::move(e));
}

std::string ZipWriter::id() const {
  uint64_t parts[2] = {};
  for (const Entry& e : entries_) {  // FNV-1a; names and contents apart, as PyTorch has it
    for (char c : e.name) parts[0] = (parts[0] ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    parts[1] = (parts[1] ^ e.crc ^ e.bytes << 32) * 0x100000001b3;
  }
  std::string out;
  for (uint64_t part : parts) {
    const std::string digits = str(part);
    out += std::string(20 - digits.size(), '0') + digits;
  }
  return out;
}

void ZipWriter::finish() {
  const uint64_t directory = position_;
  std::string out;
  for (const Entry& e : entries_) {
    const std::string extra = wide_fields(e.bytes, e.header);
    append_number(out, kCentral, 4);
    append_number(out, 0, 4);
    append_number(out, e.bytes ? 0x0808 : 0x0800, 2);
    out.append(6, '\0');
    append_number(out, e.crc, 4);
    append_number(out, std::min<uint64_t>(e.bytes, k32), 4);
    append_number(out, std::min<uint64_t>(e.bytes, k32), 4);
    append_number(out, e.name.size(), 2);
    append_number(out, extra.size(), 2);
    out.append(10, '\0');
    append_number(out, std::min<uint64_t>(e.header, k32), 4);
    out += e.name + extra;
  }
  const uint64_t bytes = out.size(), at64 = directory + bytes, count = entries_.size();
  append_number(out, kEnd64, 4);
  append_number(out, kEnd64Bytes - 12, 8);
  append_number(out, 0x031E, 2);
  append_number(out, 45, 2);
  out.append(8, '\0');
  append_number(out, count, 8);
  append_number(out, count, 8);
  append_number(out, bytes, 8);
  append_number(out, directory, 8);
  append_number(out, kLocator64, 4);
  append_number(out, 0, 4);
  append_number(out, at64, 8);
  append_number(out, 1, 4);
  append_number(out, kEnd, 4);
  append_number(out, 0, 4);
  append_number(out, std::min<uint64_t>(count, 0xFFFF), 2);
  append_number(out, std::min<uint64_t>(count, 0xFFFF), 2);
  append_number(out, std::min<uint64_t>(bytes, k32), 4);
  append_number(out, std::min<uint64_t>(directory, k32), 4);
  append_number(out, 0, 2);
  put(out);
}

}  // namespace fc::files
