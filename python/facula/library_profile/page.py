# SPDX-License-Identifier: Apache-2.0
"""The flame graph and the tables as one file that needs nothing else: no network, no library."""

from __future__ import annotations

import json
import os

from facula.library_profile import report
from facula.library_profile.model import Node, Profile

_LEAST = 0.0002  # of the ticks: narrower boxes cannot be seen


def _number(value, seen: dict) -> int:
    return seen.setdefault(value, len(seen))


def _tree(p: Profile, names: dict, places: dict) -> list:
    objects: dict = {}

    def hue(path: str) -> float:
        """A colour for each library, far from the one before; the heaviest come first."""
        return round((205 + 137.5 * _number(path, objects)) % 360)

    for path, _ in p.by_object():
        hue(path)

    def node(n: Node) -> list:
        f = n.function
        file, line = n.line()
        place = "" if f is None else f"{f.where}, {os.path.basename(file)}:{line}" if line and not f.python else f.object if f.python else f.where
        colour = None if f is None or not f.object else 55 if f.python else hue(f.object)
        children = [node(c) for c in n.heaviest() if c.total >= _LEAST * p.ticks]
        return [_number(n.label(), names), _number((place, colour), places), n.own, n.total, children]

    return node(p.root)


def render(p: Profile, top: int = 50) -> str:
    names: dict = {}
    places: dict = {}
    tree = _tree(p, names, places)
    tables = []
    for part, text_from in [*((report.flat_rows(p, path), 7) for path in p.chosen), (report.pair_rows(p), 1), (report.product_rows(p), 9)]:
        title, head, rows = part
        if rows:
            tables.append({"title": title, "head": head, "rows": rows[:top], "text_from": text_from})
    content = {
        "title": os.path.basename(p.program), "summary": [*report.summary(p), *report.notes(p)], "period": p.period, "tree": tree,
        "names": list(names), "places": [place for place, _ in places], "hues": [hue for _, hue in places], "tables": tables,
    }  # fmt: skip
    with open(os.path.join(os.path.dirname(__file__), "page.html"), encoding="utf-8") as f:
        template = f.read()
    # Inside of a script element only "</" and "<!--" have a meaning.
    return template.replace("@DATA@", json.dumps(content, separators=(",", ":")).replace("<", "\\u003c"), 1)
