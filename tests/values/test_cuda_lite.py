# SPDX-License-Identifier: Apache-2.0
"""GVProf's samples as host programs in CUDA-Lite, which know nothing of Facula: watched from outside, with its counts."""

import csv
import json
import pathlib
import shutil
import subprocess
import sys

import facula
import pytest

HERE = pathlib.Path(__file__).parent / "cuda_lite"
PACKAGE = pathlib.Path(facula._C.__file__).parent
HEADERS = HERE.parents[2] / "src/backends/hammerblade/include/host"
pytestmark = [
    pytest.mark.usefixtures("facula_only"),
    pytest.mark.skipif(not (PACKAGE / "facula_hb_values.so").exists(), reason="this build has no HammerBlade device"),
    pytest.mark.skipif(not shutil.which("cc"), reason="no compiler"),
]
N = 1000


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cuda_lite")

    def make(name):
        program = folder / name
        if not program.exists():
            subprocess.run(["cc", "-g", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}", HERE / f"{name}.c", "-o", program, f"-L{PACKAGE}", "-lfacula_hb", f"-Wl,-rpath,{PACKAGE}"], check=True)  # fmt: skip
        return program

    return make


def vprof(tmp_path, *words, module="facula"):
    command = [sys.executable, "-m", module, *map(str, words)]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def line_of(name, mark):
    lines = (HERE / name).read_text().splitlines()
    return next(i for i, text in enumerate(lines, 1) if f"/* {mark} */" in text)


def test_value_flow(build, tmp_path):
    done = vprof(tmp_path, "vprof", "--mode", "exact", "--min-bytes", 0, "-p", "redundant", "-o", "out", build("value_flow"), HERE / "kernels.cpp")
    assert done.returncode == 0, done.stderr
    found = {(f["operator"], f["line"]): (f["bytes"], f["share"], f["tensor"]) for f in rows(tmp_path / "out/values.jsonl")}
    at = lambda mark: line_of("value_flow.c", mark)
    assert found == {
        ("copy to device", at("REPEATED")): (4 * N, 1.0, f"int32 [{N}]"),
        ("copy_words", at("HALF")): (2 * N, 1.0, f"int32 [{N // 2}]"),  # of half of the object
        ("copy_words", at("SELF")): (4 * N, 1.0, f"int32 [{N}]"),
        ("same", at("SAME")): (4 * N, 1.0, f"int32 [{N}]"),
        ("odd", at("ODD")): (2 * N, 1.0, f"int32 [{N // 2}, 1]"),
    }
    assert all(f["file"].endswith("value_flow.c") for f in rows(tmp_path / "out/values.jsonl"))
    dot = (tmp_path / "out/values.dot").read_text()
    assert "edge_type=SINK" in dot and "node_type=MEMORY" in dot and dot.count("redundancy=1.000000 overwrite=0.500000") == 2
    assert done.stdout.splitlines()[-1] == "results: out/values.html, values.jsonl, accesses.jsonl, values.csv, values.dot"


def test_patterns(build, tmp_path):
    done = vprof(tmp_path, "vprof", "--floats", "-o", "out", build("patterns"), HERE / "kernels.cpp")
    assert done.returncode == 0, done.stderr
    told = {(r["kind"], int(r["object"].rpartition(":")[2])): r for r in rows(tmp_path / "out/accesses.jsonl")}
    expected = {  # accesses, unique items, distinct values, accesses of unique items
        ("load", "zeros"): (N // 2, N // 2, 1, N // 2, {"single_zero"}),
        ("store", "ones"): (N // 2, N // 2, 1, N // 2, {"single_value"}),
        ("store", "half"): (N // 4, N // 4, 1, N // 4, {"single_zero"}),
        ("store", "line"): (N // 2, N // 2, N // 2, N // 2, {"structured"}),
        ("store", "threes"): (N // 2, N // 2, 1, N // 2, {"single_value", "heavy_type"}),
        ("store", "odds"): (N // 2, N // 2, N // 2, N // 2, {"structured"}),
    }
    assert len(told) == len(expected)
    for (kind, array), (accesses, unique, distinct, of_unique, patterns) in expected.items():
        r = told[kind, line_of("patterns.c", array)]
        assert (r["accesses"], r["unique_items"], r["distinct"], r["unique_accesses"]) == (accesses, unique, distinct, of_unique), array
        assert patterns <= set(r["patterns"]), (array, r["patterns"])
    assert told["store", line_of("patterns.c", "line")]["about"] == 1  # one value when cut
    assert told["store", line_of("patterns.c", "odds")]["detail"].startswith("0 + 1 * index")


def test_gvprofs_files(build, tmp_path):
    for mode in ("redundancy", "value_pattern"):
        done = vprof(tmp_path, "gvprof", "-e", mode, "-ck", "HPCRUN_SANITIZER_DEFAULT_TYPE=float", build("patterns"), HERE / "kernels.cpp", module="facula.tools.vprof._gvprof")  # fmt: skip
        assert done.returncode == 0, done.stderr
    temporal, spatial = (list(csv.reader((tmp_path / "gvprof-measurements" / f"{kind}_write_t0.csv").open())) for kind in ("temporal", "spatial"))
    assert temporal[0] == ["kernel_id"] and temporal[2] == ["redundant", "total", "rate"] and temporal[3] == ["0", "2250", "0.000000"]
    assert temporal[4] == ["cubin", "from function", "from pc", "to function", "to pc", "value", "type", "count", "rate", "norm_rate"]
    # Of each array the most frequent value: 500 ones, 250 zeros, 1 of the line, 500 threes, 1 odd number.
    assert spatial[-1][:2] == ["1252", "2250"]
    assert ["3", "float32", "500", "1.000000"] in [row[4:8] for row in spatial]
    patterns = list(csv.DictReader((tmp_path / "gvprof-measurements-2/value_pattern_t0.csv").open()))
    assert {(row["access"], row["patterns"].split("; ")[0], row["accesses"], row["unique_items"], row["distinct"]) for row in patterns} >= {
        ("Read", "Redundant Zeros", "500", "500", "1"), ("Write", "Single Value", "500", "500", "1"), ("Write", "Redundant Zeros", "250", "250", "1")}  # fmt: skip
    assert any(row["approximate"] == "Single Value" and "Structured" in row["patterns"] for row in patterns)


def test_a_program_without_a_device_is_told_so(tmp_path):
    done = vprof(tmp_path, "vprof", "/bin/true")
    assert done.returncode == 1 and "it opens no device of libfacula_hb" in done.stderr


def test_fast_kernels_are_named(build, tmp_path, monkeypatch):
    monkeypatch.setenv("FACULA_HB_MODE", "fast")
    done = vprof(tmp_path, "vprof", "-o", "out", build("patterns"), HERE / "kernels.cpp")
    assert "patterns: 1 launch in a mode that tells no loads and stores" in done.stdout, done.stdout + done.stderr
