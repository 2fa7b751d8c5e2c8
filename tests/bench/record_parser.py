# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch's own parser makes of command lines: its options, what each prefix stands for, and namespaces.

    python tests/bench/record_parser.py PYTORCH/benchmarks/dynamo/common.py     # under a Python that has PyTorch

Only `parse_args` of that file is run, taken out by its syntax tree: the file itself imports much that need not be there.
Help texts are not kept. tests/bench/test_options.py holds ours to parser_facts.json.
"""

import argparse
import ast
import contextlib
import io
import json
import pathlib
import sys

LINES = [
    "--performance --inductor --train --amp --only hf_GPT2",
    "--performance --training --amp --backend=inductor --output=huggingface_training.csv",
    "--accuracy --inference --bfloat16 -dcpu --backend=inductor --cold-start-latency -k vit -x siglip --total-partitions 4 --partition-id 1",
    "--performance --float32 -dcpu --output=x.csv --inference -n50 --inductor --timeout 9000 --freezing --only BERT_pytorch --batch_size 4",
    "--accuracy --training --float32 --nothing --only path:/abs/m.py,class:M",
    "--perf --inf -k a -k b -x c --exclude-exact d --exclude-exact e",
    "--perf --inf -d cpu -d cuda --device cpu --devices cpu",
    "--tol --inf --use_warm_peak_memory",
    "--performance --inference --dashboard",
    "--accuracy --inference --dashboard",
    "--accuracy --inference --batch-invariant",
    "--perf --inf --batch-invariant",
    "--perf --acc --inf",
    "--perf --train --inf",
    "--perf",
    "--inf",
    "--perf --inf --inductor --nothing",
    "--perf --inf --amp --float32",
    "--perf --inf --amp-dtype float32",
    "--perf --inf --amp-dtype bfloat16",
    "--perf --inf --cold-start-latency --warm-start-latency",
    "--perf --inf --total-partitions 16",
    "--perf --inf --total-partitions 0",
    "--perf --inf -n many",
    "--perf --inf -v -q",
    "--perf --inf -fvt4 -n3 -c a=1 -c b=2",
    "--perf --inf --quantization int8dynamic",
    "--perf --inf --quantization int2",
    "--perf --inf --optimus all",
    "--perf --inf --nosuch",
    "--perf --inf stray",
    "--perf --inf --per 1 --per_process_memory_fraction 0.5",
    "--perf --inf --repeat=7 --repeat 8",
    "--perf --inf --timeout 1e3",
]


def parse_args_of(path):
    tree = ast.parse(pathlib.Path(path).read_text(encoding="utf-8"))
    kept = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in ("parse_args", "help")]
    kept += [n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "diff_branch_default"]
    kept += [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.endswith(("_experiment", "_experiment_fx2trt"))]
    for n in kept:
        n.decorator_list = []
    import torch
    import torch._dynamo

    scope = {"argparse": argparse, "torch": torch}
    exec(compile(ast.Module(kept, []), str(path), "exec"), scope)
    return scope["parse_args"]


def outcome(parse, line, defaults):
    """What the namespace holds beyond the defaults, or None where the parser refuses."""
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            return {name: value for name, value in vars(parse(line.split())).items() if value != defaults[name]}
        except SystemExit:
            return None


def main():
    parse = parse_args_of(sys.argv[1])
    made, original = [], argparse.ArgumentParser.parse_args

    def catch(self, *arguments):
        made.append(self)
        return original(self, *arguments)

    argparse.ArgumentParser.parse_args = catch
    parse(["--performance", "--inference"])
    argparse.ArgumentParser.parse_args = original
    parser = made[0]
    options, prefixes = [], {}
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        options.append({
            "names": action.option_strings, "dest": action.dest, "takes": action.nargs != 0, "repeats": isinstance(action, argparse._AppendAction),
            "type": action.type.__name__ if action.type else None, "default": action.default,
            "choices": list(action.choices) if action.choices is not None and action.dest != "backend" else None,
        })  # fmt: skip
        for name in action.option_strings:
            for end in range(3, len(name) + 1) if name.startswith("--") else ():
                found = parser._option_string_actions.get(name[:end])
                match = [found] if found else {id(m[0]): m[0] for m in parser._get_option_tuples(name[:end])}.values()
                several = not found and len(parser._get_option_tuples(name[:end])) > 1
                prefixes[name[:end]] = None if several else next(iter(match)).dest
    groups = [sorted(a.dest for a in g._group_actions) for g in parser._mutually_exclusive_groups]
    defaults = {**vars(parse(["--performance", "--inference"])), "performance": False, "inference": False}
    lines = {line: outcome(parse, line, defaults) for line in LINES}
    parts = {"options": options, "prefixes": prefixes, "groups": groups, "lines": lines}
    target = pathlib.Path(__file__).with_name("parser_facts.json")
    target.write_text("{" + ",\n".join(f"{json.dumps(name)}: {json.dumps(part)}" for name, part in parts.items()) + "}\n")
    print(f"{len(options)} options, {len(prefixes)} prefixes, {len(LINES)} command lines: {target.name}")


if __name__ == "__main__":
    main()
