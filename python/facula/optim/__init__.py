# SPDX-License-Identifier: Apache-2.0
"""Optimisers: what changes parameters by their gradients."""

from facula import _missing
from facula.optim.adam import Adam
from facula.optim.adamw import AdamW
from facula.optim.optimizer import Optimizer
from facula.optim.sgd import SGD

__all__ = ["Adam", "AdamW", "Optimizer", "SGD"]

__getattr__ = _missing.missing("facula.optim")
