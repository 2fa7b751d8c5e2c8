// SPDX-License-Identifier: Apache-2.0
// Shapes, new tensors and views. The class is in facula/tensor_impl.h.
#pragma once
#include <facula/tensor_impl.h>

#include "core/device.h"
#include "core/dims.h"
#include "core/dtype.h"
#include "core/ref.h"
#include "core/storage.h"

namespace fc {

inline constexpr size_t kMaxRank = 64;
inline constexpr int64_t kMaxStride = INT64_MAX / 16;  // of any element type it fits into 64 bits in bytes, too

// --- arithmetic on shapes, all checked against overflow
int64_t checked_numel(IntSpan sizes);  // throws RuntimeError on negative sizes and overflow
size_t checked_bytes(int64_t numel, DType dtype);
Dims contiguous_strides(IntSpan sizes, MemoryFormat format = MemoryFormat::Contiguous);
int64_t wrap_dim(int64_t dim, int64_t ndim, const char* op = nullptr);  // throws IndexError naming the range
MemoryFormat suggest_memory_format(const Tensor& t);
// Bytes a storage must have for this geometry to be inside it.
size_t storage_bytes_needed(IntSpan sizes, IntSpan strides, int64_t offset, DType dtype);
// Whether elements of this type may begin at this address: kernels read and write them as C++ objects.
bool is_aligned(const void* address, DType dtype);

// --- making tensors
Tensor empty_tensor(IntSpan sizes, DType dtype, Device device, MemoryFormat format = MemoryFormat::Contiguous);
Tensor empty_strided_tensor(IntSpan sizes, IntSpan strides, DType dtype, Device device);
// On the CPU, in memory that the device reaches fast. Throws if it has no such memory.
Tensor empty_pinned(IntSpan sizes, DType dtype, Device device);
// A view of the same storage; shares the version counter. No bounds check: for callers that derive the geometry.
Tensor make_view(const Tensor& base, IntSpan sizes, IntSpan strides, int64_t offset);
Tensor make_view(const Tensor& base, IntSpan sizes, IntSpan strides, int64_t offset, DType dtype);
Tensor shallow_copy(const Tensor& t, bool share_version);  // no autograd history, no Python object
// Changes the shape in place, growing the storage if needed (new bytes are not initialised).
void resize_tensor(const Tensor& t, IntSpan sizes, MemoryFormat format = MemoryFormat::Contiguous);

// While set on a thread, new tensors are inference tensors (inference mode; dispatch/layers.h).
extern constinit thread_local bool new_tensors_are_inference [[gnu::tls_model("initial-exec")]];

// Hook of the Python front: gives up the wrapper object that a dying tensor owns. True if a weak reference brought the
// object back meanwhile, or if the tensor cannot end here: it stays.
extern bool (*release_python_object)(TensorImpl& dying);

std::string dump(const Tensor& t);  // for debuggers: `call fc::dump(t)`

}  // namespace fc
