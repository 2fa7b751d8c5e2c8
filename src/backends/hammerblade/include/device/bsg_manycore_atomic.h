// SPDX-License-Identifier: Apache-2.0
// Atomic operations on words in DRAM, done by the last-level cache: swap and or on every machine, add from 2021 on.
#ifndef BSG_MANYCORE_ATOMIC_H
#define BSG_MANYCORE_ATOMIC_H

#include "bsg_manycore.h"

#ifdef HB_EMUL
#ifdef HB_EMUL_CHECK
#define HB_AMO(suffix, what, builtin, instruction, order, c_order) \
  static inline int suffix(volatile int* p, int value) { return hb_emul_amo(what, p, value, order); }
#else
// One that changed nothing is a lock that somebody else holds: let him go on.
#define HB_AMO(suffix, what, builtin, instruction, order, c_order)         \
  static inline int suffix(volatile int* p, int value) {                   \
    int old = builtin(p, value, c_order);                                  \
    if (what != '+' && __builtin_expect(old == value, 0)) hb_emul_yield(); \
    return old;                                                            \
  }
#endif
#else
#define HB_AMO(suffix, what, builtin, instruction, order, c_order)                             \
  static inline int suffix(volatile int* p, int value) {                                       \
    int old;                                                                                   \
    __asm__ volatile(instruction " %0, %2, (%1)" : "=r"(old) : "r"(p), "r"(value) : "memory"); \
    return old;                                                                                \
  }
#endif

#define HB_AMOS(name, what, builtin, instruction)                          \
  HB_AMO(name, what, builtin, instruction, 0, __ATOMIC_RELAXED)            \
  HB_AMO(name##_aq, what, builtin, instruction ".aq", 1, __ATOMIC_ACQUIRE) \
  HB_AMO(name##_rl, what, builtin, instruction ".rl", 2, __ATOMIC_RELEASE) \
  HB_AMO(name##_aqrl, what, builtin, instruction ".aqrl", 3, __ATOMIC_ACQ_REL)

HB_AMOS(bsg_amoswap, 's', __atomic_exchange_n, "amoswap.w")
HB_AMOS(bsg_amoor, '|', __atomic_fetch_or, "amoor.w")
HB_AMOS(bsg_amoadd, '+', __atomic_fetch_add, "amoadd.w")

#undef HB_AMOS
#undef HB_AMO

#endif
