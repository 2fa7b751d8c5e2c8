# SPDX-License-Identifier: Apache-2.0
"""torch.autograd.forward_ad: what code asks that must not lose a tangent. None is ever attached: torch.func.jvp computes
forward derivatives by the backward pass, and make_dual is missing."""

import collections

from facula import _missing

__all__ = ["UnpackedDualTensor", "unpack_dual"]

UnpackedDualTensor = collections.namedtuple("UnpackedDualTensor", ["primal", "tangent"])
UnpackedDualTensor.__doc__ = "A tensor and the tangent that is attached to it."


def unpack_dual(tensor, *, level=None):
    """The tensor and its tangent, which is None outside of a level of forward mode."""
    return UnpackedDualTensor(tensor, None)


__getattr__ = _missing.missing(__name__)
