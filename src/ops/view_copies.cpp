// SPDX-License-Identifier: Apache-2.0
// What writes instead of sharing memory: view operators that return copies (permute_copy), and the ones that put a part
// back into a copy of the whole (select_scatter).
#include <array>

#include "define/calls.h"
#include "define/derive.h"
#include "define/row.h"
#include "ops/register.h"

namespace fc {
namespace {

// The context is the view's operator.
void copy_of_view(void* context, const Operator&, const Arg* args, Value* results) {
  const auto& view = *static_cast<const Operator*>(context);
  if (view.name() == "aten::narrow" && args[0].tensor().impl().is_sparse()) {  // which has no such view
    get_operator("aten::_sparse_narrow_copy").call(args, results);
    return;
  }
  view.call(args, results);
  if (view.schema().returns[0].type.list) {
    std::vector<Tensor> parts = results[0].take_tensors();
    for (Tensor& t : parts) t = clone(t, MemoryFormat::Contiguous);
    results[0] = Value(std::move(parts));
  } else {
    results[0] = Value(clone(results[0].take_tensor(), MemoryFormat::Contiguous));
  }
}

Schema copy_schema(const Schema& view) {
  Schema s = view;
  s.name += "_copy";
  for (auto* list : {&s.parameters, &s.returns})
    for (Parameter& p : *list) p.clear_alias();
  return s;
}

// --- a part, put back
Tensor put(const char* op, const Tensor& whole, const Tensor& part, const Tensor& src) {
  FC_CHECK(std::ranges::equal(part.sizes(), src.sizes()), op,
           ": expected src to have a size equal to the slice of self. src size = ", src.sizes(),
           ", slice size = ", part.sizes());
  copy_(part, src);
  return whole;
}
Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  Tensor out = clone(self);
  return put("select_scatter", out, select(out, dim, index), src);
}
Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step) {
  Tensor out = clone(self);
  return put("slice_scatter", out, slice(out, dim, start, end, step), src);
}
Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  Tensor out = clone(self);
  return put("diagonal_scatter", out, call<"aten::diagonal", Tensor>(out, offset, dim1, dim2), src);
}
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntSpan size, IntSpan stride,
                          std::optional<int64_t> offset) {
  Tensor out = clone(self);
  return put("as_strided_scatter", out, as_strided(out, size, stride, offset), src);
}

constexpr OpDef defs[] = {
    {.schema = "select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
     .doc = "A copy of the tensor with src at one index along a dimension.",
     .composite = kernel<&select_scatter>()},
    {.schema = "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) "
               "-> Tensor",
     .doc = "A copy of the tensor with src in a slice of a dimension.",
     .composite = kernel<&slice_scatter>()},
    {.schema = "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
     .doc = "A copy of the tensor with src on a diagonal.",
     .composite = kernel<&diagonal_scatter>()},
    {.schema = "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? "
               "storage_offset=None) -> Tensor",
     .doc = "A copy of the tensor with src in the elements that as_strided would show.",
     .composite = kernel<&as_strided_scatter>()},
};

// Of a view whose row says so.
void define_copy(const Operator& view) {
  if (!view.view_copy) return;
  const std::string schema = to_string(copy_schema(view.schema()));
  define({.schema = schema.c_str(),
          .doc = "The view of that name, as a copy.",
          .composite = {copy_of_view, const_cast<Operator*>(&view)}});
}

}  // namespace

void define_view_copies() {
  derive_forms(define_copy);
  define_all(defs);
}

}  // namespace fc
