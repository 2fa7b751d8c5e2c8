# SPDX-License-Identifier: Apache-2.0
"""`facula replay`: calls of a kernel log again, here, on another device, and as a C++ program."""

import json
import os
import shutil
import subprocess

import pytest

import facula as torch
from backend_tools import library
from facula.__main__ import main
from facula.profiler import _replay, _replay_cpp, kernel_log

pytestmark = pytest.mark.threads


@pytest.fixture
def recorded(tmp_path):
    """recorded(f): a file with the calls that f makes."""

    def record(f):
        with kernel_log.KernelLog() as log:
            f()
        log.save(tmp_path / "calls.klog")
        return str(tmp_path / "calls.klog")

    return record


def calls():
    x = torch.randn(4, 6)
    x.t().add_(1)
    x[1:3, ::2].mul_(x[0, 0])
    torch.cat([x, x.double()])
    torch.empty(3)
    torch.rand(3), torch.rand(3, generator=torch.Generator().manual_seed(1))
    x.to(torch.complex64) * 2j
    x.bfloat16().softmax(-1)
    torch.max(x, 1)
    x.split([1, 3]), x > float("-inf"), torch.full((2,), float("nan"))
    torch.add(x, x, out=torch.empty(0))
    torch.nn.functional.conv2d(torch.randn(1, 2, 5, 5), torch.randn(3, 2, 3, 3), padding=1)
    with pytest.raises(RuntimeError):
        torch.mm(x, x)


def test_every_call_gives_what_it_gave(recorded):
    _, logged = kernel_log.load(recorded(calls))
    state = torch.get_rng_state()
    for call in logged:
        ok, lines = _replay.replay(call)
        assert ok, (call["kernel"], lines)
        if not call["kernel"].startswith(kernel_log.UNSET):
            assert all("identical" in line or "failed as recorded" in line for line in lines), (call["kernel"], lines)
    assert torch.equal(state, torch.get_rng_state())


def test_on_another_device_and_back(recorded, example, capsys):
    path = recorded(lambda: torch.arange(1.0, 7.0).reshape(2, 3).exp())
    number = next(c["call"] for c in kernel_log.load(path)[1] if c["kernel"] == "aten::exp")
    assert main(["replay", path, "--call", str(number), "--device", library("example")]) == 0
    assert capsys.readouterr().out.startswith(f"call {number}, aten::exp, recorded on cpu, run on example\n  result: ")
    assert main(["replay", path, "--call", str(number), "--device", "null"]) == 1  # it computes nothing
    assert "result: differs: Mismatched elements: 6 / 6" in capsys.readouterr().out
    x = torch.ones(3, device=example)
    path = recorded(lambda: x + 1)
    (call,) = (c for c in kernel_log.load(path)[1] if c["kernel"] == "aten::add.Scalar")
    assert call["device"] == "example:0" and call["path"] == "family"
    assert _replay.replay(call) == _replay.replay(call, "cpu") == (True, ["result: identical"])


def test_the_list_and_what_cannot_be_done(recorded, capsys):
    path = recorded(lambda: torch.ones(2, 3).neg())
    assert main(["replay", path]) == 0
    listed = capsys.readouterr().out
    assert "aten::neg" in listed and "float32[2,3]" in listed
    for arguments, message in (
        ([path, "--call", "99"], "there is no call 99: "),
        ([path, "--cpp", "x.cpp"], "--call N says which call"),
        ([path, "--call", "1", "--device", "nowhere"], "nowhere"),
        (["no-such-file", "--call", "1"], "No such file or directory: 'no-such-file'"),
        ([path, "--call", "1", "--cpp", "no/such/folder/x.cpp"], "No such file or directory"),
    ):
        assert main(["replay", *arguments]) == 2
        error = capsys.readouterr().err
        assert error.startswith("facula replay: ") and message in error and error.count("\n") == 1
    head, *lines = open(path).read().splitlines()
    call = json.loads(lines[-1])
    for change, message in (
        (lambda: call["before"]["args"][0]["tensor"].update(sizes=[1 << 40, 3]), "is not inside of its memory"),
        (lambda: call.update(device="gone:0"), "the call was recorded on gone:0, which is not here; --device names another one"),
        (lambda: call.pop("after"), "a call lacks an end"),
        (lambda: call.update(kernel="aten::no_such"), "the operator aten::no_such does not exist here"),
    ):
        call = json.loads(lines[-1])
        change()
        with open(path, "w") as f:
            f.write("\n".join([head, *lines[:-1], json.dumps(call)]) + "\n")
        assert main(["replay", path, "--call", str(len(lines))]) == 2
        assert message in capsys.readouterr().err


def test_a_program_in_cpp(recorded, tmp_path, capsys):
    """On another device, with a view, a list, a flag and a type among its arguments."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if not compiler:
        pytest.skip("no C++ compiler")
    if os.environ.get("FACULA_SANITIZED"):
        pytest.skip("a program against a sanitized library needs the sanitizer's flags")
    x = torch.arange(24.0).reshape(2, 3, 4)
    path = recorded(lambda: torch.sum(x[:, :, 1:], [0, 2], keepdim=True, dtype=torch.float64))
    (call,) = (c for c in kernel_log.load(path)[1] if c["kernel"].startswith("aten::sum"))
    source, program = tmp_path / "replay.cpp", tmp_path / "replay"
    assert main(["replay", path, "--call", str(call["call"]), "--device", library("example"), "--cpp", str(source)]) == 0
    assert main(["info", "--cflags"]) == 0
    flags = capsys.readouterr().out.splitlines()[-1].split()
    built = subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", str(source), *flags, "-o", str(program)], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program), library("example")], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "result: identical\n"), done.stderr


def test_programs_of_all_calls_are_written(recorded):
    path = recorded(calls)
    for call in kernel_log.load(path)[1]:
        text = _replay_cpp.program(call, path)
        assert f'fc::get_operator("{call["kernel"]}"' in text and text.count("{") == text.count("}")
    big = {**call, "before": {"args": [], "kwargs": {}, "storages": [{"data": bytes(5 << 20)}]}}
    with pytest.raises(ValueError, match="the call's tensors hold 5242880 bytes, a source at most 4194304"):
        _replay_cpp.program({**big, "after": {"storages": []}}, path)
