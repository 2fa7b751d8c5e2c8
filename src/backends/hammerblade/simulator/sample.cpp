// SPDX-License-Identifier: Apache-2.0
#include "backends/hammerblade/simulator/sample.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace fc::hb::sim {

namespace {

// 97.5 % of Student's distribution.
double student(uint64_t freedom) {
  static constexpr double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                     2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  if (freedom <= std::size(table)) return table[freedom - 1];
  return 1.96 + 2.5 / static_cast<double>(freedom);
}

uint64_t drawn(uint64_t block) {  // SplitMix64
  uint64_t z = (block + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace

bool Sample::wanted(uint32_t n) {
  const uint64_t number = asked_++;
  if (number % n == 0) place_ = number ? drawn(number / n) % n : 0;
  return number % n == place_ || !timed_;
}

void Sample::timed(uint64_t instructions, uint64_t cycles) {
  const auto x = static_cast<double>(instructions), y = static_cast<double>(cycles);
  ++timed_;
  cycles_ += y;
  instructions_ += x;
  squares_ += y * y;
  products_ += x * y;
  instruction_squares_ += x * x;
}

uint64_t Sample::other(uint64_t instructions) {
  ++others_;
  other_instructions_ += static_cast<double>(instructions);
  return static_cast<uint64_t>(ratio() * static_cast<double>(instructions));
}

uint64_t Sample::cycles() const { return static_cast<uint64_t>(cycles_ + ratio() * other_instructions_); }

double Sample::interval() const {
  if (!others_) return 0;
  if (timed_ < 2) return std::numeric_limits<double>::infinity();
  const double r = ratio(), n = static_cast<double>(timed_), m = static_cast<double>(others_);
  const double errors = std::max(0.0, squares_ - 2 * r * products_ + r * r * instruction_squares_) / (n - 1);
  return student(timed_ - 1) * std::sqrt(errors * (m * m / n + m));
}

}  // namespace fc::hb::sim
