# SPDX-License-Identifier: Apache-2.0
"""Derivatives of whole functions: Jacobians, Hessians and their products with vectors."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

from facula import _C
from facula._tensor import Tensor
from facula.autograd import grad
from facula.autograd.forward_modes import enable_grad

__all__ = ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"]

Tensors = tuple[Tensor, ...]


def _as_tuple(value: Any, what: str, caller: str) -> tuple[bool, Tensors]:
    """(whether it was a tuple, the tuple)."""
    parts = value if isinstance(value, tuple) else (value,)
    for i, part in enumerate(parts):
        if not isinstance(part, Tensor):
            which = f"the value at index {i}" if isinstance(value, tuple) else f"the given {what}"
            raise TypeError(f"The {what} given to {caller} must be either a Tensor or a tuple of Tensors but {which} has type {type(part)}.")
    return isinstance(value, tuple), parts


def _track(inputs: Tensors, create_graph: bool) -> Tensors:
    """Inputs whose gradients can be asked for; with create_graph those of the caller stay in the graph."""
    return tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in inputs)


def _untrack(results: Any, create_graph: bool) -> Any:
    if create_graph:
        return results
    return tuple(_untrack(r, False) for r in results) if isinstance(results, tuple) else results.detach()


def _pack(is_tuple: bool, results: tuple) -> Any:
    return results if is_tuple else results[0]


def _need_gradients(tensors: Tensors, what: str) -> None:
    """What strict mode asks of outputs and Jacobians."""
    for i, t in enumerate(tensors):
        if t.requires_grad:
            continue
        if what == "outputs":
            raise RuntimeError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a differentiable "
                "manner from the input when running in strict mode."
            )
        raise RuntimeError(
            f"While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is independent "
            "of the input. This is not allowed in strict mode: the function must be twice differentiable, and not linear."
        )


def _outputs(func: Callable, inputs: Tensors, caller: str, strict: bool) -> tuple[bool, Tensors]:
    is_tuple, outputs = _as_tuple(func(*inputs), "outputs of the user-provided function", caller)
    if strict:
        _need_gradients(outputs, "outputs")
    return is_tuple, outputs


def _one_output(func: Callable, inputs: Tensors, caller: str, strict: bool) -> Tensor:
    is_tuple, outputs = _outputs(func, inputs, caller, strict)
    if is_tuple:
        raise RuntimeError(f"The function given to {caller} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {caller} should contain a single element")
    return outputs[0]


def _vectors(v: Any, like: Tensors, like_is_tuple: bool, caller: str, excuse: str) -> Tensors:
    """v, of the sizes of `like`. It may be left out where that has a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {excuse} a single Tensor with a single element.")
        return (_C._functions["ones_like"](like[0]),)
    _, vectors = _as_tuple(v, "v", caller)
    if len(vectors) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
    for i, (x, y) in enumerate(zip(vectors, like)):
        if x.shape != y.shape:
            raise RuntimeError(f"{f'Entry {i} in ' if like_is_tuple else ''}v has invalid size: should be {y.shape} but got {x.shape}.")
    return vectors


def _gradients(outputs: Tensors, inputs: Tensors, vectors: Tensors, create_graph: bool) -> list[Tensor | None]:
    """What flows back to the inputs from the outputs that have a gradient at all."""
    pairs = [(o, v) for o, v in zip(outputs, vectors) if o.requires_grad]
    if not pairs:
        return [None] * len(inputs)
    return list(grad([o for o, _ in pairs], inputs, [v for _, v in pairs], retain_graph=True, create_graph=create_graph, allow_unused=True))


def _filled(gradients: list[Tensor | None], like: Tensors, strict: bool, create_graph: bool, absent: str) -> Tensors:
    """Zeros where nothing depends on an input: an error in strict mode."""
    for i, g in enumerate(gradients):
        if strict and g is None:
            raise RuntimeError(f"{absent.format(i=i)}. This is not allowed in strict mode.")
        if strict and create_graph and g is not None and not g.requires_grad:
            raise RuntimeError(
                f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode when create_graph=True."
            )
    return tuple(_C._functions["zeros_like"](x) if g is None else g for g, x in zip(gradients, like))


_INDEPENDENT = "The output of the user-provided function is independent of input {i}"


def _forward(outputs: Tensors, inputs: Tensors, vectors: Tensors, strict: bool, create_graph: bool) -> Tensors:
    """The Jacobian of outputs times vectors: what goes back is linear in its factors, and is differentiated by them."""
    factors = tuple(_C._functions["zeros_like"](o).requires_grad_() for o in outputs)
    back = _gradients(outputs, inputs, factors, True)
    if strict:
        _filled(back, inputs, True, False, _INDEPENDENT)
    found = [(b, v) for b, v in zip(back, vectors) if b is not None]
    return _filled(_gradients(tuple(b for b, _ in found), factors, tuple(v for _, v in found), create_graph), outputs, strict, create_graph, _INDEPENDENT)


def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(*inputs), v times its Jacobian)."""
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "vjp")
        tracked = _track(given, create_graph)
        out_is_tuple, outputs = _outputs(func, tracked, "vjp", strict)
        vectors = _vectors(v, outputs, out_is_tuple, "vjp", "the user-provided function returns")
        result = _filled(_gradients(outputs, tracked, vectors, create_graph), tracked, strict, create_graph, _INDEPENDENT)
    return _pack(out_is_tuple, _untrack(outputs, create_graph)), _pack(is_tuple, _untrack(result, create_graph))


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(*inputs), its Jacobian times v)."""
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "jvp")
        vectors = _vectors(v, given, is_tuple, "jvp", "the input to the user-provided function is")
        tracked = _track(given, create_graph)
        out_is_tuple, outputs = _outputs(func, tracked, "jvp", strict)
        result = _forward(outputs, tracked, vectors, strict, create_graph)
    return _pack(out_is_tuple, _untrack(outputs, create_graph)), _pack(out_is_tuple, _untrack(result, create_graph))


def _hessian_product(caller: str, func: Callable, inputs: Any, v: Any, create_graph: bool, strict: bool) -> tuple[Any, Any]:
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", caller)
        vectors = _vectors(v, given, is_tuple, caller, "the input to the user-provided function is")
        tracked = _track(given, create_graph)
        output = _one_output(func, tracked, caller, strict)
        ones = (_C._functions["ones_like"](output),)
        jacobians = _filled(_gradients((output,), tracked, ones, True), tracked, strict, False, _INDEPENDENT)
        if strict:
            _need_gradients(jacobians, "jacobian")
        if caller == "hvp":
            result = _forward(jacobians, tracked, vectors, strict, create_graph)
        else:
            result = _filled(_gradients(jacobians, tracked, vectors, create_graph), tracked, strict, create_graph, _INDEPENDENT)
    return _untrack(output, create_graph), _pack(is_tuple, _untrack(result, create_graph))


def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(*inputs), v times its Hessian), for a function of one number."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(func(*inputs), its Hessian times v), for a function of one number. vhp is cheaper, and the same where derivatives are continuous."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def jacobian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, strategy: str = "reverse-mode"
) -> Any:
    """The Jacobian: a tensor of the output's sizes and then the input's, or tuples of these, outputs outside.

    vectorize and strategy name ways of computing it in PyTorch; here all lead to the same one, row by row.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode", got "{strategy}".')
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError('jacobian: strategy="forward-mode" is only implemented for `vectorize=True`.')
    if strict and vectorize:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorize=True` are not supported together.")
    with enable_grad():
        is_tuple, given = _as_tuple(inputs, "inputs", "jacobian")
        tracked = _track(given, create_graph)
        out_is_tuple, outputs = _outputs(func, tracked, "jacobian", strict)
        result = []
        for i, output in enumerate(outputs):
            absent = f"Output {i} of the user-provided function is independent of input {{i}}"
            flat, rows = output.reshape(-1), []
            for j in range(output.numel() if output.requires_grad else 0):
                gradients = list(grad(flat[j], tracked, retain_graph=True, create_graph=create_graph, allow_unused=True))
                rows.append(_filled(gradients, tracked, strict, create_graph, absent))
            columns = [_C._functions["stack"](list(column)) for column in zip(*rows)] or [x.new_zeros(output.numel(), *x.shape) for x in tracked]
            result.append(_pack(is_tuple, tuple(c.reshape([*output.shape, *x.shape]) for c, x in zip(columns, tracked))))
    return _pack(out_is_tuple, _untrack(tuple(result), create_graph))


def hessian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode"
) -> Any:
    """The Hessian of a function of one number: the Jacobian of its Jacobian, as tuples of tuples for several inputs."""
    is_tuple, given = _as_tuple(inputs, "inputs", "hessian")

    def gradient(*tracked: Tensor) -> Tensors:
        def number(*x: Tensor) -> Tensor:
            return _one_output(func, x, "hessian", strict).reshape(())

        found = jacobian(number, tracked, create_graph=True)
        if strict:
            _need_gradients(found, "jacobian")
        return found

    result = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return result if is_tuple else result[0][0]
