# SPDX-License-Identifier: Apache-2.0
"""Quiets this machine for benchmarks, under the name that TorchBench's users know: `facula machine` (docs/machine.md) does it.

    sudo $(which python) torchbenchmark/util/machine_config.py --configure

Any distribution, processor and NVIDIA card; `facula machine unlock` takes it back. Without options it only looks, which needs
no root: it ends with 1 if hyper-threads, turbo, frequencies, idle states, isolated CPUs or the card's clock are not as wanted,
and where the machine does not show them (a guest) if the measured noise is bad.
"""

import argparse
import pathlib
import runpy
import sys

ROOT = pathlib.Path(__file__).resolve().parents[4]
machine = runpy.run_path(str(ROOT / "python" / "facula" / "machine"))["machine"]
VERIFIED = ("smt", "turbo", "frequency", "idle", "isolated", "gpu-clock")


def problems(findings, names=VERIFIED):
    """What is not as wanted, as lines."""
    wrong = [f for f in findings if f.name in names and f.state in ("warn", "bad")]
    if any(f.name in names and f.state == "unknown" for f in findings):
        wrong += [f for f in findings if f.name == "noise" and f.state == "bad"]
    return [f"{f.name}: {f.observed}, wanted: {f.wanted}" + (f"; {f.fix}" if f.fix else "") for f in wrong]


def get_machine_config(system=None):
    return machine.snapshot(system=system)


get_machine_state = get_machine_config


def check_machine_configured(check_process_affinity=True, system=None):
    """AssertionError with everything that is wrong, for the start of a session of measurements."""
    names = (*VERIFIED, "environment", *(["affinity"] if check_process_affinity else []))
    wrong = problems(machine.check(system=system), names)
    assert not wrong, "this machine is not configured for benchmarks:\n  " + "\n  ".join(wrong)


def apply(item, system):
    """Changes one kind of setting beside what is locked already; `facula machine unlock` takes it back."""
    return machine._lock.apply(system, lambda known: machine._lock.plan(system, known, [item]), beside=True)


def set_hyper_threading(enabled=False, system=None):
    system = system or machine.System()
    return machine._lock.enable_smt(system) if enabled else apply("smt", system)


def set_intel_no_turbo_state(turbo_state, system=None):
    """1: no turbo, on processors of other makers as well; 0: turbo."""
    if turbo_state not in (0, 1):
        raise machine.MachineError(f"set_intel_no_turbo_state({turbo_state!r}): 1 forbids turbo, 0 allows it")
    system = system or machine.System()
    return apply("turbo", system) if turbo_state else machine._lock.enable_turbo(system)


def set_pstate_frequency(min_freq=2500, max_freq=2500, system=None):
    """The range of every CPU's clock, in MHz."""
    return machine._lock.set_frequency(system or machine.System(), int(min_freq * 1000), int(max_freq * 1000))


def main(arguments=None, system=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--configure", action="store_true", help="hyper-threads and turbo off, one frequency, shallow idle states, the card's clocks locked (root)")
    parser.add_argument("--enable_ht", action="store_true", help="hyper-threads on again (root)")
    parser.add_argument("--no_verify", action="store_true", help="do not look afterwards")
    options = parser.parse_args(arguments)
    system = system or machine.System()
    try:
        changes = machine._lock.enable_smt(system) if options.enable_ht else []
        if options.configure:
            changes += machine._lock.lock(system, gpu=bool(machine._gpu.read(system)))
    except machine.MachineError as error:
        print(f"machine_config.py: {error}", file=sys.stderr)
        return 2
    for change in changes:
        if change.error:
            print(f"{change.item}: {change.error}")
    if options.no_verify:
        return 0
    findings = machine.check(system=system)
    wrong = problems(findings)
    for line in wrong:
        print(line)
    unknown = [f.name for f in findings if f.name in VERIFIED and f.state == "unknown"]
    noise = next(f for f in findings if f.name == "noise")
    if unknown:
        print(f"not shown by this machine: {', '.join(unknown)}; measured noise: {noise.observed}")
    print("configured" if not wrong else f"not configured: {len(wrong)} of {len(VERIFIED)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
