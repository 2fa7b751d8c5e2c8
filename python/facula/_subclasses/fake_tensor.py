# SPDX-License-Identifier: Apache-2.0
"""Tensors without numbers, with which PyTorch's compiler reads a program: there are none, and packages that ask are told so."""

from facula import _missing
from facula._tensor import Tensor


class FakeTensor(Tensor):
    """A tensor without numbers that claims to be on a device: cannot be made in this build; device="meta" is the nearest."""

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError('FakeTensor: Facula has no compiler that reads programs with it; tensors on device="meta" have sizes and no numbers')


def is_fake(x):
    """Whether x is a FakeTensor, or a subclass around one: no."""
    return False


__getattr__ = _missing.missing(__name__)
