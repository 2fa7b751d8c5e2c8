# SPDX-License-Identifier: Apache-2.0
"""What a simulated run leaves behind, looked at by others: the page in a browser, the wave by vcd2fst."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from cosim import needs_compiler

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from browser import Browser, needs_browser

pytestmark = needs_compiler
KERNEL = """#include <facula_hb/kernel.h>
void scaled(hb::DenseOut<float> out, hb::DenseIn<float> in) {
  for (int i = __bsg_id; i < out.numel; i += bsg_tiles_X * bsg_tiles_Y)
    out.data[i] = in.data[i] * 3;
}
HB_KERNEL_PLAIN(scaled, "")
"""
PROGRAM = """
import torch
torch.hammerblade.load("scaled.cpp")
x, y = torch.ones(300).hammerblade(), torch.empty(300).hammerblade()
z = x + x
torch.hb_trace_enable()
torch.hammerblade.launch("tensorlib_scaled", y, x)
z = z * y
torch.hb_trace_disable()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    (folder / "scaled.cpp").write_text(KERNEL)
    (folder / "program.py").write_text(PROGRAM)
    start = "import sys; sys.argv[0] = 'pycosim.wave'; from facula._cosim import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", start, "program.py"], cwd=folder, env={**os.environ, "FACULA_HB_MACHINE": "4x4"}, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([sys.executable, "-m", "facula", "hb", "report", "."], cwd=folder, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_cycles_by_source_line(run):
    rows = [json.loads(line) for line in (run / "launches.jsonl").read_text().splitlines()]
    assert [row["kernel"] for row in rows] == ["tensorlib_scaled", "tensorlib_mul"]
    assert rows[0]["program"] != rows[1]["program"] and rows[0]["to"] <= rows[1]["from"]
    page = (run / "report.html").read_text()
    assert "<td>scaled.cpp:4<td>" in page and re.search(r"<td>(formula\.h|map_base\w*\.cpp|base\.def):\d+", page)  # of each program by its own lines


@needs_browser
def test_page_in_a_browser(run, tmp_path):
    with Browser(tmp_path) as page:
        page.open(run / "report.html")
        assert page.value("document.title") == "Simulated kernels"
        assert page.value("document.querySelector('img').naturalWidth") > 100
        assert page.value("document.querySelectorAll('svg rect').length") > 4
        assert page.value("document.querySelectorAll('table tr').length") > 5
        assert page.value("document.querySelector('.bar').getBoundingClientRect().width") > 100
        assert page.value("document.documentElement.scrollWidth <= window.innerWidth")
        page.keep("cosim.png")
        assert page.complaints() == []


@pytest.mark.skipif(shutil.which("vcd2fst") is None, reason="vcd2fst is not installed (Debian: gtkwave)")
def test_wave_is_read_by_others(run, tmp_path):
    done = subprocess.run(["vcd2fst", str(run / "debug.vcd"), str(tmp_path / "debug.fst")], text=True, capture_output=True)
    assert done.returncode == 0 and (tmp_path / "debug.fst").stat().st_size > 1000, done.stdout + done.stderr
    assert "error" not in (done.stdout + done.stderr).lower()
