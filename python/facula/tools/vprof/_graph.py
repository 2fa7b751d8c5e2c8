# SPDX-License-Identifier: Apache-2.0
"""The value-flow graph: nodes are call paths of the program, edges say who wrote what the next one reads or overwrites.
Attributes and colours of its DOT text are GVProf's: box = memory, ellipse = computation, circle = copy and fill; an edge's
colour says how much of what it writes was there already, its width how many bytes go along it."""

import json
import math

COLOURS = ((0.33, "lime"), (0.66, "yellow"), (0.99, "orange"), (math.inf, "red"))


def colour(redundancy):
    return next(name for limit, name in COLOURS if redundancy <= limit)


class Graph:
    """nodes: dicts with id, name, kind, type, count, place, context, read, written, duplicate, findings.
    edges: dicts with source, target, memory (the id of who allocated it), type READ or WRITE, bytes, redundancy, overwrite, count."""

    def __init__(self, rows, edges, stacks, found=()):
        from facula.tools.vprof._findings import Rows

        tree = Rows(rows, stacks)
        used = {i for source, target, memory, *_ in edges for i in (source, target, memory)} | {f.node for f in found}
        shared = {f.node: "TOTAL" if f.share > 0.99 else "PARTIAL" for f in found if f.pattern == "duplicate"}
        patterns = {}
        for f in found:
            patterns.setdefault(f.node, []).append(f)
        self.nodes = []
        for i in sorted(used):
            row = rows[i]
            top = rows[tree.top(i)] if i else row
            file, line, function, _, stack = tree.place(top) if i else ("", 0, "", False, [])
            kinds = {"copy": "MEMCPY", "fill": "MEMSET", "allocate": "MEMORY"}
            kind = kinds.get(row["kind"], "KERNEL") if i else "HOST"
            self.nodes.append({
                "id": i, "name": (row["name"] if not row["parent"] else f"{top['name']} > {tree.path(i)}") if i else "before the profile, and outside", "kind": row["kind"] if i else "",
                "type": kind, "count": row["calls"], "place": f"{file}:{line}" if file else "", "function": function, "context": stack[:20], "scope": top["scope"],
                "written": row["written"], "read": row["read"], "seconds": row["ns"] * 1e-9, "tensor": row["tensor"],
                "duplicate": shared.get(i, ""), "findings": [f.as_dict() for f in patterns.get(i, ())]})  # fmt: skip
        self.edges = [{"source": source, "target": target, "memory": memory, "type": ("WRITE" if target else "SINK") if write else "READ", "bytes": size,
                       "redundancy": unchanged / size if write and size else 0.0, "overwrite": min(1.0, size / whole) if write and whole else 0.0, "count": count}
                      for source, target, memory, write, size, unchanged, whole, count in edges]  # fmt: skip

    def pruned(self, nodes=0.0, edges=0.0, keep_redundant=False):
        """Without nodes and edges below a share of all bytes; edges that write what was there stay where that is asked."""
        total = sum(e["bytes"] for e in self.edges) or 1
        kept = [
            e
            for e in self.edges
            if e["bytes"] >= edges * total or (keep_redundant and e["redundancy"] >= 0.99)
        ]
        weight = {}
        for e in kept:
            for end in ("source", "target"):
                weight[e[end]] = weight.get(e[end], 0) + e["bytes"]
        left = {n["id"] for n in self.nodes if weight.get(n["id"], 0) >= nodes * total or n["findings"]}
        out = object.__new__(Graph)
        out.nodes = [n for n in self.nodes if n["id"] in left]
        out.edges = [e for e in kept if e["source"] in left and e["target"] in left]
        return out

    def dot(self, nodes=0.0, edges=0.0, keep_redundant=False):
        """Graphviz's text."""
        g = self.pruned(nodes, edges, keep_redundant)
        quoted = json.dumps
        most = max((e["bytes"] for e in g.edges), default=1) or 1
        lines = ["digraph G {", '  rankdir="TB";']
        for n in g.nodes:
            shape = {"MEMCPY": "circle", "MEMSET": "circle", "HOST": "box", "MEMORY": "box"}.get(n["type"], "ellipse")
            label = n["name"] + (f"\n{n['place'].rpartition('/')[2]}" if n["place"] else "")
            width = 1 + math.log10(1 + n["count"])
            lines.append(f'  {n["id"]} [label={quoted(label)} shape={shape} width={width:.2f} node_id={n["id"]} node_type={n["type"]} count={n["count"]} '
                         f'duplicate={quoted(n["duplicate"])} context={quoted("; ".join(n["context"]))} tooltip={quoted(n["place"])}];')  # fmt: skip
        for e in g.edges:
            width = 1 + 6 * e["bytes"] / most
            lines.append(f'  {e["source"]} -> {e["target"]} [edge_type={e["type"]} redundancy={e["redundancy"]:.6f} overwrite={e["overwrite"]:.6f} count={e["bytes"]} '
                         f'memory_node_id={e["memory"]} color={colour(e["redundancy"])} penwidth={width:.2f}];')  # fmt: skip
        return "\n".join([*lines, "}", ""])

    def contexts(self):
        """What data_flow.dot.context holds: of each node its number, and the program's lines, innermost first."""
        return "".join(
            "\n".join([str(n["id"]), *(f"  {line[:128]}" for line in n["context"]), ""]) for n in self.nodes
        )

    def levels(self):
        """Of each node: how far down it is drawn. Edges back to where they come from do not count."""
        order = {n["id"]: 0 for n in self.nodes}
        for n in sorted(order):  # who is made first comes first
            for e in self.edges:
                if e["source"] == n and e["target"] > n:
                    order[e["target"]] = max(order[e["target"]], order[n] + 1)
        return order
