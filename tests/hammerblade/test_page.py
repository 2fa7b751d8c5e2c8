# SPDX-License-Identifier: Apache-2.0
"""docs/hammerblade.md, followed to the letter: its blocks are written and run in their order, in one folder."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.not_sanitized

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not (shutil.which(os.environ.get("CXX", "c++").split()[0]) or shutil.which("g++")), reason="no C++ compiler to compile kernels with")
def test_every_block_of_the_page(torch, tmp_path):
    found = re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / "docs" / "hammerblade.md").read_text(), re.S | re.M)
    assert [kind for kind, _ in found] == ["python", "cpp", "python", "python", "python"]
    for kind, text in found:
        if kind == "cpp":
            (tmp_path / re.match(r"// (\S+)", text).group(1)).write_text(text)
            continue
        done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, timeout=300, text=True, stdout=subprocess.PIPE, check=True)
        for said in re.findall(r"# prints: (.*)", text):
            assert said in done.stdout, done.stdout


def test_the_ports_folders_and_scripts(tmp_path):
    for name in ["hammerblade/torch/pytest_runner.py", "hammerblade/torch/run-hb-pytest.sh", "hammerblade/fragments", "hammerblade/environment.mk", "c10/hammerblade"]:
        assert (ROOT / name).exists(), name
    for script in ["setup_emul_build_env.sh", "setup_cosim_build_env.sh"]:
        env = {**os.environ, "BRG_BSG_BLADERUNNER_DIR": "/opt/bladerunner"}
        done = subprocess.run(["sh", "-ec", f". ./{script}; echo USE=$USE_HAMMERBLADE"], cwd=ROOT, env=env, text=True, capture_output=True, check=True)
        assert "/opt/bladerunner is not needed" in done.stdout and "USE=1" in done.stdout
    done = subprocess.run([sys.executable, "pytest_runner.py", "--collect-only", "-q", "test_surface.py"], cwd=ROOT / "hammerblade/torch", text=True, capture_output=True, env={**os.environ, "PYTEST_WORKERS": "0"})
    assert "test_llcopy" in done.stdout, done.stdout + done.stderr
    done = subprocess.run([sys.executable, "pytest_runner.py", "nosuch.py"], cwd=ROOT / "hammerblade/torch", text=True, capture_output=True)
    assert done.returncode == 2 and "there is no test file nosuch.py" in done.stderr
