// SPDX-License-Identifier: Apache-2.0
// Random numbers: element i is made from the words of its own Philox counter (facula/random.hpp), so the numbers do
// not depend on how many tiles there are.
#include <facula_hb/kernel.h>

#include "facula/random.hpp"

namespace {

namespace backend = facula::backend;

backend::Words words_of(int64_t seed, int64_t offset, int32_t element) {
  return backend::philox(static_cast<uint64_t>(seed), static_cast<uint64_t>(offset) + static_cast<uint64_t>(element));
}

template <class T>
void draw(hb::Out<T> out, hb::Changed<float> p, int32_t opcode, float a, float b, hb::Ignored, hb::Ignored,
          int64_t seed, int64_t offset) {
  hb::each(out.numel, [&](int32_t i) {
    const float chance = p.defined() ? hb::load(p.data + p.offset(i)) : a;
    const float x = backend::draw(opcode, words_of(seed, offset, i), a, b, chance);
    hb::store(out.data + out.offset(i), static_cast<T>(x));
  });
}

template <class T>
void draw_integers(hb::Out<T> out, hb::Ignored, hb::Ignored, hb::Ignored, hb::Ignored, int64_t low, int64_t range,
                   int64_t seed, int64_t offset) {
  hb::each(out.numel, [&](int32_t i) {
    const int64_t x = backend::draw_integer(words_of(seed, offset, i), low, static_cast<uint64_t>(range));
    hb::store(out.data + out.offset(i), static_cast<T>(x));
  });
}

}  // namespace

#define HB_DRAW(name, T, suffix) HB_FAMILY_KERNEL(tensorlib_random##suffix, &draw<T>, FC_FAMILY_RANDOM, 0, T)
#define HB_DRAW_INTEGERS(name, T, suffix) \
  HB_FAMILY_KERNEL(tensorlib_random_integers##suffix, &draw_integers<T>, FC_FAMILY_RANDOM, 1, T)
HB_ALL(HB_DRAW, random)
HB_ALL(HB_DRAW_INTEGERS, random)
