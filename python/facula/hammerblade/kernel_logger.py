# SPDX-License-Identifier: Apache-2.0
"""The port's kernel logger: torch.profiler.kernel_log under its name, for kernels of every device."""

from facula.profiler.kernel_log import clear, disable, enable, json

__all__ = ["clear", "disable", "enable", "json"]
