// SPDX-License-Identifier: Apache-2.0
#include "core/kept.h"

#include <pthread.h>

#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/storage.h"

namespace fc {
namespace {

// Who keeps which storage's bytes. Few are kept at a time: the logits of a loss.
struct Table {
  std::mutex lock;
  std::unordered_multimap<const Storage*, KeptTensor*> keepers;
};
Table& table() {
  static Table* t = [] {
    pthread_atfork([] { table().lock.lock(); }, [] { table().lock.unlock(); }, [] { table().lock.unlock(); });
    return new Table;  // outlives every tensor
  }();
  return *t;
}

}  // namespace

bool KeptTensor::can_keep(const Tensor& t) {
  return t.device().is_cpu() && !t.impl().is_sparse() && t.impl().storage()->resizable();
}

KeptTensor::KeptTensor(const Tensor& t) : kept_(shallow_copy(t, false)) {
  Storage& s = *kept_.impl().storage();
  std::lock_guard guard(table().lock);
  table().keepers.emplace(&s, this);
  __atomic_store_n(&s.kept_, true, __ATOMIC_RELEASE);
}

KeptTensor::~KeptTensor() {
  std::lock_guard guard(table().lock);
  Storage& s = *kept_.impl().storage();  // which the lock keeps from changing
  auto [from, to] = table().keepers.equal_range(&s);
  for (auto i = from; i != to; ++i)
    if (i->second == this) {
      if (std::next(from) == to) __atomic_store_n(&s.kept_, false, __ATOMIC_RELEASE);
      table().keepers.erase(i);
      return;
    }
}

Tensor KeptTensor::read() const {
  std::lock_guard guard(table().lock);
  return shallow_copy(kept_, false);
}

void Storage::hand_out_copy() {
  // Allocated before the lock is taken: observers of memory may run anything.
  Ref<Storage> copy = allocate_storage(bytes_, device_);
  copy_bytes(copy->data(), device_, data(), device_, bytes_);
  std::vector<Ref<Storage>> dropped;  // after the lock
  std::lock_guard guard(table().lock);
  auto [from, to] = table().keepers.equal_range(this);
  for (auto i = from; i != to; ++i) {
    TensorImpl& t = i->second->kept_.impl();
    dropped.push_back(t.storage());
    t.set_storage(copy, t.dtype(), t.device());
  }
  table().keepers.erase(from, to);
  __atomic_store_n(&kept_, false, __ATOMIC_RELEASE);
}

}  // namespace fc
