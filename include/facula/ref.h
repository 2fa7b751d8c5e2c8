// SPDX-License-Identifier: Apache-2.0
// Intrusive reference counts. RefCounted is the base of everything shared; Ref<T> is the owner's handle.
// Counts are atomic, so handles may be copied and dropped on any thread; the object itself is not protected.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace fc {

// Memory for small objects (core/small.h).
void* take_small(size_t bytes);  // throws std::bad_alloc
void give_small(void* p, size_t bytes) noexcept;

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const noexcept { __atomic_fetch_add(&count_, 1, __ATOMIC_RELAXED); }
  void release() const noexcept {
    // The only owner needs no read-modify-write: nobody else can raise the count meanwhile.
    if (__atomic_load_n(&count_, __ATOMIC_ACQUIRE) == 1 || __atomic_sub_fetch(&count_, 1, __ATOMIC_ACQ_REL) == 0)
      const_cast<RefCounted*>(this)->destroy();
  }
  uint32_t use_count() const noexcept { return __atomic_load_n(&count_, __ATOMIC_ACQUIRE); }
  void retain_first() noexcept { ++count_; }  // of an object that nobody else can see yet
  void revive() noexcept { count_ = 1; }      // in destroy(): it stays, with one owner

  // Tensors, storages and nodes come and go with every call.
  static void* operator new(size_t bytes) { return take_small(bytes); }
  static void operator delete(void* p, size_t bytes) { give_small(p, bytes); }

 protected:
  virtual ~RefCounted() = default;
  virtual void destroy() noexcept { delete this; }  // overridden where deletion must not recurse: delete_in_turn

 private:
  friend void delete_in_turn(RefCounted* o) noexcept;
  union {
    mutable uint32_t count_ = 0;
    RefCounted* next_dead_;  // of an object that waits for its deletion
  };
};

// For objects that own others of their kind: deletes, and where deletions nest deeply leaves it to the outermost one of
// this thread, so that a chain of any length is freed without using up the stack.
void delete_in_turn(RefCounted* o) noexcept;

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) noexcept : p_(p) {
    if (p_) p_->retain();
  }
  Ref(const Ref& o) noexcept : Ref(o.p_) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> Ref(const Ref<U>& o)
  noexcept : Ref(o.get()) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> Ref(Ref<U>&& o)
  noexcept : p_(o.detach()) {}
  Ref& operator=(const Ref& o) noexcept {
    Ref(o).swap(*this);
    return *this;
  }
  Ref& operator=(Ref&& o) noexcept {
    Ref(std::move(o)).swap(*this);
    return *this;
  }
  ~Ref() {
    if (p_) p_->release();
  }

  static Ref adopt(T* p) noexcept {  // takes over a count that the caller holds
    Ref r;
    r.p_ = p;
    return r;
  }
  T* detach() noexcept { return std::exchange(p_, nullptr); }  // hands the count to the caller
  void swap(Ref& o) noexcept { std::swap(p_, o.p_); }
  T* get() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  T* operator->() const noexcept { return p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.p_ == b.p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace fc
