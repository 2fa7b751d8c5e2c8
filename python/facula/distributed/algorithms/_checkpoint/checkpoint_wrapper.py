# SPDX-License-Identifier: Apache-2.0
"""Modules whose intermediate results are computed again in backward instead of being kept: torch.utils.checkpoint around their
forward, under the names of what they hold."""

import enum
import functools
from collections.abc import Callable, Iterator

from facula import _missing
from facula.autograd.graph import save_on_cpu
from facula.nn.modules.module import Module
from facula.utils.checkpoint import checkpoint

__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing",
    "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip

_INSIDE = "_checkpoint_wrapped_module"


class CheckpointImpl(enum.Enum):
    """Whether backward runs within backward (torch.utils.checkpoint's use_reentrant)."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(Module):
    """A module in another, which state dicts and names do not show."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self.register_state_dict_post_hook(self._without_prefix)
        self.register_load_state_dict_pre_hook(self._with_prefix)

    def __getattr__(self, name: str):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int):
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args, **kwargs) -> Iterator:
        for name, p in super().named_parameters(*args, **kwargs):
            yield name.replace(f"{_INSIDE}.", ""), p

    @staticmethod
    def _without_prefix(module: Module, state: dict, prefix: str, *args) -> None:
        for name in [n for n in state if n.startswith(f"{prefix}{_INSIDE}.")]:
            state[prefix + name[len(prefix) + len(_INSIDE) + 1 :]] = state.pop(name)

    @staticmethod
    def _with_prefix(module: Module, state: dict, prefix: str, *args) -> None:
        for name in [n for n in state if n.startswith(prefix) and not n.startswith(f"{prefix}{_INSIDE}.")]:
            state[f"{prefix}{_INSIDE}.{name[len(prefix) :]}"] = state.pop(name)


class CheckpointWrapper(ActivationWrapper):
    """Computes again in backward."""

    def __init__(self, mod: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT, checkpoint_fn: Callable | None = None, **kwargs) -> None:
        super().__init__(mod)
        if checkpoint_fn is None:
            checkpoint_fn = functools.partial(checkpoint, use_reentrant=checkpoint_impl is CheckpointImpl.REENTRANT)
        self.checkpoint_impl, self.checkpoint_fn = checkpoint_impl, functools.partial(checkpoint_fn, **kwargs)

    def forward(self, *args, **kwargs):
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


class OffloadWrapper(ActivationWrapper):
    """Keeps intermediate results in the host's memory."""

    def forward(self, *args, **kwargs):
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


def checkpoint_wrapper(
    module: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT, checkpoint_fn: Callable | None = None, **checkpoint_fn_kwargs
) -> CheckpointWrapper:
    """The module, computed again in backward."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def offload_wrapper(module: Module) -> OffloadWrapper:
    """The module, whose intermediate results lie in the host's memory."""
    return OffloadWrapper(module)


def apply_activation_checkpointing(
    model: Module, checkpoint_wrapper_fn: Callable = checkpoint_wrapper, check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Callable | None = None,
) -> None:  # fmt: skip
    """Wraps the submodules of which check_fn says so, from the inside out."""
    if auto_wrap_policy is not None:
        raise NotImplementedError("apply_activation_checkpointing: say by check_fn which modules are meant")
    for parent in reversed(list(model.modules())):
        for name, child in list(parent.named_children()):
            if not isinstance(parent, ActivationWrapper) and check_fn(child):
                parent._modules[name] = checkpoint_wrapper_fn(child)


__getattr__ = _missing.missing(__name__)
