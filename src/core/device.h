// SPDX-License-Identifier: Apache-2.0
// Device types by name; what is known of each is in core/device_record.h.
#pragma once
#include <string_view>

#include <facula/device.h>

namespace fc {

inline constexpr int kMaxDeviceTypes = 64;

std::string_view device_type_name(int type);
int find_device_type(std::string_view name);     // -1 if unknown
bool name_absent_device(std::string_view name);  // a type of PyTorch's without a backend gets its number
Device choose_index(Device d);
// As tensors have it: there is one CPU and one meta device; of other types the thread's current one unless d says.
inline Device with_index(Device d) { return d.is_cpu() || d.is_meta() ? Device{d.type, -1} : choose_index(d); }
// Asked for a name that is not registered; true: it is now. Set by the front that knows about installed backends.
extern bool (*find_more_devices)(std::string_view name);

}  // namespace fc
