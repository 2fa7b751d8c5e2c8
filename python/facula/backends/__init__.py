# SPDX-License-Identifier: Apache-2.0
"""torch.backends: what this build can use."""

from facula.backends import cpu, cuda, mkldnn, openmp

__all__ = ["cpu", "cuda", "mkldnn", "openmp"]
