// SPDX-License-Identifier: Apache-2.0
// How an operator's derivative is written. A rule says what the backward needs ("saves") and has one formula. The
// formula is written in ordinary operators, so second derivatives come for free; it runs once per backward and sets
// a gradient for each input that needs one. Broadcasting is undone and types are cast back by the engine, so a
// formula for `mul` is just g * other.
//
// saves: names of parameters and "result", "result1" …, separated by spaces; "other:self" saves `other` only when
// `self` needs a gradient. "self~" is a parameter that programs may overwrite afterwards (it is copied then); otherwise
// that is an error when the backward reads it. Sizes, type and device of inputs are known without saving.
#pragma once
#include <memory>
#include <vector>

#include "core/value.h"

namespace fc {

class Grad {
 public:
  virtual const Tensor& out(int i = 0) = 0;          // gradient of result i; undefined if nothing flows there
  virtual bool needs(int arg) = 0;                   // does argument `arg` (schema position) want a gradient?
  virtual Tensor in(int arg) = 0;                    // a saved argument as a tensor; a saved number as a wrapped number
  virtual TensorSpan list(int arg) = 0;              // a saved tensor list
  virtual Tensor result(int i = 0) = 0;              // a saved result
  virtual Arg arg(int arg) = 0;                      // a saved argument that is no tensor
  virtual IntSpan sizes(int arg, int item = 0) = 0;  // of an input that needs a gradient, or of any in a list
  virtual DType dtype(int arg, int item = 0) = 0;
  virtual Device device(int arg, int item = 0) = 0;
  virtual bool transposed(int arg) = 0;  // a matrix whose columns are contiguous, as its gradient had better be
  virtual int list_size(int arg) = 0;    // tensors in a list argument
  virtual void set(int arg, Tensor gradient, int item = 0) = 0;

 protected:
  ~Grad() = default;
};
using GradFormula = void (*)(Grad&);

struct GradRule {
  struct Save {
    int8_t arg = -1;               // schema position, or
    int8_t result = -1;            // result number
    bool may_change = false;       // the program may overwrite the argument
    uint64_t when = ~uint64_t{0};  // bits of arguments: save if any of these needs a gradient
  };
  GradFormula formula = nullptr;
  std::vector<Save> saves;
};
std::unique_ptr<GradRule> make_rule(const struct Schema& schema, const char* saves, GradFormula formula);

}  // namespace fc
