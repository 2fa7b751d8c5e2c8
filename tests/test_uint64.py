# SPDX-License-Identifier: Apache-2.0
"""Integers of 2**63 and more, which only uint64 holds: they pass whole, or the error is PyTorch's."""
import pytest

BIG = 2**64 - 1


def u64(torch, *values):
    return torch.tensor(values, dtype=torch.uint64)


def test_in_and_out(torch):
    x = torch.tensor([0, 2**63, BIG], dtype=torch.uint64)
    assert x.tolist() == [0, 2**63, BIG] and x[2].item() == BIG
    assert f"{x[2]:x}" == "f" * 16
    assert torch.full((2,), BIG, dtype=torch.uint64).tolist() == [BIG, BIG]
    assert torch.zeros(1, dtype=torch.uint64).fill_(BIG).item() == BIG
    assert torch.full_like(x, BIG)[0].item() == x.new_full((1,), BIG).item() == BIG
    x[0] = BIG
    assert x[0].item() == BIG


def test_casts(torch):
    x = u64(torch, BIG, 2**63, 5)
    assert x.to(torch.int64).tolist() == [-1, -(2**63), 5]
    assert x.view(torch.int64).tolist() == [-1, -(2**63), 5]
    assert x.double().tolist() == [2.0**64, 2.0**63, 5]
    assert x.float().tolist() == [2.0**64, 2.0**63, 5]
    assert torch.tensor([2.0**63, 2.0**64 - 2048], dtype=torch.float64).to(torch.uint64).tolist() == [2**63, 2**64 - 2048]
    assert float(x[0]) == 2.0**64 and torch.equal(x, x.clone())


def test_comparison_and_order(torch):
    x = u64(torch, BIG, 3, 2**63)
    assert (x == BIG).tolist() == [True, False, False] and (x != 2**63).tolist() == [True, True, False]
    assert (x == u64(torch, BIG, 4, 2**63)).tolist() == [True, False, True]
    assert x.sort().values.tolist() == [3, 2**63, BIG]
    assert (x & 1).tolist() == [1, 1, 0] and (x | u64(torch, 0, 4, 1)).tolist() == [BIG, 7, 2**63 + 1]
    if torch.__name__ == "facula":  # PyTorch leaves order out
        assert (x > 2**63).tolist() == [True, False, False] and (x <= u64(torch, 1, 3, BIG)).tolist() == [False, True, True]
        assert int(x[0]) == BIG and bool(x[0])


def test_beside_other_types(torch):
    assert (torch.tensor([1.0], dtype=torch.float64) + 2**63).item() == 2.0**63
    assert (torch.tensor([1.0]) == 2**63).item() is False
    assert (torch.tensor([1]) + 2**63).item() == 1 - 2**63  # wraps, as in PyTorch
    assert torch.full((1,), 2**63, dtype=torch.complex64).item() == 2.0**63
    assert torch.tensor([BIG, 1.5]).dtype == torch.float32
    assert torch.tensor(2**64, dtype=torch.float32).item() == 2.0**64
    assert torch.result_type(torch.ones(1, dtype=torch.int32), BIG) == torch.int32


def test_numpy_and_dlpack(torch):
    numpy = pytest.importorskip("numpy")
    a = numpy.array([BIG, 2**63, 1], dtype=numpy.uint64)
    for x in (torch.from_numpy(a), torch.from_dlpack(a), torch.tensor(a)):
        assert x.dtype == torch.uint64 and x.tolist() == [BIG, 2**63, 1]
        assert (x.numpy() == a).all() and (numpy.from_dlpack(x) == a).all()


@pytest.mark.parametrize("call, error", [
    (lambda t: t.tensor(2**64, dtype=t.uint64), OverflowError),
    (lambda t: t.tensor([-1], dtype=t.uint64), OverflowError),
    (lambda t: t.tensor(2**63), ValueError),
    (lambda t: t.tensor([2**64], dtype=t.uint8), ValueError),
    (lambda t: t.tensor(10**400, dtype=t.float64), OverflowError),
    (lambda t: t.full((1,), BIG), RuntimeError),
    (lambda t: t.zeros(1, dtype=t.int64).fill_(2**63), RuntimeError),
    (lambda t: t.zeros(1, dtype=t.uint8).fill_(300), RuntimeError),
    (lambda t: t.full((1,), 1e300), RuntimeError),
    (lambda t: t.full((1,), float("nan"), dtype=t.int32), RuntimeError),
    (lambda t: t.ones(1) * 2**64, OverflowError),
    (lambda t: t.ones(1) * (-(2**63) - 1), OverflowError),
    (lambda t: t.zeros(2, 2**63), TypeError),
    (lambda t: t.ones(2).view(2**64), TypeError),
    (lambda t: t.ones(2)[2**64], ValueError),
    (lambda t: t.arange(2**63), RuntimeError),
])
def test_what_does_not_fit_is_said(torch, call, error):
    with pytest.raises(error, match="(?i)overflow|too big|too large|negative"):
        call(torch)


@pytest.mark.parametrize("name", ("uint16", "uint32", "uint64"))
def test_what_gives_floats_takes_every_integer(torch, name):
    top = 2 ** int(name[4:]) - 1
    x, y = torch.tensor([4, 9, top], dtype=getattr(torch, name)), torch.tensor([2, 3, 1], dtype=getattr(torch, name))
    assert x.sqrt().tolist() == torch.tensor([4.0, 9.0, float(top)]).sqrt().tolist()
    assert torch.reciprocal(y).dtype == torch.float32 and y.log()[2].item() == 0
    assert (x / y).tolist() == [2, 3, float(torch.tensor(float(top)))] and (x / 2)[0].item() == 2
    assert torch.atan2(y, y)[0].item() == pytest.approx(0.7853982)
    with pytest.raises(NotImplementedError):
        x + y


@pytest.mark.parametrize("name", ("uint16", "uint32", "uint64"))
def test_products_extremes_and_what_leaves_integers_alone(torch, name):
    dtype, top = getattr(torch, name), 2 ** int(name[4:]) - 1
    x, y = torch.tensor([[top], [5], [top - 1]], dtype=dtype), torch.tensor([top, 3], dtype=dtype)
    assert (x * y).tolist() == [[a * b & top for b in (top, 3)] for a in (top, 5, top - 1)] and (y * 2).tolist() == [top - 1, 6]
    for smaller, larger in ((torch.minimum, torch.maximum), (torch.fmin, torch.fmax)):
        assert smaller(x, y).tolist() == [[top, 3], [5, 3], [top - 1, 3]] and larger(x, y).tolist() == [[top, top], [top, 5], [top, top - 1]]
    z = y.clone()
    assert z.mul_(y) is z and z.tolist() == [1, 9] and z.dtype == dtype
    out = torch.empty(0, dtype=dtype)
    assert torch.maximum(y, z, out=out) is out and out.tolist() == [top, 9]
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        z.mul_(x)
    for f in (torch.floor, torch.ceil, torch.round, torch.trunc, torch.relu):
        assert f(x).tolist() == x.tolist() and f(x).dtype == dtype
    assert not torch.isnan(x).any() and not torch.isinf(x).any() and not torch.signbit(x).any() and torch.isfinite(x).all()
