// SPDX-License-Identifier: Apache-2.0
#include "core/config.h"

#include <unistd.h>

#include <cstdlib>

#include "core/instruction_set.h"
#include "core/threads.h"

namespace fc {

#include "facula_config.inc"

const char* version() { return FACULA_VERSION_TEXT; }
std::span<const ConfigRow> build_config() { return build_rows; }
std::span<const ConfigRow> library_config() { return library_rows; }
std::span<const SwitchRow> switch_config() { return switch_rows; }

static void line(std::string& page, const char* name, std::string_view value) {
  page += "  - ";
  page += name;
  page += ": ";
  page += value;
  page += '\n';
}

std::string show_config() {
  std::string page = "Facula built with:\n";
  for (const ConfigRow& row : build_rows) line(page, row.name, row.value);
  for (const ConfigRow& row : library_rows) line(page, row.name, row.value);
  line(page, "CPU capability usage", cpu_capability());
  std::string switches;
  for (const SwitchRow& row : switch_rows) {
    if (std::string_view(row.state) == "meaningless") continue;
    if (!switches.empty()) switches += ", ";
    switches += row.name;
    switches += '=';
    switches += row.value;
  }
  line(page, "Build settings", switches);
  return page;
}

std::string parallel_info() {
  std::string page = "Facula parallel info:\n";
  line(page, "pool", thread_pool_name());
  line(page, "threads", std::to_string(num_threads()));
  for (const ConfigRow& row : library_rows) {
    if (std::string_view(row.name) != "CUDA" && std::string_view(row.name) != "LLVM") line(page, row.name, row.value);
  }
  line(page, "cores", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  line(page, "CPU", cpu_model());
  line(page, "CPU capability", cpu_capability());
  for (const char* name :
       {"FACULA_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "FACULA_CPU_CAPABILITY", "ATEN_CPU_CAPABILITY"}) {
    const char* value = std::getenv(name);
    line(page, name, value ? value : "[not set]");
  }
  return page;
}

}  // namespace fc
