// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/onednn.h"

#if FC_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>

#include "backends/cpu/library.h"
#include "core/error.h"
#endif

namespace facula::cpu {

#if FC_HAVE_ONEDNN
namespace {

struct OneDnn {
  decltype(dnnl_sgemm)* sgemm;
  bool found = false;

  OneDnn() {
    void* lib = open_library(FC_ONEDNN_PATH, "libdnnl.so.3");
    found = lib && find_symbol(lib, "dnnl_sgemm", sgemm);
  }
};
const OneDnn& onednn() {
  static const OneDnn library;
  return library;
}

}  // namespace

bool onednn_available() { return onednn().found; }

void onednn_product(const LibraryProduct& p) {
  auto status = onednn().sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, static_cast<float>(p.alpha),
                        static_cast<const float*>(p.a), p.lda, static_cast<const float*>(p.b), p.ldb, static_cast<float>(p.beta),
                        static_cast<float*>(p.c), p.ldc);
  FC_CHECK(status == dnnl_success, "matmul: oneDNN's product failed with status ", static_cast<int>(status));
}
#else
bool onednn_available() { return false; }
void onednn_product(const LibraryProduct&) {}
#endif

}  // namespace facula::cpu
