// SPDX-License-Identifier: Apache-2.0
// Making counted objects, and references that several threads may set.
#pragma once
#include <facula/ref.h>

#include "core/small.h"

namespace fc {

// A reference that is set once, by whichever thread comes first, and read without a lock from then on.
template <class T>
class OnceRef {
 public:
  OnceRef() = default;
  ~OnceRef() {
    if (p_) p_->release();
  }
  OnceRef(const OnceRef&) = delete;
  OnceRef& operator=(const OnceRef&) = delete;

  T* get() const noexcept { return __atomic_load_n(&p_, __ATOMIC_ACQUIRE); }
  void set_first(Ref<T> r) noexcept { p_ = r.detach(); }  // while nobody else can see it, and nothing is set
  template <class F>
  T& get_or_make(F&& make) {
    if (T* p = get()) return *p;
    Ref<T> fresh = make();
    T* before = nullptr;
    if (!__atomic_compare_exchange_n(&p_, &before, fresh.get(), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return *before;
    return *fresh.detach();
  }

 private:
  T* p_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  T* p = new T(std::forward<Args>(args)...);
  p->retain_first();
  return Ref<T>::adopt(p);
}

}  // namespace fc
