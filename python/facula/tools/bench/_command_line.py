# SPDX-License-Identifier: Apache-2.0
"""`facula bench SUITE …` and its further subcommands."""

from __future__ import annotations

import sys

from . import _suites

USAGE = """usage: facula bench SUITE OPTION ...     PyTorch's command line (facula bench SUITE --help); SUITE: torchbench, huggingface, timm_models
       facula bench list [SUITE] [--why]  the models, and what those that cannot run here lack
       facula bench diff A B              two result files, commits, or frameworks
       facula bench page FILE ... -o PAGE a page of stored results
       facula bench table FILE ...        the same as a Markdown table
       facula bench gate [--update]       the exact counts of tiny models"""


def main(arguments: list[str]) -> int:
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command in ("timm", "timm_models", "torchbench", "huggingface"):
        from . import _parent

        suite = "timm_models" if command == "timm" else command
        return _parent.run(suite, rest, f"facula bench {suite}")
    if command == "list":
        from . import _list

        return _list.main(rest)
    if command == "gate":
        from . import _gate

        return _gate.main(rest)
    if command == "diff":
        from . import _diff

        return _diff.main(rest)
    if command == "page":
        from . import _page

        return _page.main(rest)
    if command == "table":
        from . import _table

        return _table.main(rest)
    if command in ("-h", "--help"):
        print(USAGE)
        return 0
    print(USAGE, file=sys.stderr)
    print(f"facula bench: expected a suite ({', '.join(_suites.SUITES)}) or a subcommand, got {command!r}", file=sys.stderr)
    return 2
