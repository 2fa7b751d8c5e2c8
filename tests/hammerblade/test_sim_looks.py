# SPDX-License-Identifier: Apache-2.0
"""Who looks at simulated launches from outside: accesses with their values, samples with their interval, ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from cosim import needs_compiler
from test_watch import ATOMIC, LOAD, STORE, Watch

pytestmark = needs_compiler
KERNEL = """#include <facula_hb/kernel.h>
void looked_at(hb::DenseOut<int32_t> words, hb::DenseOut<float> floats, hb::DenseOut<int32_t> total) {
  volatile int32_t* w = words.data;
  if (__bsg_id == 0) {
    w[0] = w[1];
    w[0] = w[0] + 1;
    *(volatile char*)&w[3] = 'x';
    *(volatile float*)floats.data = 2.5f;
  }
#ifndef HB_EMUL
  bsg_amoadd((int*)total.data, 1);
#endif
}
HB_KERNEL_PLAIN(looked_at, "")
"""


@pytest.mark.parametrize("fidelity", ["functional", "timed"])
def test_every_access_comes_with_its_values(torch, tmp_path, fidelity):
    (tmp_path / "looked_at.cpp").write_text(KERNEL)
    torch.hammerblade.load(tmp_path / "looked_at.cpp")
    torch.hammerblade.tiles(2, 1)
    words, floats, total = torch.arange(100, 104, dtype=torch.int32).hammerblade(), torch.ones(1).hammerblade(), torch.tensor([5], dtype=torch.int32).hammerblade()
    with torch.hammerblade.engine("sim", fidelity=fidelity), Watch() as seen:
        torch.hammerblade.launch("tensorlib_looked_at", words, floats, total)
    assert [row[1:] for row in seen.launches] == [("sim", 0, 1, 2, 0), ("sim", 1, 1, 2, 0)]
    at = words.data_ptr() & 0xFFFFFFFF
    mine = sorted((row[2] - at, row[1], row[3], row[4]) for row in seen.accesses if row[0] == 0 and at <= row[2] < at + 16)
    want = [(4, LOAD, 4, (0, 101)), (0, STORE, 4, (100, 101)), (0, LOAD, 4, (0, 101)), (0, STORE, 4, (101, 102)), (12, STORE, 1, (103, ord("x")))]
    assert mine == sorted(want)
    one = 0x3F800000
    assert [row[4] for row in seen.accesses if row[2] == floats.data_ptr() & 0xFFFFFFFF] == [(one, 0x40200000)]
    assert sorted(row[4] for row in seen.accesses if row[1] == ATOMIC) == [(5, 6), (6, 7)]
    assert {row[0] for row in seen.accesses} == {0, 1}
    assert any("looked_at.cpp:5" in line for line in seen.sites.values()), seen.sites


def test_a_sample_has_an_interval(torch, tmp_path):
    torch.hammerblade.tiles(4, 4)
    tensors = [torch.ones(40 + i * 37 % 200).hammerblade() for i in range(40)]

    def total(**settings):
        with torch.hammerblade.engine("sim", fidelity="timed", **settings):
            for x in tensors:
                x + x
            return next(e for e in torch.hammerblade.estimates() if e.kernel == "tensorlib_add")

    every, some = total(sample="1/1"), total(sample="1/4", files="profile", folder=tmp_path)
    assert (every.launches, every.timed, every.interval) == (40, 40, 0)
    assert some.launches == 40 and 8 <= some.timed <= 14 and 0 < some.interval < some.cycles
    assert abs(some.cycles - every.cycles) < 2 * some.interval  # 95 % of programs lie within one
    rows = [json.loads(line) for line in (tmp_path / "launches.jsonl").read_text().splitlines()]
    assert len(rows) == 40 and sum("estimated" not in row for row in rows) == some.timed and rows[-1]["interval"] == int(some.interval)
    done = subprocess.run([sys.executable, "-m", "facula", "hb", "report", str(tmp_path)], text=True, capture_output=True)
    assert done.returncode == 0 and f"± {int(some.interval)}" in done.stdout, done.stdout + done.stderr
    assert torch.hammerblade.engine("sim", sample="1/1") == "sim"
    torch.hammerblade.mode("fast")


def test_a_sample_of_one_knows_no_interval(torch):
    torch.hammerblade.tiles(2, 2)
    with torch.hammerblade.engine("sim", fidelity="timed", sample="1/1000"):
        for _ in range(3):
            torch.ones(8).hammerblade() * 2
        one = next(e for e in torch.hammerblade.estimates() if e.kernel == "tensorlib_mul")
    assert (one.launches, one.timed) == (3, 1) and one.interval == float("inf")


HANGS = """
import facula as torch, sys
torch.hammerblade.load("hangs.cpp")
out = torch.zeros(8, dtype=torch.int32).hammerblade()
print("begins", flush=True)
try:
    torch.hammerblade.launch("tensorlib_hangs", out)
except KeyboardInterrupt as e:
    print("interrupted")
print((out + 3).cpu().sum().item())
"""


@pytest.mark.parametrize("fidelity", ["functional", "timed"])
def test_ctrl_c_ends_a_launch(tmp_path, fidelity):
    (tmp_path / "hangs.cpp").write_text('#include <facula_hb/kernel.h>\nvoid hangs(hb::DenseOut<int32_t> out) {\n  while (*(volatile int32_t*)out.data == 0) {}\n}\nHB_KERNEL_PLAIN(hangs, "")\n')
    environment = {**os.environ, "FACULA_HB": "sim", "FACULA_HB_FIDELITY": fidelity, "FACULA_HB_MACHINE": "4x4"}
    running = subprocess.Popen([sys.executable, "-c", HANGS], cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout.readline() == "begins\n"
    while running.poll() is None:  # whenever it comes: the kernel never ends by itself
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        if (said := running.stdout.readline()) == "interrupted\n":
            break
    said += running.stdout.read()
    assert running.wait() == 0 and said == "interrupted\n24\n", said + running.stderr.read()


def test_what_to_expect_is_said_before(tmp_path):
    program = "import facula as torch; x = torch.ones(8).hammerblade(); x + x; x * x"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "FACULA_HB": "sim", "FACULA_HB_MACHINE": "4x4"}, text=True, capture_output=True, check=True)
    assert done.stderr.count("4 x 4 tiles are simulated, timed: expect ") == 1 and "for each million cycles" in done.stderr
    functional = {**os.environ, "FACULA_HB": "sim", "FACULA_HB_MACHINE": "4x4", "FACULA_HB_FIDELITY": "functional"}
    assert "expect" not in subprocess.run([sys.executable, "-c", program], env=functional, text=True, capture_output=True, check=True).stderr
