// SPDX-License-Identifier: Apache-2.0
// Matrix products. The ones that compute (mm, bmm, dot, … and their adding forms) plan and call the device's matmul
// family; the rest is written in them.
#include <cmath>
#include <limits>

#include "define/calls.h"
#include "define/row.h"
#include "dispatch/family_table.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

#define G (g.out())

// out = alpha * a @ b + beta * out for matrices or batches of them.
void multiply(const Tensor& a, const Tensor& b, const Tensor& out, double alpha = 1, double beta = 0) {
  if (out.device().is_meta() || out.numel() == 0) return;
  const auto item = static_cast<int64_t>(item_size(out.dtype()));
  const bool batched = out.dim() == 3;
  fc_matmul c{};
  c.size = sizeof c;
  c.dtype = static_cast<int32_t>(out.dtype());
  c.batch = batched ? out.size(0) : 1;
  c.m = out.size(-2);
  c.n = out.size(-1);
  c.k = a.size(-1);
  c.a = a.data(), c.b = b.data(), c.c = out.data();
  c.a_batch = batched ? a.stride(0) * item : 0, c.a_row = a.stride(-2) * item, c.a_col = a.stride(-1) * item;
  c.b_batch = batched ? b.stride(0) * item : 0, c.b_row = b.stride(-2) * item, c.b_col = b.stride(-1) * item;
  c.c_batch = batched ? out.stride(0) * item : 0, c.c_row = out.stride(-2) * item, c.c_col = out.stride(-1) * item;
  c.alpha = alpha;
  c.beta = beta;
  // Half types are computed in float32, by those who do not know them too.
  const DType wide = compute_type(out.dtype());
  if (wide == out.dtype() || device_supports(families(out.device().type), FC_FAMILY_MATMUL, &c)) {
    run_family(out.device(), c);
    return;
  }
  Tensor total = beta == 0 ? empty_tensor(out.sizes(), wide, out.device()) : to_dtype(out, wide);
  multiply(to_dtype(a, wide), to_dtype(b, wide), total, alpha, beta);
  copy_(out, total);
}

// The same memory read as a matrix: a vector becomes one column or one row.
Tensor column(const Tensor& v) { return make_view(v, Dims{v.numel(), 1}, Dims{v.stride(0), 1}, v.offset()); }
Tensor row(const Tensor& v) { return make_view(v, Dims{1, v.numel()}, Dims{v.numel(), v.stride(0)}, v.offset()); }

// --- shape rules
void check_mm(const char* op, const Tensor& a, const Tensor& b) {
  FC_CHECK(a.dim() == 2, op, ": self must be a matrix, got ", a.dim(), "-D tensor");
  FC_CHECK(b.dim() == 2, op, ": mat2 must be a matrix, got ", b.dim(), "-D tensor");
  FC_CHECK(a.size(1) == b.size(0), op, ": mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x", a.size(1),
           " and ", b.size(0), "x", b.size(1), ")");
  FC_CHECK(a.dtype() == b.dtype(), op, ": expected m1 and m2 to have the same dtype, but got: ", info(a.dtype()).legacy,
           " != ", info(b.dtype()).legacy);
}
void check_bmm(const char* op, const Tensor& a, const Tensor& b) {
  FC_CHECK(a.dim() == 3, op, ": batch1 must be a 3D tensor, got ", a.dim(), "D");
  FC_CHECK(b.dim() == 3, op, ": batch2 must be a 3D tensor, got ", b.dim(), "D");
  FC_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), op,
           ": Expected size for first two dimensions of batch2 tensor to be: [", a.size(0), ", ", a.size(2),
           "] but got: [", b.size(0), ", ", b.size(1), "].");
  FC_CHECK(a.dtype() == b.dtype(), op, ": expected scalar type ", info(a.dtype()).legacy, " but found ",
           info(b.dtype()).legacy);
}
void check_mv(const char* op, int64_t self_dim, int64_t self_size, const Tensor& a, const Tensor& v) {
  FC_CHECK(a.dim() == 2 && v.dim() == 1 && self_dim <= 1, op, ": vector + matrix @ vector expected, got ", self_dim,
           ", ", a.dim(), ", ", v.dim());
  FC_CHECK(a.size(1) == v.size(0) && (self_size == a.size(0) || self_size == 1), op, ": size mismatch, got input (",
           self_size, "), mat (", a.size(0), "x", a.size(1), "), vec (", v.size(0), ")");
  FC_CHECK(a.dtype() == v.dtype(), op, " input tensors must have the same dtype, but got ", info(a.dtype()).legacy,
           " and ", info(v.dtype()).legacy);
}

// --- plain products
void mm_kernel(void*, const Operator&, const Arg* args, Value* results) {
  const Tensor &a = args[0].tensor(), &b = args[1].tensor();
  check_mm("mm", a, b);
  Tensor out = empty_tensor(Dims{a.size(0), b.size(1)}, a.dtype(), a.device());
  multiply(a, b, out);
  results[0] = Value(std::move(out));
}
void bmm_kernel(void*, const Operator&, const Arg* args, Value* results) {
  const Tensor &a = args[0].tensor(), &b = args[1].tensor();
  check_bmm("bmm", a, b);
  Tensor out = empty_tensor(Dims{a.size(0), a.size(1), b.size(2)}, a.dtype(), a.device());
  multiply(a, b, out);
  results[0] = Value(std::move(out));
}
void mv_kernel(void*, const Operator&, const Arg* args, Value* results) {
  const Tensor &a = args[0].tensor(), &v = args[1].tensor();
  check_mv("mv", 1, a.dim() == 2 ? a.size(0) : 1, a, v);
  Tensor out = empty_tensor(Dims{a.size(0)}, a.dtype(), a.device());
  multiply(a, column(v), column(out));
  results[0] = Value(std::move(out));
}
void dot_kernel(void*, const Operator&, const Arg* args, Value* results) {
  const Tensor &a = args[0].tensor(), &b = args[1].tensor();
  FC_CHECK(a.dim() == 1 && b.dim() == 1, "dot: 1D tensors expected, but got ", a.dim(), "D and ", b.dim(), "D tensors");
  FC_CHECK(a.dtype() == b.dtype(), "dot : expected both vectors to have same dtype, but found ", info(a.dtype()).legacy,
           " and ", info(b.dtype()).legacy);
  FC_CHECK(a.numel() == b.numel(), "dot: inconsistent tensor size, expected tensor [", a.numel(), "] and src [",
           b.numel(), "] to have the same number of elements, but got ", a.numel(), " and ", b.numel(),
           " elements respectively");
  FC_CHECK_AS(NotImplementedError, a.dtype() != DType::Bool, "\"dot\" not implemented for 'Bool'");
  Tensor out = empty_tensor(Dims{}, a.dtype(), a.device());
  multiply(row(a), column(b), make_view(out, Dims{1, 1}, Dims{1, 1}, 0));
  results[0] = Value(std::move(out));
}

// --- adding forms: beta * self + alpha * a @ b

// A factor as the contract carries it; false for numbers that a double cannot hold.
bool factor(const Scalar& s, DType type, double& out) {
  if (s.is_complex()) {
    FC_CHECK(is_complex(type) || s.to_complex().im == 0, "value cannot be converted to type ", type,
             " without overflow");
    if (s.to_complex().im != 0) return false;
    out = s.to_complex().re;
    return true;
  }
  if (is_integral(type, true)) {  // integers take the integral part of a factor
    int64_t i = s.to_int();
    out = static_cast<double>(i);
    return i >= -(int64_t{1} << 53) && i <= (int64_t{1} << 53);
  }
  out = s.to_double();
  return true;
}

void check_expands(const char* name, IntSpan from, IntSpan to) {
  FC_CHECK(from.size() <= to.size(), name, ": expand(size=", to, "): the number of sizes provided (", to.size(),
           ") must be greater or equal to the number of dimensions in the tensor (", from.size(), ")");
  const size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    FC_CHECK(from[i] == to[i + lead] || from[i] == 1, name, ": The expanded size of the tensor (", to[i + lead],
             ") must match the existing size (", from[i], ") at non-singleton dimension ", i + lead,
             ".  Target sizes: ", to, ".  Tensor sizes: ", from);
}

void add_product(const char* name, const Tensor& self, const Tensor& a, const Tensor& b, IntSpan shape, const Arg* args,
                 Value* results) {
  FC_CHECK(self.dtype() == a.dtype(), name, ": self and mat2 must have the same dtype, but got ",
           info(self.dtype()).legacy, " and ", info(a.dtype()).legacy);
  const Scalar beta = args[3].scalar(), alpha = args[4].scalar();
  check_expands(name, self.sizes(), shape);
  Tensor start = expand(self, shape);
  Tensor out = empty_tensor(shape, self.dtype(), self.device());
  Tensor matrix = out.dim() == 1 ? column(out) : out;
  double x, y;
  if (factor(alpha, out.dtype(), x) && factor(beta, out.dtype(), y)) {
    if (y != 0) copy_(out, start);
    multiply(a, b, matrix, x, y);
  } else {
    multiply(a, b, matrix);
    out = mul(out, alpha);
    if (!beta.is_zero()) out = add(out, start, beta);
  }
  results[0] = Value(std::move(out));
}

void addmm_kernel(void*, const Operator&, const Arg* args, Value* results) {
  const Tensor &a = args[1].tensor(), &b = args[2].tensor();
  check_mm("addmm", a, b);
  const int64_t shape[] = {a.size(0), b.size(1)};
  add_product("addmm", args[0].tensor(), a, b, shape, args, results);
}
void baddbmm_kernel(void*, const Operator&, const Arg* args, Value* results) {
  const Tensor &a = args[1].tensor(), &b = args[2].tensor();
  check_bmm("baddbmm", a, b);
  const int64_t shape[] = {a.size(0), a.size(1), b.size(2)};
  add_product("baddbmm", args[0].tensor(), a, b, shape, args, results);
}
void addmv_kernel(void*, const Operator&, const Arg* args, Value* results) {
  const Tensor &self = args[0].tensor(), &a = args[1].tensor(), &v = args[2].tensor();
  check_mv("addmv", self.dim(), self.dim() == 1 ? self.size(0) : 1, a, v);
  const int64_t shape[] = {a.size(0)};
  add_product("addmv", self, a, column(v), shape, args, results);
}
// A factor of an addition in type t, in PyTorch's words.
void check_factor(const char* op, const char* name, const Scalar& factor, DType t) {
  FC_CHECK(!factor.is_bool() || t == DType::Bool, op, ": Boolean ", name, " only supported for Boolean results.");
  FC_CHECK(is_floating(t) || is_complex(t) || factor.is_integral(true), op, ": For integral input tensors, argument ",
           name, " must not be a floating point number.");
  FC_CHECK(is_complex(t) || !factor.is_complex(), op, ": For non-complex input tensors, argument ", name,
           " must not be a complex number.");
}

// An operator of elements rather than of matrices: types are promoted, and the result lies as its inputs do.
void addr_kernel(void*, const Operator&, const Arg* args, Value* results) {
  const Tensor &self = args[0].tensor(), &a = args[1].tensor(), &b = args[2].tensor();
  FC_CHECK(a.dim() == 1, "addr: Expected 1-D argument vec1, but got ", a.dim(), "-D");
  FC_CHECK(b.dim() == 1, "addr: Expected 1-D argument vec2, but got ", b.dim(), "-D");
  const Scalar beta = args[3].scalar(), alpha = args[4].scalar();
  const int64_t shape[] = {a.size(0), b.size(0)};
  check_expands("addr", self.sizes(), shape);
  const MapInput in[] = {{&self, {}}, {&a, {}}, {&b, {}}};
  const DType common = result_type(in), working = compute_type(common);
  check_factor("addr", "beta", beta, common);
  check_factor("addr", "alpha", alpha, common);
  Tensor out;
  if (common == DType::Bool) {
    out = logical_and(logical_and(column(a), row(b)), wrapped_number(!alpha.is_zero()));
    if (!beta.is_zero()) out = logical_or(out, self);
  } else {
    Tensor start = to_dtype(self, working), left = column(to_dtype(a, working)), right = row(to_dtype(b, working));
    if (beta.is_zero()) start = zeros_like(start);
    else if (!beta.equals(1)) start = mul(start, beta);
    out = to_dtype(call<"aten::addcmul", Tensor>(start, left, right, alpha), common);
  }
  results[0] = Value(std::move(out));
}
void addbmm_kernel(void*, const Operator&, const Arg* args, Value* results) {
  const Tensor &a = args[1].tensor(), &b = args[2].tensor();
  FC_CHECK(a.dim() == 3 && b.dim() == 3, "addbmm: batch1 and batch2 must be 3D tensors, got ", a.dim(), "D and ",
           b.dim(), "D");
  FC_CHECK(a.size(0) == b.size(0), "addbmm: batch1 and batch2 must have same number of batches, got ", a.size(0),
           " and ", b.size(0));
  FC_CHECK(a.size(2) == b.size(1), "addbmm: Incompatible matrix sizes for bmm (", a.size(1), "x", a.size(2), " and ",
           b.size(1), "x", b.size(2), ")");
  FC_CHECK(a.dtype() == b.dtype(), "addbmm: expected scalar type ", info(a.dtype()).legacy, " but found ",
           info(b.dtype()).legacy);
  const int64_t k = a.size(0) * a.size(2), shape[] = {a.size(1), b.size(2)};
  add_product("addbmm", args[0].tensor(), reshape(transpose(a, 0, 1), Dims{a.size(1), k}),
              reshape(b, Dims{k, b.size(2)}), shape, args, results);
}

// --- written in other operators
Tensor scaled(const Tensor& t, const Scalar& by) {
  if (by.equals(1)) return t;
  return mul(t, by.is_complex() ? Scalar(ComplexDouble{by.to_complex().re, -by.to_complex().im}) : by);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  FC_CHECK(a.dim() == 1, "outer: Expected 1-D argument self, but got ", a.dim(), "-D");
  FC_CHECK(b.dim() == 1, "outer: Expected 1-D argument vec2, but got ", b.dim(), "-D");
  return mul(unsqueeze(a, 1), b);
}

Tensor vdot(const Tensor& a, const Tensor& b) { return call<"aten::dot", Tensor>(conj(a), b); }

// The texts of the operators that would refuse these, under the name that was called.
void check_matmul(const Tensor& a, const Tensor& b) {
  const int64_t da = a.dim(), db = b.dim();
  FC_CHECK(da > 0 && db > 0, "both arguments to matmul need to be at least 1D, but they are ", da, "D and ", db, "D");
  FC_CHECK(a.dtype() == b.dtype(),
           "matmul: expected m1 and m2 to have the same dtype, but got: ", info(a.dtype()).legacy,
           " != ", info(b.dtype()).legacy);
  const int64_t k = a.size(-1), other = b.size(db == 1 ? 0 : -2);
  if (k == other) return;
  const int64_t rows = k ? a.numel() / k : 0;
  if (da == 1 && db == 1)
    raise<Error>("matmul: inconsistent tensor size, expected tensor [", k, "] and src [", other,
                 "] to have the same number of elements, but got ", k, " and ", other, " elements respectively");
  if (db == 1)
    raise<Error>("matmul: size mismatch, got input (", rows, "), mat (", rows, "x", k, "), vec (", other, ")");
  if (db == 2)
    raise<Error>("matmul: mat1 and mat2 shapes cannot be multiplied (", rows, "x", k, " and ", other, "x", b.size(-1),
                 ")");
  raise<Error>("matmul: Expected the last dimension of self, of shape ", a.sizes(),
               ", to match the second-to-last of other, of shape ", b.sizes());
}

Tensor matmul_kernel(const Tensor& a, const Tensor& b) {
  check_matmul(a, b);
  const int64_t da = a.dim(), db = b.dim();
  if (da == 1 && db == 1) return call<"aten::dot", Tensor>(a, b);
  if (da == 2 && db == 1) return call<"aten::mv", Tensor>(a, b);
  if (da == 1 && db == 2) return squeeze(mm(unsqueeze(a, 0), b), 0);
  if (da == 2 && db == 2) return mm(a, b);
  if (db <= 2) {  // fold the batch into rows
    int64_t rows = 1;
    Dims shape(a.sizes());
    for (int64_t i = 0; i + 1 < da; ++i) rows *= a.size(i);
    Tensor flat = reshape(a, Dims{rows, a.size(-1)});
    if (db == 1) {
      shape.resize(shape.size() - 1);
      return view(call<"aten::mv", Tensor>(flat, b), shape);
    }
    shape.back() = b.size(1);
    return view(mm(flat, b), shape);
  }
  Tensor left = da == 1 ? unsqueeze(a, 0) : a;
  Tensor right = db == 1 ? unsqueeze(b, 1) : b;
  auto lead = [](const Tensor& t) { return t.sizes().first(t.sizes().size() - 2); };
  Dims batch = broadcast_shapes("matmul", lead(left), lead(right));
  auto flatten = [&](const Tensor& t) {
    Dims shape = batch;
    shape.push_back(t.size(-2));
    shape.push_back(t.size(-1));
    return reshape(expand(t, shape), Dims{checked_numel(batch), t.size(-2), t.size(-1)});
  };
  Tensor out = bmm(flatten(left), flatten(right));
  Dims shape = batch;
  if (da > 1) shape.push_back(left.size(-2));
  if (db > 1) shape.push_back(right.size(-1));
  return view(out, shape);
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  Tensor w = t(weight);
  if (!bias.defined()) return matmul(input, w);
  if (input.dim() == 2) return call<"aten::addmm", Tensor>(bias, input, w, Scalar(1), Scalar(1));
  if (input.dim() < 2 || w.dim() != 2) return add(matmul(input, w), bias);
  Dims shape(input.sizes());
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  Tensor out = call<"aten::addmm", Tensor>(bias, reshape(input, Dims{rows, shape.back()}), w, Scalar(1), Scalar(1));
  shape.back() = weight.size(0);
  return view(out, shape);
}

Tensor bilinear(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias) {
  FC_CHECK(x.dim() == y.dim(), "bilinear(): input dimensions do not match: got ", x.dim(), " and ", y.dim());
  FC_CHECK(x.dim() > 0 && weight.dim() == 3,
           "bilinear(): expected inputs of at least one dimension and a 3-D weight, got ", x.dim(), "-D and ",
           weight.dim(), "-D");
  for (int64_t i = 0; i + 1 < x.dim(); ++i)
    FC_CHECK(x.size(i) == y.size(i), "bilinear(): input batch dimensions do not match at dim ", i, ": got ", x.size(i),
             " and ", y.size(i));
  FC_CHECK(x.size(-1) == weight.size(1), "bilinear(): input1 size does not match weight size: got ", x.size(-1),
           " but expected ", weight.size(1));
  FC_CHECK(y.size(-1) == weight.size(2), "bilinear(): input2 size does not match weight size: got ", y.size(-1),
           " but expected ", weight.size(2));
  FC_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == weight.size(0)),
           "bilinear(): bias size does not match weight size: got ", bias.defined() && bias.dim() ? bias.size(0) : 0,
           " but expected ", weight.size(0));
  Dims shape(x.sizes());
  shape.back() = weight.size(0);
  int64_t rows = checked_numel(x.sizes().first(x.sizes().size() - 1));
  Tensor a = reshape(x, Dims{rows, x.size(-1)}), b = reshape(y, Dims{rows, y.size(-1)});
  // out[r, o] = sum_j (a @ weight[o])[r, j] * b[r, j]
  Tensor half = matmul(unsqueeze(a, 0), weight);             // [out, rows, size2]
  Tensor out = transpose(sum(mul(half, b), Dims{2}), 0, 1);  // [rows, out]
  if (bias.defined()) out = add(out, bias);
  return reshape(out, shape);
}

Tensor trace(const Tensor& self) {
  FC_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  return sum(call<"aten::diagonal", Tensor>(self, 0, 0, 1));
}

Tensor inner(const Tensor& a, const Tensor& b) {
  if (a.dim() == 0 || b.dim() == 0) return mul(a, b);
  FC_CHECK(a.size(-1) == b.size(-1), "inner() the last dimension must match on both input tensors but got shapes ",
           a.sizes(), " and ", b.sizes());
  const int64_t last[] = {-1};
  return call<"aten::tensordot", Tensor>(a, b, IntSpan(last), IntSpan(last));
}

Tensor kron(const Tensor& a, const Tensor& b) {
  const size_t n = std::max(a.sizes().size(), b.sizes().size());
  Dims left, right, shape;
  for (size_t i = 0; i < n; ++i) {
    auto size = [&](const Tensor& t) { return i + t.sizes().size() < n ? 1 : t.sizes()[i + t.sizes().size() - n]; };
    left.push_back(size(a)), left.push_back(1);
    right.push_back(1), right.push_back(size(b));
    shape.push_back(size(a) * size(b));
  }
  return reshape(mul(reshape(a, left), reshape(b, right)), shape);
}

// Products of a chain in the order that needs the fewest multiplications, by dynamic programming over its parts.
class Chain {
 public:
  explicit Chain(TensorSpan tensors) : tensors_(tensors), n_(tensors.size()), parts_(n_ * n_) {
    const Tensor &first = tensors.front(), &last = tensors.back();
    std::vector<double> sizes{first.dim() == 2 ? static_cast<double>(first.size(0)) : 1};
    for (const Tensor& t : tensors) sizes.push_back(static_cast<double>(t.size(t.dim() - 1)));
    if (last.dim() == 1) sizes.back() = 1;
    for (size_t length = 1; length < n_; ++length)
      for (size_t from = 0; from + length < n_; ++from) {
        const size_t to = from + length;
        Part& best = part(from, to) = {std::numeric_limits<double>::infinity(), from};
        for (size_t cut = from; cut < to; ++cut) {
          const double cost =
              part(from, cut).cost + part(cut + 1, to).cost + sizes[from] * sizes[cut + 1] * sizes[to + 1];
          if (cost < best.cost) best = {cost, cut};
        }
      }
  }
  Tensor product() { return product(0, n_ - 1); }

 private:
  struct Part {  // tensors from … to: the cost of their product, which is cut behind tensor `cut`
    double cost = 0;
    size_t cut = 0;
  };
  Part& part(size_t from, size_t to) { return parts_[from * n_ + to]; }
  Tensor product(size_t from, size_t to) {
    if (from == to) return tensors_[from];
    const size_t cut = part(from, to).cut;
    return matmul(product(from, cut), product(cut + 1, to));
  }
  TensorSpan tensors_;
  size_t n_;
  std::vector<Part> parts_;
};

Tensor multi_dot(TensorSpan tensors) {
  FC_CHECK(tensors.size() >= 2, "multi_dot(): expected at least 2 tensors but got ", tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& next = tensors[i];
    const bool end = i == 0 || i + 1 == tensors.size();
    FC_CHECK(next.dim() == 2 || (end && next.dim() == 1), "multi_dot(): tensor ", i, " must be ",
             end ? "1D or 2D" : "2D", " but got ", next.dim(), "D");
    if (i == 0) continue;
    FC_CHECK(tensors[i - 1].size(-1) == next.size(0), "multi_dot(): tensors ", i - 1, " and ", i, " with shapes ",
             tensors[i - 1].sizes(), " and ", next.sizes(), " cannot be multiplied");
  }
  if (tensors.size() <= 256) return Chain(tensors).product();
  Tensor out = tensors[0];  // the search would take longer than the products
  for (const Tensor& next : tensors.subspan(1)) out = matmul(out, next);
  return out;
}

// Derivatives of beta * self + alpha * a @ b; `flip` transposes the last two dimensions.
Tensor flip_last(const Tensor& t) { return transpose(t, -2, -1); }
// A product that lies in memory as argument `arg` does, whose gradient it is.
Tensor mm_for(Grad& g, int arg, const Tensor& a, const Tensor& b) {
  return g.transposed(arg) ? flip_last(mm(flip_last(b), flip_last(a))) : mm(a, b);
}
#define ALPHA (g.arg(4).scalar())
#define BETA (g.arg(3).scalar())

// Of the product of arguments a and b: a multiplication and an addition for each element of a and each column of b.
template <int a, int b>
int64_t product_flops(const Arg* args) {
  const Tensor &x = args[a].tensor(), &y = args[b].tensor();
  return flop_product({2, x.numel(), y.dim() > 1 ? y.size(-1) : 1});
}
int64_t outer_flops(const Arg* args) { return flop_product({2, args[1].tensor().numel(), args[2].tensor().numel()}); }

constexpr OpDef defs[] = {
    {.schema = "mm(Tensor self, Tensor mat2) -> Tensor",
     .doc = "The product of two matrices.",
     .all = {mm_kernel},
     .saves = "self:mat2 mat2:self",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, mm_for(g, 0, G, flip_last(conj(g.in(1)))));
           if (g.needs(1)) g.set(1, mm_for(g, 1, flip_last(conj(g.in(0))), G));
         },
     .out = true,
     .autocast = Autocast::Lower,
     .flops = product_flops<0, 1>},
    {.schema = "bmm(Tensor self, Tensor mat2) -> Tensor",
     .doc = "The products of two batches of matrices.",
     .all = {bmm_kernel},
     .saves = "self:mat2 mat2:self",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, bmm(G, flip_last(conj(g.in(1)))));
           if (g.needs(1)) g.set(1, bmm(flip_last(conj(g.in(0))), G));
         },
     .out = true,
     .autocast = Autocast::Lower,
     .flops = product_flops<0, 1>},
    {.schema = "mv(Tensor self, Tensor vec) -> Tensor",
     .doc = "The product of a matrix and a vector.",
     .all = {mv_kernel},
     .saves = "self:vec vec:self",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, outer(G, conj(g.in(1))));
           if (g.needs(1)) g.set(1, matmul(flip_last(conj(g.in(0))), G));
         },
     .out = true,
     .autocast = Autocast::Lower,
     .cpu_autocast = Autocast::None,
     .flops = product_flops<0, 1>},
    {.schema = "dot(Tensor self, Tensor tensor) -> Tensor",
     .doc = "The sum of the products of two vectors.",
     .all = {dot_kernel},
     .saves = "self:tensor tensor:self",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, mul(G, conj(g.in(1))));
           if (g.needs(1)) g.set(1, mul(G, conj(g.in(0))));
         },
     .out = true,
     .flops = product_flops<0, 1>},
    {.schema = "vdot(Tensor self, Tensor other) -> Tensor",
     .doc = "The sum of the products of two vectors, the first conjugated.",
     .composite = kernel<&vdot>(),
     .out = true},
    {.schema = "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .doc = "beta * input + alpha * (mat1 @ mat2).",
     .all = {addmm_kernel},
     .saves = "mat1:mat2 mat2:mat1 beta alpha",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, scaled(G, BETA));
           if (g.needs(1)) g.set(1, scaled(mm_for(g, 1, G, flip_last(conj(g.in(2)))), ALPHA));
           if (g.needs(2)) g.set(2, scaled(mm_for(g, 2, flip_last(conj(g.in(1))), G), ALPHA));
         },
     .in_place = true,
     .out = true,
     .autocast = Autocast::Lower,
     .flops = product_flops<1, 2>},
    {.schema = "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .doc = "beta * input + alpha * (mat @ vec).",
     .all = {addmv_kernel},
     .saves = "mat:vec vec:mat beta alpha",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, scaled(G, BETA));
           if (g.needs(1)) g.set(1, scaled(outer(G, conj(g.in(2))), ALPHA));
           if (g.needs(2)) g.set(2, scaled(matmul(flip_last(conj(g.in(1))), G), ALPHA));
         },
     .in_place = true,
     .out = true,
     .autocast = Autocast::Lower,
     .cpu_autocast = Autocast::None,
     .flops = product_flops<1, 2>},
    {.schema = "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .doc = "beta * input + alpha * (batch1 @ batch2), for each matrix of a batch.",
     .all = {baddbmm_kernel},
     .saves = "batch1:batch2 batch2:batch1 beta alpha",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, scaled(G, BETA));
           if (g.needs(1)) g.set(1, scaled(bmm(G, flip_last(conj(g.in(2)))), ALPHA));
           if (g.needs(2)) g.set(2, scaled(bmm(flip_last(conj(g.in(1))), G), ALPHA));
         },
     .in_place = true,
     .out = true,
     .autocast = Autocast::Lower,
     .flops = product_flops<1, 2>},
    {.schema = "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .doc = "beta * input plus alpha times the sum of the products of two batches of matrices.",
     .all = {addbmm_kernel},
     .saves = "batch1:batch2 batch2:batch1 beta alpha",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, scaled(G, BETA));
           if (g.needs(1)) g.set(1, scaled(matmul(G, flip_last(conj(g.in(2)))), ALPHA));
           if (g.needs(2)) g.set(2, scaled(matmul(flip_last(conj(g.in(1))), G), ALPHA));
         },
     .in_place = true,
     .out = true,
     .autocast = Autocast::Lower,
     .flops = product_flops<1, 2>},
    {.schema = "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .doc = "beta * input plus alpha times the outer product of two vectors.",
     .all = {addr_kernel},
     .saves = "vec1:vec2 vec2:vec1 beta alpha",
     .grad =
         [](Grad& g) {
           if (g.needs(0)) g.set(0, scaled(G, BETA));
           if (g.needs(1)) g.set(1, scaled(matmul(G, conj(to_dtype(g.in(2), G.dtype()))), ALPHA));
           if (g.needs(2)) g.set(2, scaled(matmul(flip_last(G), conj(to_dtype(g.in(1), G.dtype()))), ALPHA));
         },
     .in_place = true,
     .out = true,
     .out_type = OutType::Castable,
     .cpu_autocast = Autocast::None,
     .flops = outer_flops},
    {.schema = "outer(Tensor self, Tensor vec2) -> Tensor",
     .doc = "The products of every element of one vector with every element of another.",
     .composite = kernel<&outer>(),
     .out = true,
     .out_type = OutType::Castable,
     .cpu_autocast = Autocast::None,
     .writes = Writes::Apart},
    {.schema = "ger(Tensor self, Tensor vec2) -> Tensor",
     .composite = kernel<&outer>(),
     .out = true,
     .out_type = OutType::Castable,
     .cpu_autocast = Autocast::None,
     .writes = Writes::Apart},
    {.schema = "matmul(Tensor self, Tensor other) -> Tensor",
     .doc = "The matrix product; vectors and batches of matrices too.",
     .composite = kernel<&matmul_kernel>(),
     .out = true,
     .autocast = Autocast::Lower},
    {.schema = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
     .doc = "input @ weight.T + bias.",
     .composite = kernel<&linear>(),
     .autocast = Autocast::Lower},
    {.schema = "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
     .doc = "A bilinear form of two inputs, plus a bias.",
     .composite = kernel<&bilinear>(),
     .cpu_autocast = Autocast::None},
    {.schema = "trace(Tensor self) -> Tensor",
     .doc = "The sum of a matrix's diagonal.",
     .composite = kernel<&trace>(),
     .cpu_autocast = Autocast::Float32},
    {.schema = "inner(Tensor self, Tensor other) -> Tensor",
     .doc = "Sums of products over the last dimensions of both tensors.",
     .composite = kernel<&inner>(),
     .out = true},
    {.schema = "kron(Tensor self, Tensor other) -> Tensor",
     .doc = "The Kronecker product.",
     .composite = kernel<&kron>(),
     .out = true,
     .out_type = OutType::Castable},
    {.schema = "chain_matmul(Tensor[] matrices) -> Tensor",
     .doc = "The product of several matrices, in the cheapest order.",
     .composite = kernel<&multi_dot>(),
     .autocast = Autocast::Lower},
    {.schema = "linalg_multi_dot(Tensor[] tensors) -> Tensor",
     .doc = "The product of several matrices, in the cheapest order.",
     .composite = kernel<&multi_dot>(),
     .autocast = Autocast::Lower},
};

}  // namespace

void define_linalg() { define_all(defs); }

}  // namespace fc
