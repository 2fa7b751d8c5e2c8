// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace fc::arena {
namespace {

constexpr size_t kMega = 1 << 20;

TEST(ArenaTest, NeighboursThatWereGivenBackServeALargerBlock) {
  clear();
  Range* parts[8];
  for (Range*& part : parts) part = take(3 * kMega).range;
  char* start = parts[0]->at;
  for (int i : {1, 3, 5, 7, 0, 2, 4, 6}) give(parts[i]);
  const auto [whole, fresh] = take(24 * kMega);
  EXPECT_EQ(whole->at, start);
  EXPECT_FALSE(fresh);
  give(whole);
  const Taken larger = take(25 * kMega);
  EXPECT_TRUE(larger.fresh);
  give(larger.range);
}

TEST(ArenaTest, TheSmallestRangeThatFitsIsTaken) {
  clear();
  Range *large = take(40 * kMega).range, *wall = take(kMega).range, *small = take(10 * kMega).range,
        *end = take(kMega).range;
  char* expected = small->at;
  give(large);
  give(small);
  Range* r = take(9 * kMega).range;
  EXPECT_EQ(r->at, expected);
  for (Range* x : {r, wall, end}) give(x);
}

TEST(ArenaTest, BlocksNeverOverlapAndEverythingComesBack) {
  clear();
  const int64_t before = held();
  EXPECT_EQ(before, 0);
  auto work = [](unsigned seed) {
    std::mt19937 random(seed);
    struct Held {
      Range* range;
      size_t bytes;
      char mark;
    };
    std::vector<Held> blocks;
    for (int i = 0; i < 1000; ++i) {
      if (blocks.size() < 40 && random() % 2) {
        const size_t bytes = (size_t{65537} << (random() % 5)) + random() % 50000;
        Held h{take(bytes).range, bytes, static_cast<char>(random())};
        ASSERT_NE(h.range, nullptr);
        ASSERT_GE(h.range->bytes, bytes);
        for (size_t at : {size_t{0}, bytes / 2, bytes - 1}) h.range->at[at] = h.mark;
        blocks.push_back(h);
      } else if (!blocks.empty()) {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        const Held h = blocks.back();
        for (size_t at : {size_t{0}, h.bytes / 2, h.bytes - 1}) ASSERT_EQ(h.range->at[at], h.mark);
        give(h.range);
        blocks.pop_back();
      }
      if (i % 400 == 399) clear();
    }
    for (const Held& h : blocks) give(h.range);
  };
  std::thread other(work, 1);
  work(2);
  other.join();
  EXPECT_GT(held(), 0);
  clear();
  EXPECT_EQ(held(), 0);
}

TEST(ArenaTest, HolesThatDoNotServeGiveTheirPagesBack) {
  clear();
  Range* parts[8];
  for (Range*& part : parts) {
    part = take(25 * kMega).range;
    memset(part->at, 1, part->bytes);
  }
  for (int i : {0, 2, 4, 6}) give(parts[i]);
  EXPECT_GE(held(), 100 * static_cast<int64_t>(kMega));
  Range* whole = take(90 * kMega).range;  // no hole is large enough
  EXPECT_LE(held(), 40 * static_cast<int64_t>(kMega));
  for (int i : {1, 3, 5, 7})
    for (size_t at = 0; at < parts[i]->bytes; at += 4096) ASSERT_EQ(parts[i]->at[at], 1);
  Range* again = take(24 * kMega).range;  // pages that went come back
  memset(again->at, 2, again->bytes);
  for (Range* r : {parts[1], parts[3], parts[5], parts[7], whole, again}) give(r);
}

TEST(ArenaTest, MoreThanTheSystemHasIsNull) { EXPECT_EQ(take(size_t{1} << 47).range, nullptr); }

}  // namespace
}  // namespace fc::arena
