// SPDX-License-Identifier: Apache-2.0
#include "core/instruction_set.h"

#include <strings.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fc {

// The kernels are compiled for whole levels, x86-64-v3 and v4; their rarer features come with these.
CpuLevel cpu_level_present() {
#if defined(FC_HAVE_AVX512)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
    return CpuLevel::AVX512;
#endif
#if defined(FC_HAVE_AVX2)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return CpuLevel::AVX2;
#endif
  return CpuLevel::Baseline;
}

static CpuLevel choose_level() {
  CpuLevel best = cpu_level_present();
  const char* wish = std::getenv("FACULA_CPU_CAPABILITY");
  if (!wish) wish = std::getenv("ATEN_CPU_CAPABILITY");
  if (!wish || !*wish) return best;
  CpuLevel level = best;
  if (strcasecmp(wish, "default") == 0 || strcasecmp(wish, "baseline") == 0) {
    level = CpuLevel::Baseline;
  } else if (strcasecmp(wish, "avx2") == 0) {
    level = CpuLevel::AVX2;
  } else if (strcasecmp(wish, "avx512") == 0) {
    level = CpuLevel::AVX512;
  } else {
    std::fprintf(stderr, "facula: CPU capability '%s' is not one of default, avx2, avx512: ignored\n", wish);
  }
  return level < best ? level : best;
}

CpuLevel cpu_level() {
  static const CpuLevel level = choose_level();
  return level;
}

const char* cpu_capability() {
  constexpr const char* names[] = {"DEFAULT", "AVX2", "AVX512"};
  return names[static_cast<int>(cpu_level())];
}

std::string cpu_model() {
  std::string model;
  std::FILE* f = std::fopen("/proc/cpuinfo", "r");
  if (!f) return model;
  char line[512];
  while (std::fgets(line, sizeof line, f)) {
    if (std::strncmp(line, "model name", 10) != 0) continue;
    if (const char* colon = std::strchr(line, ':')) model = colon + 2;
    break;
  }
  std::fclose(f);
  while (!model.empty() && model.back() == '\n') model.pop_back();
  return model;
}

#if defined(__x86_64__)
uint64_t float_mode() { return _mm_getcsr() & ~0x3fu; }  // without the flags of what has happened
void set_float_mode(uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
constexpr uint64_t flush_bits = 0x8040;  // flush to zero, denormals are zero
#elif defined(__aarch64__)
uint64_t float_mode() {
  uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void set_float_mode(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
constexpr uint64_t flush_bits = uint64_t{1} << 24;
#else
uint64_t float_mode() { return 0; }
void set_float_mode(uint64_t) {}
constexpr uint64_t flush_bits = 0;
#endif

bool set_flush_denormal(bool on) {
  set_float_mode(on ? float_mode() | flush_bits : float_mode() & ~flush_bits);
  return flush_bits != 0;
}

}  // namespace fc
