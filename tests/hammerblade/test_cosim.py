# SPDX-License-Identifier: Apache-2.0
"""pycosim and its kin, and docs/cosim.md followed literally."""

import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest
from cosim import needs_compiler

pytestmark = needs_compiler
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "cosim.md"
START = "import sys; sys.argv[0] = {name!r}; from facula._cosim import main; sys.exit(main())"


def cosim(name, *words, cwd, stdin="", **variables):
    command = [sys.executable, "-c", START.format(name=name), *map(str, words)]
    return subprocess.run(command, cwd=cwd, input=stdin, text=True, capture_output=True, env={**os.environ, "FACULA_HB_MACHINE": "4x4", **variables})


def facula(*words, cwd):
    return subprocess.run([sys.executable, "-m", "facula", *words], cwd=cwd, text=True, capture_output=True)


def test_five_steps_of_the_page(tmp_path):
    text = PAGE.read_text()
    for language, name in (("cpp", "twice.cpp"), ("python", "twice.py")):
        block = re.search(rf"```{language}\n(.*?)```", text, re.S)[1]
        (tmp_path / name).write_text(textwrap.dedent(block))
    done = cosim("pycosim.profile", "twice.py", cwd=tmp_path)
    assert done.returncode == 0 and re.search(r"\d+ cycles", done.stdout), done.stderr
    rows = [json.loads(line) for line in (tmp_path / "launches.jsonl").read_text().splitlines()]
    assert [r["kernel"] for r in rows] == ["tensorlib_twice"] and rows[0]["cycles"] == int(done.stdout.split()[0])
    done = facula("hb", "report", ".", cwd=tmp_path)
    assert done.returncode == 0 and "tensorlib_twice" in done.stdout and "100.0" in done.stdout, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert "tensorlib_twice" in page and "<svg" in page and "stall_" in page
    done = facula("hb", "compare", ".", ".", cwd=tmp_path)
    assert done.returncode == 0 and "tensorlib_twice" in done.stdout, done.stderr


def test_a_drop_in_for_python(tmp_path):
    said = "import torch; print(torch.hb_cosim_on, torch.hb_emul_on)"
    assert cosim("pycosim", "-c", said, cwd=tmp_path).stdout == "True False\n"
    assert cosim("pycosim", cwd=tmp_path, stdin=said).stdout == "True False\n"
    assert cosim("pycosim", "-c", "import sys; sys.exit(7)", cwd=tmp_path).returncode == 7
    (tmp_path / "test_it.py").write_text("import torch\ndef test_it():\n    assert torch.hb_cosim_on\n")
    assert cosim("pycosim", "-m", "pytest", "-q", "test_it.py", cwd=tmp_path).returncode == 0
    assert list(tmp_path.glob("*.csv")) == []


ADD = "import torch\nx = torch.ones(64).hammerblade()\ny = x + x\n"


def test_traces_and_waves(tmp_path):
    done = cosim("pycosim.wave", "--fidelity=timed", "-c", ADD, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "vanilla_operation_trace.csv") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["cycle", "x", "y", "pc", "operation"]
    cycles = [int(r["cycle"]) for r in rows]
    assert cycles == sorted(cycles) and {"lw", "flw"}.isdisjoint(r["operation"] for r in rows)
    assert {"remote_flw_dram", "fadd", "stall_lr_aq", "stall_ifetch_wait"} <= {r["operation"] for r in rows}
    of_one = [c for c, r in zip(cycles, rows, strict=True) if (r["x"], r["y"]) == ("1", "1")]
    assert of_one == list(range(of_one[0], of_one[-1] + 1))  # one thing in each cycle
    wave = (tmp_path / "debug.vcd").read_text()
    assert wave.startswith("$timescale") and "$enddefinitions" in wave and "tile_3_3" in wave
    assert (tmp_path / "vcache_operation_trace.csv").read_text().startswith("cycle,vcache,operation\n")
    assert facula("hb", "report", ".", cwd=tmp_path).returncode == 0
    picture = (tmp_path / "blood.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and "data:image/png" in (tmp_path / "report.html").read_text()


def test_statistics(tmp_path):
    assert cosim("pycosim.profile", "-c", ADD, cwd=tmp_path).returncode == 0
    with open(tmp_path / "vanilla_stats.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 16 and {int(r["tag"]) >> 30 for r in rows} == {2, 3}  # kernel start and end, of each tile
    for r in rows:
        instructions = sum(int(v) for k, v in r.items() if k.startswith("instr_") and k != "instr_total")
        assert instructions == int(r["instr_total"])
        waits = sum(int(v) for k, v in r.items() if k.startswith(("stall_", "bubble_")))
        assert abs(instructions + waits - int(r["cycle"])) <= 2
    header = (tmp_path / "vcache_stats.csv").read_text().partition("\n")[0]
    assert header.startswith("time,vcache,global_ctr,tag,instr_ld,instr_st,instr_atomic")
    assert cosim("pycosim.saif", "-c", ADD, cwd=tmp_path).returncode == 0
    assert (tmp_path / "run.saif").read_text().startswith("(SAIFILE")


def test_what_is_refused(tmp_path):
    done = cosim("pycosim", "--fidelity", "quick", "-c", ADD, cwd=tmp_path)
    assert done.returncode and "fidelities are functional, timed and trace, not quick" in done.stderr
    old = tmp_path / "old.machine"
    old.write_text('name = "old"\n[barrier]\ncycles = 40\n')
    done = cosim("pycosim", "-c", ADD, cwd=tmp_path, FACULA_HB_MACHINE=str(old))
    assert done.returncode and "belongs to the old form of machine files" in done.stderr
    (tmp_path / "full").mkdir(mode=0o555)
    if os.geteuid():  # root writes anywhere
        done = cosim("pycosim.profile", "-c", ADD, cwd=tmp_path / "full")
        assert done.returncode and "cannot be written" in done.stderr


@pytest.mark.parametrize(
    "body, sentence",
    [
        ("unsigned v = (unsigned)n; __asm__ volatile(\"mulhu %0, %0, %0\" : \"+r\"(v)); *p = (int)v;", "mulhu, which the core does not have"),
        ("__asm__ volatile(\"lr.w %0, (%1)\" : \"=r\"(n) : \"r\"(p)); *p = n;", "which is not in its own scratchpad"),
        ("__asm__ volatile(\"amoxor.w %0, %0, (%1)\" : \"+r\"(n) : \"r\"(p)); *p = (int)n;", "an atomic operation that the caches do not have"),
        ("volatile char big[5000]; big[n] = 1; *p = big[n];", "but the scratchpad has 4096"),
        ("volatile int word = 0; bsg_amoswap((int*)&word, n); *p = word;", "which is in a scratchpad: only DRAM has them"),
        ("int word = 0; while (bsg_lr(&word) != 1) bsg_lr_aq(&word); *p = word;", "every tile waits, and nobody writes what they wait for"),
        ("*(volatile int*)0x5000 = n;", "which nothing answers to"),
    ],
    ids=["mulh", "lr on DRAM", "amo", "scratchpad", "amo on scratchpad", "deadlock", "unmapped"],
)  # fmt: skip
def test_what_emulation_passes_and_the_chip_rejects(torch, tmp_path, body, sentence):
    chip = f"#ifdef HB_EMUL\n(void)p; (void)n;\n#else\n{body}\n#endif\n"
    file = tmp_path / "rejected.cpp"
    file.write_text(f'#include <facula_hb/kernel.h>\nvoid rejected(hb::DenseOut<int32_t> out, int32_t n) {{\nint* p = (int*)out.data;\n{chip}}}\nHB_KERNEL_PLAIN(rejected, "")\n')
    torch.hammerblade.load(file)
    out = torch.zeros(8, dtype=torch.int32).hammerblade()
    torch.hammerblade.launch("tensorlib_rejected", out, 3)
    torch.hammerblade.tiles(4, 4)
    for fidelity in ("functional", "timed"):
        with torch.hammerblade.engine("sim", fidelity=fidelity):
            with pytest.raises(RuntimeError) as failed:
                torch.hammerblade.launch("tensorlib_rejected", out, 3)
            assert sentence in str(failed.value) and "tensorlib_rejected" in str(failed.value), failed.value
            assert "rejected.cpp:" in str(failed.value)
            assert (out + out).cpu().sum() == 0  # the device can be used again


@pytest.mark.parametrize(
    "before, body, sentence",
    [
        ('extern "C" float not_there(float);', "out.data[0] = not_there(1.0f);", "does not link for the chip: not_there is missing"),
        ("struct S { S(); int v; }; S::S() { v = __bsg_id; } S s;", "out.data[0] = s.v;", "constructor, and none runs on the device"),
        ("int table[1200];", "table[out.numel] = 1; out.data[0] = table[3];", "its variables leave no room for a stack in a tile's scratchpad of 4096 bytes"),
    ],
    ids=["symbol", "constructor", "variables"],
)
def test_programs_that_do_not_link(torch, tmp_path, before, body, sentence):
    head, tail = "#include <facula_hb/kernel.h>\n#ifdef HB_EMUL\n#define BODY\n#else\n", 'HB_KERNEL_PLAIN(unlinked, "")\n'
    file = tmp_path / "unlinked.cpp"
    file.write_text(f"{head}{before}\n#define BODY {body}\n#endif\nvoid unlinked(hb::DenseOut<float> out) {{ (void)out; BODY }}\n{tail}")
    torch.hammerblade.load(file)
    out = torch.zeros(4).hammerblade()
    with torch.hammerblade.engine("sim", fidelity="functional"):
        with pytest.raises(RuntimeError, match=sentence):
            torch.hammerblade.launch("tensorlib_unlinked", out)
        assert (out + 1).cpu().sum() == 4


@pytest.mark.parametrize("setting, sentence", [({"colour": "red"}, "has no setting colour: it has fidelity"), ({"sample": "2/3"}, "sample is 1/n"), ({"limit": "-1"}, "limit is a number, not -1")])
def test_settings_that_are_not(torch, setting, sentence):
    with pytest.raises(RuntimeError, match=sentence):
        torch.hammerblade.engine("sim", **setting)
    assert torch.hammerblade.engine() == "emul"


def test_a_child_of_a_fork_simulates(torch):
    x = torch.ones(8).hammerblade()
    with torch.hammerblade.engine("sim", fidelity="functional"):
        x + x
        if (child := os.fork()) == 0:
            os._exit(0 if (x + x).cpu().sum() == 16 else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_a_sweep(tmp_path):
    (tmp_path / "add.py").write_text(ADD)
    done = facula("hb", "sweep", "--machine", "4x4", "--set", "tiles.x=2,4", "add.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [r[0] for r in rows] == ["2", "4"] and all(int(r[2]) > 0 for r in rows)
    (tmp_path / "own.py").write_text("import torch\ntorch.hammerblade.tiles(2, 1)\nx = torch.ones(64).hammerblade()\ny = x + x\n")
    done = facula("hb", "sweep", "--machine", "4x4", "--set", "tiles.x=4", "own.py", cwd=tmp_path)
    assert done.returncode == 0 and "own.py chooses its own mesh, so tiles.x=4 was not what ran" in done.stderr
    assert "`facula hb machine` lists the keys" in facula("hb", "sweep", "--set", "tiles.z=1", "add.py", cwd=tmp_path).stderr
