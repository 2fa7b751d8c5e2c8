# SPDX-License-Identifier: Apache-2.0
"""What the simulated machine takes: one measurement for each of its numbers, and the same cycles each time."""

import os
import pathlib
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


def each(measure, name, out, *more, n=64):
    """Cycles of one turn of a kernel's loop, when its code is in the instruction cache."""
    measure(name, out, n, *more)
    return (measure(name, out, 5 * n, *more) - measure(name, out, n, *more)) / (4 * n)


def words(torch, n=8):
    return torch.zeros(n, dtype=torch.int32).hammerblade()


def test_latencies(torch, measure):
    out = words(torch)
    assert each(measure, "nothing", out) == pytest.approx(2, abs=0.1)  # count, branch
    assert each(measure, "divide", out) == pytest.approx(40, abs=0.5)
    assert each(measure, "float_add", out) == pytest.approx(4, abs=0.2)
    assert each(measure, "branch", out) == pytest.approx(2 + 1 + 2, abs=0.2)  # the branch and two bubbles


def test_network(torch, measure):
    out = words(torch)
    hops = {x: each(measure, "hops", out, x) for x in (1, 2, 3, 6, 15)}
    assert hops[2] - hops[1] == pytest.approx(2, abs=0.2)  # there and back, one cycle each
    assert hops[3] == pytest.approx(hops[1], abs=0.2)  # an express link spans three
    assert hops[6] == pytest.approx(hops[2], abs=0.2) and hops[15] == pytest.approx(hops[3] + 8, abs=0.2)


def chain(torch, measure, stride, n=256):
    """Cycles of a load that waits for the one before: the first time, and when it was there already."""
    made = torch.zeros(stride * n + 1, dtype=torch.int32)
    at = torch.arange(n) * stride
    made[at] = ((at + stride) % (n * stride)).to(torch.int32)
    on_device = made.hammerblade()
    measure("dram_chain", on_device, 1)
    little = measure("dram_chain", on_device, 1)
    first, again = measure("dram_chain", on_device, n - 1), measure("dram_chain", on_device, n - 1)
    return (first - little) / (n - 2), (again - little) / (n - 2)


def test_memory(torch, measure):
    miss, hit = chain(torch, measure, 32)  # a line each
    assert 40 <= miss <= 120 and 8 <= hit <= 32
    miss, again = chain(torch, measure, 32 * 32 * 64)  # one set of one bank: more lines than it has ways
    assert again > 0.8 * miss


def test_barriers_and_launches(torch, measure):
    assert 100 <= each(measure, "barriers", words(torch), n=16) <= 1000
    torch.hammerblade.tiles(3, 3)
    assert each(measure, "barriers", words(torch), n=16) == pytest.approx(181, rel=0.2)  # as measured on the chip's RTL
    torch.hammerblade.tiles(16, 8)
    out = words(torch)
    measure("nothing", out, 0)
    before = torch.hammerblade.cycle()
    own = measure("nothing", out, 0)
    assert own < 2000 and 50000 <= torch.hammerblade.cycle() - before - own <= 63330  # 55 000 to 63 330 were measured


def test_the_loop_that_the_port_measured(torch, measure):
    n = 128 * 256
    x, y = torch.randn(n).hammerblade(), torch.empty(n).hammerblade()
    measure("scale", y, x, n)
    x, y = torch.randn(n).hammerblade(), torch.empty(n).hammerblade()
    assert measure("scale", y, x, n) / 256 == pytest.approx(74 + 10, rel=0.15)  # 74 of waiting, seven instructions, the store


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
