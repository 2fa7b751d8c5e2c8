# SPDX-License-Identifier: Apache-2.0
"""The counts of this tree, and what the gate says where they change."""

import json

import pytest

from facula.tools.bench import _gate, _list, _plan

pytestmark = pytest.mark.not_sanitized


@pytest.mark.slow
def test_counts_are_those_of_the_tree(capsys):
    """Each model's step twice counts the same, and what the tree says. A change that is meant: facula bench gate --update."""
    other = _gate.another_build(json.loads(_gate.counts_file().read_text()))
    if other:
        pytest.skip(f"the counts are those of a build {other}")
    assert _gate.main([]) == 0, capsys.readouterr().out


def test_every_model_is_counted():
    known = json.loads(_gate.counts_file().read_text())
    assert known.pop(_gate.LIBRARIES).keys() == {"oneDNN", "BLAS"}
    assert sorted(known) == _plan.own_models()
    for modes in known.values():
        for counts in modes.values():
            assert counts["operators"] > 0 and counts["kernels"] > 0 and counts["bytes"] > 0 and counts["peak"] > 0


def test_what_changed_is_said(monkeypatch, tmp_path, capsys):
    counts = {"operators": 5, "flops": 7, "python_calls_3.11": 9}
    assert _gate.changes({"m": {"eval": counts}}, {"m": {"eval": dict(counts)}}) == []
    assert "operators 5 -> 6" in _gate.changes({"m": {"eval": counts}}, {"m": {"eval": {**counts, "operators": 6}}})[0]
    assert "new" in _gate.changes({}, {"m": {"eval": counts}})[0]
    assert _gate.changes({"m": {"eval": counts}}, {"m": {"eval": {**counts, "python_calls_3.99": 1}}}) == []  # a version that nobody recorded
    assert _gate.main(["--only", "nosuchmodel"]) == 2
    monkeypatch.setattr(_gate, "counts_file", lambda: tmp_path / "counts.json")
    (tmp_path / "counts.json").write_text('{"lennard_jones": {"eval": {"operators": 1, "python_calls_3.99": 4}}}')
    assert _gate.main(["--only", "lennard_jones"]) == 1
    assert _gate.main(["--only", "lennard_jones", "--update"]) == 0
    assert "operators 1 -> " in capsys.readouterr().out
    assert _gate.main(["--only", "lennard_jones"]) == 0
    assert json.loads((tmp_path / "counts.json").read_text())["lennard_jones"]["eval"]["python_calls_3.99"] == 4


def test_counts_of_another_build(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(_gate, "counts_file", lambda: tmp_path / "counts.json")
    here = _gate.libraries()
    (tmp_path / "counts.json").write_text(json.dumps({_gate.LIBRARIES: {**here, "oneDNN": not here["oneDNN"]}}))
    assert _gate.main(["--only", "lennard_jones"]) == 2
    assert f"{'without' if here['oneDNN'] else 'with'} oneDNN" in capsys.readouterr().err


def test_the_list(capsys):
    assert _list.main(["--why"]) == 0
    said = capsys.readouterr().out
    assert "torchbench: 36 of 36" in said and "lacks: " in said and "16/8" in said
    assert _list.main(["torchbench"]) == 0
    assert "resnet18" in capsys.readouterr().out
