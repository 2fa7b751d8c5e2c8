// SPDX-License-Identifier: Apache-2.0
// The barrier of a tile group: g_barrier.sync() returns when every tile of the group has called it.
#ifndef BSG_TILE_GROUP_BARRIER_HPP
#define BSG_TILE_GROUP_BARRIER_HPP

#include "bsg_manycore.h"
#include "bsg_manycore_atomic.h"

#ifdef HB_EMUL
struct bsg_barrier {
  void sync() const { hb_emul_barrier(); }
  void reset() const {}
};
static constexpr bsg_barrier g_barrier{};
#else
// Which one is the machine's: software (0), hardware (1), a counter in DRAM (2).
#ifndef HB_BARRIER_KIND
#define HB_BARRIER_KIND 0
#endif
// C++ constructors do not run on the device: reset() is called by the start-up kernel. The object lies at the same
// place in every tile.
class bsg_barrier {
 public:
  void reset() {
    for (int i = 0; i < most_x; ++i) row_[i] = 0;
    for (int i = 0; i < most_y; ++i) column_[i] = 0;
    go_row_ = 0;
    go_column_ = 0;
    sense_ = 1;
#if HB_BARRIER_KIND
    if (__bsg_id == 0) {
      *count() = 0;
      bsg_fence();
    }
#endif
  }
#if HB_BARRIER_KIND == 1
  void sync() {
    bsg_fence();
    __asm__ volatile(".word 0x1000000f\n\t.word 0x2000000f" ::: "memory");  // barsend, barrecv
  }
#elif HB_BARRIER_KIND == 2
  // Whoever comes last lets the others go; they sleep until then.
  void sync() {
    const int sense = sense_;
    bsg_fence();
    if (bsg_amoadd_aq(count(), 1) == bsg_tiles_X * bsg_tiles_Y - 1) {
      bsg_amoswap(count(), 0);
      bsg_fence();
      for (int y = 0; y < bsg_tiles_Y; ++y)
        for (int x = 0; x < bsg_tiles_X; ++x) *bsg_remote_ptr(x, y, &go_row_) = sense;
    }
    bsg_wait_local((int*)&go_row_, sense);
    sense_ = !sense;
  }
#else
  // Rows first, then the left column; everybody waits in his own scratchpad for the word that lets him go.
  void sync() {
    const int sense = sense_, x = __bsg_x, y = __bsg_y;
    bsg_fence();
    *(volatile unsigned char*)bsg_remote_ptr(0, y, &row_[x]) = (unsigned char)sense;
    if (x == 0) {
      wait_for_all(row_, bsg_tiles_X, sense);
      *(volatile unsigned char*)bsg_remote_ptr(0, 0, &column_[y]) = (unsigned char)sense;
      if (y == 0) {
        wait_for_all(column_, bsg_tiles_Y, sense);
        for (int i = 0; i < bsg_tiles_Y; ++i) *bsg_remote_ptr(0, i, &go_column_) = sense;
      }
      bsg_wait_local((int*)&go_column_, sense);
      for (int i = 0; i < bsg_tiles_X; ++i) *bsg_remote_ptr(i, y, &go_row_) = sense;
    }
    bsg_wait_local((int*)&go_row_, sense);
    sense_ = !sense;
  }
#endif

 private:
  static constexpr int most_x = HB_BARRIER_KIND ? 4 : 64, most_y = HB_BARRIER_KIND ? 4 : 32;
  static int* count();
  static void wait_for_all(volatile unsigned char* arrived, int n, int sense) {
    for (int i = 0; i < n; ++i) {
      int* const word = (int*)((uintptr_t)&arrived[i] & ~(uintptr_t)3);
      while (arrived[i] != sense) {
        bsg_lr(word);
        if (arrived[i] == sense) break;
        bsg_lr_aq(word);
      }
    }
  }
  alignas(4) volatile unsigned char row_[most_x];
  alignas(4) volatile unsigned char column_[most_y];
  volatile int go_row_, go_column_, sense_;
};
extern "C" {
extern bsg_barrier g_barrier;
extern int __hb_barrier_counts[];  // in DRAM, one for each tile that may be a group's first
}
inline int* bsg_barrier::count() { return &__hb_barrier_counts[(__bsg_grp_org_y << 6) + __bsg_grp_org_x]; }
#endif

#endif
