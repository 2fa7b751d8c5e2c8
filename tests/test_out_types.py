# SPDX-License-Identifier: Apache-2.0
"""What type out= may have: the result's own, one that the result can be cast to, or any, which then is the type that
is computed in. Run with `--module torch` to hold PyTorch to the same."""
import pytest

TYPES = ["uint8", "int64", "float16", "float32", "float64", "complex64", "bool"]


def matrix(t, dtype="float32"):
    return (t.arange(9).reshape(3, 3) + 1).to(getattr(t, dtype))


def whole(t):
    return matrix(t, "int64")


def index(t):
    return t.tensor([[0, 2, 1]])


EXACT = {
    "floor": lambda t, o: t.floor(matrix(t), out=o), "neg": lambda t, o: t.neg(whole(t), out=o), "sign": lambda t, o: t.sign(matrix(t), out=o),
    "abs": lambda t, o: t.abs(matrix(t), out=o), "bitwise_not": lambda t, o: t.bitwise_not(whole(t), out=o), "round": lambda t, o: t.round(matrix(t), decimals=1, out=o),
    "signbit": lambda t, o: t.signbit(matrix(t), out=o), "isposinf": lambda t, o: t.isposinf(matrix(t), out=o), "absolute": lambda t, o: t.absolute(whole(t), out=o),
    "nan_to_num": lambda t, o: t.nan_to_num(matrix(t), out=o), "heaviside": lambda t, o: t.heaviside(matrix(t), matrix(t), out=o),
    "where": lambda t, o: t.where(matrix(t) > 4, matrix(t), matrix(t), out=o), "gelu": lambda t, o: t.ops.aten.gelu.out(matrix(t), out=o),
    "clamp": lambda t, o: t.clamp(matrix(t), 2, 3, out=o), "clamp_min": lambda t, o: t.clamp_min(matrix(t), 2, out=o), "lerp by a tensor": lambda t, o: t.lerp(matrix(t), matrix(t), matrix(t), out=o),
    "silu": lambda t, o: t.ops.aten.silu.out(matrix(t), out=o), "elu": lambda t, o: t.ops.aten.elu.out(matrix(t), out=o),
    "hardshrink": lambda t, o: t.ops.aten.hardshrink.out(matrix(t), out=o), "softplus": lambda t, o: t.ops.aten.softplus.out(matrix(t), out=o),
    "mm": lambda t, o: t.mm(matrix(t), matrix(t), out=o), "addmm": lambda t, o: t.addmm(whole(t), whole(t), whole(t), out=o), "matmul": lambda t, o: t.matmul(matrix(t), matrix(t)[0], out=o),
    "dot": lambda t, o: t.dot(matrix(t)[0], matrix(t)[1], out=o), "gather": lambda t, o: t.gather(matrix(t), 0, index(t), out=o), "take": lambda t, o: t.take(whole(t), index(t), out=o),
    "index_select": lambda t, o: t.index_select(matrix(t), 0, index(t)[0], out=o), "scatter": lambda t, o: t.scatter(matrix(t), 0, index(t), 1.0, out=o),
    "amax": lambda t, o: t.amax(matrix(t), 0, out=o), "argmax": lambda t, o: t.argmax(matrix(t), 0, out=o), "aminmax": lambda t, o: t.aminmax(matrix(t), dim=0, out=(o, t.empty(0)))[0],
    "max": lambda t, o: t.max(matrix(t), 0, out=(o, t.empty(0, dtype=t.int64)))[0], "sort": lambda t, o: t.sort(matrix(t), out=(o, t.empty(0, dtype=t.int64)))[0],
    "sort's indices": lambda t, o: t.sort(matrix(t), out=(t.empty(0), o))[1], "topk": lambda t, o: t.topk(matrix(t), 2, out=(o, t.empty(0, dtype=t.int64)))[0],
    "cummax": lambda t, o: t.cummax(matrix(t), 0, out=(o, t.empty(0, dtype=t.int64)))[0], "logcumsumexp": lambda t, o: t.logcumsumexp(matrix(t), 0, out=o),
    "softmax": lambda t, o: t.softmax(matrix(t), 0, out=o), "tril": lambda t, o: t.tril(matrix(t), out=o), "diag": lambda t, o: t.diag(matrix(t), out=o),
    "nonzero": lambda t, o: t.nonzero(matrix(t), out=o), "isin": lambda t, o: t.isin(matrix(t), matrix(t), out=o), "complex": lambda t, o: t.complex(matrix(t), matrix(t), out=o),
    "searchsorted": lambda t, o: t.searchsorted(matrix(t)[0], matrix(t)[1], out=o), "multinomial": lambda t, o: t.multinomial(matrix(t), 2, out=o),
    "norm": lambda t, o: t.norm(matrix(t), 2, 0, out=o), "float_power": lambda t, o: t.float_power(matrix(t), 2, out=o),
}  # fmt: skip
CASTABLE = {
    "exp": lambda t, o: t.exp(matrix(t), out=o), "exp of integers": lambda t, o: t.exp(whole(t), out=o), "square": lambda t, o: t.square(matrix(t), out=o),
    "logical_not": lambda t, o: t.logical_not(matrix(t), out=o), "add": lambda t, o: t.add(whole(t), whole(t), out=o), "eq": lambda t, o: t.eq(whole(t), whole(t), out=o),
    "clamp to tensors": lambda t, o: t.clamp(matrix(t), matrix(t), matrix(t), out=o), "lerp": lambda t, o: t.lerp(matrix(t), matrix(t), 0.5, out=o), "maximum": lambda t, o: t.max(matrix(t), matrix(t), out=o),
    "cat": lambda t, o: t.cat([matrix(t), matrix(t)], out=o), "stack": lambda t, o: t.stack([whole(t), whole(t)], out=o), "outer": lambda t, o: t.outer(matrix(t)[0], matrix(t)[0], out=o),
    "addr": lambda t, o: t.addr(matrix(t), matrix(t)[0], matrix(t)[0], out=o), "kron": lambda t, o: t.kron(matrix(t), matrix(t), out=o),
    "threshold": lambda t, o: t.ops.aten.threshold.out(matrix(t), 1, 2, out=o), "mse_loss": lambda t, o: t.ops.aten.mse_loss.out(matrix(t), matrix(t), out=o),
}  # fmt: skip


def accepted(torch, call):
    out = {}
    for name in TYPES:
        try:
            given = torch.empty(0, dtype=getattr(torch, name))
            got = call(torch, given)
            assert got is given and got.dtype == getattr(torch, name) and got.numel() > 0
            out[name] = got
        except (RuntimeError, TypeError):
            pass
    return out


@pytest.mark.parametrize("name", EXACT, ids=lambda n: n.replace(" ", "_"))
def test_only_the_results_own(torch, name):
    took = accepted(torch, EXACT[name])
    assert len(took) == 1, sorted(took)


@pytest.mark.parametrize("name", CASTABLE, ids=lambda n: n.replace(" ", "_"))
def test_what_the_result_can_be_cast_to(torch, name):
    took = accepted(torch, CASTABLE[name])
    natural = "bool" if "bool" in took else "int64" if "int64" in took else "float32"
    assert sorted(took) == sorted(d for d in TYPES if torch.can_cast(getattr(torch, natural), getattr(torch, d)))


def test_abs_of_complex_numbers_is_cast(torch):
    x = torch.tensor([3 + 4j])
    assert torch.abs(x, out=torch.empty(0, dtype=torch.float64)).tolist() == [5.0]


def test_sums_are_computed_in_the_type_of_out(torch):
    x = torch.tensor([[0.5, 1.5], [2.5, 3.5]])
    for out, wanted in (("int64", [1, 5]), ("float64", [2.0, 6.0]), ("complex64", [2, 6])):
        assert torch.sum(x, 1, out=torch.empty(0, dtype=getattr(torch, out))).tolist() == wanted
    assert torch.cumsum(x, 1, out=torch.empty(0, dtype=torch.int64)).tolist() == [[0, 1], [2, 5]]
    assert torch.cumprod(x, 1, out=torch.empty(0, dtype=torch.int64)).tolist() == [[0, 0], [2, 6]]
    assert torch.prod(torch.full((70,), 2), 0, out=torch.empty(0, dtype=torch.float64)).item() == 2.0**70
    with pytest.raises(RuntimeError, match="type"):
        torch.sum(x, 1, dtype=torch.float64, out=torch.empty(0, dtype=torch.float32))


def test_options_beside_out_are_those_of_out(torch):
    for make in (torch.arange, torch.ones, torch.empty, lambda n, **k: torch.linspace(0, 1, n, **k), lambda n, **k: torch.full((n,), 2, **k)):
        out = torch.empty(0, dtype=torch.float64)
        assert make(3, dtype=torch.float64, device="cpu", layout=torch.strided, out=out) is out and out.shape == (3,)
        with pytest.raises(RuntimeError, match=r"dtype Float does not match dtype of out parameter \(Double\)"):
            make(3, dtype=torch.float32, out=out)
        with pytest.raises(RuntimeError, match="device.* meta does not match device.* of out parameter"):
            make(3, device="meta", out=out)
    assert torch.zeros(2, out=torch.empty(2), requires_grad=True).requires_grad
