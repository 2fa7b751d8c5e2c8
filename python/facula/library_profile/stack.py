# SPDX-License-Identifier: Apache-2.0
"""The call stack that one line of a program spends its time in."""

from __future__ import annotations

import os
from typing import Optional
from collections.abc import Callable

from facula.library_profile.model import GENERATED, UNKNOWN, Function, Node, Profile


def graft(root: Node) -> None:
    """Hangs what the pool's threads did below the call that gave it to them: the outermost function of theirs that the
    main thread also runs (the body of a parallel loop) stands for it there. Generated code has no caller where the stack
    could not be followed, and its name says nothing of one: like all that the main thread does not run, it stays with its thread."""
    main = next((n for n in root.children.values() if n.function and n.function.name == "main thread"), None)
    if main is None:
        return
    places: dict = {}  # key of a child: (its heaviest node, that node's callers)
    todo: list = [(main, [])]
    while todo:
        node, above = todo.pop()
        for key, child in node.children.items():
            if child.function and not child.function.name.startswith((GENERATED, UNKNOWN)) and (key not in places or places[key][0].total < child.total):
                places[key] = (child, [*above, node])
            todo.append((child, [*above, node]))

    def merge(into: Node, other: Node) -> None:
        waiting = [(into, other)]
        while waiting:
            into, other = waiting.pop()
            into.own += other.own
            into.total += other.total
            into.lines.update(other.lines)
            waiting += [(into.children.setdefault(key, Node(child.function)), child) for key, child in other.children.items()]

    for name, thread in list(root.children.items()):
        if thread is main:
            continue
        todo = [(thread, [])]
        while todo:
            node, above = todo.pop()
            for key, child in list(node.children.items()):
                if key in places:
                    place, callers = places[key]
                    merge(place, child)
                    for caller in callers:
                        caller.total += child.total
                    del node.children[key]
                    for caller in (*above, node):
                        caller.total -= child.total
                else:
                    todo.append((child, [*above, node]))
        if thread.total == 0:
            del root.children[name]


def find(root: Node, wanted: Callable) -> Optional[Node]:
    """The heaviest node that is wanted."""
    best, todo = None, [root]
    while todo:
        node = todo.pop()
        todo += node.children.values()
        if node.function and wanted(node) and (best is None or node.total > best.total):
            best = node
    return best


def _where(function: Function, node: Node) -> str:
    file, line = node.line()
    if line:
        return f"{os.path.relpath(file) if os.path.isabs(file) and os.path.exists(file) else os.path.normpath(file).lstrip('./')}:{line}"
    return function.where or "(no file)"


def heaviest(start: Node) -> list:
    """From a node down, always the child with the most time."""
    path = [start]
    while path[-1].children:
        path.append(path[-1].heaviest()[0])
    return path


def text(p: Profile, start: Node) -> str:
    """One line for each frame: share of start's time with what it calls, in the function itself, name, place; below a frame
    the other functions that it calls, where they matter."""
    rows = []
    for node in heaviest(start):
        rows.append((node, False))
        rows += [(other, True) for other in node.heaviest()[1:] if other.total >= 0.03 * start.total]
    lines = [f"  {p.seconds(start.total):.3f} s of CPU time, {start.total} ticks", "  share  itself  frame"]
    names = [("+ " if beside else "  ") + str(node.function) for node, beside in rows]
    width = min(max(map(len, names)), 70)
    for (node, _), name in zip(rows, names):
        assert node.function is not None
        share, own = (100 * t / start.total for t in (node.total, node.own))
        lines.append(f"  {share:5.1f}%  {own:5.1f}%  {name.ljust(width)}  {_where(node.function, node)}")
    return "\n".join(lines)
