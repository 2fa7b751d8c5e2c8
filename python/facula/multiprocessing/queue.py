# SPDX-License-Identifier: Apache-2.0
"""Queues that send tensors as shared memory. multiprocessing's own do so here; these are their classes under torch's names."""

from multiprocessing.queues import Queue, SimpleQueue

__all__ = ["Queue", "SimpleQueue"]
