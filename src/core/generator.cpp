// SPDX-License-Identifier: Apache-2.0
#include "core/generator.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "core/device_record.h"
#include "core/error.h"
#include "facula/random.hpp"

namespace fc {
namespace {

constexpr int kN = 624, kM = 397;

// The layout in which PyTorch stores a CPU generator: the classic state, then the cached float normal.
struct SavedState {
  uint64_t seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t words[kN];
  double normal_x, normal_y, normal_rho;
  int32_t normal_is_valid;
  int32_t padding;
  float next_float_normal;
  uint8_t has_next_float_normal;
  uint8_t tail[3];
};
static_assert(sizeof(SavedState) == 5056);

uint32_t temper(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

}  // namespace

CpuGenerator::CpuGenerator(uint64_t seed) : Generator(Device{}) { set_seed(seed); }

void CpuGenerator::set_seed(uint64_t seed) {
  seed_ = seed;
  words_[0] = static_cast<uint32_t>(seed);
  for (int i = 1; i < kN; ++i)
    words_[i] = 1812433253u * (words_[i - 1] ^ (words_[i - 1] >> 30)) + static_cast<uint32_t>(i);
  left_ = 1;
  next_ = 0;
  has_next_normal = has_next_float_normal = false;
  next_normal = next_float_normal = 0;
}

uint64_t system_seed() {
  uint64_t s = 0;
  FC_CHECK(getrandom(&s, sizeof s, 0) == sizeof s, "seed: the system gave no random bytes");
  return s & ((uint64_t{1} << 53) - 1);
}

uint64_t Generator::seed() {
  const uint64_t s = system_seed();
  set_seed(s);
  return s;
}

void CpuGenerator::refill() {
  auto mix = [](uint32_t u, uint32_t v) {
    return (((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1) ^ (-(v & 1) & 0x9908b0dfu);
  };
  int i = 0;  // three loops instead of indices modulo kN, so that the compiler vectorises the first two
  for (; i < kN - kM; ++i) words_[i] = words_[i + kM] ^ mix(words_[i], words_[i + 1]);
  for (; i < kN - 1; ++i) words_[i] = words_[i + kM - kN] ^ mix(words_[i], words_[i + 1]);
  words_[i] = words_[i + kM - kN] ^ mix(words_[i], words_[0]);
  left_ = kN;
  next_ = 0;
}

uint32_t CpuGenerator::random() {
  if (--left_ == 0) refill();
  return temper(words_[next_++]);
}

void CpuGenerator::random(uint32_t* out, int64_t n) {
  while (n > 0) {
    if (left_ == 1) {
      refill();
      left_ = kN + 1;
    }
    int64_t take = std::min<int64_t>(n, left_ - 1);
    for (int64_t i = 0; i < take; ++i) out[i] = temper(words_[next_ + i]);
    out += take;
    n -= take;
    next_ += static_cast<uint32_t>(take);
    left_ -= static_cast<int>(take);
  }
}

uint64_t CpuGenerator::random64() {
  uint64_t high = random();
  return high << 32 | random();
}

std::vector<uint8_t> CpuGenerator::state() const {
  SavedState s{};
  s.seed = seed_;
  s.left = left_;
  s.seeded = 1;
  s.next = next_;
  for (int i = 0; i < kN; ++i) s.words[i] = words_[i];
  s.normal_is_valid = has_next_normal;
  s.normal_y = next_normal;
  s.has_next_float_normal = has_next_float_normal;
  s.next_float_normal = next_float_normal;
  std::vector<uint8_t> out(sizeof s);
  std::memcpy(out.data(), &s, sizeof s);
  return out;
}

void CpuGenerator::set_state(const std::vector<uint8_t>& bytes) {
  SavedState s;
  FC_CHECK(bytes.size() == sizeof s, "Expected a CPUGeneratorImplState of size ", sizeof s,
           " but found the input RNG state size to be ", bytes.size());
  std::memcpy(&s, bytes.data(), sizeof s);
  const bool fresh = s.left == 1 && s.next == 0;
  FC_CHECK(s.seeded == 1 && s.left > 0 && s.next <= kN && (fresh || s.next + static_cast<uint64_t>(s.left) == kN + 1),
           "Invalid mt19937 state");
  seed_ = s.seed;
  left_ = s.left;
  next_ = static_cast<uint32_t>(s.next);
  for (int i = 0; i < kN; ++i) words_[i] = static_cast<uint32_t>(s.words[i]);
  has_next_normal = s.normal_is_valid != 0;
  next_normal = has_next_normal ? s.normal_y : 0;
  has_next_float_normal = s.has_next_float_normal != 0;
  next_float_normal = has_next_float_normal ? s.next_float_normal : 0;
}

Ref<Generator> CpuGenerator::clone() const {
  auto copy = make_ref<CpuGenerator>();
  copy->set_state(state());
  return copy;
}

std::vector<uint8_t> PhiloxGenerator::state() const {
  const uint64_t words[2] = {seed_, offset_};
  std::vector<uint8_t> out(sizeof words);
  std::memcpy(out.data(), words, sizeof words);
  return out;
}

void PhiloxGenerator::set_state(const std::vector<uint8_t>& bytes) {
  uint64_t words[2];
  FC_CHECK(bytes.size() == sizeof words, "RNG state is wrong size: a generator of '", device(), "' has ", sizeof words,
           " bytes, got ", bytes.size());
  std::memcpy(words, bytes.data(), sizeof words);
  seed_ = words[0];
  offset_ = words[1];
}

Ref<Generator> PhiloxGenerator::clone() const {
  auto copy = make_ref<PhiloxGenerator>(device(), seed_);
  copy->offset_ = offset_;
  return copy;
}

Ref<Generator> default_generator_ref() {
  static Ref<Generator>& g =
      *new Ref<Generator>(cpu_record().default_generator(Device{}));  // outlives every static object
  return g;
}
CpuGenerator& default_generator() { return static_cast<CpuGenerator&>(*default_generator_ref()); }

Ref<Generator> generator_for(std::string_view op, Device device, Generator* given) {
  if (!given) return device.is_cpu() ? default_generator_ref() : device_record(device).default_generator(device);
  FC_CHECK(given->device().type == device.type, op, ": Expected a '", device_type_name(device.type),
           "' device type for generator but found '", given->device(), "'");
  return Ref<Generator>(given);
}

Ref<CpuGenerator> host_generator(std::string_view op, Device device, Generator* given) {
  Ref<Generator> g = generator_for(op, device, given);
  if (device.is_cpu()) return Ref<CpuGenerator>(static_cast<CpuGenerator*>(g.get()));
  auto& philox = static_cast<PhiloxGenerator&>(*g);
  std::lock_guard lock(philox.mutex);
  const facula::backend::Words drawn = facula::backend::philox(philox.initial_seed(), philox.take(1));
  return make_ref<CpuGenerator>(uint64_t{drawn.w[0]} << 32 | drawn.w[1]);
}

}  // namespace fc
