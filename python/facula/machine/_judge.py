# SPDX-License-Identifier: Apache-2.0
"""What of a machine disturbs a measurement. Judges facts that _read.py read; reads nothing itself.

A state is `ok`, `warn` (results vary more than they must), `bad` (results cannot be trusted) or `unknown` (the machine does not
say, as in a guest: then only the measured noise counts).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional
from collections.abc import Callable

from . import _gpu, _noise
from ._read import CPU, Facts, Window, show_cpus

STATES = ("ok", "unknown", "warn", "bad")
Verdict = Optional[tuple[str, str, str]]  # state, observed, how to mend it; None: does not concern this machine
LOCK = "sudo $(which facula) machine lock"  # sudo has a path of its own
NEAR = 15_000  # kHz by which frequencies may differ and be called one
WAKING = 2  # microseconds: an idle state that takes longer to leave is a deep one


@dataclass
class Finding:
    name: str
    state: str
    observed: str
    wanted: str
    why: str
    cost: str  # what is measured of it now
    fix: str
    root: bool  # whether mending it needs root


def _sysfs(value: str, path: str) -> str:
    return f"echo {value} | sudo tee /{path}"


def per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"


def hidden(f: Facts) -> str:
    return "a guest cannot see it" if f.virtual else "this kernel does not show it"


def smt(f: Facts, w: Optional[Window]) -> Verdict:
    paired = [cpu for cpu, others in f.siblings.items() if sum(other in f.online for other in others) > 1]
    if paired:
        return "bad", f"on: CPUs {show_cpus(paired)} share cores", _sysfs("off", f"{CPU}/smt/control")
    if f.virtual:
        return "unknown", "none in the guest; the host may run two of its CPUs on one core", ""
    return ("ok", "off", "") if f.siblings or f.smt else ("unknown", hidden(f), "")


def turbo_on(f: Facts) -> list[str]:
    """Files that say that a processor may exceed its steady frequency."""
    return [path for path, value in f.turbo.items() if value == (0 if path.endswith("no_turbo") else 1)]


def turbo(f: Facts, w: Optional[Window]) -> Verdict:
    if not f.turbo:
        return "unknown", hidden(f), ""
    on = turbo_on(f)
    return ("bad", "on", _sysfs("1" if on[0].endswith("no_turbo") else "0", on[0])) if on else ("ok", "off", "")


def governor(f: Facts, w: Optional[Window]) -> Verdict:
    found = sorted({p.governor for p in f.policies if p.governor})
    if not found:
        return "unknown", hidden(f), ""
    if found == ["performance"]:
        return "ok", "performance", ""
    if not any("performance" in p.governors for p in f.policies):
        return "warn", ", ".join(found), ""
    return "warn", ", ".join(found), f"echo performance | sudo tee /{CPU}/cpufreq/policy*/scaling_governor"


def frequency(f: Facts, w: Optional[Window]) -> Verdict:
    used = [p for p in f.policies if set(p.cpus) & set(f.used)]
    low, high = min((p.low for p in used if p.low), default=0), max((p.high for p in used if p.high), default=0)
    if not low or not high:
        return "unknown", hidden(f), ""
    now = [p.now for p in used if p.now]
    shown = f"{low // 1000} to {high // 1000} MHz allowed" if high - low > NEAR else f"{high // 1000} MHz"
    if now:
        shown += f", {min(now) // 1000} now" if min(now) // 1000 == max(now) // 1000 else f", {min(now) // 1000} to {max(now) // 1000} now"
    if high - low > NEAR:
        return "warn", shown, f"{LOCK} --only frequency"
    if now and min(now) < low - NEAR:
        return "warn", shown + ": less than is asked for", ""
    return "ok", shown, ""


def idle(f: Facts, w: Optional[Window]) -> Verdict:
    if not f.idle:
        limited = [a for a in f.cmdline if a == "idle=poll" or re.fullmatch(r"(intel_idle|processor)\.max_cstate=[01]", a)]
        return ("ok", limited[0], "") if limited else ("unknown", hidden(f), "")
    deep = [s for s in f.idle if s.latency > WAKING and set(s.cpus) & set(f.used)]
    if not deep:
        return "ok", "no deep state is entered", ""
    return "warn", ", ".join(f"{s.name} ({s.latency} us)" for s in deep), f"{LOCK} --only idle"


def isolated(f: Facts, w: Optional[Window]) -> Verdict:
    quiet = [cpu for cpu in f.isolated if cpu in f.online]
    if quiet:
        return "ok", f"CPUs {show_cpus(quiet)}", ""
    if len(f.online) < 2:
        return "unknown", "one CPU: none can be set apart", ""
    return "warn", "none", f"{LOCK} --grub, then restart   # adds to the kernel's command line: {' '.join(kernel_arguments(f))}"


def proposal(f: Facts) -> list[int]:
    """CPUs worth isolating: the upper half of the cores, with all their threads."""
    groups = sorted({tuple(f.siblings.get(cpu, [cpu])) for cpu in f.online})
    return sorted(cpu for group in groups[(len(groups) + 1) // 2 :] for cpu in group if cpu in f.online)


def kernel_arguments(f: Facts, cpus: Optional[list[int]] = None) -> list[str]:
    """What to add to the kernel's command line; nothing that is there already."""
    chosen = show_cpus(cpus or f.isolated or proposal(f))
    wanted = [*(["intel_idle.max_cstate=1"] if "Intel" in (f.model or "") else []), "processor.max_cstate=1"]
    if chosen:
        wanted += [f"isolcpus={chosen}", f"nohz_full={chosen}", f"rcu_nocbs={chosen}"]
    return [argument for argument in wanted if argument not in f.cmdline]


def affinity(f: Facts, w: Optional[Window]) -> Verdict:
    quiet = [cpu for cpu in f.isolated if cpu in f.online]
    if not f.allowed:
        return "unknown", hidden(f), ""
    if f.threads and f.threads > len(f.used):
        return "bad", f"{f.threads} threads (OMP_NUM_THREADS) on the CPUs {show_cpus(f.used)}", f"OMP_NUM_THREADS={len(f.used)}"
    if quiet and not set(f.allowed) <= set(quiet):
        return "warn", f"CPUs {show_cpus(f.allowed)}, isolated are {show_cpus(quiet)}", f"taskset -c {show_cpus(quiet)} command   # Facula's benchmarks do it themselves"
    return "ok", f"CPUs {show_cpus(f.allowed)} of {show_cpus(f.online)}", ""


def interrupts(f: Facts, w: Optional[Window]) -> Verdict:
    if not w or not w.interrupts:
        return "unknown", "not counted", ""
    cpu, rate = max(w.interrupts.items(), key=lambda pair: pair[1])
    shown = f"up to {rate:.0f} a second of devices (CPU {cpu}" + (f", most from {w.busiest})" if w.busiest else ")")
    if rate < 100:
        return "ok", shown, ""
    return ("warn" if rate < 5000 else "bad"), shown, f"{LOCK} --only interrupts" if f.isolated else f"{LOCK} --grub, then restart; with isolated CPUs lock keeps interrupts off them"


def switches(f: Facts, w: Optional[Window]) -> Verdict:
    if not w:
        return "unknown", "not counted", ""
    return ("ok" if w.switches < 50 else "warn"), f"{w.switches:.0f} a second", ""


def steal(f: Facts, w: Optional[Window]) -> Verdict:
    if not w or w.steal is None:
        return "unknown", "not counted", ""
    return ("ok" if w.steal < 0.005 else "warn" if w.steal < 0.02 else "bad"), f"{per_cent(w.steal)} of the time", ""


def pressure(f: Facts, w: Optional[Window]) -> Verdict:
    if not w:
        return "unknown", "not counted", ""
    if not w.pressure:
        return "unknown", "the kernel does not count it (psi=1 on its command line)", ""
    worst = max(w.pressure.values())
    return ("ok" if worst < 0.02 else "warn" if worst < 0.2 else "bad"), ", ".join(f"{name} {per_cent(share)}" for name, share in w.pressure.items()), ""


def load(f: Facts, w: Optional[Window]) -> Verdict:
    if not w or w.other is None:
        return ("unknown", "not counted", "") if f.load is None else (("ok" if f.load < 0.5 else "warn"), f"load {f.load:.1f}", "")
    shown = f"other programs use {w.other:.2f} of {len(f.online)} CPUs" + (f", load {f.load:.1f}" if f.load is not None else "")
    return ("ok" if w.other < 0.1 else "warn" if w.other < 0.5 else "bad"), shown, "" if w.other < 0.1 else "top -o %CPU   # end what is not needed"


def cgroup(f: Facts, w: Optional[Window]) -> Verdict:
    throttled = w.throttled if w and w.throttled is not None else 0.0
    shown = "no limit of CPU time" if f.limits.cpus is None else f"{f.limits.cpus:.3g} CPUs' time"
    if throttled > 0:
        return "bad", f"{shown}, stopped for {throttled:.2f} s", "start the container with more CPU time (docker run --cpus=…), or use fewer threads"
    if f.limits.cpus is not None and f.limits.cpus < len(f.used):
        return "warn", f"{shown} on {len(f.used)} CPUs", f"OMP_NUM_THREADS={max(1, int(f.limits.cpus))}, or docker run --cpuset-cpus instead of --cpus"
    return "ok", shown, ""


def heat(f: Facts, w: Optional[Window]) -> Verdict:
    if w and w.hot:
        return "bad", f"slowed down {w.hot} times during the measurement", f"better cooling, or a lower frequency: {LOCK} --only turbo,frequency"
    if not f.temperatures:
        return "unknown", hidden(f), ""
    margin = [(now - (slow or 95), name, now) for name, now, slow in f.temperatures]
    closest, name, now = max(margin)
    return ("ok" if closest < -10 else "warn"), f"{now:.0f} degrees ({name})" + ("" if closest < -10 else ", close to slowing down"), ""


def memory(f: Facts, w: Optional[Window]) -> Verdict:
    total, free = f.memory.get("MemTotal"), f.memory.get("MemAvailable")
    if not total or free is None:
        return "unknown", "not shown", ""
    limit = f.limits.memory if f.limits.memory is not None and f.limits.memory < total else None
    shown = f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free" + (f", {limit / 2**30:.1f} GiB allowed" if limit is not None else "")
    if w and w.swapped:
        return "bad", f"{shown}, {w.swapped} pages swapped during the measurement", "end programs that hold memory, or sudo swapoff -a"
    return ("ok" if free > max(0.1 * total, 2**30) or free > 8 * 2**30 else "warn"), shown, ""


def huge_pages(f: Facts, w: Optional[Window]) -> Verdict:
    mode, defrag = f.huge_pages.get("enabled"), f.huge_pages.get("defrag")
    if not mode:
        return "unknown", hidden(f), ""
    folder = "sys/kernel/mm/transparent_hugepage"
    if mode == "never":
        return "warn", "never", _sysfs("madvise", f"{folder}/enabled")
    if defrag == "always":
        return "warn", f"{mode}, defrag always", _sysfs("madvise", f"{folder}/defrag")
    return "ok", mode, ""


def numa(f: Facts, w: Optional[Window]) -> Verdict:
    nodes = {node: cpus for node, cpus in f.nodes.items() if cpus}
    if not nodes:
        return "unknown", hidden(f), ""
    spanned = [node for node, cpus in nodes.items() if set(cpus) & set(f.used)]
    if len(spanned) > 1:
        return "warn", f"the CPUs span {len(spanned)} of {len(nodes)} nodes", f"numactl --cpunodebind={spanned[-1]} --membind={spanned[-1]} command"
    if len(nodes) > 1 and f.numa_balancing:
        return "warn", "the kernel moves pages between nodes", "sudo sysctl kernel.numa_balancing=0"
    return "ok", f"one node of {len(nodes)}", ""


def aslr(f: Facts, w: Optional[Window]) -> Verdict:
    if f.aslr is None:
        return "unknown", hidden(f), ""
    return ("ok", "full", "") if f.aslr == 2 else ("warn", "off" if f.aslr == 0 else "partial", "sudo sysctl kernel.randomize_va_space=2")


SLOW_CLOCKS = ("acpi_pm", "hpet", "jiffies", "refined-jiffies", "pit", "xen")


def clock(f: Facts, w: Optional[Window]) -> Verdict:
    if not f.clock:
        return "unknown", hidden(f), ""
    better = next((c for c in ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page") if c in f.clocks), None)
    fix = _sysfs(better, "sys/devices/system/clocksource/clocksource0/current_clocksource") if better else ""
    return ("warn", f.clock, fix) if f.clock in SLOW_CLOCKS else ("ok", f.clock, "")


def hypervisor(f: Facts, w: Optional[Window]) -> Verdict:
    return ("warn", f"a virtual machine ({f.virtual})", "") if f.virtual else ("ok", "none", "")


def battery(f: Facts, w: Optional[Window]) -> Verdict:
    if f.battery is None:
        return None
    return ("warn", "runs on its battery", "plug the power supply in") if f.battery else ("ok", "mains", "")


def environment(f: Facts, w: Optional[Window]) -> Verdict:
    return ("warn", ", ".join(f"{n}={v}" for n, v in f.environment.items()), "unset " + " ".join(f.environment)) if f.environment else ("ok", "none is set", "")


def _each(f: Facts, shown: Callable[[_gpu.Gpu], Optional[str]]) -> str:
    return "; ".join(f"GPU {i}: {text}" if len(f.gpus) > 1 else text for i, gpu in enumerate(f.gpus) if (text := shown(gpu)))


GPU_LOCK = f"{LOCK} --only gpu"


def gpu_clock(f: Facts, w: Optional[Window]) -> Verdict:
    if not f.gpus:
        return None
    locked = all(g.locked or (g.applications and g.most and g.applications < g.most) for g in f.gpus)
    shown = _each(f, lambda g: f"{g.clock} of {g.most} MHz" + (f", locked at {g.locked}" if g.locked else f", programs ask for {g.applications}" if g.applications else ""))
    return ("ok", shown, "") if locked else ("warn", shown + ", not locked", GPU_LOCK)


HARD = {"sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown", "sync_boost"}


def gpu_throttle(f: Facts, w: Optional[Window]) -> Verdict:
    if not f.gpus:
        return None
    shown = _each(f, lambda g: ", ".join(sorted(HARD & set(g.reasons))) or None)
    if not shown and w and w.gpu_slowed:
        shown = f"slowed down for {w.gpu_slowed:.2f} s during the measurement"
    return ("bad", shown, "lock a lower clock: " + GPU_LOCK + " --gpu-clock MHZ") if shown else ("ok", "none", "")


def gpu_power(f: Facts, w: Optional[Window]) -> Verdict:
    if not f.gpus:
        return None
    shown = _each(f, lambda g: f"{g.power:.0f} of {g.power_limit:.0f} W, {g.temperature or 0:.0f} degrees" if g.power and g.power_limit else None)
    if not shown:
        return "unknown", "the driver does not say", ""
    near = any(g.power and g.power_limit and g.power > 0.95 * g.power_limit for g in f.gpus)
    near = near or any(g.margin is not None and g.margin < 5 for g in f.gpus)
    return ("warn" if near else "ok"), shown, "lock a lower clock: " + GPU_LOCK + " --gpu-clock MHZ" if near else ""


def gpu_persistence(f: Facts, w: Optional[Window]) -> Verdict:
    if not f.gpus:
        return None
    off = [g for g in f.gpus if g.persistence is False]
    return ("warn", "off", "sudo nvidia-smi -pm 1") if off else ("ok", "on", "")


def gpu_load(f: Facts, w: Optional[Window]) -> Verdict:
    if not f.gpus:
        return None
    shown = _each(f, lambda g: f"{g.processes} programs, {g.busy or 0} % busy")
    return ("warn" if any((g.busy or 0) > 5 for g in f.gpus) else "ok"), shown, ""


@dataclass(frozen=True)
class Check:
    name: str
    look: Callable[[Facts, Optional[Window]], Verdict]
    wanted: str
    why: str
    work: Optional[str] = None  # the kind of work whose noise it shows in
    root: bool = False


CHECKS = (
    Check("smt", smt, "one thread a core", "two threads of a core share its units, so one slows the other down", "compute", True),
    Check("turbo", turbo, "off", "the frequency follows temperature and the number of busy cores", "compute", True),
    Check("governor", governor, "performance", "other governors raise the frequency only after work has begun", "small", True),
    Check("frequency", frequency, "one frequency", "time is measured, not work: half the frequency is twice the time", "compute", True),
    Check("idle", idle, "none deeper than C1", "a core that wakes up from a deep state answers late, with cold caches", "small", True),
    Check("isolated", isolated, "some CPUs", "the scheduler puts other programs and kernel threads on the CPUs that measure", "small", True),
    Check("affinity", affinity, "isolated CPUs only", "threads that wander lose their caches", "memory"),
    Check("interrupts", interrupts, "under 100 a second on used CPUs", "the handler's time counts as the program's", "small", True),
    Check("switches", switches, "under 50 a second", "another program ran in the middle of a measurement", "small"),
    Check("steal", steal, "none", "the hypervisor gave the CPU to another guest while the clock ran", "compute"),
    Check("pressure", pressure, "under 2 %", "programs waited for a CPU, for memory or for a disk", "small"),
    Check("load", load, "no other programs", "other programs take caches, memory bandwidth and CPUs", "memory"),
    Check("cgroup", cgroup, "no limit of CPU time", "a group that has used its share stops until the next period (0.1 s)", "compute"),
    Check("heat", heat, "10 degrees below slowing down", "a hot processor slows down", "compute"),
    Check("memory", memory, "free memory, no swapping", "a page that was swapped costs a hundred thousand times an access", "memory"),
    Check("huge-pages", huge_pages, "madvise", "large tensors in 4 kB pages miss the TLB; compaction at every allocation stalls it", "memory", True),
    Check("numa", numa, "CPUs and memory of one node", "memory of another node is slower, and which it is changes between runs", "memory"),
    Check("aslr", aslr, "full", "a fixed layout is one draw, lucky or not: fresh processes draw again, and their median is fair", None, True),
    Check("clock", clock, "tsc or the like", "reading a slow clock costs a microsecond", "small", True),
    Check("hypervisor", hypervisor, "none", "settings of the host cannot be seen from a guest: trust the measured noise only", "compute"),
    Check("battery", battery, "mains", "on its battery a machine saves power", "compute"),
    Check("environment", environment, "no variables that print, check or count", "they slow down what is measured", None),
    Check("gpu-clock", gpu_clock, "locked below the highest", "the clock follows power and temperature", None, True),
    Check("gpu-throttle", gpu_throttle, "none", "the card runs slower than it is asked to", None, True),
    Check("gpu-power", gpu_power, "below the limit", "at its limit of power or heat the card slows down", None, True),
    Check("gpu-persistence", gpu_persistence, "on", "without it the driver unloads between programs, and clocks and first calls start anew", None, True),
    Check("gpu-load", gpu_load, "no other programs", "other programs take the card's time", None),
)  # fmt: skip
NAMES = tuple(check.name for check in CHECKS) + ("noise",)


def judge(f: Facts, w: Optional[Window] = None, noise: Optional[list] = None, not_measured: str = "not measured", required: tuple = ()) -> list[Finding]:
    """Every finding; those that do not concern this machine only if they are required."""
    found = []
    of_work = {n.work: n for n in noise or []}
    for check in CHECKS:
        verdict = check.look(f, w)
        if verdict is None:
            if check.name not in required:
                continue
            verdict = "unknown", "this machine has none", ""
        state, observed, fix = verdict
        measured = of_work.get(check.work) if state != "ok" and check.work else None
        cost = f"two samples of {measured.work} work differ by {per_cent(measured.typical)} now" if measured else ""
        found.append(Finding(check.name, state, observed, check.wanted, check.why, cost, fix, check.root and bool(fix)))
    found.append(_of_noise(noise, not_measured))
    return found


def _of_noise(noise: Optional[list], not_measured: str) -> Finding:
    state, shown = "unknown", not_measured
    if noise:
        worst = max(n.typical for n in noise)
        state = "ok" if worst <= _noise.STEADY else "warn" if worst <= _noise.UNSTEADY else "bad"
        shown = ", ".join(f"{n.work} {per_cent(n.typical)}" for n in noise)
    why = "the typical difference of two samples of the same work: smaller differences mean nothing"
    return Finding("noise", state, shown, f"up to {per_cent(_noise.STEADY)}", why, "", "" if state in ("ok", "unknown") else "facula machine noise   # says how many rounds to measure", False)


def status(findings: list[Finding], required: tuple = ()) -> int:
    """0: all well, 1: something may disturb, 2: something does, or a required finding is not ok."""
    if any(f.state == "bad" or (f.name in required and f.state != "ok") for f in findings):
        return 2
    return 1 if any(f.state == "warn" for f in findings) else 0
