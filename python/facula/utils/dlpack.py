# SPDX-License-Identifier: Apache-2.0
"""torch.utils.dlpack: exchange memory with other libraries."""

from facula.functional import from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor):
    """A capsule that another library may consume once."""
    return tensor.__dlpack__()
