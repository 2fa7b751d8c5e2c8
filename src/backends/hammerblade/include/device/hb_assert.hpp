// SPDX-License-Identifier: Apache-2.0
// An assertion that names tile and line: in the emulator it ends the launch, on the chip the program.
#ifndef HB_ASSERT_HPP
#define HB_ASSERT_HPP

#include "bsg_manycore.h"

#ifdef HB_EMUL
#define hb_assert(condition)                                                                            \
  do {                                                                                                  \
    if (!(condition)) hb_emul_fail(__FILE__, __LINE__, "assertion failed: %s", #condition);             \
  } while (0)
#define hb_assert_msg(condition, ...)                                    \
  do {                                                                   \
    if (!(condition)) hb_emul_fail(__FILE__, __LINE__, __VA_ARGS__);     \
  } while (0)
#else
#define hb_assert(condition)                                       \
  do {                                                             \
    if (!(condition)) {                                            \
      bsg_printf("assert failed at %s:%d", __FILE__, __LINE__);    \
      bsg_fail();                                                  \
    }                                                              \
  } while (0)
#define hb_assert_msg(condition, ...)                              \
  do {                                                             \
    if (!(condition)) {                                            \
      bsg_printf("assert failed at %s:%d ", __FILE__, __LINE__);   \
      bsg_printf(__VA_ARGS__);                                     \
      bsg_fail();                                                  \
    }                                                              \
  } while (0)
#endif

#define hb_tile_print(tile, ...)                    \
  do {                                              \
    if (__bsg_id == (tile)) bsg_printf(__VA_ARGS__); \
  } while (0)

#endif
