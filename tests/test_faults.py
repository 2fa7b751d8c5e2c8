# SPDX-License-Identifier: Apache-2.0
"""An allocation that fails is an exception, and nothing else: tests/faults, one program whole and a sample of all
(make test-faults refuses every allocation of each).
"""
import os
import pathlib
import subprocess
import sys

import facula
import pytest

HERE = pathlib.Path(__file__).parent
LIBRARY = pathlib.Path(os.path.abspath(facula.__file__)).parents[2] / "tests" / "faults" / "faults.so"


@pytest.mark.skipif(not LIBRARY.exists(), reason="a sanitizer has its own allocator")
@pytest.mark.parametrize("choice, programs", [(("--only", "custom_function"), 1), (("--sample", "12"), 16)])
def test_refused_allocations(choice, programs):
    environment = {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", "LD_PRELOAD": str(LIBRARY)}
    done = subprocess.run([sys.executable, "-m", "faults", *choice], capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("allocations refused, 0 findings") == programs, done.stdout
