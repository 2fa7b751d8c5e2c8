# SPDX-License-Identifier: Apache-2.0
"""Pages that tools write, in a headless browser: `make test-pages` installs one; without it the tests are skipped."""

import html
import os
import pathlib
import re
import shutil
import subprocess
import urllib.parse

import pytest

from facula.library_profile import model, page
from facula.library_profile.record import Calls, Place, Product, Samples

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(not BROWSER, reason="no chromium: make test-pages installs it")


def browse(path, *options, tmp_path):
    """What chromium prints. It asks for no network, no display and no sandbox, which containers do not allow."""
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={tmp_path}/browser", *options]
    return subprocess.run([*command, path], capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(tmp_path)}).stdout


def profile():
    """Two threads, Python over C, a name that would close the script element."""
    python = [Place("/x/program.py", 0, name, line) for name, line in (("<module>", 9), ("train", 4))]
    stacks = [([(7, 7, "p"), *python, Place("/lib/libwork.so", 16), Place("", 4096, process=7)], 600),
              ([(7, 7, "p"), *python, Place("/x/program.py", 0, "</script><b>", 2)], 100),
              ([(7, 8, "p"), Place("/lib/libc.so.6", 1 << 20)], 300)]  # fmt: skip
    samples = Samples(7, "/x/python", 1e-3, 1000, 1000, 0, 0, 0.001, 779, 0, True, stacks)
    product = Product("cblas_sgemm", "/lib/libwork.so", "s", "R", "NT", 4, 5, 6, 10, 0.001)
    calls = Calls(7, 0, 0, 1e-8, ["/lib/libwork.so"], ["/lib/libwork.so"], [(Place("/lib/libwork.so", 15), "cblas_sgemm", "/lib/libwork.so", 10)], [product])
    return model.build(["libwork.so"], "/x/program.py", [samples], [calls])


@pytest.fixture
def dom(tmp_path):
    path = tmp_path / "profile.html"
    path.write_text(page.render(profile()))

    def load(**state):
        return browse(f"file://{path}#{urllib.parse.urlencode(state)}", "--dump-dom", tmp_path=tmp_path)

    return load


def boxes(text):
    """{number: (title, style)}"""
    found = {}
    for tag in re.findall(r"<div [^>]*data-id=[^>]*>", text):
        of = dict(re.findall(r'([a-z-]+)="([^"]*)"', tag))
        found[int(of["data-id"])] = (html.unescape(of["title"]), of["style"])
    return found


def test_the_flame_graph_draws_every_function(dom):
    text = dom()
    assert 'data-ready="9"' in text  # all, two threads, module, train, and what they call
    found = boxes(text)
    titles = [title for title, _ in found.values()]
    assert len(found) == 9
    for part in ("<module> (program.py:9)", "train (program.py:4)", "[generated code]", "</script><b> (program.py:2)", "main thread", "threads of p"):
        assert any(part in title for title in titles), part
    assert any("train" in title and "70.0 %" in title and "width: 70%" in box for title, box in found.values())
    assert "<b>" not in text.split("<script")[0].replace("&lt;b&gt;", "")
    assert "Products of matrices" in text and "Call pairs" in text and "Flat profile of" in text


def test_search_and_zoom_are_in_the_address(dom):
    text = dom(search="generated|script")
    assert "matched 70.0 %" in text and text.count('class="hit"') == 2
    train = next(i for i, (title, _) in boxes(dom()).items() if title.startswith("train"))
    zoomed = dom(zoom=train)
    assert any("train" in title and "width: 100%" in box for title, box in boxes(zoomed).values())
    assert "threads of p" not in re.sub(r"<script.*?</script>", "", zoomed, flags=re.S)
    assert "matched" not in re.search(r'<span id="matched">(.*?)</span>', dom(search="(")).group(1)  # not an expression


def test_a_picture_can_be_taken(tmp_path):
    path = tmp_path / "profile.html"
    path.write_text(page.render(profile()))
    picture = pathlib.Path(os.environ.get("FACULA_TEST_PICTURES", tmp_path)) / "profile.png"
    browse(f"file://{path}", f"--screenshot={picture}", "--window-size=1200,800", tmp_path=tmp_path)
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 5000
