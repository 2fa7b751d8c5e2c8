// SPDX-License-Identifier: Apache-2.0
// An audit module of the dynamic linker (rtld-audit(7)): whenever an object is bound to a function of a chosen object,
// through its linkage table or dlsym, it gets a function of ours that counts the call and goes on to the real one.
// FACULA_CALLS=FOLDER:NAME,NAME... says where to write and which objects to count calls into; a name is a file's name
// up to a dot (libopenblas.so), a path, or `all`.
//
// It lives in a namespace of its own, with a C library of its own: it starts no thread, allocates nothing and prints
// nothing. The linker calls la_objopen and la_symbind64 one at a time.
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sampler/call_table.h"

#define FC_EXPORT __attribute__((visibility("default")))

// One entry of sixteen bytes for each function that can be counted: says its number and goes on to what all share. The
// unwinding rule says that eight bytes are on the stack from the entry's fifth byte on.
asm(R"(
  .text
  .macro FACULA_ENTRIES name to many
  .p2align 4
  .type \name, @function
\name:
  .cfi_startproc
  .cfi_escape 0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x35, 0x2a, 0x33, 0x24, 0x22
  .set number, 0
  .rept \many
  .p2align 4
  .byte 0x68
  .long number
  jmp \to
  .set number, number + 1
  .endr
  .cfi_endproc
  .size \name, . - \name
  .endm

  .p2align 4
  .type facula_count, @function
facula_count:
  .cfi_startproc
  .cfi_def_cfa_offset 16
  push %rax
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  push %r10
  .cfi_def_cfa_offset 80
  mov 64(%rsp), %rdi
  mov 72(%rsp), %rsi
  call facula_count_call@PLT
  mov %rax, %r11
  pop %r10
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  pop %rax
  .cfi_def_cfa_offset 16
  add $8, %rsp
  .cfi_def_cfa_offset 8
  jmp *%r11
  .cfi_endproc
  .size facula_count, . - facula_count

  # A product is called, not jumped to, so that it can be timed: its arguments on the stack (eight of gemm's fourteen)
  # are copied. Frame, from rbp down: 16 bytes ProductCall, 6 registers, rax, 8 vector registers, 12 words of arguments.
  .p2align 4
  .type facula_product, @function
facula_product:
  .cfi_startproc
  .cfi_def_cfa_offset 16
  push %rbp
  .cfi_def_cfa_offset 24
  .cfi_offset %rbp, -24
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  sub $296, %rsp
  mov %rdi, -64(%rbp)
  mov %rsi, -56(%rbp)
  mov %rdx, -48(%rbp)
  mov %rcx, -40(%rbp)
  mov %r8, -32(%rbp)
  mov %r9, -24(%rbp)
  mov %rax, -72(%rbp)
  movups %xmm0, -88(%rbp)
  movups %xmm1, -104(%rbp)
  movups %xmm2, -120(%rbp)
  movups %xmm3, -136(%rbp)
  movups %xmm4, -152(%rbp)
  movups %xmm5, -168(%rbp)
  movups %xmm6, -184(%rbp)
  movups %xmm7, -200(%rbp)
  mov 8(%rbp), %rdi
  mov 16(%rbp), %rsi
  lea -64(%rbp), %rdx
  lea -16(%rbp), %rcx
  and $-16, %rsp
  call facula_begin_product@PLT
  mov %rax, %r11
  .set word, 0
  .rept 12
  mov 24 + word(%rbp), %rax
  mov %rax, word(%rsp)
  .set word, word + 8
  .endr
  mov -64(%rbp), %rdi
  mov -56(%rbp), %rsi
  mov -48(%rbp), %rdx
  mov -40(%rbp), %rcx
  mov -32(%rbp), %r8
  mov -24(%rbp), %r9
  mov -72(%rbp), %rax
  movups -88(%rbp), %xmm0
  movups -104(%rbp), %xmm1
  movups -120(%rbp), %xmm2
  movups -136(%rbp), %xmm3
  movups -152(%rbp), %xmm4
  movups -168(%rbp), %xmm5
  movups -184(%rbp), %xmm6
  movups -200(%rbp), %xmm7
  call *%r11
  mov %rax, -72(%rbp)
  lea -16(%rbp), %rdi
  call facula_end_product@PLT
  mov -72(%rbp), %rax
  leave
  .cfi_restore %rbp
  .cfi_def_cfa %rsp, 16
  add $8, %rsp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size facula_product, . - facula_product

  FACULA_ENTRIES facula_count_entries facula_count 32768
  FACULA_ENTRIES facula_product_entries facula_product 1024
)");

extern "C" char facula_count_entries[], facula_product_entries[];  // code, never written

namespace fc::sampler {

namespace {

constexpr size_t kEntryBytes = 16;
static_assert(kCallees == 32768 && kProductCallees == 1024);  // as many entries as the assembly has
uint32_t products;
const char* chosen_names;  // NAME,NAME,...
char program[4096];

uint32_t keep_name(const char* name) {
  const size_t bytes = strlen(name) + 1;
  const uint64_t at = calls->name_bytes;
  if (at + bytes > kNameBytes) return 0;
  memcpy(calls->names + at, name, bytes);
  calls->name_bytes = at + bytes;
  return static_cast<uint32_t>(at);
}

bool same_file(const char* a, const char* b) {
  struct stat one, two;
  return stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

// What a library calls itself, whatever its file is called: OpenBLAS's own install has libopenblas.so.0 in a file
// libopenblas_haswellp-r0.3.21.so.
const char* own_name(const link_map& map) {
  const char* texts = nullptr;
  uint64_t at = 0;
  for (const ElfW(Dyn)* d = map.l_ld; d && d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_SONAME) at = d->d_un.d_val;
    // The C library makes it an address when it loads the object; the kernel's object has a distance.
    if (d->d_tag == DT_STRTAB)
      texts = reinterpret_cast<const char*>(d->d_un.d_ptr < map.l_addr ? map.l_addr + d->d_un.d_ptr : d->d_un.d_ptr);
  }
  return texts && at ? texts + at : "";
}

// Which of the names the object has, from 1; 0: none.
uint32_t chosen_by(const link_map& map, const char* path) {
  const char* slash = strrchr(path, '/');
  const char* file = slash ? slash + 1 : path;
  const char* own = own_name(map);
  uint32_t place = 1;
  for (const char* name = chosen_names; *name; ++place) {
    const char* comma = strchrnul(name, ',');
    const auto length = static_cast<size_t>(comma - name);
    char one[4096];
    if (length && length < sizeof one) {
      memcpy(one, name, length);
      one[length] = 0;
      // The linker's own functions are bound while it works; the kernel's have no file.
      if (!strcmp(one, "all") && strncmp(file, "ld-linux", 8) && strncmp(file, "linux-vdso", 10)) return place;
      if (strchr(one, '/') && same_file(one, path)) return place;
      for (const char* known : {file, own})
        if (!strncmp(known, one, length) && (known[length] == 0 || known[length] == '.')) return place;
    }
    name = *comma ? comma + 1 : comma;
  }
  return 0;
}

// cblas_sgemm, sgemm_, dnnl_sgemm, the same with gemv, and as NumPy's wheels call them: scipy_cblas_sgemm64_.
ProductForm form_of(const char* name) {
  ProductForm form = {};
  if (!strcmp(name, "dnnl_sgemm")) {
    form.interface = ProductForm::OneDnn;
    form.kind = 's';
    return form;
  }
  if (!strncmp(name, "scipy_", 6)) name += 6;
  const bool cblas = !strncmp(name, "cblas_", 6);
  if (cblas) name += 6;
  if (!*name || !strchr("sdcz", *name)) return form;
  const char kind = *name;
  const bool matrix = !strncmp(name + 1, "gemm", 4), vector = !strncmp(name + 1, "gemv", 4);
  if (!matrix && !vector) return form;
  const char* rest = name + 5;
  const bool wide = !strcmp(rest, "64_") || !strcmp(rest, "_64") || !strcmp(rest, "_64_");
  if (!wide && strcmp(rest, cblas ? "" : "_") != 0) return form;
  form.interface = cblas ? ProductForm::Cblas : ProductForm::Fortran;
  form.vector = vector;
  form.wide = wide;
  form.kind = kind;
  return form;
}

bool open_table(const char* folder) {
  char path[4096];
  int file = -1;
  for (int turn = 0; file < 0 && turn < 1000; ++turn) {
    snprintf(path, sizeof path, "%s/%d-%d.calls", folder, getpid(), turn);
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno != EEXIST) return false;
  }
  if (file < 0) return false;
  void* mapped = MAP_FAILED;
  if (syscall(SYS_fallocate, file, 0, 0, sizeof(CallTable)) == 0)
    mapped = mmap(nullptr, sizeof(CallTable), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) {
    unlink(path);
    return false;
  }
  calls = static_cast<CallTable*>(mapped);
  calls->process = static_cast<uint32_t>(getpid());
  const uint64_t sizes[] = {kCallees, kShards, kPairs, kProducts, kObjects, kNameBytes};
  memcpy(calls->sizes, sizes, sizeof sizes);
  calls->name_bytes = 1;  // the empty name
  memcpy(calls->magic, "FACCALL1", 8);
  return true;
}

extern "C" void nothing() { asm volatile(""); }

// What counting costs on this machine: calls of a function that does nothing, with and without it.
void measure() {
  constexpr int kCalls = 2000;
  constexpr size_t kSpare = kCallees - 1;
  counted[kSpare].target = reinterpret_cast<uint64_t>(&nothing);
  void (*ways[2])() = {nothing, reinterpret_cast<void (*)()>(facula_count_entries + kEntryBytes * kSpare)};
  int64_t spent[2];
  for (int round = 0; round < 2; ++round) {  // the first one warms up
    for (int way = 0; way < 2; ++way) {
      timespec start, end;
      clock_gettime(CLOCK_MONOTONIC, &start);
      void (*volatile function)() = ways[way];
      for (int i = 0; i < kCalls; ++i) function();
      clock_gettime(CLOCK_MONOTONIC, &end);
      spent[way] = (end.tv_sec - start.tv_sec) * 1'000'000'000 + end.tv_nsec - start.tv_nsec;
    }
  }
  calls->call_ps = static_cast<uint32_t>(std::clamp<int64_t>((spent[1] - spent[0]) * 1000 / kCalls, 0, 1'000'000));
  counted[kSpare] = {};
}

// Callees by address and name, 0 is free. Only the linker's calls look here, one at a time.
uint16_t slots[2 * kCallees];

uintptr_t bind(uint32_t object, uint64_t target, const char* name) {
  uint32_t slot = static_cast<uint32_t>(target * 0x9E3779B97F4A7C15u >> 32) % (2 * kCallees);
  uint32_t i = 0;
  for (;; slot = (slot + 1) % (2 * kCallees)) {
    if (!slots[slot]) {
      i = calls->callees;
      if (i == kCallees - 1) {  // the last one is measure()'s
        ++calls->uncounted;
        return target;
      }
      counted[i] = {target, form_of(name)};
      calls->callee[i] = {target - calls->object[object].address, object, keep_name(name)};
      calls->callees = i + 1;
      slots[slot] = static_cast<uint16_t>(i + 1);
      break;
    }
    i = slots[slot] - 1u;
    if (counted[i].target == target && !strcmp(calls->names + calls->callee[i].name, name)) break;
  }
  if (counted[i].form.interface != ProductForm::None) {
    uint32_t product = 0;
    while (product < products && product_callees[product] != i) ++product;
    if (product < kProductCallees) {
      product_callees[product] = i;
      if (product == products) ++products;
      return reinterpret_cast<uintptr_t>(facula_product_entries + kEntryBytes * product);
    }
  }
  return reinterpret_cast<uintptr_t>(facula_count_entries + kEntryBytes * i);
}

}  // namespace

}  // namespace fc::sampler

using namespace fc::sampler;

extern "C" FC_EXPORT unsigned la_version(unsigned) {
  const char* given = getenv("FACULA_CALLS");
  const char* colon = given ? strchr(given, ':') : nullptr;
  char folder[3072];
  if (!colon || static_cast<size_t>(colon - given) >= sizeof folder) return 0;  // 0: the module is not wanted
  memcpy(folder, given, static_cast<size_t>(colon - given));
  folder[colon - given] = 0;
  chosen_names = colon + 1;
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = 0;
  if (!open_table(folder)) return 0;
  measure();
  return LAV_CURRENT;
}

extern "C" FC_EXPORT unsigned la_objopen(link_map* map, Lmid_t space, uintptr_t* cookie) {
  const uint32_t i = calls->objects;
  *cookie = 0;
  if (space != LM_ID_BASE || i == kObjects) return 0;
  const char* path = map->l_name && *map->l_name ? map->l_name : program;
  const uint32_t chosen = chosen_by(*map, path);
  calls->object[i] = {map->l_addr, keep_name(path), chosen};
  object_maps[i] = map;
  __atomic_store_n(&calls->objects, i + 1, __ATOMIC_RELEASE);
  *cookie = i + 1;
  return chosen ? LA_FLG_BINDFROM | LA_FLG_BINDTO : unsigned{LA_FLG_BINDFROM};
}

extern "C" FC_EXPORT uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned, uintptr_t*, uintptr_t* defined_by, unsigned*,
                                            const char* name) {
  const auto type = ELF64_ST_TYPE(symbol->st_info);
  const auto object = static_cast<uint32_t>(*defined_by - 1);
  // dlsym asks for every object that may be bound from, whether it may be bound to or not.
  if (*defined_by == 0 || !calls->object[object].chosen || (type != STT_FUNC && type != STT_GNU_IFUNC))
    return symbol->st_value;
  return bind(object, symbol->st_value, name);
}
