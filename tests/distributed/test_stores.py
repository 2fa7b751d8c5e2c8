# SPDX-License-Identifier: Apache-2.0
"""Stores: one behaviour in four kinds, waiting, strangers."""
import os
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest

from facula import distributed as dist


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def store(request, tmp_path):
    if request.param == "hash":
        return dist.HashStore()
    if request.param == "file":
        return dist.FileStore(str(tmp_path / "store"), 1)
    tcp = dist.TCPStore("127.0.0.1", 0, is_master=True)
    return tcp if request.param == "tcp" else dist.PrefixStore("below", tcp)


def test_a_store(store):
    store.set("a", "1")
    store.set("bytes", b"\0\xff")
    assert store.get("a") == b"1" and store.get("bytes") == b"\0\xff"
    assert store.add("n", 3) == 3 and store.add("n", -5) == -2 and store.get("n") == b"-2"
    assert store.compare_set("c", "", "first") == b"first" and store.compare_set("c", "no", "x") == b"first"
    assert store.compare_set("c", "first", "second") == b"second" == store.get("c")
    assert store.check(["a", "c"]) and not store.check(["a", "missing"]) and store.check([])
    store.append("a", "2")
    assert store.get("a") == b"12"
    store.multi_set(["m1", "m2"], ["x", b"y"])
    assert store.multi_get(["m1", "m2"]) == [b"x", b"y"] and store.num_keys() == 6
    assert store.delete_key("m1") and not store.delete_key("m1") and sorted(store.list_keys()) == ["a", "bytes", "c", "m2", "n"]
    store.wait(["a"], timedelta(seconds=1))
    with pytest.raises(ValueError, match="no number"):
        store.add("c", 1)
    with pytest.raises(dist.DistStoreError, match="still no .*never"):
        store.wait(["a", "never"], timedelta(milliseconds=50))
    store.set_timeout(timedelta(milliseconds=60))
    assert store.timeout == timedelta(milliseconds=60)
    begin = time.monotonic()
    with pytest.raises(dist.DistStoreError):
        store.get("never")
    assert 0.05 < time.monotonic() - begin < 5
    with pytest.raises(ValueError, match="longer than nothing"):
        store.set_timeout(timedelta(0))


def test_waiting_ends_when_the_key_comes(store):
    other = store.clone()
    thread = threading.Timer(0.1, lambda: other.set("later", "here"))
    thread.start()
    assert store.get("later") == b"here"
    thread.join()


def test_queues(store):
    if "in /" in repr(store):
        with pytest.raises(NotImplementedError, match="no queues"):
            store.queue_push("q", "1")
        return
    store.queue_push("q", "1"), store.queue_push("q", b"2")
    assert store.queue_len("q") == 2 and store.queue_pop("q") == b"1" and store.queue_pop("q") == b"2" and store.queue_len("q") == 0
    with pytest.raises(dist.QueueEmptyError):
        store.queue_pop("q", block=False)
    assert issubclass(dist.QueueEmptyError, dist.DistStoreError)
    other = store.clone()
    threading.Timer(0.1, lambda: other.queue_push("q", "late")).start()
    assert store.queue_pop("q") == b"late"


def test_a_file_that_ends_in_the_middle_of_a_record(tmp_path):
    path = tmp_path / "store"
    one = dist.FileStore(str(path), 2)
    one.set("k", "value")
    with open(path, "ab") as f:
        f.write(b"\5\0\0\0\7\0")  # what a killed process left
    two = dist.FileStore(str(path), 2)
    assert two.get("k") == b"value"
    two.set("l", "w")
    assert one.get("l") == b"w"
    del one, two
    assert not path.exists()  # the last one removes it
    for wrong in ("/dev/null", str(tmp_path), str(tmp_path / "no" / "folder")):
        with pytest.raises(dist.DistStoreError):
            dist.FileStore(wrong, 1)


def test_strangers_are_refused():
    code = """
import sys, time
from facula import distributed as dist
store = dist.TCPStore("127.0.0.1", 0, is_master=True, token="secret")
print(store.port, flush=True)
sys.stdin.readline()
store.set("still", "here")
print(store.get("still").decode(), store.num_keys(), flush=True)
"""
    server = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    port = int(server.stdout.readline())
    for hello in (b"GET / HTTP/1.0\r\n\r\n", b"FCSTORE1\3bad", b"FCSTORE1", b"FCSTORE1\6secret" + b"\xff" * 8, b"FCSTORE1\6secret\1\0\0\0\x63"):
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(hello)
            s.shutdown(socket.SHUT_WR)
            s.settimeout(10)
            while s.recv(100):
                pass
    with pytest.raises(dist.DistNetworkError, match="token of this run is wrong"):
        dist.TCPStore("127.0.0.1", port, token="wrong", timeout=timedelta(seconds=3))
    half = socket.create_connection(("127.0.0.1", port))
    half.sendall(b"FCST")
    friend = dist.TCPStore("127.0.0.1", port, token="secret")
    friend.set("mine", "1")
    out, err = server.communicate("go\n", timeout=20)
    assert out.split() == ["here", "2"]
    assert err.count("the store refused 127.0.0.1:") == 6, err
    assert "does not speak the store's protocol" in err and "does not know the token" in err and "no message" in err


def test_addresses():
    first = dist.TCPStore("localhost", 0, is_master=True)
    assert first.port > 0 and first.host == "localhost"
    with pytest.raises(dist.DistNetworkError, match=f"port {first.port} of 127.0.0.1 is in use"):
        dist.TCPStore("127.0.0.1", first.port, is_master=True)
    with socket.socket() as s:  # nobody but this machine reaches it
        outside = [a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET) if not a[4][0].startswith("127.")]
        if outside:
            assert s.connect_ex((outside[0], first.port)) != 0
    begin = time.monotonic()
    with pytest.raises(dist.DistNetworkError, match="Is the process of rank 0"):
        dist.TCPStore("127.0.0.1", 1, timeout=timedelta(seconds=0.3))
    assert time.monotonic() - begin < 5
    with pytest.raises(dist.DistNetworkError, match="has no address"):
        dist.TCPStore("no.such.host.invalid", 29500, timeout=timedelta(seconds=1))
    for port in (-1, 70000):
        with pytest.raises(ValueError, match="is no port"):
            dist.TCPStore("127.0.0.1", port)


def test_after_a_fork():
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            store.set("a", "b")
        except dist.DistStoreError as e:
            os.write(write, str(e).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert b"opened before a fork" in os.read(read, 1000)
    store.set("a", "c")
    assert store.get("a") == b"c"


def test_rendezvous_of_launchers(monkeypatch):
    from facula.distributed import _rendezvous as meeting

    for name in [v for vs in meeting._LAUNCHERS.values() for v in vs] + ["MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID", "SLURM_NODELIST", "PMIX_NAMESPACE"]:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="environment variable RANK expected"):
        next(iter(dist.rendezvous("env://")))
    monkeypatch.setenv("SLURM_PROCID", "3"), monkeypatch.setenv("SLURM_NTASKS", "8"), monkeypatch.setenv("SLURM_LOCALID", "1")
    monkeypatch.setenv("SLURM_NODELIST", "node[03-07,12],login"), monkeypatch.setenv("SLURM_JOB_ID", "77")
    assert meeting.launcher() == ("Slurm", 3, 8) and meeting.local_rank() == 1
    host, port = meeting.master()
    assert host == "node03" and 20000 <= port < 30000 and meeting.master() == (host, port)
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1"), monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    assert meeting.launcher() == ("Open MPI", 1, 4)
    monkeypatch.setenv("MASTER_PORT", "x")
    with pytest.raises(ValueError, match="MASTER_PORT is 'x'"):
        meeting.master()
    with pytest.raises(RuntimeError, match="No rendezvous handler for carrier://"):
        next(iter(dist.rendezvous("carrier://pigeon")))
    with pytest.raises(ValueError, match="port number missing"):
        next(iter(dist.rendezvous("tcp://127.0.0.1", 0, 1)))
