# SPDX-License-Identifier: Apache-2.0
"""Which implementation of scaled_dot_product_attention is wanted.

There is one for each device here, exact and without the matrix of all scores, so that the choice is remembered and
changes nothing.
"""

import contextlib
import contextvars
import enum
import warnings

from facula import _missing

__all__ = [
    "SDPBackend", "sdpa_kernel", "WARN_FOR_UNFUSED_KERNELS", "activate_flash_attention_impl", "current_flash_attention_impl",
    "list_flash_attention_impls", "register_flash_attention_impl", "restore_flash_attention_impl",
]  # fmt: skip

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """PyTorch's implementations."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_wanted = contextvars.ContextVar("sdpa_backends", default=tuple(b for b in SDPBackend if b >= 0))


def _cur_sdpa_kernel_backends(with_priority=False):
    return list(_wanted.get())


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority: bool = False):
    """Inside, these implementations are wanted, one or a list."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}"
        )
    backends = [backends] if isinstance(backends, SDPBackend) else backends
    token = _wanted.set(tuple(dict.fromkeys(backends)))
    try:
        yield {}
    finally:
        _wanted.reset(token)


# --- implementations that other packages bring: a name, and a function that puts its kernels in place
_implementations: dict = {}
_active: tuple | None = None  # name and handle


def register_flash_attention_impl(impl: str, *, register_fn) -> None:
    """Makes an implementation known; register_fn replaces kernels and may return a handle with remove()."""
    _implementations[impl] = register_fn


def list_flash_attention_impls() -> list[str]:
    """The names of implementations that can be activated."""
    return sorted(_implementations)


def current_flash_attention_impl() -> str | None:
    """The implementation that was activated, None for Facula's own."""
    return None if _active is None else _active[0]


def activate_flash_attention_impl(impl: str) -> None:
    """Puts an implementation in the place of the one before."""
    global _active
    restore_flash_attention_impl(_raise_warn=False)
    if impl not in _implementations:
        raise ValueError(f"Unknown flash attention impl '{impl}'. Available implementations: {list_flash_attention_impls()}")
    handle = _implementations[impl]()
    if handle is not None:
        _active = (impl, handle)


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Goes back to Facula's own implementation."""
    global _active
    if _active is not None:
        _active[1].remove()
    elif _raise_warn:
        warnings.warn("Trying to restore the default implementation when no other was activated", stacklevel=2)
    _active = None


__getattr__ = _missing.missing("facula.nn.attention", ("bias", "flex_attention", "varlen"))
