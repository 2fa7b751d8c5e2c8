// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace fc {

enum RnnMode : int64_t { kTanh, kRelu, kLstm, kGru };

}  // namespace fc
