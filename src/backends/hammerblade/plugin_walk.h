// SPDX-License-Identifier: Apache-2.0
// The dimensions of a family's call, made as few as possible before a kernel sees them: those of size 1 go, and
// neighbours that are one stretch of memory for every operand are merged.
#pragma once
#include <utility>

#include "plugin_pack.h"

namespace hammerblade {

struct Walk {
  static constexpr int kOperands = FC_MAX_INPUTS + 1, kDims = 64;
  int ndim = 0, n = 0;
  int64_t size[kDims] = {};
  struct Side {
    char* data = nullptr;
    int dtype = 0;
    int64_t stride[kDims] = {};  // bytes
  } side[kOperands];

  Walk(int ndim, const int64_t* shape) : ndim(ndim) {
    for (int d = 0; d < ndim; ++d) size[d] = shape[d];
  }
  void add(const fc_operand& o) {
    Side& s = side[n++];
    s.data = static_cast<char*>(o.data);
    s.dtype = o.dtype;
    for (int d = 0; d < ndim; ++d) s.stride[d] = o.data ? o.strides[d] : 0;
  }
  int64_t numel() const {
    int64_t all = 1;
    for (int d = 0; d < ndim; ++d) all *= size[d];
    return all;
  }
  uint64_t bytes() const {  // of all operands
    int64_t each = 0;
    for (int i = 0; i < n; ++i) each += item_size(side[i].dtype);
    return static_cast<uint64_t>(numel() * each);
  }
  void exchange(int a, int b) {
    std::swap(size[a], size[b]);
    for (int i = 0; i < n; ++i) std::swap(side[i].stride[a], side[i].stride[b]);
  }
  // Dimension `from` to place `to`, those between move up or down.
  void move(int from, int to) {
    for (; from < to; ++from) exchange(from, from + 1);
    for (; from > to; --from) exchange(from, from - 1);
  }
  // The result's fastest dimension last: for calls whose elements may come in any order.
  void sort_by_result() {
    for (int i = 1; i < ndim; ++i)
      for (int d = i; d > 0 && side[0].stride[d - 1] < side[0].stride[d] && size[d] > 1; --d) exchange(d - 1, d);
  }
  // Merges dimensions among `begin` … `end` - 1; returns how many of them are left.
  int merge(int begin, int end) {
    int kept = begin;
    for (int d = begin; d < end; ++d) {
      if (size[d] == 1) continue;
      bool one = kept > begin;
      for (int i = 0; one && i < n; ++i) one = side[i].stride[kept - 1] == side[i].stride[d] * size[d];
      if (one) {
        size[kept - 1] *= size[d];
        for (int i = 0; i < n; ++i) side[i].stride[kept - 1] = side[i].stride[d];
      } else {
        size[kept] = size[d];
        for (int i = 0; i < n; ++i) side[i].stride[kept] = side[i].stride[d];
        ++kept;
      }
    }
    const int gone = end - kept;
    for (int d = end; d < ndim; ++d) {
      size[d - gone] = size[d];
      for (int i = 0; i < n; ++i) side[i].stride[d - gone] = side[i].stride[d];
    }
    ndim -= gone;
    return kept - begin;
  }
  View view(int i, int from = 0, int to = -1) const {  // the dimensions from … to - 1 of an operand
    if (to < 0) to = ndim;
    return view_of(side[i].data, to - from, size + from, side[i].stride + from, side[i].dtype);
  }
  // Calls f for every part with at most kMaxDims dimensions.
  template <class F>
  void parts(F f) {
    if (ndim <= kMaxDims) return f(*this);
    Walk inner = *this;
    inner.ndim = ndim - 1;
    for (int d = 0; d + 1 < ndim; ++d) {
      inner.size[d] = size[d + 1];
      for (int i = 0; i < n; ++i) inner.side[i].stride[d] = side[i].stride[d + 1];
    }
    for (int64_t at = 0; at < size[0]; ++at) {
      inner.parts(f);
      for (int i = 0; i < n; ++i)
        if (inner.side[i].data) inner.side[i].data += side[i].stride[0];
    }
  }
};

}  // namespace hammerblade
