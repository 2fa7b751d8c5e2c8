// SPDX-License-Identifier: Apache-2.0
// Random numbers: element i is made from the words of its own Philox counter (facula/random.hpp), so the numbers do
// not depend on
// how many tiles there are.
#include <facula_hb/kernel.h>

#include "facula/random.hpp"

namespace {

fc_random call_of(int32_t opcode, double a, double b, int64_t low, int64_t range, int64_t seed, int64_t offset) {
  fc_random k{};
  k.opcode = opcode;
  k.a = a;
  k.b = b;
  k.low = low;
  k.range = static_cast<uint64_t>(range);
  k.seed = static_cast<uint64_t>(seed);
  k.offset = static_cast<uint64_t>(offset);
  return k;
}

template <class T>
void draw(hb::Out<T> out, hb::Changed<float> p, int32_t opcode, double a, double b, int64_t low, int64_t range,
          int64_t seed, int64_t offset) {
  const fc_random k = call_of(opcode, a, b, low, range, seed, offset);
  hb::each(out.numel, [&](int32_t i) {
    const float chance = p.defined() ? hb::load(p.data + p.offset(i)) : static_cast<float>(a);
    const float x = facula::backend::draw<float>(k, static_cast<uint64_t>(i), chance);
    hb::store(out.data + out.offset(i), static_cast<T>(x));
  });
}

template <class T>
void draw_integers(hb::Out<T> out, hb::Ignored, int32_t opcode, double a, double b, int64_t low, int64_t range,
                   int64_t seed, int64_t offset) {
  const fc_random k = call_of(opcode, a, b, low, range, seed, offset);
  hb::each(out.numel, [&](int32_t i) {
    hb::store(out.data + out.offset(i), static_cast<T>(facula::backend::draw_integer(k, static_cast<uint64_t>(i))));
  });
}

}  // namespace

#define HB_DRAW(name, T, suffix) HB_FAMILY_KERNEL(tensorlib_random##suffix, &draw<T>, FC_FAMILY_RANDOM, 0, T)
#define HB_DRAW_INTEGERS(name, T, suffix) \
  HB_FAMILY_KERNEL(tensorlib_random_integers##suffix, &draw_integers<T>, FC_FAMILY_RANDOM, 1, T)
HB_ALL(HB_DRAW, random)
HB_ALL(HB_DRAW_INTEGERS, random)
