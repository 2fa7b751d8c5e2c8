// SPDX-License-Identifier: Apache-2.0
#include "core/config.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/instruction_set.h"

namespace fc {

static const char* value_of(std::span<const ConfigRow> rows, const char* name) {
  for (const ConfigRow& row : rows) {
    if (!std::strcmp(row.name, name)) return row.value;
  }
  return nullptr;
}

TEST(Config, PageShowsEveryRow) {
  std::string page = show_config();
  for (const ConfigRow& row : build_config()) EXPECT_NE(page.find(row.value), std::string::npos) << row.name;
  for (const ConfigRow& row : library_config()) EXPECT_NE(page.find(row.name), std::string::npos) << row.name;
  EXPECT_STREQ(value_of(build_config(), "version"), version());
}

TEST(Config, LibrariesAgreeWithWhatSourcesWereTold) {
  EXPECT_EQ(std::strncmp(value_of(library_config(), "OpenMP"), "no", 2) != 0, FC_HAVE_OPENMP == 1);
  EXPECT_EQ(std::strncmp(value_of(library_config(), "BLAS"), "no", 2) != 0, FC_HAVE_CBLAS == 1);
  EXPECT_EQ(std::strncmp(value_of(library_config(), "oneDNN"), "no", 2) != 0, FC_HAVE_ONEDNN == 1);
}

TEST(Config, CpuLevelIsOneTheMachineHas) { EXPECT_LE(cpu_level(), cpu_level_present()); }

TEST(Config, ParallelInfoNamesThePool) { EXPECT_NE(parallel_info().find("pool"), std::string::npos); }

}  // namespace fc
