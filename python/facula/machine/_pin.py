# SPDX-License-Identifier: Apache-2.0
"""Where a benchmark's threads run: one to each isolated core.

The kernel does not move threads between isolated CPUs, so a mask of several is not enough: all threads would stay on the CPU
that the first one happens to be on. OpenMP binds each of its threads by GOMP_CPU_AFFINITY, which it reads when it is loaded:
`pin` comes before `import facula` or `import torch`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping
from typing import Optional

from ._read import Facts, System, facts, show_cpus

BINDING = ("GOMP_CPU_AFFINITY", "KMP_AFFINITY", "OMP_PLACES", "OMP_PROC_BIND")


def quiet_cpus(known: Facts) -> list[int]:
    """Isolated CPUs that this process should use, a core's first thread before any core's second; empty if none are isolated."""
    isolated = [cpu for cpu in known.isolated if cpu in known.online]
    isolated = [cpu for cpu in isolated if cpu in known.allowed] or isolated  # somebody may have chosen among them
    return sorted(isolated, key=lambda cpu: (sum(other < cpu for other in known.siblings.get(cpu, []) if other in isolated), cpu))


def cores(known: Facts) -> int:
    """How many threads a benchmark has unless it is told: one for each isolated core, or for each CPU it is allowed."""
    quiet = quiet_cpus(known)
    return len({tuple(known.siblings.get(cpu, [cpu])) for cpu in quiet}) or len(known.allowed) or os.cpu_count() or 1


def pin(threads: Optional[int] = None, system: Optional[System] = None, environment: Optional[MutableMapping[str, str]] = None) -> list[int]:
    """Moves this process to isolated CPUs and has OpenMP bind its threads there; returns the CPUs, none if none are isolated."""
    known = facts(system or System(), gpus=False)
    environment = os.environ if environment is None else environment
    quiet = quiet_cpus(known)
    if not quiet:
        return []
    cpus = quiet[: threads or cores(known)]
    if threads and threads > len(cpus):
        print(f"not pinned: {threads} threads, and only the CPUs {show_cpus(cpus)} are isolated", file=sys.stderr)
        return []
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        print(f"not pinned to the isolated CPUs {show_cpus(cpus)}: {error.strerror}; a control group may not allow them", file=sys.stderr)
        return []
    if not any(name in environment for name in BINDING):
        environment["GOMP_CPU_AFFINITY"] = " ".join(map(str, cpus))
    return cpus
