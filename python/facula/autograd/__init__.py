# SPDX-License-Identifier: Apache-2.0
"""Automatic differentiation: modes, backward and grad, custom functions, gradcheck."""

from facula import _C, _missing
from facula._tensor import Tensor
from facula.autograd import graph
from facula.autograd.forward_modes import (
    detect_anomaly,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
    set_multithreading_enabled,
)
from facula.autograd.function import Function, NestedIOFunction
from facula.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "backward", "grad", "no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "Function", "gradcheck",
    "gradgradcheck", "detect_anomaly", "set_detect_anomaly", "graph", "GradcheckError", "functional",
    "enforce_grad_layout_policy", "set_multithreading_enabled", "Variable", "NestedIOFunction", "grad_mode", "variable",
]  # fmt: skip

__getattr__ = _missing.missing("facula.autograd", later=("anomaly_mode", "forward_ad", "functional", "grad_mode", "profiler", "variable"))


class _Engine:
    """The engine, for programs that want something done when backward has ended."""

    def queue_callback(self, callback):
        graph.queue_callback(callback)


class _VariableType(type):
    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)


class Variable(metaclass=_VariableType):
    """The old name of a tensor: Variable(x, requires_grad) is x itself, without history."""

    _execution_engine = _Engine()

    def __new__(cls, data=None, requires_grad=False, volatile=None):
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


def _as_list(x):
    return [] if x is None else [x] if isinstance(x, (Tensor, graph.GradientEdge)) else list(x)


_with_parts = None  # (class, function) of tensors whose parts have the history: set when torch.distributed.tensor is imported


def _run_backward(roots, grads, inputs, *options):
    if _with_parts is not None and any(isinstance(x, _with_parts[0]) for x in (*roots, *inputs)):
        return _with_parts[1](_run_backward, roots, grads, inputs, *options)
    edges = any(isinstance(x, graph.GradientEdge) for x in (*roots, *inputs))
    return (_C._run_backward_edges if edges else _C._run_backward)(roots, grads, inputs, *options)


def _grad_list(grads, roots):
    grads = [grads] if grads is None or isinstance(grads, Tensor) else list(grads)
    if len(grads) == 1 and grads[0] is None:
        grads = [None] * len(roots)
    if len(grads) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    for i, g in enumerate(grads):
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__} as number {i}")
    return grads


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Add the gradients of the sum of tensors to the leaves they depend on."""
    roots = _as_list(tensors)
    if inputs is not None and len(_as_list(inputs)) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    if create_graph:
        from facula.functional import _warn_once

        _warn_once(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can cause a "
            "memory leak. autograd.grad makes none; after backward(), .grad = None breaks it.",
        )
    inputs = _as_list(inputs)
    for x in inputs:
        if isinstance(x, Tensor) and x.grad_fn is not None:
            x.retain_grad()  # who asks for the gradient of a result wants it in .grad
    _run_backward(roots, _grad_list(grad_tensors, roots), inputs, keep, create_graph, True, True)


def grad(
    outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
    is_grads_batched=False, materialize_grads=False,
):  # fmt: skip
    """The gradients of the sum of outputs with respect to inputs, as a tuple."""
    roots, wanted = _as_list(outputs), _as_list(inputs)
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    unused = materialize_grads if allow_unused is None else allow_unused
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        rows = [_run_backward(roots, [g[i] for g in _grad_list(grad_outputs, roots)], wanted, True, create_graph, unused, False)
                for i in range(len(_as_list(grad_outputs)[0]))]  # fmt: skip
        from facula import stack

        return tuple(stack(list(column)) for column in zip(*rows, strict=True))
    result = _run_backward(roots, _grad_list(grad_outputs, roots), wanted, keep, create_graph, unused, False)
    if materialize_grads:
        result = [r if r is not None else w.new_zeros(w.shape) for r, w in zip(result, wanted, strict=True)]
    return tuple(result)
