# SPDX-License-Identifier: Apache-2.0
"""Devices draw their own random numbers: docs/random.md, section 9."""
import math
import pickle

import facula as torch
import pytest

pytestmark = pytest.mark.threads

DRAWS = {
    "uniform_": lambda t, **k: t.uniform_(-1, 2, **k),
    "normal_": lambda t, **k: t.normal_(1, 3, **k),
    "log_normal_": lambda t, **k: t.log_normal_(0, 0.5, **k),
    "exponential_": lambda t, **k: t.exponential_(2, **k),
    "cauchy_": lambda t, **k: t.cauchy_(0, 1, **k),
    "geometric_": lambda t, **k: t.geometric_(0.25, **k),
    "bernoulli_": lambda t, **k: t.bernoulli_(0.25, **k),
    "random_": lambda t, **k: t.random_(-3, 14, **k),
}


class NoNumbers(torch.backends.Backend):
    """Draws nothing by itself: the CPU draws for it."""

    name = "no_numbers"
    device_count = 2


@pytest.fixture(scope="module")
def plain():
    return torch.backends.register(NoNumbers())


def philox(seed, counter):
    """The four words, by the book."""
    mask = 2**32 - 1
    key, c = [seed & mask, seed >> 32 & mask], [counter & mask, counter >> 32 & mask, 0, 0]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ key[0], q & mask, p >> 32 ^ c[3] ^ key[1], p & mask]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return c


def test_known_answers():
    # Of the generator's authors (Random123, kat_vectors: philox4x32 10), as far as the counter's upper half is zero.
    assert philox(0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("name", DRAWS)
def test_the_device_draws_what_the_cpu_would(example, plain, name, dtype):
    got = []
    for device in (example, plain):
        torch.manual_seed(5)
        got.append([DRAWS[name](torch.empty(3, 50, dtype=dtype, device=device)).cpu() for _ in range(2)])
    for a, b in zip(*got):
        torch.testing.assert_close(a, b)
    assert not torch.equal(got[0][0], got[0][1])
    assert not any(device == example for _, device in torch.backends.fallback_counts())
    assert torch.backends.fallback_counts()[(f"aten::{name}" + {"bernoulli_": ".float", "random_": ".from"}.get(name, ""), plain)] == 2


def test_the_recipe(example):
    seed, first = 2**40 + 3, 10
    g = torch.Generator(device=example).manual_seed(seed)
    assert g.device.type == example and g.initial_seed() == seed and g.set_offset(first) is g
    got = torch.empty(4, device=example).uniform_(generator=g).cpu().tolist()
    words = [philox(seed, first + i) for i in range(8)]
    assert got == [(w[0] >> 8) * 2**-24 for w in words[:4]] and g.get_offset() == 14
    wide = torch.empty(2, dtype=torch.float64, device=example).normal_(generator=g).cpu().tolist()
    units = [[((w[2 * i] << 32 | w[2 * i + 1]) >> 11) * 2**-53 for i in range(2)] for w in words[4:6]]
    assert wide == pytest.approx([math.sqrt(-2 * math.log1p(-u)) * math.cos(2 * math.pi * v) for u, v in units], rel=1e-12)
    ints = torch.empty(2, dtype=torch.int64, device=example).random_(5, 25, generator=g).cpu().tolist()
    assert ints == [5 + w[0] % 20 for w in words[6:8]]


def test_state(example):
    g = torch.Generator(device=example).manual_seed(7)
    torch.rand(10, device=example, generator=g)
    state = g.get_state()
    assert state.tolist() == [7] + [0] * 7 + [10] + [0] * 7 and state.device.type == "cpu"
    a = torch.rand(3, device=example, generator=g)
    b = torch.rand(3, device=example, generator=torch.Generator(device=example).set_state(state))
    c = torch.rand(3, device=example, generator=pickle.loads(pickle.dumps(g.set_state(state))))
    assert torch.equal(a.cpu(), b.cpu()) and torch.equal(a.cpu(), c.cpu())
    with pytest.raises(RuntimeError, match="RNG state is wrong size: a generator of 'example:0' has 16 bytes, got 5056"):
        g.set_state(torch.get_rng_state())
    with pytest.raises(RuntimeError, match="a generator of the CPU has no offset"):
        torch.Generator().get_offset()


def test_generators_stay_with_their_device(example):
    with pytest.raises(RuntimeError, match="Expected a 'example' device type for generator but found 'cpu'"):
        torch.rand(3, device=example, generator=torch.Generator())
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'example:0'"):
        torch.rand(3, generator=torch.Generator(device=example))
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'example:0'"):
        torch.multinomial(torch.ones(3), 2, generator=torch.Generator(device=example))


@pytest.mark.parametrize(
    "draw",
    [
        lambda d: torch.randperm(20, device=d),
        lambda d: torch.multinomial(torch.ones(20, device=d), 5),
        lambda d: torch.poisson(torch.full((20,), 4.0, device=d)),
        lambda d: torch.distributions.Gamma(torch.full((20,), 2.0, device=d), 1.0).sample(),
        lambda d: torch.nn.functional.rrelu(torch.full((20,), -1.0, device=d), training=True),
        lambda d: torch.nn.functional.dropout(torch.ones(100, device=d)),
    ],
)
def test_seeds_decide_everything(example, draw):
    cpu = torch.get_rng_state()
    draws = []
    for seed in (1, 1, 2):
        torch.example.manual_seed_all(seed)
        draws.append(draw(example).cpu())
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])
    assert torch.equal(torch.get_rng_state(), cpu)  # the CPU's generator has nothing to do with it


def test_devices_of_one_type_draw_by_themselves(example):
    torch.manual_seed(3)
    a, b = torch.rand(5, device="example:0"), torch.rand(5, device="example:1")
    assert torch.equal(a.cpu(), b.cpu())
    torch.example.set_rng_state(torch.example.get_rng_state(0), 1)
    assert torch.equal(torch.rand(5, device="example:0").cpu(), torch.rand(5, device="example:1").cpu())
    with torch.random.fork_rng():
        inside = torch.rand(5, device=example)
    assert torch.equal(torch.rand(5, device=example).cpu(), inside.cpu())
    with torch.random.fork_rng(devices=[1], device_type=example):
        inside = torch.rand(5, device="example:1")
    assert torch.equal(torch.rand(5, device="example:1").cpu(), inside.cpu())


def test_layouts_and_types(example):
    torch.manual_seed(3)
    a = torch.empty(4, 6, device=example).uniform_()
    torch.manual_seed(3)
    b = torch.empty(6, 4, device=example).t().uniform_()  # in the order of memory, whatever it is called
    assert torch.equal(a.cpu().flatten(), b.cpu().t().flatten())
    torch.manual_seed(3)
    wide = torch.zeros(4, 12, device=example)
    wide[:, ::2].uniform_()
    assert torch.equal(wide[:, ::2].cpu(), a.cpu()) and wide[:, 1::2].cpu().abs().sum() == 0
    torch.manual_seed(3)
    z = torch.randn(5, dtype=torch.complex64, device=example)
    torch.manual_seed(3)
    torch.testing.assert_close(torch.view_as_real(z.cpu()).flatten(), torch.randn(10, device=example).cpu() * math.sqrt(0.5))
    p = torch.tensor([0.0, 1.0]).repeat(50).to(example)
    assert torch.equal(torch.bernoulli(p).cpu(), p.cpu())


def test_numbers_are_spread_as_they_should_be(example):
    torch.manual_seed(0)
    n = 20000
    u = torch.rand(n, device=example).cpu()
    assert 0 <= u.min() and u.max() < 1 and abs(u.mean() - 0.5) < 0.01 and abs(u.var() - 1 / 12) < 0.003
    x = torch.randn(n, device=example).cpu()
    assert abs(x.mean()) < 0.03 and abs(x.var() - 1) < 0.05 and abs((x**4).mean() - 3) < 0.3
    e = torch.empty(n, device=example).exponential_(2).cpu()
    assert abs(e.mean() - 0.5) < 0.02 and e.min() >= 0
    g = torch.empty(n, device=example).geometric_(0.25).cpu()
    assert abs(g.mean() - 4) < 0.1 and g.min() == 1
    counts = torch.randint(0, 10, (n,), device=example).cpu().bincount(minlength=10)
    assert counts.min() > 1800 and counts.max() < 2200


def test_permutations_are_the_order_of_random_bits(example):
    seed = 2**35 + 1
    g = torch.Generator(device=example).manual_seed(seed)
    signed = [(w[0] << 32 | w[1]) - (2**64 if w[0] >> 31 else 0) for w in (philox(seed, i) for i in range(50))]
    got = torch.randperm(50, device=example, generator=g)
    assert got.device.type == example and got.tolist() == sorted(range(50), key=signed.__getitem__) and g.get_offset() == 50
    assert torch.randperm(9, dtype=torch.int32, device=example).dtype == torch.int32
    assert torch.randperm(0, device=example).shape == (0,)


def test_multinomial_draws_by_weight_and_never_what_has_none(example):
    torch.manual_seed(0)
    weights = torch.tensor([[1.0, 0.0, 2.0, 5.0], [0.0, 0.0, 0.0, 1e38]])
    many = torch.multinomial(weights.to(example), 8000, replacement=True).cpu()
    one = torch.cat([torch.multinomial(weights.expand(400, 2, 4).reshape(-1, 4).to(example), 1).cpu().view(400, 2) for _ in range(5)])
    for draws in (many[0], one[:, 0]):
        torch.testing.assert_close(draws.bincount(minlength=4) / len(draws), weights[0] / 8, atol=0.04, rtol=0)
    assert (many[1] == 3).all() and (one[:, 1] == 3).all()
    all_of_them = torch.multinomial(weights[0].to(example), 4).tolist()
    assert sorted(all_of_them) == [0, 1, 2, 3] and all_of_them[3] == 1
    for bad, why in ([[-1.0, 1.0], "element < 0"], [[float("nan"), 1.0], "element < 0"], [[0.0, 0.0], "sum of probabilities"]):
        with pytest.raises(RuntimeError, match=why):
            torch.multinomial(torch.tensor(bad).to(example), 1)


def test_slopes_are_drawn_for_what_is_not_positive(example):
    torch.manual_seed(0)
    x = torch.linspace(-1, 1, 1000)
    y = torch.nn.functional.rrelu(x.to(example), 0.1, 0.3, training=True).cpu()
    slopes = (y / x)[x < 0]
    assert torch.equal(y[x > 0], x[x > 0]) and 0.0999 <= slopes.min() and slopes.max() <= 0.3001 and slopes.std() > 0.04
