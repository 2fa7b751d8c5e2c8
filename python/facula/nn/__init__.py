# SPDX-License-Identifier: Apache-2.0
"""Neural networks: modules, parameters, their initial values, and the functions that modules call."""

from facula import _missing
from facula.nn import functional, init, modules, parameter, utils
from facula.nn.modules import *
from facula.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__getattr__ = _missing.missing("facula.nn")
