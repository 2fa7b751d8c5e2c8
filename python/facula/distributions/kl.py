# SPDX-License-Identifier: Apache-2.0
"""Kullback-Leibler divergences: a table of pairs of distributions, which programs may extend with @register_kl(P, Q)."""

from __future__ import annotations

import math
import warnings

import facula as torch
from facula import Tensor
from facula.distributions.bernoulli import Bernoulli
from facula.distributions.beta import Beta
from facula.distributions.binomial import Binomial
from facula.distributions.categorical import Categorical
from facula.distributions.cauchy import Cauchy
from facula.distributions.continuous_bernoulli import ContinuousBernoulli
from facula.distributions.dirichlet import Dirichlet
from facula.distributions.distribution import Distribution
from facula.distributions.exp_family import ExponentialFamily
from facula.distributions.exponential import Exponential
from facula.distributions.gamma import Gamma
from facula.distributions.geometric import Geometric
from facula.distributions.gumbel import Gumbel
from facula.distributions.half_normal import HalfNormal
from facula.distributions.independent import Independent
from facula.distributions.laplace import Laplace
from facula.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from facula.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from facula.distributions.normal import Normal
from facula.distributions.one_hot_categorical import OneHotCategorical
from facula.distributions.pareto import Pareto
from facula.distributions.poisson import Poisson
from facula.distributions.transformed_distribution import TransformedDistribution
from facula.distributions.uniform import Uniform
from facula.distributions.utils import _sum_rightmost, euler_constant

__all__ = ["register_kl", "kl_divergence"]

_KL_REGISTRY = {}
_KL_MEMOIZE = {}


def register_kl(type_p, type_q):
    """A decorator of f(p, q), for these classes and those derived from them."""
    if not isinstance(type_p, type) and issubclass(type_p, Distribution):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type) and issubclass(type_q, Distribution):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def decorator(fun):
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorator


def _dispatch(type_p, type_q):
    """The most specific function registered for two classes: of the nearest class of p, and of the nearest of q."""
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    nearest_p = min(matches, key=lambda m: (type_p.__mro__.index(m[0]), type_q.__mro__.index(m[1])))
    nearest_q = min(matches, key=lambda m: (type_q.__mro__.index(m[1]), type_p.__mro__.index(m[0])))
    if _KL_REGISTRY[nearest_p] is not _KL_REGISTRY[nearest_q]:
        names = tuple(c.__name__ for c in (*nearest_p, *nearest_q))
        warnings.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({names[0]}, {names[3]})", RuntimeWarning, stacklevel=3)  # fmt: skip
    return _KL_REGISTRY[nearest_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean under p of log p(x) - log q(x), for every member of the batch."""
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _dispatch(*key)
    function = _KL_MEMOIZE[key]
    if function is None:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
    return function(p, q)


def _x_log_x(tensor):
    return torch.special.xlogy(tensor, tensor)


def _batch_trace_XXT(bmat):
    """The trace of X Xᵀ."""
    return bmat.reshape(bmat.shape[:-2] + (-1,)).pow(2).sum(-1)


# ---- of one family ------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    softplus = torch.nn.functional.softplus
    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t1 = t1.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return t1 + t2.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    p_total, q_total = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + p_total.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + q_total.lgamma()
    return (t1 - t2 + (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
            + (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0) + (q_total - p_total) * torch.digamma(p_total))  # fmt: skip


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return torch.where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = torch.where((q.probs == 0).expand_as(t), math.inf, t)
    return torch.where((p.probs == 0).expand_as(t), 0.0, t).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    return (p.mean * (p.logits - q.logits) + p._cont_bern_log_norm() + torch.log1p(-p.probs)
            - q._cont_bern_log_norm() - torch.log1p(-q.probs))  # fmt: skip


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    p_total, q_total = p.concentration.sum(-1), q.concentration.sum(-1)
    spread = p.concentration.digamma() - p_total.digamma().unsqueeze(-1)
    return (p_total.lgamma() - q_total.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
            + ((p.concentration - q.concentration) * spread).sum(-1))  # fmt: skip


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """The Bregman divergence of the log normaliser."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed using Bregman divergences")
    params = [n.detach().requires_grad_() for n in p._natural_params]
    normalizer = p._log_normalizer(*params)
    gradients = torch.autograd.grad(normalizer.sum(), params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for mine, theirs, gradient in zip(params, q._natural_params, gradients):
        result = result - _sum_rightmost((theirs - mine) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    return (q.concentration * (p.rate / q.rate).log() + torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
            + (p.concentration - q.concentration) * torch.digamma(p.concentration) + (q.rate - p.rate) * (p.concentration / p.rate))  # fmt: skip


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    t1 = p.scale / q.scale
    t2 = q.loc / q.scale
    t3 = p.loc / q.scale
    return -t1.log() - t2 + t3 + t1 * euler_constant + torch.exp(t2 + (1 + t1).lgamma() - t3) - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio = p.scale / q.scale
    away = (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * torch.exp(-away / p.scale) - 1


def _half_log_det(d):
    """Half the log determinant of a covariance."""
    if isinstance(d, MultivariateNormal):
        return d._half_log_det()
    return _batch_lowrank_logdet(d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag, d._capacitance_tril) / 2


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrank_lowrank(p, q):
    _same_event(p, q)
    distance = _batch_lowrank_mahalanobis(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q.loc - p.loc, q._capacitance_tril)
    # tr(Σq⁻¹ Σp) by Woodbury's identity, Σ = W Wᵀ + D
    of_factor = q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2)
    A = torch.linalg.solve_triangular(q._capacitance_tril, of_factor, upper=False)
    trace = ((p._unbroadcasted_cov_diag / q._unbroadcasted_cov_diag).sum(-1)
             + _batch_trace_XXT(p._unbroadcasted_cov_factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
             - _batch_trace_XXT(A * p._unbroadcasted_cov_diag.sqrt().unsqueeze(-2)) - _batch_trace_XXT(A.matmul(p._unbroadcasted_cov_factor)))  # fmt: skip
    return _half_log_det(q) - _half_log_det(p) + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrank(p, q):
    _same_event(p, q)
    distance = _batch_lowrank_mahalanobis(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q.loc - p.loc, q._capacitance_tril)
    of_factor = q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2)
    A = torch.linalg.solve_triangular(q._capacitance_tril, of_factor, upper=False)
    trace = (_batch_trace_XXT(p._unbroadcasted_scale_tril * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
             - _batch_trace_XXT(A.matmul(p._unbroadcasted_scale_tril)))  # fmt: skip
    return _half_log_det(q) - _half_log_det(p) + 0.5 * (trace + distance - p.event_shape[0])


def _same_event(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be computed: "
                         f"{p.event_shape} and {q.event_shape}")  # fmt: skip


def _kl_to_multivariatenormal(p, q, *roots):
    """roots: matrices X whose X Xᵀ sum to p's covariance."""
    _same_event(p, q)
    n = p.event_shape[0]
    batch = torch.broadcast_shapes(q._unbroadcasted_scale_tril.shape[:-2], *(r.shape[:-2] for r in roots))
    q_root = q._unbroadcasted_scale_tril.expand(batch + (n, n))
    trace = sum(_batch_trace_XXT(torch.linalg.solve_triangular(q_root, r.expand(batch + (n, r.shape[-1])), upper=False)) for r in roots)
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return _half_log_det(q) - _half_log_det(p) + 0.5 * (trace + distance - n)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrank_multivariatenormal(p, q):
    return _kl_to_multivariatenormal(p, q, p._unbroadcasted_cov_factor, torch.diag_embed(p._unbroadcasted_cov_diag.sqrt()))


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    return _kl_to_multivariatenormal(p, q, p._unbroadcasted_scale_tril)


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    var_ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (var_ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - var_ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    scale_ratio, alpha_ratio = p.scale / q.scale, q.alpha / p.alpha
    result = q.alpha * scale_ratio.log() - alpha_ratio.log() + alpha_ratio - 1
    return torch.where(p.support.lower_bound < q.support.lower_bound, math.inf, result)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    t1 = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return t1 - (4 * p.scale * q.scale).log()


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ---- of two families: an infinite one where p has values that q cannot have -----------------------


def _infinite(attribute):
    return lambda p, q: torch.full_like(getattr(p, attribute), math.inf)


for _p, _attribute, _qs in (
    (Beta, "concentration1", (Pareto,)), (ContinuousBernoulli, "probs", (Pareto,)),
    (Exponential, "rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, "concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, "scale", (Beta, ContinuousBernoulli, Uniform)), (Poisson, "rate", (Bernoulli, Binomial)),
):  # fmt: skip
    for _q in _qs:
        register_kl(_p, _q)(_infinite(_attribute))
del _p, _q, _attribute, _qs


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


def _to_uniform(p, q):
    """Of p within [0, 1] against an even density."""
    result = -p.entropy() + (q.high - q.low).log()
    return torch.where((q.low > p.support.lower_bound) | (q.high < p.support.upper_bound), math.inf, result)


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p, q):
    return -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()


def _to_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


def _to_normal(p, q):
    """By p's mean and variance."""
    return -p.entropy() + 0.5 * (2 * math.pi * q.scale.pow(2)).log() + (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))


for _p in (Beta, ContinuousBernoulli):
    register_kl(_p, Exponential)(_to_exponential)
    register_kl(_p, Normal)(_to_normal)
    register_kl(_p, Uniform)(_to_uniform)
for _p in (Exponential, Gamma, Gumbel, Laplace):
    register_kl(_p, Normal)(_to_normal)
register_kl(Gamma, Exponential)(_to_exponential)
del _p


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p, q):
    log_x = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return (-p.entropy() + q.concentration.lgamma() - q.concentration * q.rate.log() - (q.concentration - 1) * log_x + q.rate * p.mean)


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p, q):
    ratio = q.rate / p.rate
    return -q.concentration * torch.log(ratio) + ratio + q.concentration.lgamma() + q.concentration * euler_constant - (1 + euler_constant)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p, q):
    rate_scale = p.rate * q.scale
    loc_scale = q.loc / q.scale
    return torch.log(rate_scale) - 1 + torch.exp(loc_scale) * rate_scale / (rate_scale + 1) - loc_scale + rate_scale.reciprocal()


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p, q):
    beta_scale = p.rate * q.scale
    loc_scale = q.loc / q.scale
    return ((p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma() - p.concentration + beta_scale.log()
            + p.concentration / beta_scale + torch.exp(loc_scale) * (1 + beta_scale.reciprocal()).pow(-p.concentration) - loc_scale)  # fmt: skip


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p, q):
    away = (p.loc - q.loc) / q.scale
    return away + torch.exp(-away + 0.5 * (p.scale / q.scale).pow(2)) - (p.scale / q.scale).log() - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    away, ratio = p.loc - q.loc, p.scale / q.scale
    spread = away / p.scale
    mean_distance = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * spread.pow(2)) + away * torch.erf(math.sqrt(0.5) * spread)
    return -ratio.log() + mean_distance / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p, q):
    scale_rate = p.scale * q.rate
    result = (p.alpha / scale_rate).log() - p.alpha.reciprocal() + p.alpha * scale_rate / (p.alpha - 1) - 1
    return torch.where(p.alpha <= 1, math.inf, result)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p, q):
    common = p.scale.log() + p.alpha.reciprocal()
    result = (p.alpha.log() - common + q.concentration.lgamma() - q.concentration * q.rate.log() + (1 - q.concentration) * common
              + q.rate * p.alpha * p.scale / (p.alpha - 1) - 1)  # fmt: skip
    return torch.where(p.alpha <= 1, math.inf, result)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p, q):
    mean = p.scale * p.alpha / (p.alpha - 1)
    variance = p.scale.pow(2) * p.alpha / ((p.alpha - 1).pow(2) * (p.alpha - 2))
    result = ((math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log() - p.alpha.reciprocal()
              + (variance + (mean - q.loc).pow(2)) / (2 * q.scale.pow(2)) - 1)  # fmt: skip
    return torch.where(p.alpha <= 2, math.inf, result)


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    width = p.high - p.low
    result = (q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma() - width.log()
              - (q.concentration1 - 1) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
              + (q.concentration0 - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width)  # fmt: skip
    return torch.where((p.high > q.support.upper_bound) | (p.low < q.support.lower_bound), math.inf, result)


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p, q):
    result = -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()
    return torch.where((p.high > q.support.upper_bound) | (p.low < q.support.lower_bound), math.inf, result)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p, q):
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return torch.where(p.low < q.support.lower_bound, math.inf, result)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p, q):
    width = p.high - p.low
    result = (-width.log() + q.concentration.lgamma() - q.concentration * q.rate.log()
              + (1 - q.concentration) * ((_x_log_x(p.high) - _x_log_x(p.low)) / width - 1) + q.rate * (p.high + p.low) / 2)  # fmt: skip
    return torch.where(p.low < q.support.lower_bound, math.inf, result)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p, q):
    width = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return width.log() + 0.5 * (high + low) - width * (torch.exp(-high) - torch.exp(-low))


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p, q):
    width = p.high - p.low
    return ((math.sqrt(math.pi * 2) * q.scale / width).log()
            + ((width / q.scale).pow(2) / 12 + (((p.high + p.low) / 2 - q.loc) / q.scale).pow(2)) / 2)  # fmt: skip


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    width = p.high - p.low
    t = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = t * (q.alpha + 1) - (q.alpha * q.scale.pow(q.alpha) * width).log()
    return torch.where(p.low < q.support.lower_bound, math.inf, result)
