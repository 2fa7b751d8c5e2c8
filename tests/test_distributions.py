# SPDX-License-Identifier: Apache-2.0
"""torch.distributions against recorded answers of PyTorch, and samples against their own densities."""

import json
import math
import pathlib
import pickle
import warnings

import distributions_cases
import pytest

pytestmark = pytest.mark.not_sanitized

RECORDED = json.loads((pathlib.Path(__file__).parent / "golden" / "distributions.json").read_text())


def same(ours, theirs, where):
    if isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs)):
            same(a, b, f"{where}[{i}]")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=2e-6 if "GeneralizedPareto" in where else 1e-9, abs=1e-9, nan_ok=True), where
    else:
        assert ours == theirs, where


@pytest.mark.parametrize("name", RECORDED["distributions"])
def test_answers(torch, name):
    ours = distributions_cases.asked(torch, name, *distributions_cases.distributions(torch)[name])
    for what, theirs in RECORDED["distributions"][name].items():
        same(ours[what], theirs, f"{name}.{what}")


def test_divergences(torch):
    ours = distributions_cases.divergences(torch)
    for pair, theirs in RECORDED["divergences"].items():
        same(ours[pair], theirs, f"KL {pair}")


def test_transforms(torch):
    for name, answers in distributions_cases.transforms(torch).items():
        same(answers, RECORDED["transforms"][name], name)


NO_MOMENTS = ("Cauchy", "HalfCauchy", "Categorical", "Categorical logits", "VonMises")  # none, or of another kind


@pytest.mark.parametrize("name", RECORDED["distributions"])
def test_samples(torch, name):
    """Samples have the right shape, lie in the support, and their mean is the mean."""
    distribution = distributions_cases.distributions(torch)[name][0]
    torch.manual_seed(2)
    n = 20000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = distribution.sample((n,))
        assert samples.shape == (n, *distribution.batch_shape, *distribution.event_shape)
        assert distribution.support.check(samples).all()
        try:
            mean, deviation = distribution.mean, distribution.stddev
        except NotImplementedError:
            return
    if name not in NO_MOMENTS:
        finite = deviation.isfinite()
        away = ((samples.mean(0) - mean).abs() / (deviation + 1e-6))[finite]
        assert away.max() < 6 / math.sqrt(n), f"the mean of samples is off by {away.max().item()} deviations"


@pytest.mark.parametrize("name", ["Normal", "Uniform", "Exponential", "Laplace", "Gumbel", "LogNormal", "Geometric", "Weibull", "StudentT"])
def test_samples_follow_the_seed(torch, name):
    distribution = distributions_cases.distributions(torch)[name][0]
    torch.manual_seed(7)
    first = distribution.sample((4,))
    torch.manual_seed(7)
    assert (first == distribution.sample((4,))).all()


@pytest.mark.parametrize("a", [0.05, 0.7, 1.0, 3.5, 40.0, 900.0])
def test_gamma_samples_move_with_their_concentration(torch, a):
    """-dF/da / f, F by numerical integration of the density."""
    torch.manual_seed(3)
    a = torch.full((5,), a, dtype=torch.float64)
    x = torch._standard_gamma(a).clamp(min=1e-12)
    ours = torch._standard_gamma_grad(a, x)

    def log_density(t, a):
        return (a - 1) * t.log() - t - torch.lgamma(a)

    for i in range(5):
        # t = x exp(u): even a density that is infinite at 0 is smooth
        u = torch.linspace(-60 * max(1, 1 / a[i].item()), 0, 400001, dtype=torch.float64)
        t = x[i] * u.exp()
        change = log_density(t, a[i]).exp() * t * (t.log() - torch.digamma(a[i]))
        change = torch.where(t > 0, change, 0.0)
        moved = (change.sum() - change[-1] / 2) * (u[1] - u[0])
        assert ours[i].item() == pytest.approx((-moved / log_density(x[i], a[i]).exp()).item(), rel=2e-4)


def test_gradients_of_samples(torch):
    """The mean of a sample's gradient is the gradient of the mean."""
    torch.manual_seed(0)
    d = torch.distributions
    a = torch.tensor([0.4, 2.0, 7.0], dtype=torch.float64, requires_grad=True)
    d.Gamma(a, 1.0).rsample((20000,)).mean(0).sum().backward()
    assert a.grad.tolist() == pytest.approx([1, 1, 1], rel=0.05)
    a.grad = None
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    (d.Dirichlet(a).rsample((40000,)).mean(0) * weights).sum().backward()
    sampled, a.grad = a.grad, None
    (d.Dirichlet(a).mean * weights).sum().backward()
    assert sampled.tolist() == pytest.approx(a.grad.tolist(), abs=0.004)


def test_bad_parameters(torch):
    d = torch.distributions
    with pytest.raises(ValueError, match="Expected parameter scale .* to satisfy the constraint GreaterThan"):
        d.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match="Either `probs` or `logits`"):
        d.Bernoulli()
    with pytest.raises(ValueError, match="within the support"):
        d.Uniform(0.0, 1.0).log_prob(torch.tensor(2.0))
    with pytest.raises(ValueError, match="must be a Tensor"):
        d.Normal(0.0, 1.0).log_prob(0.5)
    with pytest.raises(ValueError, match="not broadcastable"):
        d.Normal(torch.zeros(2), torch.ones(2)).log_prob(torch.zeros(3))
    with pytest.raises(NotImplementedError, match="No KL"):
        d.kl_divergence(d.Cauchy(0.0, 1.0), d.Uniform(0.0, 1.0))
    with pytest.raises(NotImplementedError, match="Cannot transform"):
        d.transform_to(d.constraints.boolean)
    for bad in (-1.0, math.inf, math.nan):
        with pytest.raises(RuntimeError, match="invalid"):
            torch._standard_gamma(torch.tensor([bad]))
        with pytest.raises(RuntimeError, match="invalid"):
            torch.binomial(torch.tensor([bad]), torch.tensor([0.5]))


def test_registries(torch):
    d = torch.distributions
    for constraint, value in ((d.constraints.positive, 0.5), (d.constraints.interval(-1.0, 3.0), 2.0), (d.constraints.less_than(1.0), -4.0)):
        for to in (d.biject_to, d.transform_to):
            transform = to(constraint)
            y = torch.tensor(value)
            assert transform(transform.inv(y)).item() == pytest.approx(value, rel=1e-5)
            assert constraint.check(transform(torch.randn(100))).all()

    class Mine(d.Normal):
        pass

    @d.register_kl(Mine, Mine)
    def _(p, q):
        return torch.tensor(42.0)

    assert d.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0)) == 42
    assert d.kl_divergence(Mine(0.0, 1.0), d.Normal(0.0, 1.0)) == 0


def test_pickle_and_cache(torch):
    d = torch.distributions
    again = pickle.loads(pickle.dumps(d.LogNormal(torch.zeros(2), torch.ones(2))))
    assert repr(again) == repr(d.LogNormal(torch.zeros(2), torch.ones(2)))
    tanh = d.TanhTransform(cache_size=1)
    x = torch.tensor([30.0])
    assert tanh.inv(tanh(x)) is x  # which atanh(1) would lose
    assert tanh.inv.inv is tanh


def test_von_mises_draws_until_all_are_accepted(torch):
    """Numbers of PyTorch: the last draw that was accepted counts, not the first."""
    torch.manual_seed(3)
    samples = torch.distributions.VonMises(torch.tensor([0.0, 1.0, 2.0, 1.0]), torch.tensor([0.5, 3.0, 40.0, 1e-6])).sample((3,))
    wanted = [[-0.3814, 0.5064, 1.8496, -1.8639], [-1.3001, 1.3985, 1.8873, 2.8586], [0.7315, 0.6221, 1.7470, -0.8320]]
    assert (samples - torch.tensor(wanted)).abs().max() < 1e-4


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", ["positive", "nonnegative"])
def test_the_way_to_positive_numbers_has_two_parts(torch, registry, name):
    d = torch.distributions
    found = getattr(d, registry)(getattr(d.constraints, name))
    assert [type(part).__name__ for part in found.parts] == ["ExpTransform", "AffineTransform"]
    assert found(torch.zeros(2)).tolist() == [1, 1] and found.log_abs_det_jacobian(torch.ones(1), found(torch.ones(1))).tolist() == [1]


# What PyTorch 2.15 draws on the CPU after manual_seed(7), and torch.randint(1000, ()) after that.
DRAWS = {
    "gamma": (lambda t: t._standard_gamma(t.tensor([2.0, 0.5, 1.0, 30.0, 0.01], dtype=t.float64)),
              [1.48424718, 0.263831469, 1.10085987, 25.9808903, 1.3348332e-62], 443),
    "gamma, transposed": (lambda t: t._standard_gamma(t.tensor([[2.0, 0.5], [1.0, 7.0]]).t()), [1.48424721, 1.53659296, 0.0103072515, 5.00310469], 983),
    "gamma after a normal": (lambda t: (t.empty(1).normal_(), t._standard_gamma(t.tensor([2.0])))[1], [2.90151518], 287),
    "dirichlet": (lambda t: t._sample_dirichlet(t.tensor([[1.0, 2.0, 0.3], [4.0, 5.0, 6.0]])),
                  [0.160273023, 0.839642404, 8.45731814e-05, 0.205436447, 0.391502369, 0.403061184], 443),
    "binomial": (lambda t: t.binomial(t.tensor([5.0, 5.0, 100.0, 100.0, 1000.0, 0.0, 10.0, 10.0, 40.0]), t.tensor([0.3, 0.8, 0.3, 0.9, 0.5, 0.5, 0.0, 1.0, 0.25])),
                 [1.0, 1.0, 31.0, 87.0, 467.0, 0.0, 0.0, 10.0, 3.0], 451),
    "poisson": (lambda t: t.poisson(t.tensor([0.1, 3.0, 9.9, 10.0, 1e4])), [0.0, 5.0, 6.0, 6.0, 10178.0], 352),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_draws(torch, name):
    draw, expected, next_number = DRAWS[name]
    torch.manual_seed(7)
    drawn = draw(torch).double().flatten()
    assert torch.randint(1000, ()).item() == next_number
    torch.testing.assert_close(drawn, torch.tensor(expected, dtype=torch.float64), rtol=2e-6, atol=0)


def test_multinomial_of_less_than_nothing(torch):
    with pytest.raises(ValueError, match="total_count"):
        torch.distributions.Multinomial(-1, torch.ones(2))
