# SPDX-License-Identifier: Apache-2.0
"""What fully_shard is told about types and places."""

from dataclasses import dataclass

import facula

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """param_dtype: of the parameters that forward and backward see; reduce_dtype: in which gradients are summed (param_dtype);
    output_dtype: of the module's results; cast_forward_inputs: whether its inputs become param_dtype. What optimizers see keeps
    its type."""

    param_dtype: facula.dtype | None = None
    reduce_dtype: facula.dtype | None = None
    output_dtype: facula.dtype | None = None
    cast_forward_inputs: bool = True


@dataclass(frozen=True)
class OffloadPolicy:
    """Parameters stay where they are."""


@dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """Parts of parameters, gradients and optimizer state lie in the host's memory: on the CPU they do."""

    pin_memory: bool = True
