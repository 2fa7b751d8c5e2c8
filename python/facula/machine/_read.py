# SPDX-License-Identifier: Apache-2.0
"""What a machine says of itself: files of /proc and /sys, and commands, as plain data. Nothing here judges.

Every path is under a root folder, so that a recorded tree is read as a machine is. What is not there is None or empty:
virtual machines, containers and processors of all makes lack something.
"""

from __future__ import annotations

import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Optional

from . import _gpu

CPU = "sys/devices/system/cpu"
MOST_CPUS = 1 << 16  # a list that names more is no list of CPUs


class System:
    """The files and commands of one machine."""

    def __init__(self, root: str | os.PathLike = "/"):
        self.root = pathlib.Path(root)

    @property
    def real(self) -> bool:
        return self.root == pathlib.Path("/")

    def text(self, path: str) -> Optional[str]:
        try:
            return (self.root / path).read_text(errors="replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> Optional[int]:
        text = self.text(path)
        return int(text) if text and re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def names(self, path: str, pattern: str = "") -> list[str]:
        """Entries of a folder that match, with numbers in them in their order."""
        try:
            found = [name for name in os.listdir(self.root / path) if re.fullmatch(pattern or ".*", name)]
        except OSError:
            return []
        return sorted(found, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])

    def write(self, path: str, text: str) -> None:
        """Into a file that is there: the kernel's files cannot be replaced or created."""
        descriptor = os.open(self.root / path, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def replace(self, path: str, text: str) -> None:
        """A file of ours or of the administrator's: all of it or nothing, also when the machine stops in between."""
        target = os.path.realpath(self.root / path)
        mode = os.stat(target).st_mode & 0o7777 if os.path.exists(target) else 0o644
        with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(target), delete=False) as file:
            try:
                file.write(text)
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise

    def command(self, name: str) -> Optional[str]:
        """Where a command is: on the path, or in the recorded tree."""
        if self.real:
            path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin"])
            return shutil.which(name, path=path)
        return shutil.which(name, path=str(self.root / "usr/bin"))

    def run(self, *command: str, seconds: float = 20) -> subprocess.CompletedProcess:
        """A command's result; one that is missing, hangs or cannot start has failed, and says why."""
        found = self.command(command[0])
        if not found:
            return subprocess.CompletedProcess(command, 127, "", f"{command[0]} is not installed")
        try:
            return subprocess.run([found, *command[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=seconds)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"{command[0]} did not answer in {seconds:.0f} s")
        except OSError as error:
            return subprocess.CompletedProcess(command, 126, "", f"{command[0]}: {error.strerror}")


def cpu_list(text: Optional[str]) -> list[int]:
    """`0-2,5` as numbers. ValueError for anything else."""
    numbers: set[int] = set()
    for part in filter(None, re.split(r"[,\s]+", text or "")):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if low > high or high >= MOST_CPUS:
            raise ValueError(f"{text!r} is no list of CPUs such as 0-3,6")
        numbers.update(range(low, high + 1))
    return sorted(numbers)


def show_cpus(cpus: Iterable[int]) -> str:
    """The other way round."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _cpus(text: Optional[str]) -> list[int]:
    try:
        return cpu_list(text)
    except ValueError:
        return []


@dataclass
class Policy:
    """Frequencies of some CPUs, in kHz."""

    cpus: list[int]
    path: str
    driver: Optional[str]
    governor: Optional[str]
    governors: list[str]
    low: Optional[int]
    high: Optional[int]
    now: Optional[int]
    hardware_low: Optional[int]
    hardware_high: Optional[int]
    steady: Optional[int]  # the highest that needs no turbo, where the machine says it
    preference: Optional[str]


@dataclass
class IdleState:
    name: str
    latency: int  # microseconds to wake up
    cpus: list[int]  # where it is enabled


@dataclass
class Limits:
    """What control groups allow this process."""

    cpus: Optional[float] = None  # CPU seconds a second
    memory: Optional[int] = None  # bytes
    files: list[str] = field(default_factory=list)  # cpu.stat of the groups around this process


@dataclass
class Facts:
    """A machine at one moment."""

    model: Optional[str] = None
    kernel: Optional[str] = None
    boot: Optional[str] = None
    virtual: Optional[str] = None  # what says that a hypervisor is below
    present: list[int] = field(default_factory=list)
    online: list[int] = field(default_factory=list)
    allowed: list[int] = field(default_factory=list)
    isolated: list[int] = field(default_factory=list)
    siblings: dict[int, list[int]] = field(default_factory=dict)
    nodes: dict[int, list[int]] = field(default_factory=dict)
    smt: Optional[str] = None
    turbo: dict[str, int] = field(default_factory=dict)  # file: what it holds
    policies: list[Policy] = field(default_factory=list)
    idle: list[IdleState] = field(default_factory=list)
    cmdline: list[str] = field(default_factory=list)
    limits: Limits = field(default_factory=Limits)
    temperatures: list[tuple[str, float, Optional[float]]] = field(default_factory=list)  # name, degrees, where it slows down
    memory: dict[str, int] = field(default_factory=dict)  # /proc/meminfo, bytes
    huge_pages: dict[str, str] = field(default_factory=dict)
    numa_balancing: Optional[int] = None
    aslr: Optional[int] = None
    clock: Optional[str] = None
    clocks: list[str] = field(default_factory=list)
    load: Optional[float] = None
    battery: Optional[bool] = None
    threads: Optional[int] = None  # that OpenMP is told to have
    environment: dict[str, str] = field(default_factory=dict)
    gpus: list[_gpu.Gpu] = field(default_factory=list)

    @property
    def used(self) -> list[int]:
        """CPUs that a benchmark works on: the isolated ones, or those it is allowed."""
        isolated = [cpu for cpu in self.isolated if cpu in self.online]
        return isolated or [cpu for cpu in self.allowed if cpu in self.online] or self.online


# Variables that make programs print, check or count where they are measured.
DISTURBING = (
    "DEBUG", "FACULA_DEBUG", "MKLDNN_VERBOSE", "DNNL_VERBOSE", "ONEDNN_VERBOSE", "PYTORCH_JIT_LOG_LEVEL", "MALLOC_CHECK_",
    "PYTHONDEVMODE", "PYTHONMALLOC", "PYTHONPROFILEIMPORTTIME", "LD_PROFILE", "LD_AUDIT", "LD_DEBUG", "CUDA_LAUNCH_BLOCKING",
)  # fmt: skip


def facts(system: System, environment: Optional[dict] = None, gpus: bool = True) -> Facts:
    status = system.text("proc/self/status") or ""
    allowed = re.search(r"^Cpus_allowed_list:\s*(\S+)", status, re.M)
    online = _cpus(system.text(f"{CPU}/online"))
    clock = "sys/devices/system/clocksource/clocksource0"
    memory = re.findall(r"^(\w+):\s+(\d{1,15}) kB", system.text("proc/meminfo") or "", re.M)
    load = re.match(r"\d{1,9}(\.\d+)?", system.text("proc/loadavg") or "")
    environment = dict(os.environ) if environment is None else environment
    return Facts(
        model=_model(system),
        kernel=system.text("proc/sys/kernel/osrelease"),
        boot=system.text("proc/sys/kernel/random/boot_id"),
        virtual=_virtual(system),
        present=_cpus(system.text(f"{CPU}/present")) or online,
        online=online,
        allowed=_cpus(allowed[1]) if allowed else [],
        isolated=_cpus(system.text(f"{CPU}/isolated")),
        siblings={cpu: s for cpu in online if (s := _cpus(system.text(f"{CPU}/cpu{cpu}/topology/thread_siblings_list")))},
        nodes={int(node[4:]): _cpus(system.text(f"sys/devices/system/node/{node}/cpulist")) for node in system.names("sys/devices/system/node", r"node\d+")},
        smt=system.text(f"{CPU}/smt/control"),
        turbo=_turbo(system),
        policies=[_policy(system, name) for name in system.names(f"{CPU}/cpufreq", r"policy\d+")],
        idle=_idle(system, online),
        cmdline=(system.text("proc/cmdline") or "").split(),
        limits=_limits(system),
        temperatures=_temperatures(system),
        memory={name: 1024 * int(size) for name, size in memory},
        huge_pages={name: m[1] for name in ("enabled", "defrag") if (m := re.search(r"\[([\w+]+)\]", system.text(f"sys/kernel/mm/transparent_hugepage/{name}") or ""))},
        numa_balancing=system.number("proc/sys/kernel/numa_balancing"),
        aslr=system.number("proc/sys/kernel/randomize_va_space"),
        clock=system.text(f"{clock}/current_clocksource"),
        clocks=(system.text(f"{clock}/available_clocksource") or "").split(),
        load=float(load[0]) if load else None,
        battery=_battery(system),
        threads=int(threads) if re.fullmatch("[0-9]{1,6}", threads := environment.get("OMP_NUM_THREADS", "")) else None,
        environment={name: environment[name] for name in DISTURBING if environment.get(name)},
        gpus=_gpu.read(system) if gpus else [],
    )  # fmt: skip


def _model(system: System) -> Optional[str]:
    found = re.search(r"^(?:model name|Model|cpu model|Hardware)\s*:\s*(.+)", system.text("proc/cpuinfo") or "", re.M)
    return found[1].strip() if found else system.text("sys/firmware/devicetree/base/model")


def _virtual(system: System) -> Optional[str]:
    vendor, product = (system.text(f"sys/class/dmi/id/{name}") or "" for name in ("sys_vendor", "product_name"))
    kind = system.text("sys/hypervisor/type")
    if re.search(r"^flags\s*:.*\bhypervisor\b", system.text("proc/cpuinfo") or "", re.M):
        return f"{vendor} {product}".strip() or kind or "the processor says so"
    if re.search(r"QEMU|VMware|VirtualBox|KVM|Virtual Machine|Google Compute Engine|OpenStack|Parallels", f"{vendor} {product}"):
        return f"{vendor} {product}".strip()
    return kind


def _turbo(system: System) -> dict[str, int]:
    paths = [f"{CPU}/intel_pstate/no_turbo", f"{CPU}/cpufreq/boost"]
    paths += [f"{CPU}/cpufreq/{name}/boost" for name in system.names(f"{CPU}/cpufreq", r"policy\d+")]
    return {path: value for path in paths if (value := system.number(path)) is not None}


def _policy(system: System, name: str) -> Policy:
    path = f"{CPU}/cpufreq/{name}"
    cpus = _cpus(system.text(f"{path}/affected_cpus")) or [int(name[6:])]
    nominal = system.number(f"{CPU}/cpu{cpus[0]}/acpi_cppc/nominal_freq")  # MHz
    listed = [int(f) for f in (system.text(f"{path}/scaling_available_frequencies") or "").split() if re.fullmatch("[0-9]{1,12}", f)]
    return Policy(
        cpus=cpus,
        path=path,
        driver=system.text(f"{path}/scaling_driver"),
        governor=system.text(f"{path}/scaling_governor"),
        governors=(system.text(f"{path}/scaling_available_governors") or "").split(),
        low=system.number(f"{path}/scaling_min_freq"),
        high=system.number(f"{path}/scaling_max_freq"),
        now=system.number(f"{path}/scaling_cur_freq"),
        hardware_low=system.number(f"{path}/cpuinfo_min_freq"),
        hardware_high=system.number(f"{path}/cpuinfo_max_freq"),
        steady=system.number(f"{path}/base_frequency") or (1000 * nominal if nominal else None) or (max(listed) if listed else None),
        preference=system.text(f"{path}/energy_performance_preference"),
    )


def idle_files(system: System, online: list[int]) -> Iterable[tuple[int, str]]:
    """Each CPU's folder of each idle state."""
    for cpu in online:
        for state in system.names(f"{CPU}/cpu{cpu}/cpuidle", r"state\d+"):
            yield cpu, f"{CPU}/cpu{cpu}/cpuidle/{state}"


def _idle(system: System, online: list[int]) -> list[IdleState]:
    states: dict[str, IdleState] = {}
    for cpu, path in idle_files(system, online):
        name = system.text(f"{path}/name") or path.rsplit("/", 1)[1]
        state = states.setdefault(name, IdleState(name, system.number(f"{path}/latency") or 0, []))
        if system.number(f"{path}/disable") == 0:
            state.cpus.append(cpu)
    return list(states.values())


def _limits(system: System) -> Limits:
    """The tightest limit from this process's group up to the root, in either version of control groups."""
    limits = Limits()
    groups = [line.split(":", 2) for line in (system.text("proc/self/cgroup") or "").splitlines() if line.count(":") >= 2]
    for _, controllers, path in groups:
        names = [""] if not controllers else [controllers, *controllers.split(",")]
        mount = next((f"sys/fs/cgroup/{name}".rstrip("/") for name in names if (system.root / "sys/fs/cgroup" / name).is_dir()), None)
        if mount is None:
            continue
        for group in [pathlib.PurePosixPath(path), *pathlib.PurePosixPath(path).parents]:
            _tighten(system, limits, f"{mount}{group}".rstrip("/"))
    return limits


def _tighten(system: System, limits: Limits, folder: str) -> None:
    def least(a, b):
        return b if a is None else min(a, b)

    if re.fullmatch(r"\d{1,15} \d{1,15}", quota := system.text(f"{folder}/cpu.max") or ""):
        part, period = map(int, quota.split())
        limits.cpus = least(limits.cpus, part / max(1, period))
    part, period = system.number(f"{folder}/cpu.cfs_quota_us") or 0, system.number(f"{folder}/cpu.cfs_period_us") or 0
    if part > 0 and period > 0:
        limits.cpus = least(limits.cpus, part / period)
    for name in ("memory.max", "memory.limit_in_bytes"):
        size = system.number(f"{folder}/{name}")
        if size is not None and size < 1 << 62:  # version 1 says "no limit" by a number near 2 ** 63
            limits.memory = least(limits.memory, size)
    if "nr_throttled" in (system.text(f"{folder}/cpu.stat") or ""):
        limits.files.append(f"{folder}/cpu.stat")


def _temperatures(system: System) -> list[tuple[str, float, Optional[float]]]:
    found = []
    for zone in system.names("sys/class/thermal", r"thermal_zone\d+"):
        path = f"sys/class/thermal/{zone}"
        trips = [
            system.number(f"{path}/{name}")
            for name in system.names(path, r"trip_point_\d+_temp")
            if system.text(f"{path}/{name[:-4]}type") in ("passive", "hot", "critical")
        ]
        found.append((system.text(f"{path}/type") or zone, system.number(f"{path}/temp"), min((t for t in trips if t and t > 0), default=None)))
    for sensor in system.names("sys/class/hwmon", r"hwmon\d+"):
        path = f"sys/class/hwmon/{sensor}"
        if (name := system.text(f"{path}/name")) in ("coretemp", "k10temp", "zenpower", "cpu_thermal"):
            inputs = [f"{path}/{file[:-6]}" for file in system.names(path, r"temp\d+_input")]
            found += [(name, system.number(f"{i}_input"), system.number(f"{i}_max") or system.number(f"{i}_crit")) for i in inputs]
    return [(name, now / 1000, slow / 1000 if slow else None) for name, now, slow in found if now]


def _battery(system: System) -> Optional[bool]:
    """Whether the machine runs on its battery; None if it has none."""
    supplies = [f"sys/class/power_supply/{name}" for name in system.names("sys/class/power_supply")]
    kinds = {path: system.text(f"{path}/type") for path in supplies}
    if "Battery" not in kinds.values():
        return None
    mains = [system.number(f"{path}/online") for path, kind in kinds.items() if kind in ("Mains", "USB")]
    return 1 not in mains if mains else any(system.text(f"{path}/status") == "Discharging" for path, kind in kinds.items() if kind == "Battery")


@dataclass
class Counters:
    """What only grows: two of them say what happened between."""

    time: float
    ticks: dict[int, dict[str, int]] = field(default_factory=dict)  # CPU: kind: hundredths of a second
    own: float = 0.0  # CPU seconds of this process and the children it waited for
    pressure: dict[str, int] = field(default_factory=dict)  # resource: microseconds that somebody waited
    interrupts: dict[str, dict[int, int]] = field(default_factory=dict)  # source: CPU: count
    throttled: float = 0.0  # seconds, by control groups
    hot: int = 0  # times that a core slowed down for its heat
    switches: int = 0  # times that this process and its children were pushed off a CPU
    swapped: int = 0  # pages in and out
    gpu_slowed: float = 0.0  # seconds, all cards


KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def counters(system: System, known: Facts) -> Counters:
    result = Counters(time.monotonic())
    for line in (system.text("proc/stat") or "").splitlines():
        if match := re.fullmatch(r"cpu(\d{1,5}) ([\d ]+)", line):
            result.ticks[int(match[1])] = dict(zip(KINDS, map(int, match[2].split())))
    if system.real:
        spent = os.times()
        result.own = spent.user + spent.system + spent.children_user + spent.children_system
        result.switches = sum(resource.getrusage(who).ru_nivcsw for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    for what in ("cpu", "memory", "io"):
        if match := re.search(r"^some .*total=(\d{1,18})", system.text(f"proc/pressure/{what}") or "", re.M):
            result.pressure[what] = int(match[1])
    result.interrupts = _interrupts(system.text("proc/interrupts") or "")
    for path in known.limits.files:
        text = system.text(path) or ""
        if match := re.search(r"^throttled_(usec|time) (\d{1,18})", text, re.M):
            result.throttled += int(match[2]) / (1e6 if match[1] == "usec" else 1e9)
    for cpu in known.online:
        folder = f"{CPU}/cpu{cpu}/thermal_throttle"
        result.hot += (system.number(f"{folder}/core_throttle_count") or 0) + (system.number(f"{folder}/package_throttle_count") or 0)
    if not system.real and (match := re.search(r"^nonvoluntary_ctxt_switches:\s*(\d+)", system.text("proc/self/status") or "", re.M)):
        result.switches = int(match[1])
    result.swapped = sum(map(int, re.findall(r"^pswp(?:in|out) (\d+)", system.text("proc/vmstat") or "", re.M)))
    if known.gpus:
        result.gpu_slowed = sum(gpu.slowed for gpu in _gpu.read(system))
    return result


def _interrupts(text: str) -> dict[str, dict[int, int]]:
    """Source: CPU: count; a source is the number and the last word of its line, or the kernel's three letters."""
    lines = text.splitlines()
    cpus = [int(name[3:]) for name in lines[0].split() if re.fullmatch(r"CPU\d{1,5}", name)] if lines else []
    found = {}
    for line in lines[1:]:
        name, _, rest = line.strip().partition(":")
        parts = rest.split()
        counts = [int(part) for part in parts[: len(cpus)] if re.fullmatch("[0-9]{1,18}", part)]
        if len(counts) == len(cpus):
            found[f"{name} {parts[-1]}" if name.isdigit() and len(parts) > len(cpus) else name] = dict(zip(cpus, counts))
    return found


@dataclass
class Window:
    """What happened between two counters, as rates. None: the machine does not count it."""

    seconds: float
    steal: Optional[float] = None  # share of the used CPUs' time that a hypervisor gave to others
    other: Optional[float] = None  # CPU seconds a second that other programs took
    pressure: dict[str, float] = field(default_factory=dict)  # share of the time in which somebody waited
    interrupts: dict[int, float] = field(default_factory=dict)  # used CPU: device interrupts a second
    busiest: Optional[str] = None  # the source of most of them
    throttled: Optional[float] = None  # seconds
    hot: int = 0
    switches: float = 0.0  # a second
    swapped: int = 0
    gpu_slowed: float = 0.0


def window(before: Counters, after: Counters, known: Facts) -> Window:
    seconds = max(after.time - before.time, 1e-9)
    grown = {cpu: {k: max(0, n - before.ticks[cpu].get(k, 0)) for k, n in kinds.items()} for cpu, kinds in after.ticks.items() if cpu in before.ticks}
    result = Window(seconds, throttled=max(0.0, after.throttled - before.throttled) if known.limits.files else None)
    total = sum(sum(grown[cpu].values()) for cpu in known.used if cpu in grown)
    if total:
        result.steal = sum(grown[cpu].get("steal", 0) for cpu in known.used if cpu in grown) / total
    if grown:
        busy = sum(n for kinds in grown.values() for kind, n in kinds.items() if kind not in ("idle", "iowait", "steal")) / os.sysconf("SC_CLK_TCK")
        result.other = max(0.0, busy - (after.own - before.own)) / seconds
    result.pressure = {r: (after.pressure[r] - n) / 1e6 / seconds for r, n in before.pressure.items() if r in after.pressure}
    devices: dict[str, float] = {}
    for source, counts in after.interrupts.items():
        if source[0].isdigit():
            for cpu in known.used:
                rate = max(0, counts.get(cpu, 0) - before.interrupts.get(source, {}).get(cpu, 0)) / seconds
                result.interrupts[cpu] = result.interrupts.get(cpu, 0.0) + rate
                devices[source] = devices.get(source, 0.0) + rate
    result.busiest = max(devices, key=lambda source: devices[source]) if any(devices.values()) else None
    result.hot = max(0, after.hot - before.hot)
    result.switches = max(0, after.switches - before.switches) / seconds
    result.swapped = max(0, after.swapped - before.swapped)
    result.gpu_slowed = max(0.0, after.gpu_slowed - before.gpu_slowed)
    return result
