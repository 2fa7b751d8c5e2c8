# SPDX-License-Identifier: Apache-2.0
"""What a candidate is. Each backend makes a callable of a module and example inputs."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any


class NoCompiler(Exception):
    """The backend gave back what it got: there is nothing to compare."""


def compile_with(backend: str, module: Any, inputs: Any, options: dict) -> Any:
    """Raises NoCompiler, or whatever the backend raises."""
    if backend in ("eager", "nothing", "torch"):
        return module
    if backend == "inductor":
        return _compiled(module, options)
    if backend == "jit":
        return _scripted(module, inputs)
    if backend.startswith("peer:"):
        from . import _peer

        return _peer.compiled(backend.removeprefix("peer:"), module, inputs, options)
    name, function = backend.split(":", 1)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    found: Any = importlib.import_module(name)
    for part in function.split("."):
        found = getattr(found, part)
    made = found(module, list(inputs.values()) if isinstance(inputs, dict) else list(inputs))
    if not callable(made):
        raise TypeError(f"backend {backend} returned a {type(made).__name__}, which cannot be called")
    return made


def _compiled(module: Any, options: dict) -> Any:
    import torch

    settings = dict(_setting(text) for text in options["inductor_config"] or ())
    made = torch.compile(
        module, fullgraph=options["nopython"], dynamic=True if options["dynamic_shapes"] or options["dynamic_batch_only"] else None,
        mode=options["inductor_compile_mode"], options=settings or None,
    )  # fmt: skip
    if made is module:
        raise NoCompiler("torch.compile returns what it got: there is no compiler yet")
    return made


def _setting(text: str) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return key, words[value.lower()]
    for kind in (int, float):
        try:
            return key, kind(value)
        except ValueError:
            pass
    return key, value


def _scripted(module: Any, inputs: Any) -> Any:
    import torch

    if isinstance(inputs, dict):
        made = torch.jit.trace(module, example_kwarg_inputs=inputs)
    else:
        made = torch.jit.trace(module, tuple(inputs))
    if made is module:
        raise NoCompiler("torch.jit.trace returns what it got: there is no TorchScript yet")
    return made
