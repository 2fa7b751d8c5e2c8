# SPDX-License-Identifier: Apache-2.0
"""torch._subclasses: tensors of PyTorch's compiler. This build makes none."""

from facula import _missing

__getattr__ = _missing.missing(__name__, ("fake_tensor",))
