# SPDX-License-Identifier: Apache-2.0
"""Programs of several processes on this machine."""

import os
import pathlib
import subprocess
import sys

import pytest

PROGRAMS = pathlib.Path(__file__).parent / "programs"


@pytest.fixture(scope="session", autouse=True)
def _engine(request):
    if request.config.getoption("--module") != "facula":
        pytest.skip("Facula's launcher")
    from facula import distributed

    if not distributed.is_gloo_available():
        pytest.skip("libgloo was not found when Facula was built")


@pytest.fixture
def ranks(tmp_path):
    """ranks(n, program, *arguments, options=[…], env={…}, status=0): runs it by torchrun; what it wrote, both streams."""

    def start(n, program, *arguments, options=(), env=None, status=0, timeout=120):
        path = tmp_path / "program.py" if "\n" in program else PROGRAMS / program
        if "\n" in program:
            path.write_text(program)
        command = [sys.executable, "-m", "facula.distributed.run", f"--nproc-per-node={n}", *options, str(path), *map(str, arguments)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", **(env or {})}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, cwd=tmp_path)
        assert status is None or done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    return start
