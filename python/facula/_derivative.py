# SPDX-License-Identifier: Apache-2.0
"""Derivatives of operators, written in Python (facula.library.register_autograd)."""

from facula import _C
from facula._tensor import Tensor
from facula.autograd.function import Function


def _spread(args):
    """The arguments with lists of tensors spread out, and the length of each list (None: no list)."""
    flat, lengths = [], []
    for a in args:
        if isinstance(a, list | tuple) and any(isinstance(t, Tensor) for t in a):
            flat.extend(a)
            lengths.append(len(a))
        else:
            flat.append(a)
            lengths.append(None)
    return flat, lengths


def _gather(flat, lengths):
    """What _spread took apart."""
    items = iter(flat)
    return tuple(next(items) if n is None else [next(items) for _ in range(n)] for n in lengths)


class _Call:
    """One call: its keyword-only arguments, and how its flat inputs and outputs are gathered."""

    def __init__(self, lengths, kwargs):
        self.inputs, self.outputs, self.kwargs = lengths, None, kwargs


def derivative(op, backward, setup_context):
    """The kernel above all others of an operator: calls it, and records how to go back."""
    keywords = any(a.kwarg_only for a in op._schema.arguments)
    several = len(op._schema.returns) > 1

    def forward(ctx, call, *flat):
        ctx.call = call
        args = _gather(flat, call.inputs)
        with _C._AutoDispatchBelowAutograd():
            result = op(*args, **call.kwargs)
        if setup_context is not None:
            extra = {"keyword_only_inputs": call.kwargs} if keywords else {}
            needs, ctx._needs = ctx._needs, _gather(ctx._needs[1:], call.inputs)
            setup_context(ctx=ctx, inputs=args, output=result, **extra)
            ctx._needs = needs
        flat_result, call.outputs = _spread(result if several else (result,))
        return tuple(flat_result)

    def run_backward(ctx, *grads):
        inputs = ctx.call.inputs
        needs, ctx._needs = ctx._needs, _gather(ctx._needs[1:], inputs)
        given = backward(ctx, *_gather(grads, ctx.call.outputs))
        ctx._needs = needs
        given = given if isinstance(given, tuple) else (given,)
        while len(given) > len(inputs) and given[-1] is None:
            given = given[:-1]
        if len(given) != len(inputs):
            raise RuntimeError(f"the derivative of {op} returned {len(given)} gradients for {len(inputs)} arguments")
        flat = [None]
        for g, n in zip(given, inputs, strict=True):
            if n is None:
                flat.append(g)
                continue
            g = [None] * n if g is None else g
            if len(g) != n:
                raise RuntimeError(f"the derivative of {op} returned {len(g)} gradients for a list of {n} tensors")
            flat.extend(g)
        return tuple(flat)

    name = f"GeneratedBackwardFor_{op.namespace}_{op._opname}_{op._overloadname}"
    function = type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(run_backward)})

    def kernel(*args, **kwargs):
        flat, lengths = _spread(args)
        if not (_C.is_grad_enabled() and any(isinstance(t, Tensor) and t.requires_grad for t in flat)):
            with _C._AutoDispatchBelowAutograd():
                return op(*args, **kwargs)
        call = _Call(lengths, kwargs)
        result = _gather(function.apply(call, *flat), call.outputs)
        return result if several else result[0]

    return kernel
