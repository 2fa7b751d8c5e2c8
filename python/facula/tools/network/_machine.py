# SPDX-License-Identifier: Apache-2.0
"""A machine of nodes and a network, as a file of sections and numbers, and how long a step of messages takes on it."""

from __future__ import annotations

import math
import os
import pathlib
from collections import defaultdict
from dataclasses import dataclass, fields

from facula.tools.network._algorithms import Step

_HERE = pathlib.Path(__file__).parent / "machines"
TOPOLOGIES = ("star", "fat tree", "torus")


class MachineError(ValueError):
    """A machine file that is none."""


@dataclass
class Machine:
    """Numbers are microseconds and GB/s (10^9 bytes); 0 GB/s is no limit. Comments name the file's section and key."""

    name: str = "machine"
    ranks: int = 1  # [nodes] processes on each
    cores: float = 0  # [nodes] that they share; 0: one each
    memory_gbytes: float = 0  # [nodes] what all messages inside of a node share
    message_us: float = 2.0  # [process] of a core, for each message sent and each received
    copy_gbytes: float = 0  # [process] of a core, for the bytes of both
    combine_gbytes: float = 0  # [process] adding what came
    inside_latency_us: float = 1.0  # [inside] between processes of one node
    inside_gbytes: float = 0  # [inside] from one process to another
    topology: str = "star"  # [network]
    latency_us: float = 2.0  # [network] of a hop
    gbytes: float = 12.5  # [network] of a node's link, each way
    leaf: int = 32  # [network] nodes below a switch of a fat tree
    oversubscription: float = 1.0  # [network] what a leaf's nodes could send over what its uplinks take
    dims: tuple[int, ...] = ()  # [network] of a torus

    # --- the file

    @classmethod
    def read(cls, path: str | os.PathLike) -> Machine:
        """A file, or the name of one that comes along. Raises MachineError, with the line, for what is no machine."""
        if os.fspath(path) in names():
            path = _HERE / f"{os.fspath(path)}.machine"
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(1 << 20)
        except (OSError, UnicodeDecodeError) as error:
            raise MachineError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, name: str = "machine") -> Machine:
        """From a file's text."""
        machine, section = cls(name=os.path.basename(name)), ""
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if line.startswith("[") and line.endswith("]"):
                section = line[1:-1].strip()
                if section not in _KEYS:
                    raise MachineError(f"{name}:{number}: no section [{section}]: there are {', '.join(f'[{s}]' for s in _KEYS if s)}")
            elif line:
                key, equals, value = (part.strip() for part in line.partition("="))
                if not equals or key not in _KEYS[section]:
                    known = ", ".join(_KEYS[section])
                    raise MachineError(f"{name}:{number}: {line!r}: expected KEY = VALUE with a key of {f'[{section}]' if section else 'the file'}: {known}")
                try:
                    setattr(machine, _KEYS[section][key], _value(_KEYS[section][key], value.strip("\"'")))
                except ValueError as error:
                    raise MachineError(f"{name}:{number}: {key}: {error}") from None
        machine.check(name)
        return machine

    def check(self, name: str) -> None:
        """Raises MachineError where numbers do not fit together."""
        if self.topology not in TOPOLOGIES:
            raise MachineError(f"{name}: topology {self.topology!r}: expected one of {', '.join(TOPOLOGIES)}")
        if (self.topology == "torus") != bool(self.dims):
            raise MachineError(f'{name}: dims = "8x8x8" belong to topology = "torus"')

    def text(self) -> str:
        """The file again."""
        lines = []
        for section, keys in _KEYS.items():
            lines += ["", f"[{section}]"] if section else []
            for key, attribute in keys.items():
                value = getattr(self, attribute)
                if attribute != "dims":
                    lines.append(f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value:.6g}")
                elif value:
                    lines.append(f'dims = "{"x".join(map(str, value))}"')
        return "\n".join(lines) + "\n"

    # --- times

    def most_ranks(self) -> int:
        """How many there is room for."""
        return self.ranks * math.prod(self.dims) if self.topology == "torus" else 1 << 24

    def seconds(self, made: list[Step], members: list[int] | range) -> float:
        """Of a collective among these ranks of the machine, which nobody else uses meanwhile."""
        return sum(self._step(step, members) * step.repeat for step in made)

    def _step(self, step: Step, members: list[int] | range) -> float:
        """The slowest of: one message's way, and the work of each process, node and link for all of its messages."""
        busy: dict[object, float] = defaultdict(float)  # microseconds of each resource
        messages: dict[int, float] = defaultdict(float)  # of a rank's core
        slowest = 0.0
        for source, target, size in step.flows:
            a, b = members[source], members[target]
            latency = self._travel(a // self.ranks, b // self.ranks, size, busy)
            work = self.message_us + _us(size, self.copy_gbytes)
            messages[a] += work
            messages[b] += work + _us(step.combines, self.combine_gbytes)
            slowest = max(slowest, latency)
        cores = self.cores or self.ranks
        on_node: dict[int, float] = defaultdict(float)
        for rank, work in messages.items():
            on_node[rank // self.ranks] += work / min(cores, self.ranks)
        crowded = max(max(messages.values(), default=0.0), max(on_node.values(), default=0.0))
        return (slowest + crowded + max(busy.values(), default=0.0)) / 1e6

    def _travel(self, a: int, b: int, size: float, busy: dict[object, float]) -> float:
        """Puts a message on all links of its way; their latency."""
        if a == b:
            busy["memory", a] += _us(size, self.memory_gbytes)
            return self.inside_latency_us + _us(size, self.inside_gbytes)
        on_link = _us(size, self.gbytes)
        if self.topology == "torus":
            return self._around(a, b, on_link, busy)
        busy["out", a] += on_link
        busy["in", b] += on_link
        hops = 2
        if self.topology == "fat tree" and a // self.leaf != b // self.leaf:
            hops = 4
            uplinks = on_link * self.oversubscription / self.leaf
            busy["up", a // self.leaf] += uplinks
            busy["down", b // self.leaf] += uplinks
        return hops * self.latency_us

    def _around(self, a: int, b: int, on_link: float, busy: dict[object, float]) -> float:
        """One dimension after the other, the shorter way."""
        hops, place = 0, 1
        for size in self.dims:
            at, to = a // place % size, b // place % size
            ahead = (to - at) % size
            step = 1 if 2 * ahead <= size else -1
            for _ in range(min(ahead, size - ahead)):
                busy["link", a, place, step] += on_link
                moved = (at + step) % size
                a += (moved - at) * place
                at = moved
                hops += 1
            place *= size
        return hops * self.latency_us


def names() -> list[str]:
    """Of the machine files that come along."""
    return sorted(p.stem for p in _HERE.glob("*.machine"))


def _us(size: float, gbytes: float) -> float:
    return size / gbytes / 1e3 if gbytes else 0.0


def _value(attribute: str, text: str) -> object:
    if attribute in ("name", "topology"):
        return text
    if attribute == "dims":
        dims = tuple(int(d) for d in text.split("x"))
        if not dims or min(dims) < 1 or math.prod(dims) > 1 << 20:
            raise ValueError(f"{text!r}: expected sizes like 8x8x8, a million nodes at most")
        return dims
    number = int(text) if attribute in ("ranks", "leaf") else float(text)
    if not math.isfinite(number) or number < (1 if attribute in ("ranks", "leaf", "oversubscription") else 0):
        raise ValueError(f"{text} is out of range")
    return number


_KEYS: dict[str, dict[str, str]] = {
    "": {"name": "name"},
    "nodes": {"ranks": "ranks", "cores": "cores", "memory_gbytes": "memory_gbytes"},
    "process": {"message_us": "message_us", "copy_gbytes": "copy_gbytes", "combine_gbytes": "combine_gbytes"},
    "inside": {"latency_us": "inside_latency_us", "gbytes": "inside_gbytes"},
    "network": {key: key for key in ("topology", "latency_us", "gbytes", "leaf", "oversubscription", "dims")},
}
assert {a for keys in _KEYS.values() for a in keys.values()} == {f.name for f in fields(Machine)}
