// SPDX-License-Identifier: Apache-2.0
// The loops of sparse tensors, as operators on plain ones: the CPU has kernels (backends/cpu/sparse.cpp), a device may
// bring its own by name, and otherwise they are gathers, sums and scatters there. None has a derivative: operators on
// sparse tensors do.
#include "ops/register.h"
#include "ops/sparse.h"

namespace fc {
namespace {

Tensor index_add(const Tensor& into, const Tensor& index, const Tensor& values) {
  return call<"aten::index_add", Tensor>(into, 0, index, values, Scalar(1));
}
Tensor as_column(const Tensor& values, const Tensor& like) {
  Dims sizes(like.sizes().size(), 1);
  sizes[0] = -1;
  return view(values, sizes);
}

Tensor flat_index(const Tensor& indices, IntSpan size) {
  check_index_type("sparse indices", "indices", indices);
  Tensor flat = zeros(Dims{indices.size(1)}, DType::Int64, indices.device());
  for (size_t d = 0; d < size.size(); ++d) {
    const Tensor at = select(indices, 0, static_cast<int64_t>(d));
    const Tensor inside = call<"aten::logical_and", Tensor>(ge(at, 0), lt(at, Scalar(size[d])));
    FC_CHECK(all_true(inside), "sparse indices: an index of dimension ", d, " is out of range for size ", size[d]);
    flat = add(mul(flat, Scalar(size[d])), at);
  }
  return flat;
}

Two coalesce_entries(const Tensor& flat, const Tensor& values, int64_t) {
  auto [sorted, order] = call<"aten::sort.stable", Two>(flat, std::optional<bool>(true), 0, false);
  auto [unique, group, counts] = call<"aten::unique_consecutive", Three>(sorted, true, true, std::optional<int64_t>(0));
  const Tensor starts = sub(call<"aten::cumsum", Tensor>(counts, 0, std::optional<DType>()), counts);
  Dims sizes(values.sizes());
  sizes[0] = unique.size(0);
  const bool logical = values.dtype() == DType::Bool;  // which add up to "any"
  const Tensor terms = index_select(logical ? to_dtype(values, DType::Int64) : values, 0, order);
  const Tensor sums = index_add(zeros(sizes, terms.dtype(), values.device()), group, terms);
  return {index_select(order, 0, starts), logical ? to_dtype(sums, DType::Bool) : sums};
}

Two common(const Tensor& a, const Tensor& b) {
  const Tensor at = searchsorted(b, a);
  const Tensor hit =
      reshape(call<"aten::nonzero", Tensor>(call<"aten::ne.Tensor", Tensor>(searchsorted(b, a, true), at)), Dims{-1});
  return {hit, index_select(at, 0, hit)};
}

Tensor compress(const Tensor& rows, int64_t size) {
  const Tensor limits =
      call<"aten::arange", Tensor>(Scalar(size + 1), std::optional<DType>(DType::Int64), std::optional<Layout>(),
                                   std::optional<Device>(rows.device()), std::optional<bool>());
  return searchsorted(rows, limits);
}
Tensor decompress(const Tensor& compressed, int64_t entries) {
  const Tensor counts = sub(slice(compressed, 0, 1, {}), slice(compressed, 0, 0, -1));
  return call<"aten::repeat_interleave.Tensor", Tensor>(counts, std::optional<int64_t>(entries));
}

Tensor coo_mm(const Tensor& indices, const Tensor& values, const Tensor& dense, int64_t rows) {
  const Tensor terms = index_select(dense, 0, select(indices, 0, 1));
  return index_add(zeros(Dims{rows, dense.size(1)}, dense.dtype(), dense.device()), select(indices, 0, 0),
                   mul(as_column(values, terms), terms));
}
Tensor csr_mm(const Tensor& compressed, const Tensor& columns, const Tensor& values, const Tensor& dense) {
  const Tensor rows = decompress(compressed, columns.size(0));
  const Tensor both[] = {rows, columns};
  return coo_mm(stack(both), values, dense, compressed.size(0) - 1);
}
// Every pair of an entry (i, k) and an entry (k, j) is a term of the element (i, j); those of one element are added up.
Three csr_csr_mm(const Tensor& compressed, const Tensor& columns, const Tensor& values, const Tensor& compressed2,
                 const Tensor& columns2, const Tensor& values2, int64_t size) {
  const int64_t rows = compressed.size(0) - 1;
  int64_t limit;
  FC_CHECK(!__builtin_mul_overflow(rows, size, &limit), "mm: a product of ", rows, " x ", size,
           " elements is too large");
  const auto repeat = [](const Tensor& counts) {
    return call<"aten::repeat_interleave.Tensor", Tensor>(counts, std::optional<int64_t>());
  };
  const Tensor starts = index_select(slice(compressed2, 0, 0, -1), 0, columns);
  const Tensor counts = sub(index_select(slice(compressed2, 0, 1, {}), 0, columns), starts);
  const Tensor left = repeat(counts);  // the entry of the first matrix that a term has
  const Tensor before = sub(call<"aten::cumsum", Tensor>(counts, 0, std::optional<DType>()), counts);
  const Tensor number =
      call<"aten::arange", Tensor>(Scalar(left.size(0)), std::optional<DType>(DType::Int64), std::optional<Layout>(),
                                   std::optional<Device>(columns.device()), std::optional<bool>());
  const Tensor right = add(number, index_select(sub(starts, before), 0, left));
  const Tensor row = index_select(decompress(compressed, columns.size(0)), 0, left);
  const Tensor at = add(mul(row, Scalar(size)), index_select(columns2, 0, right));
  const Tensor terms = mul(index_select(values, 0, left), index_select(values2, 0, right));
  const auto [first, sums] = call<"aten::_sparse_coalesce_entries", Two>(at, terms, std::max<int64_t>(limit, 1));
  const Tensor whole_row = index_select(row, 0, first);
  return {call<"aten::_sparse_compress", Tensor>(whole_row, rows),
          index_select(columns2, 0, index_select(right, 0, first)), sums};
}
Tensor sampled_mm(const Tensor& indices, const Tensor& a, const Tensor& b) {
  return sum(mul(index_select(a, 0, select(indices, 0, 0)), index_select(b, 0, select(indices, 0, 1))), Dims{1});
}

constexpr OpDef defs[] = {
    // indices [dims, n]: the position of each entry in the order of a contiguous tensor of these sizes
    {.schema = "_sparse_flat_index(Tensor indices, int[] size) -> Tensor",
     .decomposition = kernel<&flat_index>(),
     .differentiable = false,
     .hidden = true},
    // entries of one position added up, in order of position, which is in [0, limit): the first of each, and the sums
    {.schema = "_sparse_coalesce_entries(Tensor flat, Tensor values, int limit) -> (Tensor, Tensor)",
     .decomposition = kernel<&coalesce_entries>(),
     .differentiable = false,
     .hidden = true},
    // where sorted positions that both have stand in each
    {.schema = "_sparse_common(Tensor a, Tensor b) -> (Tensor, Tensor)",
     .decomposition = kernel<&common>(),
     .differentiable = false,
     .hidden = true},
    // where each of `size` rows begins among sorted row numbers, and one past the last
    {.schema = "_sparse_compress(Tensor rows, int size) -> Tensor",
     .decomposition = kernel<&compress>(),
     .differentiable = false,
     .hidden = true},
    {.schema = "_sparse_decompress(Tensor compressed, int entries) -> Tensor",
     .decomposition = kernel<&decompress>(),
     .differentiable = false,
     .hidden = true},
    // a matrix by its entries, or by rows, times a dense one
    {.schema = "_sparse_coo_mm(Tensor indices, Tensor values, Tensor dense, int rows) -> Tensor",
     .decomposition = kernel<&coo_mm>(),
     .differentiable = false,
     .hidden = true},
    {.schema = "_sparse_csr_mm(Tensor compressed, Tensor columns, Tensor values, Tensor dense) -> Tensor",
     .decomposition = kernel<&csr_mm>(),
     .differentiable = false,
     .hidden = true},
    // two matrices by rows; of the result rows, columns and values
    {.schema = "_sparse_csr_csr_mm(Tensor compressed, Tensor columns, Tensor values, Tensor compressed2, Tensor "
               "columns2, Tensor values2, int size) -> (Tensor, Tensor, Tensor)",
     .decomposition = kernel<&csr_csr_mm>(),
     .differentiable = false,
     .hidden = true},
    // of a @ b.T the elements that the entries name
    {.schema = "_sparse_sampled_mm(Tensor indices, Tensor a, Tensor b) -> Tensor",
     .decomposition = kernel<&sampled_mm>(),
     .differentiable = false,
     .hidden = true},
};

}  // namespace

void define_sparse_primitives() { define_all(defs); }

}  // namespace fc
