# SPDX-License-Identifier: Apache-2.0
"""What torch.hammerblade has beyond other devices: the functions that its backend offers by name."""

import contextlib
import difflib
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from facula import _C

has_half = False  # no arithmetic with half precision


def _call(function: str, *args):
    return _C._backend_call(_C.device("hammerblade"), function, list(args))


def launch(kernel: str, *arguments) -> None:
    """Runs a kernel on all tiles. Results come first, then tensors and numbers, as the kernel's parameters do."""
    _call("launch", kernel, *arguments)


def load(path: str | os.PathLike) -> list[str]:
    """Brings the kernels of a file (compiled now) or a library; returns their names. A kernel of the same name is replaced."""
    return _call("load", os.path.abspath(path)).splitlines()


def reload() -> list[str]:
    """Compiles the kernel files that have changed since they were loaded, or include a file that has, and uses their kernels
    from now on. Returns the names of these. Where one does not compile, RuntimeError has the compiler's words, and its old
    kernels stay."""
    return _call("reload").splitlines()


def bind(operator: str, kernel: str | None) -> None:
    """Has a kernel do an operator: bind("aten::sigmoid", "tensorlib_sigmoid"). None: as the kernel files say.

    RuntimeError: there is no such operator or kernel, or no call of the operator fits the kernel's parameters. A call that does
    not (another element type) goes another way, and a warning says so once."""
    if kernel:
        _must_fit(operator, kernel)
    _call("bind", operator, kernel or "")


_TAKES = {"hb_tensor_t": ("Tensor",), "hb_vector_t": ("int[]",), "out": ("Tensor",), "in": ("Tensor",), "maybe": ("Tensor",),
          "changed": ("Tensor",), "list": ("Tensor[]",), "ints": ("int[]",), "number": ("number",), "numbers": ("number",),
          "ignored": ("Tensor", "Tensor[]", "int[]", "number", "other")}  # fmt: skip


def _sort_of(schema_type: str) -> str:
    """What a kernel gets for an argument of a schema's type."""
    plain = schema_type.partition("(")[0].rstrip("?") + schema_type.partition(")")[2].rstrip("?")
    if plain.startswith(("Tensor[", "Tensor?[")):
        return "Tensor[]"
    if plain.startswith(("int[", "SymInt[", "bool[")):
        return "int[]"
    return plain if plain == "Tensor" else "number" if plain in ("int", "SymInt", "float", "bool", "Scalar", "ScalarType") else "other"


def _must_fit(operator: str, kernel: str) -> None:
    """RuntimeError where the kernel cannot do the operator, whatever it is called with."""
    op = _C._find_operator(operator)
    if op is None:
        overloads = [f"{operator}.{name}" if name else operator for name in _C._overloads(operator)]
        near = overloads or difflib.get_close_matches(operator, _C._operator_names(), 3)
        raise RuntimeError(f"there is no operator {operator}" + (f": there is {', '.join(near)}" if near else ""))
    found = next((k for k in kernels() if k.name == kernel), None)
    if found is None:
        return  # the backend says which there are
    schema = op._schema
    given = [_sort_of(str(item.type)) for item in (*schema.returns, *schema.arguments)]
    taken: list[tuple[str, ...]] = []
    for parameter in found.parameters:
        c_type = next((t for t in ("hb_tensor_t", "hb_vector_t") if t in parameter), "")
        kind = c_type or parameter.partition(" ")[0]
        taken.append(("Tensor", "Tensor[]") if kind == "hb_tensor_t" else _TAKES.get(kind, ("number",)))
    if found.parameters and found.parameters[-1].startswith("numbers") and len(given) == len(taken) - 1:
        taken.pop()
    if len(given) != len(taken) or any(sort not in sorts for sort, sorts in zip(given, taken, strict=True)):
        raise RuntimeError(f"{kernel} cannot do {operator}: the operator has {len(schema.returns)} result{'s' * (len(schema.returns) != 1)}, then its arguments ({schema}), "
                           f"the kernel takes ({', '.join(found.parameters)})")  # fmt: skip


class Kernel(NamedTuple):
    name: str
    operator: str  # that it does; "" if it is part of a family, or launched by name only
    file: str
    parameters: tuple[str, ...]  # "out float32", "in float32", "number int64"; of a kernel of the port its C types


def kernels() -> list[Kernel]:
    """All kernels that can be launched."""
    lines = (line.split("\t") for line in _call("kernels").splitlines())
    return [Kernel(name, operator, file, tuple(parameters.split(", ")) if parameters else ()) for name, operator, file, parameters in lines]


def verify(kernel: str, operator: str | Callable | None = None, make: Callable | None = None, examples: int = 20, seed: int = 0, rtol: float = 1e-4, atol: float = 1e-5) -> int:
    """Compares a kernel with the CPU on made-up arguments, in all layouts; returns how many examples there were.

    `operator`: what it must equal, a torch function of CPU tensors or an operator's name; None: the operator that the kernel does.
    Arguments follow from the kernel's parameters: tensors of one random shape, numbers. Where an operator wants others,
    `make(random)` returns them as a list of CPU tensors and numbers; `random` is a random.Random. The first difference is an
    AssertionError that tells the arguments."""
    import facula as torch

    found = next((k for k in kernels() if k.name == kernel), None)
    if found is None:
        raise RuntimeError(f"there is no kernel {kernel}")
    operator = operator or found.operator
    if not operator:
        raise ValueError(f"{kernel} does no operator by itself: say what it must equal")
    function = operator if callable(operator) else _operator(operator)
    chance = random.Random(seed)
    for example in range(examples):
        arguments = _arguments(torch, found, chance) if make is None else make(chance)
        want = function(*arguments)
        outs = [torch.full_like(w, 7).hammerblade() for w in (want if isinstance(want, (tuple, list)) else [want])]
        launch(kernel, *outs, *(a.hammerblade_ll() if isinstance(a, torch.Tensor) else a for a in arguments))
        for out, w in zip(outs, want if isinstance(want, (tuple, list)) else [want], strict=True):
            torch.testing.assert_close(out.cpu(), w, rtol=rtol, atol=atol, equal_nan=True, msg=lambda m: f"{kernel}, example {example}, arguments {arguments}: {m}")  # noqa: B023
    return examples


def _operator(name: str):
    from facula import ops

    space, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    packet = getattr(getattr(ops, space), base)
    return getattr(packet, overload) if overload else packet


def _arguments(torch, kernel: Kernel, chance: random.Random) -> list:
    """A tensor or a number for each parameter that is not a result."""
    shape = [chance.randint(1, 6) for _ in range(chance.randint(0, 4))]
    made: list = []
    for parameter in kernel.parameters:
        kind, _, dtype = parameter.partition(" ")
        if kind in ("in", "maybe"):
            t = torch.tensor([chance.uniform(-4, 4) for _ in range(torch.empty(shape).numel())]).reshape(shape).to(getattr(torch, dtype))
            made.append(t.transpose(0, -1).contiguous().transpose(0, -1) if shape and chance.random() < 0.5 else t)
        elif kind == "number":
            made.append(chance.randint(-3, 3) if "int" in dtype else chance.uniform(-3, 3))
        elif kind != "out" and kind != "numbers":
            raise ValueError(f"{kernel.name} has a parameter ({parameter}) that cannot be made up: give `make`")
    return made


def machine(name: str | os.PathLike | None = None) -> str:
    """The name of the machine, after choosing another one by name or file."""
    return _call("machine", *([] if name is None else [os.fspath(name)]))


def tiles(x: int | None = None, y: int | None = None) -> tuple[int, int]:
    """How many tiles there are in x and y, after choosing another mesh."""
    if (x is None) != (y is None):
        raise TypeError("tiles takes x and y, or nothing")
    a, b = _call("tiles", *([] if x is None else [x, y])).split()
    return int(a), int(b)


class _Mode(str):
    """The mode's name; as a context, what was before comes back at its end."""

    seed: int
    _before: tuple[str, int]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _call("mode", *self._before)


def mode(name: str | None = None, seed: int = 1) -> _Mode:
    """'fast' or 'check' of the emulator, or 'sim' for the simulator, after choosing one: mode("check", seed=3), or `with mode("check"):` for a while. In check mode tiles
    take turns as the seed decides, and every access to memory is looked at."""
    was, its_seed = _call("mode").split()
    if name is not None:
        _call("mode", name, seed)
    now, now_seed = _call("mode").split()
    result = _Mode(now)
    result.seed, result._before = int(now_seed), (was, int(its_seed))
    return result


class _Engine(str):
    """The engine's name; as a context, the engine and its settings that were before come back at its end."""

    settings: dict[str, str]
    _undo: list[tuple]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for call in self._undo:
            _call(*call)


def engine(name: str | None = None, **settings) -> _Engine:
    """'emul' or 'sim', after choosing what runs kernels from now on: engine("sim", fidelity="timed"), or `with engine("sim"):`
    for a while. Settings are the engine's own. Tensors stay where they are."""
    before = _call("mode").split()
    undo: list[tuple] = []
    if name is not None:
        _, *had = _call("engine", name).splitlines()
        undo = [*([("engine", name, *had)] if had else []), ("mode", before[0], int(before[1]))]
        try:
            if settings:
                _call("engine", name, *(str(part) for pair in settings.items() for part in pair))
        except RuntimeError:
            for call in undo:
                _call(*call)
            raise
    elif settings:
        raise TypeError("engine takes settings with the engine's name: engine('sim', fidelity='timed')")
    now, *pairs = _call("engine").splitlines()
    result = _Engine(now)
    result.settings, result._undo = dict(zip(pairs[::2], pairs[1::2], strict=True)), undo
    return result


def cycle() -> int:
    """The simulated machine's clock; 0: the engine has none."""
    return int(_call("cycle").split()[0])


def kernel_cycles() -> int:
    """What the last kernel took by that clock, from when the host had woken all tiles to the word that ends it."""
    return int(_call("cycle").split()[1])


class Estimate(NamedTuple):
    kernel: str
    launches: int
    timed: int  # of these; the others' cycles follow from their instructions
    cycles: int  # of all launches
    interval: float  # 95 %: cycles - interval to cycles + interval; inf: one timed launch says nothing about the others


def estimates() -> list[Estimate]:
    """What the launches of each kernel have taken since `sample` was chosen: engine("sim", sample="1/16") times some of them."""
    rows = (line.split("\t") for line in _call("estimates").splitlines())
    return [Estimate(kernel, int(launches), int(timed), int(cycles), float(interval)) for kernel, launches, timed, cycles, interval in rows]


def printed() -> str:
    """What the tiles of the last launch printed: "(x,y) text", a line each."""
    return _call("printed")


def echo(on: bool) -> None:
    """Whether what tiles print goes to standard error, too."""
    _call("echo", bool(on))


def watchdog(seconds: float) -> None:
    """How long a launch may stand still before it is ended, with what every tile waits for; 0: for ever."""
    _call("watchdog", float(seconds))


class Accesses:
    """How often kernels loaded from and stored to device memory."""

    loads = stores = 0


@contextlib.contextmanager
def accesses() -> Iterator[Accesses]:
    """`with accesses() as seen:` counts what kernels load from and store to device memory, in check mode."""
    seen = Accesses()
    _call("accesses", True)
    try:
        yield seen
    finally:
        seen.loads, seen.stores = map(int, _call("accesses", False).split())


@contextlib.contextmanager
def watch(interval: float = 0.2) -> Iterator[None]:
    """`with watch():` reloads kernel files as they, or what they include, are saved. What does not compile is said on standard
    error, once."""
    import sys

    end = threading.Event()

    def look():
        while not end.wait(interval):
            start = time.perf_counter()
            try:
                names = _call("reload", 1).splitlines()
            except RuntimeError as e:
                print(f"hammerblade: {e}", file=sys.stderr)
            else:
                if names:
                    print(f"hammerblade: {', '.join(names)} reloaded in {time.perf_counter() - start:.1f} s", file=sys.stderr)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
