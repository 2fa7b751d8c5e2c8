// SPDX-License-Identifier: Apache-2.0
// What a device adds to the counted fallback (operator.h has the rest). Any thread.
#pragma once
#include <string>

namespace fc {

// A sentence for the error that a call on devices of this type gets where falling back is switched off; {} in it stands
// for the operator's name. The type need not exist yet.
void set_fallback_note(std::string device_type, std::string note);

}  // namespace fc
