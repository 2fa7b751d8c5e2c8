# SPDX-License-Identifier: Apache-2.0
"""`facula vprof program.py`: what a program computes, writes and reads for nothing, without a change to it."""

import argparse
import dataclasses
import errno
import os
import sys
import threading

FIRST, EVERY = 0.25, 5.0  # seconds to the first writing of what was found so far, and at most between two: who is killed leaves that
THRESHOLDS = (  # of single patterns; their defaults are those of values()
    ("frequent", float, 0.5, "share of the elements from which on one value is frequent"),
    ("zero", float, 0.0, "numbers up to this far from zero are zeros"),
    ("heavy_error", float, 0.0, "relative error that a narrower type may make"),
    ("structured_error", float, 1e-6, "how far elements may be from the line, as a share of the largest"),
    ("approximate", int, 5, "how far mantissas are cut, 1 to 5: float32 keeps 20, 15, 11, 7 or 3 bits"),
    ("exact_below", int, 65536, "writes of up to so many bytes are compared element by element in the default mode"),
    ("sample", int, 1, "values of one call in N of each call path are looked at"),
)


def add_arguments(parser):
    """The options of `facula vprof`."""
    from facula.tools.vprof import PATTERNS
    from facula.tools.vprof._profile import MODES

    parser.add_argument(
        "--mode",
        choices=MODES,
        default="default",
        help="default: by tiles of 1024 elements; exact: every element; budget: some calls of each call path",
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=0.05,
        metavar="SHARE",
        help="of --mode budget: share of the time that the profile may take (0.05)",
    )
    parser.add_argument(
        "--pattern",
        "-p",
        action="append",
        metavar="NAME",
        help=f"only these: {', '.join(PATTERNS)}; may be given several times",
    )
    parser.add_argument(
        "--min-bytes", type=int, default=4096, metavar="N", help="findings of fewer bytes are not told (4096)"
    )
    parser.add_argument(
        "--share",
        type=float,
        default=0.33,
        metavar="X",
        help="findings of a smaller share of what the place writes are not told (0.33)",
    )
    for name, kind, default, text in THRESHOLDS:
        metavar = "N" if kind is int else "X"
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default, metavar=metavar, help=f"{text} ({default})")
    parser.add_argument(
        "--operator", action="append", metavar="GLOB", help="only findings of these operators"
    )
    parser.add_argument(
        "--module",
        action="append",
        metavar="GLOB",
        help="only findings inside of these modules or record_function ranges",
    )
    parser.add_argument(
        "--scopes",
        action="store_true",
        help="name the nn.Module that each finding is in (a hook per call of a module)",
    )
    parser.add_argument(
        "--instructions",
        action="store_true",
        help="follow single loads and stores of kernels, where a device tells them (HammerBlade in check mode)",
    )
    parser.add_argument(
        "--floats", action="store_true", help="take words in device memory of no known type for float32, not int32"
    )
    parser.add_argument("--native", action="store_true", help="frames of compiled code in stacks, too")
    parser.add_argument(
        "--file",
        action="append",
        metavar="GLOB",
        help="only findings at these places: model.py, or model.py:12",
    )
    parser.add_argument(
        "--exclude", action="append", metavar="GLOB", help="no findings of these operators, modules or places"
    )
    parser.add_argument("--top", type=int, default=30, metavar="N", help="rows of the table (30)")
    parser.add_argument(
        "--output",
        "-o",
        metavar="FOLDER",
        help="where the results go (facula-vprof, or facula-vprof-2 … if that exists)",
    )
    parser.add_argument("-m", dest="module_name", action="store_true", help="PROGRAM is a module's name")
    parser.add_argument("program", help="a script's path, a module's name with -m, or a program in CUDA-Lite")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, default=[], help="handed to the program"
    ).required = False
    parser.set_defaults(do=run)


def rank():
    """'-rank3' in a process that torchrun or mpirun started beside others, else ''."""
    for number, size in (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")):
        if os.environ.get(size, "1") not in ("", "1") and os.environ.get(number, "").isdigit():
            return f"-rank{int(os.environ[number])}"
    return ""


def fresh_folder(name, exact=False):
    """Makes a folder for results, never over old ones: NAME, else NAME-2, NAME-3 … Ranks of one job share theirs, each with files
    of its own."""
    if own := rank():
        for n in range(1, 10000):
            path = name if n == 1 else f"{name}-{n}"
            os.makedirs(path, exist_ok=True)
            try:
                with open(os.path.join(path, f"values{own}.jsonl"), "x"):
                    return path
            except FileExistsError:
                continue
        raise OSError(f"{name}, {name}-2 … all exist")
    for n in range(1, 10000):
        path = name if n == 1 else f"{name}-{n}"
        try:
            os.makedirs(path)
            return path
        except FileExistsError:
            if exact and os.path.isdir(path) and not os.listdir(path):
                if not os.access(path, os.W_OK | os.X_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path) from None
                return path
    raise OSError(f"{name}, {name}-2 … all exist")


class Keeper:
    """Writes what was found so far into a folder: now and then, when the program ends in whatever way Python notices, and in
    forked processes into files of their own."""

    def __init__(self, profile, folder, title):
        self.profile, self.folder, self.title, self._writing = profile, folder, title, threading.Lock()
        self._main, self._stop = os.getpid(), threading.Event()
        os.register_at_fork(after_in_child=self._forked)

    def start(self):
        self._exit = os._exit
        os._exit = self._leave
        self._tick()

    def _tick(self):
        self._stop = threading.Event()
        threading.Thread(
            target=self._write_now_and_then, args=(self._stop,), daemon=True, name="facula-vprof"
        ).start()

    def _write_now_and_then(self, stop):
        wait = FIRST
        while not stop.wait(min(wait, EVERY)):
            self.write()
            wait *= 2

    def _forked(self):
        if self._stop.is_set():
            return
        self._writing = threading.Lock()
        import atexit

        atexit.register(self.write)
        self._tick()

    def _leave(self, status):
        """os._exit runs nothing else: what was found is written first."""
        try:
            self.write()
        finally:
            self._exit(status)

    def path(self, suffix):
        child = rank() + (f"-{os.getpid()}" if os.getpid() != self._main else "")
        return os.path.join(self.folder, f"values{child}{suffix}")

    def write(self, all_files=False):
        if not self._writing.acquire(blocking=False):
            return
        try:
            self.profile.export_jsonl(self.path(".jsonl"))
            if self.profile.options.instructions:
                child = self.path("").rpartition("values")[2]
                self.profile.export_accesses(os.path.join(self.folder, f"accesses{child}.jsonl"))
            if all_files:
                self.profile.export_csv(self.path(".csv"))
                self.profile.export_dot(self.path(".dot"))
                self.profile.export_html(self.path(".html"), self.title)
        except OSError as error:
            print(
                f"facula vprof: cannot write {error.filename or self.folder}: {error.strerror}",
                file=sys.stderr,
            )
        finally:
            self._writing.release()

    def stop(self):
        self._stop.set()
        os._exit = self._exit


def run(args) -> int:
    from facula.profiler._command import run_program
    from facula.tools.vprof import values

    try:
        profile = values(
            args.mode, args.pattern, scopes=args.scopes or None, children=True, budget=args.budget, min_bytes=args.min_bytes, share=args.share, operators=args.operator, modules=args.module,
            files=args.file, exclude=args.exclude, instructions=args.instructions, native=args.native, floats=args.floats,
            **{name: getattr(args, name) for name, *_ in THRESHOLDS})  # fmt: skip
    except (ValueError, TypeError) as error:
        print(f"facula vprof: {str(error).removeprefix('values: ')}", file=sys.stderr)
        return 2
    if not args.module_name and not os.path.isfile(args.program):
        print(f"facula vprof: there is no file {args.program}", file=sys.stderr)
        return 2
    try:
        folder = fresh_folder(args.output or "facula-vprof", exact=bool(args.output))
    except OSError as error:
        print(f"facula vprof: cannot make a folder for the results: {error}", file=sys.stderr)
        return 2
    from facula.tools.vprof import _program

    if not args.module_name and _program.is_native(args.program):
        return _program.report("facula vprof", args.program, args.arguments, dataclasses.asdict(profile.options), folder, args.top)
    args.module = args.module_name
    if args.instructions:
        os.environ.setdefault("FACULA_HB_MODE", "check")  # fast kernels tell nothing
    return keep(args, profile, folder, run_program, args.top)


def keep(
    args,
    profile,
    folder,
    run_program,
    top=30,
    more=None,
    names="values.html, values.jsonl, values.csv, values.dot",
):
    """Runs the program under the profile, keeps its results, and says in the last line where they are."""
    keeper = Keeper(profile, folder, os.path.basename(args.program))
    pid = os.getpid()
    keeper.start()
    try:
        status = run_program(args, profile)
    finally:
        if os.getpid() == pid:
            profile.stop()
            keeper.stop()
            keeper.write(all_files=True)
            if more:
                more()
            sys.stdout.flush()
            print(profile.table(top), end="")
            if own := rank():
                names = ", ".join(f"{stem}{own}.{suffix}" for stem, _, suffix in (n.rpartition(".") for n in names.split(", ")))
            print(f"results: {folder}/{names}", flush=True)
    return status


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(prog="facula vprof", usage="facula vprof [OPTION ...] [-m] PROGRAM [ARGUMENT ...]",
                                     description="Which bytes a program writes, reads and computes for nothing: ranked, with the line and the usual fix.")  # fmt: skip
    add_arguments(parser)
    args = parser.parse_args(argv)
    return args.do(args)
