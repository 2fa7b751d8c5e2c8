# SPDX-License-Identifier: Apache-2.0
"""Training programs in the manner of those that people start by torchrun: the losses of one process."""
import pathlib
import re
import socket
import subprocess
import sys

PROGRAMS = pathlib.Path(__file__).parent / "programs"


def test_the_lines_of_nano_gpt(ranks, tmp_path):
    alone = subprocess.run([sys.executable, "-m", "facula", "run", str(PROGRAMS / "nano_gpt.py")], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    wanted = [float(x) for x in alone.stdout.split()[1:]]
    assert len(wanted) == 20 and wanted[-1] < wanted[0], alone
    for n in (2, 4):
        found = [float(x) for x in re.search(r"losses (.*)", ranks(n, "nano_gpt.py", options=["--standalone"]))[1].split()]
        assert max(abs(a - b) for a, b in zip(found, wanted)) < 1e-5
        assert (tmp_path / "ckpt.pt").exists()


def test_the_lines_of_the_imagenet_example(tmp_path):
    epochs = []
    for n in (1, 2):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            url = f"tcp://127.0.0.1:{s.getsockname()[1]}"
        command = [sys.executable, "-m", "facula", "run", str(PROGRAMS / "imagenet.py"), "--dist-url", url, "--processes", str(n)]
        out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert out.returncode == 0, out
        epochs.append([(float(x), int(k)) for x, k in re.findall(r"loss ([\d.]+) over (\d+)", out.stdout)])
    assert len(epochs[0]) == 3 and all(abs(a - b) < 1e-5 and k == m == 64 for (a, k), (b, m) in zip(*epochs)), epochs
