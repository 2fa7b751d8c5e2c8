// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/peak.h"

#include <numeric>
#include <thread>
#include <vector>

#include "core/error.h"

namespace fc::cpu {

double peak_rate(int threads, double seconds) {
  FC_CHECK_AS(ValueError, threads > 0 && seconds >= 0 && seconds < 3600,
              "peak_rate: expected at least one thread and a ", "time below an hour, got ", threads, " threads and ",
              seconds, " seconds");
  std::vector<double> rates(static_cast<size_t>(threads));
  {
    std::vector<std::jthread> team;  // not the pool: every core works on its own
    for (double& rate : rates) team.emplace_back([&rate, seconds] { rate = FC_VARIANT(core_peak)(seconds); });
  }
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace fc::cpu
