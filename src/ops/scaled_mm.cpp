// SPDX-License-Identifier: Apache-2.0
// Matrix products of groups, and of float8 matrices with scales. Scales say what an element of 1 stands for: one for
// a whole matrix (tensor-wise), or one for each row of a and each column of b (row-wise). Products are computed in
// float32.
#include <vector>

#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"

namespace fc {
namespace {

bool is_float8(DType t) { return t == DType::Float8_e4m3fn || t == DType::Float8_e5m2; }
Tensor wide(const Tensor& t) { return to_dtype(t, DType::Float32); }

// One product for each group. Where an operand is a matrix, groups are parts of it that end at `offsets`: of a's rows,
// of b's columns, or, where both are, of the dimension that is summed over.
Tensor grouped_mm(const Tensor& a, const Tensor& b, const Tensor& offsets, const Tensor& bias,
                  std::optional<DType> out_type) {
  FC_CHECK((a.dim() == 2 || a.dim() == 3) && (b.dim() == 2 || b.dim() == 3),
           "grouped_mm: expected operands of 2 or 3 dimensions, got ", a.sizes(), " and ", b.sizes());
  FC_CHECK(a.dtype() == b.dtype() && is_floating(a.dtype()), "grouped_mm: expected operands of one floating type, got ",
           a.dtype(), " and ", b.dtype());
  FC_CHECK(a.size(-1) == b.size(-2), "grouped_mm: contraction dimension of mat_a and mat_b must match, got ", a.sizes(),
           " and ", b.sizes());
  FC_CHECK((a.dim() == 3 && b.dim() == 3) != offsets.defined(),
           "grouped_mm: Have to provide offsets if there is a 2d matrix, and only then; mat_a is ", a.sizes(),
           ", mat_b ", b.sizes());
  auto finished = [&](Tensor out) {
    if (bias.defined()) out = add(out, bias);
    return to_dtype(out, out_type.value_or(a.dtype()));
  };
  if (!offsets.defined()) return finished(call<"aten::bmm", Tensor>(a, b));
  FC_CHECK(offsets.dim() == 1 && offsets.dtype() == DType::Int32,
           "grouped_mm: Offsets have to be int32, one for each "
           "group, got ",
           offsets.dtype(), " ", offsets.sizes());
  FC_CHECK((a.dim() == 2 || a.size(0) == offsets.numel()) && (b.dim() == 2 || b.size(0) == offsets.numel()),
           "grouped_mm: expected as many groups as offsets, ", offsets.numel(), ", got ", a.sizes(), " and ",
           b.sizes());
  const Tensor ends =
      call<"aten::to.device", Tensor>(contiguous(offsets), Device{}, DType::Int32, false, false, nullptr);
  const int64_t all = a.dim() == 3 ? b.size(1) : b.dim() == 3 ? a.size(0) : a.size(1);
  std::vector<Tensor> parts;
  int64_t from = 0;
  for (int64_t i = 0; i < ends.numel(); ++i) {
    const int64_t to = ends.data_as<int32_t>()[i];
    FC_CHECK(to >= from && to <= all, "grouped_mm: offsets must not decrease nor exceed ", all, ", got ", to, " after ",
             from);
    const int64_t n = to - from;
    parts.push_back(a.dim() == 3   ? mm(select(a, 0, i), narrow(b, 1, from, n))
                    : b.dim() == 3 ? mm(narrow(a, 0, from, n), select(b, 0, i))
                                   : mm(narrow(a, 1, from, n), narrow(b, 0, from, n)));
    from = to;
  }
  if (a.dim() == 2 && b.dim() == 2) return finished(stack(parts, 0));
  const bool columns = a.dim() == 3;
  if (from < all)
    parts.push_back(zeros(columns ? Dims{a.size(1), all - from} : Dims{all - from, b.size(2)}, a.dtype(), a.device()));
  return finished(cat(parts, columns ? 1 : 0));
}

enum class Recipe : int64_t { TensorWise, RowWise };  // the numbers of nn.functional.ScalingType

bool tensor_wise(const Tensor& scale) { return scale.dtype() == DType::Float32 && scale.numel() == 1; }
bool row_wise(const Tensor& scale, int64_t rows, int64_t columns) {
  return scale.dtype() == DType::Float32 && scale.dim() == 2 && scale.size(0) == rows && scale.size(1) == columns &&
         scale.is_contiguous();
}

void check_scaled(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b, const Tensor& bias,
                  std::optional<Recipe> recipe) {
  FC_CHECK(a.dim() == 2, "mat1 must be a matrix");
  FC_CHECK(b.dim() == 2, "mat2 must be a matrix");
  FC_CHECK(a.size(1) == b.size(0), "mat_a and mat_b shapes cannot be multiplied (", a.size(0), "x", a.size(1), " and ",
           b.size(0), "x", b.size(1), ")");
  const int64_t m = a.size(0), n = b.size(1);
  const bool one = recipe != Recipe::RowWise && tensor_wise(scale_a) && tensor_wise(scale_b),
             rows = recipe != Recipe::TensorWise && row_wise(scale_a, m, 1) && row_wise(scale_b, 1, n);
  FC_CHECK_AS(ValueError, is_float8(a.dtype()) && is_float8(b.dtype()) && (one || rows),
              "Invalid scaling configuration.\n- For TensorWise scaling, a and b should be float8, scales should be "
              "float and singletons.\n- For RowWise scaling, a and b should be float8, scales should be float, scale_a "
              "should be (",
              m, ", 1) and scale_b should be (1, ", n,
              "), and both should be contiguous.\nGot mat_a.dtype()=", info(a.dtype()).legacy,
              ", scale_a.dtype()=", info(scale_a.dtype()).legacy, ", scale_a.size()=", scale_a.sizes(),
              ", scale_a.stride()=", scale_a.strides(), ", mat_b.dtype()=", info(b.dtype()).legacy,
              ", scale_b.dtype()=", info(scale_b.dtype()).legacy, ", scale_b.size()=", scale_b.sizes(),
              " and scale_b.stride()=", scale_b.strides());
  FC_CHECK(!bias.defined() || bias.numel() == n, "Bias must be size ", n, " but got ",
           bias.defined() ? bias.numel() : 0);
}

// Scaled, in float32.
Tensor scaled_product(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b,
                      const Tensor& bias, std::optional<Recipe> recipe) {
  check_scaled(a, b, scale_a, scale_b, bias, recipe);
  auto fit = [](const Tensor& scale) { return scale.numel() == 1 ? reshape(scale, Dims{}) : scale; };
  Tensor out = mul(mul(mm(wide(a), wide(b)), fit(scale_a)), fit(scale_b));
  return bias.defined() ? add(out, reshape(wide(bias), Dims{b.size(1)})) : out;
}

Tensor scaled_mm(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b, const Tensor& bias,
                 const Tensor& scale_result, std::optional<DType> out_type, bool) {
  Tensor out = scaled_product(a, b, scale_a, scale_b, bias, std::nullopt);
  const DType type = out_type.value_or(a.dtype());
  if (scale_result.defined() && is_float8(type)) {
    FC_CHECK(tensor_wise(scale_result), "_scaled_mm: scale_result must be one float32 number, got ",
             scale_result.dtype(), " ", scale_result.sizes());
    out = div(out, reshape(scale_result, Dims{}));
  }
  return to_dtype(out, type);
}

// The one recipe that both operands follow. Recipes of blocks need types of scales that do not exist here.
Recipe check_recipes(const char* op, const Tensor& a, const Tensor& b, TensorSpan scale_a, IntSpan recipe_a,
                     IntSpan swizzle_a, TensorSpan scale_b, IntSpan recipe_b, IntSpan swizzle_b) {
  FC_CHECK_AS(ValueError,
              recipe_a.size() == 1 && recipe_b.size() == 1 && scale_a.size() == 1 && scale_b.size() == 1 &&
                  recipe_a[0] == recipe_b[0] && (recipe_a[0] == 0 || recipe_a[0] == 1),
              "Invalid scaling configuration for ", op,
              ": unsupported recipe(s), not both TensorWise or both RowWise. Got mat_a.dtype=", info(a.dtype()).legacy,
              ", mat_b.dtype=", info(b.dtype()).legacy, ", recipe_a=", recipe_a, ", recipe_b=", recipe_b, ", ",
              scale_a.size(), " and ", scale_b.size(), " scales");
  for (IntSpan swizzles : {swizzle_a, swizzle_b})
    for (int64_t s : swizzles) FC_CHECK_AS(ValueError, s == 0, a.device(), " does not support swizzle.");
  return static_cast<Recipe>(recipe_a[0]);
}
void check_contraction(const char* op, IntSpan dims) {
  FC_CHECK_AS(ValueError,
              dims.empty() || (dims.size() == 2 && (dims[0] == 1 || dims[0] == -1) && (dims[1] == 0 || dims[1] == -2)),
              "torch.", op, " only supports contraction_dim=(1, 0)");
}

Tensor scaled_mm_v2(const Tensor& a, const Tensor& b, TensorSpan scale_a, IntSpan recipe_a, IntSpan swizzle_a,
                    TensorSpan scale_b, IntSpan recipe_b, IntSpan swizzle_b, const Tensor& bias,
                    std::optional<DType> out_type, IntSpan contraction, bool) {
  check_contraction("_scaled_mm_v2", contraction);
  const Recipe recipe =
      check_recipes("_scaled_mm_v2", a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b);
  return to_dtype(scaled_product(a, b, scale_a[0], scale_b[0], bias, recipe), out_type.value_or(a.dtype()));
}

Tensor scaled_addmm(const Tensor& input, const Tensor& a, const Tensor& b, TensorSpan scale_a, IntSpan recipe_a,
                    IntSpan swizzle_a, TensorSpan scale_b, IntSpan recipe_b, IntSpan swizzle_b, IntSpan contraction,
                    const Scalar& beta, const Scalar& alpha, bool) {
  check_contraction("_scaled_addmm", contraction);
  const Recipe recipe =
      check_recipes("_scaled_addmm", a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b);
  const DType type = input.dtype();
  FC_CHECK(type == DType::Float16 || type == DType::BFloat16 || type == DType::Float32,
           "_scaled_addmm: input must be float16, bfloat16 or float32, got ", type);
  const Tensor product = scaled_product(a, b, scale_a[0], scale_b[0], Tensor(), recipe);
  FC_CHECK(Dims::same(input.sizes(), product.sizes()), "_scaled_addmm: input must be of size ", product.sizes(),
           ", got ", input.sizes());
  return to_dtype(add(mul(wide(input), beta), mul(product, alpha)), type);
}

// An operand of a grouped product: a matrix has one scale for each row (column), of each group where `groups` is more
// than 1; a batch has a row of scales for each of its matrices. dim: of rows or columns, counted in a matrix.
void check_group_scale(const char* name, const Tensor& mat, const Tensor& scale, int64_t dim, int64_t groups) {
  FC_CHECK_AS(ValueError, is_float8(mat.dtype()), "_scaled_grouped_mm: expected float8 matrices, got ", mat.dtype());
  int64_t scales = 0;
  const bool fits =
      mat.dim() == 2
          ? scale.dim() == 1 && !__builtin_mul_overflow(mat.size(dim), groups, &scales) && scale.size(0) == scales
          : scale.dim() == 2 && scale.size(0) == mat.size(0) && scale.size(1) == mat.size(dim + 1);
  FC_CHECK_AS(ValueError, scale.dtype() == DType::Float32 && fits, "_scaled_grouped_mm: ", name,
              " must have a float32 number for each ", dim == 0 ? "row" : "column", " of its matrix ", mat.sizes(),
              groups > 1 ? ", for each group" : "", ", got ", scale.dtype(), " ", scale.sizes());
}

Tensor scaled_groups(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b,
                     const Tensor& offsets, const Tensor& bias, std::optional<DType> out_type) {
  FC_CHECK((a.dim() == 2 || a.dim() == 3) && (b.dim() == 2 || b.dim() == 3),
           "_scaled_grouped_mm: expected operands of 2 or 3 dimensions, got ", a.sizes(), " and ", b.sizes());
  const bool sums = a.dim() == 2 && b.dim() == 2;
  FC_CHECK(!sums || offsets.defined(), "_scaled_grouped_mm: Have to provide offsets if there is a 2d matrix");
  const int64_t groups = sums ? offsets.numel() : 1;
  check_group_scale("scale_a", a, scale_a, 0, groups);
  check_group_scale("scale_b", b, scale_b, 1, groups);
  const DType type = out_type.value_or(DType::BFloat16);
  if (!sums)
    return grouped_mm(mul(wide(a), unsqueeze(scale_a, -1)), mul(wide(b), unsqueeze(scale_b, -2)), offsets, bias, type);
  Tensor out = grouped_mm(wide(a), wide(b), offsets, Tensor(), std::nullopt);
  out = mul(mul(out, reshape(scale_a, Dims{groups, a.size(0), 1})), reshape(scale_b, Dims{groups, 1, b.size(1)}));
  return to_dtype(bias.defined() ? add(out, bias) : out, type);
}
Tensor scaled_grouped_mm(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b,
                         const Tensor& offsets, const Tensor& bias, const Tensor& scale_result,
                         std::optional<DType> out_type, bool) {
  FC_CHECK_AS(NotImplementedError, !scale_result.defined(), "_scaled_grouped_mm: Scale result not supported yet");
  return scaled_groups(a, b, scale_a, scale_b, offsets, bias, out_type);
}
Tensor scaled_grouped_mm_v2(const Tensor& a, const Tensor& b, TensorSpan scale_a, IntSpan recipe_a, IntSpan swizzle_a,
                            TensorSpan scale_b, IntSpan recipe_b, IntSpan swizzle_b, const Tensor& offsets,
                            const Tensor& bias, std::optional<DType> out_type, IntSpan contraction, bool) {
  const char* op = "_scaled_grouped_mm_v2";
  FC_CHECK_AS(
      ValueError,
      contraction.empty() || (contraction.size() == 2 && (contraction[0] == -1 || contraction[0] == a.dim() - 1) &&
                              (contraction[1] == -2 || contraction[1] == b.dim() - 2)),
      op, ": expected contraction_dim=(-1, -2), got ", contraction);
  const Recipe recipe = check_recipes(op, a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b);
  FC_CHECK_AS(ValueError, recipe == Recipe::RowWise, op, ": expected the recipe RowWise, got TensorWise");
  return scaled_groups(a, b, scale_a[0], scale_b[0], offsets, bias, out_type);
}

#define SCALES "Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b, int[] recipe_b, int[] swizzle_b"

constexpr OpDef defs[] = {
    {.schema =
         "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) "
         "-> Tensor",
     .doc = "One matrix product for each group.",
     .composite = kernel<&grouped_mm>(),
     .autocast = Autocast::Lower,
     .devices = Devices::Any},
    {.schema = "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, "
               "Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor",
     .doc = "The product of two float8 matrices, times their scales.",
     .composite = kernel<&scaled_mm>(),
     .out = true},
    {.schema = "_scaled_mm_v2(Tensor self, Tensor mat2, " SCALES ", Tensor? bias, ScalarType? out_dtype, "
               "int[] contraction_dim=[], bool use_fast_accum=False) -> Tensor",
     .doc = "The product of two float8 matrices, times their scales, which recipes describe.",
     .composite = kernel<&scaled_mm_v2>(),
     .out = true},
    {.schema = "_scaled_addmm(Tensor self, Tensor mat1, Tensor mat2, " SCALES ", int[] contraction_dim=[], *, "
               "Scalar beta=1, Scalar alpha=1, bool use_fast_accum=False) -> Tensor",
     .doc = "beta * input + alpha * the scaled product of two float8 matrices.",
     .composite = kernel<&scaled_addmm>(),
     .in_place = true,
     .out = true},
    {.schema = "_scaled_grouped_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? offs=None, "
               "Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) "
               "-> Tensor",
     .doc = "One product of float8 matrices with scales for each group.",
     .composite = kernel<&scaled_grouped_mm>(),
     .devices = Devices::Any},
    {.schema = "_scaled_grouped_mm_v2(Tensor self, Tensor mat2, " SCALES ", Tensor? offs=None, Tensor? bias=None, "
               "ScalarType? out_dtype=None, int[] contraction_dim=[], bool use_fast_accum=False) -> Tensor",
     .doc = "One product of float8 matrices with scales, which recipes describe, for each group.",
     .composite = kernel<&scaled_grouped_mm_v2>(),
     .out = true,
     .devices = Devices::Any},
};
#undef SCALES

}  // namespace

void define_scaled_mm() { define_all(defs); }

}  // namespace fc
