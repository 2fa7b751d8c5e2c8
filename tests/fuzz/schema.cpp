// SPDX-License-Identifier: Apache-2.0
// Any text is either a schema that prints and reads back the same, or a ValueError.
#include "dispatch/schema.h"

#include <cstdlib>

#include "core/error.h"
#include "fuzz.h"

void fc::fuzz::schema(std::string_view text) {
  try {
    std::string printed = to_string(parse_schema(text));
    if (to_string(parse_schema(printed)) != printed) std::abort();
  } catch (const ValueError&) {
    // refused
  }
}
