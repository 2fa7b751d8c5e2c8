// SPDX-License-Identifier: Apache-2.0
#include "core/sparse.h"

namespace fc {

std::string_view to_string(Layout layout) {
  constexpr std::string_view names[] = {"strided",    "sparse_coo", "sparse_csr",
                                        "sparse_csc", "sparse_bsr", "sparse_bsc"};
  return names[static_cast<size_t>(layout)];
}

SparseParts::SparseParts(Layout l, Tensor c, Tensor i, Tensor v, bool sorted)
    : Storage({}, 0, v.device(), nullptr),
      layout(l),
      coalesced(sorted),
      compressed(std::move(c)),
      indices(std::move(i)),
      values(std::move(v)) {}

Tensor sparse_tensor(IntSpan sizes, Ref<SparseParts> parts) {
  const DType dtype = parts->values.dtype();
  const Device device = parts->values.device();
  auto impl = make_ref<TensorImpl>(Ref<Storage>(parts.get()), dtype, device);
  impl->set_layer(kSparse, true);
  impl->set_without_strides(sizes);
  if (new_tensors_are_inference) impl->set_inference(true);
  return Tensor(std::move(impl));
}

Tensor coo_tensor(IntSpan sizes, const Tensor& indices, const Tensor& values, bool coalesced) {
  // One entry at most needs no sorting.
  return sparse_tensor(sizes, make_ref<SparseParts>(Layout::SparseCoo, Tensor(), part(indices), part(values),
                                                    coalesced || values.sizes()[0] < 2));
}

Tensor compressed_tensor(Layout layout, IntSpan sizes, const Tensor& compressed, const Tensor& indices,
                         const Tensor& values) {
  return sparse_tensor(sizes, make_ref<SparseParts>(layout, part(compressed), part(indices), part(values), true));
}

void replace_sparse(const Tensor& self, const Tensor& other) {
  TensorImpl& to = self.impl();
  to.set_storage(other.impl().storage(), other.dtype(), other.device());
  to.set_without_strides(other.sizes());
}

}  // namespace fc
