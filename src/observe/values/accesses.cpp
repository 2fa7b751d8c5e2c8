// SPDX-License-Identifier: Apache-2.0
#include "observe/values/accesses.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <tuple>
#include <utility>

#include "observe/recorder.h"

namespace fc::observe::values {
namespace {

constexpr uint64_t kMostElements = 16u << 20;  // of all rows together, whose values are kept one by one
constexpr size_t kMostCounts = 8u << 20;       // addresses, or values, of one launch that are told apart
constexpr size_t kMostPairs = 1u << 18;        // values that came again, of all launches

uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ b << 32 ^ b >> 32) * 0x9e3779b97f4a7c15U;
  return (h ^ h >> 29) * 0xbf58476d1ce4e5b9U;
}

DType integer_of(size_t bytes) {
  switch (bytes) {
    case 1: return DType::UInt8;
    case 2: return DType::Int16;
    case 4: return DType::Int32;
    default: return DType::Int64;
  }
}

// What an access of so many bytes is made of.
DType type_of(DType object, const fc_access& a, DType otherwise) {
  if (object != DType::Undefined && item_size(object) <= a.bytes && a.bytes % item_size(object) == 0) return object;
  if (object == DType::Undefined && (a.type == FC_ACCESS_FLOAT || otherwise == DType::Float32)) {
    if (a.bytes == 4) return DType::Float32;
    if (a.bytes == 8) return DType::Float64;
  }
  return integer_of(a.bytes);
}

double number_of(uint64_t value, DType t) { return as_number(reinterpret_cast<const char*>(&value), t); }

}  // namespace

uint64_t& Counts::at(uint64_t a, uint64_t b) {
  if ((size_ + 1) * 4 > slots_.size() * 3) grow();
  const size_t mask = slots_.size() - 1;
  for (size_t i = mixed(a, b) & mask;; i = (i + 1) & mask) {
    Slot& s = slots_[i];
    if (s.age != age_) {
      s = {a, b, 0, age_};
      ++size_;
      return s.value;
    }
    if (s.a == a && s.b == b) return s.value;
  }
}

void Counts::grow() {
  std::vector<Slot> old(slots_.empty() ? 1024 : slots_.size() * 2);
  old.swap(slots_);
  size_ = 0;
  for (const Slot& s : old)
    if (s.age == age_) at(s.a, s.b) = s.value;
}

void Counts::clear() {
  ++age_;
  size_ = 0;
  if (slots_.size() > 1u << 20) slots_ = {};
}

// ---- what lies where ------------------------------------------------------------------------------------------------

void Accesses::allocated(int device, uintptr_t address, uint64_t bytes, uint32_t maker) {
  std::lock_guard lock(mutex_);
  Object o;
  o.bytes = bytes, o.maker = maker;
  objects_.insert_or_assign({device, address}, std::move(o));
  last_ = objects_.end();
}

void Accesses::freed(int device, uintptr_t address) {
  std::lock_guard lock(mutex_);
  objects_.erase({device, address});
  last_ = objects_.end();
}

void Accesses::typed(int device, uintptr_t address, DType dtype) {
  std::lock_guard lock(mutex_);
  auto it = objects_.upper_bound({device, address});
  if (it == objects_.begin() || (--it)->first.first != device) return;
  Object& o = it->second;
  if (address - it->first.second >= o.bytes || o.dtype == dtype) return;
  for (const uint32_t i : std::exchange(o.guessed, {})) {
    DType& guess = units_[i]->row.dtype;
    if (item_size(guess) == item_size(dtype)) guess = dtype;
  }
  o.dtype = dtype;
}

void Accesses::written(int device, uintptr_t address, uint64_t bytes, bool known) {
  std::lock_guard lock(mutex_);
  auto it = objects_.upper_bound({device, address});
  if (it == objects_.begin() || (--it)->first.first != device) return;
  Object& o = it->second;
  const uint64_t begin = address - it->first.second;
  if (begin >= o.bytes) return;
  if (o.written.empty() && !known) return;
  o.written.resize(o.bytes);
  const auto from = o.written.begin() + static_cast<ptrdiff_t>(begin);
  std::fill(from, from + static_cast<ptrdiff_t>(std::min(bytes, o.bytes - begin)), known);
}

Accesses::Object* Accesses::object_at(uintptr_t address, uint64_t bytes, uintptr_t* base) {
  if (last_ == objects_.end() || last_->first.first != device_ ||
      address - last_->first.second >= last_->second.bytes) {
    last_ = objects_.upper_bound({device_, address});
    if (last_ == objects_.begin()) return last_ = objects_.end(), nullptr;
    --last_;
  }
  if (last_->first.first != device_ || address - last_->first.second + bytes > last_->second.bytes) return nullptr;
  *base = last_->first.second;
  return &last_->second;
}

// ---- launches -------------------------------------------------------------------------------------------------------

void Accesses::launch_begins(int device, uint32_t node, const fc_watched_launch& launch) {
  std::lock_guard lock(mutex_);
  if (!launch.told && launch.kernel) ++unseen_[launch.kernel];
  device_ = device, node_ = node;
  ++launch_;
  kernel_ = intern(launch.kernel);
  sites_.clear(), site_of_.clear();
  for (Counts& c : last_values_) c.clear();
  for (Counts& c : last_sites_) c.clear();
  of_launch_.clear();
  histogram_.clear();
}

uint32_t Accesses::unit(Object& o, DType dtype, bool stores) {
  const UnitKey key{node_, o.maker, kernel_, static_cast<int>(dtype), stores};
  const auto [it, fresh] = unit_numbers_.try_emplace(key, static_cast<uint32_t>(units_.size()));
  if (fresh) {
    AccessRow& row = units_.emplace_back(std::make_unique<Unit>())->row;
    row.node = node_, row.kernel = kernel_, row.maker = o.maker, row.dtype = dtype, row.stores = stores;
  }
  if (o.dtype == DType::Undefined && (o.guessed.empty() || o.guessed.back() != it->second))
    o.guessed.push_back(it->second);
  return it->second;
}

void Accesses::accessed(const fc_access* all, size_t count) {
  std::lock_guard lock(mutex_);
  size_t done = 0;
  try {
    for (; done < count; ++done) {
      const fc_access& a = all[done];
      uintptr_t base = 0;
      Object* o = object_at(a.address, a.bytes, &base);
      if (!o) continue;  // memory of nobody's tensor
      const DType dtype = type_of(o->dtype, a, options_.untyped);
      const size_t item = item_size(dtype);
      const uint64_t mask = item < 8 ? (uint64_t{1} << 8 * item) - 1 : ~uint64_t{0};
      for (size_t at = 0; at < a.bytes; at += item) {
        const uint64_t offset = a.address - base + at, value = a.value >> 8 * at & mask,
                       before = a.before >> 8 * at & mask;
        if (a.kind == FC_ACCESS_LOAD) one(*o, a, dtype, offset, value, 0, false);
        if (a.kind == FC_ACCESS_ATOMIC) one(*o, a, dtype, offset, before, 0, false);
        if (a.kind != FC_ACCESS_LOAD) one(*o, a, dtype, offset, value, before, true);
      }
    }
  } catch (const std::bad_alloc&) { lost_ += count - done; }
}

void Accesses::one(Object& o, const fc_access& a, DType dtype, uint64_t offset, uint64_t value, uint64_t before,
                   bool stores) {
  const size_t item = item_size(dtype);
  if (o.launch != launch_) {
    o.launch = launch_;
    o.touched.clear(), o.before.clear();
  }
  if (o.touched.empty()) o.touched.resize(o.bytes);
  if (stores && o.before.empty()) o.before.resize(o.bytes);
  const uint32_t number = unit(o, dtype, stores);
  Unit& u = *units_[number];
  const auto [place, fresh] = sites_.try_emplace(a.site, static_cast<uint32_t>(site_of_.size()));
  if (fresh) site_of_.push_back(a.site);
  const uint32_t site = place->second;
  AccessCounts& line = u.sites[site];
  AccessRow& row = u.row;
  row.bytes = std::max(row.bytes, o.bytes);
  ++line.accesses;

  // What it had shown before.
  const uint64_t element = offset / item;
  if (row.detailed && element >= u.elements.size()) {
    const uint64_t want = o.bytes / item;
    if (elements_ + want - u.elements.size() > kMostElements) {
      row.detailed = false;
      elements_ -= u.elements.size();
      u.elements = {};
    } else {
      elements_ += want - u.elements.size();
      u.elements.resize(want);
    }
  }
  if (row.detailed) {
    Element& e = u.elements[element];
    if (e.count == 0) e.first = value;
    else if (e.first != value) e.several = true;
    e.count += e.count < std::numeric_limits<uint32_t>::max();
  }

  if (stores) {
    if (o.written.empty()) o.written.resize(o.bytes);
    bool there = true;
    for (size_t i = 0; i < item; ++i) {
      there &= o.written[offset + i];
      o.written[offset + i] = true;
      uint8_t& touched = o.touched[offset + i];
      if (!(touched & 2)) o.before[offset + i] = static_cast<char>(before >> 8 * i);
      touched |= 2;
    }
    line.silent += there && value == before;
  } else {
    if (o.loaded_item != item) {
      o.loaded_item = item;
      o.loaded.assign(o.bytes / item, 0);
      o.was_loaded.assign(o.bytes / item, false);
    }
    if (element < o.loaded.size()) {
      line.silent += o.was_loaded[element] && o.loaded[element] == value;
      o.loaded[element] = value, o.was_loaded[element] = true;
    }
    for (size_t i = 0; i < item; ++i) o.touched[offset + i] |= 1;
  }

  // The same worker, the same address.
  if (last_values_[stores].size() < kMostCounts) {
    const uint64_t address = last_->first.second + offset;
    uint64_t &last = last_values_[stores].at(a.worker, address), &from = last_sites_[stores].at(a.worker, address);
    if (from && last == value) {
      ++line.temporal;
      const PairKey key{number, static_cast<uint32_t>(from - 1), site, value};
      if (of_launch_.size() < kMostPairs || of_launch_.contains(key)) ++of_launch_[key];
    }
    last = value, from = site + 1;
  } else {
    ++lost_;
  }
  if (histogram_.size() < kMostCounts) ++histogram_.at(uint64_t{number} << 32 | site, value);
}

uint32_t Accesses::line_of(uint64_t site, const fc_watched_launch& launch) {
  char text[512] = "";
  if (launch.line) launch.line(site, text, sizeof text);
  text[sizeof text - 1] = 0;
  const std::string* line = intern(text[0] ? text : "an unknown place");
  const auto [it, fresh] = line_numbers_.try_emplace(line, static_cast<uint32_t>(lines_.size()));
  if (fresh) lines_.push_back(line);
  return it->second;
}

std::vector<Accesses::Piece> Accesses::launch_ended(const fc_watched_launch& launch, bool pieces) {
  std::vector<Piece> out;
  std::lock_guard lock(mutex_);
  try {
    // Sites become lines, of which each may have several.
    std::vector<uint32_t> lines;
    for (const uint64_t site : site_of_) lines.push_back(line_of(site, launch));
    std::unordered_map<uint64_t, std::pair<uint64_t, uint64_t>> most;  // by unit and line: value, count
    Counts by_line;
    histogram_.each([&](uint64_t where, uint64_t value, uint64_t count) {
      by_line.at(where >> 32 << 32 | lines[where & 0xffffffff], value) += count;
    });
    by_line.each([&](uint64_t where, uint64_t value, uint64_t count) {
      auto& best = most[where];
      if (count > best.second || (count == best.second && value < best.first)) best = {value, count};
    });
    for (const auto& [where, best] : most) {
      const auto unit_number = static_cast<uint32_t>(where >> 32), line = static_cast<uint32_t>(where);
      units_[unit_number]->lines[line].spatial += best.second;
      const PairKey key{unit_number, line, line, best.first};
      if (spatial_.size() < kMostPairs || spatial_.contains(key)) spatial_[key] += best.second;
    }
    for (const auto& [key, count] : of_launch_) {
      const PairKey by_lines{key.unit, lines[key.from], lines[key.to], key.value};
      if (temporal_.size() < kMostPairs || temporal_.contains(by_lines)) temporal_[by_lines] += count;
    }
    for (const std::unique_ptr<Unit>& u : units_) {
      for (const auto& [site, counts] : u->sites) {
        AccessCounts& sum = u->lines[lines[site]];
        sum.accesses += counts.accesses, sum.silent += counts.silent, sum.temporal += counts.temporal;
      }
      u->sites.clear();
    }
    of_launch_.clear();
    if (pieces)
      for (auto& [key, o] : objects_) {
        if (key.first != device_ || o.launch != launch_) continue;
        std::vector<Piece> stored;
        for (uint64_t i = 0; i < o.bytes;) {
          const uint8_t how = o.touched[i];
          uint64_t end = i + 1;
          while (end < o.bytes && o.touched[end] == how) ++end;
          Piece piece{key.second + i, end - i, {}, o.dtype};
          if (how & 1) out.push_back(piece);
          if (how & 2) {
            piece.before.assign(o.before.begin() + static_cast<ptrdiff_t>(i),
                                o.before.begin() + static_cast<ptrdiff_t>(end));
            stored.push_back(std::move(piece));
          }
          i = end;
        }
        std::ranges::move(stored, std::back_inserter(out));  // what is read is read before
      }
  } catch (const std::bad_alloc&) { ++lost_; }
  for (auto& [key, o] : objects_)
    if (o.launch == launch_) o.touched = {}, o.before = {};
  lost_ += launch.lost;
  return out;
}

// ---- results --------------------------------------------------------------------------------------------------------

std::vector<AccessRow> Accesses::rows() const {
  std::lock_guard lock(mutex_);
  std::vector<AccessRow> out;
  for (const std::unique_ptr<Unit>& u : units_) {
    AccessRow row = u->row;
    for (const auto& [line, counts] : u->lines) {
      row.lines.push_back({lines_[line], counts});
      row.counts.accesses += counts.accesses, row.counts.silent += counts.silent;
      row.counts.temporal += counts.temporal, row.counts.spatial += counts.spatial;
    }
    std::ranges::sort(row.lines, [](const AccessLine& a, const AccessLine& b) { return *a.line < *b.line; });
    const size_t item = item_size(row.dtype);
    std::vector<char> values;
    std::unordered_map<uint64_t, uint64_t> distinct;
    uint64_t first = 0, step = 0, previous = 0;
    bool regular = true;
    for (uint64_t i = 0; i < u->elements.size(); ++i) {
      const Element& e = u->elements[i];
      if (!e.count) continue;
      if (row.items == 0) first = i;
      else if (row.items == 1) step = i - previous;
      else regular &= i - previous == step;
      previous = i;
      ++row.items;
      if (e.several) continue;
      ++row.unique_items;
      row.unique_accesses += e.count;
      ++distinct[e.first];
      values.insert(values.end(), reinterpret_cast<const char*>(&e.first),
                    reinterpret_cast<const char*>(&e.first) + item);
    }
    row.distinct = distinct.size();
    if (row.unique_items) {
      const View v{values.data(), row.dtype, {static_cast<int64_t>(row.unique_items)}, {static_cast<int64_t>(item)}};
      if (row.unique_items == row.items) {
        const Content c = look(v, Runs(v), options_);
        row.patterns = c.patterns & options_.patterns;
        if (!regular) row.patterns &= ~bit(Pattern::Structured);
        row.narrow = c.narrow;
        if (step)
          row.slope = c.slope / static_cast<double>(step), row.base = c.base - row.slope * static_cast<double>(first);
      }
      const uint64_t mask = kept_bits(row.dtype, options_.approximate);
      std::unordered_map<uint64_t, uint64_t> about;
      for (const auto& [value, n] : distinct) ++about[value & mask];
      row.about = about.size();
      for (const auto& [value, n] : distinct) row.top.emplace_back(number_of(value, row.dtype), n);
      const auto rank = [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
      };
      const size_t kept = std::min<size_t>(row.top.size(), 10);
      std::partial_sort(row.top.begin(), row.top.begin() + static_cast<ptrdiff_t>(kept), row.top.end(), rank);
      row.top.resize(kept);
    }
    out.push_back(std::move(row));
  }
  return out;
}

std::vector<AccessPair> Accesses::pairs(bool spatial) const {
  std::lock_guard lock(mutex_);
  std::vector<AccessPair> out;
  for (const auto& [key, count] : spatial ? spatial_ : temporal_) {
    const AccessRow& row = units_[key.unit]->row;
    out.push_back({row.node, row.maker, row.kernel, lines_[key.from], lines_[key.to], row.dtype, row.stores,
                   number_of(key.value, row.dtype), count});
  }
  std::ranges::sort(out, [](const AccessPair& a, const AccessPair& b) {
    return std::tie(b.count, *a.kernel, *a.from, *a.to, a.value) <
           std::tie(a.count, *b.kernel, *b.from, *b.to, b.value);
  });
  return out;
}

std::map<std::string, uint64_t> Accesses::unseen() const {
  std::lock_guard lock(mutex_);
  return unseen_;
}

uint64_t Accesses::lost() const {
  std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace fc::observe::values
