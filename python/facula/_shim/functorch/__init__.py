# SPDX-License-Identifier: Apache-2.0
"""functorch, for programs of an environment where `torch` is Facula."""

import sys

from facula import _as_torch, functorch

_as_torch.install()
sys.modules[__name__] = functorch
