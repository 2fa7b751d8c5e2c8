// SPDX-License-Identifier: Apache-2.0
// torchvision's operators for detection. A bin of a region is a list of pixels with weights, made once per region and
// applied to all channels; only roi_pool, which takes the largest pixel, walks its bins itself. Backward passes are
// spread over channels, so that no two threads add to one pixel.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/register.h"
#include "core/threads.h"
#include "libraries/torchvision/regions.h"

namespace fc::torchvision {
namespace {

template <class F>
void for_real(const char* op, DType t, F f) {
  if (t == DType::Float32) return f(float());
  if (t == DType::Float64) return f(double());
  raise<NotImplementedError>("\"", op, "\" not implemented for '", info(t).legacy, "'");
}

template <class T>
struct Pixel {
  int64_t at;
  T weight;
};
template <class T>
struct Bins {
  std::vector<Pixel<T>> pixels;
  std::vector<size_t> ends;  // of each bin's pixels
};

// Boxes come from networks: they may be anything, also not numbers.
constexpr double largest = 1 << 24;
template <class T>
void check_box(const char* op, const Regions& r, const T* box) {
  FC_CHECK(box[0] >= 0 && box[0] < static_cast<T>(r.batch), op, ": a box is in image ", static_cast<double>(box[0]),
           ", and there are ", r.batch);
  for (int i = 1; i < 5; ++i)
    FC_CHECK(std::abs(static_cast<double>(box[i]) * r.scale) <= largest, op, ": the coordinate ",
             static_cast<double>(box[i]), " of a box is out of range");
}

// Four pixels around a point, or none outside of the image.
template <class T>
void add_point(Bins<T>& bins, const Regions& r, T y, T x, T share) {
  if (y < -1 || y > static_cast<T>(r.height) || x < -1 || x > static_cast<T>(r.width) || r.height == 0 || r.width == 0)
    return;
  y = std::max(y, T(0));
  x = std::max(x, T(0));
  int64_t y0 = static_cast<int64_t>(y), x0 = static_cast<int64_t>(x), y1 = y0 + 1, x1 = x0 + 1;
  if (y0 >= r.height - 1) {
    y0 = y1 = r.height - 1;
    y = static_cast<T>(y0);
  }
  if (x0 >= r.width - 1) {
    x0 = x1 = r.width - 1;
    x = static_cast<T>(x0);
  }
  const T ly = y - static_cast<T>(y0), lx = x - static_cast<T>(x0), hy = 1 - ly, hx = 1 - lx;
  bins.pixels.push_back({y0 * r.width + x0, hy * hx * share});
  bins.pixels.push_back({y0 * r.width + x1, hy * lx * share});
  bins.pixels.push_back({y1 * r.width + x0, ly * hx * share});
  bins.pixels.push_back({y1 * r.width + x1, ly * lx * share});
}

template <class T>
void point_bins(Bins<T>& bins, const char* op, const Regions& r, const T* box) {
  const bool legacy = r.kind == BinKind::Points && !r.aligned;  // pixels have their centres at whole numbers
  const T scale = static_cast<T>(r.scale), shift = legacy ? T(0) : T(0.5);
  const T x0 = box[1] * scale - shift, y0 = box[2] * scale - shift;
  T width = box[3] * scale - shift - x0, height = box[4] * scale - shift - y0;
  if (legacy) {
    width = std::max(width, T(1));
    height = std::max(height, T(1));
  }
  const T bin_h = height / static_cast<T>(r.pooled_height), bin_w = width / static_cast<T>(r.pooled_width);
  const int64_t rows = r.sampling > 0 ? r.sampling : static_cast<int64_t>(std::ceil(bin_h));
  const int64_t columns = r.sampling > 0 ? r.sampling : static_cast<int64_t>(std::ceil(bin_w));
  const int64_t most = 1 << 24;
  FC_CHECK(rows <= most && columns <= most && rows * columns <= most / r.pooled_height / r.pooled_width, op,
           ": a box of ", static_cast<double>(width), " x ", static_cast<double>(height),
           " takes too many sampling points");
  const T share = T(1) / static_cast<T>(std::max<int64_t>(rows * columns, 1));
  for (int64_t i = 0; i < r.pooled_height; ++i)
    for (int64_t j = 0; j < r.pooled_width; ++j) {
      for (int64_t iy = 0; iy < rows; ++iy) {
        const T y = y0 + static_cast<T>(i) * bin_h + (static_cast<T>(iy) + T(0.5)) * bin_h / static_cast<T>(rows);
        for (int64_t ix = 0; ix < columns; ++ix)
          add_point(bins, r, y,
                    x0 + static_cast<T>(j) * bin_w + (static_cast<T>(ix) + T(0.5)) * bin_w / static_cast<T>(columns),
                    share);
      }
      bins.ends.push_back(bins.pixels.size());
    }
}

// The pixels of one bin along one side: [from, to).
struct Side {
  int64_t from, to;
};
template <class T>
Side side(int64_t bin, T size, int64_t start, int64_t length) {
  const int64_t from = static_cast<int64_t>(std::floor(static_cast<T>(bin) * size));
  const int64_t to = static_cast<int64_t>(std::ceil(static_cast<T>(bin + 1) * size));
  return {std::clamp<int64_t>(from + start, 0, length), std::clamp<int64_t>(to + start, 0, length)};
}
// A box in whole pixels; ends are part of it for roi_pool only.
template <class T>
struct Box {
  int64_t x, y;
  T bin_h, bin_w;
  Box(const Regions& r, const T* box) {
    const T scale = static_cast<T>(r.scale);
    x = static_cast<int64_t>(std::round(box[1] * scale));
    y = static_cast<int64_t>(std::round(box[2] * scale));
    const int64_t end = r.kind == BinKind::Maximum;
    const int64_t width = static_cast<int64_t>(std::round(box[3] * scale)) - x + end;
    const int64_t height = static_cast<int64_t>(std::round(box[4] * scale)) - y + end;
    bin_h = static_cast<T>(std::max<int64_t>(height, 1)) / static_cast<T>(r.pooled_height);
    bin_w = static_cast<T>(std::max<int64_t>(width, 1)) / static_cast<T>(r.pooled_width);
  }
};

template <class T>
void average_bins(Bins<T>& bins, const Regions& r, const T* roi) {
  const Box<T> box(r, roi);
  for (int64_t i = 0; i < r.pooled_height; ++i)
    for (int64_t j = 0; j < r.pooled_width; ++j) {
      // The last row and column count for nothing, as in torchvision.
      const Side rows = side(i, box.bin_h, box.y, std::max<int64_t>(r.height - 1, 0)),
                 columns = side(j, box.bin_w, box.x, std::max<int64_t>(r.width - 1, 0));
      const int64_t area = std::max<int64_t>(rows.to - rows.from, 0) * std::max<int64_t>(columns.to - columns.from, 0);
      for (int64_t y = rows.from; y < rows.to; ++y)
        for (int64_t x = columns.from; x < columns.to; ++x)
          bins.pixels.push_back({y * r.width + x, T(1) / static_cast<T>(area)});
      bins.ends.push_back(bins.pixels.size());
    }
}

template <class T>
void make_bins(Bins<T>& bins, const char* op, const Regions& r, const T* box) {
  check_box(op, r, box);
  bins.pixels.clear();
  bins.ends.clear();
  if (r.kind == BinKind::AverageByPosition) average_bins(bins, r, box);
  else point_bins(bins, op, r, box);
}

int64_t channel_of(const Regions& r, int64_t c, int64_t bin) { return by_position(r.kind) ? c * r.bins() + bin : c; }

// --- weighted pixels
Tensor forward(const char* op, const Regions& r, const Tensor& input, const Tensor& rois) {
  check_regions(op, r, input, rois);
  if (is_reduced(input.dtype()))
    return to_dtype(forward(op, r, to_dtype(input, DType::Float32), to_dtype(rois, DType::Float32)), input.dtype());
  Tensor in = contiguous(input), boxes = contiguous(rois);
  Tensor out = empty_tensor(result_sizes(r, rois), input.dtype(), Device{});
  const int64_t channels = r.out_channels(), plane = r.height * r.width;
  for_real(op, input.dtype(), [&]<class T>(T) {
    parallel_for(0, rois.size(0), 1, [&](int64_t begin, int64_t end) {
      Bins<T> bins;
      for (int64_t k = begin; k < end; ++k) {
        const T* box = boxes.data_as<T>() + k * 5;
        make_bins(bins, op, r, box);
        const T* image = in.data_as<T>() + static_cast<int64_t>(box[0]) * r.channels * plane;
        T* to = out.data_as<T>() + k * channels * r.bins();
        for (int64_t c = 0; c < channels; ++c) {
          size_t p = 0;
          for (int64_t b = 0; b < r.bins(); ++b) {
            const T* from = image + channel_of(r, c, b) * plane;
            T sum = 0;
            for (; p < bins.ends[static_cast<size_t>(b)]; ++p) sum += bins.pixels[p].weight * from[bins.pixels[p].at];
            *to++ = sum;
          }
        }
      }
    });
  });
  return out;
}

Tensor backward(const char* op, const Regions& r, const Tensor& grad, const Tensor& rois) {
  check_regions_backward(op, r, grad, rois);
  if (is_reduced(grad.dtype()))
    return to_dtype(backward(op, r, to_dtype(grad, DType::Float32), to_dtype(rois, DType::Float32)), grad.dtype());
  Tensor g = contiguous(grad), boxes = contiguous(rois);
  Tensor out = zeros(image_sizes(r), grad.dtype(), Device{});
  const int64_t channels = r.out_channels(), plane = r.height * r.width;
  for_real(op, grad.dtype(), [&]<class T>(T) {
    parallel_for(0, channels, 8, [&](int64_t begin, int64_t end) {
      Bins<T> bins;
      for (int64_t k = 0; k < rois.size(0); ++k) {
        const T* box = boxes.data_as<T>() + k * 5;
        make_bins(bins, op, r, box);
        T* image = out.data_as<T>() + static_cast<int64_t>(box[0]) * r.channels * plane;
        for (int64_t c = begin; c < end; ++c) {
          const T* from = g.data_as<T>() + (k * channels + c) * r.bins();
          size_t p = 0;
          for (int64_t b = 0; b < r.bins(); ++b) {
            T* to = image + channel_of(r, c, b) * plane;
            for (; p < bins.ends[static_cast<size_t>(b)]; ++p) to[bins.pixels[p].at] += bins.pixels[p].weight * from[b];
          }
        }
      }
    });
  });
  return out;
}

// Which channel each result was read from, as torchvision returns it.
std::tuple<Tensor, Tensor> with_mapping(const Regions& r, Tensor values) {
  Tensor mapping = empty_tensor(values.sizes(), DType::Int32, Device{});
  int32_t* to = mapping.data_as<int32_t>();
  for (int64_t i = 0; i < mapping.numel(); ++i) to[i] = static_cast<int32_t>(i % r.channels);
  return {std::move(values), std::move(mapping)};
}

Tensor roi_align(const Tensor& input, const Tensor& rois, double scale, int64_t h, int64_t w, int64_t sampling,
                 bool aligned) {
  return forward("roi_align", regions_of(BinKind::Points, input, scale, h, w, sampling, aligned), input, rois);
}
Tensor roi_align_backward(const Tensor& grad, const Tensor& rois, double scale, int64_t ph, int64_t pw, int64_t n,
                          int64_t c, int64_t h, int64_t w, int64_t sampling, bool aligned) {
  return backward("_roi_align_backward", {BinKind::Points, scale, ph, pw, sampling, aligned, n, c, h, w}, grad, rois);
}
std::tuple<Tensor, Tensor> ps_roi_align(const Tensor& input, const Tensor& rois, double scale, int64_t h, int64_t w,
                                        int64_t sampling) {
  const Regions r = regions_of(BinKind::PointsByPosition, input, scale, h, w, sampling);
  return with_mapping(r, forward("ps_roi_align", r, input, rois));
}
Tensor ps_roi_align_backward(const Tensor& grad, const Tensor& rois, const Tensor&, double scale, int64_t ph,
                             int64_t pw, int64_t sampling, int64_t n, int64_t c, int64_t h, int64_t w) {
  return backward("_ps_roi_align_backward", {BinKind::PointsByPosition, scale, ph, pw, sampling, false, n, c, h, w},
                  grad, rois);
}
std::tuple<Tensor, Tensor> ps_roi_pool(const Tensor& input, const Tensor& rois, double scale, int64_t h, int64_t w) {
  const Regions r = regions_of(BinKind::AverageByPosition, input, scale, h, w);
  return with_mapping(r, forward("ps_roi_pool", r, input, rois));
}
Tensor ps_roi_pool_backward(const Tensor& grad, const Tensor& rois, const Tensor&, double scale, int64_t ph, int64_t pw,
                            int64_t n, int64_t c, int64_t h, int64_t w) {
  return backward("_ps_roi_pool_backward", {BinKind::AverageByPosition, scale, ph, pw, 0, false, n, c, h, w}, grad,
                  rois);
}

// --- the largest pixel
std::tuple<Tensor, Tensor> roi_pool(const Tensor& input, const Tensor& rois, double scale, int64_t h, int64_t w) {
  const Regions r = regions_of(BinKind::Maximum, input, scale, h, w);
  check_regions("roi_pool", r, input, rois);
  if (is_reduced(input.dtype())) {
    auto [values, where] = roi_pool(to_dtype(input, DType::Float32), to_dtype(rois, DType::Float32), scale, h, w);
    return {to_dtype(values, input.dtype()), where};
  }
  const int64_t plane = r.height * r.width;
  FC_CHECK(plane <= std::numeric_limits<int32_t>::max(), "roi_pool: positions in an image of ", r.height, " x ",
           r.width, " do not fit into 32 bits");
  Tensor in = contiguous(input), boxes = contiguous(rois);
  Tensor out = empty_tensor(result_sizes(r, rois), input.dtype(), Device{});
  Tensor argmax = empty_tensor(out.sizes(), DType::Int32, Device{});
  for_real("roi_pool", input.dtype(), [&]<class T>(T) {
    parallel_for(0, rois.size(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const T* roi = boxes.data_as<T>() + k * 5;
        check_box("roi_pool", r, roi);
        const Box<T> box(r, roi);
        const T* image = in.data_as<T>() + static_cast<int64_t>(roi[0]) * r.channels * plane;
        int64_t at = k * r.channels * r.bins();
        for (int64_t c = 0; c < r.channels; ++c, image += plane)
          for (int64_t i = 0; i < h; ++i)
            for (int64_t j = 0; j < w; ++j, ++at) {
              const Side rows = side(i, box.bin_h, box.y, r.height), columns = side(j, box.bin_w, box.x, r.width);
              const bool empty = rows.to <= rows.from || columns.to <= columns.from;
              T best = empty ? T(0) : -std::numeric_limits<T>::max();
              int64_t where = -1;
              for (int64_t y = rows.from; y < rows.to; ++y)
                for (int64_t x = columns.from; x < columns.to; ++x)
                  if (image[y * r.width + x] > best) {
                    where = y * r.width + x;
                    best = image[where];
                  }
              out.data_as<T>()[at] = best;
              argmax.data_as<int32_t>()[at] = static_cast<int32_t>(where);
            }
      }
    });
  });
  return {out, argmax};
}

Tensor roi_pool_backward(const Tensor& grad, const Tensor& rois, const Tensor& argmax, double scale, int64_t ph,
                         int64_t pw, int64_t n, int64_t c, int64_t h, int64_t w) {
  const char* op = "_roi_pool_backward";
  const Regions r{BinKind::Maximum, scale, ph, pw, 0, false, n, c, h, w};
  check_regions_backward(op, r, grad, rois);
  FC_CHECK(argmax.dtype() == DType::Int32 && Dims(argmax.sizes()) == Dims(grad.sizes()), op,
           ": argmax must be int32 of sizes ", grad.sizes());
  if (is_reduced(grad.dtype()))
    return to_dtype(roi_pool_backward(to_dtype(grad, DType::Float32), to_dtype(rois, DType::Float32), argmax, scale, ph,
                                      pw, n, c, h, w),
                    grad.dtype());
  Tensor g = contiguous(grad), boxes = contiguous(rois), where = contiguous(argmax);
  Tensor out = zeros(image_sizes(r), grad.dtype(), Device{});
  const int64_t plane = h * w;
  for_real(op, grad.dtype(), [&]<class T>(T) {
    parallel_for(0, c, 8, [&](int64_t begin, int64_t end) {
      for (int64_t k = 0; k < rois.size(0); ++k) {
        const T* roi = boxes.data_as<T>() + k * 5;
        check_box(op, r, roi);
        for (int64_t channel = begin; channel < end; ++channel) {
          const int64_t from = (k * c + channel) * r.bins();
          T* to = out.data_as<T>() + (static_cast<int64_t>(roi[0]) * c + channel) * plane;
          for (int64_t b = 0; b < r.bins(); ++b) {
            const int32_t at = where.data_as<int32_t>()[from + b];
            if (at < 0) continue;
            FC_CHECK(at < plane, op, ": argmax holds ", at, ", and an image has ", plane, " pixels");
            to[at] += g.data_as<T>()[from + b];
          }
        }
      }
    });
  });
  return out;
}

// --- which boxes to keep: each that no better one covers by more than the threshold
Tensor nms(const Tensor& dets, const Tensor& scores, double threshold) {
  check_nms(dets, scores);
  if (is_reduced(dets.dtype())) return nms(to_dtype(dets, DType::Float32), to_dtype(scores, DType::Float32), threshold);
  const int64_t n = dets.size(0);
  Tensor boxes = contiguous(dets), values = contiguous(scores);
  std::vector<int64_t> kept;
  for_real("nms", dets.dtype(), [&]<class T>(T) {
    const T *b = boxes.data_as<T>(), *s = values.data_as<T>();
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) order[static_cast<size_t>(i)] = i;
    // Not a number stands before all others, as in a descending sort.
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t i, int64_t j) { return (std::isnan(s[i]) && !std::isnan(s[j])) || s[i] > s[j]; });
    std::vector<T> area(static_cast<size_t>(n));
    for (size_t i = 0; i < area.size(); ++i) {
      const T* box = b + i * 4;
      area[i] = (box[2] - box[0]) * (box[3] - box[1]);
    }
    std::vector<bool> covered(static_cast<size_t>(n));
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t mine = static_cast<size_t>(order[i]);
      if (covered[mine]) continue;
      kept.push_back(order[i]);
      const T* a = b + mine * 4;
      for (size_t j = i + 1; j < order.size(); ++j) {
        const size_t theirs = static_cast<size_t>(order[j]);
        if (covered[theirs]) continue;
        const T* o = b + theirs * 4;
        const T w = std::max(T(0), std::min(a[2], o[2]) - std::max(a[0], o[0]));
        const T h = std::max(T(0), std::min(a[3], o[3]) - std::max(a[1], o[1]));
        const T both = w * h;
        if (static_cast<double>(both / (area[mine] + area[theirs] - both)) > threshold) covered[theirs] = true;
      }
    }
  });
  Tensor out = empty_tensor(Dims{static_cast<int64_t>(kept.size())}, DType::Int64, Device{});
  std::copy(kept.begin(), kept.end(), out.data_as<int64_t>());
  return out;
}

}  // namespace

void set_cpu_kernels() {
  using cpu::set_cpu_kernel;
  set_cpu_kernel("torchvision::nms", kernel<&nms>());
  set_cpu_kernel("torchvision::roi_align", kernel<&roi_align>());
  set_cpu_kernel("torchvision::_roi_align_backward", kernel<&roi_align_backward>());
  set_cpu_kernel("torchvision::roi_pool", kernel<&roi_pool>());
  set_cpu_kernel("torchvision::_roi_pool_backward", kernel<&roi_pool_backward>());
  set_cpu_kernel("torchvision::ps_roi_align", kernel<&ps_roi_align>());
  set_cpu_kernel("torchvision::_ps_roi_align_backward", kernel<&ps_roi_align_backward>());
  set_cpu_kernel("torchvision::ps_roi_pool", kernel<&ps_roi_pool>());
  set_cpu_kernel("torchvision::_ps_roi_pool_backward", kernel<&ps_roi_pool_backward>());
}

}  // namespace fc::torchvision
