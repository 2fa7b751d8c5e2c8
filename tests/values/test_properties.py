# SPDX-License-Identifier: Apache-2.0
"""Each pattern of values against NumPy, on all types, strides and views; and redundant elements of writes into views."""

import numpy as np
import pytest
from facula import _C
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.usefixtures("facula_only")
INTS = {
    "uint8": np.uint8,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
}
FLOATS = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": np.float32,
    "float8_e4m3fn": np.float32,
    "float8_e5m2": np.float32,
}
KINDS = ("noise", "zero", "one value", "mostly one", "small", "whole", "ramp", "signed zeros", "nan")
NARROWER = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"]
BOUNDS = {"bool": (0, 1)} | {n: (np.iinfo(INTS[n]).min, np.iinfo(INTS[n]).max) for n in NARROWER[1:]}
NARROW_FLOATS = ["float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32"]


@st.composite
def cases(draw):
    """dtype, what kind of numbers, shape, layout, seed."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    return (
        draw(st.sampled_from([*INTS, *FLOATS, "bool"])),
        draw(st.sampled_from(KINDS)),
        shape,
        draw(st.sampled_from(["plain", "transposed", "step", "inside", "expanded"])),
        draw(st.integers(0, 2**16)),
    )


def numbers(kind, dtype, n, seed):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return {"zero": np.zeros(n), "one value": np.ones(n)}.get(kind, rng.integers(0, 2, n)).astype(bool)
    whole = dtype in INTS
    if kind == "zero":
        a = np.zeros(n)
    elif kind == "one value":
        a = np.full(n, 3.0 if whole else 2.5)
    elif kind == "mostly one":
        a = np.where(rng.random(n) < 0.7, 5.0, rng.integers(1, 100, n))
    elif kind == "small":
        a = rng.integers(0, 100, n).astype(float)
    elif kind == "whole":
        a = rng.integers(0, 120, n).astype(float) * (1 if dtype.startswith("u") else -1)
    elif kind == "ramp":
        a = 3.0 + 2.0 * np.arange(n) % 120
    elif whole:
        info = np.iinfo(INTS[dtype])
        return rng.integers(info.min, info.max, n, dtype=INTS[dtype], endpoint=True)
    elif kind == "signed zeros":
        a = np.where(rng.random(n) < 0.5, 0.0, -0.0)
    else:
        a = rng.standard_normal(n)
        if kind == "nan":
            a[rng.integers(n)] = np.nan
    return a.astype(INTS.get(dtype, FLOATS.get(dtype)))


def tensor_of(torch, case):
    dtype, kind, shape, layout, seed = case
    type_ = getattr(torch, dtype)
    if layout == "expanded":
        t = torch.from_numpy(numbers(kind, dtype, int(np.prod(shape[1:])), seed).reshape(1, *shape[1:])).to(
            type_
        )
        return t.expand(shape)
    t = torch.from_numpy(numbers(kind, dtype, int(np.prod(shape)), seed).reshape(shape)).to(type_)
    if layout == "transposed":
        return t.transpose(0, -1).contiguous().transpose(0, -1)
    if layout == "step":
        wide = torch.zeros(*shape[:-1], 2 * shape[-1], dtype=type_)
        wide[..., ::2] = t
        return wide[..., ::2]
    if layout == "inside":
        wide = torch.zeros(*[s + 2 for s in shape], dtype=type_)
        view = wide[tuple(slice(1, -1) for _ in shape)]
        view.copy_(t)
        return view
    return t


def values_of(torch, t):
    """The elements that memory holds, once each, as NumPy numbers that compare like bits, and as numbers."""
    for d, stride in enumerate(t.stride()):
        if stride == 0 and t.shape[d] > 1:
            t = t.narrow(d, 0, 1)
    t = t.clone(memory_format=torch.contiguous_format)
    a = (t.float() if t.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2) else t).numpy()
    t = torch.empty(t.numel(), dtype=t.dtype).copy_(t.flatten())
    bits = t.flatten().view(torch.uint8).numpy().reshape(-1, t.element_size())
    return a, [bytes(row) for row in bits]


def holds(torch, a, dtype):
    """Whether a float type holds every number of `a`, by converting there and back."""
    there = (
        torch.from_numpy(np.ascontiguousarray(a))
        .double()
        .to(torch.float32 if dtype == "float32" else getattr(torch, dtype))
        .double()
        .numpy()
    )
    with np.errstate(invalid="ignore"):
        return bool(np.all((there == a.astype(np.float64)) | (np.isnan(there) & np.isnan(a))))


def affine(a):
    """Whether v = b + sum k_d i_d, with some k, of an integer array; wraps as its type does."""
    a = a.squeeze()
    if a.ndim == 0 or a.size < 3 or a.size <= a.ndim + 1:
        return False
    with np.errstate(over="ignore"):
        want = np.full(a.shape, a[(0,) * a.ndim])
        any_slope = False
        for d in range(a.ndim):
            first = (0,) * a.ndim
            second = tuple(1 if i == d else 0 for i in range(a.ndim))
            k = (a[second] - a[first]).astype(a.dtype)
            any_slope |= bool(k != 0)
            want = want + (k * np.arange(a.shape[d]).astype(a.dtype)).astype(a.dtype).reshape(
                [-1 if i == d else 1 for i in range(a.ndim)]
            )
    return any_slope and bool(np.array_equal(want.astype(a.dtype), a))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(case=cases())
def test_values(torch, case):
    dtype = case[0]
    t = tensor_of(torch, case)
    found = _C._value_content(t)
    a, bits = values_of(torch, t)
    one = len(set(bits)) == 1
    zero = bool(np.all(a == 0))
    told = set(found["patterns"])
    assert found["elements"] == len(bits)
    assert ("single_zero" in told) == zero
    assert ("single_value" in told) == (one and not zero)
    if one or zero:
        return
    share = max(bits.count(b) for b in set(bits)) / len(bits)
    if dtype != "bool" and len(bits) <= 64:
        assert ("frequent" in told) == (share >= 0.5)
        assert "frequent" not in told or found["share"] == pytest.approx(share)
    if dtype in INTS:
        narrow = next(
            (n for n in NARROWER if BOUNDS[n][0] <= int(a.min()) and int(a.max()) <= BOUNDS[n][1]), dtype
        )
        smaller = np.dtype(INTS.get(narrow, np.bool_)).itemsize < np.dtype(INTS[dtype]).itemsize
        assert ("heavy_type" in told) == smaller and (not smaller or found["narrow"] == narrow)
        assert ("structured" in told) == affine(a)
        assert "inappropriate_float" not in told
    elif dtype in FLOATS:
        size = t.element_size()
        fit = [
            n
            for n in NARROW_FLOATS
            if torch.empty(0, dtype=getattr(torch, n)).element_size() < size and holds(torch, a, n)
        ]
        assert ("heavy_type" in told) == bool(fit), (fit, found)
        with np.errstate(invalid="ignore"):
            whole = bool(np.all((a == np.trunc(a)) & np.isfinite(a) & ~((a == 0) & np.signbit(a))))
        assert ("inappropriate_float" in told) == whole


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_structures_of_floats(torch, dtype):
    look, kind = _C._value_content, getattr(torch, dtype)
    i = torch.arange(500, dtype=kind)
    assert (
        "structured" in look(1 + i / 10000)["patterns"]
        and "structured" not in look(torch.randn(500, dtype=kind))["patterns"]
    )
    assert (
        "structured" in look((3 * i).reshape(20, 25) + 7)["patterns"]
        and "structured" in look(i[:20, None] * 5 - i[None, :25] * 0.25)["patterns"]
    )
    bent = 1 + i / 10000
    bent[250] += 0.01
    assert "structured" not in look(bent)["patterns"]
    assert (
        "approximate"
        in look(torch.full((500,), 1.5, dtype=kind) + torch.rand(500, dtype=kind) * 1e-5)["patterns"]
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    dtype=st.sampled_from(
        [
            "int64",
            "int32",
            "float32",
            "float64",
            "float16",
            "bfloat16",
            "int8",
            "bool",
            "complex64",
            "complex128",
        ]
    ),
    shape=st.tuples(st.integers(2, 12), st.integers(2, 12)),
    step=st.integers(1, 3),
    turned=st.booleans(),
    seed=st.integers(0, 999),
    mode=st.sampled_from(["default", "exact"]),
)
def test_redundant_elements_of_a_write_into_a_view(torch, dtype, shape, step, turned, seed, mode):
    rng = np.random.default_rng(seed)
    kind = getattr(torch, dtype)
    before, after = (torch.from_numpy(rng.integers(0, 2, shape)).to(kind) for _ in range(2))
    with torch.profiler.values(mode=mode, min_bytes=0, share=0, patterns="redundant") as v:
        x = torch.empty(shape, dtype=kind)
        x.copy_(before)
        x.add_(0) if dtype != "bool" else None
        target = x.t()[:, ::step] if turned else x[::step]
        source = after.t()[:, ::step] if turned else after[::step]
        target.copy_(source)
        x.sum()
    same = int((source == (before.t()[:, ::step] if turned else before[::step])).sum())
    last = [f for f in v.findings if f.operator == "aten::copy_"]
    size = torch.empty(0, dtype=kind).element_size()
    assert sum(f.bytes for f in last) == same * size
    assert not last or last[0].share == pytest.approx(same / source.numel())


def test_bytes_are_counted_beside_elements(torch):
    with torch.profiler.values(mode="exact", min_bytes=0, share=0, patterns="redundant") as v:
        x = torch.zeros(1000, dtype=torch.int32)
        x.sum()
        x.add_(1)  # no element stays, but three bytes of four do
        x.sum()
        x.copy_(torch.cat([torch.ones(500), torch.zeros(500)]).int())
    (half,) = v.findings
    assert half.share == 0.5 and half.byte_share == pytest.approx(0.875)
