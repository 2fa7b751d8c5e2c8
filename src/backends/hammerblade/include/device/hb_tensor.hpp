// SPDX-License-Identifier: Apache-2.0
// Tensors as a kernel sees them. The host writes an hb_tensor_t with its sizes and strides (in elements) into DRAM; a kernel
// wraps the pointer it gets, which copies sizes and strides into the tile's scratchpad.
#ifndef HB_TENSOR_HPP
#define HB_TENSOR_HPP

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "hb_assert.hpp"
#include "hb_common.hpp"

// Byte for byte what the host writes (runtime/packet.h).
typedef struct {
  uint32_t N;
  uint32_t dims;
  hb_eva_t strides;
  hb_eva_t sizes;
  hb_eva_t data;
} hb_tensor_t;

typedef struct {
  uint32_t N;
  hb_eva_t data;
} hb_vector_t;

// The emulator looks whether the host sent a tensor of such elements (hammerblade_emul.hpp).
template <typename DT>
static inline void hb_opened_as(const hb_tensor_t* t) {
#ifdef HB_EMUL
  if (std::is_arithmetic_v<DT>) hb_emul_tensor(t, HB_EMUL_ELEMENT(sizeof(DT), std::is_floating_point_v<DT>));
#else
  (void)t;
#endif
}

#ifndef DEFAULT_STRIDES
#define DEFAULT_STRIDES 5
#endif

// dims < 0: as many as the tensor has, at most DEFAULT_STRIDES. Otherwise exactly so many.
template <typename DT, int32_t dims = -1>
class HBTensor {
 public:
  typedef DT element_type;

  HBTensor(hb_tensor_t* t) : N_(t->N), ndim_(t->dims), data_((bsg_attr_remote DT*)(uintptr_t)t->data) {
    hb_assert_msg(dims < 0 ? ndim_ <= DEFAULT_STRIDES : ndim_ == (uint32_t)dims,
                  "a kernel for tensors of %s%d dimensions got one of %u", dims < 0 ? "at most " : "",
                  dims < 0 ? DEFAULT_STRIDES : (int)dims, (unsigned)ndim_);
    hb_opened_as<DT>(t);
    const uint32_t* strides = (const uint32_t*)(uintptr_t)t->strides;
    const uint32_t* sizes = (const uint32_t*)(uintptr_t)t->sizes;
    HB_FIX_WAW_HAZARD(sizes);
    for (uint32_t i = 0; i < ndim_; ++i) {
      strides_[i] = strides[i];
      sizes_[i] = sizes[i];
    }
  }

  uint32_t numel() const { return N_; }
  uint32_t ndim() const { return ndim_; }
  uint32_t dim(uint32_t d) const {
    hb_assert_msg(d < ndim_, "dimension %u of a tensor that has %u", (unsigned)d, (unsigned)ndim_);
    return sizes_[d];
  }
  uint32_t stride(uint32_t d) const {
    hb_assert_msg(d < ndim_, "stride %u of a tensor that has %u dimensions", (unsigned)d, (unsigned)ndim_);
    return strides_[d];
  }
  uint32_t* get_sizes() { return sizes_; }
  uint32_t* get_strides() { return strides_; }
  const uint32_t* get_sizes() const { return sizes_; }
  const uint32_t* get_strides() const { return strides_; }
  bsg_attr_remote char* data_ptr() const { return (bsg_attr_remote char*)data_; }

  template <typename... I>
  uint32_t offset(I... indices) const {
    const uint32_t index[] = {(uint32_t)indices...};
    uint32_t at = 0;
    for (size_t i = 0; i < sizeof...(I); ++i) at += index[i] * strides_[i];
    return at;
  }

  // One index is checked. It counts elements, so a tensor of more dimensions must be contiguous.
  bsg_attr_remote DT& operator()(uint32_t i) const {
    hb_assert_msg(i < N_, "element %u of a tensor that has %u", (unsigned)i, (unsigned)N_);
    return ndim_ == 1 ? data_[i * strides_[0]] : data_[i];
  }
  bsg_attr_remote DT& operator()(uint32_t i, uint32_t j) const { return data_[i * strides_[0] + j * strides_[1]]; }
  bsg_attr_remote DT& operator()(uint32_t i, uint32_t j, uint32_t k) const {
    return data_[i * strides_[0] + j * strides_[1] + k * strides_[2]];
  }
  bsg_attr_remote DT& operator()(uint32_t i, uint32_t j, uint32_t k, uint32_t l) const {
    return data_[i * strides_[0] + j * strides_[1] + k * strides_[2] + l * strides_[3]];
  }
  bsg_attr_remote DT& operator()(uint32_t i, uint32_t j, uint32_t k, uint32_t l, uint32_t m) const {
    return data_[i * strides_[0] + j * strides_[1] + k * strides_[2] + l * strides_[3] + m * strides_[4]];
  }

 private:
  uint32_t N_, ndim_;
  bsg_attr_remote DT* data_;
  uint32_t strides_[dims < 0 ? DEFAULT_STRIDES : (dims ? dims : 1)], sizes_[dims < 0 ? DEFAULT_STRIDES : (dims ? dims : 1)];
};

// A contiguous tensor whose shape the compiler knows.
template <typename DT, uint32_t N, uint32_t C, uint32_t H, uint32_t W>
class HBTensor4d {
 public:
  HBTensor4d(hb_tensor_t* t) : data_((bsg_attr_remote DT*)(uintptr_t)t->data) {
    hb_assert_msg(t->N == N * C * H * W && t->dims == 4, "a kernel for %u x %u x %u x %u got a tensor of %u elements",
                  (unsigned)N, (unsigned)C, (unsigned)H, (unsigned)W, (unsigned)t->N);
    hb_opened_as<DT>(t);
  }
  static constexpr uint32_t numel() { return N * C * H * W; }
  static constexpr uint32_t ndim() { return 4; }
  static constexpr uint32_t dim(uint32_t d) { return d == 0 ? N : d == 1 ? C : d == 2 ? H : W; }
  static constexpr uint32_t stride(uint32_t d) { return d == 0 ? C * H * W : d == 1 ? H * W : d == 2 ? W : 1; }
  static constexpr uint32_t offset(uint32_t n, uint32_t c, uint32_t h, uint32_t w) { return ((n * C + c) * H + h) * W + w; }
  bsg_attr_remote char* data_ptr() const { return (bsg_attr_remote char*)data_; }
  bsg_attr_remote DT& operator()(uint32_t n, uint32_t c, uint32_t h, uint32_t w) const { return data_[offset(n, c, h, w)]; }

  // Every element, each tile its share.
  void init(DT value) const {
    const uint32_t tiles = (uint32_t)(bsg_tiles_X * bsg_tiles_Y);
    for (uint32_t i = (uint32_t)__bsg_id; i < numel(); i += tiles) data_[i] = value;
  }

 private:
  bsg_attr_remote DT* data_;
};

template <typename T>
class HBVector {
 public:
  HBVector(hb_vector_t* v) : N_(v->N), data_((bsg_attr_remote T*)(uintptr_t)v->data) {}
  uint32_t numel() const { return N_; }
  bsg_attr_remote T& operator[](uint32_t i) const {
    hb_assert_msg(i < N_, "element %u of a vector that has %u", (unsigned)i, (unsigned)N_);
    return data_[i];
  }
  bsg_attr_remote T* data_ptr() const { return data_; }

 private:
  uint32_t N_;
  bsg_attr_remote T* data_;
};

#endif
