// SPDX-License-Identifier: Apache-2.0
// oneDNN, through its C interface (version 3). Loaded when it is first needed.
#pragma once
#include "backends/cpu/matmul.h"
#include "core/tensor.h"

namespace fc::cpu {

bool onednn_available();                       // loads it
bool onednn_computes(DType t);                 // float32, and half types that the processor has instructions for
void onednn_product(const LibraryProduct& p);  // float32

// The whole product of half types, summed in float32. False: it does not do this one, and nothing was computed.
bool onednn_half_product(const fc_matmul& c);

// One of the three maps of a convolution y = x * w + b, all of one type. The tensor that the pass computes has its
// memory: y (Forward), x (Data), w and, if defined, b (Weights).
struct OneDnnConvolution {
  enum Pass { Forward, Data, Weights } pass;
  const Tensor &x, &w, &b, &y;
  IntSpan stride, padding, dilation;
  int64_t groups;
};
// False: it does not do this one, and nothing was computed. Layouts are its own business inside: memory is read and
// written as the tensors' strides say. Primitives are kept per thread, by shape.
bool onednn_convolve(const OneDnnConvolution& c);

}  // namespace fc::cpu
