# SPDX-License-Identifier: Apache-2.0
"""Custom operations with a backward of their own."""

import functools
import warnings

from facula import _C
from facula._tensor import Tensor
from facula.autograd.forward_modes import no_grad

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "NestedIOFunction", "once_differentiable"]


class FunctionCtx:
    """What forward leaves for backward. It is also the node: y.grad_fn is this object."""

    _handle = None
    _to_save = ()
    _for_forward = None  # until apply ends
    _dirty = ()
    _no_gradient = ()
    _materialize = True
    _outputs_at = None  # where results that are tensors stand, if there are others

    def save_for_backward(self, *tensors):
        """Keep tensors; they come back, checked for in-place changes, as self.saved_tensors."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument is of type {type(t).__name__}")
        self._to_save = tensors

    def save_for_forward(self, *tensors):
        """Keep tensors for jvp, where they are self.saved_tensors."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_forward can only save variables, but argument is of type {type(t).__name__}")
        self._for_forward = tensors

    def mark_dirty(self, *tensors):
        """Say that forward changed these inputs in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        self._no_gradient = tensors

    def set_materialize_grads(self, value):
        """Whether backward gets zeros (the default) or None where no gradient arrived."""
        self._materialize = bool(value)

    @property
    def saved_tensors(self):
        if self._for_forward is not None:
            return self._for_forward
        if self._handle is None:
            return tuple(self._to_save)
        return _C._function_saved(self._handle)

    saved_variables = saved_tensors

    @property
    def needs_input_grad(self):
        return self._needs

    # --- the node's face
    _node = property(lambda self: _C._function_face(self._handle))
    next_functions = property(lambda self: self._node.next_functions)
    metadata = property(lambda self: self._node.metadata)
    requires_grad = property(lambda self: self._node.requires_grad)
    _input_metadata = property(lambda self: self._node._input_metadata)
    _raw_saved_tensors = property(lambda self: self._node._raw_saved_tensors)

    def _sequence_nr(self):
        return self._node._sequence_nr()

    def name(self):
        return type(self)._cls.__name__ + "Backward"

    def register_hook(self, hook):
        return self._node.register_hook(hook)

    def register_prehook(self, hook):
        return self._node.register_prehook(hook)

    def _run_backward(self, grads):
        cls = type(self)._cls
        if self._materialize:
            grads = tuple(self._zeros(i) if g is None else g for i, g in enumerate(grads))
        if self._outputs_at is not None:  # None for results that are no tensors
            found = dict(zip(self._outputs_at, grads))
            grads = tuple(found.get(i) for i in range(self._output_count))
        backward = cls.vjp if cls.vjp is not Function.vjp else cls.backward
        result = backward(self, *grads)
        result = result if isinstance(result, tuple) else (result,)
        n = len(self._needs)
        if len(result) > n and all(r is None for r in result[n:]):
            result = result[:n]
        if len(result) != n:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {n}, got {len(result)})")
        for i, r in enumerate(result):
            if r is not None and not isinstance(r, Tensor):
                raise TypeError(f"function {self.name()} returned a {type(r).__name__} as gradient {i}: expected a Tensor or None")
            if r is not None and i not in self._tensor_at:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different from None at position {i + 1}, "
                    "but the corresponding forward input was not a Variable"
                )
        return tuple(result[i] for i in self._tensor_at)

    def _zeros(self, i):
        from facula import zeros

        size, dtype, device = _C._function_meta(self._handle, i)
        return zeros(size, dtype=dtype, device=device)


_forward = None  # torch.autograd.forward_ad, once it is loaded
_of_samples = None  # torch.func's part, once it is loaded: a custom function inside of vmap


class _FunctionMeta(type):
    def __init__(cls, name, bases, namespace):
        cls._context_class = type(name + "Backward", (FunctionCtx,), {"_cls": cls})
        super().__init__(name, bases, namespace)


class Function(metaclass=_FunctionMeta):
    """Base of custom operations: define forward(ctx, *args) and backward(ctx, *grads), call .apply(*args).

    forward may also be written without ctx, with setup_context(ctx, inputs, output) beside it.
    """

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD.")

    @staticmethod
    def vjp(ctx, *grad_outputs):
        raise NotImplementedError

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Tangents of the results, from those of the arguments: for torch.autograd.forward_ad."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, *args):
        """All samples of a vmap at once: results and their out_dims. Without it, apply is called once per sample."""
        raise NotImplementedError

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so they are called on the class itself.",
            DeprecationWarning,
            stacklevel=2,
        )

    @classmethod
    def apply(cls, *args):
        if _of_samples is not None and (done := _of_samples(cls, args)) is not NotImplemented:
            return done
        ctx = cls._context_class()
        try:
            if _forward is not None and _forward._active():
                return _forward._apply(cls, ctx, args)
            return cls._run(ctx, args)[0]
        finally:
            ctx._for_forward = None

    @classmethod
    def _run(cls, ctx, args):
        """The results, which arguments were changed, and which results have no gradient."""
        ctx._tensor_at = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        recording = _C.is_grad_enabled() and any(args[i].requires_grad for i in ctx._tensor_at)
        ctx._needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        inputs = [args[i] for i in ctx._tensor_at]
        handle = _C._function_node(ctx, ctx.name(), inputs) if recording else None
        with no_grad():
            if cls.setup_context is Function.setup_context:
                result = cls.forward(ctx, *args)
            else:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
        # Results own the context: it must not own them, however this ends.
        to_save, marked, no_gradient = ctx._to_save, ctx._dirty, ctx._no_gradient
        ctx._to_save = ctx._dirty = ctx._no_gradient = ()
        outputs = result if isinstance(result, tuple) else (result,)
        if not all(isinstance(t, Tensor) for t in outputs):
            ctx._outputs_at, ctx._output_count = [i for i, t in enumerate(outputs) if isinstance(t, Tensor)], len(outputs)
        position = {id(t): i for i, t in enumerate(inputs)}
        dirty = {}  # the input that each dirty tensor is
        for t in marked:
            if id(t) not in position:
                warnings.warn("ctx.mark_dirty() received a tensor that was not an input. Only inputs that were changed belong there.", stacklevel=3)
                continue
            if not any(t is o for o in outputs):
                raise RuntimeError(
                    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace must all be outputs of the Function."
                )
            if recording:
                _C._check_in_place(cls.__name__, t)
                if t._is_view() and len(outputs) > 1:
                    raise RuntimeError(
                        "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one Tensor. "
                        "Make a copy of the input (using .clone() for example), or split the Function in two."
                    )
            dirty[id(t)] = position[id(t)]
            _C._bump_version(t)
        if not recording or not any(isinstance(t, Tensor) for t in outputs):
            return result, marked, no_gradient
        constant = {id(t) for t in no_gradient}
        attached = []
        last = {id(t): i for i, t in enumerate(outputs)}
        twice = {}  # results that come again: one object, whose gradient is that of its last place
        for i, t in enumerate(outputs):
            if not isinstance(t, Tensor):
                attached.append(t)
                continue
            if last[id(t)] != i and not any(t is o for o in inputs):
                _C._function_result(handle, t, 2, 0)
                twice.setdefault(id(t), []).append(i)
                attached.append(t)
                continue
            source = id(t)
            if id(t) in dirty:
                kind = 1
            elif id(t) in constant or not (t.is_floating_point() or t.is_complex()):
                kind = 2
            else:
                kind = 0
                if any(t is i for i in inputs) or t.grad_fn is not None:
                    with no_grad():
                        t = t.view_as(t)
            _C._function_result(handle, t, kind, dirty.get(id(t), 0))
            attached.append(t)
            for earlier in twice.get(source, ()):
                attached[earlier] = t
        saved_outputs = [any(s is o for o in outputs) for s in to_save]
        replace = {id(old): new for old, new in zip(outputs, attached, strict=True)}
        _C._function_save(handle, [replace.get(id(s), s) for s in to_save], saved_outputs)
        ctx._handle = handle
        return tuple(attached) if isinstance(result, tuple) else attached[0], marked, no_gradient


class InplaceFunction(Function):
    """An old base of operations that can work in place; Function is all they need."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """An old base of operations whose arguments and results are nested, written as forward_extended and backward_extended.

    Its methods are not static, so that it cannot be applied any more; it is here for programs that import it.
    """

    def forward_extended(self, *input):
        raise NotImplementedError

    def backward_extended(self, *grad_output):
        raise NotImplementedError


def once_differentiable(function):
    """For a backward whose own gradient is not defined: its results are cut from the graph."""

    @functools.wraps(function)
    def wrapper(ctx, *args):
        with no_grad():
            result = function(ctx, *args)
        if not _C.is_grad_enabled() or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return result
        results = result if isinstance(result, tuple) else (result,)
        out = tuple(_Undifferentiable.apply(r.detach().requires_grad_()) if isinstance(r, Tensor) else r for r in results)
        return out if isinstance(result, tuple) else out[0]

    return wrapper


class _Undifferentiable(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
