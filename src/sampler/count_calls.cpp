// SPDX-License-Identifier: Apache-2.0
// What runs between a caller and the function that it calls. Compiled to use no vector registers, which may hold the
// call's arguments.
#include <dlfcn.h>
#include <link.h>
#include <time.h>

#include "sampler/call_table.h"

namespace fc::sampler {

CallTable* calls;
Counted counted[kCallees];
uint32_t product_callees[kProductCallees];
const void* object_maps[kObjects];

namespace {

void add(uint64_t& to, uint64_t amount) { __atomic_fetch_add(&to, amount, __ATOMIC_RELAXED); }
bool claim(uint64_t& slot, uint64_t& found, uint64_t key) {
  return __atomic_compare_exchange_n(&slot, &found, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

uint64_t mix(uint64_t h) {
  h = (h ^ h >> 29) * 0xBF58476D1CE4E5B9u;
  return h ^ h >> 32;
}

// The linker's functions may use vector registers, and a call's arguments are in them.
struct alignas(16) KeptVectors {
  char bytes[8][16];
  KeptVectors() {
    asm volatile(
        "movaps %%xmm0, (%0)\n movaps %%xmm1, 16(%0)\n movaps %%xmm2, 32(%0)\n movaps %%xmm3, 48(%0)\n"
        "movaps %%xmm4, 64(%0)\n movaps %%xmm5, 80(%0)\n movaps %%xmm6, 96(%0)\n movaps %%xmm7, 112(%0)"
        :
        : "r"(bytes)
        : "memory");
  }
  ~KeptVectors() {
    asm volatile(
        "movaps (%0), %%xmm0\n movaps 16(%0), %%xmm1\n movaps 32(%0), %%xmm2\n movaps 48(%0), %%xmm3\n"
        "movaps 64(%0), %%xmm4\n movaps 80(%0), %%xmm5\n movaps 96(%0), %%xmm6\n movaps 112(%0), %%xmm7"
        :
        : "r"(bytes)
        : "memory");
  }
};

void locate(PairEntry& pair, uint64_t caller) {
  const KeptVectors kept;
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(caller - 1), &found) != 0) return;
  pair.offset = caller - found.dlfo_link_map->l_addr;
  for (uint32_t i = __atomic_load_n(&calls->objects, __ATOMIC_ACQUIRE); i-- > 0;) {
    if (object_maps[i] == found.dlfo_link_map) {
      pair.object = i + 1;
      break;
    }
  }
}

void count(uint64_t callee, uint64_t caller) {
  const uint64_t key = caller | callee << 48;
  const uint64_t h = mix(key * 0x9E3779B97F4A7C15u);
  // Threads count apart, so that they seldom write to one cache line.
  PairEntry* pairs = calls->pair[mix(reinterpret_cast<uint64_t>(__builtin_thread_pointer()) >> 12) % kShards];
  for (uint64_t i = 0; i < 256; ++i) {
    PairEntry& pair = pairs[(h + i) % kPairs];
    uint64_t here = __atomic_load_n(&pair.key, __ATOMIC_RELAXED);
    if (here == 0 && claim(pair.key, here, key)) {
      locate(pair, caller);
      here = key;
    }
    if (here == key) {
      add(pair.count, 1);
      return;
    }
  }
  add(calls->lost, 1);
}

uint64_t now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

char letter(uint64_t cblas) { return cblas == 111 ? 'N' : cblas == 112 ? 'T' : cblas == 113 ? 'C' : '?'; }
char letter(const char* fortran) { return static_cast<char>(*fortran & ~0x20); }

// The sizes, from the registers of the first six integer arguments.
ProductEntry* find_product(uint64_t callee, const ProductForm& form, const uint64_t* a) {
  auto size = [&](uint64_t argument) {
    if (form.interface == ProductForm::Fortran)
      return form.wide ? *reinterpret_cast<const uint64_t*>(argument)
                       : uint64_t{*reinterpret_cast<const uint32_t*>(argument)};
    return form.wide || form.interface == ProductForm::OneDnn ? argument : argument & UINT32_MAX;
  };
  char layout = 'C', ta, tb = 'N';
  uint64_t m, n = 1, k;
  const uint64_t* sizes = a + (form.vector ? 1 : 2);
  if (form.interface == ProductForm::Cblas) {
    layout = (a[0] & UINT32_MAX) == 101 ? 'R' : 'C';
    ta = letter(a[1] & UINT32_MAX);
    if (!form.vector) tb = letter(a[2] & UINT32_MAX);
    ++sizes;
  } else if (form.interface == ProductForm::Fortran) {
    ta = letter(reinterpret_cast<const char*>(a[0]));
    if (!form.vector) tb = letter(reinterpret_cast<const char*>(a[1]));
  } else {
    layout = 'R';
    ta = static_cast<char>(a[0] & ~0x20);
    tb = static_cast<char>(a[1] & ~0x20);
  }
  m = size(sizes[0]);
  k = size(sizes[1]);
  if (form.vector) {  // the matrix is m by k, the vector is as long as the side that is summed
    if (ta != 'N') {
      const uint64_t rows = m;
      m = k;
      k = rows;
    }
  } else {
    n = k;
    k = size(sizes[2]);
  }
  const auto ways =
      callee | static_cast<uint64_t>(ta) << 16 | static_cast<uint64_t>(tb) << 24 | static_cast<uint64_t>(layout) << 32;
  const uint64_t key = mix(mix(mix(mix(ways * 0x9E3779B97F4A7C15u) + m) * 31 + n) * 31 + k) | 1;
  for (uint64_t i = 0; i < 256; ++i) {
    ProductEntry& p = calls->product[(key + i) % kProducts];
    uint64_t here = __atomic_load_n(&p.key, __ATOMIC_ACQUIRE);
    if (here == 0 && claim(p.key, here, key)) {
      p.callee = static_cast<uint32_t>(callee);
      p.transpose_a = ta, p.transpose_b = tb, p.layout = layout, p.kind = form.kind;
      p.m = m, p.n = n, p.k = k;
      here = key;
    }
    if (here == key) return &p;
  }
  return nullptr;
}

}  // namespace

}  // namespace fc::sampler

using namespace fc::sampler;

// Called by the assembly in audit.cpp. Each returns the function to go on with.
extern "C" uint64_t facula_count_call(uint64_t callee, uint64_t caller) {
  count(callee, caller);
  return counted[callee].target;
}

struct ProductCall {
  ProductEntry* entry;
  uint64_t start;
};

extern "C" uint64_t facula_begin_product(uint64_t product, uint64_t caller, const uint64_t* arguments,
                                         ProductCall* call) {
  const uint64_t callee = product_callees[product];
  count(callee, caller);
  call->entry = find_product(callee, counted[callee].form, arguments);
  call->start = now();
  return counted[callee].target;
}

extern "C" void facula_end_product(const ProductCall* call) {
  if (!call->entry) return;
  add(call->entry->nanoseconds, now() - call->start);
  add(call->entry->count, 1);
}
