# SPDX-License-Identifier: Apache-2.0
"""What the simulated machine takes: one measurement for each of its numbers, and the same cycles each time."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from cosim import needs_compiler

pytestmark = needs_compiler
KERNELS = pathlib.Path(__file__).parent / "kernels_for_sim.cpp"


@pytest.fixture
def measure(torch):
    torch.hammerblade.machine("pod_X1Y1_ruche_X16Y8")
    torch.hammerblade.load(KERNELS)

    def cycles(name, first, *more):
        torch.hammerblade.launch(f"tensorlib_measure_{name}", first, *more)
        return torch.hammerblade.kernel_cycles()

    with torch.hammerblade.engine("sim", fidelity="timed"):
        yield cycles


def each(measure, name, out, *more, n=1024):
    """Cycles of one turn of a kernel's loop, when its code is in the instruction cache."""
    measure(name, out, n, *more)
    return (measure(name, out, 5 * n, *more) - measure(name, out, n, *more)) / (4 * n)


def words(torch, n=8):
    return torch.zeros(n, dtype=torch.int32).hammerblade()


def linked(torch, stride, n):
    """A list on the device in which each word says where the next one is, round and round."""
    made = torch.zeros(stride * n + 1, dtype=torch.int32)
    at = torch.arange(n) * stride
    made[at] = ((at + stride) % (n * stride)).to(torch.int32)
    return made.hammerblade()


def loads(torch, measure, stride, n):
    """Cycles of a load that waits for the one before, when the list has been read already."""
    on_device = linked(torch, stride, n)
    measure("dram_chain", on_device, n)
    # What tile 0 does while the host still wakes the others is not in the kernel's time, so short runs have none.
    return (measure("dram_chain", on_device, 1536) - measure("dram_chain", on_device, 512)) / 1024


def documented():
    """What docs/cosim.md says: row, measured, published."""
    text = (pathlib.Path(__file__).parents[2] / "docs" / "cosim.md").read_text()
    rows = re.findall(r"^\| ([^|]+?) \| ([\d .]+?) %? ?\| ([^|]*?) \| ([^|]*?) \|$", text, re.M)
    return {name: float(measured.replace(" ", "")) for name, measured, _, _ in rows}


def test_every_number_is_what_the_documentation_says():
    """In a process of its own: a bank's distance depends on where tensors lie, in which tests before this one would have a say."""
    test = f"{__file__}::test_every_number_of_a_fresh_process"
    environment = {**os.environ, "FACULA_TEST_FRESH": "1"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", test], env=environment, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif("FACULA_TEST_FRESH" not in os.environ, reason="the test before this one runs it in a process of its own")
def test_every_number_of_a_fresh_process(torch, measure, tmp_path):
    out, said, got = words(torch), documented(), {}
    loop = each(measure, "nothing", out)  # count, branch
    for row, kernel, times, less in (
        ("sum, to use", "add", 32, 0), ("product, to use", "multiply", 32, 0), ("quotient", "divide", 8, 0),
        ("float sum, to use", "float_add", 32, 0), ("float product, to use", "float_multiply", 32, 0), ("fused product and sum, to use", "float_fused", 32, 0),
        ("float quotient", "float_divide", 8, 0), ("local load, to use", "local_load", 32, 1), ("local float load, to use", "local_load_float", 32, 1),
        ("local store", "local_store", 32, 0), ("branch predicted wrong, bubbles", "branch", 32, 1), ("jump predicted wrong, bubbles", "jump", 32, 3),
        ("miss of the instruction cache, wait and bubbles", "much_code", 512, 4),
    ):  # fmt: skip
        got[row] = (each(measure, kernel, out, n=4 if times > 100 else 128) - loop) / times - less
    hops = {x: each(measure, "hops", out, x) for x in (1, 2, 3, 6, 15)}
    got["hop, one way"] = (hops[2] - hops[1]) / 2
    got["three tiles by express link, one way"] = (hops[6] - hops[3]) / 2
    assert hops[3] == pytest.approx(hops[1], abs=0.2) and hops[15] == pytest.approx(hops[3] + 8, abs=0.2)
    got["word in a cache bank"] = loads(torch, measure, 32, 128)
    got["word in another row of DRAM"] = loads(torch, measure, 32 * 32 * 64, 32)  # one set of one bank: more lines than it has ways
    first = [measure("dram_chain", linked(torch, 32 * 32, n), n - 1) for n in (1024, 512)]  # 16 lines of each row, never read before
    got["word in an open row of DRAM"] = (16 * (first[0] - first[1]) / 512 - got["word in another row of DRAM"]) / 15
    got["turn of 128 tiles at one word of one bank"] = each(measure, "one_bank", out, n=64)
    torch.hammerblade.tiles(3, 3)
    got["barrier of 3 × 3 tiles, software"] = each(measure, "barriers", words(torch), n=16)
    torch.hammerblade.tiles(16, 8)
    out = words(torch)
    measure("nothing", out, 0)
    before = torch.hammerblade.cycle()
    got["launch, 16 × 8 tiles"] = -measure("nothing", out, 0) + torch.hammerblade.cycle() - before
    n = 128 * 256
    with torch.hammerblade.engine("sim", fidelity="timed", files="profile", folder=tmp_path):
        for _ in range(2):  # the second time the code is in the caches
            measure("scale", torch.empty(n).hammerblade(), torch.randn(n).hammerblade(), n)
    launch = json.loads((tmp_path / "launches.jsonl").read_text().splitlines()[-1])
    tile_cycles = launch["cycles"] * 128
    works = launch["instructions"] + sum(v for k, v in launch["stalls"].items() if k.startswith("bubble_") or k == "stall_bypass")
    got["loop that scales, 128 tiles: cycles of a turn"] = launch["cycles"] / 256
    got["loop that scales: instructions a cycle and tile"] = launch["instructions"] / tile_cycles
    got["loop that scales: cycles in which tiles wait"] = 100 * (1 - works / tile_cycles)
    wrong = {row: (round(value, 2), said.get(row)) for row, value in got.items() if row not in said or abs(value - said[row]) > max(0.02 * abs(value), 0.12 if value > 1 else 0.003)}
    assert not wrong, f"measured, and said by docs/cosim.md: {wrong}"


def test_the_same_cycles_each_time(torch):
    program = (
        "import facula as torch\ntorch.manual_seed(0)\na = torch.randn(24, 24).hammerblade()\nb = a @ a + a.softmax(1)\n"
        "print(torch.hammerblade.cycle(), b.sum().item())"
    )

    said = set()
    for threads in ("1", "2"):
        environment = {**os.environ, "FACULA_HB": "sim", "FACULA_HB_THREADS": threads, "FACULA_HB_MACHINE": "4x4"}
        said.add(subprocess.run([sys.executable, "-c", program], env=environment, text=True, capture_output=True, check=True).stdout)
    assert len(said) == 1 and int(said.pop().split()[0]) > 10000


def test_simulated_time_reaches_the_profiler(torch):
    x = torch.randn(64).hammerblade()
    with torch.hammerblade.engine("sim", fidelity="timed"):
        x + x
        torch.hammerblade.profiler.enable()
        y = x + x
        torch.hammerblade.profiler.disable()
        microseconds = torch.hammerblade.kernel_cycles() / 1000
    assert torch.equal(y.cpu(), (x + x).cpu())
    report = torch.hammerblade.profiler.stats(key=["ExecTime"], trimming=True)
    assert "no simulated time" not in report and 0 < microseconds < 100
    assert torch.hammerblade.profiler.total_time_in_ROI(trimming=True) > 0
