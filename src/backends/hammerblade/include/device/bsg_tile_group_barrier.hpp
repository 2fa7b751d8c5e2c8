// SPDX-License-Identifier: Apache-2.0
// The barrier of a tile group: g_barrier.sync() returns when every tile of the group has called it.
#ifndef BSG_TILE_GROUP_BARRIER_HPP
#define BSG_TILE_GROUP_BARRIER_HPP

#include "bsg_manycore.h"

#ifdef HB_EMUL
struct bsg_barrier {
  void sync() const { hb_emul_barrier(); }
  void reset() const {}
};
static constexpr bsg_barrier g_barrier{};
#else
// Rows first, then the left column; everybody waits in his own scratchpad for the word that lets him go. C++ constructors
// do not run on the device: reset() is called by the start-up kernel.
template <int X, int Y>
class bsg_barrier {
 public:
  void reset() {
    for (int i = 0; i < X; ++i) row_[i] = 0;
    for (int i = 0; i < Y; ++i) column_[i] = 0;
    go_row_ = 0;
    go_column_ = 0;
    sense_ = 1;
  }
  void sync() {
    bsg_fence();
    const int sense = sense_;
    *bsg_remote_ptr(0, __bsg_y, &row_[__bsg_x]) = sense;
    if (__bsg_x == 0) {
      for (int i = 0; i < X; ++i) bsg_wait_local((int*)&row_[i], sense);
      *bsg_remote_ptr(0, 0, &column_[__bsg_y]) = sense;
      if (__bsg_y == 0) {
        for (int i = 0; i < Y; ++i) bsg_wait_local((int*)&column_[i], sense);
        for (int i = 0; i < Y; ++i) *bsg_remote_ptr(0, i, &go_column_) = sense;
      }
      bsg_wait_local((int*)&go_column_, sense);
      for (int i = 0; i < X; ++i) *bsg_remote_ptr(i, __bsg_y, &go_row_) = sense;
    }
    bsg_wait_local((int*)&go_row_, sense);
    sense_ = !sense;
  }

 private:
  volatile int row_[X], column_[Y], go_row_, go_column_, sense_;
};
extern bsg_barrier<bsg_tiles_X, bsg_tiles_Y> g_barrier;
#endif

#endif
