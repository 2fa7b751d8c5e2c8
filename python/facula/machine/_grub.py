# SPDX-License-Identifier: Apache-2.0
"""What only the kernel's command line can set: isolated CPUs and shallow idle states from the start.

The line is proposed by `facula machine check` and put into GRUB's settings only by `lock --grub`. Ways are told apart by what
is there, not by the distribution's name.
"""

from __future__ import annotations

import os
import re
from typing import Optional

from ._judge import kernel_arguments
from ._lock import MachineError, _need_root
from ._read import System, facts, show_cpus

DROP_IN = "etc/default/grub.d/99-facula.cfg"
SETTINGS = "etc/default/grub"
MARK = "# facula machine lock --grub"
NOTE = "var/lib/facula/kernel-arguments"  # for grubby, which keeps no place of our own


def _settings(system: System) -> str:
    return (system.text(SETTINGS) or "") + "\n"


def _unmarked(text: str) -> str:
    return re.sub(rf"^{MARK}\n.*\n", "", text, flags=re.M)


def _line(extra: list[str]) -> str:
    return f'{MARK}\nGRUB_CMDLINE_LINUX_DEFAULT="${{GRUB_CMDLINE_LINUX_DEFAULT}} {" ".join(extra)}"\n'


def _regenerate(system: System) -> list[str]:
    """The command that makes GRUB's menu from its settings."""
    if system.command("update-grub"):
        return ["update-grub"]
    for tool, folder in (("grub2-mkconfig", "boot/grub2"), ("grub-mkconfig", "boot/grub")):
        if system.command(tool):
            return [tool, "-o", str(system.root / folder / "grub.cfg")]
    raise MachineError(f"none of update-grub, grub-mkconfig and grub2-mkconfig is here; /{SETTINGS} is left alone")


def _run(system: System, *command: str) -> None:
    done = system.run(*command, seconds=300)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise MachineError(f"{command[0]}: {said[-1] if said else 'failed without a word'}")


def add(system: System, cpus: Optional[list[int]] = None) -> list[str]:
    """Puts the arguments into the boot loader's settings; returns them, none if the kernel has them all."""
    _need_root(system, "lock --grub")
    known = facts(system, gpus=False)
    unknown = sorted(set(cpus or []) - set(known.online))
    if unknown or (cpus and set(cpus) >= set(known.online)):
        raise MachineError(f"--isolate {show_cpus(cpus or [])}: choose some of the CPUs {show_cpus(known.online)}, and leave at least one to everybody else")
    extra = kernel_arguments(known, cpus)
    if not extra:
        return []
    try:
        if system.command("grubby"):
            (system.root / NOTE).parent.mkdir(parents=True, exist_ok=True)
            system.replace(NOTE, " ".join(extra) + "\n")
            _run(system, "grubby", "--update-kernel=ALL", f"--args={' '.join(extra)}")
        elif (system.root / SETTINGS).exists():
            regenerate = _regenerate(system)
            if (system.root / DROP_IN).parent.is_dir() and regenerate == ["update-grub"]:
                system.replace(DROP_IN, _line(extra))
            else:
                system.replace(SETTINGS, _unmarked(_settings(system)) + _line(extra))
            _run(system, *regenerate)
        else:
            raise MachineError("no GRUB is here (no grubby, no /etc/default/grub); with your boot loader add to the kernel's command line: " + " ".join(extra))
    except OSError as error:
        raise MachineError(f"{error.filename}: {error.strerror}")
    return extra


def remove(system: System) -> bool:
    """Takes them away again; whether there were any."""
    _need_root(system, "unlock --grub")
    try:
        if (note := system.text(NOTE)) is not None:
            _run(system, "grubby", "--update-kernel=ALL", f"--remove-args={note}")
            os.unlink(system.root / NOTE)
            return True
        settings = _settings(system)
        if (system.root / DROP_IN).exists():
            os.unlink(system.root / DROP_IN)
        elif MARK in settings:
            system.replace(SETTINGS, _unmarked(settings))
        else:
            return False
        _run(system, *_regenerate(system))
    except OSError as error:
        raise MachineError(f"{error.filename}: {error.strerror}")
    return True
