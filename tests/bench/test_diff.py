# SPDX-License-Identifier: Apache-2.0
"""What changed between two results, commits, frameworks; and the page."""

import html.parser
import json
import os
import pathlib
import subprocess

import pytest

import facula
from facula.tools.bench import _diff, _page, _parent

pytestmark = pytest.mark.not_sanitized


def result(path, seconds, status="measured", counts=None, speedup=1.5, name="net"):
    turns = [[{side: {"wall": seconds, "cpu": seconds} for side in "abc"} for _ in range(5)]]
    row = {"name": name, "status": status, "turns": turns, "threads": 2, "noise_floor": 0.02, "counts": counts or {"operators": 5}, "abs_latency": seconds * 1e3,
           "speedup": speedup, "ci_low": speedup * 0.9, "ci_high": speedup * 1.1, "verdict": "FASTER", "n": 5}  # fmt: skip
    path.write_text(json.dumps({"suite": "torchbench", "started": "2026-01-01", "command": ["<&>"], "machine": {"model": "m"}, "rows": [row]}))
    return str(path)


def test_two_runs_before_blame(tmp_path, capsys):
    a, a2, b, b2 = (result(tmp_path / f"{i}.json", s) for i, s in enumerate((1.0, 1.001, 1.2, 1.201)))
    assert _diff.main([a, b]) == 0
    assert "one run on each side blames nobody" in capsys.readouterr().out
    assert _diff.main([f"{a},{a2}", f"{b},{b2}"]) == 1
    assert "time A/B 0.833x" in capsys.readouterr().out
    assert _diff.main([f"{b},{b2}", f"{a},{a2}"]) == 0
    assert "FASTER" in capsys.readouterr().out
    far = result(tmp_path / "far.json", 1.0)
    assert _diff.main([f"{a},{a2}", f"{b},{far}"]) == 0  # runs of one side that differ as much themselves
    assert "SAME" in capsys.readouterr().out


def test_counts_and_statuses_come_first(tmp_path, capsys):
    a = result(tmp_path / "a.json", 1.0)
    b = result(tmp_path / "b.json", 1.0, counts={"operators": 6})
    assert _diff.main([a, b]) == 0
    said = capsys.readouterr().out
    assert said.index("operators 5 -> 6") < said.index("time A/B")
    assert _diff.main([a, result(tmp_path / "c.json", 1.0, status="crash")]) == 1
    assert _diff.main([a, result(tmp_path / "d.json", 1.0, name="other")]) == 0
    assert "only in A" in capsys.readouterr().out


@pytest.mark.parametrize(("a", "b", "word"), [
    ("nosuch", "HEAD", "nosuch"), ("facula", "facula", "one framework"), ("facula", "torch", "--oracle"), ("setup.py", "HEAD", "with files"),
    ("setup.py", "setup.py", "cannot be read"),
])  # fmt: skip
def test_what_cannot_be_compared(monkeypatch, capsys, a, b, word):
    monkeypatch.chdir(pathlib.Path(__file__).parents[2])
    if not _diff.is_commit("HEAD"):
        pytest.skip("this tree is no git repository")
    assert _diff.main([a, b]) == 2
    said = capsys.readouterr().err
    assert word in said and said.count("\n") == 1


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Two commits whose "build" links this Facula, the second with a file more."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for key in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(key, raising=False)
    home = pathlib.Path(facula.__file__).parents[1]
    monkeypatch.setenv("FACULA_BENCH_BUILD", f"sh -c 'mkdir -p build/release && echo >> ../../../built.log && ln -s {home} build/release/python'")

    def git(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True, cwd=tmp_path / "repo")

    (tmp_path / "repo").mkdir()
    git("init", "-q", "-b", "main")
    for name in ("one", "two"):
        (tmp_path / "repo" / name).write_text(name)
        git("add", ".")
        git("commit", "-q", "-m", name)
    monkeypatch.chdir(tmp_path / "repo")
    return tmp_path


def test_two_commits(repository, capsys, monkeypatch):
    from facula.tools.bench import _plan

    monkeypatch.setattr(_plan, "own_models", lambda: ["lennard_jones"])
    options = ["--tiny", "-t1", "-n6", "--passes", "1", "--only", "lennard_jones", "--quiet"]
    assert _diff.main(["HEAD~1", "HEAD", *options]) in (0, 1)  # a busy machine may see more than there is
    said = capsys.readouterr().out
    assert "1 models count the same" in said and "lennard_jones" in said
    places = list((repository / "cache" / "facula" / "bench").iterdir())
    assert len([p for p in places if p.is_dir()]) == 2
    builds = (repository / "cache" / "built.log").read_text()
    assert _diff.built("HEAD").endswith("build/release/python")
    assert (repository / "cache" / "built.log").read_text() == builds  # each tree once


def test_a_branch(repository, capsys):
    run = ["--performance", "--inference", "--tiny", "--only", "lennard_jones", "--disable-output", "--diff-branch"]
    assert _parent.run("torchbench", [*run, "nosuch"], "bench") == 2
    assert _parent.run("torchbench", [*run, "main"], "bench") == 2
    assert "is the commit" in capsys.readouterr().err
    (repository / "repo" / "one").write_text("changed")
    assert _parent.run("torchbench", [*run, "main"], "bench") == 2
    assert "uncommitted" in capsys.readouterr().err


def test_a_commit_that_does_not_build(repository, monkeypatch, capsys):
    monkeypatch.setenv("FACULA_BENCH_BUILD", "false")
    assert _diff.main(["HEAD~1", "HEAD"]) == 2
    assert "does not build" in capsys.readouterr().err


class Checker(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [v for k, v in attributes if k in ("src", "href")]


def test_the_page(tmp_path, capsys):
    files = [result(tmp_path / "a.json", 1.0), result(tmp_path / "b.json", 1.3, counts={"operators": 6}), result(tmp_path / "c.json", 1.0, status="crash", speedup=0)]
    assert _page.main([*files, "-o", str(tmp_path / "p.html")]) == 0
    text = (tmp_path / "p.html").read_text()
    page = Checker()
    page.feed(text)
    assert page.tags.count("svg") == 3 and not page.links and "script" not in page.tags
    assert "&lt;&amp;&gt;" in text and "operators 5 → 6" in text and "1.500x [1.350, 1.650] FASTER" in text
    assert _page.main([str(tmp_path / "nosuch"), "-o", str(tmp_path / "p.html")]) == 2
    assert _page.main([files[0], "-o", os.path.join(files[0], "p.html")]) == 2


def test_the_table(tmp_path, capsys):
    from facula.tools.bench import _table

    a = result(tmp_path / "a.json", 1.0)
    b = json.loads((tmp_path / "a.json").read_text())
    b["command"], b["rows"][0]["batch_size"] = ["--training"], 4
    b["rows"].append({"name": "broken", "batch_size": 0, "status": "timeout", "speedup": 0.0, "threads": 2})
    (tmp_path / "b.json").write_text(json.dumps(b))
    first = json.loads((tmp_path / "a.json").read_text())
    first["rows"][0].update(batch_size=4, shares={"conv2d": 0.815, "batch_norm": 0.12, "outside": 0.03, "relu": 0.02})
    b["rows"][0]["shares"] = {"convolution_backward": 0.6, "conv2d": 0.3, "add": 0.01}
    (tmp_path / "b.json").write_text(json.dumps(b))
    (tmp_path / "a.json").write_text(json.dumps(first))
    assert _table.main([a, str(tmp_path / "b.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| model (batch) | inference, 2 threads | training, 2 threads | where the time goes (inference; training) |"
    assert "| net (4) | 1e+03 ms, **1.50** (1.35–1.65) |" in lines[3] and "timeout" in lines[2]
    assert lines[3].endswith("| conv2d 82 %, batch_norm 12 %, outside 3 %; convolution_backward 60 %, conv2d 30 % |")
    assert lines[-1] == "| geometric mean | **1.50** of 1 | **1.50** of 1 | |"
    assert _table.main([str(tmp_path / "nosuch")]) == 2
