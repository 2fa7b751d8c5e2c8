// SPDX-License-Identifier: Apache-2.0
#include "core/device.h"

#include <charconv>

#include "core/error.h"

namespace fc {
bool (*find_more_devices)(std::string_view) = nullptr;

Device parse_device(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  Device d;
  int type = find_device_type(name);
  if (type < 0 && find_more_devices && find_more_devices(name)) type = find_device_type(name);
  if (type < 0 && name_absent_device(name)) type = find_device_type(name);
  if (type < 0) {
    std::string known;
    for (int i = 0; device_type_name(i) != "?"; ++i) known += str(i ? ", " : "", device_type_name(i));
    raise<Error>("Expected one of ", known, " device type at start of device string: ", text);
  }
  d.type = static_cast<int8_t>(type);
  if (colon == text.npos) return d;
  std::string_view digits = text.substr(colon + 1);
  int index = -1;
  auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  bool plain = digits.size() == 1 || (digits.size() > 1 && digits[0] != '0');
  FC_CHECK(ec == std::errc{} && end == digits.data() + digits.size() && index >= 0 && index < 128 && plain,
           "Invalid device string: '", text, "'");
  d.index = static_cast<int8_t>(index);
  return d;
}

std::string to_string(Device d) {
  std::string out(device_type_name(d.type));
  if (d.index >= 0) out += str(':', static_cast<int>(d.index));
  return out;
}

}  // namespace fc
