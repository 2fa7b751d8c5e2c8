// SPDX-License-Identifier: Apache-2.0
// The configuration page and its rows.
#include "core/config.h"

#include <nanobind/nanobind.h>

#include "casters.h"
#include "core/instruction_set.h"

namespace nb = nanobind;

namespace fc {

void bind_config(nb::module_& m) {
  m.def("_show_config", &show_config);
  m.def("_parallel_info", &parallel_info);
  m.def("_cpu_capability", &cpu_capability);
  m.def("_set_flush_denormal", &set_flush_denormal);
  m.def("_config_rows", [] {
    nb::dict build, libraries, switches;
    for (const ConfigRow& row : build_config()) build[row.name] = row.value;
    for (const ConfigRow& row : library_config()) libraries[row.name] = row.value;
    for (const SwitchRow& row : switch_config()) switches[row.name] = nb::make_tuple(row.value, row.state);
    nb::dict rows;
    rows["build"] = build;
    rows["libraries"] = libraries;
    rows["switches"] = switches;
    return rows;
  });
}

}  // namespace fc
