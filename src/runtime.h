// SPDX-License-Identifier: Apache-2.0
// Start-up, in one place and in order: operators, layers, backends. Python's module calls it when it is
// loaded, the C++ front before the first operator or new tensor.
#pragma once

namespace fc {

void initialise();  // thread-safe, does its work once

}  // namespace fc
