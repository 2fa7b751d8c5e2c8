// SPDX-License-Identifier: Apache-2.0
// Preloaded by tests/faults: counts the allocations that our libraries make, makes one of them fail, and knows which of
// them are alive. Ours is what is called from libfacula or the Python module, also through libstdc++ (strings,
// streams); the interpreter and other libraries get their memory as ever. Any thread may allocate; one at a time arms.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void __libc_free(void*);
void* __libc_memalign(size_t, size_t);
}

namespace {

struct Range {
  uintptr_t begin = 0, end = 0;
  bool has(const void* p) const { return reinterpret_cast<uintptr_t>(p) - begin < end - begin; }
};
Range ours[2], standard;     // libfacula and _C; libstdc++
std::atomic<bool> watching;  // off: only passes on
std::atomic<int64_t> count, fail_at, alive;
void* where[64];  // stack of the allocation that failed
std::atomic<int> depth_of_where;
thread_local bool inside;     // backtrace() may allocate
thread_local size_t refused;  // size of a block just refused: who tries again is refused again

// Addresses of ours that are alive: open addressing, never grown.
constexpr size_t kSlots = 1 << 18;
std::atomic<uintptr_t> slots[kSlots];
size_t slot_of(uintptr_t p) { return (p >> 4) * 0x9E3779B97F4A7C15u >> 46; }
constexpr uintptr_t kGone = 1;

void remember(void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  for (size_t i = slot_of(address), n = 0; n < kSlots; ++n, i = (i + 1) % kSlots) {
    uintptr_t free = slots[i].load();
    if ((free == 0 || free == kGone) && slots[i].compare_exchange_strong(free, address)) {
      ++alive;
      return;
    }
  }
}

void forget(void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  for (size_t i = slot_of(address), n = 0; n < kSlots; ++n, i = (i + 1) % kSlots) {
    const uintptr_t here = slots[i].load();
    if (here == 0) return;
    if (here == address) {
      slots[i] = kGone;
      --alive;
      return;
    }
  }
}

bool is_ours(void* caller) {
  if (ours[0].has(caller) || ours[1].has(caller)) return true;
  if (!standard.has(caller)) return false;
  void* stack[16];
  const int n = backtrace(stack, 16);
  int i = 0;
  while (i < n && stack[i] != caller) ++i;
  while (i < n && standard.has(stack[i])) ++i;
  return i < n && (ours[0].has(stack[i]) || ours[1].has(stack[i]));
}

// Whether this allocation is to fail. `mine`: whether it is one of ours.
bool fails(void* caller, size_t bytes, bool& mine) {
  mine = false;
  if (!watching || inside) return false;
  inside = true;
  mine = is_ours(caller);
  bool fail = false;
  if (mine) {
    fail = refused == bytes;
    refused = 0;
    if (!fail && count.fetch_add(1) + 1 == fail_at) {
      fail = true;
      refused = bytes;
      depth_of_where = backtrace(where, 64);
    }
  }
  inside = false;
  return fail;
}

void* take(void* caller, size_t bytes, size_t align) {
  bool mine;
  if (fails(caller, bytes, mine)) return nullptr;
  if (bytes == 0) bytes = 1;
  void* p = align <= 16 ? __libc_malloc(bytes) : __libc_memalign(align, bytes);
  if (mine && p) remember(p);
  return p;
}

void* take_or_throw(void* caller, size_t bytes, size_t align) {
  void* p = take(caller, bytes, align);
  refused = 0;  // nobody asks operator new twice
  if (!p) throw std::bad_alloc();
  return p;
}

int see(dl_phdr_info* info, size_t, void*) {
  Range* range = std::strstr(info->dlpi_name, "libfacula.so")   ? &ours[0]
                 : std::strstr(info->dlpi_name, "facula/_C")    ? &ours[1]
                 : std::strstr(info->dlpi_name, "libstdc++.so") ? &standard
                                                                : nullptr;
  if (!range) return 0;
  range->begin = UINTPTR_MAX;
  range->end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& h = info->dlpi_phdr[i];
    if (h.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + h.p_vaddr;
    if (begin < range->begin) range->begin = begin;
    if (begin + h.p_memsz > range->end) range->end = begin + h.p_memsz;
  }
  return 0;
}

}  // namespace

void* operator new(size_t n) { return take_or_throw(__builtin_return_address(0), n, 0); }
void* operator new[](size_t n) { return take_or_throw(__builtin_return_address(0), n, 0); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return take(__builtin_return_address(0), n, 0); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return take(__builtin_return_address(0), n, 0); }
void* operator new(size_t n, std::align_val_t a) {
  return take_or_throw(__builtin_return_address(0), n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a) {
  return take_or_throw(__builtin_return_address(0), n, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { free(p); }
void operator delete[](void* p) noexcept { free(p); }
void operator delete(void* p, size_t) noexcept { free(p); }
void operator delete[](void* p, size_t) noexcept { free(p); }
void operator delete(void* p, std::align_val_t) noexcept { free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { free(p); }

extern "C" {

void* aligned_alloc(size_t align, size_t n) noexcept { return take(__builtin_return_address(0), n, align); }

void free(void* p) noexcept {
  if (p && watching) forget(p);
  __libc_free(p);
}

// From here on allocations are counted and remembered. The libraries are loaded by now.
void faults_watch() {
  void* warm[2];
  backtrace(warm, 2);  // loads what it needs
  dl_iterate_phdr(see, nullptr);
  std::set_terminate([] {  // the stack above is where it ends
    backtrace_symbols_fd(where, depth_of_where, 2);
    std::abort();
  });
  watching = true;
}
// The n-th allocation from now fails; 0: none. Starts to count anew.
void faults_arm(int64_t n) {
  if (n) depth_of_where = 0;
  count = 0;
  fail_at = n;
}
int64_t faults_count() { return count; }
int64_t faults_alive() { return alive; }
// Writes the stack of the allocation that failed; each line names a library and an address in it.
void faults_where(int file) { backtrace_symbols_fd(where, depth_of_where, file); }

}  // extern "C"
