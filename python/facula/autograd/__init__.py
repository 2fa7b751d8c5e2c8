# SPDX-License-Identifier: Apache-2.0
"""Automatic differentiation: modes, backward and grad."""

import functools

from facula import _C
from facula._tensor import Tensor

__all__ = ["backward", "grad", "no_grad", "enable_grad", "set_grad_enabled", "inference_mode"]


class _RemovableHandle:
    def __init__(self, tensor, id):
        self.tensor, self.id = tensor, id

    def remove(self):
        _C._remove_hook(self.tensor, self.id)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


class _Mode:
    """A grad mode as a context, and as a decorator of functions and generators."""

    on = False

    def __call__(self, function):
        if hasattr(function, "__wrapped_class__") or isinstance(function, type):
            function.__init__ = self(function.__init__)
            return function

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)

        return wrapper

    def clone(self):
        return type(self)()

    def __enter__(self):
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(self.on)

    def __exit__(self, *exc):
        _C._set_grad_enabled(self.before)


class no_grad(_Mode):
    """Nothing is recorded inside."""

    def __new__(cls, function=None):
        self = super().__new__(cls)
        return self(function) if function is not None else self


class enable_grad(no_grad):
    """Records again inside no_grad."""

    on = True


class set_grad_enabled(_Mode):
    """Switches recording, at once and until the context ends."""

    def __init__(self, mode):
        self.before = _C.is_grad_enabled()
        self.on = bool(mode)
        _C._set_grad_enabled(self.on)

    def clone(self):
        return set_grad_enabled(self.on)

    def __enter__(self):
        _C._set_grad_enabled(self.on)


class inference_mode(_Mode):
    """Like no_grad; tensors made inside can never take part in a recorded computation."""

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        if callable(mode):
            self.mode = True
            return self(mode)
        self.mode = mode
        return self

    def clone(self):
        return inference_mode(self.mode)

    def __enter__(self):
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(not self.mode and self.before)

    def __exit__(self, *exc):
        _C._set_grad_enabled(self.before)


def _as_list(x):
    return [] if x is None else [x] if isinstance(x, Tensor) else list(x)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Add the gradients of the sum of tensors to the leaves they depend on."""
    roots = _as_list(tensors)
    grads = _as_list(grad_tensors) if not isinstance(grad_tensors, (list, tuple)) else list(grad_tensors)
    if inputs is not None and len(_as_list(inputs)) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    _C._run_backward(roots, grads or [None] * len(roots), _as_list(inputs), keep, create_graph, True, True)


def grad(
    outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
    is_grads_batched=False, materialize_grads=False,
):  # fmt: skip
    """The gradients of the sum of outputs with respect to inputs, as a tuple."""
    roots, wanted = _as_list(outputs), _as_list(inputs)
    grads = _as_list(grad_outputs) if not isinstance(grad_outputs, (list, tuple)) else list(grad_outputs)
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    unused = materialize_grads if allow_unused is None else allow_unused
    keep = create_graph if retain_graph is None else retain_graph
    result = _C._run_backward(roots, grads or [None] * len(roots), wanted, keep, create_graph, unused, False)
    if materialize_grads:
        result = [r if r is not None else w.new_zeros(w.shape) for r, w in zip(result, wanted, strict=True)]
    return tuple(result)
