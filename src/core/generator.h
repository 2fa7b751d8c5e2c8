// SPDX-License-Identifier: Apache-2.0
// Random generators. The CPU's is MT19937 with PyTorch's seeding and draws; a device may bring its own engine.
// A generator is locked by its user while a whole operator draws from it.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/device.h"
#include "core/ref.h"

namespace fc {

class Generator : public RefCounted {
 public:
  explicit Generator(Device device = {}, uint64_t seed = 67280421310721);

  Device device() const { return device_; }
  uint64_t initial_seed() const { return seed_; }
  void set_seed(uint64_t seed);
  uint64_t seed();  // draws a seed from the system and uses it

  uint32_t random();                        // 32 bits
  uint64_t random64();                      // two draws, the first is the high word
  void random(uint32_t* words, int64_t n);  // n draws

  // The second half of a pair of normals, kept for the next scalar draw, as PyTorch does.
  bool has_next_normal = false, has_next_float_normal = false;
  double next_normal = 0;
  float next_float_normal = 0;

  std::vector<uint8_t> state() const;             // PyTorch's 5056-byte layout
  void set_state(const std::vector<uint8_t>& s);  // throws on any other size or content
  Ref<Generator> clone() const;

  std::mutex mutex;

 private:
  void refill();

  Device device_;
  uint64_t seed_;
  uint32_t words_[624];
  int left_ = 1;
  uint32_t next_ = 0;
};

Generator& default_generator();  // the CPU's
Ref<Generator> default_generator_ref();

}  // namespace fc
