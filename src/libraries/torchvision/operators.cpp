// SPDX-License-Identifier: Apache-2.0
// torchvision's operators for detection, under its names: its Python code calls them as torch.ops.torchvision.x. Those
// that its compiled library has besides are named here too, and say that they are missing.
#include "define/row.h"
#include "libraries/torchvision/regions.h"

namespace fc::torchvision {
namespace {

// --- shape rules
Tensor nms_meta(const Tensor&, const Tensor&, double) {
  raise<NotImplementedError>(
      "torchvision::nms: how many boxes are kept depends on their values, which a meta tensor "
      "does not have");
}
Tensor roi_align_meta(const Tensor& input, const Tensor& rois, double scale, int64_t h, int64_t w, int64_t sampling,
                      bool aligned) {
  const Regions r = regions_of(BinKind::Points, input, scale, h, w, sampling, aligned);
  check_regions("roi_align", r, input, rois);
  return empty_tensor(result_sizes(r, rois), input.dtype(), input.device());
}
std::tuple<Tensor, Tensor> with_indices_meta(const char* op, const Regions& r, const Tensor& input,
                                             const Tensor& rois) {
  check_regions(op, r, input, rois);
  const Dims sizes = result_sizes(r, rois);
  return {empty_tensor(sizes, input.dtype(), input.device()), empty_tensor(sizes, DType::Int32, input.device())};
}
std::tuple<Tensor, Tensor> roi_pool_meta(const Tensor& input, const Tensor& rois, double scale, int64_t h, int64_t w) {
  return with_indices_meta("roi_pool", regions_of(BinKind::Maximum, input, scale, h, w), input, rois);
}
std::tuple<Tensor, Tensor> ps_roi_align_meta(const Tensor& input, const Tensor& rois, double scale, int64_t h,
                                             int64_t w, int64_t sampling) {
  return with_indices_meta("ps_roi_align", regions_of(BinKind::PointsByPosition, input, scale, h, w, sampling), input,
                           rois);
}
std::tuple<Tensor, Tensor> ps_roi_pool_meta(const Tensor& input, const Tensor& rois, double scale, int64_t h,
                                            int64_t w) {
  return with_indices_meta("ps_roi_pool", regions_of(BinKind::AverageByPosition, input, scale, h, w), input, rois);
}
Tensor backward_meta(const char* op, const Regions& r, const Tensor& grad, const Tensor& rois) {
  check_regions_backward(op, r, grad, rois);
  return empty_tensor(image_sizes(r), grad.dtype(), grad.device());
}
Tensor roi_align_backward_meta(const Tensor& grad, const Tensor& rois, double scale, int64_t ph, int64_t pw, int64_t n,
                               int64_t c, int64_t h, int64_t w, int64_t sampling, bool aligned) {
  return backward_meta("_roi_align_backward", {BinKind::Points, scale, ph, pw, sampling, aligned, n, c, h, w}, grad,
                       rois);
}
Tensor roi_pool_backward_meta(const Tensor& grad, const Tensor& rois, const Tensor&, double scale, int64_t ph,
                              int64_t pw, int64_t n, int64_t c, int64_t h, int64_t w) {
  return backward_meta("_roi_pool_backward", {BinKind::Maximum, scale, ph, pw, 0, false, n, c, h, w}, grad, rois);
}
Tensor ps_roi_align_backward_meta(const Tensor& grad, const Tensor& rois, const Tensor&, double scale, int64_t ph,
                                  int64_t pw, int64_t sampling, int64_t n, int64_t c, int64_t h, int64_t w) {
  return backward_meta("_ps_roi_align_backward",
                       {BinKind::PointsByPosition, scale, ph, pw, sampling, false, n, c, h, w}, grad, rois);
}
Tensor ps_roi_pool_backward_meta(const Tensor& grad, const Tensor& rois, const Tensor&, double scale, int64_t ph,
                                 int64_t pw, int64_t n, int64_t c, int64_t h, int64_t w) {
  return backward_meta("_ps_roi_pool_backward", {BinKind::AverageByPosition, scale, ph, pw, 0, false, n, c, h, w}, grad,
                       rois);
}

// --- derivatives; boxes have none
void roi_align_grad(Grad& g) {
  if (!g.needs(0)) return;
  IntSpan s = g.sizes(0);
  g.set(0, call<"torchvision::_roi_align_backward", Tensor>(g.out(), g.in(1), g.arg(2).real(), g.arg(3).integer(),
                                                            g.arg(4).integer(), s[0], s[1], s[2], s[3],
                                                            g.arg(5).integer(), g.arg(6).boolean()));
}
void roi_align_backward_grad(Grad& g) {
  if (g.needs(0))
    g.set(0, call<"torchvision::roi_align", Tensor>(g.out(), g.in(1), g.arg(2).real(), g.arg(3).integer(),
                                                    g.arg(4).integer(), g.arg(9).integer(), g.arg(10).boolean()));
}
void roi_pool_grad(Grad& g) {
  if (!g.needs(0) || !g.out().defined()) return;
  IntSpan s = g.sizes(0);
  g.set(0, call<"torchvision::_roi_pool_backward", Tensor>(g.out(), g.in(1), g.result(1), g.arg(2).real(),
                                                           g.arg(3).integer(), g.arg(4).integer(), s[0], s[1], s[2],
                                                           s[3]));
}
void ps_roi_align_grad(Grad& g) {
  if (!g.needs(0) || !g.out().defined()) return;
  IntSpan s = g.sizes(0);
  g.set(0, call<"torchvision::_ps_roi_align_backward", Tensor>(g.out(), g.in(1), g.result(1), g.arg(2).real(),
                                                               g.arg(3).integer(), g.arg(4).integer(),
                                                               g.arg(5).integer(), s[0], s[1], s[2], s[3]));
}
void ps_roi_pool_grad(Grad& g) {
  if (!g.needs(0) || !g.out().defined()) return;
  IntSpan s = g.sizes(0);
  g.set(0, call<"torchvision::_ps_roi_pool_backward", Tensor>(g.out(), g.in(1), g.result(1), g.arg(2).real(),
                                                              g.arg(3).integer(), g.arg(4).integer(), s[0], s[1], s[2],
                                                              s[3]));
}

// --- what only torchvision's own library has
[[noreturn]] void missing(const char* op) {
  raise<NotImplementedError>("torchvision::", op,
                             ": Facula does not have this operator of torchvision's compiled "
                             "library");
}
Tensor deform_conv2d(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, int64_t, int64_t,
                     int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool) {
  missing("deform_conv2d");
}
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> deform_conv2d_backward(const Tensor&, const Tensor&, const Tensor&,
                                                                          const Tensor&, const Tensor&, const Tensor&,
                                                                          int64_t, int64_t, int64_t, int64_t, int64_t,
                                                                          int64_t, int64_t, int64_t, bool) {
  missing("_deform_conv2d_backward");
}
Tensor box_iou_rotated(const Tensor&, const Tensor&) { missing("box_iou_rotated"); }
Tensor qnms(const Tensor&, const Tensor&, double) { missing("qnms"); }
Tensor qroi_align(const Tensor&, const Tensor&, double, int64_t, double, int64_t, double, int64_t, int64_t, int64_t,
                  bool) {
  missing("qroi_align");
}
int64_t cuda_version() { return -1; }

constexpr OpDef defs[] = {
    {.schema = "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
     .meta = kernel<&nms_meta>(),
     .differentiable = false,
     .autocast = Autocast::Float32,
     .hidden = true},
    {.schema = "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
               "pooled_width, int sampling_ratio, bool aligned) -> Tensor",
     .meta = kernel<&roi_align_meta>(),
     .saves = "rois spatial_scale pooled_height pooled_width sampling_ratio aligned",
     .grad = roi_align_grad,
     .autocast = Autocast::Float32,
     .hidden = true},
    {.schema = "torchvision::_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, int pooled_height, int "
               "pooled_width, int batch_size, int channels, int height, int width, int sampling_ratio, bool aligned) "
               "-> Tensor",
     .meta = kernel<&roi_align_backward_meta>(),
     .saves = "rois spatial_scale pooled_height pooled_width sampling_ratio aligned",
     .grad = roi_align_backward_grad,
     .hidden = true},
    {.schema = "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
               "pooled_width) -> (Tensor, Tensor)",
     .meta = kernel<&roi_pool_meta>(),
     .saves = "rois spatial_scale pooled_height pooled_width result1",
     .grad = roi_pool_grad,
     .differentiable_results = 1,
     .hidden = true},
    {.schema = "torchvision::_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, int "
               "pooled_height, int pooled_width, int batch_size, int channels, int height, int width) -> Tensor",
     .meta = kernel<&roi_pool_backward_meta>(),
     .hidden = true},
    {.schema = "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
               "pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
     .meta = kernel<&ps_roi_align_meta>(),
     .saves = "rois spatial_scale pooled_height pooled_width sampling_ratio result1",
     .grad = ps_roi_align_grad,
     .differentiable_results = 1,
     .hidden = true},
    {.schema = "torchvision::_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float "
               "spatial_scale, int pooled_height, int pooled_width, int sampling_ratio, int batch_size, int channels, "
               "int height, int width) -> Tensor",
     .meta = kernel<&ps_roi_align_backward_meta>(),
     .hidden = true},
    {.schema = "torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int "
               "pooled_width) -> (Tensor, Tensor)",
     .meta = kernel<&ps_roi_pool_meta>(),
     .saves = "rois spatial_scale pooled_height pooled_width result1",
     .grad = ps_roi_pool_grad,
     .differentiable_results = 1,
     .hidden = true},
    {.schema = "torchvision::_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float "
               "spatial_scale, int pooled_height, int pooled_width, int batch_size, int channels, int height, int "
               "width) -> Tensor",
     .meta = kernel<&ps_roi_pool_backward_meta>(),
     .hidden = true},
    {.schema = "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int "
               "stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, int groups, int "
               "offset_groups, bool use_mask) -> Tensor",
     .all = kernel<&deform_conv2d>(),
     .hidden = true},
    {.schema = "torchvision::_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor "
               "mask, Tensor bias, int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, "
               "int groups, int offset_groups, bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
     .all = kernel<&deform_conv2d_backward>(),
     .hidden = true},
    {.schema = "torchvision::box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
     .all = kernel<&box_iou_rotated>(),
     .hidden = true},
    {.schema = "torchvision::qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
     .all = kernel<&qnms>(),
     .hidden = true},
    {.schema = "torchvision::qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float "
               "rois_scale, int rois_zero_point, float spatial_scale, int pooled_height, int pooled_width, int "
               "sampling_ratio, bool aligned) -> Tensor",
     .all = kernel<&qroi_align>(),
     .hidden = true},
    {.schema = "torchvision::_cuda_version() -> int", .all = kernel<&cuda_version>(), .hidden = true},
};

}  // namespace
}  // namespace fc::torchvision

extern "C" void facula_library_init() {
  fc::define_all(fc::torchvision::defs);
  fc::torchvision::set_cpu_kernels();
}
