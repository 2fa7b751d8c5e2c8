// SPDX-License-Identifier: Apache-2.0
// Which launches of a kernel are timed, and what the others count as: cycles in proportion to the instructions that
// they did, by the ratio of those that were timed, with a 95 % interval for the sum (Student's t, of a ratio's errors).
#pragma once

#include <cstdint>

namespace fc::hb::sim {

class Sample {
 public:
  // Whether the next launch is to be timed: the first, and one of each n, at a place that is drawn (the same each run),
  // so that what a program repeats does not fall in step with it.
  bool wanted(uint32_t n);
  void timed(uint64_t instructions, uint64_t cycles);
  uint64_t other(uint64_t instructions);  // its cycles. After one was timed

  uint64_t launches() const { return timed_ + others_; }
  uint64_t timed_launches() const { return timed_; }
  uint64_t cycles() const;  // of all of them
  double interval() const;  // half of it; infinite: one that was timed says nothing about the others
  bool any() const { return timed_ != 0; }

 private:
  double ratio() const { return instructions_ > 0 ? cycles_ / instructions_ : 0; }

  uint64_t asked_ = 0, place_ = 0, timed_ = 0, others_ = 0;
  double cycles_ = 0, instructions_ = 0, squares_ = 0, products_ = 0, instruction_squares_ = 0, other_instructions_ = 0;
};

}  // namespace fc::hb::sim
