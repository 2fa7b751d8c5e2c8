# SPDX-License-Identifier: Apache-2.0
"""`gvprof`, `hpcrun`, `gviewer`, `hpcstruct` and `hpcprof` with GVProf's command lines: what was typed for GVProf runs as it
stands, in one run, on every device; what is not needed here is said in one sentence."""

import argparse
import os
import shlex
import sys

MODES = {
    "data_flow": ("redundant", "identity", "dead", "fill_accumulate", "duplicate", "repeated"),
    "value_pattern": (
        "single_zero",
        "single_value",
        "frequent",
        "heavy_type",
        "inappropriate_float",
        "structured",
        "approximate",
    ),
    "redundancy": ("redundant", "dead", "single_zero", "single_value", "frequent"),
}

# knob -> None where it acts, else why it is not needed
KNOBS = {
    "GPU_PATCH_RECORD_NUM": "events are told one by one, there is no buffer of records to size",
    "BUFFER_POOL_SIZE": "events are told one by one, there is no pool of buffers",
    "APPROX_LEVEL": None,
    "PC_VIEWS": None,
    "MEM_VIEWS": None,
    "DEFAULT_TYPE": None,
    "KERNEL_SAMPLING_FREQUENCY": None,
    "WHITELIST": None,
    "BLACKLIST": None,
    "READ_TRACE_IGNORE": "reads are ranges of calls, single accesses are not traced",
    "DATA_FLOW_HASH": None,
    "GPU_ANALYSIS_BLOCKS": "ranges come from the calls' operands, there is nothing to merge on the device",
    "ASYNC": "nothing is synchronised for the profile",
}
PREFIX = "HPCRUN_SANITIZER_"


class Wrong(Exception):
    """A command line that cannot be run, in one sentence."""


def _whole(name, text, low, high):
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise Wrong(f"{name} is a whole number from {low} to {high}, got {text!r}")
    return value


def _names(name, path):
    try:
        with open(path, encoding="utf-8") as f:
            return tuple(line.strip() for line in f if line.strip())
    except OSError as error:
        raise Wrong(f"{name}: cannot read {path}: {error.strerror}") from None


def options_of(events, knobs):
    """The profile's options, rows of the tables, values of a row, GVProf's modes, and what was asked for and is not needed."""
    from facula.tools.vprof._findings import PATTERNS

    options, top, views, said, patterns, modes = {}, 30, 30, [], [], []
    for event in events:
        parts = event.removeprefix("gpu=").split(",")
        for part in parts:
            mode, _, sample = part.partition("@")
            if mode in ("nvidia", "gpu", "sanitizer"):
                continue
            if mode not in MODES:
                raise Wrong(
                    f"unknown event {part!r}: there are {', '.join(MODES)}, as in -e gpu=nvidia,data_flow"
                )
            patterns += MODES[mode]
            modes.append(mode)
            if sample:
                if mode == "data_flow":
                    raise Wrong(
                        "data_flow@N: blocks are not sampled for the value flow, versions must be complete"
                    )
                options["sample"] = _whole("sampling frequency", sample, 1, 10**9)
    options["patterns"] = tuple(p for p in PATTERNS if p in patterns) or PATTERNS
    for knob in knobs:
        name, equals, value = knob.partition("=")
        short = name.removeprefix(PREFIX)
        if short not in KNOBS or not equals:
            raise Wrong(
                f"unknown knob {knob!r}: -ck takes NAME=VALUE of {', '.join(PREFIX + k for k in KNOBS)}"
            )
        if KNOBS[short]:
            said.append(f"{name} is not needed: {KNOBS[short]}")
        elif short == "APPROX_LEVEL":
            level = _whole(name, value, 0, 5)
            if level:
                options["approximate"] = level
            else:
                options["patterns"] = tuple(p for p in options["patterns"] if p != "approximate")
        elif short == "PC_VIEWS":
            top = _whole(name, value, 1, 10**6)
        elif short == "MEM_VIEWS":
            views = _whole(name, value, 1, 10**6)
        elif short == "DEFAULT_TYPE":
            if value not in ("float", "int"):
                raise Wrong(f"{name} is float or int, got {value!r}")
            options["floats"] = value == "float"
        elif short == "KERNEL_SAMPLING_FREQUENCY":
            options["sample"] = _whole(name, value, 1, 10**9)
        elif short == "DATA_FLOW_HASH":
            if not _whole(name, value, 0, 1):
                options["patterns"] = tuple(p for p in options["patterns"] if p != "duplicate")
        elif short == "WHITELIST":
            options["operators"] = _names(name, value)
        elif short == "BLACKLIST":
            options["exclude"] = _names(name, value)
    if not options["patterns"]:
        raise Wrong("these knobs leave no pattern to look for")
    modes = modes or list(MODES)
    # What GVProf has its kernels record whole is told by single loads and stores, where a device can.
    options["instructions"] = any(mode != "data_flow" for mode in modes)
    return options, top, views, modes, said


def program_of(command):
    """(is a module, program, arguments) of `python [-u] script.py …`, `python -m module …`, or a script."""
    if not command:
        raise Wrong("no program: say which, as in python ./script.py")
    name = os.path.basename(command[0])
    rest = list(command[1:]) if name.startswith("python") else list(command)
    while rest and name.startswith("python") and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
        rest.pop(0)
    if rest and rest[0] == "-m":
        rest.pop(0)
        if rest:
            return True, rest[0], rest[1:]
    if rest and rest[0] == "-c":
        raise Wrong("python -c: put the program into a file, so that findings have a line")
    if not rest:
        raise Wrong("no program: say which, as in python ./script.py")
    if not os.path.isfile(rest[0]):
        raise Wrong(f"there is no file {rest[0]}")
    return False, rest[0], rest[1:]


def measure(prog, command, events, knobs, folder, exact=False):
    """Runs the program once and leaves GVProf's files in a fresh folder."""
    from facula._command_line import write_file
    from facula.profiler._command import run_program
    from facula.tools.vprof import values
    from facula.tools.vprof._command import fresh_folder, keep
    from facula.tools.vprof._tables import write_all

    try:
        is_module, program, arguments = program_of(command)
        options, top, views, modes, said = options_of(events, knobs)
        profile = values(children=True, **options)
        folder = fresh_folder(folder, exact)
    except (Wrong, ValueError, TypeError) as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{prog}: cannot make a folder for the results: {error}", file=sys.stderr)
        return 2
    for sentence in said:
        print(f"{prog}: {sentence}", file=sys.stderr)
    args = argparse.Namespace(module=is_module, program=program, arguments=arguments)

    def more(profile=profile):
        graph = profile.graph
        write_file(os.path.join(folder, "data_flow.dot"), graph.dot())
        write_file(os.path.join(folder, "data_flow.dot.context"), graph.contexts())
        write_all(folder, profile.accesses, profile.findings, {*modes, "value_pattern"}, top, views)

    names = ["data_flow.dot", "data_flow.dot.context", "value_pattern_t0.csv", "values.html", "values.jsonl", "values.csv"]
    if "redundancy" in modes:
        names[3:3] = ["temporal_read_t0.csv", "temporal_write_t0.csv", "spatial_read_t0.csv", "spatial_write_t0.csv"]
    from facula.tools.vprof import _program

    if not is_module and _program.is_native(program):
        return _program.report(prog, program, arguments, options, folder, top, more, ", ".join([*names, "accesses.jsonl"]))
    if options["instructions"]:
        os.environ.setdefault("FACULA_HB_MODE", "check")  # fast kernels tell nothing
    return keep(args, profile, folder, run_program, top, more, ", ".join(names))


def _guard(main):
    def run(argv=None):
        from facula._command_line import until_unread

        return until_unread(main, sys.argv[1:] if argv is None else argv)

    return run


@_guard
def hpcrun(argv):
    parser = argparse.ArgumentParser(
        prog="hpcrun",
        description="Runs a Python program under the value profiler: hpcrun -e gpu=nvidia,data_flow python ./script.py",
    )
    parser.add_argument(
        "-e",
        "--event",
        action="append",
        default=[],
        metavar="EVENT",
        help="gpu=nvidia,MODE with MODE data_flow, value_pattern or redundancy",
    )
    parser.add_argument(
        "-ck",
        "--control-knob",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a knob HPCRUN_SANITIZER_…",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="where the results go (hpctoolkit-NAME-measurements, never over old ones)",
    )
    parser.add_argument(
        "-t", "--trace", action="store_true", help="not needed: `facula profile --trace` writes traces"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="python ./script.py …")
    args = parser.parse_args(argv)
    if args.trace:
        print("hpcrun: -t is not needed: `facula profile --trace FILE` writes traces", file=sys.stderr)
    name = os.path.basename(args.command[0]) if args.command else ""
    return measure(
        "hpcrun",
        args.command,
        args.event,
        args.control_knob,
        args.output or f"hpctoolkit-{name}-measurements",
        bool(args.output),
    )


@_guard
def gvprof(argv):
    parser = argparse.ArgumentParser(
        prog="gvprof",
        description="Runs a Python program under the value profiler, once: gvprof -e value_pattern python ./script.py",
    )
    parser.add_argument(
        "-e", dest="event", required=True, metavar="MODE[@N]", help="redundancy, data_flow or value_pattern"
    )
    parser.add_argument("-s", dest="sample", metavar="N", help="look at one call in N of each call path")
    parser.add_argument(
        "-ck",
        dest="knobs",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a knob HPCRUN_SANITIZER_…",
    )
    parser.add_argument("-cfg", action="store_true", help="not needed: types are those of the tensors")
    parser.add_argument("-j", dest="threads", metavar="N", help="not needed: nothing is analysed afterwards")
    parser.add_argument("-l", dest="launcher", metavar="COMMAND", help='what starts it: "mpirun -np 1"')
    parser.add_argument("-v", action="store_true", help="not needed: errors are always told")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="python ./script.py …, or a script")
    args = parser.parse_args(argv)
    for given, sentence in (
        (args.cfg, "-cfg is not needed: types are those of the tensors"),
        (args.threads, "-j is not needed: nothing is analysed afterwards"),
    ):
        if given:
            print(f"gvprof: {sentence}", file=sys.stderr)
    knobs = args.knobs + ([f"{PREFIX}KERNEL_SAMPLING_FREQUENCY={args.sample}"] if args.sample else [])
    if args.launcher:
        parts = shlex.split(args.launcher)
        again = [
            sys.executable,
            "-m",
            "facula.tools.vprof._gvprof",
            "gvprof",
            "-e",
            args.event,
            *(x for k in knobs for x in ("-ck", k)),
            *args.command,
        ]
        try:
            os.execvp(parts[0], [*parts, *again])
        except (OSError, IndexError) as error:
            print(f"gvprof: cannot start {args.launcher!r}: {error}", file=sys.stderr)
            return 2
    return measure("gvprof", args.command, [args.event], knobs, "gvprof-measurements")


@_guard
def hpcstruct(argv):
    print("hpcstruct: nothing is left to do: lines of the program were found as it ran")
    return 0


@_guard
def hpcprof(argv):
    print("hpcprof: nothing is left to do: the folder that hpcrun named has the finished results")
    return 0


@_guard
def gviewer(argv):
    from facula.tools.vprof._viewer import run

    return run(argv)


if __name__ == "__main__":
    sys.exit(
        {"gvprof": gvprof, "hpcrun": hpcrun, "gviewer": gviewer, "hpcstruct": hpcstruct, "hpcprof": hpcprof}[
            sys.argv[1]
        ](sys.argv[2:])
    )
