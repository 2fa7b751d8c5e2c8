# SPDX-License-Identifier: Apache-2.0
"""VonMises."""

from __future__ import annotations

import math

import facula as torch
from facula import Tensor
from facula.distributions import constraints
from facula.distributions.distribution import Distribution
from facula.distributions.utils import broadcast_all, lazy_property

__all__ = ["VonMises"]

_I0 = ((1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
       (0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1, 0.2635537e-1, -0.1647633e-1, 0.392377e-2))  # fmt: skip
_I1 = ((0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
       (0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1, -0.2895312e-1, 0.1787654e-1, -0.420059e-2))  # fmt: skip


def _polynomial(y, coefficients):
    result = torch.zeros_like(y)
    for c in reversed(coefficients):
        result = c + y * result
    return result


def _log_modified_bessel_fn(x, order=0):
    """log I_order(x) for order 0 or 1 and x > 0, by the polynomials of Abramowitz and Stegun 9.8 (to 2e-7)."""
    small_terms, large_terms = (_I0, _I1)[order]
    small = _polynomial((x / 3.75) ** 2, small_terms)
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, large_terms).log()
    return torch.where(x < 3.75, small.log(), large)


class VonMises(Distribution):
    """The normal distribution of angles, around loc, as narrow as concentration says."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Tensor, concentration: Tensor, validate_args: bool | None = None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, torch.Size(), validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.concentration * torch.cos(value - self.loc) - math.log(2 * math.pi) - _log_modified_bessel_fn(self.concentration)

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(torch.double)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(torch.double)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        precise = (1 + rho**2) / (2 * rho)
        return torch.where(kappa < 1e-5, 1 / kappa + kappa, precise)  # its series where kappa is tiny

    @torch.no_grad()
    def sample(self, sample_shape=torch.Size()) -> Tensor:
        """By rejection from a wrapped Cauchy distribution (Best and Fisher 1979), in float64."""
        shape = self._extended_shape(sample_shape)
        r, kappa = self._proposal_r.expand(shape), self._concentration.expand(shape)
        x = torch.empty(shape, dtype=r.dtype, device=r.device)
        done = torch.zeros(shape, dtype=torch.bool, device=r.device)
        while not done.all():
            u1, u2, u3 = torch.rand((3,) + shape, dtype=r.dtype, device=r.device).unbind()
            z = torch.cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accepted = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
            x = torch.where(accepted, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accepted  # who is done is drawn on until all are, and the last draw counts
        return ((x + math.pi + self._loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self) -> Tensor:
        """1 minus the length of the mean direction."""
        return 1 - (_log_modified_bessel_fn(self.concentration, order=1) - _log_modified_bessel_fn(self.concentration)).exp()
