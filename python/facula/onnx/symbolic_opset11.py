# SPDX-License-Identifier: Apache-2.0
"""torch.onnx.symbolic_opset11: the operators of ONNX's 11th set; there is no exporter yet, so none are here."""

from facula import _missing

__getattr__ = _missing.missing(__name__)
