# SPDX-License-Identifier: Apache-2.0
"""What goes wrong around a simulated launch: each has its sentence, and the device can be used again."""

import os
import shutil
import subprocess
import sys
import threading

import pytest
from cosim import needs_compiler

from runtime import KERNELS, Device, Failed

pytestmark = needs_compiler


def works(torch):
    x = torch.arange(50.0).hammerblade()
    return torch.equal((x + x).cpu(), torch.arange(50.0) * 2)


@pytest.mark.parametrize("fidelity", ["functional", "timed"])
def test_a_missing_final_barrier(torch, tmp_path, fidelity):
    file = tmp_path / "kernel_early.cpp"
    file.write_text(
        '#include <kernel_common.hpp>\nextern "C" {\n__attribute__((noinline)) int early(hb_tensor_t* t) {\n  HBTensor<float> out(t);\n  if (__bsg_id == 1) {\n'
        "    for (volatile int i = 0; i < 5000; ++i) {}\n    out(0) = 1;\n  }\n  return 0;\n}\nHB_EMUL_REG_KERNEL(early, hb_tensor_t*)\n}\n"
    )
    torch.hammerblade.load(file)
    torch.hammerblade.tiles(2, 2)
    with torch.hammerblade.engine("sim", fidelity=fidelity):
        with pytest.raises(RuntimeError, match=r"early: tile \(1,0\) ends without a barrier after writing at kernel_early.cpp:7"):
            torch.hammerblade.launch("early", torch.zeros(4).hammerblade())
        assert works(torch)


def test_text_that_is_too_large(torch, tmp_path):
    file = tmp_path / "large.cpp"
    file.write_text('#include <facula_hb/kernel.h>\nextern const char much[17 << 20];\nconst char much[17 << 20] = {1};\nvoid large(hb::DenseOut<float> out, int32_t n) { out.data[0] = much[n]; }\nHB_KERNEL_PLAIN(large, "")\n')
    torch.hammerblade.load(file)
    with torch.hammerblade.engine("sim"):
        with pytest.raises(RuntimeError, match="text and constants take more than the 16 MB that the chip has for them"):
            torch.hammerblade.launch("tensorlib_large", torch.zeros(4).hammerblade(), 1)
        assert works(torch)


@pytest.mark.parametrize("what, sentence", [("text", "it is no ELF file"), ("host", "it is not for RV32"), ("short", "the file ends too early")])
def test_a_program_of_another_machine(tmp_path, what, sentence):
    if not (KERNELS / "sound.so").exists():
        pytest.skip("the kernels of the tests are not built (BUILD_TEST)")
    shutil.copy(KERNELS / "sound.so", tmp_path / "sound.so")
    contents = {"text": b"a program" * 20, "host": (KERNELS / "sound.so").read_bytes(), "short": b"\x7fELF\x01\x01\x01"}[what]
    (tmp_path / "sound.riscv").write_bytes(contents)
    with pytest.raises(Failed, match=f"sound.riscv is no program for this machine: {sentence}"), Device(tmp_path / "sound.so", (2, 1), "sim"):
        pass
    with Device(KERNELS / "sound.so", (2, 1), "sim") as d:
        d.launch("nothing")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_disk_while_tracing(tmp_path):
    (tmp_path / "vanilla_operation_trace.csv").symlink_to("/dev/full")
    program = "import facula as torch\nx = torch.ones(64).hammerblade()\nfor _ in range(3): x = x + x\nprint(x.cpu().sum().item())"
    environment = {**os.environ, "FACULA_HB": "sim", "FACULA_HB_MACHINE": "4x4", "FACULA_HB_FILES": "trace", "FACULA_HB_FOLDER": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, text=True, capture_output=True)
    assert done.returncode == 0 and done.stdout == "512.0\n"
    assert done.stderr.count("cannot be written further: No space left on device") == 1, done.stderr


def test_an_exception_in_the_region(torch, tmp_path):
    torch.hammerblade.tiles(2, 2)
    with pytest.raises(ZeroDivisionError), torch.hammerblade.engine("sim", fidelity="timed", files="profile", folder=tmp_path):
        torch.hb_trace_enable()
        try:
            works(torch)
            1 / 0  # noqa: B018
        finally:
            torch.hb_trace_disable()
    assert torch.hammerblade.engine() == "emul" and works(torch)
    assert "tensorlib_add" in (tmp_path / "launches.jsonl").read_text()


def test_launches_of_several_threads(torch):
    torch.hammerblade.tiles(2, 2)
    wrong = []

    def run(value):
        for _ in range(5):
            x = torch.full((33,), float(value)).hammerblade()
            if (x * x).cpu().sum().item() != 33.0 * value * value:
                wrong.append(value)

    with torch.hammerblade.engine("sim", fidelity="timed"):
        threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert wrong == []


def test_a_fork():
    program = (
        "import os, facula as torch\nx = torch.ones(8).hammerblade()\nx + x\nchild = os.fork()\nif child == 0:\n"
        "    try:\n        os._exit(int((x + x).cpu().sum().item()))\n    except RuntimeError as e:\n        os.write(1, str(e).encode() + b'\\n')\n        os._exit(1)\n"
        "_, status = os.waitpid(child, 0)\nprint(os.waitstatus_to_exitcode(status), (x + x).cpu().sum().item())"
    )
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "FACULA_HB": "sim", "FACULA_HB_MACHINE": "4x4"}, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last == "16 16.0" or (last == "1 16.0" and "fork" in done.stdout), done.stdout + done.stderr
