# SPDX-License-Identifier: Apache-2.0
"""The kernel log: every kernel that runs, once, in call order, with its arguments before and after in their true types.

    with torch.profiler.kernel_log.KernelLog() as log:
        model(x)
    log.save("calls.klog")          # `facula replay calls.klog --call 3` runs one of them again
    print(log.json())               # the layout of the HammerBlade port

`enable`, `disable`, `clear`, `json` and `save` do the same for one log of the process. docs/profiling.md has the format.
"""

from __future__ import annotations

import base64
import collections
import ctypes
import fnmatch
import itertools
import json as _json
import math
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from facula import _C, dispatch
from facula._command_line import write_file

FORMAT, VERSION = "facula kernel log", 1
UNSET = ("aten::empty", "aten::new_empty", "aten::_empty", "aten::resize_")  # kernels that give memory as it is
LIMIT = 256 << 20  # bytes of tensors that a log holds, unless told
_logs: weakref.WeakSet[KernelLog] = weakref.WeakSet()


def type_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _state(generator: Any) -> str:
    state = generator.get_state()
    return base64.b64encode(ctypes.string_at(state.data_ptr(), state.numel())).decode()


class _Full(Exception):
    """There is no room for a call's tensors."""


class _Snapshot:
    """Values as plain data, and the memory of their tensors: one entry per storage, of it the part that is looked at."""

    def __init__(self, values: Any, room: int, before: _Snapshot | None = None):
        self._ranges: dict[int, list[Any]] = {}  # storage: [number, a tensor on it, first byte, end]
        self.tensors: list[tuple[int, dict[str, Any]]] = []
        self.value = self._plain(values)
        for storage, described in self.tensors:  # offsets count from the first byte that is kept
            number, _, first, _ = self._ranges[storage]
            described["storage"] = number
            described["offset"] -= first // getattr(_C, described["dtype"]).itemsize
        known = {entry["id"]: i for i, entry in enumerate(before.storages)} if before else {}
        if sum(end - first for storage, (_, _, first, end) in self._ranges.items() if storage not in known) > room:
            raise _Full  # before that memory is copied
        self.storages: list[dict[str, Any]] = []
        for storage, (_, tensor, first, end) in self._ranges.items():
            entry = {"id": storage, "device": str(tensor.device), "address": tensor._storage_ptr() + first, "first": first, "bytes": end - first, "data": _memory(tensor, first, end)}
            old = known.get(storage)
            if before and old is not None and all(before.storages[old][key] == entry[key] for key in ("first", "bytes", "data")):
                entry["data"], entry["same"] = None, old  # untouched
            self.storages.append(entry)

    def size(self) -> int:
        return sum(len(entry["data"] or b"") for entry in self.storages)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, _C.TensorBase):
            return self._tensor(value)
        if isinstance(value, dict):
            return {key: self._plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._plain(item) for item in value]
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, complex):
            return {"complex": [str(value.real), str(value.imag)]}
        for kind in ("dtype", "device", "layout", "memory_format"):
            if isinstance(value, getattr(_C, kind)):
                return {kind: str(value) if kind == "device" else type_name(value)}
        if isinstance(value, _C.Generator):
            return {"generator": str(value.device), "state": _state(value)}
        return {"opaque": type(value).__name__}

    def _tensor(self, t: Any) -> dict[str, Any]:
        sizes, strides, item = list(t.shape), list(t.stride()), t.dtype.itemsize
        first = t.storage_offset() * item
        last = sum((n - 1) * step for n, step in zip(sizes, strides)) if all(sizes) else -1
        storage, end = t._storage_id(), min(first + (last + 1) * item, t._storage_bytes())
        first -= first % 16  # so that elements of every type begin at whole offsets
        known = self._ranges.setdefault(storage, [len(self._ranges), t, first, end])
        known[2], known[3] = min(known[2], first), max(known[3], end)
        described = {"dtype": type_name(t.dtype), "sizes": sizes, "strides": strides, "offset": t.storage_offset()}
        self.tensors.append((storage, described))
        return {"tensor": described}


def _memory(tensor: Any, first: int, end: int) -> bytes | None:
    """The bytes of a tensor's storage; None if there are none to read (a meta tensor)."""
    if tensor.device.type == "meta":
        return None
    if end <= first:
        return b""
    if tensor.device.type == "cpu":
        return ctypes.string_at(tensor._storage_ptr() + first, end - first)
    copy = _C._storage_tensor(tensor)[first:end].cpu()
    return ctypes.string_at(copy.data_ptr(), end - first)


def _arguments(event: Any) -> dict[str, Any]:
    """All of them, with those that were left to their defaults."""
    args, kwargs = list(event.args), dict(event.kwargs)
    for parameter in event.op._schema.arguments[len(args) :]:
        if not parameter.kwarg_only and parameter.name not in kwargs:
            args.append(parameter.default_value)
        elif parameter.kwarg_only:
            kwargs.setdefault(parameter.name, parameter.default_value)
    return {"args": args, "kwargs": kwargs}


def tensors_of(value: Any) -> Iterator[dict[str, Any]]:
    """Every tensor in plain data, in order."""
    if isinstance(value, dict):
        if "tensor" in value:
            yield value["tensor"]
        else:
            for item in value.values():
                yield from tensors_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from tensors_of(item)


class KernelLog:
    """Keeps what every kernel of the process is given and gives, from start() to stop() or for a `with` block.

    kernels: only those whose operator's name fits one of these patterns ("aten::mm", "aten::*conv*"). limit: bytes of
    tensors that are kept; calls that do not fit are counted in `dropped`.
    """

    def __init__(self, kernels: Iterable[str] | str | None = None, limit: int = LIMIT):
        if limit < 0:
            raise ValueError(f"KernelLog: limit is a number of bytes, got {limit}")
        self.kernels = (kernels,) if isinstance(kernels, str) else tuple(kernels) if kernels is not None else None
        self.limit = limit
        self._watch: Any = None  # only while it looks: an observer holds its function
        self._lock = threading.Lock()
        _logs.add(self)
        self.clear()

    def clear(self) -> None:
        """Forgets what was kept; goes on if it was going on."""
        with self._lock:
            self._calls: list[dict[str, Any]] = []
            self._open: dict[tuple[int, int], dict[str, Any]] = {}
            self._size = self.dropped = 0

    def start(self) -> None:
        if self._watch is not None:
            raise RuntimeError("KernelLog: it has been started already; stop() it before it is started again")
        self._watch = dispatch.observe(self._see, ["kernel", "launch"], process=True)
        self._watch.start()

    def stop(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()

    def __enter__(self) -> KernelLog:
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    @property
    def calls(self) -> list[dict[str, Any]]:
        """What was kept, in the order in which the calls began, numbered from 1; those that have not ended are left out."""
        with self._lock:
            return [{"call": i, **c} for i, c in enumerate((c for c in self._calls if "after" in c or "error" in c), 1)]

    def _see(self, event: Any) -> None:
        if event.kind == "launch":
            if event.phase == "begin" and event.name.startswith("tensorlib_"):
                with self._lock:
                    if call := self._open.get((event.thread, event.call_id)):
                        call.setdefault("launched", []).append(event.name)
            return
        if self.kernels is not None and not any(fnmatch.fnmatchcase(event.name, pattern) for pattern in self.kernels):
            return
        key = (event.thread, event.call_id)
        if event.phase == "begin":
            try:
                before = _Snapshot(_arguments(event), self.limit - self._size)
            except _Full:
                self._drop()
                return
            call: dict[str, Any] = {"kernel": event.name, "id": event.call_id, "parent": event.parent_id, "forward": event.forward_id, "thread": event.thread, "before": before}
            if event.op.is_random and event.device.type == "cpu" and event.kwargs.get("generator") is None:
                call["random"] = _state(_C.default_generator)
            with self._lock:
                self._calls.append(call)
                self._open[key] = call
                self._size += before.size()
            return
        with self._lock:
            call = self._open.pop(key, {})
        if not call:
            return  # it began before the log, or was dropped
        call["device"], call["path"] = str(event.device), event.path
        if event.failed:
            call["error"] = event.error
            return
        try:
            after = _Snapshot({**_arguments(event), "result": event.result}, self.limit - self._size, call["before"])
        except _Full:
            self._drop(call)
            return
        with self._lock:
            self._size += after.size()
        call["after"] = after

    def _drop(self, call: dict[str, Any] | None = None) -> None:
        with self._lock:
            self.dropped += 1
            first = self.dropped == 1
            if call is not None:
                self._size -= call.pop("before").size()  # without an end it is not listed
        if first:
            warnings.warn(f"kernel log: calls whose tensors do not fit into {self.limit} bytes with those before are only counted; limit= allows more, kernels= keeps fewer kernels", stacklevel=3)

    def json(self) -> str:
        """The port's layout: {"kernel": [argument, …]} as the kernel left them, results first; "null" if nothing was kept.

        A kernel of the HammerBlade device has its own name ("tensorlib_add"), others, and operators that several of its kernels do,
        their operator's. The second call of a kernel is "kernel#2", and so on. Copies from one kind of device to another, which
        printing makes, are left out.
        """
        return in_port_layout(_as_data(call) for call in self.calls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything to a file, which appears whole or not at all."""
        calls = self.calls
        head = {"format": FORMAT, "version": VERSION, "calls": len(calls), "dropped": self.dropped}
        try:
            write_file(path, itertools.chain([_json.dumps(head) + "\n"], (_json.dumps(_encoded(call)) + "\n" for call in calls)))
        except OSError as error:
            raise OSError(error.errno, f"kernel log: cannot write {os.fspath(path)!r}: {error.strerror}") from None


def _as_data(call: dict[str, Any]) -> dict[str, Any]:
    """A call as a file has it, memory as bytes: what was not touched is shared with what was before."""
    out = dict(call)
    for when in ("before", "after"):
        if isinstance(call.get(when), _Snapshot):
            out[when] = {**call[when].value, "storages": [{k: v for k, v in entry.items() if k != "id"} for entry in call[when].storages]}
    return out


def _encoded(call: dict[str, Any]) -> dict[str, Any]:
    data = _as_data(call)
    for when in ("before", "after"):
        for entry in data.get(when, {}).get("storages", ()):
            if entry["data"] is not None:
                entry["data"] = base64.b64encode(entry["data"]).decode()
    return data


def memory_of(call: dict[str, Any], when: str, number: int) -> bytes | None:
    """What a storage of a call held "before" or "after"."""
    entry = call[when]["storages"][number]
    return call["before"]["storages"][entry["same"]]["data"] if "same" in entry else entry["data"]


def moved(call: dict[str, Any], device: str | None) -> Callable[[str], str]:
    """Where tensors go when a call is made on another device: those that were on its own device go along."""
    home = call["device"].partition(":")[0]
    return lambda recorded: device if device is not None and recorded.partition(":")[0] == home else recorded


def load(path: str | os.PathLike[str], only: int | None = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The head of a file and its calls, or of these the one with a number."""
    name = os.fspath(path)
    calls = []
    try:
        with open(path, encoding="utf-8") as f:
            head = _head(f.readline(1 << 16), name)
            count = 0
            for count, line in enumerate(f, 1):
                if only is None or only == count:
                    calls.append(_decoded(_json.loads(line)))
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        if str(error).startswith("kernel log:"):
            raise
        raise ValueError(f"kernel log: {name!r} is damaged: {error}") from None
    if count != head["calls"]:
        raise ValueError(f"kernel log: {name!r} is cut off: it has {count} of {head['calls']} calls")
    return head, calls


def _head(line: str, name: str) -> dict[str, Any]:
    try:
        head = _json.loads(line)
    except _json.JSONDecodeError:
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ValueError(f"kernel log: {name!r} is no kernel log; KernelLog.save writes one")
    if head.get("version") != VERSION:
        raise ValueError(f"kernel log: {name!r} has version {head.get('version')}, this Facula reads version {VERSION}; record it again, or read it with the Facula that wrote it")
    if not isinstance(head.get("calls"), int):
        raise ValueError(f"kernel log: {name!r} is damaged: its head has no number of calls")
    return head


def _decoded(call: dict[str, Any]) -> dict[str, Any]:
    missing = {"call", "kernel", "device", "path", "before"} - call.keys()
    if missing or ("after" in call) == ("error" in call):
        raise ValueError(f"a call lacks {', '.join(sorted(missing)) or 'an end'}")
    for when in ("before", "after"):
        for entry in call.get(when, {}).get("storages", ()):
            if entry["data"] is not None:
                entry["data"] = base64.b64decode(entry["data"], validate=True)
                if len(entry["data"]) != entry["bytes"]:
                    raise ValueError(f"call {call['call']} has {len(entry['data'])} bytes where {entry['bytes']} are announced")
        for t in tensors_of([content for key, content in call.get(when, {}).items() if key != "storages"]):
            _check_geometry(call, when, t)
    return call


def _check_geometry(call: dict[str, Any], when: str, t: dict[str, Any]) -> None:
    """A file may say anything: elements outside of the memory that it holds must not be read."""
    geometry = [t["offset"], *t["sizes"], *t["strides"]]
    data = memory_of(call, when, t["storage"])
    item = getattr(_C, t["dtype"]).itemsize
    ok = len(t["sizes"]) == len(t["strides"]) and t["storage"] >= 0 and all(isinstance(n, int) and n >= 0 for n in geometry)
    if ok and data is not None and all(t["sizes"]):
        ok = (t["offset"] + sum((n - 1) * step for n, step in zip(t["sizes"], t["strides"])) + 1) * item <= len(data)
    if not ok:
        raise ValueError(f"call {call['call']} has a tensor of size {t['sizes']}, strides {t['strides']} and offset {t['offset']} that is not inside of its memory")


def numbers(data: bytes, dtype: str) -> list[Any]:
    """Bytes as numbers of a type; a complex number is [real, imaginary], what JSON has no number for is None."""
    import facula

    kind = getattr(_C, dtype)
    whole = len(data) // kind.itemsize * kind.itemsize
    values = facula.frombuffer(bytearray(data[:whole]), dtype=kind).tolist() if whole else []
    finite = lambda x: x if not isinstance(x, float) or math.isfinite(x) else None  # noqa: E731
    return [[finite(v.real), finite(v.imag)] if isinstance(v, complex) else finite(v) for v in values]


def in_port_layout(calls: Iterable[dict[str, Any]]) -> str:
    out: dict[str, list[Any]] = {}
    times: collections.Counter[str] = collections.Counter()
    for call in calls:
        when = "after" if "after" in call else "before"
        if _moves(call, when):
            continue
        given = [*call[when]["args"], *call[when]["kwargs"].values()]
        made = call[when].get("result")
        results = [] if made is None else made if isinstance(made, list) else [made]
        shown: list[Any] = []
        for value in itertools.chain((r for r in results if r not in given), given):
            shown.extend(_port_values(call, when, value))
        launched = call.get("launched", ())
        name = launched[0] if len(launched) == 1 else call["kernel"]
        times[name] += 1
        out[name if times[name] == 1 else f"{name}#{times[name]}"] = shown
    return _json.dumps(out or None, indent=4, sort_keys=True)


def _moves(call: dict[str, Any], when: str) -> bool:
    """Whether a call only moves memory from one kind of device to another: no kernel of the port's does that."""
    return call["kernel"] in ("aten::copy_", "aten::_to_copy") and len({entry["device"].partition(":")[0] for entry in call[when]["storages"]}) > 1


def _port_values(call: dict[str, Any], when: str, value: Any) -> Iterator[Any]:
    """An argument as the port shows it: tensors, vectors of numbers, numbers; nothing else (it leaves out void*)."""
    if isinstance(value, dict):
        for t in tensors_of(value):
            entry = call[when]["storages"][t["storage"]]
            item = getattr(_C, t["dtype"]).itemsize
            yield {"N": math.prod(t["sizes"]), "data_ptr": entry["address"] + t["offset"] * item, "dims": len(t["sizes"]), "sizes": t["sizes"],
                   "storage": numbers(memory_of(call, when, t["storage"]) or b"", t["dtype"]), "storage_head": entry["address"], "strides": t["strides"]}  # fmt: skip
    elif isinstance(value, list):
        if all(isinstance(item, (bool, int, float)) for item in value):
            yield {"N": len(value), "data": value}
        else:
            for item in value:
                yield from _port_values(call, when, item)
    elif isinstance(value, (bool, int, float)):
        yield value


# --- one log of the process
_log: KernelLog | None = None
_enabled_in = 0  # the process that it is on in


def enable(kernels: Iterable[str] | str | None = None, limit: int = LIMIT) -> None:
    """Starts to keep what kernels are given and give, on every thread; what was kept before stays unless other kernels or another limit are asked for."""
    global _log, _enabled_in
    disable()
    wanted = KernelLog(kernels, limit)
    if _log is None or (_log.kernels, _log.limit) != (wanted.kernels, wanted.limit):
        _log = wanted
    _log.start()
    _enabled_in = os.getpid()


def disable() -> None:
    """Stops; what was kept can be read."""
    global _enabled_in
    if _log is not None:
        _log.stop()
    _enabled_in = 0


def is_enabled() -> bool:
    return _enabled_in == os.getpid()  # nobody looks in the child of a fork


def clear() -> None:
    """Forgets what was kept."""
    if _log is not None:
        _log.clear()


def json() -> str:
    """What was kept, in the port's layout (KernelLog.json)."""
    return _log.json() if _log is not None else "null"


def save(path: str | os.PathLike[str]) -> None:
    """Writes what was kept to a file (KernelLog.save)."""
    (_log or KernelLog()).save(path)


def _new_locks() -> None:
    for log in _logs:
        log._lock = threading.Lock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_new_locks)
