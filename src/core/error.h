// SPDX-License-Identifier: Apache-2.0
// How errors are raised. Texts read "operator: what was asked, what is allowed", and are built out of line, on the cold
// path only.
#pragma once
#include <facula/error.h>

#include "core/format.h"

namespace fc {

template <class E, class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void raise(const Parts&... parts) {
  throw E(str(parts...));
}

}  // namespace fc

// Checks what the user gave. FC_CHECK(cond, parts...) throws Error; FC_CHECK_AS(IndexError, ...) another kind.
#define FC_CHECK_AS(kind, cond, ...)        \
  do {                                      \
    if (!(cond)) [[unlikely]]               \
      ::fc::raise<::fc::kind>(__VA_ARGS__); \
  } while (false)
#define FC_CHECK(cond, ...) FC_CHECK_AS(Error, cond, __VA_ARGS__)
