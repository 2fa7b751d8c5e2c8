# SPDX-License-Identifier: Apache-2.0
"""Neural networks: modules, parameters, their initial values, and the functions that modules call."""

from facula import _missing
from facula.nn import functional, init, modules, parallel, parameter, utils
from facula.nn.modules import *
from facula.nn.parallel import DataParallel
from facula.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__getattr__ = _missing.missing("facula.nn", later=("attention", "common_types", "grad", "quantized"))


def factory_kwargs(kwargs):
    """The arguments device, dtype and memory_format out of a module's own, for the function that makes its tensors."""
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unknown = kwargs.keys() - simple - {"factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in simple & kwargs.keys():
        if name in found:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        found[name] = kwargs[name]
    return found
