// SPDX-License-Identifier: Apache-2.0
// DLPack, the common currency of tensors between libraries: the structs of its ABI, unversioned and 1.x, and both ways
// across. What a foreign struct says is checked before any memory is touched.
#pragma once
#include <cstdint>

#include "core/tensor.h"

namespace fc::dlpack {

struct Device {
  int32_t type, id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct View {  // DLTensor
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // null: contiguous
  uint64_t byte_offset;
};
struct Managed {  // DLManagedTensor
  View tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct Versioned {  // DLManagedTensorVersioned
  uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  uint64_t flags;
  View tensor;
};

enum : int32_t { kCPU = 1, kCUDA = 2 };

// A struct that keeps the memory of `t` alive, and where it is, until its deleter is called. M is Managed, which cannot
// say that memory is read-only, or Versioned.
template <class M>
M* export_tensor(const Tensor& t, bool copied);

// A tensor over the memory of `m`, which it owns from then on: the deleter runs when the storage dies, on whatever
// thread that happens. On an error the caller still owns `m`.
template <class M>
Tensor import_tensor(M& m);

}  // namespace fc::dlpack
