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
/* The words that compile a kernel file for the chip of a machine (null: the default), separated by newlines; the file
 * and what becomes of it follow. */
long facula_hb_chip_words(const char* machine, char* out, size_t size);
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

/* Lines of addresses in a chip's program (a .riscv file), one for each, separated by newlines; "" for none. */
long facula_hb_lines(const char* program, const uint32_t* addresses, size_t count, char* out, size_t size);

/* What the tiles of the last launch printed, "(x,y) text" a line. */
long facula_hb_printed(char* out, size_t size);

/* ---- watching: memory, copies, fills and launches as they happen, and what kernels load and store -----------------
 * A watcher is told on the thread that does it, under the device's lock, one thing at a time. It may ask for sites; it
 * must not copy, launch or load programs. Any of its functions may be null.
 *
 * Accesses are those of kernels to the device's DRAM, in the order in which they happen on each tile; a launch's packet
 * and the tiles' scratchpads are left out. Mode "check" and the simulator tell them, mode "fast" cannot: the launch
 * says so. They come in batches, all of a launch before its end. A store is told when its value lies there, before
 * another tile runs: at the tile's next access, when it waits, or ends. What there was no memory for counts as lost. */
enum facula_hb_what {
  FACULA_HB_ALLOCATED, /* address, bytes; told once, with ended 1 */
  FACULA_HB_FREED,
  FACULA_HB_TO_DEVICE, /* a copy of bytes from `host` to address: told before (ended 0) and after (1) */
  FACULA_HB_TO_HOST,
  FACULA_HB_FILLED /* bytes at address become `value` */
};
typedef struct {
  int32_t what, ended;
  uint32_t address, value;
  uint64_t bytes;
  const void* host;
} facula_hb_memory_t;

typedef struct {
  uint64_t number; /* of the launch, from 1 */
  const char* kernel;
  const char* mode; /* "fast", "check", "sim" */
  int32_t ended;    /* 0: it begins; 1: it has ended; -1: something was found that ended it */
  int32_t told;     /* whether its accesses are */
  uint32_t tiles;   /* of all its groups: they are numbered below that in accesses */
  uint32_t argc;    /* its words, device addresses among them */
  const uint32_t* argv;
  uint64_t lost; /* at the end: accesses that are not told for want of memory */
} facula_hb_launch_t;

enum facula_hb_access_kind { FACULA_HB_LOAD, FACULA_HB_STORE, FACULA_HB_ATOMIC };
enum facula_hb_access_type { FACULA_HB_UNKNOWN, FACULA_HB_INTEGER, FACULA_HB_FLOAT };
typedef struct {
  uint64_t site;   /* the place in the kernel: for facula_hb_site */
  uint64_t value;  /* loaded, or what lies there after a store or atomic; the upper bytes are 0 */
  uint64_t before; /* of a store or atomic: what lay there */
  uint32_t address;
  uint32_t tile; /* group * tiles of a group + tile in its group */
  uint8_t bytes; /* 1, 2, 4 or 8; larger ones are told in pieces of 8 */
  uint8_t kind;  /* facula_hb_access_kind */
  uint8_t type;  /* facula_hb_access_type: what the instruction says */
  uint8_t reserved[5];
} facula_hb_access_t;

typedef struct {
  uint32_t size; /* of this struct */
  uint32_t reserved;
  void* context;
  void (*memory)(void* context, const facula_hb_memory_t* event);
  void (*launch)(void* context, const facula_hb_launch_t* launch);
  void (*accesses)(void* context, const facula_hb_access_t* all, size_t count);
} facula_hb_watcher_t;

/* From now on, beside those that watch already; the struct is copied. Returns its number, above 0. */
long facula_hb_watch(const facula_hb_watcher_t* watcher);
/* No longer, once this returns. None of that number: nothing. */
void facula_hb_unwatch(long number);
/* The line of a site in its kernel file, "kernel_add.cpp:12", with the header's in which it happened where there is
 * one. Valid until the launch that told it has ended, and longer while its program stays loaded. */
long facula_hb_site(uint64_t site, char* out, size_t size);
/* A program can be watched from outside: the library that the variable FACULA_HB_WATCH names is loaded when the device
 * is opened, and its function of this name is called once. Not 0: the device is not opened. */
#define FACULA_HB_WATCH_ENTRY "facula_hb_watch_program"

#ifdef __cplusplus
}
#endif
#endif
