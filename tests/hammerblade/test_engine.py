# SPDX-License-Identifier: Apache-2.0
"""What runs kernels: the engine in effect, chosen for the process or for a while, and what is refused."""

import os
import subprocess
import sys

import pytest


def say(expression: str, **variables: str) -> str:
    program = f"import facula as torch\nprint({expression})"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, **variables}, text=True, capture_output=True)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def test_the_engine_in_effect(torch):
    assert torch.hammerblade.engine() == "emul" and torch.hb_emul_on is True and torch.hb_cosim_on is False
    with torch.hammerblade.engine("emul") as engine:
        assert engine == "emul" and engine.settings == {}
    assert {"hb_emul_on", "hb_cosim_on"} <= set(dir(torch))


def test_the_engine_that_the_environment_asks_for(torch):
    names = "torch.hb_emul_on, torch.hb_cosim_on"  # as tests are collected: nothing is loaded for it
    for value, want in [("", "(True, False)"), ("emul", "(True, False)"), ("sim", "(False, True)")]:
        assert say(f"({names})", FACULA_HB=value) == want
    assert say("torch.hammerblade.engine()", FACULA_HB="emul", FACULA_HB_MODE="check") == "emul"
    assert "FACULA_HB=rtl: engines are emul and sim" in say("torch.ones(2, device='hammerblade')", FACULA_HB="rtl")
    assert "FACULA_HB_MODE=sim: modes are fast and check" in say("torch.ones(2, device='hammerblade')", FACULA_HB_MODE="sim")


def test_without_a_compiler_for_the_chip(torch, tmp_path):
    """A process that finds none says what to install, and the emulator goes on."""
    (tmp_path / "empty").mkdir()
    program = (
        "import facula as torch\nx = torch.arange(4.0).hammerblade()\n"
        "try:\n    with torch.hammerblade.engine('sim'): x + x\nexcept RuntimeError as e: print(e)\n"
        "print((x + x).cpu().sum())"
    )
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PATH": str(tmp_path / "empty")}, text=True, capture_output=True, check=True)
    assert "gcc-riscv64-unknown-elf and picolibc-riscv64-unknown-elf" in done.stdout and "tensor(12.)" in done.stdout


def test_what_an_engine_does_not_have(torch):
    with pytest.raises(RuntimeError, match="the engine 'emul' has no setting fidelity"):
        torch.hammerblade.engine("emul", fidelity="timed")
    with pytest.raises(RuntimeError, match="'emul' or 'sim'"):
        torch.hammerblade.engine("rtl")
    with pytest.raises(TypeError, match="with the engine's name"):
        torch.hammerblade.engine(fidelity="timed")
    with pytest.raises(RuntimeError, match="modes are fast, check and sim, not slow"):
        torch.hammerblade.mode("slow")


def test_tensors_and_modes_live_through_a_change(torch):
    x = torch.arange(100.0).hammerblade()
    with torch.hammerblade.mode("check", seed=3):
        with torch.hammerblade.engine("emul"):  # the emulator's mode is what it was
            assert torch.hammerblade.mode() == "check" and torch.hammerblade.mode().seed == 3
            y = x + x
        with torch.hammerblade.mode("fast"):
            z = y + x
        assert torch.hammerblade.mode() == "check" and torch.hammerblade.mode().seed == 3
    assert torch.equal(z.cpu(), torch.arange(100.0) * 3)
