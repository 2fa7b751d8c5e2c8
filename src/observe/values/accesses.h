// SPDX-License-Identifier: Apache-2.0
// Single loads and stores of kernels, as a backend tells them (facula/backend.h: fc_watcher): which of them are for
// nothing, by source line and by object. An object is a block of memory, by the call path that allocated it; what is
// told of it is added up by kernel, call path and type.
//
// Silent store: what it stores lay there already, and had been written. Silent load: the element had the same value
// when anybody loaded it last. Temporal: a worker loads (stores) at an address what it loaded (stored) there last in
// this launch. Spatial: of one line's loads (stores) of an object in a launch, as many as have the most frequent value.
// An item is an element that was accessed; it is unique if it only ever showed one value.
//
// Under a lock of its own, inside of which no other is taken: backends tell while they hold theirs.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "facula/backend.h"
#include "observe/values/stats.h"

namespace fc::observe::values {

// Counts by a pair of numbers, without a block of memory for each.
class Counts {
 public:
  uint64_t& at(uint64_t a, uint64_t b);  // 0 at first
  template <class F>
  void each(const F& f) const {
    for (const Slot& s : slots_)
      if (s.age == age_) f(s.a, s.b, s.value);
  }
  size_t size() const { return size_; }
  void clear();

 private:
  struct Slot {
    uint64_t a = 0, b = 0, value = 0, age = 0;
  };
  void grow();
  std::vector<Slot> slots_;
  size_t size_ = 0;
  uint64_t age_ = 1;
};

struct AccessCounts {
  uint64_t accesses = 0, silent = 0, temporal = 0, spatial = 0;
};
struct AccessLine {
  const std::string* line = nullptr;
  AccessCounts counts;
};

// What loads, or stores, of one type did to one object in one call path.
struct AccessRow {
  uint32_t node = 0;  // the call path that launched
  const std::string* kernel = nullptr;
  uint32_t maker = 0;  // the call path that allocated the object
  uint64_t bytes = 0;  // of the object; of several the largest
  DType dtype = DType::Undefined;
  bool stores = false;
  bool detailed = true;  // false: too many elements, what each of them showed was not kept
  AccessCounts counts;
  uint64_t items = 0, unique_items = 0, unique_accesses = 0, distinct = 0;
  uint64_t about = 0;     // distinct values when mantissas are cut
  uint32_t patterns = 0;  // bits of SingleZero to Approximate, of the items if all are unique
  DType narrow = DType::Undefined;
  double slope = 0, base = 0;                    // of Structured, by the element's number in the object
  std::vector<std::pair<double, uint64_t>> top;  // the most frequent values, and how many unique items have each
  std::vector<AccessLine> lines;
};
// A value that came again: for a worker at an address, from one line to the next, or at other addresses of an object.
struct AccessPair {
  uint32_t node = 0, maker = 0;
  const std::string *kernel = nullptr, *from = nullptr, *to = nullptr;  // lines; one, where it is spatial
  DType dtype = DType::Undefined;
  bool stores = false;
  double value = 0;
  uint64_t count = 0;
};

class Accesses {
 public:
  explicit Accesses(const Options& options) : options_(options) {}

  // --- what lies where: told by the engine
  void allocated(int device, uintptr_t address, uint64_t bytes, uint32_t maker);
  void freed(int device, uintptr_t address);
  void typed(int device, uintptr_t address, DType dtype);  // what the block around this address holds
  // Of these bytes it may (or may not) be said that something lay there already.
  void written(int device, uintptr_t address, uint64_t bytes, bool known);

  // --- told by a backend, on the thread that launches; `node`: the call path that does
  void launch_begins(int device, uint32_t node, const fc_watched_launch& launch);
  void accessed(const fc_access* all, size_t count);
  // Pieces of memory that the launch read and wrote, with what lay there before: for launches without operands.
  struct Piece {
    uintptr_t address = 0;
    uint64_t bytes = 0;
    std::vector<char> before;  // empty: it was only read
    DType dtype = DType::UInt8;
  };
  std::vector<Piece> launch_ended(const fc_watched_launch& launch, bool pieces);

  // --- results
  std::vector<AccessRow> rows() const;
  std::vector<AccessPair> pairs(bool spatial) const;  // the most frequent first
  std::map<std::string, uint64_t> unseen() const;     // kernels whose accesses were not told, and in how many launches
  uint64_t lost() const;

 private:
  struct Object {
    uint64_t bytes = 0, launch = 0;
    uint32_t maker = 0;
    DType dtype = DType::Undefined;
    std::vector<bool> written;     // by byte: something known lies there
    std::vector<uint64_t> loaded;  // by element of `loaded_item` bytes: what was loaded last
    std::vector<bool> was_loaded;
    size_t loaded_item = 0;
    std::vector<uint32_t> guessed;  // rows that took it for integers before its type was known
    // Of this launch:
    std::vector<char> before;
    std::vector<uint8_t> touched;  // 1 read, 2 written
  };
  struct Element {
    uint64_t first = 0;
    uint32_t count = 0;
    bool several = false;
  };
  struct Unit {  // a row that grows
    AccessRow row;
    std::vector<Element> elements;
    std::unordered_map<uint32_t, AccessCounts> sites;  // of the launch under way, by site
    std::unordered_map<uint32_t, AccessCounts> lines;
  };
  using Key = std::pair<int, uintptr_t>;
  Object* object_at(uintptr_t address, uint64_t bytes, uintptr_t* base);
  uint32_t unit(Object& o, DType dtype, bool stores);
  uint32_t line_of(uint64_t site, const fc_watched_launch& launch);
  void one(Object& o, const fc_access& a, DType dtype, uint64_t offset, uint64_t value, uint64_t before, bool stores);

  const Options options_;
  mutable std::mutex mutex_;
  std::map<Key, Object> objects_;
  std::map<Key, Object>::iterator last_ = objects_.end();
  struct UnitKey {
    uint32_t node, maker;
    const std::string* kernel;
    int dtype;
    bool stores;
    auto operator<=>(const UnitKey&) const = default;
  };
  std::map<UnitKey, uint32_t> unit_numbers_;
  std::vector<std::unique_ptr<Unit>> units_;
  uint64_t elements_ = 0;  // that units keep
  // Of the launch under way:
  int device_ = 0;
  uint32_t node_ = 0;
  uint64_t launch_ = 0;
  const std::string* kernel_ = nullptr;
  std::unordered_map<uint64_t, uint32_t> sites_;  // numbers
  std::vector<uint64_t> site_of_;
  Counts last_values_[2], last_sites_[2];  // loads and stores, by worker and address; a site's number plus one
  Counts histogram_;                       // by unit and site, and value
  std::vector<const std::string*> lines_;
  std::unordered_map<const std::string*, uint32_t> line_numbers_;
  struct PairKey {
    uint32_t unit, from, to;
    uint64_t value;
    bool operator==(const PairKey&) const = default;
  };
  struct PairHash {
    size_t operator()(const PairKey& k) const {
      uint64_t h = (uint64_t{k.unit} << 40 ^ uint64_t{k.from} << 20 ^ k.to) * 0x9e3779b97f4a7c15U;
      return (h ^ k.value) * 0xbf58476d1ce4e5b9U ^ h >> 31;
    }
  };
  std::unordered_map<PairKey, uint64_t, PairHash> of_launch_, temporal_, spatial_;  // of_launch_: by site
  std::map<std::string, uint64_t> unseen_;
  uint64_t lost_ = 0;
};

}  // namespace fc::observe::values
