# SPDX-License-Identifier: Apache-2.0
"""`gviewer -f data_flow.dot`: a value-flow graph with less in it, as a picture. Graphviz draws where it is installed; without it
an SVG is drawn by levels, and PNG and PDF are refused."""

import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys

CONTEXTS = ("path", "file", "func", "all", "none")


def share(text):
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"a share is from 0 to 1, got {text}")
    return value


def attributes(text):
    """name -> value of `a=1 b="x y"`; quoted values are JSON's."""
    return {
        name: json.loads(quoted) if quoted else plain
        for name, quoted, plain in re.findall(r'(\w+)=(?:("(?:[^"\\]|\\.)*")|([^\s\]]+))', text)
    }


def read(path):
    """Nodes by their id and edges of a data_flow.dot."""
    nodes, edges = {}, []
    with open(path, encoding="utf-8") as f:
        for line in f:
            if edge := re.match(r"\s*(\d+) -> (\d+) \[(.*)\];\s*$", line):
                edges.append((int(edge[1]), int(edge[2]), attributes(edge[3])))
            elif node := re.match(r"\s*(\d+) \[(.*)\];\s*$", line):
                nodes[int(node[1])] = attributes(node[2])
    if not nodes:
        raise ValueError(f"{path} has no nodes: it is no data_flow.dot, or nothing was seen")
    return nodes, edges


def prune(nodes, edges, node_share, edge_share, keep_redundant):
    """Without edges below a share of all bytes, and nodes below a share of all calls; what writes only what was there stays."""
    total = sum(int(e[2]["count"]) for e in edges) or 1
    calls = sum(int(n["count"]) for n in nodes.values()) or 1
    kept = [
        e
        for e in edges
        if int(e[2]["count"]) >= edge_share * total or (keep_redundant and float(e[2]["redundancy"]) >= 0.99)
    ]
    ends = {i for a, b, _ in kept for i in (a, b)}
    left = {
        i: n
        for i, n in nodes.items()
        if i in ends and (int(n["count"]) >= node_share * calls or n["node_type"] == "HOST" or keep_redundant)
    }
    return left, [e for e in kept if e[0] in left and e[1] in left]


def merge(edges):
    """READ and WRITE between the same two nodes as one edge."""
    out = {}
    for a, b, e in edges:
        known = out.get((a, b))
        if known is None:
            out[a, b] = dict(e)
            continue
        writes = e if e["edge_type"] == "WRITE" else known
        both = {
            "count": str(int(known["count"]) + int(e["count"])),
            "edge_type": "READ_WRITE" if known["edge_type"] != e["edge_type"] else e["edge_type"],
        }
        out[a, b] = {**writes, **both}
    return [(a, b, e) for (a, b), e in out.items()]


def name_of(node, how):
    """The label, with as much of the context as was asked for."""
    label, place = node["label"].partition("\n")[::2]
    if how == "none":
        return label
    if how == "path":
        return f"{label}\n{node.get('tooltip', '')}"
    frames = [f for f in node.get("context", "").split("; ") if f]
    if how == "func":
        return label + (f"\n{frames[0].rpartition('): ')[2]}" if frames else "")
    return "\n".join([label, *frames]) if how == "all" else f"{label}\n{place}"


def dot_text(nodes, edges, how):
    lines = ["digraph G {", '  rankdir="TB";']
    quoted = json.dumps
    for i, n in nodes.items():
        rest = " ".join(f"{k}={quoted(v)}" for k, v in n.items() if k != "label")
        lines.append(f"  {i} [label={quoted(name_of(n, how))} {rest}];")
    for a, b, e in edges:
        lines.append(f"  {a} -> {b} [{' '.join(f'{k}={quoted(v)}' for k, v in e.items())}];")
    return "\n".join([*lines, "}", ""])


def svg_text(nodes, edges, how):
    """Nodes by levels, older ones above."""
    level = dict.fromkeys(nodes, 0)
    for i in sorted(nodes):
        for a, b, _ in edges:
            if a == i and b > i:
                level[b] = max(level[b], level[i] + 1)
    rows = {}
    for i in sorted(nodes):
        rows.setdefault(level[i], []).append(i)
    wide = max(len(r) for r in rows.values()) * 220
    at = {
        i: (wide / 2 + (k - (len(row) - 1) / 2) * 220, 40 + 110 * depth)
        for depth, row in rows.items()
        for k, i in enumerate(row)
    }
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {110 * len(rows) + 40}" font-family="sans-serif" font-size="11">'
    ]
    for a, b, e in edges:
        (x, y), (u, v) = at[a], at[b]
        bend = 120 if y >= v else 0
        out.append(f'<path d="M{x:.0f},{y + 20:.0f} C{x + bend:.0f},{y + 60:.0f} {u + bend:.0f},{v - 60:.0f} {u:.0f},{v - 20:.0f}" fill="none" '
                   f'stroke="{e["color"]}" stroke-width="{e["penwidth"]}"><title>{html.escape(e["edge_type"])} {e["count"]} bytes, redundancy {e["redundancy"]}</title></path>')  # fmt: skip
    for i, n in nodes.items():
        x, y = at[i]
        shape = (
            f'<rect x="{x - 95:.0f}" y="{y - 20:.0f}" width="190" height="40"'
            if n["shape"] == "box"
            else f'<ellipse cx="{x:.0f}" cy="{y:.0f}" rx="{95 if n["shape"] == "ellipse" else 60}" ry="20"'
        )
        out.append(
            f'{shape} fill="white" stroke="black"><title>{html.escape(n.get("context", ""))}</title></{"rect" if n["shape"] == "box" else "ellipse"}>'
        )
        for k, line in enumerate(name_of(n, how).split("\n")[:3]):
            out.append(
                f'<text x="{x:.0f}" y="{y - 2 + 13 * k:.0f}" text-anchor="middle">{html.escape(line[-40:])}</text>'
            )
    return "\n".join([*out, "</svg>", ""])


def run(argv):
    from facula._command_line import write_file

    parser = argparse.ArgumentParser(
        prog="gviewer", description="Draws a value-flow graph: gviewer -f gvprof-measurements/data_flow.dot"
    )
    parser.add_argument(
        "-f",
        "--file",
        required=True,
        metavar="X",
        help="a data_flow.dot, also one with .context behind its name",
    )
    parser.add_argument(
        "-cf",
        "--context-filter",
        choices=CONTEXTS,
        default="file",
        help="how much of each node's place its label has (file)",
    )
    parser.add_argument(
        "-k", "--keep-context", action="store_true", help="contexts stay as tooltips, as they always do"
    )
    parser.add_argument("-l", "--large", action="store_true", help="not needed: labels wrap")
    parser.add_argument("-of", "--output-format", choices=("svg", "png", "pdf"), default="svg")
    parser.add_argument(
        "-pn",
        "--prune-node",
        type=share,
        default=0.0,
        metavar="SHARE",
        help="leaves out nodes with a smaller share of all calls",
    )
    parser.add_argument(
        "-pe",
        "--prune-edge",
        type=share,
        default=0.0,
        metavar="SHARE",
        help="leaves out edges with a smaller share of all bytes",
    )
    parser.add_argument(
        "-kr", "--keep-redundancy", action="store_true", help="edges that write what was there already stay"
    )
    parser.add_argument("-ly", "--layout", choices=("dot", "neato", "circo"), default="dot")
    parser.add_argument(
        "-pr",
        "--pretty",
        action="store_true",
        help="shapes and colours, as there always are; READ and WRITE become one edge",
    )
    args = parser.parse_args(argv)
    try:
        nodes, edges = read(args.file.removesuffix(".context"))
    except (OSError, ValueError) as error:
        print(f"gviewer: {error}", file=sys.stderr)
        return 2
    nodes, edges = prune(nodes, edges, args.prune_node, args.prune_edge, args.keep_redundancy)
    if args.pretty:
        edges = merge(edges)
    target = f"{args.file.removesuffix('.context')}.{args.output_format}"
    text = dot_text(nodes, edges, args.context_filter)
    try:
        if tool := shutil.which(args.layout):
            done = subprocess.run(
                [tool, f"-T{args.output_format}"], input=text.encode(), capture_output=True, check=False
            )
            if done.returncode:
                print(
                    f"gviewer: {args.layout}: {done.stderr.decode(errors='replace').strip()}", file=sys.stderr
                )
                return 1
            write_file(target, done.stdout)
        elif args.output_format == "svg":
            write_file(target, svg_text(nodes, edges, args.context_filter))
        else:
            print(
                f"gviewer: {args.output_format} needs Graphviz's {args.layout}, which is not installed; -of svg works without",
                file=sys.stderr,
            )
            return 2
    except OSError as error:
        print(f"gviewer: cannot write {target}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{os.path.abspath(target)}: {len(nodes)} nodes, {len(edges)} edges")
    return 0
