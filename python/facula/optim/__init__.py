# SPDX-License-Identifier: Apache-2.0
"""Optimisers: what changes parameters by their gradients."""

from facula import _missing
from facula.optim import functional
from facula.optim._adafactor import Adafactor
from facula.optim._muon import Muon
from facula.optim._stateless import swap_in_optimizer_params_and_state
from facula.optim.adadelta import Adadelta
from facula.optim.adagrad import Adagrad
from facula.optim.adam import Adam
from facula.optim.adamax import Adamax
from facula.optim.adamw import AdamW
from facula.optim.asgd import ASGD
from facula.optim.lbfgs import LBFGS
from facula.optim.nadam import NAdam
from facula.optim.optimizer import Optimizer
from facula.optim.radam import RAdam
from facula.optim.rmsprop import RMSprop
from facula.optim.rprop import Rprop
from facula.optim.sgd import SGD
from facula.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop", "SGD", "SparseAdam", "functional", "lr_scheduler", "swa_utils",
    "swap_in_optimizer_params_and_state",
]  # fmt: skip

__getattr__ = _missing.missing("facula.optim", ("lr_scheduler", "swa_utils"))
