# SPDX-License-Identifier: Apache-2.0
"""What test_distributions.py asks of every distribution, transform and pair, written for any torch: results as plain lists."""

import warnings


def tensor(torch, *values):
    return torch.tensor(list(values), dtype=torch.float64)


def spd(torch, n=3):
    a = torch.arange(n * n, dtype=torch.float64).reshape(n, n).sin()
    return a @ a.mT + torch.eye(n, dtype=torch.float64)


def distributions(torch):
    """name: (distribution, values whose densities are asked for)."""
    d = torch.distributions
    t = lambda *values: tensor(torch, *values)  # noqa: E731
    a, b, p = t(0.5, 1.5, 3.0), t(2.0, 0.7, 1.2), t(0.2, 0.5, 0.9)
    p4 = torch.stack([t(0.1, 0.2, 0.3, 0.4), t(0.25, 0.25, 0.4, 0.1)])
    unit, real, positive, whole = t(0.1, 0.5, 0.85), t(-1.0, 0.25, 2.0), t(0.3, 1.0, 2.5), t(0.0, 1.0, 3.0)
    simplex = torch.stack([t(0.2, 0.3, 0.5), t(0.6, 0.3, 0.1)])
    vectors = torch.stack([t(0.1, -0.4, 1.0), t(2.0, 0.0, -1.0)])
    rows = lambda *v: torch.stack([t(*v), t(*reversed(v))])  # noqa: E731
    return {
        "Bernoulli": (d.Bernoulli(p), t(0.0, 1.0, 1.0)),
        "Bernoulli logits": (d.Bernoulli(logits=real), t(0.0, 1.0, 1.0)),
        "Beta": (d.Beta(a, b), unit),
        "Binomial": (d.Binomial(5, p), whole),
        "Categorical": (d.Categorical(p4), torch.tensor([1, 3])),
        "Categorical logits": (d.Categorical(logits=p4.log() + 1), torch.tensor([0, 2])),
        "Cauchy": (d.Cauchy(real, b), real + 1),
        "Chi2": (d.Chi2(a), positive),
        "ContinuousBernoulli": (d.ContinuousBernoulli(p), unit),
        "Dirichlet": (d.Dirichlet(rows(0.5, 1.5, 3.0)), simplex),
        "Exponential": (d.Exponential(a), positive),
        "FisherSnedecor": (d.FisherSnedecor(a + 4, b + 5), positive),
        "Gamma": (d.Gamma(a, b), positive),
        "GeneralizedPareto": (d.GeneralizedPareto(t(0.0, 1.0, 0.0).float(), b.float(), t(0.0, 0.3, 0.1).float()), t(0.5, 2.0, 1.0).float()),
        "Geometric": (d.Geometric(p), whole),
        "Gumbel": (d.Gumbel(real, b), real + 1),
        "HalfCauchy": (d.HalfCauchy(b), positive),
        "HalfNormal": (d.HalfNormal(b), positive),
        "Independent": (d.Independent(d.Normal(vectors, 1.0), 1), vectors + 0.5),
        "InverseGamma": (d.InverseGamma(a + 2, b), positive),
        "Kumaraswamy": (d.Kumaraswamy(a + 1, b + 1), unit),
        "LKJCholesky": (d.LKJCholesky(3, t(1.5)[0]), torch.linalg.cholesky(torch.eye(3, dtype=torch.float64) * 0.5 + 0.5)),
        "Laplace": (d.Laplace(real, b), real + 1),
        "LogNormal": (d.LogNormal(real, b), positive),
        "LogisticNormal": (d.LogisticNormal(vectors[:, :2], t(1.0, 2.0)), simplex),
        "LowRankMultivariateNormal": (d.LowRankMultivariateNormal(vectors, vectors.mT[:, :2], t(1.0, 2.0, 0.5)), vectors + 0.5),
        "MixtureSameFamily": (d.MixtureSameFamily(d.Categorical(p), d.Normal(real, b)), t(0.3, -2.0)),
        "Multinomial": (d.Multinomial(4, p4), torch.stack([t(1.0, 0.0, 2.0, 1.0), t(0.0, 4.0, 0.0, 0.0)])),
        "MultivariateNormal": (d.MultivariateNormal(vectors, spd(torch)), vectors + 0.5),
        "MultivariateNormal precision": (d.MultivariateNormal(vectors[0], precision_matrix=spd(torch)), vectors),
        "NegativeBinomial": (d.NegativeBinomial(t(2.0, 3.0, 1.0), p), whole),
        "Normal": (d.Normal(real, b), real + 1),
        "OneHotCategorical": (d.OneHotCategorical(p4), torch.eye(4, dtype=torch.float64)[:2]),
        "Pareto": (d.Pareto(b, a + 2), b + positive),
        "Poisson": (d.Poisson(b), whole),
        "RelaxedBernoulli": (d.RelaxedBernoulli(t(0.7)[0], p), unit),
        "RelaxedOneHotCategorical": (d.RelaxedOneHotCategorical(t(0.7)[0], p4[:, :3]), simplex),
        "StudentT": (d.StudentT(a + 2, real, b), real + 1),
        "TransformedDistribution": (d.TransformedDistribution(d.Normal(real, b), [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()]), unit),
        "Uniform": (d.Uniform(real, real + b), real + 0.25 * b),
        "VonMises": (d.VonMises(real, b + 2), real + 1),
        "Weibull": (d.Weibull(b, a + 1), positive),
        "Wishart": (d.Wishart(t(5.0)[0], spd(torch)), spd(torch) * 2),
    }


def asked(torch, name, distribution, value):
    """Everything about one distribution that does not depend on random numbers."""
    found = {"repr": repr(distribution), "batch": list(distribution.batch_shape), "event": list(distribution.event_shape)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for what in ("log_prob", "cdf", "entropy", "mean", "mode", "variance", "stddev", "support", "icdf", "enumerate_support"):
            try:
                if what in ("log_prob", "cdf"):
                    result = getattr(distribution, what)(value)
                elif what == "icdf":
                    result = distribution.icdf(torch.full(distribution.batch_shape, 0.3, dtype=torch.float64))
                elif what in ("entropy", "enumerate_support"):
                    result = getattr(distribution, what)()
                else:
                    result = getattr(distribution, what)
                found[what] = result.tolist() if isinstance(result, torch.Tensor) else type(result).__name__
            except (NotImplementedError, AttributeError) as e:
                found[what] = type(e).__name__
        larger = distribution.expand(torch.Size((2,)) + distribution.batch_shape)
        found["expanded"] = [list(larger.batch_shape), larger.log_prob(value).sum().item()]
    return found


def divergences(torch):
    """KL of every pair that has one."""
    d = torch.distributions
    one = lambda value: tensor(torch, value)  # noqa: E731
    all_of = {name: pair[0] for name, pair in distributions(torch).items() if " " not in name}
    all_of |= {"Uniform": d.Uniform(one(0.2), one(0.7)), "Beta": d.Beta(one(1.5), one(0.8)), "Gamma": d.Gamma(one(2.0), one(1.5)),
               "Exponential": d.Exponential(one(0.7)), "Pareto": d.Pareto(one(0.1), one(3.0)), "Normal": d.Normal(one(0.3), one(1.2)),
               "Gumbel": d.Gumbel(one(0.3), one(1.2)), "Laplace": d.Laplace(one(0.3), one(1.2)), "Cauchy": d.Cauchy(one(0.3), one(1.2)),
               "ContinuousBernoulli": d.ContinuousBernoulli(one(0.3)), "Poisson": d.Poisson(one(1.3)), "Bernoulli": d.Bernoulli(one(0.3)),
               "Binomial": d.Binomial(5, one(0.3)), "HalfNormal": d.HalfNormal(one(0.4)), "Geometric": d.Geometric(one(0.4))}  # fmt: skip
    found = {}
    for p in all_of:
        for q in all_of:
            try:
                found[f"{p} {q}"] = d.kl_divergence(all_of[p], all_of[q]).reshape(-1).tolist()
            except (NotImplementedError, RuntimeError, ValueError, AttributeError, IndexError):
                pass  # no closed form, or shapes that do not go together
    return found


def transforms(torch):
    d = torch.distributions
    x = torch.stack([tensor(torch, -1.0, 0.3, 2.0), tensor(torch, 0.5, -0.2, 0.1)])
    every = {
        "exp": d.ExpTransform(), "sigmoid": d.SigmoidTransform(), "tanh": d.TanhTransform(), "softplus": d.SoftplusTransform(),
        "affine": d.AffineTransform(tensor(torch, 1.0, 2.0, 3.0), -2.0, event_dim=1), "power": d.PowerTransform(tensor(torch, 2.0)[0]),
        "stick": d.StickBreakingTransform(), "corr": d.CorrCholeskyTransform(), "reshape": d.ReshapeTransform((3,), (3, 1)),
        "compose": d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.ExpTransform(), d.PowerTransform(tensor(torch, 0.5)[0])]),
        "independent": d.IndependentTransform(d.TanhTransform(), 1), "cdf": d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)),
        "stack": d.StackTransform([d.ExpTransform(), d.TanhTransform(), d.SigmoidTransform()], dim=-1),
        "cat": d.CatTransform([d.ExpTransform(), d.TanhTransform()], dim=-1, lengths=[1, 2]),
    }  # fmt: skip
    found = {}
    for name, transform in every.items():
        given = x.abs() if name == "power" else x
        y = transform(given)
        found[name] = [repr(transform), y.tolist(), transform.inv(y).tolist(), transform.log_abs_det_jacobian(given, y).tolist(),
                       list(transform.forward_shape(given.shape)), list(transform.inverse_shape(y.shape))]  # fmt: skip
    return found


def everything(torch):
    return {
        "distributions": {name: asked(torch, name, *pair) for name, pair in distributions(torch).items()},
        "divergences": divergences(torch),
        "transforms": transforms(torch),
    }
