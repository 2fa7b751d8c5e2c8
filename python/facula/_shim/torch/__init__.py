# SPDX-License-Identifier: Apache-2.0
"""Stands on PYTHONPATH of programs started by `facula run`: importing it gives Facula instead."""

from facula import _as_torch

_as_torch.install()
