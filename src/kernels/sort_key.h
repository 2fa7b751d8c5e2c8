// SPDX-License-Identifier: Apache-2.0
// Unsigned integers in the order of the elements, NaN last, -0 equal to 0: what sorts compare, on every device.
#pragma once
#include <cstdint>
#include <type_traits>

namespace fc {

// Of an element of 8 bits the key has 8 bits as well, though its type is wider.
template <class T>
auto sort_key(T x) {
  using U = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
  constexpr U top = static_cast<U>(U{1} << (8 * sizeof(T) - 1));
  if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return static_cast<U>(~U{0});
    if (x == 0) x = 0;  // drops the sign
    const U bits = __builtin_bit_cast(U, x);
    return static_cast<U>(bits & top ? ~bits : bits | top);
  } else if constexpr (static_cast<T>(-1) < T{}) {
    return static_cast<U>(static_cast<U>(x) + top);
  } else {
    return static_cast<U>(x);
  }
}

}  // namespace fc
