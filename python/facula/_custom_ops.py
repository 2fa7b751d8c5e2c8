# SPDX-License-Identifier: Apache-2.0
"""torch._custom_ops: older names of torch.library."""

from facula.library import get_ctx, register_fake

__all__ = ["get_ctx", "impl_abstract"]


def impl_abstract(qualname, *, func=None):
    """The older name of torch.library.register_fake."""
    return register_fake(qualname, func)
