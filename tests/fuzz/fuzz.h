// SPDX-License-Identifier: Apache-2.0
// The fuzz targets: each takes any bytes and either accepts them wholly or refuses them with an exception of ours; it
// aborts where a promise is broken. `make fuzz` looks for new inputs (main.cpp is libFuzzer's entry), and
// tests/cpp/fuzz_test.cpp runs the kept ones of corpus/NAME with every build.
#pragma once
#include <string_view>

namespace fc::fuzz {

void schema(std::string_view bytes);
void dlpack(std::string_view bytes);
void zip(std::string_view bytes);
void archive(std::string_view bytes);
void inflate(std::string_view bytes);
void pickle(std::string_view bytes);
void safetensors(std::string_view bytes);
void graph(std::string_view bytes);
void source(std::string_view bytes);

}  // namespace fc::fuzz
