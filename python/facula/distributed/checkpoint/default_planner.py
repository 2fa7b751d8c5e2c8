# SPDX-License-Identifier: Apache-2.0
"""Planners, under PyTorch's name of their module."""

from facula import _missing
from facula.distributed.checkpoint.planner import DefaultLoadPlanner, DefaultSavePlanner

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]

__getattr__ = _missing.missing(__name__)
