# SPDX-License-Identifier: Apache-2.0
"""The older name of torch.optim.functional."""

from facula.optim.functional import adadelta, adagrad, adam, adamax, adamw, asgd, nadam, radam, rmsprop, rprop, sgd, sparse_adam  # noqa: F401
