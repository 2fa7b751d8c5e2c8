# SPDX-License-Identifier: Apache-2.0
"""The CPU's instruction set."""

from facula import _C, __config__


def get_cpu_capability():
    """What kernels use: DEFAULT, AVX2 or AVX512."""
    for line in __config__.show().splitlines():
        if "CPU capability" in line:
            return line.rpartition(":")[2].strip()
    return "DEFAULT"


def preferred_blas(name=None):
    """Who multiplies matrices: "auto", "onednn", "openblas" or "native". With a name, changes it."""
    if name is not None:
        _C._set_preferred_blas(name)
    return _C._preferred_blas()
