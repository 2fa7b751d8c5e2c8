# SPDX-License-Identifier: Apache-2.0
"""Runs a program with the sampler and the counter of calls in it, and in every process that it starts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import facula


class Refused(Exception):
    """What was asked cannot be done; the text is one sentence."""


@dataclass
class Run:
    folder: str
    exit_code: int  # of the program; 128 + the signal that ended it
    cpu_seconds: float
    wall_seconds: float


def libraries() -> tuple:
    """The sampler and the counter of calls."""
    package = os.path.dirname(os.path.abspath(facula._C.__file__))
    found = tuple(os.path.join(package, name) for name in ("libfacula_sampler.so", "libfacula_calls.so"))
    if not all(os.path.exists(path) for path in found):
        raise Refused("profile: this build has no library profiler, which needs Linux on x86-64, glibc 2.35 and no sanitizer")
    return found


def command_of(is_module: bool, program: str, arguments: list) -> list:
    """Python programs are run as `facula run` runs them, so that `import torch` works; anything else as it is."""
    if is_module:
        return [sys.executable, "-m", "facula", "run", "-m", program, *arguments]
    if program.endswith(".py") or not os.path.exists(program) and not shutil.which(program):
        if not os.path.exists(program):
            raise Refused(f"profile: there is no program '{program}'")
        return [sys.executable, "-m", "facula", "run", program, *arguments]
    found = program if os.path.exists(program) else shutil.which(program)
    assert found is not None
    if os.path.isdir(found):
        raise Refused(f"profile: '{program}' is a folder, not a program")
    if os.access(found, os.X_OK):
        return [os.path.abspath(found), *arguments]
    with open(found, "rb") as f:  # a script without an ending, readable but not executable
        if f.read(4) == b"\x7fELF":
            raise Refused(f"profile: no permission to run '{program}'")
    return [sys.executable, "-m", "facula", "run", program, *arguments]


def environment(folder: str, names: list, rate: int) -> dict:
    sampler, calls = libraries()
    env = dict(os.environ)
    for variable, library in (("LD_PRELOAD", sampler), ("LD_AUDIT", calls)):
        env[variable] = ":".join(filter(None, [library, env.get(variable)]))
    env["FACULA_SAMPLER"] = f"{folder}:{1_000_000_000 // rate}"
    env["FACULA_CALLS"] = f"{folder}:{','.join(names)}"
    env.setdefault("ONEDNN_JIT_PROFILE", "2")  # oneDNN leaves the names of what it generates in /tmp/perf-PID.map
    for variable in ("LD_PROFILE", "LD_PROFILE_OUTPUT"):  # the C library's own profiler would slow down every call
        env.pop(variable, None)
    return env


def run(command: list, names: list, rate: int = 1000) -> Run:
    """Leaves the recordings in a new folder, which the caller removes."""
    folder = tempfile.mkdtemp(prefix="facula-profile-")
    if ":" in folder:
        os.rmdir(folder)
        raise Refused(f"profile: the folder for temporary files may not have a colon in its name: {folder}")
    start = time.monotonic()
    try:
        child = subprocess.Popen(command, env=environment(folder, names, rate))
    except OSError as e:
        shutil.rmtree(folder, ignore_errors=True)
        raise Refused(f"profile: {command[0]} cannot be run: {e.strerror}")
    # What the terminal sends reaches the program too, and its profile is wanted: it decides.
    passed = [signal.SIGTERM, signal.SIGHUP]
    before = {s: signal.signal(s, lambda number, _: child.send_signal(number)) for s in passed}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _, status, usage = os.wait4(child.pid, 0)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    child.returncode = os.waitstatus_to_exitcode(status)
    code = child.returncode if child.returncode >= 0 else 128 - child.returncode
    return Run(folder, code, usage.ru_utime + usage.ru_stime, time.monotonic() - start)
