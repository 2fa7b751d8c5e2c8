# SPDX-License-Identifier: Apache-2.0
"""The names of the PyTorch HammerBlade port. Its profilers look at every device, and at the CPU alone."""

from facula.hammerblade import kernel_logger, profiler

__all__ = ["kernel_logger", "profiler"]
