# SPDX-License-Identifier: Apache-2.0
"""NVIDIA cards, as nvidia-smi shows them and sets them."""

from __future__ import annotations

import re
import xml.etree.ElementTree
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._read import System


@dataclass
class Gpu:
    uuid: str
    name: str
    driver: Optional[str] = None
    persistence: Optional[bool] = None
    clock: Optional[int] = None  # MHz, of the multiprocessors
    memory_clock: Optional[int] = None
    most: Optional[int] = None
    memory_most: Optional[int] = None
    applications: Optional[int] = None  # the clock that programs ask for
    supported: list[int] = field(default_factory=list)  # at the highest memory clock
    locked: Optional[int] = None  # by us; the driver does not tell
    reasons: list[str] = field(default_factory=list)  # why the clock is not the highest
    slowed: float = 0.0  # seconds since the driver was loaded, for power or heat
    power: Optional[float] = None  # W
    power_limit: Optional[float] = None
    temperature: Optional[float] = None
    margin: Optional[float] = None  # degrees until it slows down
    busy: Optional[int] = None  # per cent
    processes: int = 0


def read(system: System) -> list[Gpu]:
    """The cards of this machine; none where there is no nvidia-smi or it fails."""
    if not system.command("nvidia-smi"):
        return []
    answer = system.run("nvidia-smi", "-q", "-x")
    if answer.returncode != 0:
        return []
    try:
        log = xml.etree.ElementTree.fromstring(answer.stdout)
    except xml.etree.ElementTree.ParseError:
        return []
    driver = log.findtext("driver_version")
    return [_one(gpu, driver) for gpu in log.findall("gpu")]


def _number(gpu: xml.etree.ElementTree.Element, *paths: str) -> Optional[float]:
    """The first of these places that holds a number; drivers have renamed some, and write N/A."""
    for path in paths:
        match = re.match(r"-?\d{1,12}(\.\d+)?", (gpu.findtext(path) or "").strip())
        if match:
            return float(match[0])
    return None


def _whole(gpu: xml.etree.ElementTree.Element, *paths: str) -> Optional[int]:
    number = _number(gpu, *paths)
    return None if number is None else round(number)


def _one(gpu: xml.etree.ElementTree.Element, driver: Optional[str]) -> Gpu:
    memory_most = _whole(gpu, "max_clocks/mem_clock")
    supported: set[int] = set()
    tables = [(round(float(m[0])), table) for table in gpu.findall("supported_clocks/supported_mem_clock")
              if (m := re.match(r"\d{1,9}", (table.findtext("value") or "").strip()))]  # fmt: skip
    for memory, table in tables:
        if memory == max(m for m, _ in tables):
            memory_most = memory
            supported |= {int(m[0]) for entry in table.findall("supported_graphics_clock") if (m := re.match(r"\d{1,9}", (entry.text or "").strip()))}
    reasons = gpu.find("clocks_event_reasons")
    reasons = gpu.find("clocks_throttle_reasons") if reasons is None else reasons
    prefix = r"clocks_(event|throttle)_reasons?_"
    temperature, slow, margin = (_number(gpu, f"temperature/{name}") for name in ("gpu_temp", "gpu_temp_slow_threshold", "gpu_temp_tlimit"))
    if margin is None and temperature is not None and slow is not None:
        margin = slow - temperature
    mode = (gpu.findtext("persistence_mode") or "").strip()
    return Gpu(
        uuid=(gpu.findtext("uuid") or gpu.get("id") or "").strip(),
        name=(gpu.findtext("product_name") or "an NVIDIA card").strip(),
        driver=driver,
        persistence={"Enabled": True, "Disabled": False}.get(mode),
        clock=_whole(gpu, "clocks/sm_clock", "clocks/graphics_clock"),
        memory_clock=_whole(gpu, "clocks/mem_clock"),
        most=_whole(gpu, "max_clocks/sm_clock", "max_clocks/graphics_clock"),
        memory_most=memory_most,
        applications=_whole(gpu, "applications_clocks/graphics_clock"),
        supported=sorted(supported),
        reasons=[re.sub(prefix, "", reason.tag) for reason in (reasons if reasons is not None else []) if (reason.text or "").strip() == "Active"],
        slowed=sum(_number(gpu, f"clocks_event_reasons_counters/{c.tag}") or 0 for c in gpu.findall("clocks_event_reasons_counters/*")) / 1e6,
        power=_number(gpu, "gpu_power_readings/instant_power_draw", "gpu_power_readings/power_draw", "power_readings/power_draw"),
        power_limit=_number(gpu, "gpu_power_readings/current_power_limit", "gpu_power_readings/power_limit", "power_readings/power_limit"),
        temperature=temperature,
        margin=margin,
        busy=_whole(gpu, "utilization/gpu_util"),
        processes=len(gpu.findall("processes/process_info")),
    )


# An A100 that is left at its highest clock slows down by itself when it is warm; 96 % of the highest is what it keeps (1350 of
# 1410 MHz). Cards with a tighter power limit need less: --gpu-clock.
SUSTAINED = 0.96


def choose_clock(gpu: Gpu, wanted: Optional[int] = None) -> Optional[int]:
    """The supported clock to lock: the highest that is not above the wanted one, or not above what the card sustains."""
    if not gpu.supported:
        return None
    limit = gpu.supported[-1] * SUSTAINED if wanted is None else wanted
    return max((clock for clock in gpu.supported if clock <= limit), default=gpu.supported[0])


def set_persistence(system: System, uuid: str, on: bool) -> Optional[str]:
    return _smi(system, uuid, "-pm", "1" if on else "0")


def lock_clock(system: System, uuid: str, clock: Optional[int], memory: bool) -> Optional[str]:
    """Locks one of the card's clocks, or frees it (None)."""
    letter = "m" if memory else "g"
    return _smi(system, uuid, f"-r{letter}c") if clock is None else _smi(system, uuid, f"-l{letter}c", f"{clock},{clock}")


def _smi(system: System, uuid: str, *arguments: str) -> Optional[str]:
    """Why nvidia-smi did not do it, or None. It ends with 0 after some refusals, so its words count."""
    answer = system.run("nvidia-smi", "-i", uuid, *arguments)
    said = (answer.stdout + answer.stderr).strip()
    if answer.returncode != 0 or re.search(r"not supported|permission|failed|unable|invalid", said, re.I):
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        reason = next((line for line in lines if re.search(r"not supported|permission|failed|unable|invalid", line, re.I)), lines[-1] if lines else "no reason given")
        return f"nvidia-smi {' '.join(arguments)}: {reason}"
    return None
