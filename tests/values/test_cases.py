# SPDX-License-Identifier: Apache-2.0
"""PyTorch's three cases (benchmarks/value_profiles) with the naive operators that once were: what is found in them, and that
our own operators do without."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.usefixtures("facula_only"),
    pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler for the naive operators"),
]
FOLDER = pathlib.Path(__file__).parents[2] / "benchmarks" / "value_profiles"


def findings(tmp_path, program, *options):
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "facula",
        "vprof",
        "-o",
        str(out),
        "--min-bytes",
        "1",
        str(FOLDER / program),
        "--threads",
        "1",
        "--repeat",
        "1",
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (out / "values.jsonl").read_text().splitlines()]


def of(found, pattern, inside):
    return [f for f in found if f["pattern"] == pattern and inside in f["inside"]]


def test_convolution_without_bias(tmp_path):
    found = findings(tmp_path, "1-spatial-convolution-unit.py", "--image", "32", "--naive")
    calls = 3  # one warms up, one is timed, one gives the result
    sizes = [16, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1]
    ones = of(found, "dead", "aten::fill_.Scalar > fill")
    assert all(f["operator"] == "naive::convolution" and f["share"] == 1 for f in ones) and ones
    assert sum(f["calls"] for f in ones) == calls * 25
    assert (
        sum(f["bytes"] for f in ones) >= calls * 4 * sum(n * n for n in sizes) * 0.5
    )  # pictures differ: each is outH * outW floats
    zeroed = of(found, "fill_accumulate", "aten::zero_ > fill")
    assert zeroed and all(f["operator"] == "naive::convolution" for f in zeroed)


def test_one_convolution_to_the_byte(tmp_path):
    program = tmp_path / "one.py"
    program.write_text(
        f"import sys; sys.path.insert(0, {str(FOLDER)!r})\nimport timing, torch\nop = timing.naive().convolution\n"
        "x, w = torch.randn(1, 8, 20, 30), torch.randn(4, 8, 3, 3)\nfor i in range(5):\n    y = op(x + i, w, None, [1, 1], [1, 1]); y.sum()\n"
    )
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-m", "facula", "vprof", "-o", str(out), str(program)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in (out / "values.jsonl").read_text().splitlines()]
    (ones,) = of(found, "dead", "aten::fill_.Scalar > fill")
    assert (ones["bytes"], ones["calls"], ones["share"], ones["line"]) == (5 * 4 * 20 * 30, 5, 1.0, 6)
    (zeros,) = of(found, "fill_accumulate", "aten::zero_ > fill")
    assert (zeros["bytes"], zeros["calls"]) == (5 * 4 * 4 * 20 * 30, 5)


def test_replication_pad(tmp_path):
    found = findings(tmp_path, "2-replication-pad3d.py", "--size", "20", "--naive")
    bytes_of_one = 16 * 20**3 * 4  # 64,000,000 with the real size of 100
    for pattern in ("redundant", "single_zero"):
        again = of(found, pattern, "aten::zero_ > fill")
        assert again and all(
            f["operator"] == "naive::pad_backward"
            and f["share"] == 1
            and f["bytes"] == f["calls"] * bytes_of_one
            for f in again
        ), again
    assert sum(f["calls"] for f in of(found, "redundant", "aten::zero_ > fill")) == 5


def test_embedding(tmp_path):
    found = findings(tmp_path, "3-embedding-unit.py", "--naive")
    redundant, zero = (
        of(found, "redundant", "aten::masked_fill_.Scalar"),
        of(found, "single_zero", "aten::masked_fill_.Scalar"),
    )
    assert len(redundant) == len(zero) == 1
    import facula

    facula.manual_seed(0)
    facula.nn.Embedding(200, 512, padding_idx=0)
    padded = int((facula.randint(0, 199, (50, 20)) == 0).sum())
    for f in redundant + zero:
        assert (f["operator"], f["share"], f["bytes"]) == (
            "naive::embedding",
            1.0,
            f["calls"] * 2048 * padded,
        )
        assert f["object_bytes"] == f["calls"] * 2_048_000


@pytest.mark.parametrize(
    ("program", "options", "names"),
    [
        ("1-spatial-convolution-unit.py", ["--image", "32"], ("aten::conv2d",)),
        (
            "2-replication-pad3d.py",
            ["--size", "20"],
            ("aten::replication_pad3d", "facula::pad_edges_backward"),
        ),
        ("3-embedding-unit.py", [], ("aten::embedding",)),
    ],
)
def test_our_own_operators_do_without(tmp_path, program, options, names):
    found = findings(tmp_path, program, *options)
    wasted = [
        f
        for f in found
        if f["operator"] in names
        and f["pattern"] in ("redundant", "fill_accumulate", "identity", "single_zero")
    ]
    inner = [
        f
        for f in found
        if f["operator"] in names
        and f["pattern"] in ("dead", "duplicate")
        and f["inside"].endswith(("fill", "copy"))
        and " > " in f["inside"]
    ]
    assert wasted == [] and inner == []


def test_the_gradient_of_a_square_copies_nothing(torch):
    x = torch.randn(50_000, requires_grad=True)
    weight = torch.randn(50_000)
    with torch.profiler.values(patterns="identity") as v:
        for exponent in (2, 2.0):
            (x.pow(exponent) * weight).sum().backward()  # pow's backward once raised to the first power
    assert [f for f in v.findings if f.operator == "aten::pow"] == []
    assert torch.equal(x.grad, 2 * (weight * (2 * x.detach())))
