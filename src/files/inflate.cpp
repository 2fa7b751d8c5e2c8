// SPDX-License-Identifier: Apache-2.0
#include "files/inflate.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "core/error.h"

namespace fc::files {
namespace {

[[noreturn]] void refuse(const char* what) { raise<Error>("compressed data is damaged: ", what); }

constexpr int kMaxLength = 15, kFastBits = 10, kLiterals = 288, kDistances = 30;

class Bits {
 public:
  explicit Bits(std::string_view bytes) : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  // The next 32 bits at least, with zeros behind the end.
  uint64_t peek() {
    while (count_ <= 56 && next_ != end_) {
      held_ |= uint64_t{static_cast<unsigned char>(*next_++)} << count_;
      count_ += 8;
    }
    return held_;
  }
  void drop(int n) {
    if (n > count_) refuse("it ends in the middle");
    held_ >>= n;
    count_ -= n;
  }
  uint32_t take(int n) {
    const auto v = static_cast<uint32_t>(peek() & ((uint64_t{1} << n) - 1));
    drop(n);
    return v;
  }
  std::string_view bytes(size_t n) {  // whole ones, from the next full byte on
    drop(count_ % 8);
    const size_t back = static_cast<size_t>(count_) / 8;  // that peek() took
    next_ -= back;
    held_ = 0;
    count_ = 0;
    if (n > static_cast<size_t>(end_ - next_)) refuse("it ends in the middle");
    const std::string_view out(next_, n);
    next_ += n;
    return out;
  }
  bool at_end() const { return next_ == end_ && count_ < 8; }

 private:
  const char *next_, *end_;
  uint64_t held_ = 0;
  int count_ = 0;
};

// A canonical Huffman code: a table for what is short, counting for the rest.
class Code {
 public:
  void set(std::span<const uint8_t> lengths) {
    counts_.fill(0);
    fast_.fill(0);
    for (const uint8_t n : lengths) ++counts_[n];
    int left = 1, used = 0;
    std::array<uint16_t, kMaxLength + 2> offsets{};
    for (size_t n = 1; n <= kMaxLength; ++n) {
      left = 2 * left - counts_[n];
      if (left < 0) refuse("a code has more words than fit");
      used += counts_[n];
      offsets[n + 1] = static_cast<uint16_t>(offsets[n] + counts_[n]);
    }
    // A code of one word may leave the other bit free, and there may be no distances at all.
    if (left > 0 && !(used == 0 || (used == 1 && counts_[1] == 1))) refuse("a code has too few words");
    for (size_t i = 0; i < lengths.size(); ++i)
      if (lengths[i]) symbols_[offsets[lengths[i]]++] = static_cast<uint16_t>(i);
    uint32_t word = 0;
    size_t k = 0;
    for (uint32_t n = 1; n <= kFastBits; ++n, word <<= 1)
      for (uint32_t i = 0; i < counts_[n]; ++i, ++word) {
        uint32_t reversed = 0;
        for (uint32_t b = 0; b < n; ++b) reversed |= (word >> b & 1) << (n - 1 - b);
        const auto entry = static_cast<uint16_t>(symbols_[k++] << 4 | n);
        for (uint32_t at = reversed; at < fast_.size(); at += 1u << n) fast_[at] = entry;
      }
  }
  int read(Bits& bits) const {
    const uint64_t ahead = bits.peek();
    if (const uint16_t entry = fast_[ahead & (fast_.size() - 1)]) {
      bits.drop(entry & 15);
      return entry >> 4;
    }
    int word = 0, first = 0, index = 0;
    for (int n = 1; n <= kMaxLength; ++n) {
      word |= static_cast<int>(ahead >> (n - 1) & 1);
      const int count = counts_[static_cast<size_t>(n)];
      if (word - count < first) {
        bits.drop(n);
        return symbols_[static_cast<size_t>(index + word - first)];
      }
      index += count;
      first = (first + count) << 1;
      word <<= 1;
    }
    refuse("a word is in no code");
  }

 private:
  std::array<uint16_t, kMaxLength + 1> counts_{};
  std::array<uint16_t, kLiterals> symbols_{};
  std::array<uint16_t, 1 << kFastBits> fast_{};  // symbol, then the length in four bits; 0: not here
};

struct Step {
  uint16_t base;
  uint8_t bits;
};
constexpr Step kLengths[] = {{3, 0},   {4, 0},   {5, 0},   {6, 0},   {7, 0},  {8, 0},  {9, 0},  {10, 0},
                             {11, 1},  {13, 1},  {15, 1},  {17, 1},  {19, 2}, {23, 2}, {27, 2}, {31, 2},
                             {35, 3},  {43, 3},  {51, 3},  {59, 3},  {67, 4}, {83, 4}, {99, 4}, {115, 4},
                             {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}};
constexpr Step kBack[] = {{1, 0},     {2, 0},     {3, 0},     {4, 0},      {5, 1},      {7, 1},
                          {9, 2},     {13, 2},    {17, 3},    {25, 3},     {33, 4},     {49, 4},
                          {65, 5},    {97, 5},    {129, 6},   {193, 6},    {257, 7},    {385, 7},
                          {513, 8},   {769, 8},   {1025, 9},  {1537, 9},   {2049, 10},  {3073, 10},
                          {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}};

void fixed_codes(Code& literals, Code& distances) {
  std::array<uint8_t, kLiterals> lengths;
  for (size_t i = 0; i < kLiterals; ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  literals.set(lengths);
  lengths.fill(5);
  distances.set(std::span(lengths).first(32));
}

void read_codes(Bits& bits, Code& literals, Code& distances) {
  constexpr uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  const size_t n_literals = bits.take(5) + 257, n_distances = bits.take(5) + 1, n_lengths = bits.take(4) + 4;
  if (n_literals > 286 || n_distances > kDistances) refuse("a code has more words than there are");
  std::array<uint8_t, kLiterals + 32> lengths{};
  for (size_t i = 0; i < n_lengths; ++i) lengths[order[i]] = static_cast<uint8_t>(bits.take(3));
  literals.set(std::span(lengths).first(19));
  const Code of_lengths = literals;
  lengths.fill(0);
  for (size_t i = 0; i < n_literals + n_distances;) {
    const int symbol = of_lengths.read(bits);
    if (symbol < 16) {
      lengths[i++] = static_cast<uint8_t>(symbol);
      continue;
    }
    if (symbol == 16 && i == 0) refuse("a length is repeated before there is one");
    const uint8_t length = symbol == 16 ? lengths[i - 1] : 0;
    size_t times = symbol == 16 ? 3 + bits.take(2) : symbol == 17 ? 3 + bits.take(3) : 11 + bits.take(7);
    if (times > n_literals + n_distances - i) refuse("a code has more words than there are");
    for (; times > 0; --times) lengths[i++] = length;
  }
  if (lengths[256] == 0) refuse("a block has no end");
  literals.set(std::span(lengths).first(n_literals));
  distances.set(std::span(lengths).subspan(n_literals, n_distances));
}

}  // namespace

void inflate(std::string_view deflated, char* to, size_t bytes) {
  Bits bits(deflated);
  Code literals, distances;
  size_t done = 0;
  const auto room = [&](size_t n) {
    if (n > bytes - done) refuse("more comes out than the archive says");
  };
  for (bool last = false; !last;) {
    last = bits.take(1);
    const uint32_t kind = bits.take(2);
    if (kind == 0) {
      const std::string_view head = bits.bytes(4);
      const auto number = [&](size_t at) {
        return static_cast<size_t>(static_cast<unsigned char>(head[at]) | static_cast<unsigned char>(head[at + 1])
                                                                              << 8);
      };
      if (number(0) != (number(2) ^ 0xFFFF)) refuse("the length of a stored block is not what it says twice");
      const std::string_view stored = bits.bytes(number(0));
      room(stored.size());
      std::copy(stored.begin(), stored.end(), to + done);
      done += stored.size();
      continue;
    }
    if (kind == 1) fixed_codes(literals, distances);
    else if (kind == 2) read_codes(bits, literals, distances);
    else refuse("a block is of no known kind");
    for (;;) {
      const int symbol = literals.read(bits);
      if (symbol < 256) {
        room(1);
        to[done++] = static_cast<char>(symbol);
        continue;
      }
      if (symbol == 256) break;
      if (symbol > 285) refuse("a length is out of range");
      const Step length = kLengths[symbol - 257];
      const size_t n = length.base + bits.take(length.bits);
      const int way = distances.read(bits);
      if (way >= kDistances) refuse("a distance is out of range");
      const size_t back = kBack[way].base + bits.take(kBack[way].bits);
      if (back > done) refuse("it repeats what was before its beginning");
      room(n);
      char* const out = to + done;
      const char* const from = out - back;
      if (back >= n) std::memcpy(out, from, n);
      else
        for (size_t k = 0; k < n; ++k) out[k] = from[k];
      done += n;
    }
  }
  if (done != bytes) refuse("less comes out than the archive says");
  if (!bits.at_end()) refuse("something follows its end");
}

}  // namespace fc::files
