# SPDX-License-Identifier: Apache-2.0
"""The CPU's instruction set."""

from facula import __config__


def get_cpu_capability():
    """What kernels use: DEFAULT, AVX2 or AVX512."""
    for line in __config__.show().splitlines():
        if "CPU capability" in line:
            return line.rpartition(":")[2].strip()
    return "DEFAULT"
