# SPDX-License-Identifier: Apache-2.0
"""torch.multiprocessing: tensors in memory that several processes see, and processes started together."""
import gc
import os
import pickle
import signal
import subprocess
import sys
import warnings

import facula as torch
import pytest
from facula import multiprocessing as mp


@pytest.fixture(params=["file_descriptor", "file_system"])
def strategy(request):
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy("file_descriptor")
    gc.collect()
    assert [n for n in os.listdir("/dev/shm") if n.startswith(f"facula_{os.getpid()}_")] == []


def test_share_memory():
    x = torch.arange(6.0)
    row = x.view(2, 3)[1]
    assert not x.is_shared() and x.share_memory_() is x
    assert x.is_shared() and row.is_shared() and row.tolist() == [3, 4, 5]
    address = x.data_ptr()
    x.share_memory_()
    assert x.data_ptr() == address
    row.fill_(7)
    assert x.tolist() == [0, 1, 2, 7, 7, 7]
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(100)
    assert torch.empty(0).share_memory_().shape == (0,)
    with pytest.raises(RuntimeError, match="only memory of the CPU"):
        torch.empty(3, device="meta").share_memory_()
    assert not torch.empty(3, device="meta").is_shared()
    p = torch.ones(2, requires_grad=True).share_memory_()
    (p * p).sum().backward()
    assert p.grad.tolist() == [2, 2] and p.is_shared()


def test_memory_that_numpy_looks_at_stays():
    numpy = pytest.importorskip("numpy")
    x = torch.arange(4.0)
    lent = x.numpy()
    x.share_memory_().fill_(9)
    assert lent.tolist() == [0, 1, 2, 3] and x.tolist() == [9] * 4
    a = numpy.zeros(3)
    y = torch.from_numpy(a).share_memory_()
    y.fill_(1)
    assert a.tolist() == [0, 0, 0] and y.is_shared()


def test_a_child_writes():
    x = torch.zeros(3).share_memory_()
    pid = os.fork()
    if pid == 0:
        x[1] = 5
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0 and x.tolist() == [0, 5, 0]


def child(pipe, queue):
    a, b, c = pipe.recv()
    a += 1
    queue.put([b.tolist(), c.shape, c.requires_grad, a.is_shared()])
    pipe.send(a[1:])
    pipe.recv()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pipes_and_queues(strategy, method):
    context = mp.get_context(method)
    ours, theirs = context.Pipe()
    queue = context.Queue()
    process = context.Process(target=child, args=(theirs, queue))
    process.start()
    a = torch.zeros(4)
    ours.send((a, a[2:], torch.ones(2, 0, requires_grad=True)))
    assert queue.get(timeout=30) == [[1, 1], (2, 0), True, True]
    assert a.is_shared() and a.tolist() == [1, 1, 1, 1]  # one memory
    part = ours.recv()
    part.fill_(7)
    assert a.tolist() == [1, 7, 7, 7]
    ours.send(None)
    process.join(30)
    assert process.exitcode == 0
    queue.close()


def test_plain_multiprocessing_shares_too():
    program = """
import facula as torch, multiprocessing
def f(q): q.get().fill_(3); q.get()
q = multiprocessing.SimpleQueue()
p = multiprocessing.Process(target=f, args=(q,)); p.start()
x = torch.zeros(2)
q.put(x); q.put(None); p.join()
print(x.tolist())
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60).stdout == "[3.0, 3.0]\n"


def test_a_pickle_is_a_copy():
    x = torch.ones(2).share_memory_()
    y = pickle.loads(pickle.dumps(x))
    y.fill_(0)
    assert x.tolist() == [1, 1]


def test_what_cannot_be_sent():
    reader, writer = mp.Pipe()
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        writer.send(torch.ones(1, requires_grad=True) * 2)
    writer.send(torch.empty(2, 3, device="meta"))
    assert reader.recv().shape == (2, 3)


def test_parameters_and_modules_share_their_memory():
    reader, writer = mp.Pipe()
    layer = torch.nn.Linear(2, 2)
    for sent in (layer, torch.nn.ModuleList([layer, layer])):
        writer.send(sent)
        got = reader.recv()
        theirs = dict(got.named_parameters())
        assert list(theirs) == list(dict(sent.named_parameters())) and all(type(p) is torch.nn.Parameter and p.requires_grad for p in theirs.values())
        with torch.no_grad():
            next(iter(theirs.values())).fill_(3)
        assert layer.weight.tolist() == [[3, 3], [3, 3]] and layer.weight.is_shared()
        layer.weight.data.zero_()


def test_strategies():
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"} and mp.get_sharing_strategy() == "file_descriptor"
    with pytest.raises(AssertionError, match="invalid sharing strategy 'x'"):
        mp.set_sharing_strategy("x")


def test_names_are_removed_when_their_process_is_killed():
    program = """
import facula as torch, os, sys
from facula import multiprocessing as mp
mp.set_sharing_strategy("file_system")
a, b = mp.Pipe()
x = torch.ones(9)
b.send(x)
print([n for n in os.listdir("/dev/shm") if n.startswith(f"facula_{os.getpid()}_")], flush=True)
if len(sys.argv) > 1: os.kill(os.getpid(), 9)
a.recv()
"""
    for arguments in ([], ["kill"]):
        with subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            names = eval(p.stdout.readline())
            errors = p.stderr.read()  # ends with the tracker, which cleans up
        assert len(names) == 1 and not os.path.exists("/dev/shm/" + names[0])
        assert arguments or errors == ""


def fail(i, kind):
    if i == 1:
        if kind == "raise":
            raise ValueError("of one")
        if kind == "exit":
            sys.exit(3)
        os.kill(os.getpid(), signal.SIGKILL)
    import time

    time.sleep(60)


def fill(i, x):
    x[i] = i + 1


def test_start_processes():
    x = torch.zeros(3).share_memory_()
    mp.start_processes(fill, (x,), nprocs=3, start_method="fork")
    assert x.tolist() == [1, 2, 3]
    with pytest.raises(mp.ProcessRaisedException, match="(?s)^\n\n-- Process 1 terminated with the following error:\nTraceback.*ValueError: of one") as e:
        mp.start_processes(fail, ("raise",), nprocs=2, start_method="fork")
    assert e.value.error_index == 1 and e.value.error_pid > 0
    with pytest.raises(mp.ProcessExitedException, match="^process 1 terminated with exit code 3$") as e:
        mp.start_processes(fail, ("exit",), nprocs=2, start_method="fork")
    assert e.value.exit_code == 3 and e.value.signal_name is None
    with pytest.raises(mp.ProcessExitedException, match="^process 1 terminated with signal SIGKILL$") as e:
        mp.start_processes(fail, ("kill",), nprocs=2, start_method="fork")
    again = pickle.loads(pickle.dumps(e.value))
    assert (again.signal_name, again.exit_code, again.error_index) == ("SIGKILL", -9, 1)


def test_spawn():
    x = torch.zeros(1).share_memory_()
    context = mp.spawn(fill, (x,), join=False)
    assert len(context.pids()) == 1
    while not context.join():
        pass
    assert x.tolist() == [1]


def test_files(tmp_path):
    path = str(tmp_path / "numbers")
    x = torch.from_file(path, shared=True, size=4, dtype=torch.int32)
    assert os.path.getsize(path) == 16 and x.tolist() == [0] * 4
    x.fill_(7)
    assert open(path, "rb").read() == b"\7\0\0\0" * 4 and x.is_shared()
    y = torch.from_file(path, shared=False, size=4, dtype=torch.int32)
    y.fill_(3)
    assert x.tolist() == [7] * 4
    assert torch.from_file(path).shape == (0,)
    assert torch.from_file(path, size=2, requires_grad=True).requires_grad
    storage = torch.UntypedStorage.from_file(path, True, 100)
    assert storage.nbytes() == 100 and storage.filename == path and y.untyped_storage().filename is None
    with pytest.raises(RuntimeError, match="size <100> is smaller than the required mapping size <1600>"):
        torch.from_file(path, size=400)
    with pytest.raises(RuntimeError, match="unable to open file .* in read-only mode: No such file or directory"):
        torch.from_file(path + "no", size=4)
    with pytest.raises(RuntimeError, match="in read-write mode: Is a directory"):
        torch.from_file("/proc", shared=True, size=4)
    for bad in (dict(size=-4), dict(size=2**62), dict(size=2, dtype=torch.int32, requires_grad=True)):
        with pytest.raises((RuntimeError, TypeError, OverflowError)):
            torch.from_file(path, **bad)
    with pytest.raises(RuntimeError, match="null character"):
        torch.from_file("a\0b", size=1)


def test_descriptors_by_hand():
    s = torch.arange(4).untyped_storage()
    fd, size = s._share_fd_cpu_()
    other = torch.UntypedStorage._new_shared_fd_cpu(fd, size)
    other._tensor.fill_(1)
    assert s._tensor.tolist() == [0x0101010101010101] * 4
    with pytest.raises(RuntimeError, match="fewer than"):
        torch.UntypedStorage._new_shared_fd_cpu(fd, size + 1)
    with pytest.raises(RuntimeError, match="unable to stat"):
        torch.UntypedStorage._new_shared_fd_cpu(-1, size)


def _fail(i):
    raise ValueError(str(i))


def test_no_folder_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mp.start_processes(_nothing, nprocs=1, start_method="fork")
        group = mp.start_processes(_nothing, nprocs=1, join=False, start_method="fork")
        while not group.join():
            pass
        assert os.listdir(tmp_path) == []  # while the group is there
        with pytest.raises(mp.ProcessRaisedException, match="ValueError: 0"):
            mp.start_processes(_fail, nprocs=1, start_method="fork")
        gc.collect()
    assert os.listdir(tmp_path) == []


def _nothing(i):
    pass
