// SPDX-License-Identifier: Apache-2.0
// Memory for small objects that come and go with every call: what a thread frees it keeps in short lists by size and
// hands out again, without a lock and without malloc. Any thread may free what another took. (core/allocator.cpp)
#pragma once
#include <new>
#include <cstddef>
#include <vector>

#include <facula/ref.h>  // take_small, give_small

namespace fc {

template <class T>
struct SmallAllocator {
  using value_type = T;
  SmallAllocator() = default;
  template <class U>
  SmallAllocator(const SmallAllocator<U>&) noexcept {}
  T* allocate(size_t n) {
    if (n > static_cast<size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(take_small(n * sizeof(T)));
  }
  void deallocate(T* p, size_t n) noexcept { give_small(p, n * sizeof(T)); }
  friend bool operator==(SmallAllocator, SmallAllocator) { return true; }
};
template <class T>
using SmallVector = std::vector<T, SmallAllocator<T>>;  // for a few elements

}  // namespace fc
