// SPDX-License-Identifier: Apache-2.0
#include "observe/values/regions.h"

namespace fc::observe::values {

StorageRecord& Storages::add(uint64_t id, const void* data, uint64_t bytes, int device, int index) {
  StorageRecord& r = records_[id];
  if (r.id) places_.erase({device_key(r.device, r.index), r.address});  // a storage that was resized
  r = {};
  r.id = id;
  r.bytes = bytes;
  r.address = reinterpret_cast<uintptr_t>(data);
  r.device = static_cast<int16_t>(device), r.index = static_cast<int16_t>(std::max(index, 0));
  places_[{device_key(r.device, r.index), r.address}] = &r;
  last_ = &r;
  return r;
}

StorageRecord* Storages::find(uint64_t id) {
  if (last_ && last_->id == id) return last_;
  const auto it = records_.find(id);
  return it == records_.end() ? nullptr : last_ = &it->second;
}

StorageRecord* Storages::at(const void* address, int device, int index) {
  const auto a = reinterpret_cast<uintptr_t>(address);
  index = std::max(index, 0);
  auto holds = [&](const StorageRecord& r) {
    return r.device == device && r.index == index && a >= r.address && a - r.address < r.bytes;
  };
  if (last_ && holds(*last_)) return last_;
  auto it = places_.upper_bound({device_key(device, index), a});
  if (it == places_.begin()) return nullptr;
  --it;
  return holds(*it->second) ? last_ = it->second : nullptr;
}

void Storages::remove(uint64_t id) {
  const auto it = records_.find(id);
  if (it == records_.end()) return;
  const auto place = places_.find({device_key(it->second.device, it->second.index), it->second.address});
  if (place != places_.end() && place->second == &it->second) places_.erase(place);
  if (last_ == &it->second) last_ = nullptr;
  records_.erase(it);
}

}  // namespace fc::observe::values
