// SPDX-License-Identifier: Apache-2.0
// Every kept input of the fuzzers, once with each build; the sanitizers' builds look closely.
#include "../fuzz/fuzz.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

void replay(const char* name, void (*target)(std::string_view)) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(FC_TEST_CORPUS) / name)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream in(entry.path(), std::ios::binary);
    target(std::string{std::istreambuf_iterator<char>(in), {}});
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(Fuzz, KeptSchemas) { replay("schema", fc::fuzz::schema); }
TEST(Fuzz, KeptDlpackStructs) { replay("dlpack", fc::fuzz::dlpack); }
TEST(Fuzz, KeptArchives) { replay("zip", fc::fuzz::zip); }
TEST(Fuzz, KeptTorchScriptArchives) { replay("archive", fc::fuzz::archive); }
TEST(Fuzz, KeptDeflated) { replay("inflate", fc::fuzz::inflate); }
TEST(Fuzz, KeptPickles) { replay("pickle", fc::fuzz::pickle); }
TEST(Fuzz, KeptSafetensors) { replay("safetensors", fc::fuzz::safetensors); }
TEST(Fuzz, KeptGraphs) { replay("graph", fc::fuzz::graph); }
TEST(Fuzz, KeptSources) { replay("source", fc::fuzz::source); }

}  // namespace
