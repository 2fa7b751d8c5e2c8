# SPDX-License-Identifier: Apache-2.0
"""The command line: `facula info`, `facula conformance NAME`, `facula run script.py …`, `facula run-archive MODEL.pt`, `facula env`, `facula machine`, `facula blas`,
`facula profile script.py …`, `facula profile --so LIBRARY script.py …`, `facula vprof script.py …`, `facula coverage script.py --device D`, `facula replay LOG`,
`facula hb lint`, `facula hb machine`, `facula bench SUITE …`."""

import argparse
import sys


def _compile_flags() -> str:
    """What a C++ compiler needs to build against this Facula: an installed one, or the tree it is built in."""
    import pathlib

    import facula

    package = pathlib.Path(facula.__file__).parent
    folders = [package / "include", package / "include" / "facula" / "internal"]
    if not folders[0].exists():
        build = pathlib.Path(facula._C.__file__).parent.parent.parent
        tree = next(p for p in build.parents if (p / "include" / "facula" / "facula.h").exists())
        folders = [tree / "include", tree / "src", build / "generated"]
    library = pathlib.Path(facula._C.__file__).parent
    return " ".join([*(f"-I{f}" for f in folders), f"-L{library}", f"-Wl,-rpath,{library}", "-lfacula"])


def info(args) -> int:
    import facula
    from facula import backends

    if args.cflags:
        print(_compile_flags())
        return 0
    print(facula.__config__.show())
    print("Devices:")
    print("  cpu")
    for b in backends.backends():
        for i, line in enumerate(b["devices"]):
            print(f"  {b['name']}:{i}  {line}")
    return 0


def conformance(args) -> int:
    from facula import conformance

    return conformance.main(args)


def run_archive(args) -> int:
    import facula as torch

    module = torch.jit.load(args.archive, map_location=args.device)
    given = () if args.input is None else torch.load(args.input, map_location=args.device)
    with torch.no_grad():
        result = getattr(module, args.method)(*(given if isinstance(given, (tuple, list)) else (given,)))
    if args.output:
        torch.save(result, args.output)
    else:
        print(result)
    return 0


def run(args) -> int:
    import contextlib

    from facula import _as_torch

    if args.processes is not None:
        from facula.distributed import run as torchrun

        module = ["-m"] if args.module else []
        return torchrun.run(torchrun.parse_args([f"--nproc-per-node={args.processes}", *module, args.program, *args.arguments]))
    with contextlib.ExitStack() as stack:
        if args.watch:
            from facula import hammerblade

            stack.enter_context(hammerblade.watch())
        program, arguments, text = args.program, args.arguments, None
        if args.text:  # what follows the text are all arguments
            program, arguments, text = "-c", [args.program, *args.arguments][1:], args.program
        return _as_torch.run(args.module, program, arguments, args.report, args.report_json, text)


def blas(args) -> int:
    from facula import _blas

    return _blas.main(args)


def profile(args) -> int:
    from facula import library_profile
    from facula.profiler import _command

    # A program that is not Python has no operators to see: it is asked which libraries.
    libraries = args.so or args.read or not args.program or (not args.module and _command.is_native(args.program))
    return library_profile.main(args) if libraries else _command.run(args)


def coverage(args) -> int:
    from facula.profiler import coverage

    return coverage.main(args.arguments)


def replay(args) -> int:
    from facula.profiler import _replay

    return _replay.run(args)


def vprof(args) -> int:
    from facula.tools.vprof import _command

    return _command.main(args.arguments)


def env(args) -> int:
    import shlex

    from facula import _as_torch

    for name, value in _as_torch.environment().items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def machine(args) -> int:
    from facula.machine import _command_line

    return _command_line.main(args.arguments)


def bench(args) -> int:
    from facula.tools.bench import _command_line

    return _command_line.main(args.arguments)


def network(args) -> int:
    from facula.tools.network import _command

    return _command.main(args.arguments)


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(prog="facula", description="Facula: a deep-learning framework with PyTorch's shape")
    commands = parser.add_subparsers(dest="command", required=True)

    p = commands.add_parser("info", help="what this Facula was built with, and its devices")
    p.add_argument("--cflags", action="store_true", help="only the flags that compile and link C++ against it, operator libraries included")
    p.set_defaults(do=info)

    p = commands.add_parser("conformance", help="the scorecard of a backend")
    p.add_argument("device", help="a device name, or the path of a backend's .so")
    p.add_argument("--json", metavar="FILE", help="write the data")
    p.add_argument("--html", metavar="FILE", help="write a page")
    p.set_defaults(do=conformance)

    p = commands.add_parser("run", help="run a program for which `import torch` gives Facula", usage="facula run [--report] [--report-json FILE] [--watch] [-n N] [-m | -c] PROGRAM [ARGUMENT ...]")
    p.add_argument("--report", action="store_true", help="at exit, list every name of torch that was touched, called and missing")
    p.add_argument("--report-json", metavar="FILE", help="the same as data, into a file")
    p.add_argument("--watch", action="store_true", help="reload kernel files of the HammerBlade device as they are saved")
    p.add_argument("-n", dest="processes", type=int, metavar="N", help="as N processes for torch.distributed (torchrun has more options)")
    p.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module's name")
    p.add_argument("-c", dest="text", action="store_true", help="PROGRAM is the program itself")
    p.add_argument("program", help="a script's path, - for the standard input, a module's name with -m, a text with -c")
    p.add_argument("arguments", nargs=argparse.REMAINDER, default=[], help="handed to the program").required = False
    p.set_defaults(do=run)

    p = commands.add_parser("profile", help="where the time of a program goes: its operators, or with --so its shared libraries and who calls them",
                            usage="facula profile [--so LIBRARY[,LIBRARY ...]] [OPTION ...] [-m] PROGRAM [ARGUMENT ...]")  # fmt: skip
    p.add_argument("--top", type=int, default=30, help="rows of each table (30)")
    g = p.add_argument_group("operators")
    g.add_argument("--sort", default="self_cpu_time_total", metavar="COLUMN", help="of the table: self_cpu_time_total (default), cpu_time_total, count, flops, bytes …")
    g.add_argument("--shapes", action="store_true", help="one row per operator and shapes of its arguments")
    g.add_argument("--memory", action="store_true", help="what is allocated and freed")
    g.add_argument("--stacks", action="store_true", help="one row per operator and line of the program")
    g.add_argument("--modules", action="store_true", help="a table of nn.Modules too")
    g.add_argument("--trace", metavar="FILE", help="write the trace for Perfetto or chrome://tracing (.gz is compressed)")
    g.add_argument("--csv", metavar="FILE", help="write the table's rows as data")
    g.add_argument("--jsonl", metavar="FILE", help="write every call as a line of JSON")
    g.add_argument("--html", metavar="FILE", help="write one page with timeline, tables, flame graph and memory")
    g = p.add_argument_group("several processes")
    g.add_argument("-n", dest="processes", type=int, metavar="N", help="run the program as N processes for torch.distributed: one trace of all, who waited for whom, bytes from rank to rank")
    g.add_argument("--rank", type=int, default=0, help="whose operators the table shows (0)")
    g.add_argument("--part", metavar="FOLDER", help=argparse.SUPPRESS)  # this process is one of them
    g = p.add_argument_group("libraries")
    g.add_argument("--so", metavar="LIBRARIES", help="libraries to look at: libopenblas.so, a path, several with commas, or all")
    g.add_argument("--rate", type=int, default=1000, help="samples per second of a thread's CPU time (1000)")
    g.add_argument("--output", "-o", metavar="FOLDER", default="facula-profile", help="where the flame graph and the data go (facula-profile)")
    g.add_argument("--read", metavar="FILE", help="print a <soname>.profile that the C library wrote under LD_PROFILE; --so names the library's file")
    p.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module's name")
    p.add_argument("program", nargs="?", help="a Python script, a module's name with -m, or with --so any other program")
    p.add_argument("arguments", nargs=argparse.REMAINDER, default=[], help="handed to the program")
    p.set_defaults(do=profile)

    p = commands.add_parser("vprof", help="which bytes a program writes, reads and computes for nothing", add_help=False, prefix_chars="\0")  # options are its own
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    p.set_defaults(do=vprof)

    p = commands.add_parser("coverage", help="which operators a program needs, and which of them a device has", add_help=False, prefix_chars="\0")  # options are its own
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    p.set_defaults(do=coverage)

    p = commands.add_parser("run-archive", help="run a module that torch.jit.save wrote, on a tensor or a tuple of arguments that torch.save wrote")
    p.add_argument("archive", metavar="MODEL.pt")
    p.add_argument("--input", metavar="X.pt", help="what forward() is given; nothing: no arguments")
    p.add_argument("--method", default="forward", metavar="NAME", help="another method")
    p.add_argument("--output", metavar="Y.pt", help="write the result there instead of printing it")
    p.add_argument("--device", metavar="NAME", help="where the module's tensors go")
    p.set_defaults(do=run_archive)

    p = commands.add_parser("replay", help="run one call of a kernel log again, on any device, or write it as a C++ program")
    p.add_argument("log", metavar="LOG", help="a file that torch.profiler.kernel_log wrote; alone: its calls are listed")
    p.add_argument("--call", type=int, metavar="N", help="run this one again and compare with what was recorded")
    p.add_argument("--device", metavar="D", help="where, instead of where it was recorded: a device's name, or the path of a backend's .so")
    p.add_argument("--cpp", metavar="FILE", help="write the call as a C++ program instead")
    p.set_defaults(do=replay)

    p = commands.add_parser("env", help="the variables under which plain python, gdb and pytest do the same: eval \"$(facula env)\"")
    p.set_defaults(do=env)

    p = commands.add_parser("hb", help="the HammerBlade device: lint compiles kernels for the chip, machine prints its description")
    from facula import _hb

    _hb.add_arguments(p)

    p = commands.add_parser("machine", help="what disturbs measurements here: check, lock, unlock, noise", add_help=False, prefix_chars="\0")  # options are its own
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    p.set_defaults(do=machine)

    p = commands.add_parser("blas", help="compare the libraries that multiply matrices over the products of ResNet-50, BERT-base and GPT-2")
    p.add_argument("library", nargs="*", metavar="LIBRARY", help="facula, onednn, openblas, blis, mkl, reference or a path; all that are found without any")
    p.add_argument("--threads", type=int, metavar="N", help="as many as programs get, unless told")
    p.add_argument("--quick", action="store_true", help="fewer and shorter runs: a first impression")
    p.add_argument("--json", metavar="FILE", help="write the data, single runs included")
    p.add_argument("--svg", metavar="FILE", help="draw a picture")
    p.set_defaults(do=blas)

    p = commands.add_parser("bench", help="models with PyTorch's benchmark command lines: torchbench, huggingface, timm_models, list, diff, page", add_help=False, prefix_chars="\0")
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    p.set_defaults(do=bench)

    p = commands.add_parser("network", help="recorded distributed runs: who waited for whom, and how long they would take on thousands of ranks", add_help=False, prefix_chars="\0")
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    p.set_defaults(do=network)

    args = parser.parse_args(argv)
    if args.do is run:  # what a program does when nobody reads is its own
        return run(args)
    from facula._command_line import until_unread

    return until_unread(args.do, args)


if __name__ == "__main__":
    sys.exit(main())
