// SPDX-License-Identifier: Apache-2.0
// What is known of every storage: which version lies in which bytes, who wrote it, and whether somebody read it. Bytes
// of which no segment tells are unwritten. Owned by an engine, under its lock.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "observe/values/stats.h"

namespace fc::observe::values {

enum class Reads : uint8_t { None, Accumulated, Some };  // Accumulated: only by those that added to it in place

struct Segment {
  uint64_t begin = 0, end = 0;  // bytes of the storage
  uint64_t version = 0;         // of the write; parts of one write have one
  uint32_t node = 0;            // who wrote it
  bool known = false;           // false: written out of sight, or before the profile began
  bool constant = false;        // by a fill: `value` in elements of `item` bytes
  uint8_t item = 1;
  Reads reads = Reads::None;
  uint64_t value[2] = {0, 0};
  std::shared_ptr<const Content> content;  // of the whole write, which began at `first`; null: not looked at
  uint64_t first = 0;
  uint64_t twin = 0;     // version of equal content that was live when this was written
  bool asked = false;    // somebody wants to know whether it is overwritten
  uint64_t repeats = 0;  // bytes that had been computed before, by the same call
};

struct StorageRecord {
  uint64_t id = 0, bytes = 0;
  uintptr_t address = 0;
  int16_t device = 0, index = 0;
  bool exposed = false;  // somebody outside has the address: nothing in it is ever known
  bool ignored = false;
  bool crowded = false;           // had too many segments: what was written to it is not told apart any more
  bool inside = false;            // allocated by a kernel of one piece, which may read it unseen
  uint32_t maker = 0;             // the node that allocated it
  std::vector<Segment> segments;  // by place, without overlaps
};

// How a version ended.
enum class End : uint8_t { Overwritten, Freed, Lost };

class Storages {
 public:
  StorageRecord& add(uint64_t id, const void* data, uint64_t bytes, int device, int index);
  StorageRecord* find(uint64_t id);
  // The storage that holds this address of a device; null: none that is known.
  StorageRecord* at(const void* address, int device, int index);
  void remove(uint64_t id);
  std::unordered_map<uint64_t, StorageRecord>& all() { return records_; }

  // Takes [begin, end) out, telling f(segment part, how) what was there, and puts `fresh` there.
  template <class F>
  void put(StorageRecord& r, uint64_t begin, uint64_t end, const Segment* fresh, const F& f) {
    std::vector<Segment>& all = r.segments;
    if (all.size() == 1 && all[0].begin >= begin && all[0].end <= end) {  // the common case
      f(all[0], End::Overwritten);
      if (fresh) all[0] = *fresh, all[0].begin = begin, all[0].end = end;
      else all.clear();
      return;
    }
    auto it =
        std::lower_bound(all.begin(), all.end(), begin, [](const Segment& s, uint64_t at) { return s.end <= at; });
    std::vector<Segment> kept;
    const auto from = it;
    for (; it != all.end() && it->begin < end; ++it) {
      Segment part = *it;
      part.begin = std::max(part.begin, begin), part.end = std::min(part.end, end);
      f(part, End::Overwritten);
      if (it->begin < begin) kept.push_back(*it), kept.back().end = begin;
    }
    Segment* last = it == from ? nullptr : &*(it - 1);
    Segment behind;
    bool has_behind = last && last->end > end;
    if (has_behind) behind = *last, behind.begin = end;
    if (fresh) kept.push_back(*fresh), kept.back().begin = begin, kept.back().end = end;
    if (has_behind) kept.push_back(std::move(behind));
    const auto at = all.erase(from, it);
    all.insert(at, std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
  }
  // The same for many pieces at once, in one pass; `pieces` are sorted and do not overlap. f(part, how, piece).
  template <class F>
  void put_all(StorageRecord& r, const std::vector<std::pair<uint64_t, uint64_t>>& pieces, const Segment& fresh,
               const F& f) {
    std::vector<Segment> out;
    out.reserve(r.segments.size() + pieces.size());
    auto it = r.segments.begin();
    const auto last = r.segments.end();
    for (size_t i = 0; i < pieces.size(); ++i) {
      const auto [begin, end] = pieces[i];
      for (; it != last && it->end <= begin; ++it) out.push_back(std::move(*it));
      if (it != last && it->begin < begin) {
        out.push_back(*it);
        out.back().end = begin;
        it->begin = begin;
      }
      for (; it != last && it->begin < end; ++it) {
        Segment part = *it;
        part.end = std::min(it->end, end);
        f(part, End::Overwritten, i);
        if (it->end > end) {
          it->begin = end;
          break;
        }
      }
      out.push_back(fresh);
      out.back().begin = begin, out.back().end = end;
    }
    out.insert(out.end(), std::make_move_iterator(it), std::make_move_iterator(last));
    r.segments = std::move(out);
  }
  // f(segment) of all that overlap [begin, end).
  template <class F>
  static void each(StorageRecord& r, uint64_t begin, uint64_t end, const F& f) {
    auto it = std::lower_bound(r.segments.begin(), r.segments.end(), begin,
                               [](const Segment& s, uint64_t at) { return s.end <= at; });
    for (; it != r.segments.end() && it->begin < end; ++it) f(*it);
  }

 private:
  using Place = std::pair<int32_t, uintptr_t>;  // device, address
  static int32_t device_key(int device, int index) { return device << 16 | (index & 0xffff); }
  std::unordered_map<uint64_t, StorageRecord> records_;  // by id
  std::map<Place, StorageRecord*> places_;
  StorageRecord* last_ = nullptr;
};

}  // namespace fc::observe::values
