# SPDX-License-Identifier: Apache-2.0
"""How processes that were started somehow find each other: who am I, how many are we, where is the store."""

import os
import re
import zlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

from facula.distributed._engine import FileStore, PrefixStore, Store, TCPStore
from facula.distributed.constants import default_pg_timeout

__all__ = ["register_rendezvous_handler", "rendezvous"]

_handlers: dict[str, Callable] = {}

# Rank, world size, rank on this machine, processes on this machine: as each launcher names them.
_LAUNCHERS = {
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    "Open MPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    "MPICH": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    "Slurm": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
}


def launcher() -> tuple[str, int, int] | None:
    """Which launcher started this process, its rank and how many there are; None: none that says so."""
    for name, (rank, size, *_) in _LAUNCHERS.items():
        if rank in os.environ and size in os.environ:
            return name, _number(rank), _number(size)
    return None


def local_rank() -> int:
    """The rank of this process on its machine."""
    for _, _, rank, _ in _LAUNCHERS.values():
        if rank in os.environ:
            return _number(rank)
    raise RuntimeError("no launcher says this process's rank on its machine: LOCAL_RANK is not in the environment")


def _number(variable: str) -> int:
    try:
        return int(os.environ[variable])
    except ValueError:
        raise ValueError(f"environment variable {variable} is {os.environ[variable]!r}, which is no number") from None


def _first_host(hosts: str) -> str:  # of SLURM_NODELIST: "node[03-07,12],login" -> "node03"
    found = re.match(r"([^\[,]+)(?:\[([^\],-]+))?", hosts)
    return found.group(1) + (found.group(2) or "") if found else "127.0.0.1"


def master() -> tuple[str, int]:
    """Where the store is: MASTER_ADDR and MASTER_PORT, or what follows from the launcher's variables."""
    environ = os.environ
    host = environ.get("MASTER_ADDR")
    job = environ.get("SLURM_JOB_ID") or environ.get("PMIX_NAMESPACE") or environ.get("PMI_JOBID") or ""
    if host is None:
        if "SLURM_NODELIST" in environ:
            host = _first_host(environ["SLURM_NODELIST"])
        else:  # one machine, unless the launcher says that there are others
            sizes = [(environ.get(size), environ.get(here)) for _, size, _, here in _LAUNCHERS.values()]
            if any(size and here and size != here for size, here in sizes):
                raise ValueError("the processes run on several machines: MASTER_ADDR must say where rank 0 is")
            host = "127.0.0.1"
    if "MASTER_PORT" in environ:
        return host, _number("MASTER_PORT")
    if not job:
        raise ValueError(
            "environment variable MASTER_PORT expected, but not set: start the program by torchrun, mpirun or srun, or set "
            "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"
        )
    return host, 20000 + zlib.crc32(job.encode()) % 10000  # the same for all processes of a job


def register_rendezvous_handler(scheme: str, handler: Callable) -> None:
    """Adds a way to meet, for urls `scheme://…`: a function of (url, timeout=…) that yields (store, rank, world size)."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs) -> Iterator[tuple[Store, int, int]]:
    """Yields the store, this process's rank and the number of processes, as a url says."""
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    parts = urlsplit(url)
    if parts.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://: there are {', '.join(sorted(_handlers))}")
    return _handlers[parts.scheme](url, rank=rank, world_size=world_size, **kwargs)


def _who(url: str, rank: int, world_size: int) -> tuple[int, int]:
    given = dict(parse_qsl(urlsplit(url).query))
    rank = int(given.get("rank", rank)) if rank == -1 else rank
    world_size = int(given.get("world_size", world_size)) if world_size == -1 else world_size
    return rank, world_size


def _checked(rank: int, world_size: int, kind: str) -> tuple[int, int]:
    if rank < 0:
        raise ValueError(f"{kind}:// needs the rank of this process")
    if world_size < 1:
        raise ValueError(f"{kind}:// needs the number of processes, world_size")
    if rank >= world_size:
        raise ValueError(f"rank {rank} is none of {world_size} processes: ranks begin with 0")
    return rank, world_size


def _agent_store(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Store:
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # the launcher holds it; a prefix for each try
        store = TCPStore(host, port, world_size, False, timeout, wait_for_workers=False)
        return PrefixStore(f"/worker/attempt_{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
    return TCPStore(host, port, world_size, rank == 0, timeout, wait_for_workers=False, multi_tenant=True)


def _env(url: str, timeout: timedelta = default_pg_timeout, rank: int = -1, world_size: int = -1, **_):
    rank, world_size = _who(url, rank, world_size)
    if rank == -1 or world_size == -1:
        found = launcher()
        for value, variable in ((rank, "RANK"), (world_size, "WORLD_SIZE")):
            if value == -1 and found is None and variable not in os.environ:
                raise ValueError(f"Error initializing torch.distributed using env:// rendezvous: environment variable {variable} "
                                 "expected, but not set")  # fmt: skip
        rank = rank if rank != -1 else found[1] if found else _number("RANK")
        world_size = world_size if world_size != -1 else found[2] if found else _number("WORLD_SIZE")
    rank, world_size = _checked(rank, world_size, "env")
    yield _agent_store(*master(), rank, world_size, timeout), rank, world_size


def _tcp(url: str, timeout: timedelta = default_pg_timeout, rank: int = -1, world_size: int = -1, **_):
    rank, world_size = _checked(*_who(url, rank, world_size), "tcp")
    parts = urlsplit(url)
    if not parts.port:
        raise ValueError(f"tcp:// rendezvous: port number missing in {url!r}")
    yield _agent_store(parts.hostname or "127.0.0.1", parts.port, rank, world_size, timeout), rank, world_size


def _file(url: str, timeout: timedelta = default_pg_timeout, rank: int = -1, world_size: int = -1, **_):
    rank, world_size = _checked(*_who(url, rank, world_size), "file")
    path = urlsplit(url).path
    if not path:
        raise ValueError(f"file:// rendezvous: path missing in {url!r}")
    store = FileStore(path, world_size)
    store.set_timeout(timeout)
    yield store, rank, world_size


register_rendezvous_handler("env", _env)
register_rendezvous_handler("tcp", _tcp)
register_rendezvous_handler("file", _file)
