// SPDX-License-Identifier: Apache-2.0
// Regions of images, as torchvision's operators take them: K boxes (image, x1, y1, x2, y2), each cut into bins.
#pragma once
#include "define/calls.h"

namespace fc::torchvision {

void set_cpu_kernels();  // once, after the operators are defined

// What a bin's value is made of.
enum class BinKind {
  Points,             // the mean of interpolated points: roi_align
  PointsByPosition,   // the same, and each bin reads channels of its own: ps_roi_align
  AverageByPosition,  // the mean of whole pixels, each bin from channels of its own: ps_roi_pool
  Maximum,            // the largest pixel: roi_pool
};
constexpr bool by_position(BinKind k) { return k == BinKind::PointsByPosition || k == BinKind::AverageByPosition; }

struct Regions {
  BinKind kind;
  double scale;                            // from the boxes' coordinates to the image's
  int64_t pooled_height, pooled_width;     // bins
  int64_t sampling = 0;                    // points along a side of a bin; not positive: one per pixel
  bool aligned = false;                    // pixels have their centres at .5
  int64_t batch, channels, height, width;  // of the images
  int64_t bins() const { return pooled_height * pooled_width; }
  int64_t out_channels() const { return by_position(kind) ? channels / bins() : channels; }
};

// Checks what forward and backward calls have in common; values is the input or the gradient.
inline void check_regions(const char* op, const Regions& r, const Tensor& values, const Tensor& rois) {
  FC_CHECK(rois.dim() == 2 && rois.size(1) == 5, op, ": rois must have shape as Tensor[K, 5], got ", rois.sizes());
  FC_CHECK(values.dim() == 4, op, ": Expected 4D tensor, got ", values.sizes());
  FC_CHECK(values.dtype() == rois.dtype(), op,
           ": Expected tensor for input to have the same type as tensor for rois; but type ", values.dtype(),
           " does not equal ", rois.dtype());
  FC_CHECK(is_floating(values.dtype()), op, ": floating point expected, got ", values.dtype());
  FC_CHECK(r.pooled_height > 0 && r.pooled_width > 0, op, ": the pooled size must be positive, got ", r.pooled_height,
           " x ", r.pooled_width);
  FC_CHECK(r.batch >= 0 && r.channels >= 0 && r.height >= 0 && r.width >= 0, op, ": sizes cannot be negative");
  const int64_t bins = checked_numel(Dims{r.pooled_height, r.pooled_width});
  if (by_position(r.kind))
    FC_CHECK(r.channels % bins == 0, op, ": input channels must be a multiple of pooling height * pooling width, got ",
             r.channels, " and ", bins);
}
inline Dims result_sizes(const Regions& r, const Tensor& rois) {
  return {rois.size(0), r.out_channels(), r.pooled_height, r.pooled_width};
}
inline Dims image_sizes(const Regions& r) { return {r.batch, r.channels, r.height, r.width}; }
inline void check_regions_backward(const char* op, const Regions& r, const Tensor& grad, const Tensor& rois) {
  check_regions(op, r, grad, rois);
  FC_CHECK(Dims(grad.sizes()) == result_sizes(r, rois), op, ": the gradient has sizes ", grad.sizes(), ", expected ",
           IntSpan(result_sizes(r, rois)));
}

// The calls, as rows and kernels get them.
inline Regions regions_of(BinKind kind, const Tensor& input, double scale, int64_t h, int64_t w, int64_t sampling = 0,
                          bool aligned = false) {
  FC_CHECK(input.dim() == 4, "torchvision: Expected 4D tensor, got ", input.sizes());
  return {kind, scale, h, w, sampling, aligned, input.size(0), input.size(1), input.size(2), input.size(3)};
}
inline void check_nms(const Tensor& dets, const Tensor& scores) {
  FC_CHECK(dets.dim() == 2, "boxes should be a 2d tensor, got ", dets.dim(), "D");
  FC_CHECK(dets.size(1) == 4, "boxes should have 4 elements in dimension 1, got ", dets.size(1));
  FC_CHECK(scores.dim() == 1, "scores should be a 1d tensor, got ", scores.dim(), "D");
  FC_CHECK(dets.size(0) == scores.size(0), "boxes and scores should have same number of elements in dimension 0, got ",
           dets.size(0), " and ", scores.size(0));
  FC_CHECK(dets.dtype() == scores.dtype(), "dets should have the same type as scores");
}

}  // namespace fc::torchvision
