# SPDX-License-Identifier: Apache-2.0
"""GVProf's CSV files, with its columns: temporal and spatial redundancy of loads and stores, and value patterns by array."""

import csv
import io

NAMES = {  # what GVProf's reports call the patterns
    "single_zero": "Redundant Zeros", "single_value": "Single Value", "frequent": "Dense Value", "heavy_type": "Type Overuse",
    "inappropriate_float": "Inappropriate Float Type", "structured": "Structured", "approximate": "Approximate Value"}  # fmt: skip
TEMPORAL = ("cubin", "from function", "from pc", "to function", "to pc", "value", "type", "count", "rate", "norm_rate")
SPATIAL = ("memory_op_id", "cubin", "function", "pc", "value", "type", "count", "rate", "norm_rate")
PATTERNS = ("kernel_id", "function", "context", "array_id", "array", "size", "type", "access", "accesses", "items", "unique_items",
            "distinct", "unique_accesses", "patterns", "approximate", "values")  # fmt: skip
TOTAL = ("redundant", "total", "rate")


def _share(part, whole):
    return f"{part / whole:.6f}" if whole else "0"


def redundancy(accesses, kind, stores, pcs=30, values=30):
    """A file temporal_read_t0.csv …: of each kernel its number, its total, and what came again, the most frequent first: at most `pcs`
    rows and `values` values of each place; the last line is the total of all."""
    out = io.StringIO()
    write = csv.writer(out).writerow
    rows = [r for r in accesses.rows if (r.kind == "store") == stores]
    kernels, at, everything = {}, {}, [0, 0]
    for r in rows:
        count = r.temporal if kind == "temporal" else r.spatial
        total = kernels.setdefault((r.node, r.kernel), [0, 0])
        for sums in (total, everything):
            sums[0] += count
            sums[1] += r.accesses
        for line, n, *_ in r.lines:
            place = (r.node, r.kernel, line, r.dtype) if kind == "temporal" else (r.node, r.kernel, line, r.maker, r.dtype)
            at[place] = at.get(place, 0) + n
    for (node, kernel), (count, total) in sorted(kernels.items()):
        write(("kernel_id",))
        write((node,))
        write(TOTAL)
        write((count, total, _share(count, total)))
        write(TEMPORAL if kind == "temporal" else SPATIAL)
        shown, of_place = 0, {}
        for where, maker, name, before, line, dtype, is_store, value, n in accesses.pairs(kind):
            if (where, name, is_store) != (node, kernel, stores) or shown == pcs:
                continue
            of_place[before, line] = of_place.get((before, line), 0) + 1
            if of_place[before, line] > values:
                continue
            shown += 1
            if kind == "temporal":
                here = at.get((node, kernel, line, dtype), 0)
                write((kernel, kernel, before, kernel, line, f"{value:g}", dtype, n, _share(n, here), _share(n, total)))
            else:
                here = at.get((node, kernel, line, maker, dtype), 0)
                write((maker, kernel, kernel, line, f"{value:g}", dtype, n, _share(n, here), _share(n, total)))
    write(TOTAL)
    write((everything[0], everything[1], _share(*everything)))
    return out.getvalue()


def value_patterns(accesses, found, values=10):
    """value_pattern_t0.csv: a row for each array that a kernel loaded from or stored to, by its accesses where a device told them, else
    by what operators wrote (those have no counts of items)."""
    out = io.StringIO()
    write = csv.writer(out).writerow
    write(PATTERNS)
    for r in accesses.rows:
        names = [NAMES[p] for p in r.patterns if p != "approximate"] or ["No Pattern"]
        cut = "Single Value" if r.about == 1 < r.distinct and r.unique_items == r.items else NAMES["approximate"] if "approximate" in r.patterns else ""
        top = "; ".join(f"{value:g} x {n}" for value, n in r.top[:values])
        write((r.node, r.kernel, f"{r.file}:{r.line}", r.maker, r.object, r.object_bytes, r.dtype, "Write" if r.kind == "store" else "Read",
               r.accesses, r.items, r.unique_items, r.distinct, r.unique_accesses, "; ".join(names), cut, top))  # fmt: skip
    told = {r.node for r in accesses.rows}
    arrays = {}
    for f in found:
        if f.pattern in NAMES and f.node not in told:
            arrays.setdefault(f.node, []).append(f)
    for node, rows in sorted(arrays.items()):
        f = rows[0]
        names = [NAMES[r.pattern] for r in rows if r.pattern != "approximate"] or ["No Pattern"]
        cut = NAMES["approximate"] if any(r.pattern == "approximate" for r in rows) else ""
        write((node, f.operator, f.place, "", f.tensor, f.object_bytes, f.tensor.partition(" ")[0], "Write", "", "", "", "", "",
               "; ".join(names), cut, "; ".join(r.detail for r in rows if r.detail)))  # fmt: skip
    return out.getvalue()


def write_all(folder, accesses, found, modes, pcs=30, values=30):
    """The files of GVProf's modes; returns their names."""
    import os

    from facula._command_line import write_file

    files = {}
    if "redundancy" in modes:
        for kind in ("temporal", "spatial"):
            for stores, name in ((False, "read"), (True, "write")):
                files[f"{kind}_{name}_t0.csv"] = redundancy(accesses, kind, stores, pcs, values)
    if "value_pattern" in modes:
        files["value_pattern_t0.csv"] = value_patterns(accesses, found, min(values, 10))
    for name, text in files.items():
        write_file(os.path.join(folder, name), text)
    return list(files)
