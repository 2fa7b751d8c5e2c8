# SPDX-License-Identifier: Apache-2.0
"""torch.onnx: no exporter yet. Packages that register their operators for one may do so; export says that it is missing."""

import enum

from facula import _missing
from facula.version import __version__

producer_name = "facula"
producer_version = __version__.partition("+")[0]


class OperatorExportTypes(enum.IntEnum):
    """How operators are written that ONNX lacks."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.IntEnum):
    """In which mode a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


_symbolics: dict = {}  # (operator, opset): function


def is_in_onnx_export():
    """Whether a model is being exported: no."""
    return False


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Keeps how an operator would be exported."""
    _symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Forgets how an operator would be exported."""
    _symbolics.pop((symbolic_name, opset_version), None)


def export(*args, **kwargs):
    """Writes a model as ONNX: not yet."""
    raise NotImplementedError("torch.onnx.export: Facula has no exporter to ONNX yet")


__getattr__ = _missing.missing(__name__, ("operators", "symbolic_helper", "symbolic_opset11"))
