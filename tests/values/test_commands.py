# SPDX-License-Identifier: Apache-2.0
"""`facula vprof` and GVProf's commands: what they leave, what they refuse before the program runs, and programs that end badly."""

import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

pytestmark = pytest.mark.usefixtures("facula_only")
ROOT = pathlib.Path(__file__).parents[2]
WASTE = "import torch\nx = torch.empty(50_000)\nx.zero_()\nx.zero_()\nx.sum()\n"


@pytest.fixture
def shell(tmp_path):
    """Runs a command line in a folder where script.py is wasteful and GVProf's commands are installed."""
    (tmp_path / "script.py").write_text(WASTE)
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, place in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"].items():
        module, _, function = place.partition(":")
        file = commands / name
        file.write_text(
            f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        )
        file.chmod(0o755)

    def run(line, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        return subprocess.run(
            line,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=100,
        )

    run.folder = tmp_path
    return run


def findings(folder, name="values.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def test_vprof(shell):
    done = shell("facula vprof script.py")
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout.splitlines()[-1]
        == "results: facula-vprof/values.html, values.jsonl, values.csv, values.dot"
    )
    folder = shell.folder / "facula-vprof"
    found = {f["pattern"]: f for f in findings(folder)}
    assert (
        set(found) == {"redundant", "dead", "single_zero"}
        and found["redundant"]["line"] == 4
        and found["dead"]["line"] == 3
    )
    keys = {"pattern", "operator", "file", "line", "tensor", "bytes", "share", "calls", "seconds", "fix"}
    assert keys <= set(found["redundant"]) and found["redundant"]["bytes"] == 200_000
    assert {r["pattern"] for r in csv.DictReader((folder / "values.csv").open())} == set(found)
    assert shell("facula vprof script.py").stdout.endswith(
        "results: facula-vprof-2/values.html, values.jsonl, values.csv, values.dot\n"
    )
    assert (
        shell(
            "python3 -m facula.vprof -p dead -o there script.py".replace("python3", sys.executable)
        ).returncode
        == 0
    )
    assert [f["pattern"] for f in findings(shell.folder / "there")] == ["dead"]


def test_thresholds_are_options(shell):
    """Each option of the command is that of values(), with its default."""
    from facula.tools.vprof._command import THRESHOLDS
    from facula.tools.vprof._profile import Options

    assert {name: default for name, _, default, _ in THRESHOLDS} == {name: getattr(Options(), name) for name, *_ in THRESHOLDS}
    script = "import torch\nx = torch.randn(50_000)\ny = torch.relu(x - 0.4)\ny.sum()\n"  # two thirds are zero
    for share, expected in (("0.5", {"frequent"}), ("0.9", set())):
        done = shell(f"facula vprof -p frequent --frequent {share} -o out-{share} script.py", script=script)
        assert done.returncode == 0, done.stderr
        assert {f["pattern"] for f in findings(shell.folder / f"out-{share}") if f["operator"] == "aten::relu"} == expected


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(shell):
    (shell.folder / "out").mkdir(mode=0o555)
    done = shell("facula vprof -o out script.py", script="open('ran', 'w')\n" + WASTE)
    assert done.returncode == 2 and "cannot make a folder for the results" in done.stderr
    assert not (shell.folder / "ran").exists()


def test_the_graph(shell):
    shell("facula vprof -o out script.py")
    text = (shell.folder / "out" / "values.dot").read_text()
    write = re.search(
        r"(\d+) -> (\d+) \[edge_type=WRITE redundancy=1.000000 overwrite=1.000000 count=200000 memory_node_id=(\d+) color=red",
        text,
    )
    assert write and f'{write[2]} [label="aten::zero_ > fill\\nscript.py:4" shape=circle' in text
    page = (shell.folder / "out" / "values.html").read_text()
    assert (
        "/*DATA*/" not in page
        and "x.zero_()" in page
        and "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    )


LINE = (
    "LD_LIBRARY_PATH=/nowhere:$LD_LIBRARY_PATH hpcrun -e gpu=nvidia,data_flow -ck HPCRUN_SANITIZER_READ_TRACE_IGNORE=1 -ck HPCRUN_SANITIZER_DATA_FLOW_HASH=0 "
    "-ck HPCRUN_SANITIZER_GPU_ANALYSIS_BLOCKS=1 -ck HPCRUN_SANITIZER_GPU_PATCH_RECORD_NUM=131072 python ./script.py"
)


def test_hpcrun_verbatim(shell):
    done = shell(LINE)
    assert done.returncode == 0, done.stderr
    folder = shell.folder / "hpctoolkit-python-measurements"
    assert {p.name for p in folder.iterdir()} >= {
        "data_flow.dot",
        "data_flow.dot.context",
        "value_pattern_t0.csv",
    }
    assert "script.py(4)" in (folder / "data_flow.dot.context").read_text()
    assert [re.match(r"hpcrun: (\S+) is not needed: \S", line)[1] for line in done.stderr.splitlines()] == [
        f"HPCRUN_SANITIZER_{k}" for k in ("READ_TRACE_IGNORE", "GPU_ANALYSIS_BLOCKS", "GPU_PATCH_RECORD_NUM")
    ]
    assert done.stdout.splitlines()[-1].startswith("results: hpctoolkit-python-measurements/data_flow.dot")
    assert "results: hpctoolkit-python-measurements-2/" in shell(LINE).stdout
    for command in ("hpcstruct x", "hpcprof -S x hpctoolkit-python-measurements"):
        assert "nothing is left to do" in shell(command).stdout


def test_gvprof_and_gviewer(shell):
    done = shell("gvprof -e value_pattern@2 -cfg -j 4 -v python script.py")
    assert done.returncode == 0 and "results: gvprof-measurements/" in done.stdout, done.stderr
    shown = shell("gviewer -f gvprof-measurements/data_flow.dot.context -pr -pe 0.01 -kr -cf all")
    assert shown.returncode == 0, shown.stderr
    assert "<svg" in (shell.folder / "gvprof-measurements" / "data_flow.dot.svg").read_text()
    assert shell("gviewer -f nowhere.dot").returncode == 2 and shell("gviewer -f script.py").returncode == 2
    assert shell("gviewer -f x -pn 2").returncode == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("facula vprof -p wasteful script.py", "patterns are some of redundant, identity"),
        ("facula vprof --share 2 script.py", "share is a number from 0 to 1, got 2.0"),
        ("facula vprof --mode budget --budget -1 script.py", "budget is a number from 0 to 1"),
        ("facula vprof --min-bytes -5 script.py", "min_bytes is a whole number"),
        ("facula vprof --frequent 1.5 script.py", "frequent is a number from 0 to 1"),
        ("facula vprof --zero nan script.py", "zero is a number from 0 to inf"),
        ("facula vprof --approximate 6 script.py", "approximate is a whole number from 1 to 5"),
        ("facula vprof --sample 0 script.py", "sample is a whole number"),
        ("facula vprof -o /proc/no script.py", "cannot make a folder"),
        ("facula vprof nowhere.py", "there is no file nowhere.py"),
        ("hpcrun -e gpu=nvidia,everything python script.py", "unknown event 'everything'"),
        (
            "hpcrun -e gpu=nvidia,data_flow -ck HPCRUN_SANITIZER_SPEED=1 python script.py",
            "unknown knob 'HPCRUN_SANITIZER_SPEED=1'",
        ),
        ("hpcrun -e gpu=nvidia,data_flow@5 python script.py", "versions must be complete"),
        (
            "gvprof -e value_pattern -ck HPCRUN_SANITIZER_APPROX_LEVEL=9 python script.py",
            "whole number from 0 to 5",
        ),
        (
            "gvprof -e value_pattern -ck HPCRUN_SANITIZER_WHITELIST=nowhere.txt python script.py",
            "cannot read nowhere.txt",
        ),
        ("gvprof -e value_pattern", "no program"),
        ("gvprof -e value_pattern -ck HPCRUN_SANITIZER_DEFAULT_TYPE=double python script.py", "is float or int"),
    ],
)
def test_refused_before_the_program_runs(shell, line, words):
    done = shell(line, script="open('ran', 'w')\n" + WASTE)
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert not (shell.folder / "ran").exists()


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("raise SystemExit(7)", 7),
        ("raise ValueError('no')", 1),
        ("import os\nos._exit(5)", 5),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time; time.sleep(9)", None),
    ],
)
def test_programs_that_end_badly_keep_their_results(shell, end, status):
    done = shell("facula vprof -o out script.py", script=WASTE + end)
    assert done.returncode == status or status is None
    assert "redundant" in {f["pattern"] for f in findings(shell.folder / "out")}


def test_a_killed_program_keeps_what_was_written_last(shell):
    """Also one that did not run for long."""
    script = WASTE + (
        "import os, signal, time\nfor _ in range(60):\n    time.sleep(0.05)\n"
        "    if os.path.exists('out/values.jsonl') and 'dead' in open('out/values.jsonl').read(): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = shell("facula vprof -o out script.py", script=script)
    assert done.returncode in (-9, 137)
    assert "redundant" in {f["pattern"] for f in findings(shell.folder / "out")}


def test_forked_processes_have_files_of_their_own(shell):
    script = "import os, torch\nif os.fork() == 0:\n    x = torch.empty(50_000)\n    x.zero_()\n    x.zero_()\n    x.sum()\n    os._exit(0)\nos.wait()\n"
    done = shell("facula vprof -o out script.py", script=script)
    assert done.returncode == 0, done.stderr
    (child,) = (shell.folder / "out").glob("values-*.jsonl")
    assert (
        "redundant" in {f["pattern"] for f in findings(shell.folder / "out", child.name)}
        and findings(shell.folder / "out") == []
    )


def test_ranks_of_a_job_have_files_of_their_own(shell, torch):
    if not torch.distributed.is_gloo_available():
        pytest.skip("libgloo was not found when Facula was built")
    script = (
        "import torch\nimport torch.distributed as dist\ndist.init_process_group('gloo')\nx = torch.empty(50_000)\nx.zero_()\n"
        "x.zero_()\ndist.all_reduce(x)\ndist.destroy_process_group()\n"
    )
    line = f"{sys.executable} -m facula.distributed.run --nproc-per-node=2 -m facula vprof -o out script.py"
    done = shell(line, script=script)
    assert done.returncode == 0, done.stdout + done.stderr
    out = shell.folder / "out"
    for r in range(2):
        found = {f["pattern"]: f for f in findings(out, f"values-rank{r}.jsonl")}
        assert found["redundant"]["line"] == 6 and found["redundant"]["bytes"] == 200_000 and "dead" in found
        assert (out / f"values-rank{r}.html").exists()
        assert f"results: out/values-rank{r}.html, values-rank{r}.jsonl" in done.stdout
    assert not (out / "values.jsonl").exists()
    assert shell(line, script=script).returncode == 0 and len(list((shell.folder / "out-2").glob("values-rank*.jsonl"))) == 2
