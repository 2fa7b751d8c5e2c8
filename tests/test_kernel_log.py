# SPDX-License-Identifier: Apache-2.0
"""torch.profiler.kernel_log and torch.hammerblade.kernel_logger: what kernels were given and gave."""

import json
import os
import resource
import threading

import pytest

pytestmark = [pytest.mark.usefixtures("facula_only"), pytest.mark.threads]


@pytest.fixture
def logger(torch):
    logger = torch.hammerblade.kernel_logger
    logger.disable()
    logger.clear()
    yield logger
    logger.disable()
    logger.clear()


def logged(torch, f, **options):
    with torch.profiler.kernel_log.KernelLog(**options) as log:
        f()
    return log


def test_the_ports_layout_of_a_single_call(torch, logger):
    assert logger.json() == "null"
    a, b = torch.tensor([[1.0, 2.0], [3.0, 0.1]]), torch.ones(2, 2)
    logger.enable()
    c = torch.add(a, b)
    logger.disable()
    a + a
    as_dict = lambda t, values: {"N": 4, "data_ptr": t.data_ptr(), "dims": 2, "sizes": [2, 2], "storage": values, "storage_head": t.data_ptr(), "strides": [2, 1]}  # noqa: E731
    expected = {"aten::add.Tensor": [as_dict(c, [2.0, 3.0, 4.0, 1.100000023841858]), as_dict(a, [1.0, 2.0, 3.0, 0.10000000149011612]), as_dict(b, [1.0] * 4), 1]}
    assert logger.json() == json.dumps(expected, indent=4, sort_keys=True)
    logger.clear()
    assert logger.json() == "null"


def test_many_calls_have_numbers_and_other_types_their_own(torch, logger):
    x, mask = torch.arange(3), torch.tensor([True, False, True])
    logger.enable()
    x + 1, x + 2, mask.sum([0]), torch.tensor([float("nan")]).neg()
    logger.disable()
    calls = json.loads(logger.json())
    assert {"aten::add.Scalar", "aten::add.Scalar#2"} <= set(calls)
    assert calls["aten::add.Scalar#2"][0]["storage"] == [2, 3, 4] and calls["aten::add.Scalar#2"][2:] == [2, 1]
    assert calls["aten::sum.dim_IntList"][1]["storage"] == [True, False, True]
    assert {"N": 1, "data": [0]} in calls["aten::sum.dim_IntList"]
    assert calls["aten::neg"][0]["storage"] == [None]  # JSON has no number for it


def test_before_and_after(torch):
    x = torch.arange(12.0).reshape(3, 4)
    column = x[:, 1]
    (call,) = logged(torch, lambda: column.mul_(10)).calls
    (t,) = torch.profiler.kernel_log.tensors_of(call["before"].value["args"])
    assert (t["sizes"], t["strides"], t["dtype"]) == ([3], [4], "float32")
    numbers = torch.profiler.kernel_log.numbers
    offset = t["offset"]
    before, after = (numbers(call[when].storages[0]["data"], "float32")[offset::4] for when in ("before", "after"))
    assert before == [1.0, 5.0, 9.0] and after == [10.0, 50.0, 90.0]
    assert call["before"].storages[0]["bytes"] == 4 * (1 + 4 + 4 + 1)  # the part that is looked at, from a multiple of 16 bytes on


def test_kernels_inside_of_kernels_backward_and_failures_in_order(torch):
    w = torch.ones(2, 2, requires_grad=True)

    def step():
        torch.mm(w, w).sum().backward()
        with pytest.raises(RuntimeError):
            torch.mm(w, torch.ones(3, 3))

    calls = logged(torch, step).calls
    assert [c["call"] for c in calls] == list(range(1, len(calls) + 1))
    names = [c["kernel"] for c in calls]
    assert names[:2] == ["aten::mm", "aten::sum"] and names.count("aten::mm") == 4
    assert [c for c in calls if c["forward"]]
    (failed,) = [c for c in calls if "error" in c]
    assert "cannot be multiplied" in failed["error"] and "after" not in failed
    ids = {c["id"]: c for c in calls}
    fill = next(c for c in calls if c["kernel"] == "aten::fill_.Scalar")
    assert ids[fill["parent"]]["kernel"] in ("aten::ones", "aten::ones_like", "aten::full_like")


def test_only_some_kernels_and_a_limit(torch):
    x = torch.ones(1000)
    log = logged(torch, lambda: [x.exp(), x.log(), x.sin()], kernels=["aten::e*", "aten::sin"])
    assert [c["kernel"] for c in log.calls] == ["aten::exp", "aten::sin"]
    with pytest.warns(UserWarning, match="calls whose tensors do not fit into 12500 bytes with those before are only counted"):
        log = logged(torch, lambda: [x.exp(), x.exp(), torch.ones(10).neg(), x.exp()], limit=12500)
    assert [c["kernel"] for c in log.calls] == ["aten::exp", "aten::ones", "aten::fill_.Scalar", "aten::neg"]
    assert [c["call"] for c in log.calls] == [1, 2, 3, 4] and log.dropped == 2
    with pytest.raises(ValueError, match="limit is a number of bytes, got -1"):
        torch.profiler.kernel_log.KernelLog(limit=-1)
    with log, pytest.raises(RuntimeError, match="started already"):
        log.start()


def test_threads_and_a_fork(torch, logger):
    logger.enable()
    threads = [threading.Thread(target=lambda: [torch.ones(4).neg() for _ in range(20)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    pid = os.fork()
    if pid == 0:
        torch.ones(2).neg()
        before = json.loads(logger.json())
        on = torch.profiler.kernel_log.is_enabled()
        logger.enable()
        torch.ones(2).sin()
        os._exit(0 if not on and "aten::sin" in json.loads(logger.json()) and "aten::neg#81" not in before else 1)
    assert os.waitpid(pid, 0)[1] == 0
    logger.disable()
    calls = json.loads(logger.json())
    assert "aten::neg#80" in calls and "aten::neg#81" not in calls


def test_a_file_keeps_everything(torch, tmp_path):
    kernel_log = torch.profiler.kernel_log
    x = torch.randn(3, 4, dtype=torch.float64)
    log = logged(torch, lambda: [torch.cat([x, x]), x.to(torch.complex64), x.bfloat16()])
    path = tmp_path / "calls.klog"
    log.save(path)
    head, calls = kernel_log.load(path)
    assert (head["format"], head["version"], head["calls"], head["dropped"]) == ("facula kernel log", 1, len(log.calls), 0)
    assert kernel_log.in_port_layout(calls) == log.json()
    assert kernel_log.load(path, only=2)[1] == calls[1:2]


def test_files_that_cannot_be_read_or_written(torch, tmp_path):
    kernel_log = torch.profiler.kernel_log
    log = logged(torch, lambda: torch.ones(5000).exp())
    path = tmp_path / "calls.klog"
    log.save(path)
    lines = path.read_text().splitlines(keepends=True)
    bad = tmp_path / "bad.klog"
    for text, message in (
        (lines[0].replace('"version": 1', '"version": 7'), "has version 7, this Facula reads version 1; record it again"),
        ("hello\n", "is no kernel log; KernelLog.save writes one"),
        ("".join(lines[:-1]), f"is cut off: it has {len(lines) - 2} of {len(lines) - 1} calls"),
        (lines[0] + lines[1][:100] + "\n", "is damaged"),
    ):
        bad.write_text(text)
        with pytest.raises(ValueError, match=message):
            kernel_log.load(bad)
    with pytest.raises(OSError, match="cannot write .*no-folder.*: No such file or directory"):
        log.save(tmp_path / "no-folder" / "x.klog")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # as on a disk that is full
    try:
        with pytest.raises(OSError, match="kernel log: cannot write .*: File too large"):
            log.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "".join(lines) and sorted(os.listdir(tmp_path)) == ["bad.klog", "calls.klog"]
