// SPDX-License-Identifier: Apache-2.0
// Making storages, and copying their bytes between devices.
#pragma once
#include <facula/storage.h>

#include "core/allocator.h"
#include "core/ref.h"

namespace fc {

Ref<Storage> allocate_storage(size_t bytes, Device device);

// Copies plain bytes between devices (strides play no part). Between two types they pass through the host.
// non_blocking: the program keeps the host's side as it is until it has synchronised.
void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes,
                bool non_blocking = false);
using CopyBytesFn = void (*)(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes,
                             bool non_blocking);

}  // namespace fc
