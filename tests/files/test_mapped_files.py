# SPDX-License-Identifier: Apache-2.0
"""Files that become shorter while they are mapped: an exception, not the end of the process."""
import os
import signal
import subprocess
import sys
import threading

import pytest

GONE = "became shorter while it was mapped: what is gone reads as zeros"
N = 100_000


@pytest.fixture(autouse=True)
def only_facula(torch):
    if torch.__name__ != "facula":
        pytest.skip("a promise of Facula's")


def cut(torch, tmp_path, keep=0, n=N, **how):
    path = tmp_path / "x.pt"
    torch.save({"a": torch.ones(n), "b": torch.arange(n)}, path)
    loaded = torch.load(path, mmap=True, **how)
    os.truncate(path, keep)
    return loaded


def test_what_touches_it_raises(torch, tmp_path, capfd):
    x = cut(torch, tmp_path)
    with pytest.raises(RuntimeError, match=f"x.pt {GONE}"):
        x["a"].sum()
    assert "x.pt " + GONE in capfd.readouterr().err
    assert x["a"].sum() == 0 and x["b"].sum() == 0 and torch.ones(3).sum() == 3  # told once; zeros from then on
    for touch in (lambda t: t.tolist(), lambda t: t[5].item(), lambda t: t.add_(1), lambda t: t.clone(), lambda t: t @ t, repr, lambda t: torch.equal(t, t)):
        x = cut(torch, tmp_path)
        with pytest.raises(RuntimeError, match=GONE):
            touch(x["a"])


def test_what_is_still_there_is_read(torch, tmp_path):
    x = cut(torch, tmp_path, keep=16384)
    assert x["a"][:2000].tolist() == [1] * 2000
    with pytest.raises(RuntimeError, match=GONE):
        x["a"].sum()
    assert x["a"][:2000].tolist() == [1] * 2000 and x["a"][-1] == 0


def test_threads_of_a_kernel(torch, tmp_path):
    x = cut(torch, tmp_path, n=4_000_000)
    with pytest.raises(RuntimeError, match=GONE):
        (x["a"] * 2).sum()
    w = cut(torch, tmp_path, n=1_000_000)["a"].view(1000, 1000)  # a library's product, whose kernels may have other stacks
    with pytest.raises(RuntimeError, match=GONE):
        torch.ones(1000, 1000) @ w
    assert (torch.ones(300, 300) @ torch.ones(300, 300)).eq(300).all()


def test_who_looks_without_a_call_is_told_by_the_next(torch, tmp_path):
    numpy = pytest.importorskip("numpy")
    view = cut(torch, tmp_path)["a"].numpy()
    assert numpy.sum(view) == 0
    with pytest.raises(RuntimeError, match=GONE):
        torch.ones(1) + 1
    assert (torch.ones(1) + 1).item() == 2

    other = threading.Thread(target=lambda x=cut(torch, tmp_path): x["a"].numpy().sum())
    other.start()
    other.join()
    with pytest.raises(RuntimeError, match=GONE):
        torch.ones(1) + 1


def test_shared_maps_and_files_of_the_program(torch, tmp_path):
    x = torch.from_file(str(tmp_path / "f"), shared=True, size=N)
    x.fill_(1)
    os.truncate(tmp_path / "f", 0)
    with pytest.raises(RuntimeError, match=f"f {GONE}"):
        x.add_(1)
    y = torch.from_file(str(tmp_path / "f"), shared=True, size=N)
    assert y.add_(1).sum() == N


def test_maps_come_and_go(torch, tmp_path):
    """A place in the handler's list is used again: the name and the range are the new file's."""
    kept = cut(torch, tmp_path, keep=os.SEEK_SET)
    for i in range(20):
        path = tmp_path / f"{i}.pt"
        torch.save(torch.full((N,), float(i)), path)
        loaded = torch.load(path, mmap=True)
        assert loaded.sum() == i * N
        if i % 5 == 4:
            os.truncate(path, 100)
            again = torch.load(tmp_path / f"{i - 1}.pt", mmap=True)
            with pytest.raises(RuntimeError, match=f"{i}.pt {GONE}"):
                loaded.sort()
            assert again.sum() == (i - 1) * N
    with pytest.raises(RuntimeError, match=f"x.pt {GONE}"):
        kept["b"].sum()


OTHER_FAULT = """
import faulthandler, mmap, os, signal, sys
import facula as torch
if "early" in sys.argv: faulthandler.enable()
torch.save(torch.ones(10000), "x.pt")
x = torch.load("x.pt", mmap=True)
if "late" in sys.argv: faulthandler.enable()
if "sent" in sys.argv: os.kill(os.getpid(), signal.SIGBUS)
f = open("other", "wb+"); f.truncate(8192)
m = mmap.mmap(f.fileno(), 8192)
f.truncate(0)
m[5000]
"""


@pytest.mark.skipif("FACULA_SANITIZED" in os.environ, reason="the sanitizer answers such signals itself")
@pytest.mark.parametrize("how", ["", "early", "late", "sent"])
def test_other_faults_are_what_they_were(torch, tmp_path, how):
    done = subprocess.run([sys.executable, "-c", OTHER_FAULT, how], cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == -signal.SIGBUS, done.stderr
    assert ("Bus error" in done.stderr) == (how in ("early", "late")) and GONE not in done.stderr


def test_shared_memory_that_has_no_room(torch, tmp_path):
    """By name it lies in /dev/shm, which is small in containers: writing beyond its room ended the process."""
    room = os.statvfs("/dev/shm")
    bytes = (room.f_blocks + 1) * room.f_frsize
    if not room.f_blocks or bytes > 1 << 40:
        pytest.skip("/dev/shm has no limit")
    x = torch.from_file(str(tmp_path / "holes"), shared=True, size=bytes, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="unable to resize shared memory .*No space left"):
        torch._C._share_by_name(x, -1)
