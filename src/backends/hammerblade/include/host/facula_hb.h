/* SPDX-License-Identifier: Apache-2.0 */
/* What Facula's emulator offers beyond CUDA-Lite, in C. Texts are written into `out`, cut to `size`; the result is the
 * whole length, or a negative status of bsg_manycore_errno.h. */
#ifndef FACULA_HB_H
#define FACULA_HB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The sentence of the last call of this thread that failed; "" when none did. */
const char* facula_hb_last_error(void);

/* The machine in effect (null), one of the shipped machines, or a file: its text, all keys with their values. */
long facula_hb_machine(const char* name_or_path, char* out, size_t size);
/* Makes it the machine of this process. */
int facula_hb_select_machine(const char* name_or_path);

/* "fast" or "check", and the seed of check mode's schedule. */
int facula_hb_set_mode(const char* mode, uint32_t seed);

/* The command that compiles kernel files into a library for "fast" or "check", the words separated by newlines. */
long facula_hb_compile_command(const char* mode, const char* output, const char* const* sources, size_t count,
                               char* out, size_t size);
/* Whether kernels can be compiled for the chip here, which mode "sim" needs. */
int facula_hb_has_chip_compiler(void);
/* The simulator's instructions by themselves, to compare with another machine's: from the first word until one that is
 * none of the tile's own or lies behind the last; loads and stores reach the data at `at`. Returns where it ended. */
long facula_hb_run_instructions(const uint32_t* words, size_t count, void* data, uint32_t at, size_t bytes);
/* Runs it. What the compiler said when it fails is the error's sentence. */
int facula_hb_compile(const char* mode, const char* output, const char* const* sources, size_t count);

/* Folders of this installation: "device" and "host" headers, "headers" (all that kernels include from, one a line),
 * "bare" headers for a compiler without a library, "machines", "library" (where libfacula_hb lies). */
long facula_hb_folder(const char* which, char* out, size_t size);

typedef struct {
  uint64_t launches, tiles, packet_bytes, copies, copied_bytes, allocations, frees, allocated_bytes, peak_bytes;
} facula_hb_counters_t;
void facula_hb_counters(facula_hb_counters_t* out);

/* What the tiles of the last launch printed, "(x,y) text" a line. */
long facula_hb_printed(char* out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
