// SPDX-License-Identifier: Apache-2.0
// The registry of device types.
#pragma once
#include <string_view>

#include <facula/device.h>

namespace fc {

inline constexpr int kMaxDeviceTypes = 64;

std::string_view device_type_name(int type);
int find_device_type(std::string_view name);      // -1 if unknown
int register_device_type(std::string_view name);  // the number; the same one for the same name
// Asked for a name that is not registered; true: it is now. Set by the front that knows about installed backends.
extern bool (*find_more_devices)(std::string_view name);

}  // namespace fc
