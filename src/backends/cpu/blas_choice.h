// SPDX-License-Identifier: Apache-2.0
// Who multiplies matrices: the variable FACULA_BLAS or preferred_blas, as NAME or NAME,force. NAME is
//
//   auto                             by type and work (matmul.cpp)
//   facula                           our own kernel
//   onednn                           float32 only
//   openblas, blis, mkl, reference   the first one that find_blas finds
//   a path, or a name with ".so"     any library with the interface of a BLAS
//
// A preferred library computes what any library would; small products stay with our own kernel, convolutions with
// oneDNN. A forced one computes every product of a type that it has, and convolutions as products; our own kernel the
// rest. Any thread may read and change it; a call that has begun ends as it began.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/blas.h"

namespace fc::cpu {

enum class Engine : int { Auto, Facula, OneDnn, Blas };

struct Choice {
  Engine engine = Engine::Auto;
  const Blas* library = nullptr;  // of Engine::Blas
  bool force = false;
  std::string text = "auto";  // as it was asked for

  bool forces(Engine e) const { return force && engine == e; }
  bool allows(Engine e) const { return !force || engine == e; }
};
const Choice& blas_choice();  // the first call reads FACULA_BLAS, and throws where that names nothing usable
// Throws ValueError for a name that means nothing, Error where there is no such library.
void set_preferred_blas(const std::string& text);

// What "auto" uses for types that oneDNN does not multiply: the library that the build found, or null.
const Blas* default_blas();

struct FoundBlas {
  std::string name, path;  // one of the names above, and a file
};
// Libraries on this machine that may be BLAS, by the names of their files: nothing is loaded. In the order in which
// names choose; those in the folders of `more` last.
std::vector<FoundBlas> find_blas(std::span<const std::string> more = {});
void set_environment_libraries(const std::string& folder);  // of a virtual environment: searched first

}  // namespace fc::cpu
