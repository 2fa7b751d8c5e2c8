# SPDX-License-Identifier: Apache-2.0
"""pycosim and its kin: python, with the HammerBlade device simulated cycle by cycle; `import torch` is Facula.

    pycosim train.py            python's own arguments: a file, -c, -m pytest, standard input
    pycosim.profile train.py    writes vanilla_stats.csv, vcache_stats.csv, router_stats.csv, launches.jsonl here
    pycosim.trace train.py      and vanilla_operation_trace.csv, vcache_operation_trace.csv, vanilla.log (--limit ROWS)
    pycosim.wave train.py       and debug.vcd
    pycosim.saif train.py       switching counts, run.saif

Settings come first: --limit ROWS (of a trace), --fidelity functional|timed, --machine NAME."""

import os
import pathlib
import sys

_FILES = {"": "none", ".profile": "profile", ".trace": "trace", ".wave": "wave", ".saif": "saif"}
_OPTIONS = {"--limit": "FACULA_HB_LIMIT", "--fidelity": "FACULA_HB_FIDELITY", "--machine": "FACULA_HB_MACHINE", "--sample": "FACULA_HB_SAMPLE"}


def main() -> int:
    name = pathlib.Path(sys.argv[0]).name
    kind = name[len("pycosim") :] if name.startswith("pycosim") else ""
    if kind not in _FILES:
        sys.exit(f"{name}: there are pycosim, {', '.join('pycosim' + k for k in _FILES if k)}")
    environment = {**os.environ, "FACULA_HB": "sim", "FACULA_HB_FILES": _FILES[kind], "FACULA_HB_FOLDER": os.getcwd()}
    arguments = sys.argv[1:]
    while arguments and arguments[0].partition("=")[0] in _OPTIONS:
        option, equals, value = arguments.pop(0).partition("=")
        if not equals:
            if not arguments:
                sys.exit(f"{name}: {option} wants a value")
            value = arguments.pop(0)
        environment[_OPTIONS[option]] = value
    if arguments[:1] == ["--help-pycosim"]:
        print(__doc__)
        return 0
    import facula

    package = pathlib.Path(facula.__file__).parent
    paths = [str(package.parent), str(package / "_shim"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *arguments], environment)
