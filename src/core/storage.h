// SPDX-License-Identifier: Apache-2.0
// Making storages, and copying their bytes between devices.
#pragma once
#include <facula/storage.h>

#include "core/allocator.h"
#include "core/ref.h"

namespace fc {

Ref<Storage> allocate_storage(size_t bytes, Device device);

// Copies plain bytes between devices (strides play no part). A backend sets the function of its device type; it is
// given CPU <-> device and device <-> device of that type. Between two types the bytes pass through the host.
void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes);
using CopyBytesFn = void (*)(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes);
void set_copy_bytes(int device_type, CopyBytesFn fn);

}  // namespace fc
