// SPDX-License-Identifier: Apache-2.0
#include "dispatch/forward_level.h"

#include <memory>

#include "core/error.h"
#include "dispatch/snapshot.h"

namespace fc {
namespace {

constinit thread_local bool on_this_thread = false;
char something;  // a part that is there has an address

}  // namespace

bool forward_level() { return on_this_thread; }
void set_forward_level(bool on) { on_this_thread = on; }

void hand_forward_level() {
  add_thread_local_part({
      .capture = []() -> void* { return on_this_thread ? &something : nullptr; },
      .enter = [](void*) { on_this_thread = true; },
      .leave = [](void*) { on_this_thread = false; },
      .release = [](void*) {},
  });
}

void separate_storage(const Tensor& t) {
  TensorImpl& impl = t.impl();
  FC_CHECK(impl.storage(), "a tensor without a storage has none that could be separated");
  auto kept = std::make_unique<Ref<Storage>>(impl.storage());
  Storage& old = **kept;
  old.lend();
  const Block block{old.data(), [](void*, size_t, void* kept) { delete static_cast<Ref<Storage>*>(kept); }, kept.get()};
  auto own = make_ref<Storage>(block, old.bytes(), old.device(), nullptr, old.read_only());
  (void)kept.release();  // the block's
  impl.set_storage(std::move(own), impl.dtype(), impl.device());
}

}  // namespace fc
