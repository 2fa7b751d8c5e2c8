# SPDX-License-Identifier: Apache-2.0
"""`facula hb lint [FILE ...]`: what the chip lacks that kernels use, found by compiling them for it; `facula hb machine`."""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

# Routines that stand in for instructions the core does not have.
_DOUBLE = re.compile(r"__(add|sub|mul|div|neg|eq|ne|lt|le|gt|ge|unord)df[23]|__fix(uns)?df[sd]i|__float(un)?[sd]idf|__extendsfdf2|__truncdfsf2")
_LONG = re.compile(r"__(mul|div|udiv|mod|umod|ashl|ashr|lshr|cmp|ucmp|neg|divmod|udivmod)di[234]|__float(un)?disf|__fix(uns)?sfdi")
_DOUBLE_MATH = re.compile(r"(acos|asin|atan|ceil|cos|cosh|erf|exp|exp2|expm1|floor|log|log10|log1p|log2|nearbyint|pow|rint|round|sin|sinh|tan|tanh|trunc|fmod|atan2|fma)")
_HEAP = re.compile(r"malloc|free|realloc|calloc|_Zn[wa]j|_Zd[la]Pv.*|__cxa_.*|_Unwind_.*")
_AMO = re.compile(r"amo(and|xor|max|maxu|min|minu)\.w|sc\.w")


class Library:
    """libfacula_hb, without the framework."""

    def __init__(self) -> None:
        path = pathlib.Path(__file__).parent / "libfacula_hb.so"
        if not path.exists():
            import facula

            path = pathlib.Path(facula._C.__file__).parent / "libfacula_hb.so"
        if not path.exists():
            sys.exit("facula hb: this Facula was built without the HammerBlade device (USE_HAMMERBLADE)")
        self._library = ctypes.CDLL(str(path))
        self._library.facula_hb_last_error.restype = ctypes.c_char_p
        for name in ("machine", "folder", "chip_words"):
            getattr(self._library, f"facula_hb_{name}").restype = ctypes.c_long

    def has_chip_compiler(self) -> bool:
        return bool(self._library.facula_hb_has_chip_compiler())

    def text(self, function: str, argument: str | None) -> str:
        buffer = ctypes.create_string_buffer(1 << 16)
        call = getattr(self._library, f"facula_hb_{function}")
        if call(argument.encode() if argument is not None else None, buffer, len(buffer)) < 0:
            sys.exit(f"facula hb: {self._library.facula_hb_last_error().decode()}")
        return buffer.value.decode()

    def lines(self, program: str, addresses: list[int]) -> list[str]:
        """Where addresses of a chip's program come from: "file.cpp:12"; "" where nothing is known."""
        values = (ctypes.c_uint32 * len(addresses))(*addresses)
        buffer = ctypes.create_string_buffer(512 * len(addresses) + 1)
        call = self._library.facula_hb_lines
        call.restype = ctypes.c_long
        if call(program.encode(), values, ctypes.c_size_t(len(addresses)), buffer, ctypes.c_size_t(len(buffer))) < 0:
            return [""] * len(addresses)
        return buffer.value.decode(errors="replace").split("\n")

    def machine(self, name: str | None) -> dict[str, str]:
        """The machine's values by section.key."""
        values, section = {}, ""
        for line in self.text("machine", name).splitlines():
            if line.startswith("["):
                section = line.strip("[]") + "."
            elif "=" in line:
                key, value = line.split(" = ")
                values[section + key] = value.strip('"')
        return values


@dataclasses.dataclass
class Function:
    stack: int = 0
    code: int = 0
    calls: set[str] = dataclasses.field(default_factory=set)
    takes: set[str] = dataclasses.field(default_factory=set)  # names whose addresses it takes
    indirect: bool = False  # calls through a pointer


@dataclasses.dataclass(order=True, frozen=True)
class Finding:
    file: str
    line: int
    function: str
    what: str


def compiler(library: Library | None = None, machine: str | None = None) -> list[str] | None:
    """The words by which kernels are compiled for a machine's chip, the same for lint as for a launch; None: no compiler is installed."""
    library = library or Library()
    return library.text("chip_words", machine).split("\n") if library.has_chip_compiler() else None


def _command(library: Library, machine: str | None) -> list[str]:
    found = compiler(library, machine)
    if found is None:
        sys.exit("facula hb lint: no RISC-V compiler is installed, so nothing was checked (make setup-cosim; Debian: gcc-riscv64-unknown-elf, or clang and lld)")
    return found


def _sizes(path: pathlib.Path) -> tuple[dict[str, int], int]:
    """Bytes of code of the functions, and of variables, in a 32-bit little-endian object file."""
    data = path.read_bytes()
    start, count = struct.unpack_from("<I", data, 32)[0], struct.unpack_from("<H", data, 48)[0]
    sections = [struct.unpack_from("<10I", data, start + 40 * i) for i in range(count)]
    variables = sum(s[5] for s in sections if s[2] & 3 == 3)  # allocated and writable
    functions = {}
    for section in sections:
        if section[1] != 2:  # the symbol table
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 16):
            name, _, size, info = struct.unpack_from("<IIIB", data, at)
            if info & 15 == 2:
                functions[data[names + name : data.index(0, names + name)].decode()] = size
    return functions, variables


def _lacks(instruction: str, target: str, machine: dict[str, str]) -> str | None:
    """What the chip lacks of an instruction or a called routine."""
    if instruction in ("mulh", "mulhu", "mulhsu") and machine["core.multiply_high"] == "false":
        return f"{instruction}: the core has no multiply-high (division by a constant and 64-bit products need it)"
    if instruction.startswith("amoadd") and machine["core.amoadd"] == "false":
        return "amoadd: this machine has amoswap and amoor only"
    if _AMO.match(instruction):
        return f"{instruction}: the caches do amoswap, amoor and amoadd only"
    if not target:
        return None
    if _DOUBLE.fullmatch(target):
        return f"double arithmetic in software ({target}): write 1.0f, not 1.0, and float functions"
    if _LONG.fullmatch(target):
        return f"64-bit arithmetic in software ({target})"
    if _DOUBLE_MATH.fullmatch(target):
        return f"the double function {target}(): {target}f() is the float one"
    if _HEAP.fullmatch(target):
        return f"{target}: tiles have no heap and no exceptions"
    return None


def _read_assembly(text: str, functions: dict[str, Function], machine: dict[str, str], source: str) -> list[Finding]:
    files: dict[str, str] = {}
    found, current, file, line = [], "", source, 0
    own = pathlib.Path(source).name
    for row in text.splitlines():
        if match := re.match(r"([\w.$]+):", row):
            if match[1] in functions:
                current, file, line = match[1], source, 0
        elif match := re.match(r"\s*\.cfi_def_cfa_offset\s+(\d+)", row):
            if current:  # what compilers say of stacks in files of their own is named differently by each
                functions[current].stack = max(functions[current].stack, int(match[1]))
        elif match := re.match(r'\s*\.file\s+(\d+)\s+(?:"([^"]*)"\s+)?"([^"]*)"', row):
            files[match[1]] = match[3]
        elif match := re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", row):
            # A line of the kernel's own file is worth more than the header's that it goes through.
            if int(match[2]) and (pathlib.Path(files.get(match[1], "")).name == own or not line):
                file, line = files.get(match[1], source), int(match[2])
        elif match := re.match(r"\s+([a-z][\w.]*)(?:\s+(\S+))?", row):
            target = match[2].split("@")[0] if match[1] in ("call", "tail", "jal") and match[2] else ""
            if current and target:
                functions[current].calls.add(target)
            elif current:
                functions[current].takes.update(re.findall(r"%(?:pcrel_)?hi\(([\w.$]+)\)", row))
                functions[current].indirect |= match[1] == "jalr"
            if what := _lacks(match[1], target, machine):
                found.append(Finding(pathlib.Path(file).name, line, current, what))
    return found


def _reached(name: str, functions: dict[str, Function]) -> set[str]:
    """What a function may call, directly or through a pointer."""
    reached, new = set(), {name}
    while new:
        reached |= new
        new = {f for n in new for f in functions[n].calls | functions[n].takes if f in functions} - reached
    return reached


def _deepest(name: str, functions: dict[str, Function], pointers: set[str], on_path: tuple[str, ...] = ()) -> int | None:
    """Bytes of stack below a function; None: it calls itself. A pointer may be any of `pointers` that is not running already."""
    if name in on_path:
        return None
    if name not in functions:
        return 0
    below = 0
    for called in functions[name].calls | (pointers - {*on_path, name} if functions[name].indirect else set()):
        deep = _deepest(called, functions, pointers, (*on_path, name))
        if deep is None:
            return None
        below = max(below, deep)
    return functions[name].stack + below


def lint_file(path: pathlib.Path, command: list[str], machine: dict[str, str]) -> dict:
    """{'kernels': {name: {'code', 'stack'}}, 'variables', 'findings': [...]}, or {'error': the compiler's words}."""
    with tempfile.TemporaryDirectory(prefix="facula-hb-") as folder:
        at = pathlib.Path(folder)
        for words in (["-S", "-o", str(at / "k.s")], ["-c", "-o", str(at / "k.o")]):
            done = subprocess.run([*command, f"-I{path.resolve().parent}", *words, str(path)], capture_output=True, text=True)
            if done.returncode:
                return {"error": done.stderr}
        code, variables = _sizes(at / "k.o")
        functions = {name: Function(code=size) for name, size in code.items()}
        assembly = (at / "k.s").read_text()
    findings = _read_assembly(assembly, functions, machine, str(path))
    scratchpad, icache = int(machine["scratchpad.bytes"]), int(machine["icache.bytes"])
    visible = set(re.findall(r"^\s*\.globl\s+(\S+)", assembly, re.M))
    kernels = {name for name in functions if name in visible and not name.startswith("_Z")}
    table, notes = {}, []
    reached = {name: _reached(name, functions) for name in kernels}
    for name in sorted(kernels):
        deep = _deepest(name, functions, {f for n in reached[name] for f in functions[n].takes if f in functions})
        table[name] = {"code": functions[name].code, "stack": deep}
        if deep is None:
            findings.append(Finding(path.name, 0, name, f"calls itself: {scratchpad} bytes of scratchpad have no room for recursion"))
        elif deep + variables > scratchpad:
            findings.append(Finding(path.name, 0, name, f"needs {deep} bytes of stack and {variables} of variables; the scratchpad has {scratchpad}"))
        if functions[name].code > icache:
            notes.append(f"{name}: {functions[name].code} bytes of code do not fit the instruction cache of {icache}")
    # What is found in a function is said of the kernels that use it.
    users = {f.function: [name for name in sorted(kernels) if f.function in reached[name]] or [f.function] for f in findings}
    unique = sorted({Finding(f.file, f.line, name, f.what) for f in findings for name in users[f.function]})
    return {"kernels": table, "variables": variables, "findings": [dataclasses.asdict(f) for f in unique], "notes": notes}


def _shipped(library: Library) -> list[pathlib.Path]:
    return sorted((pathlib.Path(library.text("folder", "device")).parents[1] / "kernels").glob("*.cpp"))


def lint(args: argparse.Namespace) -> int:
    from facula._command_line import Progress

    library = Library()
    machine = library.machine(args.machine or "pod_X1Y1_ruche_X16Y8")
    files = [pathlib.Path(f) for f in args.files] or _shipped(library)
    if missing := [str(f) for f in files if not f.is_file()]:
        sys.exit(f"facula hb lint: {', '.join(missing)}: no such file")
    if others := [str(f) for f in files if f.suffix not in (".cpp", ".cc", ".cxx", ".c++", ".C")]:
        sys.exit(f"facula hb lint: {', '.join(others)}: a kernel is a C++ file (.cpp)")
    command = _command(library, args.machine)
    results = {}
    with Progress("compiling", len(files)) as bar:
        for f in files:
            bar.step(f.name)
            results[str(f)] = lint_file(f, command, machine)
    if args.json:
        print(json.dumps({"machine": machine["name"], "files": results}, indent=2))
    bad = 0
    for name, result in results.items():
        failed = "error" in result or bool(result["findings"])
        bad += failed
        if args.json:
            continue
        short = pathlib.Path(name).name
        if "error" in result:
            print(f"{short}: does not compile for {machine['core.isa']}:\n{result['error'].rstrip()}")
            continue
        rows: dict[tuple, list[str]] = {}  # a line of a header or a template is in many kernels
        for f in result["findings"]:
            rows.setdefault((f["file"], f["line"], f["what"]), []).append(f["function"])
        for (file, line, what), where in rows.items():
            where.sort(key=lambda name: name.startswith("_Z"))
            more = f" and {len(where) - 1} more" if len(where) > 1 else ""
            print(f"{file}:{line}: {where[0]}{more}: {what}" if line else f"{file}: {where[0]}{more}: {what}")
        for note in result["notes"]:
            print(f"{short}: note: {note}")
        if result["kernels"] and not failed:
            code = max(k["code"] for k in result["kernels"].values())
            stack = max(k["stack"] for k in result["kernels"].values())
            print(f"{short}: {len(result['kernels'])} kernels, at most {code} bytes of code, {stack} of stack, {result['variables']} of variables")
    if not args.json:
        print(f"facula hb lint: {len(files)} files for {machine['name']}, {bad} with something that the chip lacks")
    return 1 if bad else 0


def machine(args: argparse.Namespace) -> int:
    library = Library()
    if args.list:
        for path in sorted(pathlib.Path(library.text("folder", "machines")).glob("*.machine")):
            print(path.stem)
        return 0
    print(library.text("machine", args.machine), end="")
    return 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="hb_command", required=True)
    p = commands.add_parser("lint", help="compile kernels for the chip and say what they use that it lacks")
    p.add_argument("files", nargs="*", metavar="FILE", help="kernel files; none: the ones that Facula ships")
    p.add_argument("--machine", metavar="NAME", help="a machine, or the path of a .machine file (pod_X1Y1_ruche_X16Y8)")
    p.add_argument("--json", action="store_true", help="the data")
    p.set_defaults(do=lint)
    p = commands.add_parser("machine", help="print a machine with all its values; a file is checked")
    p.add_argument("machine", nargs="?", metavar="NAME", help="a machine, or the path of a .machine file; none: the one in effect")
    p.add_argument("--list", action="store_true", help="the machines that Facula ships")
    p.set_defaults(do=machine)
    from facula import _hb_debug, _hb_report

    _hb_report.add_commands(commands)
    _hb_debug.add_commands(commands)
