# SPDX-License-Identifier: Apache-2.0
"""torch.backends.hammerblade: whether this build has the device, and which engine runs its kernels."""

import os

from facula import _C, backends


def is_built() -> bool:
    """Whether the HammerBlade device was built, with its emulator."""
    return bool(backends._own("hammerblade"))


def engine() -> str:
    """The engine in effect, "emul" or "sim"; "" where the device was not built. Nothing is loaded for it: until something is,
    the environment's FACULA_HB says which one will be."""
    if not is_built():
        return ""
    if any(name == "hammerblade" and count for name, count, *_ in _C._device_records()):
        try:
            return _C._backend_call(_C.device("hammerblade"), "engine", []).partition("\n")[0]
        except RuntimeError:  # a device that could not be opened: what was asked for
            pass
    return os.environ.get("FACULA_HB") or "emul"


def _record(value: str) -> None:
    if is_built() and engine() == "sim":
        _C._backend_call(_C.device("hammerblade"), "engine", ["sim", "recording", value])
