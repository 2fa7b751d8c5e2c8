# SPDX-License-Identifier: Apache-2.0
"""Single loads and stores of kernels: what each kernel's lines did to each object, joined to the call that launched it."""

import dataclasses
import os

from facula.tools.vprof._findings import Rows


@dataclasses.dataclass
class Accesses:
    """What the loads (or stores) of one kernel, in one call path, did to one object: a block of memory by where it was made.

    silent: stores of what lay there already, loads of what the element showed when it was loaded last. temporal: a tile loads
    (stores) at an address the value that it loaded (stored) there last in the launch. spatial: of each line's accesses in a
    launch, as many as have the most frequent value. items: elements that were accessed; unique_items: those that only ever
    showed one value; distinct: how many values those have; unique_accesses: accesses of them. patterns: of the items, if all
    are unique. lines: (line, accesses, silent, temporal, spatial)."""

    kernel: str
    operator: str
    file: str
    line: int
    object: str
    dtype: str
    kind: str
    accesses: int
    silent: int
    temporal: int
    spatial: int
    items: int
    unique_items: int
    distinct: int
    unique_accesses: int
    about: int
    patterns: list
    detail: str
    top: list
    lines: list
    object_bytes: int
    detailed: bool
    node: int
    maker: int

    def as_dict(self):
        return dataclasses.asdict(self)


class AllAccesses:
    """`values(instructions=True).accesses`: rows, those with most accesses for nothing first; temporal and spatial pairs as GVProf's
    CSV files have them; unseen: kernels that ran in a way that tells no accesses, with their launches."""

    def __init__(self, told, nodes, stacks=None):
        self._rows, self._told = Rows(nodes, stacks), told
        self.unseen, self.lost = told["unseen"], told["lost"]
        self.rows = [self._row(r) for r in told["rows"]]
        self.rows.sort(key=lambda r: (-max(r.silent, r.temporal), -r.accesses, r.kernel, r.kind, r.object))

    def _place(self, node):
        """Operator, file and line of a call path."""
        if not node:
            return "", "", 0
        top = self._rows.nodes[self._rows.top(node)]
        return top["operator"].split(".")[0] or top["name"], *self._rows.place(top)[:2]

    def object(self, maker, size):
        operator, file, line = self._place(maker)
        where = f"{os.path.basename(file)}:{line}" if file else "before the profile"
        return f"{size} bytes of {operator} at {where}" if operator else f"{size} bytes made {where}"

    def _row(self, r):
        operator, file, line = self._place(r["node"])
        detail = []
        if "structured" in r["patterns"]:
            detail.append(f"{r['base']:g} + {r['slope']:g} * index")
        if r["narrow"] and {"heavy_type", "inappropriate_float"} & set(r["patterns"]):
            detail.append(f"{r['narrow']} holds every value")
        return Accesses(
            kernel=r["kernel"], operator=operator, file=file, line=line, object=self.object(r["maker"], r["object_bytes"]), dtype=r["dtype"],
            kind="store" if r["stores"] else "load", accesses=r["accesses"], silent=r["silent"], temporal=r["temporal"], spatial=r["spatial"],
            items=r["items"], unique_items=r["unique_items"], distinct=r["distinct"], unique_accesses=r["unique_accesses"], about=r["about"],
            patterns=r["patterns"], detail=", ".join(detail), top=[list(t) for t in r["top"]], lines=[list(x) for x in r["lines"]],
            object_bytes=r["object_bytes"], detailed=r["detailed"], node=r["node"], maker=r["maker"])  # fmt: skip

    def pairs(self, kind):
        """'temporal' or 'spatial': (node, maker, kernel, from line, to line, dtype, is a store, value, count), the most frequent first."""
        return self._told[kind]

    def sentences(self):
        """What could not be seen."""
        out = [
            f"{kernel}: {launches} launch{'es' * (launches > 1)} in a mode that tells no loads and stores; "
            f"torch.hammerblade.mode('check') or the simulator does"
            for kernel, launches in sorted(self.unseen.items())
        ]
        if self.lost:
            out.append(f"{self.lost:,} accesses were not looked at for want of memory")
        return out

    def table(self, top=30):
        """As text: a row per kernel, object and kind, its lines below."""
        if not self.rows and not self.unseen:
            return "no kernel told its loads and stores\n"
        head = ("kernel", "launched at", "object", "type", "", "accesses", "silent", "temporal", "spatial", "items", "unique", "distinct", "patterns")  # fmt: skip
        text = [head]
        for r in self.rows[:top]:
            place = f"{os.path.basename(r.file)}:{r.line}" if r.file else "-"
            counts = (
                r.accesses,
                r.silent,
                r.temporal,
                r.spatial,
                *((r.items, r.unique_items, r.distinct) if r.detailed else "???"),
            )
            text.append((r.kernel, place, r.object, r.dtype, r.kind, *map(str, counts), ", ".join(r.patterns) + (f" ({r.detail})" if r.detail else "")))  # fmt: skip
        widths = [max(len(t[c]) for t in text) for c in range(len(head))]
        out = []
        for i, t in enumerate(text):
            cells = [
                x.rjust(w) if 5 <= c <= 11 else x.ljust(w)
                for c, (x, w) in enumerate(zip(t, widths, strict=True))
            ]
            out.append("  ".join(cells).rstrip())
            if i:
                out.extend(
                    f"    {line}: {n} {self.rows[i - 1].kind}s, {silent} silent, {temporal} temporal, {spatial} spatial"
                    for line, n, silent, temporal, spatial in self.rows[i - 1].lines
                )
        if len(self.rows) > top:
            out.append(f"… and {len(self.rows) - top} more")
        return "\n".join([*out, *self.sentences(), ""])
