# SPDX-License-Identifier: Apache-2.0
"""The command lines that people know, typed as they are known, with options behind them that make them short."""

import csv
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from facula.tools.bench import _options

pytestmark = pytest.mark.not_sanitized

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHORT = "--tiny -t1 -n2 --passes 1"
LINES = {  # line: (file of rows, names and statuses)
    "PYTHONPATH=$HOME/git/torch-bench/ python benchmarks/dynamo/torchbench.py --performance --inductor --train --amp --only hf_GPT2":
        ("inductor.csv", {"hf_GPT2": "no_compiler"}),
    "./benchmarks/dynamo/huggingface.py --performance --training --amp --backend=inductor --output=huggingface_training.csv -k ^T5Small -k gemma-2":
        ("huggingface_training.csv", {"T5Small": "no_compiler missing", "google/gemma-2-2b": "missing"}),
    "./benchmarks/dynamo/timm_models.py --accuracy --inference --bfloat16 -dcpu --backend=inductor --cold-start-latency -k vit -x siglip "
    "--total-partitions 4 --partition-id 1": (None, {}),
    "./benchmarks/dynamo/timm_models.py --accuracy --inference --bfloat16 -dcpu --backend=inductor --cold-start-latency -k vit -x siglip "
    "--total-partitions 4 --partition-id 3": ("accuracy_inductor.csv", {"vit_base_patch14_dinov2.lvd142m": "missing no_compiler"}),
    "python benchmarks/dynamo/torchbench.py --performance --float32 -dcpu --output=x.csv --inference -n50 --inductor --timeout 9000 --freezing "
    "--only BERT_pytorch --batch_size 4": ("x.csv", {"BERT_pytorch": "no_compiler"}),
    "python benchmarks/dynamo/torchbench.py --accuracy --training --float32 --nothing --only path:{m},class:M":
        ("accuracy_nothing.csv", {"path:{m},class:M": "pass"}),
}  # fmt: skip
MODEL = """
import torch
class M(torch.nn.Linear):
    def __init__(self): super().__init__(3, 2)
    def get_example_inputs(self): return (torch.ones(4, 3),)
"""


def typed(line, folder):
    """The line as a shell has it, in a folder that holds nothing but the scripts."""
    (folder / "m.py").write_text(MODEL)
    if not (folder / "benchmarks").exists():
        (folder / "benchmarks").symlink_to(ROOT / "benchmarks")
    line = line.replace("{m}", str(folder / "m.py")).replace("python ", shlex.quote(sys.executable) + " ", 1)
    environment = {**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    known = os.environ.get("PYTHONPATH", "")  # the environment of the tests stands for one where Facula is installed
    line = re.sub(r"^PYTHONPATH=(\S+)", lambda m: f"PYTHONPATH={m[1]}:{known}", line)
    return subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("line", LINES)
def test_a_line(line, tmp_path):
    file, expected = LINES[line]
    done = typed(f"{line} {SHORT}".replace("-n50", ""), tmp_path)
    if file is None:  # that part of the list holds none of the wanted names
        assert done.returncode == 2 and "no model is left" in done.stderr and done.stderr.count("\n") == 1
        return
    assert done.returncode == 0, done.stderr + done.stdout
    with open(tmp_path / file, newline="") as f:
        rows = {r["name"]: r.get("accuracy", r.get("status")) for r in csv.DictReader(f)}
    assert list(rows) == [name.replace("{m}", str(tmp_path / "m.py")) for name in expected]
    for name, status in rows.items():
        assert status in next(e for n, e in expected.items() if n.split(":")[0] == name.split(":")[0]).split(), name


def test_the_gate_after_a_run(tmp_path):
    done = typed("python benchmarks/dynamo/torchbench.py --performance --inference --float32 -dcpu --output=x.csv --nothing --only lennard_jones " + SHORT, tmp_path)
    assert done.returncode == 0, done.stderr
    done = typed("python benchmarks/dynamo/check_perf_csv.py -f x.csv -t 0.01 -s 0.9", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "lennard_jones" in done.stdout and "speedup=" in done.stdout


def test_the_page_lists_what_does_not_act():
    page = (ROOT / "docs" / "bench.md").read_text()
    assert _options.table() in page
    for option in _options.OURS:
        assert f"`{option.names.split()[0]}" in page


def test_looks(bench):
    """Options that print or write beside the rows."""
    only = ["--performance", "--inference", "--tiny", "--only", "phlippe_resnet"]
    for options, file in ((["--log-conv-args"], "conv_args.json"), (["--export-profiler-trace"], "phlippe_resnet_trace.json"), (["--snapshot-memory"], "phlippe_resnet_memory.pickle"),
                          (["--log-operator-inputs"], "phlippe_resnet_inputs.json"), (["--save-model-outputs-to", "out.pt"], "out.pt"), (["--dump-raw-metrics"], "x-raw_timings-phlippe_resnet.npy"),
                          (["--html", "page.html"], "page.html")):  # fmt: skip
        status, rows = bench(*only, *options)
        assert status == 0, rows
        assert (bench.folder / file).stat().st_size > 0, file
    status, rows = bench(*only, "--compare-model-outputs-with", "out.pt")
    assert status == 0
    status, rows = bench(*only, "--compare-model-outputs-with", "nosuch.pt")
    assert rows[0]["status"] == "fail_to_run" and "nosuch.pt" in rows[0]["reason"]


def test_more_options(bench, capsys):
    only = ["--performance", "--training", "--tiny", "--only", "phlippe_resnet"]
    status, rows = bench(*only, "--bfloat16", "--channels-last", "--randomize-input", "--use-eval-mode", "--collect-outputs", "--iterations-per-run", "2", "--use-warm-peak-memory")
    assert status == 0 and rows[0]["status"] == "measured", rows
    status, rows = bench(*only, "--amp", "--amp-dtype", "bfloat16", "--deterministic", "--cold-start-latency", "--explain", "--timing", "--print-memory", "--print-compilation-time",
                         "--print-dataframe-summary", "--progress", "--_print-latency-ms")  # fmt: skip
    said = capsys.readouterr().out
    assert status == 0 and all(word in said for word in ("a step counts", "seconds: ", "memory: ", "Compilation time", "Running model 1/1", " ms, ")), said
    status, rows = bench(*only, "--warm-start-latency", "--ddp")
    assert status == 0
    status, rows = bench(*only, "--find-batch-sizes", "--per_process_memory_fraction", "0.5")
    assert status == 0 and int(rows[0]["batch_size"]) >= 64
    status, rows = bench("--performance", "--inference", "--tiny", "--only", "lennard_jones", "--print-fx", "--overhead")
    assert status == 2  # clash
    bench("--performance", "--inference", "--tiny", "--only", "lennard_jones", "--print-fx")
    bench("--performance", "--inference", "--tiny", "--only", "lennard_jones", "--print-aten-ops")
