# SPDX-License-Identifier: Apache-2.0
"""repr and str equal PyTorch's, character for character: recorded in golden/printing.json."""

import importlib.util
import json
import math
import pathlib
import random
import sys
import warnings

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "golden"))

import record_printing

GOLDEN = json.loads((HERE / "golden" / "printing.json").read_text())
ROWS = GOLDEN["cases"]


@pytest.fixture
def printing(torch):
    """The module under test with default options, which are put back."""
    torch.set_printoptions(profile="default")
    yield torch
    torch.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)


def name(row):
    options = "".join(f" {key}={value}" for key, value in row.get("options", {}).items())
    return row["code"] + options + " " * ("default_dtype" in row) + row.get("default_dtype", "")


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_text_equals_pytorch(printing, row):
    torch = printing
    torch.set_printoptions(**row.get("options", {}))
    torch.set_default_dtype(getattr(torch, row.get("default_dtype", "float32")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = record_printing.text(torch, row["code"])
    assert text.replace("<facula.", "<torch.") == row["text"]


def test_every_case_is_recorded():
    recorded = [(row["code"], row.get("options", {}), row.get("default_dtype", "float32")) for row in ROWS]
    assert recorded == list(record_printing.cases())
    assert GOLDEN["torch"].startswith("2.")


def test_options_round_trip(printing):
    torch = printing
    get_printoptions, printoptions = torch._tensor_str.get_printoptions, torch._tensor_str.printoptions
    assert get_printoptions() == {
        "precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}  # fmt: skip
    with printoptions(precision=2, sci_mode=True):
        assert repr(torch.tensor(1.0)) == "tensor(1.00e+00)"
    assert repr(torch.tensor(1.5)) == "tensor(1.5000)"
    torch.set_printoptions(profile="full")
    assert get_printoptions()["threshold"] == math.inf
    torch.set_printoptions(sci_mode=True)
    torch.set_printoptions(precision=3)
    assert get_printoptions()["sci_mode"] is None, "sci_mode is reset by every call that leaves it out"


def test_options_are_restored_after_an_error(printing):
    torch = printing
    get_printoptions, printoptions = torch._tensor_str.get_printoptions, torch._tensor_str.printoptions
    with pytest.raises(ZeroDivisionError), printoptions(precision=1):
        1 / 0
    assert get_printoptions()["precision"] == 4


def test_format_refuses_a_specification_for_many_numbers(torch):
    with pytest.raises(TypeError):
        format(torch.ones(2), ".2f")
    with pytest.raises(TypeError):
        format(torch.empty((), device="meta"), ".2f")


# ---- live comparison, where PyTorch itself is installed


def random_tensor(torch, rng):
    """Any dtype, any notation, with and without special values, sometimes long, strided or with a graph."""
    names = record_printing.FLOATS * 3 + record_printing.INTS + record_printing.WIDE + record_printing.FLOAT8
    dtype = getattr(torch, rng.choice(names + record_printing.COMPLEX * 2 + ["bool"]))
    shape = [rng.randint(1, 5) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]
    if shape and rng.random() < 0.3:
        shape[rng.randrange(len(shape))] = rng.choice([0, 7, 30, 301, 1001])
    count = math.prod(shape)
    scale = 10 ** rng.uniform(-8, 10)
    style, special = rng.randrange(5), rng.random() < 0.3

    def number():
        if special and rng.random() < 0.3:
            return rng.choice([math.nan, math.inf, -math.inf, 0.0, -0.0])
        return [rng.gauss(0, 1), float(rng.randint(-20, 20)), rng.gauss(0, 1) * scale, float(round(rng.gauss(0, 1) * scale)),
                rng.choice([1.0, 1000.0, 1e8, 1e-4, 999.9999, 0.99999, 1001.0])][style]  # fmt: skip

    if dtype.is_complex:
        values = [complex(number(), number()) for _ in range(count)]
    elif dtype.is_floating_point:
        values = [number() for _ in range(count)]
    else:
        top = 1 if dtype == torch.bool else min(torch.iinfo(dtype).max, 10 ** rng.randint(1, 19))
        low = 0 if dtype == torch.bool else max(torch.iinfo(dtype).min, -top)
        values = [rng.randint(low, top) for _ in range(count)]
    narrow = dtype.is_floating_point and dtype.itemsize == 1
    tensor = torch.tensor(values, dtype=torch.float32 if narrow else dtype).to(dtype).reshape(shape)
    if dtype in (torch.float32, torch.float64, torch.complex64) and rng.random() < 0.3:
        tensor = tensor.requires_grad_() if rng.random() < 0.3 else tensor.requires_grad_() + 0
    return tensor.transpose(0, -1) if len(shape) > 1 and rng.random() < 0.2 else tensor


@pytest.mark.parametrize("seed", range(10))
def test_random_tensors_print_as_in_pytorch(seed, monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed beside facula")
    path = HERE.parent / "python" / "facula" / "_tensor_str.py"
    spec = importlib.util.spec_from_file_location("tensor_str_under_test", path)
    ours = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "facula", torch)
    spec.loader.exec_module(ours)
    rng = random.Random(seed)
    for _ in range(100):
        options = {"precision": rng.choice([None, 0, 2, 8]), "threshold": rng.choice([None, 0, 5, 2000]),
                   "edgeitems": rng.choice([None, 0, 1, 5]), "linewidth": rng.choice([None, 10, 40, 200]),
                   "sci_mode": rng.choice([None, None, True, False])}  # fmt: skip
        for set_options in (torch.set_printoptions, ours.set_printoptions):
            set_options(profile="default")
            set_options(**options)
        tensor = random_tensor(torch, rng)
        assert ours._str(tensor) == repr(tensor)
    torch.set_printoptions(profile="default")
