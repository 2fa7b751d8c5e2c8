// SPDX-License-Identifier: Apache-2.0
// One pass over what a call wrote: a digest per tile, and which patterns of values there are. Reads memory of the host
// only, knows no tensors and keeps nothing; any thread may call it.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/dims.h"
#include "core/dtype.h"
#include "observe/values/patterns.h"

namespace fc::observe::values {

inline constexpr int64_t kTile = 1024;  // elements

// Elements at data + sum of i_d * strides_d bytes, dimensions in any order.
struct View {
  const char* data = nullptr;
  DType dtype = DType::UInt8;
  Dims sizes, strides;

  int64_t numel() const;
};

// A view as pieces without gaps, in the order of memory. Dimensions that repeat elements (stride 0) count once.
class Runs {
 public:
  explicit Runs(const View& v);
  int64_t count() const { return count_; }    // of runs
  int64_t run_bytes() const { return run_; }  // of each
  int64_t bytes() const { return count_ * run_; }
  bool in_order() const { return in_order_; }   // memory order is that of the dimensions
  const char* begin() const { return begin_; }  // lowest address
  int64_t last() const {                        // of the last run: its offset
    int64_t n = 0;
    for (size_t d = 0; d < sizes_.size(); ++d) n += (sizes_[d] - 1) * strides_[d];
    return n;
  }
  template <class F>
  void each(const F& f) const {  // f(offset from begin())
    Dims at(sizes_.size());
    int64_t offset = 0;
    for (int64_t i = 0; i < count_; ++i) {
      f(offset);
      for (size_t d = sizes_.size(); d-- > 0;) {
        offset += strides_[d];
        if (++at[d] < sizes_[d]) break;
        offset -= strides_[d] * sizes_[d];
        at[d] = 0;
      }
    }
  }

 private:
  const char* begin_;
  int64_t run_ = 0, count_ = 0;
  bool in_order_ = true;
  Dims sizes_, strides_;  // of what is around a run, outermost first
};

struct Content {
  DType dtype = DType::UInt8;
  uint64_t elements = 0;
  uint64_t hash = 0;            // of the elements in the order of memory, and of that order
  std::vector<uint64_t> tiles;  // digests of kTile elements each
  bool constant = false;        // all elements have the bits `first`
  uint64_t first[2] = {0, 0};
  uint32_t patterns = 0;  // of values: bits of SingleZero to Approximate
  double frequent_share = 0;
  uint64_t frequent_value = 0;
  double number = 0;                // the single or the frequent one
  DType narrow = DType::Undefined;  // of HeavyType and InappropriateFloat: what would do
  double slope = 0, base = 0;       // of Structured: k of the last dimension that has one, b
};

// The elements of `runs`, which lie at begin() in the host's memory or in a copy of the same layout.
Content look(const View& v, const Runs& runs, const Options& options);
// The content of a constant, without looking: `value` are the bits of one element.
Content constant_content(DType dtype, uint64_t elements, const char* value, const Options& options);

// How many elements of a and b have the same bits, and how many bytes are equal.
struct Equal {
  uint64_t elements = 0, bytes = 0;
};
Equal count_equal(const char* a, const char* b, uint64_t elements, size_t item);
Equal count_equal_to(const char* a, const uint64_t value[2], uint64_t elements, size_t item);

uint64_t kept_bits(DType t, int level);    // of an element whose mantissa is cut
double as_number(const char* p, DType t);  // real part of complex numbers

}  // namespace fc::observe::values
