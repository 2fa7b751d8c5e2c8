// SPDX-License-Identifier: Apache-2.0
// From the contract's tensors and numbers to the records of a launch packet.
#pragma once
#include <facula/backend.hpp>

#include "backends/hammerblade/include/device/facula_hb/table.h"
#include "backends/hammerblade/runtime/packet.h"

namespace hammerblade {

namespace fb = facula::backend;
using fc::hb::Packet;
inline constexpr int kMaxDims = hb::kMaxDims;

// A strided tensor for a kernel: in elements, at most kMaxDims dimensions.
struct View {
  void* data = nullptr;
  int ndim = 0;
  int64_t size[kMaxDims], stride[kMaxDims];
  int64_t numel() const;
};

int item_size(int dtype);
std::string type_name(int dtype);
bool contiguous(const fc_tensor&);
int64_t elements(const fc_tensor&);

// Sizes and strides in bytes, as the contract gives them. Declines what the device cannot address.
View view_of(void* data, int ndim, const int64_t* sizes, const int64_t* strides, int dtype);
View view_of(const fc_tensor&);

void pack(Packet&, const View&);
void pack_typed(Packet&, const fc_tensor&);  // a kernel that takes it for another type is told
void pack_absent(Packet&);                   // a tensor without data
void pack_list(Packet&, const fc_tensor*, int n);
void pack_ints(Packet&, const int64_t*, int64_t n);
void pack_number(Packet&, int dtype, const fc_number&);
void pack_numbers(Packet&, int dtype, const fc_number*, int n);
void pack_integer(Packet&, int dtype, int64_t);
// A number in a tensor's place, the same for every element.
void pack_repeated(Packet&, int dtype, const fc_number&, int ndim, const int64_t* sizes);

}  // namespace hammerblade
