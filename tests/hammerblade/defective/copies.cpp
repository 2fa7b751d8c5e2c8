// What copies, fills and comparisons touch, however the compiler spells them.
#include <kernel_common.hpp>
extern "C" {
struct Block {
  int words[250];
};

__attribute__((noinline)) int defect_copies(char* p, char* from, int how) {
  if (__bsg_id == 1) {
    switch (how) {
      case 0: __builtin_memmove(p + 600, p, 600); break;                                  // line: memmove
      case 1: __builtin_memcpy(p, from + 600, 600); break;                                // line: memcpy
      case 2: __builtin_memset(p + 990, 1, 48); break;                                    // line: memset
      case 3: __builtin_memcpy(p + 992, from, 12); break;                                 // line: twelve
      case 4: *reinterpret_cast<Block*>(p + 4) = *reinterpret_cast<Block*>(from); break;  // line: struct
      case 5: p[0] = static_cast<char>(__builtin_memcmp(p, from + 999, 4)); break;        // line: compare
      case 6: __builtin_memcpy(p + 998, from, 4); break;                                  // line: four
      case 7: p[0] = static_cast<char>(strlen(from)); break;                              // line: strlen
      case 8: memmove(p + static_cast<size_t>(how) * 100, p, 600); break;                 // line: library
      case 9: __builtin_bzero(p + 900, 101); break;                                       // line: bzero
    }
  }
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_copies, char*, char*, int)

// Neighbours copy what their owner fills, and no barrier lies between.
__attribute__((noinline)) int defect_copied_race(char* p, char* to) {
  const int tiles = bsg_tiles_X * bsg_tiles_Y;
  __builtin_memset(p + 100 * __bsg_id, 1, 100);
  __builtin_memcpy(to + 100 * __bsg_id, p + 100 * ((__bsg_id + 1) % tiles), 100);  // line: copied race
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(defect_copied_race, char*, char*)
}
