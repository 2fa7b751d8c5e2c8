// SPDX-License-Identifier: Apache-2.0
// Whether an observer is being told something on this thread: what it does is seen by nobody, so what others wait to
// have done stays undone until it has returned.
#pragma once

namespace fc {

bool observer_runs();

}  // namespace fc
