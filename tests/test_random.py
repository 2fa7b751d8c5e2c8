# SPDX-License-Identifier: Apache-2.0
"""Random numbers equal PyTorch's for the same seed: recorded in golden/random.json, rules in docs/random.md."""

import json
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytestmark = pytest.mark.threads

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "golden")]

import record_random
import reference_random

GOLDEN = json.loads((HERE / "golden" / "random.json").read_text())
ROWS = GOLDEN["cases"]
REFERENCE = {code: ref for _, code, ref in record_random.CASES}
DIGITS = {"torch.float64": 53, "torch.float32": 24, "torch.complex64": 24, "torch.float16": 11, "torch.bfloat16": 8}


def ulps(got, want, digits):
    """Distance in units in the last place of the wanted value, for a format of that many digits."""
    want = np.asarray(want, dtype=np.float64)
    unit = np.exp2(np.frexp(np.where(want == 0, 1, want))[1].astype(np.float64) - digits)
    return np.abs(np.asarray(got, dtype=np.float64) - want) / unit


def check(row, values, after):
    if "values" in row:
        got, want = values, row["values"]
    elif row["kind"] == "exact":
        assert len(values) == row["count"]
        assert values[:8] == row["head"]
        assert values[-8:] == row["tail"]
        assert record_random.digest(values) == row["sha256"], "head and tail agree, something between does not"
        got, want = [], []
    else:
        assert len(values) == row["count"]
        got, want = values[:: row["step"]] + values[-16:], row["sample"] + row["tail"]
    if row["kind"] == "exact":
        assert got == want
    else:
        assert len(got) == len(want)
        worst = ulps(got, want, DIGITS[row["dtype"]]).max(initial=0.0)
        assert worst <= 2, f"{worst} ulp away from PyTorch"
    assert after == row["after"], "the values agree, but another number of words was consumed"


def name(row):
    return f"{row['code']}-seed{row['seed']}"


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_reference_equals_pytorch(row):
    """The rules of docs/random.md, as NumPy code, give PyTorch's recorded numbers."""
    g = reference_random.Generator(row["seed"])
    scope = {"g": g, "np": np, "Generator": reference_random.Generator}
    result = np.asarray(eval(REFERENCE[row["code"]], scope))
    integral = row["dtype"] not in DIGITS
    values = record_random.flat(result)
    values = [int(v) if integral else float(v) for v in values]
    check(row, values, float(g.uniform(1)[0]))


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_facula_equals_pytorch(torch, row):
    torch.manual_seed(row["seed"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = eval(row["code"], {"torch": torch})
    after = torch.rand(1).item()
    assert str(result.dtype).split(".")[-1] == row["dtype"].split(".")[-1]
    assert list(result.shape) == row["shape"]
    check(row, record_random.flat(result), after)


def test_every_case_is_recorded():
    assert {row["code"] for row in ROWS} == set(REFERENCE)
    assert {row["seed"] for row in ROWS} == set(record_random.SEEDS)
    assert GOLDEN["torch"].startswith("2.")


# ---- generators


def test_manual_seed_returns_the_default_generator(torch):
    g = torch.manual_seed(7)
    assert g is torch.default_generator
    assert torch.initial_seed() == g.initial_seed() == 7


def test_fresh_generators_share_one_seed(torch):
    assert torch.Generator().initial_seed() == 67280421310721
    assert torch.equal(torch.rand(3, generator=torch.Generator()), torch.rand(3, generator=torch.Generator()))


def test_programs_that_are_not_seeded_draw_other_numbers_each_time(torch):
    program = f"import {torch.__name__} as torch; print(torch.initial_seed(), torch.rand(3).tolist(), torch.randperm(100).tolist())"
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert runs[0].split()[0] != runs[1].split()[0] and runs[0].split("[")[1] != runs[1].split("[")[1]


def test_generators_of_devices_that_are_not_seeded_differ(torch, facula_only):
    program = """
import facula as torch
there = torch.zeros(1, device="null")
device = torch._C._default_generator(torch.device("null"))
assert device.initial_seed() != torch.initial_seed()
print(device.initial_seed())
torch.manual_seed(5)
assert device.initial_seed() == torch.initial_seed() == 5
"""
    runs = {subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(runs) == 2


def test_state_round_trip_includes_the_cached_normal_number(torch):
    g = torch.Generator().manual_seed(3)
    torch.randn(3, generator=g)
    state = g.get_state()
    assert state.dtype == torch.uint8 and state.shape == (5056,)
    first = torch.randn(5, generator=g)
    g.set_state(state)
    assert torch.equal(first, torch.randn(5, generator=g))
    h = torch.Generator()
    h.set_state(state)
    assert h.initial_seed() == 3
    assert torch.equal(first, torch.randn(5, generator=h))


def test_generators_are_independent(torch):
    torch.manual_seed(0)
    a = torch.rand(4)
    torch.manual_seed(0)
    torch.rand(10, generator=torch.Generator().manual_seed(1))
    assert torch.equal(a, torch.rand(4))


def test_manual_seed_forgets_the_cached_normal_number(torch):
    torch.manual_seed(0)
    a = torch.randn(1)
    torch.manual_seed(0)
    assert torch.equal(a, torch.randn(1))


@pytest.mark.parametrize("seed, kept", [(-1, 2**64 - 1), (2**64 - 1, 2**64 - 1), (-(2**63), 2**63), (0, 0)])
def test_seeds_wrap_to_64_bits(torch, seed, kept):
    assert torch.Generator().manual_seed(seed).initial_seed() == kept


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seeds_beyond_64_bits_are_refused(torch, seed):
    with pytest.raises(ValueError):
        torch.Generator().manual_seed(seed)


def test_seed_draws_a_new_one(torch):
    g = torch.Generator()
    assert g.seed() == g.initial_seed()
    assert g.seed() != g.seed()


def test_fork_rng_style_save_and_restore(torch):
    torch.manual_seed(5)
    state = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(state)
    assert torch.equal(a, torch.rand(3))


BAD = [
    ("torch.Generator().set_state(torch.zeros(10, dtype=torch.uint8))", RuntimeError),
    ("torch.Generator().set_state(torch.zeros(5056, dtype=torch.uint8))", RuntimeError),
    ("torch.Generator().set_state(torch.zeros(5056))", TypeError),
    ("torch.Generator().set_state([1])", TypeError),
    ("torch.multinomial(torch.zeros(2), 1)", RuntimeError),
    ("torch.multinomial(torch.tensor([-1.0, 2.0]), 1)", RuntimeError),
    ("torch.multinomial(torch.tensor([float('nan'), 2.0]), 1, True)", RuntimeError),
    ("torch.multinomial(torch.ones(2), 3)", RuntimeError),
    ("torch.multinomial(torch.ones(2), 0)", RuntimeError),
    ("torch.multinomial(torch.tensor([1, 0]), 1)", RuntimeError),
    ("torch.multinomial(torch.ones(2, 2, 2), 1)", RuntimeError),
    ("torch.bernoulli(torch.tensor([1.5]))", RuntimeError),
    ("torch.empty(3).bernoulli_(1.5)", RuntimeError),
    ("torch.empty(3).uniform_(3, 1)", RuntimeError),
    ("torch.empty(3).normal_(0, -1)", RuntimeError),
    ("torch.normal(torch.zeros(2), -1.0)", RuntimeError),
    ("torch.empty(3).exponential_(0)", RuntimeError),
    ("torch.empty(3).geometric_(0)", RuntimeError),
    ("torch.empty(3).cauchy_(0, -1)", RuntimeError),
    ("torch.empty(3).log_normal_(0, -1)", RuntimeError),
    ("torch.randint(5, 5, (3,))", RuntimeError),
    ("torch.randint(5, 3, (3,))", RuntimeError),
    ("torch.randint(0, 300, (2,), dtype=torch.uint8)", RuntimeError),
    ("torch.empty(2, dtype=torch.int8).random_(-200, 100)", RuntimeError),
    ("torch.randperm(-1)", RuntimeError),
    ("torch.randperm(300, dtype=torch.uint8)", RuntimeError),
    ("torch.rand(3, dtype=torch.int64)", NotImplementedError),
    ("torch.empty(3, dtype=torch.int64).normal_()", NotImplementedError),
    ("torch.dropout(torch.ones(2), 1.5, True)", RuntimeError),
    ("torch.empty(1).expand(3).uniform_()", RuntimeError),
]


@pytest.mark.parametrize("code, error", BAD, ids=[code for code, _ in BAD])
def test_bad_arguments(torch, code, error):
    with pytest.raises(error):
        eval(code, {"torch": torch})
