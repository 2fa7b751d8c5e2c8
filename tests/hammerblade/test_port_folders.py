# SPDX-License-Identifier: Apache-2.0
"""The port's folders for a user's own kernels and tests."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
KERNEL = """#include <facula_hb/kernel.h>
void of_the_folder(hb::DenseOut<float> out, hb::DenseIn<float> in) {
  hb::each(out.numel, [&](int32_t i) { out.data[i] = in.data[i] + 1; });
}
HB_KERNEL_PLAIN(of_the_folder, "")
"""
TEST = """import facula as torch
def test_it():
    x = torch.zeros(5).hammerblade()
    y = torch.empty(5).hammerblade()
    torch.hammerblade.launch("tensorlib_of_the_folder", y, x)
    assert y.cpu().sum() == 5
"""


def test_a_kernel_and_a_test_of_a_user(torch, tmp_path):
    (tmp_path / "kernel_of_the_folder.cpp").write_text(KERNEL)
    (tmp_path / "kernel_wrong.cpp").write_text("int f( {}")
    test = tmp_path / "test_of_the_folder.py"
    test.write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-s", "-q", "-p", "no:cacheprovider", str(test)]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, env={**os.environ, "FACULA_HB_KERNELS": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kernel_wrong.cpp" in done.stderr  # told; the other one serves


def test_where_they_are():
    for folder in ("kernel", "tests"):
        assert (ROOT / "hammerblade" / "torch" / folder / "README.md").exists()
