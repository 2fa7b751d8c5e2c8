# SPDX-License-Identifier: Apache-2.0
"""Which implementation of scaled_dot_product_attention is wanted.

There is one for each device here, exact and without the matrix of all scores, so that the choice is remembered and
changes nothing.
"""

import contextlib
import contextvars
import enum

from facula import _missing

__all__ = ["SDPBackend", "sdpa_kernel", "WARN_FOR_UNFUSED_KERNELS"]

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


__getattr__ = _missing.missing("facula.nn.attention")
