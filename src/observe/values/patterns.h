// SPDX-License-Identifier: Apache-2.0
// The patterns that the value profiler knows, and its options. Plain data.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "core/dtype.h"

namespace fc::observe::values {

enum class Pattern : uint8_t {
  Redundant,           // written elements that held the same bits before
  Identity,            // a result equals an input bit by bit, though the operator computes
  Dead,                // written, then overwritten or freed, and never read
  FillAccumulate,      // a constant whose only reader adds to it in place
  Duplicate,           // two live tensors of equal content, or the same content moved to a device again
  SingleZero,          // all elements written are zero
  SingleValue,         // all are one other value
  Frequent,            // one value is at least half of them
  HeavyType,           // a narrower type holds every value
  InappropriateFloat,  // all values of a floating tensor are whole numbers
  Structured,          // v = b + sum of k_d * index_d
  Approximate,         // one of single and frequent that appears when the mantissa is cut
  Repeated,            // the same operator on the same versions again
};
inline constexpr int kPatterns = 13;
inline constexpr std::array<std::string_view, kPatterns> pattern_names = {
    "redundant",   "identity",     "dead",     "fill_accumulate", "duplicate",
    "single_zero", "single_value", "frequent", "heavy_type",      "inappropriate_float",
    "structured",  "approximate",  "repeated"};
constexpr uint32_t bit(Pattern p) { return 1u << static_cast<int>(p); }

enum class Mode : uint8_t {
  Default,  // what was there before is known by digests of 1024 elements, by constants, and exactly where it is small
  Exact,    // what was there before is copied: every element is counted
  Budget,   // the default, of some calls of each call path, so that the profile takes a given share of the time
};

struct Options {
  Mode mode = Mode::Default;
  uint32_t patterns = (1u << kPatterns) - 1;
  double frequent = 0.5;             // share of the most frequent value
  double zero = 0;                   // numbers closer to zero count as zero
  double heavy_error = 0;            // relative error that a narrower type may have
  double structured_error = 1e-6;    // residual of a floating structure, relative to its largest value
  int approximate = 5;               // level of 1 to 5: how many bits of a mantissa are kept (stats.cpp)
  double budget = 0.05;              // of Mode::Budget
  uint64_t sample = 1;               // after the first of a call path, one call in so many is looked at
  DType untyped = DType::Undefined;  // what words are that kernels load from memory of no known type; Float32: floats
  bool native = false;               // where in compiled code each call path was first seen
  bool instructions = false;         // single loads and stores, where a backend tells them
  uint64_t exact_below = 64 * 1024;  // bytes up to which the default mode copies what was there before
};

}  // namespace fc::observe::values
