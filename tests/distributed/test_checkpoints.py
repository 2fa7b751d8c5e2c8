# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of several processes: other numbers of ranks and layouts, and kills at any point."""
import json
import os
import pathlib
import random
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import kills  # noqa: E402

PROGRAMS = pathlib.Path(__file__).parent / "programs"


def test_written_by_four_ranks_and_read_by_two(ranks, tmp_path):
    assert ranks(4, "checkpoints.py", "save", tmp_path / "saved").count("passed") == 4
    assert ranks(2, "checkpoints.py", "load", tmp_path / "saved").count("passed") == 2


def test_a_whole_state_dict_is_held_once(ranks):
    assert ranks(2, "full_state.py").count("passed") == 2


def test_killed_at_any_line_of_a_save_the_old_or_the_new_is_there(tmp_path):
    done = subprocess.run([sys.executable, "-m", "facula", "run", str(PROGRAMS / "checkpoint_points.py"), str(tmp_path / "c"), "12"],
                          capture_output=True, text=True, timeout=120)  # fmt: skip
    assert done.returncode == 0 and "passed" in done.stdout, done


def test_a_rank_of_a_training_is_killed(tmp_path):
    draws = random.Random(20)
    for _ in range(2):
        kills.kill_once(draws, str(tmp_path / "c"))


def _saved(folder):
    import facula as torch
    from facula.distributed import checkpoint as dcp

    dcp.save({"x": torch.arange(6.0).view(2, 3), "n": {"lr": 0.5, "empty": {}}}, checkpoint_id=folder, no_dist=True)
    return torch, dcp


@pytest.mark.parametrize("change, text", [
    (lambda c: c["weight_map"].update(x="../x.safetensors"), "no file of this folder"),
    (lambda c: c["tensors"]["x"].update(shape=[2, -3]), "no list of sizes"),
    (lambda c: c["tensors"]["x"].update(shape=[2, 4]), "Size mismatch"),
    (lambda c: c["tensors"]["x"]["parts"][0].update(offset=[1, 0]), "is not in"),
    (lambda c: c["tensors"]["x"]["parts"][0].update(shape=[1, 3]), "the index says"),
    (lambda c: c["tensors"]["x"].update(parts=[]), "give 0 of the 6 elements"),
    (lambda c: c["tensors"]["x"].update(dtype="no_such"), "no index of a checkpoint"),
    (lambda c: c["values"].update({"n.lr": {"code": 1}}), "unknown kind"),
    (lambda c: c.pop("weight_map"), "no index of a checkpoint"),
])  # fmt: skip
def test_forged_indices_are_refused(tmp_path, change, text):
    torch, dcp = _saved(tmp_path)
    path = tmp_path / "model.safetensors.index.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(dcp.CheckpointException, match=text):
        dcp.load({"x": torch.zeros(2, 3), "n": {"lr": 0.0, "empty": {}}}, checkpoint_id=tmp_path, no_dist=True)


def test_one_process_needs_no_group_and_values_keep_their_types(tmp_path):
    torch, dcp = _saved(tmp_path)
    state = {"x": torch.zeros(2, 3), "n": {"lr": 0.0, "empty": None}}
    dcp.load(state, storage_reader=dcp.FileSystemReader(tmp_path), no_dist=True)
    assert torch.equal(state["x"], torch.arange(6.0).view(2, 3)) and state["n"] == {"lr": 0.5, "empty": {}}
    values = {"a": float("inf"), "b": torch.float16, "c": (1, [2, {"k": None}]), "d": b"bytes", "e": {1: {"two": [torch.ones(2), 3]}}, "t": torch.tensor(True)}
    dcp.save(values, checkpoint_id=tmp_path, no_dist=True)
    found = {"a": 0, "b": 0, "c": 0, "d": 0, "e": {1: {"two": [torch.zeros(2), 0]}}, "t": torch.tensor(False)}
    dcp.load(found, checkpoint_id=tmp_path, no_dist=True)
    assert found["a"] == float("inf") and found["b"] is torch.float16 and found["c"] == (1, [2, {"k": None}]) and found["d"] == b"bytes"
    assert found["e"][1]["two"][0].tolist() == [1, 1] and found["e"][1]["two"][1] == 3 and bool(found["t"])
    with pytest.raises(dcp.CheckpointException, match="would execute code"):
        dcp.save({"f": object()}, checkpoint_id=tmp_path, no_dist=True)
    with pytest.raises(dcp.CheckpointException, match="overwrite is False"):
        dcp.save(values, storage_writer=dcp.FileSystemWriter(tmp_path, overwrite=False), no_dist=True)
    with pytest.raises(dcp.CheckpointException, match="Missing key"):
        dcp.load({"z": 0}, checkpoint_id=tmp_path, no_dist=True)
    state = {"z": 7}
    dcp.load(state, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(allow_partial_load=True), no_dist=True)
    assert state == {"z": 7}


def test_files_of_others_and_files_for_others(tmp_path):
    torch, dcp = _saved(tmp_path / "own")
    from facula.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp

    from facula import safetensors

    index = json.loads((tmp_path / "own" / "model.safetensors.index.json").read_text())
    file = tmp_path / "own" / index["weight_map"]["x"]
    assert safetensors.load_file(file)["x"].tolist() == [[0, 1, 2], [3, 4, 5]]  # as every reader of sharded files finds it
    os.makedirs(tmp_path / "theirs")
    for i in range(2):
        safetensors.save_file({f"w{i}": torch.full((2,), float(i))}, tmp_path / "theirs" / f"model-{i}.safetensors")
    (tmp_path / "theirs" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"w0": "model-0.safetensors", "w1": "model-1.safetensors"}}))
    state = {"w0": torch.zeros(2), "w1": torch.zeros(2)}
    dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(tmp_path / "theirs"), no_dist=True)
    assert state["w1"].tolist() == [1, 1]
    dcp_to_torch_save(tmp_path / "own", tmp_path / "one.pt")
    assert torch.load(tmp_path / "one.pt")["n.lr"] == 0.5
    torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "again")
    state = {"x": torch.zeros(2, 3)}
    dcp.load(state, checkpoint_id=tmp_path / "again", no_dist=True)
    assert state["x"].sum() == 15
