# SPDX-License-Identifier: Apache-2.0
"""Every decomposition against the CPU's own formula, to the accuracy that src/plan/decompose.cpp gives."""
import math

import facula as torch
import pytest
from backend_tools import LOOPS
from facula import _C, conformance

OPCODES = _C._map_opcodes()
BEYOND = [(i, *row) for i, row in enumerate(OPCODES) if i > _C._last_base_opcode]
# Take complex numbers apart or together, which no base opcode does, or need a loop.
WITHOUT = {"imag", "complex", *LOOPS}
SERIES = {"lgamma", "digamma", "polygamma", "erfinv", "i0", "i1", "special_erfcx"}
ULP = {torch.float32: 2.0**-23, torch.float64: 2.0**-52}

WIDE = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-8, -1e-8, 1e-4, -1e-4, 0.3, -0.3, 0.46, 0.48, -0.47, 0.99, -0.99,
        1.01, 3.0, -3.0, 3.9, 4.1, -4.5, 6.0, -6.0, 9.0, -9.0, 12.5, -12.5, 20.5, -20.5, 40.0, -40.0, 85.0, -85.0, 100.0, -100.0]  # fmt: skip
POSITIVE = [abs(x) for x in WIDE if x] + [1e-3, 7.5, 8.5, 1e5]
UNIT = [-0.999, -0.9, -0.5, -0.1, -1e-5, 0.0, 1e-5, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999]
SPECIAL = [math.nan, math.inf, -math.inf]


def grid(name, position):
    if name in ("asin", "acos", "atanh", "erfinv"):
        return UNIT + [1.0, -1.0, 2.0, math.nan]
    if name in ("logit", "logit_backward"):
        return [0.01, 0.2, 0.5, 0.7, 0.99]
    if name == "acosh":
        return [1.0, 1.0001, 1.5, 3.0, 100.0, 1e6, 0.5, math.inf, math.nan]
    if name == "polygamma":
        return [0.25, 0.5, 1.0, 2.5, 7.0, 30.0, 0.0, -3.0, math.inf]
    if name in ("log2", "log10", "log1p", "rsqrt"):
        return POSITIVE + [0.0] + [math.nan, math.inf]
    if name in ("lgamma", "digamma"):
        return POSITIVE + [-0.5, -1.5, -2.25, -7.75] + [math.nan, math.inf]
    if name in ("xlogy", "xlog1py") and position == 1:
        return POSITIVE
    if name in ("i0", "i1"):
        return [x for x in WIDE if abs(x) < 80] + [math.nan]
    if name in ("fmod", "div_trunc", "floor_divide") and position == 1:
        return [0.7, -0.7, 3.0, -3.0, 1e-3, 12.5]
    if name in ("ldexp",) and position == 1:
        return [0.0, 1.0, -3.0, 5.0, 10.0]
    if name in ("tan", "sinc"):
        return [x for x in WIDE if abs(x) < 15]
    return WIDE + SPECIAL


def pairs(lists):
    """Every number of one input beside shifted numbers of the others."""
    n = max(map(len, lists))
    rows = []
    for shift in range(5):
        for k in range(n):
            rows.append([values[(k * (1 + 2 * i) + shift * i * 7) % len(values)] for i, values in enumerate(lists)])
    return [list(column) for column in zip(*rows)]


def operands(name, n_in, dtype, lists):
    kinds = [torch.bool if name == "masked_fill" and i == 1 else dtype for i in range(n_in)]
    columns = pairs([[x != 0 for x in values] if kind == torch.bool else values for values, kind in zip(lists, kinds)])
    result = torch.bool if name in conformance.TESTS else dtype
    return columns, [torch.empty(len(columns[0]), dtype=result)] + [torch.tensor(c, dtype=k) for c, k in zip(columns, kinds)]


def on_cpu(code, tensors, dtype, params):
    """Whether the CPU has the formula; then its result is in tensors[0]."""
    try:
        return _C._run_family("map", code, tensors, dtype, params=params)
    except NotImplementedError:
        return False


def known(code, name, n_in, n_params, dtype):
    one = operands(name, n_in, dtype, [[1]] * n_in)[1]
    return on_cpu(code, one, dtype, [int(p) for p in conformance._params(name, n_params)])


REAL = [b for b in BEYOND if b[1] not in WITHOUT and known(*b, torch.float32)]
INTEGER = [(*b, t) for b in BEYOND for t in (torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64) if known(*b, t)]
CANCELLING = {"gelu", "gelu_tanh", "gelu_backward", "gelu_tanh_backward", "silu_backward", "mish_backward", "logaddexp", "logaddexp2",
              "frac", "addcmul", "addcdiv", "rsub", "lerp", "log_sigmoid", "logit", "smooth_l1", "huber", "sinc"}  # fmt: skip


def test_every_opcode_is_tested():
    """Beyond the base set only these have no formula of their own on the CPU (they are computed as others)."""
    without = {b[1] for b in BEYOND} - {b[1] for b in REAL} - {b[1] for b in INTEGER}
    assert without <= {"imag", "complex", "masked_fill", "mish_backward", *WITHOUT}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("code, name, n_in, n_params", REAL, ids=[b[1] for b in REAL])
def test_real(code, name, n_in, n_params, dtype):
    columns, (want, *inputs) = operands(name, n_in, dtype, [grid(name, i) for i in range(n_in)])
    params, got = conformance._params(name, n_params), torch.empty_like(want)
    assert on_cpu(code, [want, *inputs], dtype, params)
    assert _C._run_family("decompose", code, [got, *inputs], dtype, params=params), f"{name} has no decomposition"
    ulp = ULP[dtype]
    for k, (a, b) in enumerate(zip(got.tolist(), want.tolist())):
        x = [c[k] for c in columns]
        if isinstance(b, bool) or b != b or math.isinf(b):
            assert a == b or (a != a and b != b), f"{name}{x} = {a}, expected {b}"
            continue
        if name in SERIES:
            bound = (1e-5 if dtype == torch.float32 else 1e-12) * (1 + abs(b))
        else:
            # Formulas that end in a sum lose what cancels: their terms are as large as the inputs.
            scale = max([abs(b)] + [abs(v) for v in x if math.isfinite(v)] if name in CANCELLING else [abs(b)])
            steps = 32 if name in ("gelu_tanh_backward", "mish_backward") else 8
            bound = steps * ulp * scale + (1.2e-38 if dtype == torch.float32 else 2.3e-308)
        assert abs(a - b) <= bound, f"{name}{x} = {a}, expected {b}: {abs(a - b) / ulp / max(abs(b), 1e-300):.1f} ulp"


@pytest.mark.parametrize("code, name, n_in, n_params, dtype", INTEGER, ids=[f"{b[1]}-{b[4]}" for b in INTEGER])
def test_integers(code, name, n_in, n_params, dtype):
    low = 0 if dtype in (torch.bool, torch.uint8) else -6
    values = [False, True] if dtype == torch.bool else list(range(low, 13))
    lists = [[v for v in values if v] if i and name in ("fmod", "div_trunc", "floor_divide") else values for i in range(n_in)]
    _, (want, *inputs) = operands(name, n_in, dtype, lists)
    params, got = [int(p) for p in conformance._params(name, n_params)], torch.empty_like(want)
    assert on_cpu(code, [want, *inputs], dtype, params)
    assert _C._run_family("decompose", code, [got, *inputs], dtype, params=params)
    assert got.tolist() == want.tolist()


def test_logit_with_bounds_that_cross(example):
    """Found by tests/fuzz_operators: below the lower bound comes first, as in the CPU's formula."""
    x = torch.tensor([0.25, 0.5, 1.0, 1.5])
    assert torch.logit(x.to(example), 0.75).cpu().tolist() == pytest.approx(torch.logit(x, 0.75).tolist())


REDUCTIONS = {
    "mean": lambda x: x.float().mean(0), "nansum": lambda x: x.nansum(1), "sum_abs": lambda x: x.float().norm(1, 0),
    "sum_squares": lambda x: x.float().norm(2, 1), "sum_deviations": lambda x: x.float().var(0),
    "count_nonzero": lambda x: x.count_nonzero(1),
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in _C._reductions if n not in _C._base_reductions])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32, torch.bool], ids=str)
def test_reductions_beyond_the_base_are_sums_of_their_terms(example, name, dtype):
    x = torch.tensor([[1.0, 0.0, -2.0], [0.5, 3.0, 0.0]])
    if name == "nansum" and dtype.is_floating_point:
        x[1, 2] = math.nan
    run = REDUCTIONS.get(name) or (lambda t: getattr(torch, name)(t, 1))  # one that was added by the book is called like its fold
    got, want = run(x.to(dtype).to(example)), run(x.to(dtype))
    assert got.dtype == want.dtype and got.cpu().tolist() == pytest.approx(want.tolist())
    assert torch.backends.fallback_counts() == {}
