# SPDX-License-Identifier: Apache-2.0
"""Handles that take hooks away again, and what puts a module's backward hooks into the graph."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict

from facula import _C
from facula._tensor import Tensor

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks", "BackwardHook"]


class RemovableHandle:
    """Takes a hook out of its dictionary, by remove() or at the end of a `with`; extra_dict: others that list it."""

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = [extra_dict] if isinstance(extra_dict, dict) else extra_dict or ()
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra)

    def remove(self) -> None:
        """Take the hook away; a second time changes nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state):
        hooks, self.id, extra = state[0], state[1], state[2] if len(state) > 2 else ()
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra if d is not None)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def unserializable_hook(f):
    """Says of a tensor hook that it need not be saved with its tensor."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor) -> None:
    """Warn that a tensor's hooks are not saved with it."""
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function with "
                "@torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


_identity = None


def _identity_function():
    """The autograd function at a module's entrance and exit: its node is where the gradients of all tensors meet."""
    global _identity
    if _identity is None:
        from facula.autograd import Function

        class BackwardHookFunction(Function):
            @staticmethod
            def forward(ctx, *tensors):
                ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
                return tensors

            @staticmethod
            def backward(ctx, *grads):
                return grads

        _identity = BackwardHookFunction
    return _identity


class BackwardHook:
    """Calls one module call's backward hooks: pre hooks when the gradients of its results are there, the others once
    those of its arguments are, too. What is no tensor has the gradient None."""

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.inputs = self.outputs = None  # which of the arguments and results are tensors of the graph
        self.grad_outputs = None

    def setup_input_hook(self, args):
        """The arguments, behind a node that runs the hooks."""
        args, self.inputs = self._through_node(args, self._at_input)
        self.n_inputs = len(args)
        return args

    def setup_output_hook(self, result):
        """The results, behind a node that runs the pre hooks and remembers their gradients."""
        args = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(args)
        args, self.outputs = self._through_node(args, self._at_output)
        return args if isinstance(result, tuple) else args[0]

    @staticmethod
    def _through_node(args, hook):
        where = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        if not (_C.is_grad_enabled() and any(args[i].requires_grad for i in where)):
            return args, None
        tensors = _identity_function().apply(*[args[i] for i in where])
        next(t.grad_fn for t in tensors if t.grad_fn is not None).register_hook(hook)
        new = list(args)
        for i, t in zip(where, tensors):
            new[i] = t
        return (tuple(new) if type(args) is tuple else type(args)(*new)), where

    @staticmethod
    def _spread(where, values, size):
        found = dict(zip(where, values))
        return tuple(found.get(i) for i in range(size))

    def _at_input(self, grad_inputs, _):
        if self.grad_outputs is None:  # backward did not come through the results
            return None
        grads = self._spread(self.inputs, grad_inputs, self.n_inputs)
        for hook in self.user_hooks:
            out = hook(self.module, grads, self.grad_outputs)
            if out is None:
                continue
            if len(out) != len(grads):
                raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(out)}, but expected {len(grads)}")
            grads = out
        self.grad_outputs = None
        return tuple(grads[i] for i in self.inputs)

    def _at_output(self, _, grad_outputs):
        grads = self._spread(self.outputs, grad_outputs, self.n_outputs)
        for hook in self.user_pre_hooks:
            out = hook(self.module, grads)
            if out is None:
                continue
            if len(out) != len(grads):
                raise RuntimeError(f"Backward pre hook returned an invalid number of grad_output, got {len(out)}, but expected {len(grads)}")
            grads = out
        if self.inputs is not None:
            self.grad_outputs = grads
        elif self.user_hooks:
            self._without_inputs(grads)
        return tuple(grads[i] for i in self.outputs)

    def _without_inputs(self, grads):
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
            "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook "
            "for more details.",
            stacklevel=5,
        )
        for hook in self.user_hooks:
            out = hook(self.module, (None,) * self.n_inputs, grads)
            if out is not None and not (isinstance(out, tuple) and all(g is None for g in out)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or None for all gradients.")
