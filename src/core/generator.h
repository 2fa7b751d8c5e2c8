// SPDX-License-Identifier: Apache-2.0
// Random generators. The CPU's is MT19937 with PyTorch's seeding and draws; a device's is Philox: a seed and a counter,
// from which the device draws by itself (facula/random.hpp). A generator is locked by its user while a whole operator
// draws from it.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/device.h"
#include "core/ref.h"

namespace fc {

inline constexpr uint64_t kDefaultSeed = 67280421310721;  // of a generator that a program makes
uint64_t system_seed();                                   // another one each time, exact as a Python float

class Generator : public RefCounted {
 public:
  Device device() const { return device_; }
  virtual uint64_t initial_seed() const = 0;
  virtual void set_seed(uint64_t seed) = 0;
  uint64_t seed();  // draws a seed from the system and uses it

  virtual std::vector<uint8_t> state() const = 0;             // in PyTorch's layout
  virtual void set_state(const std::vector<uint8_t>& s) = 0;  // throws on any other size or content
  virtual Ref<Generator> clone() const = 0;

  std::mutex mutex;

 protected:
  explicit Generator(Device device) : device_(device) {}

 private:
  Device device_;
};

class CpuGenerator final : public Generator {
 public:
  explicit CpuGenerator(uint64_t seed = kDefaultSeed);

  uint64_t initial_seed() const override { return seed_; }
  void set_seed(uint64_t seed) override;
  std::vector<uint8_t> state() const override;  // 5056 bytes
  void set_state(const std::vector<uint8_t>& s) override;
  Ref<Generator> clone() const override;

  uint32_t random();                        // 32 bits
  uint64_t random64();                      // two draws, the first is the high word
  void random(uint32_t* words, int64_t n);  // n draws

  // The second half of a pair of normals, kept for the next scalar draw, as PyTorch does.
  bool has_next_normal = false, has_next_float_normal = false;
  double next_normal = 0;
  float next_float_normal = 0;

 private:
  void refill();

  uint64_t seed_;
  uint32_t words_[624];
  int left_ = 1;
  uint32_t next_ = 0;
};

class PhiloxGenerator final : public Generator {  // of every device but the CPU
 public:
  PhiloxGenerator(Device device, uint64_t seed) : Generator(device), seed_(seed) {}

  uint64_t initial_seed() const override { return seed_; }
  void set_seed(uint64_t seed) override { seed_ = seed, offset_ = 0; }
  std::vector<uint8_t> state() const override;  // 16 bytes: seed, counter
  void set_state(const std::vector<uint8_t>& s) override;
  Ref<Generator> clone() const override;

  uint64_t offset() const { return offset_; }
  void set_offset(uint64_t offset) { offset_ = offset; }
  uint64_t take(uint64_t n) {  // the first of n counters that are the caller's now
    const uint64_t first = offset_;
    offset_ += n;
    return first;
  }

 private:
  uint64_t seed_, offset_ = 0;
};

CpuGenerator& default_generator();  // the CPU's
Ref<Generator> default_generator_ref();
// For operators that draw on the CPU, whatever device their tensors are on: the given one or the device's default one.
// Of another device than the CPU it is a fresh one, seeded by the next number of that device's. Throws if the given one
// is of another device type.
Ref<CpuGenerator> host_generator(std::string_view op, Device device, Generator* given);
// The given one or the device's default one; throws if it is of another device type.
Ref<Generator> generator_for(std::string_view op, Device device, Generator* given);

}  // namespace fc
