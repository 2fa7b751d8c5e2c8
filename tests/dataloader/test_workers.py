# SPDX-License-Identifier: Apache-2.0
"""Worker processes: their errors, deaths and ends, and what they leave behind."""
import contextlib
import gc
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import facula as torch
import pytest
from facula.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


class Numbers(Dataset):
    """Sample i is [i, i]; a function of i may do something first."""

    def __init__(self, n=8, before=None):
        self.n, self.before = n, before

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.before:
            self.before(i)
        return torch.full((2,), i)


def flat(batches):
    return [x for b in batches for x in b[:, 0].tolist()]


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    assert condition()


@pytest.fixture(autouse=True)
def nothing_is_left():
    """No descriptor, no shared memory, no process outlives a test."""
    shm, open_before = set(os.listdir("/dev/shm")), descriptors()
    yield
    gc.collect()  # exceptions hold the frames in which loaders live
    assert multiprocessing.active_children() == []
    wait_until(lambda: not [n for n in set(os.listdir("/dev/shm")) - shm if "facula" in n])  # other tests may run beside this one
    assert descriptors() <= open_before


def test_an_error_comes_with_its_traceback():
    def fail(i):
        if i == 3:
            raise ValueError("sample three")

    with pytest.raises(ValueError, match="sample three") as e:
        list(DataLoader(Numbers(before=fail), num_workers=2))
    text = str(e.value)
    assert text.startswith("Caught ValueError in DataLoader worker process 1.\nOriginal Traceback (most recent call last):\n")
    assert "in fail" in text


def test_an_error_ends_nothing():
    def fail(i):
        if i == 1:
            raise KeyError("one")

    it = iter(DataLoader(Numbers(4, fail), num_workers=2))
    assert next(it)[0, 0] == 0
    with pytest.raises(KeyError, match="one"):
        next(it)
    assert flat(it) == [2, 3]


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def raise_odd(i):
    raise Odd(1, 2)


def test_an_exception_that_cannot_be_made_again():
    with pytest.raises(RuntimeError, match="Caught Odd in DataLoader worker process 0"):
        list(DataLoader(Numbers(before=raise_odd), num_workers=1))


def test_a_batch_that_cannot_be_sent():
    loader = DataLoader(Numbers(2), num_workers=1, collate_fn=lambda batch: lambda: batch)
    with pytest.raises(Exception, match="(?s)in DataLoader worker process 0.*pickle"):
        list(loader)


def test_a_failing_init_function():
    def fail(worker_id):
        raise ValueError(f"init of {worker_id}")

    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 0(?s:.*)init of 0"):
        list(DataLoader(Numbers(), num_workers=1, worker_init_fn=fail))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_worker_is_named(number):
    def die(i):
        if i == 2:
            os.kill(os.getpid(), number)

    it = iter(DataLoader(Numbers(before=die), num_workers=2))
    pid = it._workers[0].pid
    with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid {pid}\) is killed by signal: {signal.strsignal(number)}"):
        list(it)


def test_a_worker_that_exits_is_named():
    def leave(i):
        os._exit(7)

    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly.*exit code 7"):
        list(DataLoader(Numbers(before=leave), num_workers=1))


def test_killed_while_the_program_is_elsewhere():
    it = iter(DataLoader(Numbers(64), num_workers=2))
    next(it)
    os.kill(it._workers[1].pid, signal.SIGKILL)
    time.sleep(0.05)  # nothing is raised here
    with pytest.raises(RuntimeError, match="is killed by signal"):
        list(it)


def test_killed_in_the_middle_of_a_message():
    """The other workers go on, and nobody waits for the rest of the message."""
    loader = DataLoader(Numbers(4), num_workers=2, collate_fn=lambda b: bytes(1 << 22))
    it = iter(loader)
    time.sleep(0.2)  # until both stand in their first message
    os.kill(it._workers[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="is killed by signal"):
        next(it)


def test_timeout(monkeypatch):
    monkeypatch.setattr("facula.utils.data._utils.worker.PATIENCE", 0.2)

    def sleep(i):
        time.sleep(30)

    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.2 seconds"):
        next(iter(DataLoader(Numbers(before=sleep), num_workers=1, timeout=0.2)))
    # and it ends, although the worker sleeps: killed


def test_abandoned():
    it = iter(DataLoader(Numbers(100), num_workers=2, batch_size=10))
    next(it)
    pids = [w.pid for w in it._workers]
    del it
    wait_until(lambda: not any(map(alive, pids)))


def test_large_batches_of_keys_and_objects():
    """Neither side waits for the other although tasks and results are larger than any pipe."""
    loader = DataLoader(range(600_000), batch_size=150_000, num_workers=2, collate_fn=lambda b: b)
    assert sum(map(len, loader)) == 600_000


def test_many_tensors_in_a_batch_and_shared_ones():
    def collate(batch):
        whole = torch.arange(6.0)
        return [torch.tensor(i) for i in range(450)], whole, whole[2:4], torch.empty(0, 3), whole.view(2, 3).t()

    many, whole, part, empty, turned = next(iter(DataLoader(Numbers(1), num_workers=1, collate_fn=collate)))
    assert [t.item() for t in many] == list(range(450))
    part.fill_(9)
    assert whole.tolist() == [0, 1, 9, 9, 4, 5] and turned.tolist() == [[0, 9], [1, 4], [9, 5]]
    assert empty.shape == (0, 3) and whole.is_shared() and part.is_shared()


def test_batches_stay_when_the_workers_are_gone():
    batches = list(DataLoader(Numbers(40), num_workers=2, batch_size=4))
    before = descriptors()
    assert flat(batches) == list(range(40))
    assert descriptors() == before
    batches[0].fill_(1)


def test_file_system_strategy():
    from multiprocessing import resource_tracker

    from facula import multiprocessing

    resource_tracker._resource_tracker._stop()  # the workers may not have one of their own, which ends with them
    multiprocessing.set_sharing_strategy("file_system")
    try:
        batches = list(DataLoader(Numbers(8), num_workers=2, batch_size=2))
        assert flat(batches) == list(range(8))
        time.sleep(0.5)  # time for what the workers left behind to take their memory away
        assert any(n.startswith("facula_") for n in os.listdir("/dev/shm"))
    finally:
        multiprocessing.set_sharing_strategy("file_descriptor")
        resource_tracker._resource_tracker._stop()  # of this test only


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_start_methods(method):
    assert flat(DataLoader(Numbers(6), num_workers=2, multiprocessing_context=method)) == list(range(6))
    if method == "forkserver":
        from multiprocessing import forkserver, resource_tracker

        forkserver._forkserver._stop()
    if method != "fork":
        from multiprocessing import resource_tracker

        resource_tracker._resource_tracker._stop()


def test_numpy_is_seeded_when_it_is_imported():
    """The same numbers whether the main process has NumPy or only the worker imports it."""
    program = """
import sys, facula as torch
from facula.utils.data import DataLoader
if len(sys.argv) > 1: import numpy
assert ("numpy" in sys.modules) == (len(sys.argv) > 1)
class D:
    def __len__(self): return 2
    def __getitem__(self, i):
        import numpy
        return float(numpy.random.rand())
torch.manual_seed(1)
print([x.item() for x in DataLoader(D(), num_workers=2)])
"""
    got = [subprocess.run([sys.executable, "-W", "ignore", "-c", program, *a], capture_output=True, text=True, timeout=60).stdout for a in ([], ["x"])]
    assert got[0] == got[1] and len(set(eval(got[0]))) == 2


def test_out_of_order():
    def slow(i):
        if i == 0:
            time.sleep(0.3)

    got = flat(DataLoader(Numbers(8, slow), num_workers=2, in_order=False))
    assert sorted(got) == list(range(8)) and got[0] != 0
    assert flat(DataLoader(Numbers(8, slow), num_workers=2)) == list(range(8))


def test_a_stream_longer_than_it_says():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(3))

        def __len__(self):
            return 2

    loader = DataLoader(Stream(), batch_size=None, num_workers=1)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2"):
        assert list(loader) == [0, 1, 2]


def test_warnings():
    with pytest.warns(UserWarning, match="This DataLoader will create 1000 worker processes in total"):
        DataLoader(Numbers(), num_workers=1000)
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        assert flat(DataLoader(Numbers(2), pin_memory=True)) == [0, 1]


def test_fixed_attributes_and_pickling():
    loader = DataLoader(Numbers())
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 2
    with pytest.raises(NotImplementedError):
        import pickle

        pickle.dumps(iter(loader))
    assert get_worker_info() is None


def test_nested_workers_may_not_be():
    """Workers are daemons, which may have no children; said as Python says it."""
    def nest(i):
        list(DataLoader(Numbers(2), num_workers=1))

    with pytest.raises(AssertionError, match="daemonic processes are not allowed to have children"):
        list(DataLoader(Numbers(before=nest), num_workers=1))


PROGRAM = """
import os, sys, time, facula as torch
from facula.utils.data import DataLoader, Dataset
class D(Dataset):
    def __len__(self): return 1000
    def __getitem__(self, i):
        time.sleep(0.01)
        return torch.ones(3)
how = sys.argv[1]
if how == "start": os.register_at_fork(after_in_child=lambda: time.sleep(0.3))
it = iter(DataLoader(D(), num_workers=3, persistent_workers=bool(int(sys.argv[2]))))
if how != "start": next(it)
print(*[w.pid for w in it._workers], flush=True)
if how == "start": next(it)
if how == "wait": time.sleep(60)
if how == "iterate": list(it)
if how == "raise": raise SystemError("gone")
if how == "kill": os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize(("how", "persistent", "code"), [("end", 0, 0), ("end", 1, 0), ("raise", 0, 1), ("kill", 0, -9)])
def test_the_main_process_ends(how, persistent, code):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM, how, str(persistent)], capture_output=True, text=True, timeout=60)
    pids = list(map(int, done.stdout.split()))
    assert len(pids) == 3 and done.returncode == code
    assert ("SystemError: gone" in done.stderr) if how == "raise" else done.stderr == ""
    wait_until(lambda: not any(map(alive, pids)))


@pytest.mark.parametrize("how", ["wait", "iterate", "start"])
def test_an_interrupted_main_process_ends_its_workers(how):
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", PROGRAM, how, "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    pids = list(map(int, process.stdout.readline().split()))
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=60)
    assert errors.rstrip().endswith("KeyboardInterrupt") and errors.count("Traceback") == 1
    wait_until(lambda: not any(map(alive, pids)))


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer needs descriptors to look at memory")
def test_descriptors_run_out():
    program = """
import resource, facula as torch
from facula.utils.data import DataLoader
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
try:
    list(DataLoader([0, 1], num_workers=1, collate_fn=lambda b: [torch.ones(1) for _ in range(100)]))
except Exception as e:
    print(type(e).__name__, str(e).split(".")[0].split("\\n")[0])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "Caught RuntimeError in DataLoader worker process 0" in done.stdout or "Too many open files" in done.stdout, done.stderr


def test_a_fork_in_a_thread_of_the_program():
    """Two loaders at once: neither worker keeps the other's pipes."""
    with warnings.catch_warnings():
        a, b = (iter(DataLoader(Numbers(6), num_workers=1)) for _ in range(2))
        assert next(a)[0, 0] == 0 and next(b)[0, 0] == 0
        pid = a._workers[0].pid
        del a
        wait_until(lambda: not alive(pid), 3)
        assert flat(b) == [1, 2, 3, 4, 5]


def test_what_cannot_be_sent_to_a_worker_says_how_to_start_it():
    loader = torch.utils.data.DataLoader([1, 2], num_workers=1, multiprocessing_context="spawn", collate_fn=lambda batch: batch)
    with pytest.warns(UserWarning, match="Got pickle error when attempting to start a worker Process"), pytest.raises((AttributeError, pickle.PicklingError)):
        iter(loader)
    from multiprocessing import resource_tracker

    resource_tracker._resource_tracker._stop()


@pytest.mark.parametrize("end", ["exit", "stop"])
def test_a_worker_ends_within_a_message(tmp_path, end):
    """Its child holds the pipe open, so that the rest of the message is neither there nor can it be said to be missing."""
    child = tmp_path / "pid"
    loader = DataLoader([0], num_workers=1, collate_fn=lambda b: bytes(1 << 22), timeout=0 if end == "exit" else 1)

    def leave(_):
        worker = os.getpid()
        pid = os.fork()
        if pid == 0:
            time.sleep(0.3)  # until the pipe is full
            os.kill(worker, signal.SIGKILL if end == "exit" else signal.SIGSTOP)
            time.sleep(60)
            os._exit(0)
        child.write_text(f"{pid} {worker}")

    loader.worker_init_fn = leave
    begin = time.monotonic()
    try:
        it = iter(loader)
        time.sleep(0.6)  # the message has begun, nobody has read of it
        with pytest.raises(RuntimeError, match="killed by signal" if end == "exit" else "timed out after 1 seconds"):
            next(it)
    finally:
        for pid in child.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    assert time.monotonic() - begin < 20


def test_a_dead_worker_is_not_waited_for_by_way_of_its_children(tmp_path):
    """A process that the worker started holds its pipes and its sentinel open."""
    child = tmp_path / "pid"

    def leave(i):
        pid = os.fork()
        if pid == 0:
            time.sleep(60)
            os._exit(0)
        child.write_text(str(pid))
        os._exit(5)

    start = time.monotonic()
    with pytest.raises(RuntimeError, match="exited unexpectedly with exit code 5"):
        list(DataLoader(Numbers(before=leave), num_workers=1))
    assert time.monotonic() - start < 20
    os.kill(int(child.read_text()), signal.SIGKILL)


def test_a_worker_whose_descriptors_are_gone_ends(capfd):
    def close(worker):
        os.closerange(3, 60)

    start = time.monotonic()
    with pytest.raises(RuntimeError, match="DataLoader worker .* exited unexpectedly"):
        list(DataLoader(Numbers(), num_workers=2, timeout=10, worker_init_fn=close))
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("stream", [False, True])
def test_several_threads_share_an_iterator(workers, stream):
    class Stream(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            yield from (torch.full((2,), i) for i in range(info.id if info else 0, 400, info.num_workers if info else 1))

    iterator = iter(DataLoader(Stream() if stream else Numbers(400), batch_size=2, num_workers=workers))
    got, errors = [], []

    def take():
        try:
            got.extend(iterator)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=take, daemon=True) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not errors and not any(t.is_alive() for t in threads)
    assert sorted(flat(got)) == list(range(400))


def test_workers_start_while_threads_end():
    """A thread that ends takes the allocator's lock, which a fork may not copy."""
    for _ in range(20):
        threads = [threading.Thread(target=lambda: torch.ones(2) + 1) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        child = os.fork()
        if child == 0:
            ended = threading.Thread(target=lambda: torch.ones(2) + 1)
            ended.start()
            ended.join()
            os._exit(0)
        for _ in range(1000):
            if os.waitpid(child, os.WNOHANG)[0]:
                break
            time.sleep(0.02)
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError("the child hangs")
