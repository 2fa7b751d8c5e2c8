// SPDX-License-Identifier: Apache-2.0
// The kinds of recurrent cells, as numbers in the schemas of their operators.
#pragma once
#include <cstdint>

namespace fc {

enum RnnMode : int64_t { kTanh, kRelu, kLstm, kGru };

}  // namespace fc
