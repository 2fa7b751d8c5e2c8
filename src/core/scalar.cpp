// SPDX-License-Identifier: Apache-2.0
#include "core/scalar.h"

namespace facula {

std::string to_string(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool: return str(s.to_bool());
    case Scalar::Kind::Int: return str(s.to_int());
    case Scalar::Kind::Double: return str(s.to_double());
    default: {
      ComplexDouble c = s.to_complex();
      return str('(', c.re, c.im < 0 ? "" : "+", c.im, "j)");
    }
  }
}

}  // namespace facula
