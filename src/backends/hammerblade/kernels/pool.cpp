// SPDX-License-Identifier: Apache-2.0
// The largest element of each window of an image, where it is, and the way back.
#include <facula_hb/kernel.h>

namespace {

struct Windows {
  Windows(const hb::Ints& kernels, const hb::Ints& strides, const hb::Ints& paddings, const hb::Ints& dilations) {
    auto pair = [](const hb::Ints& v, int32_t* to) {
      to[0] = v[0];
      to[1] = v[v.n > 1];
    };
    pair(kernels, kernel);
    pair(strides.n ? strides : kernels, stride);  // none: windows lie side by side
    pair(paddings, padding);
    pair(dilations, dilation);
  }
  int32_t kernel[2], stride[2], padding[2], dilation[2];
};

void max_pool2d_with_indices(hb::DenseOut<float> out, hb::DenseOut<int32_t> indices, hb::DenseIn<float> in,
                             hb::Ints kernel, hb::Ints stride, hb::Ints padding, hb::Ints dilation, hb::Ignored) {
  const Windows w(kernel, stride, padding, dilation);
  const int32_t height = in.size[in.ndim - 2], width = in.size[in.ndim - 1];
  const int32_t rows = out.size[out.ndim - 2], columns = out.size[out.ndim - 1];
  hb::each(out.numel / columns, [&](int32_t row) {
    const float* plane = in.data + row / rows * height * width;
    const int32_t top = row % rows * w.stride[0] - w.padding[0];
    for (int32_t x = 0; x < columns; ++x) {
      const int32_t left = x * w.stride[1] - w.padding[1];
      float best = -__builtin_inff();
      int32_t where = -1;
      for (int32_t ky = 0, y = top; ky < w.kernel[0]; ++ky, y += w.dilation[0]) {
        if (y < 0 || y >= height) continue;
        for (int32_t kx = 0, at = left; kx < w.kernel[1]; ++kx, at += w.dilation[1]) {
          if (at < 0 || at >= width) continue;
          const float value = hb::load(plane + y * width + at);
          if (where < 0 || value > best || value != value) {
            best = value;
            where = y * width + at;
          }
        }
      }
      hb::store(out.data + row * columns + x, best);
      hb::store(indices.data + row * columns + x, where);
    }
  });
}

// A tile takes whole planes, so that windows which overlap meet on one tile.
void max_pool2d_with_indices_backward(hb::DenseOut<float> out, hb::DenseIn<float> grad, hb::DenseIn<float>, hb::Ignored,
                                      hb::Ignored, hb::Ignored, hb::Ignored, hb::Ignored, hb::DenseIn<int32_t> indices,
                                      hb::Fault fault) {
  const int32_t area = out.size[out.ndim - 2] * out.size[out.ndim - 1];
  const int32_t windows = grad.size[grad.ndim - 2] * grad.size[grad.ndim - 1];
  hb::each(out.numel / area, [&](int32_t plane) {
    float* to = out.data + plane * area;
    for (int32_t i = 0; i < area; ++i) hb::store(to + i, 0.0f);
    for (int32_t i = plane * windows; i < (plane + 1) * windows; ++i) {
      const int32_t at = hb::load(indices.data + i);
      if (at < 0 || at >= area) fault.bad_index(at);
      else hb::store(to + at, hb::load(to + at) + hb::load(grad.data + i));
    }
  });
}

}  // namespace

HB_KERNEL_PLAIN(max_pool2d_with_indices, "aten::max_pool2d_with_indices")
HB_KERNEL_PLAIN(max_pool2d_with_indices_backward, "aten::max_pool2d_with_indices_backward")
