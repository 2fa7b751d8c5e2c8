# SPDX-License-Identifier: Apache-2.0
"""multiprocessing.Pool, whose workers and results share the memory of tensors."""

from multiprocessing.pool import Pool

__all__ = ["Pool"]
