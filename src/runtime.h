// SPDX-License-Identifier: Apache-2.0
// Start-up, in one place and in order: operators, layers, backends. Every front calls it before anything else.
#pragma once

namespace fc {

void initialise();  // thread-safe, does its work once

}  // namespace fc
