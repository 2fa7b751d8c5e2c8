# SPDX-License-Identifier: Apache-2.0
"""torch.onnx: no exporter yet. Packages that register their operators for one may do so; export says that it is missing."""

from facula import _missing

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


__getattr__ = _missing.missing(__name__, ("symbolic_helper", "symbolic_opset11"))
