# SPDX-License-Identifier: Apache-2.0
"""ReduceOp, Backend and ProcessGroup: what collectives are told, and the objects that carry them out."""

import enum
from collections.abc import Callable
from datetime import timedelta

import facula
from facula.distributed import _engine
from facula.distributed._engine import Work


class ReduceOp:
    """How elements of several ranks are combined: ReduceOp.SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR."""

    class RedOpType(enum.IntEnum):
        SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)

    __members__ = RedOpType.__members__

    def __init__(self, op: "ReduceOp.RedOpType | ReduceOp") -> None:
        self.op = getattr(op, "op", op)

    def __eq__(self, other: object) -> bool:
        return self.op == getattr(other, "op", other)

    def __hash__(self) -> int:
        return hash(self.op)

    def __int__(self) -> int:
        return int(self.op)

    def __repr__(self) -> str:
        return repr(self.op)

    def __reduce__(self):
        return ReduceOp, (self.op,)


for _op in ReduceOp.RedOpType:
    setattr(ReduceOp, _op.name, _op)


def op_number(op: object) -> int:
    """A reduction as C++ counts them."""
    op = getattr(op, "op", op)
    if not isinstance(op, ReduceOp.RedOpType):
        raise TypeError(f"expected a ReduceOp, got {op!r}")
    if op == ReduceOp.RedOpType.PREMUL_SUM:
        raise NotImplementedError("PREMUL_SUM is NCCL's: multiply first, then reduce with SUM")
    return int(op)


class Backend(str):
    """The name of what carries a group's calls out: "gloo", "mpi", or one that a program registered."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL}
    _plugins: dict[str, Callable] = {}

    def __new__(cls, name: str) -> "Backend":
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name}")
        return str.__new__(cls, getattr(cls, name.upper(), name.lower()))

    @classmethod
    def register_backend(
        cls, name: str, func: Callable, extended_api: bool = False, devices: str | list[str] | None = None
    ) -> None:
        """Adds a backend. `func(store, rank, size, timeout)` returns an object with the methods of an engine
        (docs/distributed.md), or is the path of a library that holds one."""
        name = name.lower()
        if name in cls.backend_list:
            raise RuntimeError(f"{name} c10d backend already exist")
        if isinstance(func, str):
            _engine._c._load_engine(name, func)
        else:
            cls._plugins[name] = func
        setattr(cls, name.upper(), name)
        cls.backend_list.append(name)
        for device in [devices] if isinstance(devices, str) else devices or []:
            cls.default_device_backend_map.setdefault(device, name)


def has_backend(name: str) -> bool:
    """Whether a backend can be used here."""
    return name in Backend._plugins or not _engine._c._engine_missing(name)


_NO_TIMEOUT = timedelta(0)  # the group's


class ProcessGroup:
    """Ranks that call the same collectives in the same order. Made by init_process_group and new_group."""

    def __init__(self, name: str, backend: str, ranks: list[int], engine, description: str = "") -> None:
        self.group_name = name
        self.group_desc = description or name
        self.backend = backend
        self.ranks = ranks
        self.bound_device_id = None
        self._engine = engine
        self.number = {rank: i for i, rank in enumerate(ranks)}  # global rank -> rank in the group

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return len(self.ranks)

    def name(self) -> str:
        return self.backend

    def _get_backend_name(self) -> str:
        return self.backend

    def _get_backend(self, device: object = None) -> "ProcessGroup":
        return self

    def set_timeout(self, timeout: timedelta) -> None:
        self._engine.set_timeout(_engine.milliseconds(timeout, timeout))

    _set_default_timeout = set_timeout

    @property
    def timeout(self) -> timedelta:
        return self._engine.timeout

    def last_calls(self) -> list[dict]:
        """What this rank called last in the group: up to 64 dicts, the newest at the end."""
        return self._engine.last_calls()

    def abort(self) -> None:
        """Breaks the group: every call under way or to come raises, and connections close."""
        self._engine.abort(f"group '{self.group_name}' was aborted by rank {self._rank}")

    def shutdown(self) -> None:
        """Ends the group; calls under way end first."""
        self._engine.shutdown()

    # PyTorch's names of the calls themselves, for programs that use a group as an object.
    def allreduce(self, tensors, op=ReduceOp.SUM, timeout: timedelta = _NO_TIMEOUT) -> Work:
        tensors = [tensors] if isinstance(tensors, facula.Tensor) else tensors
        return self._engine.all_reduce(tensors, op_number(getattr(op, "reduceOp", op)), timeout)

    def broadcast(self, tensors, root: int = 0, timeout: timedelta = _NO_TIMEOUT) -> Work:
        tensors = [tensors] if isinstance(tensors, facula.Tensor) else tensors
        return self._engine.broadcast(tensors, getattr(root, "rootRank", root), timeout)

    def allgather(self, output_tensors, input_tensor, timeout: timedelta = _NO_TIMEOUT) -> Work:
        outputs = output_tensors[0] if isinstance(output_tensors[0], (list, tuple)) else output_tensors
        input_tensor = input_tensor[0] if isinstance(input_tensor, (list, tuple)) else input_tensor
        return self._engine.all_gather(outputs, input_tensor, timeout)

    def barrier(self, timeout: timedelta = _NO_TIMEOUT) -> Work:
        return self._engine.barrier(timeout)

    def send(self, tensors, dst: int, tag: int = 0) -> Work:
        return self._engine.send(tensors[0], dst, tag, _NO_TIMEOUT)

    def recv(self, tensors, src: int, tag: int = 0) -> Work:
        return self._engine.recv(tensors[0], src, tag, _NO_TIMEOUT)

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name!r} ({self.backend}), rank {self._rank} of {self.size()}>"
