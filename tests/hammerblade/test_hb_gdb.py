# SPDX-License-Identifier: Apache-2.0
"""A debugger on the simulated tiles: with GDB itself, and by its protocol where a debugger goes away."""

import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap

import pytest
from cosim import needs_compiler

pytestmark = needs_compiler
needs_gdb = pytest.mark.skipif(shutil.which("gdb-multiarch") is None, reason="gdb-multiarch is not installed (make setup-cosim)")
KERNEL = """#include <facula_hb/kernel.h>
__attribute__((noinline)) int weighed(int value, int by) {
  return value * by;
}
void weigh(hb::DenseOut<int32_t> out, int32_t by) {
  for (int i = __bsg_id; i < out.numel; i += bsg_tiles_X * bsg_tiles_Y)
    out.data[i] = weighed(i, by);
}
HB_KERNEL_PLAIN(weigh, "")
void lost(hb::DenseOut<int32_t> out, int32_t by) {
  if (__bsg_id == 3) *(volatile int*)0x5000 = by;
}
HB_KERNEL_PLAIN(lost, "")
"""
PROGRAM = """
import facula as torch
torch.hammerblade.load("weigh.cpp")
x = torch.ones(8).hammerblade()
out = torch.zeros(40, dtype=torch.int32).hammerblade()
assert (x + x).cpu().sum() == 16  # a kernel of another program
torch.hammerblade.launch("tensorlib_weigh", out, 3)
print(out.cpu().tolist() == [3 * i for i in range(40)], out.cpu()[7].item())
try:
    torch.hammerblade.launch("tensorlib_lost", out, 3)
except RuntimeError as e:
    print(str(e).partition("which")[0])
torch.hammerblade.launch("tensorlib_weigh", out, 4)
print(out.cpu()[39].item())
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "weigh.cpp").write_text(KERNEL)
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    return tmp_path


def gdb(folder, *commands, fidelity="functional"):
    words = [word for one in commands for word in ("--ex", one)]
    command = [sys.executable, "-m", "facula", "hb", "gdb", "--machine", "4x4", "--fidelity", fidelity, "--batch", *words, "program.py"]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=6000)
    return done.returncode, done.stdout, done.stderr


@needs_gdb
@pytest.mark.parametrize("fidelity", ["functional", "timed"])
def test_breakpoints_steps_registers_and_memory(folder, fidelity):
    status, said, errors = gdb(
        folder,
        "break weighed if value == 7",
        "continue",
        "printf \"at %d by %d in %d\\n\", value, by, __bsg_id",
        "info registers a0 a1",
        "backtrace",
        "set variable $a1 = 5",  # into the tile's register: 7 * 5
        "stepi",
        "info threads",
        "delete",
        "tbreak tensorlib_lost",
        "continue",
        "thread 6",
        "printf \"tile %d of row %d\\n\", __bsg_x, __bsg_y",
        "set variable __bsg_y = 9",
        "print __bsg_y",
        "set variable __bsg_y = 1",
        "continue",  # to what is wrong with it
        "continue",
        fidelity=fidelity,
    )  # fmt: skip
    assert status == 0, said + errors
    assert re.search(r'Thread 8 "\(3,1\)" hit', said) and "at 7 by 3 in 7" in said
    assert re.search(r"a0 +0x7\b", said) and re.search(r"a1 +0x3\b", said)
    assert re.search(r"#1 .* weigh .*weigh.cpp:7", said)
    assert len(re.findall(r"\(tile \(\d,\d\) ", said)) >= 16 and "in the kernel" in said
    assert "tile 1 of row 1" in said and "= 9" in said
    assert "False 35" in said  # the value that the debugger put there
    assert "SIGSEGV" in said and re.search(r"tile \(3,0\) writes 4 bytes at 0x00005000", said)
    assert said.rstrip().splitlines()[-1] == "[Inferior 1 (Remote target) exited normally]" and "\n156\n" in said


@needs_gdb
def test_one_tile_is_stepped(folder):
    status, said, errors = gdb(folder, "break weighed", "continue", "set scheduler-locking on", "print $pc", "stepi", "stepi", "print $pc", "thread 2", "info frame", "set scheduler-locking off", "delete", "continue", "continue")
    assert status == 0, said + errors
    before, after = (int(pc, 16) for pc in re.findall(r"= .* (0x[0-9a-f]{8}) <", said))
    assert after != before
    assert "_start ()" in said.partition("thread 2")[2] and "True 21" in said  # the second tile has not begun


@needs_gdb
def test_who_kills_and_who_leaves(folder):
    status, said, errors = gdb(folder, "break weighed", "continue", "detach")
    assert status == 0 and "True 21" in said and "has let go; the program runs on without it" in errors
    status, said, errors = gdb(folder, "break weighed", "continue", "kill")
    assert status != 0 and "tensorlib_weigh: ended by the debugger" in errors


def packet(text):
    return f"${text}#{sum(text.encode()) & 255:02x}".encode()


def reply(peer):
    """The payload of the next packet."""
    got = b""
    while not re.search(rb"\$[^#]*#..$", got):
        part = peer.recv(4096)
        assert part, got
        got += part
    return re.search(rb"\$([^#]*)#..$", got)[1].decode()


def start(folder):
    """The program, waiting, and a connection to it."""
    command = [sys.executable, "-m", "facula", "hb", "gdb", "--machine", "4x4", "--port", "0", "program.py"]
    running = subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    line = running.stderr.readline()
    while "target remote" not in line:
        assert line, "it does not wait"
        line = running.stderr.readline()
    return running, socket.create_connection(("localhost", int(re.search(r"localhost:(\d+)", line)[1])), timeout=600)


def test_a_debugger_that_disconnects(folder):
    running, peer = start(folder)
    with peer:
        peer.sendall(packet("?"))
        assert reply(peer).startswith("T05")
    said, errors = running.communicate(timeout=600)  # in the middle of a launch; it goes on
    assert "True 21" in said and "the debugger has gone; the program runs on without it" in errors and running.returncode == 0


def test_packets_that_are_no_questions(folder):
    running, peer = start(folder)
    with peer:
        for text, want in [("m0,4", "E14"), ("m", "E01"), ("mffffffff,ffffffffffffffff", "E14"), ("p999", "E01"), ("M20,4:00", "E01"), ("Hgffff", "E01"), ("P1=zz", "E01"),
                           ("Z0,5,4", "E01"), ("G00", "E01"), ("qXfer:features:read:target.xml:ffffff,10", "l"), ("qXfer:threads:read::0", "E01"), ("vMustReplyEmpty", ""), ("Z2,80000000,4", "")]:  # fmt: skip
            peer.sendall(packet(text))
            got = reply(peer)
            assert got == want or (text == "m0,4" and len(got) == 8), (text, got)
        peer.sendall(b"$g#00")  # a wrong sum is asked for again
        assert peer.recv(1) in (b"+", b"-")
        peer.sendall(b"$" + b"m" * 100000)  # no end: it is sent away
    said, errors = running.communicate(timeout=600)
    assert "True 21" in said and running.returncode == 0, errors


def test_what_cannot_be_debugged(folder, tmp_path):
    (tmp_path / "none.py").write_text("print('nothing')")
    for words, sentence in [
        (["missing.py"], "missing.py: no such file"),
        (["none.py"], "none.py ended (status 0) before it used the device"),
    ]:
        done = subprocess.run([sys.executable, "-m", "facula", "hb", "gdb", "--batch", *words], cwd=folder, text=True, capture_output=True)
        assert done.returncode and (sentence in done.stderr or "gdb-multiarch is not installed" in done.stderr)
    done = subprocess.run([sys.executable, "-c", "import facula as torch; torch.hammerblade.engine('sim', gdb='99999')"], text=True, capture_output=True)
    assert done.returncode and "gdb=99999: it is a port from 0 (any) to 65535" in done.stderr


def test_lines(folder):
    """A line for each cycle, a character for each tile."""
    environment = {**os.environ, "FACULA_HB_MACHINE": "4x4"}
    start_it = "import sys; sys.argv[0] = 'pycosim.trace'; from facula._cosim import main; sys.exit(main())"
    run = "import facula as torch; x = torch.ones(64).hammerblade(); torch.hb_trace_enable(); x + x"
    done = subprocess.run([sys.executable, "-c", start_it, "-c", run], cwd=folder, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([sys.executable, "-m", "facula", "hb", "lines", "."], cwd=folder, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert "waits for DRAM" in rows[0] and rows[1].split() == ["cycle", "y0", "y1", "y2", "y3"]
    assert any(re.search(r"^ +\d+  .*[LF.]", row) for row in rows[2:]) and any("cycles more" in row for row in rows)
    done = subprocess.run([sys.executable, "-m", "facula", "hb", "lines", "--wide", "--tiles", "1,2", "."], cwd=folder, text=True, capture_output=True)
    assert done.returncode == 0 and "remote_flw_dram" in done.stdout and "1,2" in done.stdout.splitlines()[1]
    done = subprocess.run([sys.executable, "-m", "facula", "hb", "lines", "--tiles", "none", "."], cwd=folder, text=True, capture_output=True)
    assert done.returncode and "write x,y or x,y-x,y" in done.stderr
