// SPDX-License-Identifier: Apache-2.0
// Device addresses, and a work-around for the chip.
#ifndef HB_COMMON_HPP
#define HB_COMMON_HPP

#include <stdint.h>

typedef uint32_t hb_eva_t;  // a device address; in the emulator device memory lies where its address says

// A load that is still under way when its register is written again blocks the first chips; naming the register between
// the two waits for the load.
#if defined(HB_EMUL) || !defined(__riscv)
#define HB_FIX_WAW_HAZARD(var) ((void)0)
#else
#define HB_FIX_WAW_HAZARD(var) __asm__ volatile("mv %0, %1" : "=r"(var) : "r"(var))
#endif

#endif
