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

// A BLAS or LAPACK. MKL lends its names to the whole process, where they would take the place of those that another
// library calls in itself, perhaps with other integers: then it is to look at its own first.
inline void* open_blas(const char* file) {
  int how = RTLD_NOW | RTLD_LOCAL;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they forbid it
  if (dlsym(RTLD_DEFAULT, "dgemm_")) how |= RTLD_DEEPBIND;
#endif
  return dlopen(file, how);
}

template <class F>
bool find_symbol(void* library, const char* name, F*& fn) {
  fn = reinterpret_cast<F*>(dlsym(library, name));
  return fn != nullptr;
}

}  // namespace fc::cpu
