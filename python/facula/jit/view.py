# SPDX-License-Identifier: Apache-2.0
"""Graphs before and after each pass, side by side on one page: `with torch.jit.view.record("passes.html"): …` shows all
passes that the thread runs inside. The page needs nothing else, and works without a network."""

from __future__ import annotations

import contextlib
import difflib
import html
import linecache
import re
from collections.abc import Iterator
from typing import NamedTuple

from facula import _C
from facula._command_line import write_file

__all__ = ["page", "record"]

_PLACE = re.compile(r" # (.+):(\d+):\d+$")
_AROUND = 3  # lines of a source above and below those that a graph names

_STYLE = """
body { font: 14px system-ui, sans-serif; margin: 0; color: #1b1b1f; background: #fafafa }
header { padding: 10px 16px; background: #24273a; color: #fff }
nav { padding: 8px 16px; background: #fff; border-bottom: 1px solid #ddd; position: sticky; top: 0;
  display: flex; flex-wrap: wrap; gap: 0 10px; max-height: 4.5em; overflow-y: auto }
nav a { text-decoration: none; color: #24507a } nav a.same { color: #999 }
section { padding: 4px 16px 16px } section, pre { scroll-margin-top: 6em }
h2 { font-size: 15px; margin: 12px 0 4px } h2 small { color: #777; font-weight: normal }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 8px; background: #fff; border: 1px solid #ddd }
.pair > div { overflow-x: auto; padding: 6px 0 }
pre { margin: 0; padding: 0 8px; font: 12px/1.5 ui-monospace, monospace; min-height: 1.5em; white-space: pre }
pre.gone { background: #ffe1de } pre.new { background: #dcf5dc } pre.gap { background: #f1f1f3 }
pre a { color: #777; text-decoration: none } pre:target { background: #fff3b0 }
.none { color: #777; padding: 0 8px }
"""


class _Step(NamedTuple):
    name: str
    before: str
    after: str
    seconds: float


@contextlib.contextmanager
def record(path: str) -> Iterator[None]:
    """Writes the page of all passes that this thread runs inside of the `with`, also if one of them raises."""
    steps: list[_Step] = []
    _C._jit_watch_passes(lambda *step: steps.append(_Step(*step)))
    try:
        yield
    finally:
        _C._jit_watch_passes(None)
        write_file(path, _page(steps))


def page(graph: _C.Graph, path: str) -> None:
    """Writes the page of what runs over a graph before its first run, done to a copy of this one."""
    copy = graph.copy()
    with record(path):
        _C._jit_run_profiling_insensitive_optimizations(copy)


def _line(text: str, kind: str, files: dict[str, set[int]]) -> str:
    shown = html.escape(text)
    if found := _PLACE.search(text):
        files.setdefault(found[1], set()).add(int(found[2]))
        at = html.escape(f"#{_anchor(found[1], int(found[2]))}", quote=True)
        place = html.escape(" # " + found[0][3:].rpartition("/")[2])  # the whole path is the link's title
        shown = html.escape(text[: found.start()]) + f'<a href="{at}" title="{html.escape(found[1], quote=True)}">{place}</a>'
    return f'<pre class="{kind}">{shown}</pre>'


def _anchor(file: str, line: int) -> str:
    return f"{file}:{line}".replace(" ", "%20")


def _pair(step: _Step, files: dict[str, set[int]]) -> str:
    before, after = step.before.splitlines(), step.after.splitlines()
    left, right = [], []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=len(before) + len(after) > 4000).get_opcodes():
        same = kind == "equal"
        left += [_line(line, "" if same else "gone", files) for line in before[a:b]]
        right += [_line(line, "" if same else "new", files) for line in after[c:d]]
        gap = '<pre class="gap"></pre>'
        left += [gap] * max(0, (d - c) - (b - a))
        right += [gap] * max(0, (b - a) - (d - c))
    return f'<div class="pair"><div>{"".join(left)}</div><div>{"".join(right)}</div></div>'


def _sources(files: dict[str, set[int]]) -> str:
    out = []
    for file, lines in sorted(files.items()):
        text = linecache.getlines(file)
        out.append(f"<h2>{html.escape(file)}</h2>")
        if not text:
            out.append('<p class="none">This source could not be read.</p>')
        shown = sorted({n for line in lines for n in range(line - _AROUND, line + _AROUND + 1) if 0 < n <= max(len(text), line)})
        for n in shown:
            words = html.escape(text[n - 1].rstrip("\n")) if n <= len(text) else ""
            out.append(f'<pre id="{html.escape(_anchor(file, n), quote=True)}">{n:5}  {words}</pre>')
    return f'<section id="sources">{"".join(out)}</section>' if out else ""


def _page(steps: list[_Step]) -> str:
    files: dict[str, set[int]] = {}
    links, sections = [], []
    for i, step in enumerate(steps):
        same = step.before == step.after
        links.append(f'<a href="#pass{i}" class="{"same" if same else "changed"}">{html.escape(step.name)}</a>')
        content = '<p class="none">Nothing changed.</p>' if same else _pair(step, files)
        sections.append(f'<section id="pass{i}"><h2>{i + 1}. {html.escape(step.name)} <small>{step.seconds * 1e3:.3f} ms</small></h2>{content}</section>')
    changed = sum(step.before != step.after for step in steps)
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Passes</title><style>{_STYLE}</style></head><body>'
        f"<header>{len(steps)} passes, {changed} of them changed the graph</header><nav>{''.join(links)}</nav>{''.join(sections)}{_sources(files)}</body></html>\n"
    )
