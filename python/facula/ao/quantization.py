# SPDX-License-Identifier: Apache-2.0
"""torch.ao.quantization: the marks in a model between which it may be quantised. Quantising itself is not here yet."""

from facula import _missing, nn

__all__ = ["DeQuantStub", "QuantStub"]


class QuantStub(nn.Module):
    """From here on a quantised model computes in few bits; as it is, the identity."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class DeQuantStub(QuantStub):
    """Up to here a quantised model computes in few bits; as it is, the identity."""


__getattr__ = _missing.missing(__name__)
