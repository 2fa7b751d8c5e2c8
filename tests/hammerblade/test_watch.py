"""What facula_hb.h tells a watcher: memory, launches, and each access of a kernel with the value that it has."""

import ctypes
import os
import struct
import subprocess
import sys

import pytest

from runtime import INVALID, Device, load

LOAD, STORE, ATOMIC = range(3)
KERNEL = """
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int watched(volatile int* words, char* bytes, int* total) {
  if (__bsg_id == 0) {
    words[0] = words[1];
    words[0] = words[0] + 1;  // another store to the same place, before another tile's turn
    words[2] = words[2];      // nothing changes
    for (int i = 0; i < 3; ++i) bytes[i] = 'x';
    memcpy((int*)words + 4, (int*)words + 8, 12);
  }
  bsg_amoadd(total, 1);
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(watched, volatile int*, char*, int*)
}
"""


class Memory(ctypes.Structure):
    _fields_ = [("what", ctypes.c_int32), ("ended", ctypes.c_int32), ("address", ctypes.c_uint32), ("value", ctypes.c_uint32),
                ("bytes", ctypes.c_uint64), ("host", ctypes.c_void_p)]  # fmt: skip


class Launch(ctypes.Structure):
    _fields_ = [("number", ctypes.c_uint64), ("kernel", ctypes.c_char_p), ("mode", ctypes.c_char_p), ("ended", ctypes.c_int32),
                ("told", ctypes.c_int32), ("tiles", ctypes.c_uint32), ("argc", ctypes.c_uint32),
                ("argv", ctypes.POINTER(ctypes.c_uint32)), ("lost", ctypes.c_uint64)]  # fmt: skip


class Access(ctypes.Structure):
    _fields_ = [("site", ctypes.c_uint64), ("value", ctypes.c_uint64), ("before", ctypes.c_uint64), ("address", ctypes.c_uint32),
                ("tile", ctypes.c_uint32), ("bytes", ctypes.c_uint8), ("kind", ctypes.c_uint8), ("type", ctypes.c_uint8),
                ("reserved", ctypes.c_uint8 * 5)]  # fmt: skip


ON_MEMORY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Memory))
ON_LAUNCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Launch))
ON_ACCESSES = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Access), ctypes.c_size_t)


class Watcher(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("context", ctypes.c_void_p), ("memory", ON_MEMORY),
                ("launch", ON_LAUNCH), ("accesses", ON_ACCESSES)]  # fmt: skip


class Watch:
    """`with Watch() as seen`: memory, launches and accesses as tuples, in their order."""

    def __enter__(self):
        self.library, self.memory, self.launches, self.accesses, self.sites = load(), [], [], [], {}
        self.library.facula_hb_watch.restype = self.library.facula_hb_site.restype = ctypes.c_long
        self.library.facula_hb_site.argtypes = [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]

        def memory(_, e):
            self.memory.append((e[0].what, e[0].ended, e[0].address, e[0].bytes))

        def launch(_, e):
            self.launches.append((e[0].kernel.decode(), e[0].mode.decode(), e[0].ended, e[0].told, e[0].tiles, e[0].lost))
            if e[0].ended:
                for a in self.accesses:
                    if a[5] not in self.sites:
                        out = ctypes.create_string_buffer(256)
                        assert self.library.facula_hb_site(a[5], out, 256) > 0
                        self.sites[a[5]] = out.value.decode()

        def accesses(_, all, n):
            for i in range(n):
                a = all[i]
                self.accesses.append((a.tile, a.kind, a.address, a.bytes, (a.before, a.value), a.site))

        self.watcher = Watcher(ctypes.sizeof(Watcher), 0, None, ON_MEMORY(memory), ON_LAUNCH(launch), ON_ACCESSES(accesses))
        self.number = self.library.facula_hb_watch(ctypes.byref(self.watcher))
        assert self.number > 0
        return self

    def __exit__(self, *_):
        self.library.facula_hb_unwatch(ctypes.c_long(self.number))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    load()
    path = tmp_path_factory.mktemp("watch") / "kernel_watched.cpp"
    path.write_text(KERNEL)
    return path


def test_every_access_comes_with_its_values(program):
    with Device(program, (2, 1), "check") as d, Watch() as seen:
        words, text, total = d.put("12i", *range(100, 112)), d.put("4s", b"abcd"), d.put("i", 5)
        d.launch("watched", words, text, total)
    assert [row[1:] for row in seen.launches] == [("check", 0, 1, 2, 0), ("check", 1, 1, 2, 0)]
    mine = [row[1:5] for row in seen.accesses if row[0] == 0]
    at = words
    assert mine[:6] == [
        (LOAD, at + 4, 4, (0, 101)), (STORE, at, 4, (100, 101)), (LOAD, at, 4, (0, 101)), (STORE, at, 4, (101, 102)),
        (LOAD, at + 8, 4, (0, 102)), (STORE, at + 8, 4, (102, 102)),
    ]  # fmt: skip
    mine = [row for row in mine[6:] if row[0] != ATOMIC]
    assert mine[:3] == [(STORE, text + i, 1, (ord("abc"[i]), ord("x"))) for i in range(3)]
    assert [row[0] for row in mine[3:]].count(LOAD) == [row[0] for row in mine[3:]].count(STORE) > 0
    moved = b"".join(row[3][1].to_bytes(row[2], "little") for row in mine[3:] if row[0] == STORE)
    before = b"".join(row[3][0].to_bytes(row[2], "little") for row in mine[3:] if row[0] == STORE)
    assert struct.unpack("3i", moved) == (108, 109, 110) and struct.unpack("3i", before) == (104, 105, 106)
    atomics = sorted(row[4] for row in seen.accesses if row[1] == ATOMIC)
    assert atomics == [(5, 6), (6, 7)]
    assert {row[0] for row in seen.accesses} == {0, 1}
    assert all("kernel_watched.cpp:" in line for line in seen.sites.values()), seen.sites
    # A launch's packet is nobody's object: only the three blocks were touched.
    assert all(words <= row[2] < words + 48 or text <= row[2] < text + 4 or row[2] == total for row in seen.accesses)


def test_memory_and_copies_are_told_before_and_after(program):
    with Device(program, (2, 1), "check") as d, Watch() as seen:
        words = d.put("i", 7)
        assert d.read(words, "i") == (7,)
    whats = [(what, ended) for what, ended, address, _ in seen.memory if address == words]
    assert whats[:5] == [(0, 1), (2, 0), (2, 1), (3, 0), (3, 1)]


def test_fast_mode_says_that_it_tells_no_accesses(program):
    with Device(program, (2, 1), "fast") as d, Watch() as seen:
        d.launch("watched", d.put("12i", *range(12)), d.put("4s", b"abcd"), d.put("i", 5))
    assert [(row[1], row[3]) for row in seen.launches] == [("fast", 0), ("fast", 0)] and seen.accesses == []


def test_nobody_is_told_after_unwatch(program):
    with Device(program, (2, 1), "check") as d:
        with Watch() as seen:
            pass
        d.launch("watched", d.put("12i", *range(12)), d.put("4s", b"abcd"), d.put("i", 5))
    assert seen.launches == [] and seen.accesses == []


def test_a_watcher_of_another_size_is_refused():
    library = load()
    library.facula_hb_watch.restype = ctypes.c_long
    assert library.facula_hb_watch(ctypes.byref(Watcher(8))) == INVALID
    assert b"set its size" in library.facula_hb_last_error()
    assert library.facula_hb_watch(None) == INVALID


def test_a_library_that_watches_from_outside_is_loaded(tmp_path):
    load()
    program = "from runtime import Device\ntry:\n    Device('none.so')\nexcept Exception as e:\n    print(e)\n"
    environment = dict(os.environ, FACULA_HB_WATCH=str(tmp_path / "absent.so"), PYTHONPATH=os.pathsep.join(sys.path))
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert "FACULA_HB_WATCH=" in done.stdout and "cannot be loaded" in done.stdout, done.stdout + done.stderr
