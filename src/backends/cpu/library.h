// SPDX-License-Identifier: Apache-2.0
// Loading BLAS and oneDNN when they are first needed, so that starting costs nothing and machines without them work.
#pragma once
#include <dlfcn.h>

namespace fc::cpu {

// The file that was found when building, else any of that name on this machine; null if there is none.
inline void* open_library(const char* path, const char* name) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return handle ? handle : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

template <class F>
bool find_symbol(void* library, const char* name, F*& fn) {
  fn = reinterpret_cast<F*>(dlsym(library, name));
  return fn != nullptr;
}

}  // namespace fc::cpu
