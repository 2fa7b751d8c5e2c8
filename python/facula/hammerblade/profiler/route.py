# SPDX-License-Identifier: Apache-2.0
"""Sends chosen calls of a program on the CPU to a device: to measure them there, to use or to check what it computes.

A route is a list of entries {"signature": …, "offload": …}, as `chart.json()` writes them. The nth entry of a signature is
about the nth call of its operator, whatever is called in between. Two more members choose in other words:

    "occurrence": 3        the fourth call (the first is 0); "all": every call
    "shapes": [[2, 3]]     calls whose tensors have these shapes, in order; null in index of a number or a shape: any.
                           Every such call, or with "occurrence" one of them

The first entry in the list that applies to a call decides; calls that no entry is about stay on the CPU. A route acts in
the profiler's region, between enable() and disable() here, or in a `with routing(...)`.

| mode | what a call gives |
|---|---|
| measure | what the CPU computes; the device computes it too, and is timed |
| replace | what the device computes |
| check | what the CPU computes; where the device differs, the call raises and shows both values |
"""

import contextlib
import json as _json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import facula
from facula import _C
from facula.hammerblade.profiler import _region, _signatures

MODES = ("measure", "replace", "check")
_MEMBERS = ("signature", "offload", "occurrence", "shapes")
_EXAMPLE = '[{"signature": "aten::add", "offload": true}]'


class _Entry:
    def __init__(self, members: dict, named: _signatures.Named | None):
        self.members, self.named = members, named
        self.signature: str = members["signature"]
        self.offload: bool = members["offload"]
        self.shapes = members.get("shapes")
        self.occurrence = members.get("occurrence")
        self.used = False


class _Group:
    """Entries that are about the same calls, which they count together."""

    def __init__(self, named: _signatures.Named, shapes: list | None):
        self.named, self.shapes = named, shapes
        self.count = 0  # calls until now
        self.listed = 0  # entries that are about the next call each
        self.by_number: dict[int, tuple[int, _Entry]] = {}  # the call's number: index in the list, entry
        self.every: tuple[int, _Entry] | None = None

    def add(self, index: int, entry: _Entry) -> None:
        if entry.occurrence == "all" or (entry.occurrence is None and entry.shapes is not None):
            self.every = self.every or (index, entry)
            return
        number = entry.occurrence
        if number is None:
            number = self.listed
            self.listed += 1
        self.by_number.setdefault(number, (index, entry))

    def about(self, operator: str, on_cpu: bool, shapes: list[list[int]]) -> bool:
        return self.named.covers(operator, on_cpu) and (self.shapes is None or _shapes_fit(self.shapes, shapes))


def _shapes_fit(wanted: list, found: list[list[int]]) -> bool:
    def fit(w, f):
        return w is None or (len(w) == len(f) and all(a is None or a == b for a, b in zip(w, f, strict=True)))

    return len(wanted) <= len(found) and all(fit(w, f) for w, f in zip(wanted, found, strict=False))


class Measurement(NamedTuple):
    """One call that went to the device."""

    signature: str
    operator: str
    occurrence: int
    shapes: list[list[int]]
    device: str
    device_ms: float  # without the copies to it
    cpu_ms: float | None  # None: replaced
    largest_difference: float | None  # None: not compared


class _Route:
    def __init__(self, entries: list[_Entry], mode: str, device: str | None):
        self.entries, self.mode, self.device = entries, mode, device
        self.rtol = self.atol = 0.01  # the port's
        self.lock = threading.Lock()  # never held while an operator runs
        self.rewind()
        self.measured: list[Measurement] = []

    def rewind(self) -> None:
        """From the first call on."""
        groups: dict[tuple, _Group] = {}
        for index, entry in enumerate(self.entries):
            entry.used = False
            if entry.named:
                key = (entry.named[1:], _json.dumps(entry.shapes))
                groups.setdefault(key, _Group(entry.named, entry.shapes)).add(index, entry)
        self.groups = list(groups.values())

    def pick(self, operator: str, on_cpu: bool, shapes: list[list[int]]) -> tuple[_Entry, int] | None:
        """The entry that decides about a call, which is counted, and the call's number."""
        found: list[tuple[int, _Entry, int]] = []
        with self.lock:
            for group in self.groups:
                if group.about(operator, on_cpu, shapes):
                    number = group.count
                    group.count += 1
                    found += [(*entry, number) for entry in (group.by_number.get(number), group.every) if entry]
            if not found:
                return None
            _, entry, number = min(found, key=lambda f: f[0])
            entry.used = True
            return entry, number

    def answer(self, op, args, kwargs, go_on):
        """What torch.dispatch.route asks."""
        tensors = list(_tensors((args, kwargs)))
        on_cpu = all(t.device.type == "cpu" for t in tensors) and _C.device(kwargs.get("device") or "cpu").type == "cpu"
        shapes = [list(t.shape) for t in tensors]
        found = self.pick(op.name(), on_cpu, shapes)
        if found is None or not found[0].offload or not on_cpu:
            return NotImplemented
        return self.run(found[0], found[1], op, args, kwargs, go_on, shapes)

    def run(self, entry, occurrence, op, args, kwargs, go_on, shapes):
        where = f"{entry.signature}, call {occurrence}"
        with facula.no_grad():
            moved_args, moved_kwargs = _moved((args, kwargs), self.device, {})
        if any(a.name == "device" for a in op._schema.arguments):
            moved_kwargs["device"] = self.device
        with _C._Range("@HB_LOG@"):
            start = time.perf_counter_ns()
            theirs = op(*moved_args, **moved_kwargs)
            facula.backends.synchronize(self.device)
            device_ms = (time.perf_counter_ns() - start) / 1e6
        cpu_ms = difference = None
        if self.mode == "replace" and not op.is_view:
            with facula.no_grad():
                mine = _taken_over(op, (args, kwargs), (moved_args, moved_kwargs), theirs)
        else:
            with _C._Range("@CPU_LOG@"):
                start = time.perf_counter_ns()
                mine = go_on(*args, **kwargs)
                cpu_ms = (time.perf_counter_ns() - start) / 1e6
            if self.mode == "check" and not op.is_random:
                with _C._Range("@CHECK@"), facula.no_grad():
                    written = _written(op, args, kwargs), _written(op, moved_args, moved_kwargs)
                    difference = self.compare(where, (mine, written[0]), (theirs, written[1]))
        with self.lock:
            self.measured.append(Measurement(entry.signature, op.name(), occurrence, shapes, str(self.device), device_ms, cpu_ms, difference))
        return mine

    def compare(self, where: str, mine, theirs) -> float:
        """The largest difference; raises where one is too large."""
        largest = 0.0
        for number, (a, b) in enumerate(zip(_tensors(mine), _tensors(theirs), strict=True)):
            b = b.to("cpu")
            which = f"{where}, result {number}"
            if a.shape != b.shape or a.dtype != b.dtype:
                raise RuntimeError(f"route: {which}: {self.device} gave {b.dtype} of shape {list(b.shape)}, the CPU {a.dtype} of shape {list(a.shape)}")
            near = facula.isclose(a, b, rtol=self.rtol, atol=self.atol, equal_nan=True)
            if not near.all():
                index = (~near).nonzero()[0].tolist()
                left = int((~near).sum())
                values = f"{self.device} gave {b[tuple(index)].item()}, the CPU {a[tuple(index)].item()}"
                raise RuntimeError(f"route: {which}: first divergence at {index}: {values} ({left} of {a.numel()} differ; rtol={self.rtol}, atol={self.atol})")
            if a.numel() and a.dtype.is_floating_point:
                apart = facula.nan_to_num((a - b).abs(), nan=0.0)  # equal infinities are no distance apart
                largest = max(largest, float(apart.max()))
            elif a.numel() and not facula.equal(a, b):
                largest = max(largest, float((a.double() - b.double()).abs().max()))
        return largest


def _tensors(value: Any) -> Iterator:
    if isinstance(value, facula.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
    elif isinstance(value, list | tuple):
        for v in value:
            yield from _tensors(v)


def _moved(value: Any, device: str, seen: dict[int, Any]):
    """Arguments on the device; one that is given twice is so there too."""
    if isinstance(value, facula.Tensor):
        if id(value) not in seen:
            seen[id(value)] = value.detach().to(device)
        return seen[id(value)]
    if isinstance(value, dict):
        return {k: _moved(v, device, seen) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_moved(v, device, seen) for v in value)
    return value


def _by_name(op, args, kwargs) -> dict[str, Any]:
    return {**dict(zip((a.name for a in op._schema.arguments), args, strict=False)), **kwargs}


def _written(op, args, kwargs) -> list:
    given = _by_name(op, args, kwargs)
    return [given[a.name] for a in op._schema.arguments if a.is_write and a.name in given]


def _taken_over(op, call, moved, theirs):
    """The device's results on the CPU; what the call writes to is written."""
    for mine, computed in zip(_tensors(_written(op, *call)), _tensors(_written(op, *moved)), strict=True):
        if mine.shape != computed.shape:
            mine.resize_(computed.shape)
        mine.copy_(computed)
    given = _by_name(op, *call)
    results = theirs if isinstance(theirs, list | tuple) and len(op._schema.returns) > 1 else (theirs,)
    taken = []
    for returned, value in zip(op._schema.returns, results, strict=True):
        same = [a.name for a in op._schema.arguments if returned.is_write and a.is_write and a.alias_info.before_set == returned.alias_info.before_set]
        taken.append(given[same[0]] if same else _moved(value, "cpu", {}))
    return tuple(taken) if len(op._schema.returns) > 1 else taken[0] if taken else None


# --- what is read
def _checked(entry: Any, where: str, known: dict[str, _signatures.Named | None]) -> _Entry:
    """An entry; `known` keeps what its signature means, so that each is looked up, and warned about, once."""

    def refuse(reason):
        raise ValueError(f"route, {where}: {reason}; an example of a route: {_EXAMPLE}")

    if not isinstance(entry, dict):
        refuse(f"expected an object, got {_json_name(entry)}")
    for name in entry:
        if name not in _MEMBERS:
            refuse(f"unknown member {name!r}, allowed are {', '.join(_MEMBERS)}")
    if not isinstance(entry.get("signature"), str):
        refuse('"signature" must be text' if "signature" in entry else '"signature" is missing')
    if not isinstance(entry.get("offload"), bool):
        refuse(f'"offload" must be true or false, got {_json_name(entry["offload"])}' if "offload" in entry else '"offload" is missing')
    occurrence, shapes = entry.get("occurrence"), entry.get("shapes")
    counts = isinstance(occurrence, int) and not isinstance(occurrence, bool) and occurrence >= 0
    if occurrence is not None and occurrence != "all" and not counts:
        refuse(f'"occurrence" is a number of a call, from 0 on, or "all", got {occurrence!r}')

    def is_shape(s):
        return s is None or (isinstance(s, list | tuple) and all(n is None or (isinstance(n, int) and not isinstance(n, bool)) for n in s))

    if shapes is not None and not (isinstance(shapes, list | tuple) and all(is_shape(s) for s in shapes)):
        refuse(f'"shapes" is a list of shapes, such as [[2, 3], null], got {shapes!r}')
    signature = entry["signature"]
    if signature not in known:
        named = known[signature] = _signatures.find(signature)
        if named is None:
            _region.warn(f"route, {where}: {_signatures.unknown(signature)}. It is about no call")
        elif entry["offload"] and all(_C._find_operator(o).is_composite for o in named.exact):
            _region.warn(f"route, {where}: {signature!r} is made of other operators, which are called and routed one by one; chart them")
    return _Entry(dict(entry), known[signature])


def _json_name(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "text", type(None): "null", int: "a number", float: "a number"}.get(type(value), type(value).__name__)


def _parsed(text: str) -> list[_Entry]:
    """The entries of JSON text; errors name the line."""

    counted = lines = 0  # until where, and how many

    def line(at: int) -> str:
        nonlocal counted, lines
        lines += text.count("\n", counted, at)
        counted = max(counted, at)
        return f"line {lines + 1}"

    def skip(at: int) -> int:
        while at < len(text) and text[at] in " \t\r\n":
            at += 1
        return at

    decoder = _json.JSONDecoder()
    known: dict[str, _signatures.Named | None] = {}
    at = skip(0)
    if text[at : at + 1] != "[":
        raise ValueError(f"route, {line(at)}: expected a list in brackets; an example of a route: {_EXAMPLE}")
    at = skip(at + 1)
    entries: list[_Entry] = []
    while text[at : at + 1] != "]" or entries:  # an empty list, or after an entry
        try:
            entry, end = decoder.raw_decode(text, at)
        except _json.JSONDecodeError as error:
            raise ValueError(f"route, line {error.lineno}: {error.msg[0].lower()}{error.msg[1:]}") from None
        except RecursionError:
            raise ValueError(f"route, {line(at)}: nested too deeply") from None
        entries.append(_checked(entry, line(at), known))
        at = skip(end)
        if text[at : at + 1] == "]":
            break
        if text[at : at + 1] != ",":
            raise ValueError(f"route, {line(at)}: expected a comma or the end of the list")
        at = skip(at + 1)
    if skip(at + 1) != len(text):
        raise ValueError(f"route, {line(skip(at + 1))}: something follows the end of the list")
    return entries


def _entries(data: Any) -> list[_Entry]:
    if isinstance(data, bytes | bytearray):
        data = data.decode()
    if isinstance(data, str):
        return _parsed(data)
    if not isinstance(data, list | tuple):
        raise ValueError(f"route: expected a list of entries or their JSON text, got {type(data).__name__}; an example: {_EXAMPLE}")
    known: dict[str, _signatures.Named | None] = {}
    return [_checked(entry, f"entry {i}", known) for i, entry in enumerate(data)]


# --- the route of this process
_now = _Route([], "measure", None)
_acting: contextlib.ExitStack | None = None
_in_region = False


def set_route_from_json(data: Any) -> None:
    """Sets the route: entries as json.loads gives them, or JSON text. The calls are counted anew."""
    global _now
    _refuse_while_acting("set_route_from_json")
    _now = _with(_entries(data), _now.mode, _now.device)


def add(signature: str, offload: bool, **more: Any) -> None:
    """Adds one entry at the end of the route; occurrence= and shapes= as in the list."""
    global _now
    _refuse_while_acting("add")
    entry = _checked({"signature": signature, "offload": offload, **more}, f"entry {len(_now.entries)}", {})
    _now = _with([*_now.entries, entry], _now.mode, _now.device)


def reset() -> None:
    """No route, mode "measure", the device chosen by itself, no measurements."""
    global _now
    _refuse_while_acting("reset")
    _now = _Route([], "measure", None)


def set_mode(mode: str, *, rtol: float | None = None, atol: float | None = None) -> None:
    """What offloaded calls give: "measure", "replace" or "check", the latter with these tolerances (0.01 and 0.01)."""
    if mode not in MODES:
        raise ValueError(f"route: the mode is one of {', '.join(MODES)}; got {mode!r}")
    _now.mode = mode
    _now.rtol = _now.rtol if rtol is None else rtol
    _now.atol = _now.atol if atol is None else atol


def set_device(device: str | None) -> None:
    """Where calls go: "name" or "name:1"; None: HammerBlade, or the only device that is loaded."""
    global _now
    _refuse_while_acting("set_device")
    _now = _with(_now.entries, _now.mode, None if device is None else _region.target_device(str(device)))


def target_device() -> str:
    """The device that calls go to."""
    return _region.target_device(_now.device)


def result_check_enable() -> None:
    """The port's name of mode "check"."""
    set_mode("check")


def result_check_disable() -> None:
    """The port's name of mode "measure"."""
    set_mode("measure")


def json() -> str:
    """The route as JSON text."""
    return _json.dumps([e.members for e in _now.entries], indent=4, sort_keys=True, ensure_ascii=False) + "\n"


def report() -> list[Measurement]:
    """The calls that went to the device since the route was set, in order."""
    with _now.lock:
        return list(_now.measured)


def enable() -> None:
    """The route acts from now on, on this thread and those that work for it, from the first call on."""
    global _acting
    _refuse_while_acting("enable")
    _now.rewind()
    if any(e.offload for e in _now.entries):
        if _now.device is None and facula.has_hammerblade and not _region.loaded_devices():
            facula.device("hammerblade")  # comes with Facula: a route needs no other word than the port's
        _now.device = target_device()
        _C.device(_now.device)
    acting = contextlib.ExitStack()
    acting.enter_context(facula.dispatch.route(_now.answer))
    _acting = acting


def disable() -> None:
    """The route acts no more; entries that shall go to the device and met no call are named in a warning."""
    global _acting
    acting, _acting = _acting, None
    if acting is None:
        return
    acting.close()
    if missed := [e.signature for e in _now.entries if e.offload and e.named and not e.used]:
        _region.warn(f"route: no call was made for {len(missed)} of its entries: {', '.join(missed[:5])}{' …' if len(missed) > 5 else ''}")


@contextlib.contextmanager
def routing(data: Any, mode: str = "measure", device: str | None = None, *, rtol: float = 0.01, atol: float = 0.01):
    """A route for a scope, without a region; gives the list of measurements, which fills. The route before it comes back."""
    global _now
    _refuse_while_acting("routing")
    before, made = _now, _with(_entries(data), "measure", device)
    _now = made
    try:
        set_mode(mode, rtol=rtol, atol=atol)
        enable()
        try:
            yield made.measured
        finally:
            disable()
    finally:
        _now = before


def _with(entries: list[_Entry], mode: str, device: str | None) -> _Route:
    made = _Route(entries, mode, device)
    made.rtol, made.atol = _now.rtol, _now.atol
    return made


def _refuse_while_acting(what: str) -> None:
    if _acting is not None:
        raise RuntimeError(f"route.{what}: a route is acting; end the region or call route.disable() first")


def _begin_region() -> None:
    global _in_region
    _end_region()  # of a region that was left open
    if _acting is None and any(e.offload for e in _now.entries):
        enable()
        _in_region = True


def _end_region() -> None:
    global _in_region
    if _in_region:
        _in_region = False
        disable()


def _forget_in_child() -> None:
    global _in_region
    _now.lock = threading.Lock()
    _in_region = False
    if _acting is not None:
        disable()


os.register_at_fork(after_in_child=_forget_in_child)
add_waypoint = add
print = json  # noqa: A001 -- its older name in the port
