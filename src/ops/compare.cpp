// SPDX-License-Identifier: Apache-2.0
// Comparisons of whole tensors or with a tolerance, and what complex numbers need: conj, isreal.
#include "define/calls.h"
#include "define/row.h"
#include "ops/register.h"
#include "plan/pointwise.h"

namespace fc {
namespace {

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  FC_CHECK(self.dtype() == other.dtype(), "isclose: ", info(self.dtype()).legacy, " did not match ",
           info(other.dtype()).legacy);
  FC_CHECK(rtol >= 0, "isclose: rtol must be greater than or equal to zero, but got ", rtol);
  FC_CHECK(atol >= 0, "isclose: atol must be greater than or equal to zero, but got ", atol);
  broadcast_shapes("isclose", self.sizes(), other.sizes());  // complains in its own name
  Tensor close = eq(self, other);
  if (equal_nan && (is_floating(self.dtype()) || is_complex(self.dtype())))
    close = logical_or(close, logical_and(isnan(self), isnan(other)));
  if (rtol == 0 && atol == 0) return close;
  // Integers are compared as they are, within a tolerance in the default float type; bool as integers.
  Tensor a = self.dtype() == DType::Bool ? to_dtype(self, DType::Int64) : self;
  Tensor b = other.dtype() == DType::Bool ? to_dtype(other, DType::Int64) : other;
  Tensor wide = is_integral(b.dtype(), true) ? to_dtype(b, default_dtype()) : b;
  Tensor allowed = add(abs(mul(wide, rtol)), atol), actual = abs(sub(a, wide));
  return logical_or(close, logical_and(isfinite(actual), le(actual, allowed)));
}

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return all_true(isclose(self, other, rtol, atol, equal_nan));
}

bool equal(const Tensor& self, const Tensor& other) {
  FC_CHECK(self.device() == other.device(),
           "equal: Expected all tensors to be on the same device, but found at least two devices, ", self.device(),
           " and ", other.device(), "!");
  return Dims::same(self.sizes(), other.sizes()) && (self.numel() == 0 || all_true(eq(self, other)));
}

Tensor isreal(const Tensor& self) {
  if (!is_complex(self.dtype())) return to_dtype(ones_like(self), DType::Bool);
  return eq(call<"aten::imag", Tensor>(self), 0);
}

// Conjugation happens at once, so there is nothing to resolve. Real numbers are their own conjugates.
Tensor conj_kernel(const Tensor& self) { return conj(self); }
Tensor conj_in_place(const Tensor& self) { return is_complex(self.dtype()) ? copy_(self, conj(self)) : self; }
Tensor itself(const Tensor& self) { return self; }

constexpr OpDef defs[] = {
    {.schema = "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
     .doc = "Whether elements are equal within rtol and atol.",
     .composite = kernel<&isclose>()},
    {.schema = "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
     .doc = "Whether all elements of two tensors are equal within rtol and atol.",
     .composite = kernel<&allclose>()},
    {.schema = "equal(Tensor self, Tensor other) -> bool",
     .doc = "Whether two tensors have the same sizes and the same elements.",
     .composite = kernel<&equal>()},
    {.schema = "isreal(Tensor self) -> Tensor",
     .doc = "Whether the imaginary part of each element is zero.",
     .composite = kernel<&isreal>()},
    {.schema = "conj(Tensor(a) self) -> Tensor(a)",
     .doc = "The complex conjugate of each element.",
     .composite = kernel<&conj_kernel>()},
    {.schema = "conj_physical(Tensor self) -> Tensor",
     .doc = "The complex conjugate of each element, written out.",
     .composite = kernel<&conj_kernel>(),
     .out = true,
     .keeps_zero = KeepsZero::Linear},
    {.schema = "conj_physical_(Tensor(a!) self) -> Tensor(a!)",
     .all = kernel<&conj_in_place>(),
     .grad = [](Grad& g) { g.set(0, conj(g.out())); },
     .keeps_zero = KeepsZero::Linear},
    {.schema = "resolve_conj(Tensor(a) self) -> Tensor(a)",
     .doc = "The tensor with conjugation carried out.",
     .composite = kernel<&itself>()},
    {.schema = "resolve_neg(Tensor(a) self) -> Tensor(a)",
     .doc = "The tensor with negation carried out.",
     .composite = kernel<&itself>()},
};

}  // namespace

void define_compare() { define_all(defs); }

}  // namespace fc
