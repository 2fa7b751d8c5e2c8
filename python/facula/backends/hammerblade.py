# SPDX-License-Identifier: Apache-2.0
"""torch.backends.hammerblade: whether this build has the device, and which engine runs its kernels."""

import os
from collections.abc import Iterable
from typing import Any

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


def move_buffers_to_cpu(module: Any, kind: Any = None, names: Iterable[str] | None = None) -> Any:
    """Module.move_buffers_to_cpu(nn.BatchNorm2d, ["num_batches_tracked"]): these buffers of the modules of a class (or of a tuple of
    classes; None: all) stay on the CPU, the rest of the model where it is; without names all buffers. Returns the module."""
    wanted = None if names is None else [names] if isinstance(names, str) else list(names)
    for part in module.modules():
        if kind is not None and not isinstance(part, kind):
            continue
        for name in part._buffers if wanted is None else wanted:
            if name not in part._buffers:
                raise AttributeError(f"move_buffers_to_cpu: {type(part).__name__} has no buffer {name!r}; it has {', '.join(part._buffers) or 'none'}")
            if part._buffers[name] is not None:
                part._buffers[name] = part._buffers[name].cpu()
    return module


def _record(value: str) -> None:
    if is_built() and engine() == "sim":
        _C._backend_call(_C.device("hammerblade"), "engine", ["sim", "recording", value])
