# SPDX-License-Identifier: Apache-2.0
"""What compiling a module would give."""

from facula import _missing, nn


class OptimizedModule(nn.Module):
    """A compiled module: torch.compile gives back the module itself here, so none is ever made."""

    def __init__(self, mod, dynamo_ctx=None):
        raise NotImplementedError("torch._dynamo.OptimizedModule: Facula compiles nothing yet")


__getattr__ = _missing.missing(__name__)
