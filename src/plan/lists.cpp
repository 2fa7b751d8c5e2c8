// SPDX-License-Identifier: Apache-2.0
#include "plan/lists.h"

#include "core/error.h"

namespace fc {

void check_list_lengths(const char* op, size_t first, size_t other) {
  FC_CHECK(first == other, op, ": Tensor lists must have the same number of tensors, got ", first, " and ", other);
}

bool items_are_apart(TensorSpan written, std::span<const TensorSpan> read) {
  struct Place {
    const Storage* storage;
    size_t item;
    bool operator<(const Place& o) const { return storage < o.storage; }
  };
  std::vector<Place> places;
  places.reserve(written.size());
  for (size_t i = 0; i < written.size(); ++i) places.push_back({written[i].impl().storage().get(), i});
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i].storage == places[i - 1].storage) return false;
  for (TensorSpan list : read)
    for (size_t i = 0; i < list.size(); ++i) {
      const auto at = std::lower_bound(places.begin(), places.end(), Place{list[i].impl().storage().get(), i});
      if (at != places.end() && at->storage == list[i].impl().storage().get() && at->item != i) return false;
    }
  return true;
}

}  // namespace fc
