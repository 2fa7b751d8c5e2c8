# SPDX-License-Identifier: Apache-2.0
"""Graphs of TorchScript: parsing and every pass that both libraries name, over graphs of 1,000, 10,000 and 100,000 nodes.

    python benchmarks/graphs.py [OTHER]     OTHER: a Python with PyTorch; it is asked in turns with this one

A line a size: milliseconds of processor time of parsing and of all passes, the best of the turns; and what ten times the nodes cost.
"""

import json
import subprocess
import sys
import time

PASSES = (
    "inline remove_expands canonicalize_graph_fuser_ops dce_graph dce decompose_ops constant_propagation "
    "constant_propagation_immutable_types cse constant_pooling peephole peephole_list_idioms lower_all_tuples loop_unrolling "
    "constant_loop_unrolling remove_mutation erase_number_types inline_fork_wait specialize_autogradzero "
    "fuse_linear fuse_add_relu propagate_device integer_value_refinement create_functional_graphs "
    "inline_functional_graphs remove_inplace_ops batch_mm erase_shape_information canonicalize lint"
).split()
SIZES = (1_000, 10_000, 100_000)


def text(nodes):
    """Arithmetic, views that are written, tuples, lists and branches, as many as there are nodes."""
    lines = [
        "graph(%x0 : Tensor, %y : Tensor, %c : bool):",
        "  %one : int = prim::Constant[value=1]()",
        "  %two : int = prim::Constant[value=2]()",
    ]
    at = 0
    for i in range(nodes // 10):
        lines += [
            f"  %a{i} : Tensor = aten::add(%x{at}, %y, %one)",
            f"  %b{i} : Tensor = aten::mul(%a{i}, %y)",
            f"  %c{i} : Tensor = aten::mul(%a{i}, %y)",
            f"  %d{i} : Tensor = aten::relu(%b{i})",
            f"  %u{i} : Tensor = aten::neg(%c{i})",
            f"  %s{i} : int = aten::add(%one, %two)",
            f"  %t{i} : (Tensor, Tensor) = prim::TupleConstruct(%c{i}, %d{i})",
            f"  %e{i} : Tensor, %f{i} : Tensor = prim::TupleUnpack(%t{i})",
            f"  %l{i} : int[] = prim::ListConstruct(%s{i}, %two)",
            f"  %x{at + 1} : Tensor = aten::sub(%e{i}, %f{i}, %s{i})",
        ]
        at += 1
    return "\n".join([*lines, f"  return (%x{at})", ""])


def measure(module):
    torch = __import__(module)
    out = {}
    for n in SIZES if module == "facula" else SIZES[:2]:
        source, many = text(n), range(SIZES[1] * 2 // n or 1)  # small graphs lie as far apart in memory as large ones
        row = {}
        graphs, row["parse"] = timed(lambda source=source, many=many: [torch._C.parse_ir(source) for _ in many])
        for name in PASSES:
            copies = [g.copy() for g in graphs]
            run = getattr(torch._C, f"_jit_pass_{name}")
            row[name] = timed(lambda copies=copies, run=run: [run(g) for g in copies])[1]
        out[n] = {name: ms / len(many) for name, ms in row.items()}
    return out


def timed(run):
    begin = time.process_time()
    result = run()
    return result, (time.process_time() - begin) * 1e3


def main():
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2])))
        return
    sides = {"facula": sys.executable}
    if len(sys.argv) > 1:
        sides["torch"] = sys.argv[1]
    best: dict = {}
    for _ in range(3):
        for module, python in sides.items():
            done = subprocess.run([python, __file__, "--measure", module], check=True, capture_output=True, text=True)
            for n, row in json.loads(done.stdout).items():
                for name, ms in row.items():
                    key = (module, int(n), name)
                    best[key] = min(best.get(key, ms), ms)
    for m in sides:
        sizes = sorted({n for module, n, _ in best if module == m})
        total = {n: sum(best[m, n, name] for name in ("parse", *PASSES)) for n in sizes}
        for n in sizes:
            print(f"{m}: {n} nodes: parse {best[m, n, 'parse']:.1f} ms, with all passes {total[n]:.1f} ms")
        print(f"{m}: ten times the nodes:", *(f"{total[b] / total[a]:.1f} times" for a, b in zip(sizes, sizes[1:])))
        worst = sorted(PASSES, key=lambda p: best[m, sizes[1], p] / best[m, sizes[0], p])[-3:]
        print(f"{m}: steepest:", *(f"{p} {best[m, sizes[1], p] / best[m, sizes[0], p]:.1f}" for p in worst))


if __name__ == "__main__":
    main()
