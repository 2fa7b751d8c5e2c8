// SPDX-License-Identifier: Apache-2.0
// The configuration page and its rows.
#include "core/config.h"

#include <nanobind/nanobind.h>

#include "backends/cpu/blas_choice.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/peak.h"
#include "casters.h"
#include "core/instruction_set.h"
#include "dispatch/warn_once.h"

namespace nb = nanobind;

namespace fc {

void bind_config(nb::module_& m) {
  m.def("_show_config", &show_config);
  m.def("_parallel_info", &parallel_info);
  m.def("_cpu_capability", &cpu_capability);
  m.def("_set_flush_denormal", &set_flush_denormal);
  m.def("_set_warn_always", [](bool on) { warn_always = on; });
  m.def("_set_preferred_blas", &cpu::set_preferred_blas);
  m.def("_preferred_blas", [] { return cpu::blas_choice().text; });
  m.def("_describe_blas", [](const std::string& file) { return cpu::Blas::load(file).describe(); });
  m.def("_peak_rate", &cpu::peak_rate);
  m.def("_set_environment_libraries", &cpu::set_environment_libraries);
  // What multiplies now ("" where no BLAS does), what "auto" would use, and what lies on this machine.
  m.def("_blas", [](const std::vector<std::string>& more) {
    nb::list found;
    for (const cpu::FoundBlas& b : cpu::find_blas(more)) found.append(nb::make_tuple(b.name, b.path));
    const cpu::Choice& choice = cpu::blas_choice();
    const cpu::Blas* otherwise = cpu::default_blas();
    nb::dict d;
    d["choice"] = choice.text;
    d["library"] = choice.library ? choice.library->path() : "";
    d["default"] = otherwise ? otherwise->path() : "";
    d["onednn"] = cpu::onednn_available();
    d["found"] = found;
    return d;
  });
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
