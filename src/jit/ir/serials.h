// SPDX-License-Identifier: Apache-2.0
// Sets and maps of one graph's nodes or values by serial number. A graph gives the numbers out one after the other, so
// they lie side by side: a pass over a large graph reads memory in order, as the graph itself does.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace fc::jit {

class SerialSet {
 public:
  bool insert(uint64_t serial) {  // false: it was there
    if (serial >= bits_.size()) bits_.resize(std::max<size_t>(serial + 1, 2 * bits_.size()));
    const bool fresh = !bits_[serial];
    bits_[serial] = true;
    return fresh;
  }
  bool contains(uint64_t serial) const { return serial < bits_.size() && bits_[serial]; }

 private:
  std::vector<bool> bits_;
};

// To indices; -1: none.
class SerialMap {
 public:
  int get(uint64_t serial) const { return serial < to_.size() ? to_[serial] : -1; }
  void set(uint64_t serial, int to) {
    if (serial >= to_.size()) to_.resize(std::max<size_t>(serial + 1, 2 * to_.size()), -1);
    to_[serial] = to;
  }
  void erase(uint64_t serial) {
    if (serial < to_.size()) to_[serial] = -1;
  }

 private:
  std::vector<int> to_;
};

}  // namespace fc::jit
