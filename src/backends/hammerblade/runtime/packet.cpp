// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/runtime/packet.h"

#include <cstring>

#include "backends/hammerblade/include/host/bsg_manycore_errno.h"
#include "backends/hammerblade/runtime/error.h"

namespace fc::hb {

namespace {

// hb_tensor_t and hb_vector_t, whose addresses are filled in when the packet's own is known.
struct TensorRecord {
  uint32_t N, dims;
  Eva strides, sizes, data;
  uint32_t element;  // in what would be padding: the device's record ends before it
};
struct VectorRecord {
  uint32_t N;
  Eva data;
};

size_t body_start(size_t words) { return (words * 4 + 7) / 8 * 8; }

uint32_t narrow(int64_t n, const char* what) {
  if (n < 0 || n > 0xffffffff)
    throw Error(HB_MC_INVALID,
                format("a %s of %lld does not fit the device's 32 bits", what, static_cast<long long>(n)));
  return static_cast<uint32_t>(n);
}

}  // namespace

size_t Packet::append(const void* bytes, size_t size) {
  size_t at = (body_.size() + 7) / 8 * 8;
  body_.resize(at + size);
  if (size) memcpy(body_.data() + at, bytes, size);
  return at;
}

void Packet::argument(size_t offset) {
  if (!list_left_) return words_.push_back({static_cast<uint32_t>(offset), true});
  fixes_.push_back({list_at_, offset});
  list_at_ += 4;
  --list_left_;
}

void Packet::tensor(Eva data, std::span<const int64_t> sizes, std::span<const int64_t> strides, uint32_t element) {
  if (sizes.size() != strides.size()) throw Error(HB_MC_INVALID, "a tensor has as many strides as sizes");
  uint64_t count = 1;
  std::vector<uint32_t> numbers(2 * sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    numbers[i] = narrow(strides[i], "stride");
    numbers[sizes.size() + i] = narrow(sizes[i], "size");
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(sizes[i]), &count) || count > 0xffffffff)
      throw Error(HB_MC_INVALID, "a tensor has more elements than the device's 32 bits count");
  }
  TensorRecord record{static_cast<uint32_t>(count), static_cast<uint32_t>(sizes.size()), 0, 0, data, element};
  size_t at = append(&record, sizeof record), arrays = append(numbers.data(), numbers.size() * 4);
  fixes_.push_back({at + offsetof(TensorRecord, strides), arrays});
  fixes_.push_back({at + offsetof(TensorRecord, sizes), arrays + sizes.size() * 4});
  argument(at);
}

void Packet::vector(std::span<const int32_t> elements) {
  VectorRecord record{narrow(static_cast<int64_t>(elements.size()), "vector's size"), 0};
  size_t at = append(&record, sizeof record), array = append(elements.data(), elements.size_bytes());
  fixes_.push_back({at + offsetof(VectorRecord, data), array});
  argument(at);
}

void Packet::tensor_list(size_t count) {
  std::vector<Eva> pointers(count);
  size_t at = append(pointers.data(), count * 4);
  words_.push_back({static_cast<uint32_t>(at), true});
  list_left_ = count;
  list_at_ = at;
}

void Packet::counted_list(size_t count) {
  std::vector<uint32_t> words(count + 1);
  words[0] = narrow(static_cast<int64_t>(count), "list's size");
  size_t at = append(words.data(), words.size() * 4);
  words_.push_back({static_cast<uint32_t>(at), true});
  list_left_ = count;
  list_at_ = at + 4;
}

void Packet::repeated(const void* bytes, size_t size, std::span<const int64_t> sizes) {
  size_t element = append(bytes, size);
  const std::vector<int64_t> strides(sizes.size());
  size_t before = fixes_.size();
  tensor(0, sizes, strides);
  // The record is what the first of its addresses was found in.
  size_t record = fixes_[before].at - offsetof(TensorRecord, strides);
  fixes_.push_back({record + offsetof(TensorRecord, data), element});
}

void Packet::scalar(const void* bytes, size_t size) { argument(append(bytes, size)); }

void Packet::word(uint32_t value) { words_.push_back({value, false}); }

void Packet::clear() {
  words_.clear();
  body_.clear();
  fixes_.clear();
  list_left_ = 0;
}

void Packet::write(void* to, Eva address) const {
  size_t start = body_start(words_.size());
  Eva base = address + static_cast<Eva>(start);
  auto* words = static_cast<uint8_t*>(to);
  for (size_t i = 0; i < words_.size(); ++i) {
    uint32_t word = words_[i].address ? base + words_[i].value : words_[i].value;
    memcpy(words + 4 * i, &word, 4);
  }
  if (!body_.empty()) memcpy(words + start, body_.data(), body_.size());
  for (const Fix& fix : fixes_) {
    Eva target = base + static_cast<Eva>(fix.target);
    memcpy(words + start + fix.at, &target, 4);
  }
}

}  // namespace fc::hb
