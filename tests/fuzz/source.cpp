// SPDX-License-Identifier: Apache-2.0
// Any text is either functions and classes of the language, whose graphs keep all rules, or an error of ours; then the
// unit has nothing of it.
#include <cstdlib>

#include "core/error.h"
#include "fuzz.h"
#include "jit/frontend/emit.h"
#include "jit/frontend/parser.h"
#include "jit/ir/check.h"
#include "runtime.h"

namespace fc::fuzz {

void source(std::string_view text) {
  initialise();
  const auto unit = make_ref<jit::CompilationUnit>();
  try {
    jit::define_source(*unit, "", make_ref<jit::Source>(std::string(text), "<fuzz>"), jit::unit_resolver(unit, ""));
  } catch (const Error&) {
    if (!unit->functions().empty()) std::abort();
    try {
      for (const jit::TreeRef& def : jit::parse_program(make_ref<jit::Source>(std::string(text), "<fuzz>")))
        if (unit->find_type(def->name())) std::abort();
    } catch (const Error&) {}
    return;
  }
  for (const Ref<jit::Function>& f : unit->functions()) jit::check(f->graph());
}

}  // namespace fc::fuzz
