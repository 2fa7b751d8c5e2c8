// SPDX-License-Identifier: Apache-2.0
// What a container allows. Threads beyond its share of CPU time would all stand still until the next period.
#pragma once
#include <string>

namespace fc {

// How many CPUs' time this process's control groups give it, the tightest from its own up to the root, in either
// version; 0: no limit. root: the folder that holds proc and sys, for tests.
double cpu_quota(const std::string& root = "");

}  // namespace fc
