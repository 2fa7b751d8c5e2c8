// SPDX-License-Identifier: Apache-2.0
// Comes before every kernel file in check mode. What compilers make of __builtin_memcpy and its kin after they have
// put in the calls of -fsanitize=thread is seen by nobody, so these become calls, which the linker turns into the
// emulator's. Up to a word of constant size they are a load and a store, which are seen.
#ifndef HB_EMUL_CALLS_H
#define HB_EMUL_CALLS_H

#ifdef __cplusplus
extern "C" {
#endif
void* hb_emul_memcpy(void*, const void*, __SIZE_TYPE__) __asm__("memcpy");
void* hb_emul_memmove(void*, const void*, __SIZE_TYPE__) __asm__("memmove");
void* hb_emul_memset(void*, int, __SIZE_TYPE__) __asm__("memset");
int hb_emul_memcmp(const void*, const void*, __SIZE_TYPE__) __asm__("memcmp");
#ifdef __cplusplus
}
#endif

#define HB_EMUL_WORD(n) (__builtin_constant_p(n) && ((n) == 1 || (n) == 2 || (n) == 4 || (n) == 8))
#define __builtin_memcpy(to, from, n) (HB_EMUL_WORD(n) ? __builtin_memcpy(to, from, n) : hb_emul_memcpy(to, from, n))
#define __builtin_memmove(to, from, n) (HB_EMUL_WORD(n) ? __builtin_memmove(to, from, n) : hb_emul_memmove(to, from, n))
#define __builtin_memset(to, value, n) hb_emul_memset(to, value, n)
#define __builtin_bzero(to, n) ((void)hb_emul_memset(to, 0, n))
#define __builtin_memcmp(a, b, n) hb_emul_memcmp(a, b, n)

#endif
