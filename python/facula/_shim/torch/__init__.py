# SPDX-License-Identifier: Apache-2.0
"""Stands on the path of programs started by `facula run`, and last on that of environments where `setup.py` put Facula:
importing it gives Facula."""

from facula import _as_torch

_as_torch.install()
