# SPDX-License-Identifier: Apache-2.0
"""`facula replay LOG`: one call of a kernel log again, on any device, or as a C++ program."""

from __future__ import annotations

import base64
import contextlib
import ctypes
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from facula import _C
from facula.profiler import kernel_log


def _dtype(name: str) -> Any:
    dtype = getattr(_C, name, None)
    if not isinstance(dtype, _C.dtype):
        raise ValueError(f"the log has a tensor of type {name!r}, which does not exist here")
    return dtype


class _Values:
    """What a call was given or gave, as tensors and numbers again. place(device): where what was on it goes."""

    def __init__(self, call: dict[str, Any], when: str, place: Callable[[str], str]):
        self.call, self.when, self.place = call, when, place
        self.memory: dict[int, Any] = {}

    def _storage(self, number: int) -> Any:
        if number not in self.memory:
            data = kernel_log.memory_of(self.call, self.when, number)
            if data is None:
                raise ValueError("the log has no contents of a tensor: it was on the meta device")
            self.memory[number] = _tensor(data).to(self.place(self.call[self.when]["storages"][number]["device"]))
        return self.memory[number]

    def get(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.get(item) for item in value]
        if not isinstance(value, dict):
            return value
        ((kind, content), *_) = value.items()
        if kind == "tensor":
            return _C._on_storage(self._storage(content["storage"]), _dtype(content["dtype"]), content["sizes"], content["strides"], content["offset"])
        if kind == "float":
            return float(content)
        if kind == "complex":
            return complex(float(content[0]), float(content[1]))
        if kind == "dtype":
            return _dtype(content)
        if kind == "device":
            return _C.device(self.place(content))
        if kind in ("layout", "memory_format"):
            return getattr(_C, content)
        if kind == "generator":
            generator = _C.Generator(device=content)
            generator.set_state(_state(value["state"]))
            return generator
        raise ValueError(f"the call has an argument of a type that a log cannot hold ({content})")


def _tensor(data: bytes) -> Any:
    import facula

    made = facula.empty(len(data), dtype=_C.uint8, device="cpu")
    ctypes.memmove(made.data_ptr(), data, len(data))
    return made


def _state(text: str) -> Any:
    return _tensor(base64.b64decode(text))


@contextlib.contextmanager
def _random(call: dict[str, Any]) -> Iterator[None]:
    """The default generator as it was when the call was recorded."""
    if "random" not in call:
        yield
        return
    before = _C.default_generator.get_state()
    _C.default_generator.set_state(_state(call["random"]))
    try:
        yield
    finally:
        _C.default_generator.set_state(before)


def _named(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Tensors, and numbers as they are, with the names under which they are compared."""
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _named(f"{name}[{i}]", item)
    elif value is not None:
        yield name, value


def _difference(actual: Any, expected: Any) -> tuple[bool, str]:
    """Whether it is what was recorded, within the tolerance of its type, and what to say."""
    import facula

    if not isinstance(expected, _C.TensorBase) or not isinstance(actual, _C.TensorBase):
        return actual == expected, f"{actual}" if actual == expected else f"{actual} instead of {expected}"
    actual = actual.cpu()
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False, f"{list(actual.shape)} of {actual.dtype} instead of {list(expected.shape)} of {expected.dtype}"
    a, e = actual.contiguous(), expected.contiguous()
    if _C._bytes(a) == _C._bytes(e):
        return True, "identical"
    try:
        facula.testing.assert_close(a, e, equal_nan=True)
    except AssertionError as error:
        lines = [line for line in str(error).splitlines() if line.startswith(("Mismatched", "Greatest"))]
        return False, "differs: " + "; ".join(lines)
    return True, f"equal within tolerance, greatest difference {(a - e).abs().nan_to_num(0).max().item():.3g}" if a.dtype.is_floating_point or a.dtype.is_complex else "equal"


def replay(call: dict[str, Any], device: str | None = None) -> tuple[bool, list[str]]:
    """Runs a call of a log again: whether it gives what was recorded, and a line for everything that it gives."""
    import facula

    op = _C._find_operator(call["kernel"])
    if op is None:
        raise ValueError(f"the operator {call['kernel']} does not exist here; load the library that defines it")
    given = _Values(call, "before", kernel_log.moved(call, device))
    args, kwargs = given.get(call["before"]["args"]), {name: given.get(v) for name, v in call["before"]["kwargs"].items()}
    try:
        with facula.no_grad(), _random(call):
            result = op(*args, **kwargs)
    except RuntimeError as error:
        if "error" not in call:
            return False, [f"failed: {error}"]
        same = str(error) == call["error"]
        return same, [f"failed as recorded: {error}" if same else f"failed: {error}; recorded: {call['error']}"]
    if "error" in call:
        return False, [f"did not fail; recorded: {call['error']}"]
    if call["kernel"].startswith(kernel_log.UNSET):
        return True, ["not compared: its memory holds whatever was there"]
    wanted = _Values(call, "after", lambda recorded: "cpu")
    names = [p.name for p in op._schema.arguments]
    ok, lines = True, []
    actual = {"result": result, **dict(zip(names, args)), **kwargs}
    expected = {"result": call["after"]["result"], **dict(zip(names, call["after"]["args"])), **call["after"]["kwargs"]}
    written = {p.name for p in op._schema.arguments if p.is_write}
    for name in ("result", *(n for n in names if n in written)):
        pairs = itertools.zip_longest(_named(name, actual[name]), _named(name, wanted.get(expected[name])), fillvalue=(name, None))
        for (label, got), (_, want) in pairs:
            good, text = _difference(got, want)
            ok &= good
            lines.append(f"{label}: {text}")
    return ok, lines


def _listing(head: dict[str, Any], calls: list[dict[str, Any]]) -> str:
    lines = []
    for call in calls:
        shapes = " ".join(f"{t['dtype']}{t['sizes']}".replace(" ", "") for t in kernel_log.tensors_of([call["before"]["args"], call["before"]["kwargs"]]))
        lines.append(f"{call['call']:6}  {call['kernel']:32} {call['device']:10} {call['path']:13} {shapes}{'  failed: ' + call['error'] if 'error' in call else ''}".rstrip())
    if head.get("dropped"):
        lines.append(f"({head['dropped']} calls did not fit and were not kept)")
    return "\n".join(lines) + "\n"


def run(args: Any) -> int:
    from facula import backends
    from facula._command_line import write_file
    from facula.profiler import _replay_cpp

    try:
        if args.call is None:
            if args.cpp or args.device:
                raise ValueError("--call N says which call; without it the calls are listed")
            print(_listing(*kernel_log.load(args.log)), end="")
            return 0
        head, calls = kernel_log.load(args.log, only=args.call)
        if not calls:
            raise ValueError(f"there is no call {args.call}: {args.log!r} has calls 1 to {head['calls']}")
        device = args.device
        if device is not None and device.endswith(".so"):
            device = backends.load_backend(device)
        try:
            _C.device(device or calls[0]["device"])
        except RuntimeError as error:
            if device is not None:
                raise
            raise ValueError(f"the call was recorded on {calls[0]['device']}, which is not here; --device names another one, or the library of this one ({error})") from None
        if args.cpp:
            write_file(args.cpp, _replay_cpp.program(calls[0], args.log, device))
            print(f"{args.cpp}: c++ -std=c++20 -g {args.cpp} $(facula info --cflags) -o replay")
            return 0
        ok, lines = replay(calls[0], device)
    except BrokenPipeError:
        raise
    except (ValueError, RuntimeError, ImportError, OSError, KeyError, TypeError) as error:
        text = f"{error.strerror}: {error.filename!r}" if isinstance(error, OSError) and error.filename else str(error)
        print(f"facula replay: {text}", file=sys.stderr)
        return 2
    print(f"call {args.call}, {calls[0]['kernel']}, recorded on {calls[0]['device']}, run on {device or calls[0]['device']}")
    print("".join(f"  {line}\n" for line in lines), end="")
    return 0 if ok else 1
