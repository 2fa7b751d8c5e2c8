# SPDX-License-Identifier: Apache-2.0
"""Modes that see every operator below the Python functions, after autograd-independent argument matching."""

from facula import _C


class TorchDispatchMode(_C._DispatchMode):
    """While active on a thread, __torch_dispatch__(func, types, args, kwargs) handles every operator call.

    func is an overload (facula.ops.aten.add.Tensor); calling it inside the handler goes on below this mode.
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError
