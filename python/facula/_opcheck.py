# SPDX-License-Identifier: Apache-2.0
"""torch.library.opcheck: whether an operator does what its registrations say."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable
from collections.abc import Iterator

from facula import _C
from facula._ops import _Packet
from facula._tensor import Tensor
from facula.autograd.forward_modes import no_grad
from facula.library import CustomOp


class OpCheckError(Exception):
    """An operator failed a test of opcheck."""


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _mapped(function: Callable[[Tensor], Tensor], value: Any) -> Any:
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, (tuple, list)):
        return type(value)(_mapped(function, item) for item in value)
    if isinstance(value, dict):
        return {k: _mapped(function, v) for k, v in value.items()}
    return value


def _fresh(tensor: Tensor) -> Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())


def _bound(schema: Any, args: tuple, kwargs: dict) -> list[tuple[Any, Any]]:
    """(declared argument, value) of a call, without defaults."""
    given = dict(zip((a.name for a in schema.arguments), args), **kwargs)
    return [(a, given[a.name]) for a in schema.arguments if a.name in given]


def _test_schema(call: Callable, schema: Any, args: tuple, kwargs: dict) -> None:
    args, kwargs = _mapped(_fresh, (args, kwargs))
    before = _mapped(_fresh, (args, kwargs))
    with no_grad():
        results = call(*args, **kwargs)
    for (declared, now), (_, old) in zip(_bound(schema, args, kwargs), _bound(schema, *before)):
        if not declared.is_write and not all(map(_same, _tensors(now), _tensors(old))):
            raise OpCheckError(f"Argument {declared.name} is not defined as mutable but was mutated")
    results = results if isinstance(results, (tuple, list)) and len(schema.returns) > 1 else [results]
    seen: dict[int, str] = {}
    for i, (declared, result) in enumerate(zip(schema.returns, results)):
        sets = declared.alias_info.before_set if declared.alias_info else ()
        for argument, value in _bound(schema, args, kwargs):
            allowed = "*" in sets or (argument.alias_info is not None and argument.alias_info.before_set == sets)
            if not allowed and {t._storage_id() for t in _tensors(value)} & {t._storage_id() for t in _tensors(result)}:
                raise OpCheckError(f"Output {i} shares memory with the argument {argument.name}, which the schema does not say: return a clone")
        for t in _tensors(result):
            if not sets and seen.setdefault(t._storage_id(), str(i)) != str(i):
                raise OpCheckError(f"Output {i} shares memory with output {seen[t._storage_id()]}, which the schema does not say: return a clone")


def _test_autograd_registration(call: Callable, schema: Any, args: tuple, kwargs: dict) -> None:
    """If gradients are asked for, the results have them, and their backward runs."""
    args, kwargs = _mapped(_fresh, (args, kwargs))
    if not any(t.requires_grad for t in _tensors((args, kwargs))) or schema.is_mutable:
        return
    results = [t for t in _tensors(call(*args, **kwargs)) if t.is_floating_point() or t.is_complex()]
    if not results:
        return
    if not any(t.requires_grad for t in results):
        raise OpCheckError("Arguments require gradients, but no result does: register a derivative with register_autograd")
    from facula.autograd import grad

    inputs = [t for t in _tensors((args, kwargs)) if t.requires_grad]
    outputs = [t for t in results if t.requires_grad]
    grad(outputs, inputs, [t.detach().clone() for t in outputs], allow_unused=True)


def _test_faketensor(call: Callable, schema: Any, args: tuple, kwargs: dict) -> None:
    """The meta device's answer has the shapes, types and strides of the real one."""
    with no_grad():
        real = list(_tensors(call(*_mapped(_fresh, args), **_mapped(_fresh, kwargs))))
        to_meta = lambda t: t.detach().to("meta")  # noqa: E731
        fake = list(_tensors(call(*_mapped(to_meta, args), **_mapped(to_meta, kwargs))))
    if len(real) != len(fake):
        raise OpCheckError(f"on the meta device it gives {len(fake)} tensors, on {args[0].device if real else 'the CPU'} {len(real)}")
    for i, (r, f) in enumerate(zip(real, fake)):
        if f.device.type != "meta":
            raise OpCheckError(f"on the meta device output {i} is on {f.device}")
        for what, a, b in (("Shapes", r.shape, f.shape), ("Dtypes", r.dtype, f.dtype), ("Strides", r.stride(), f.stride())):
            if a != b:
                raise OpCheckError(f"output {i} differs on the meta device: {what} {a} and {b} are not equal!")


TESTS = {"test_schema": _test_schema, "test_autograd_registration": _test_autograd_registration, "test_faketensor": _test_faketensor}


def opcheck(op: Any, args: tuple, kwargs: dict | None, test_utils: str | tuple, raise_exception: bool) -> dict[str, Any]:
    if isinstance(op, _Packet):
        if len(op.overloads()) != 1:
            raise RuntimeError(f"opcheck can only test operators without overloads. Got the following overloads for {op._name}: {op.overloads()}")
        op = getattr(op, op.overloads()[0])
    if not isinstance(op, (CustomOp, _C.Operator)):
        raise ValueError(f"opcheck(op, ...): op must be a custom operator or one of torch.ops, e.g. torch.ops.aten.sin.default, got {type(op)}")
    chosen = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(chosen) <= set(TESTS):
        raise ValueError(f"opcheck(op, ..., test_utils={chosen}), expected test_utils to be subset of {tuple(TESTS)} but it was not")
    schema = (op._raw if isinstance(op, CustomOp) else op)._schema
    outcome: dict[str, Any] = {}
    for name in chosen:
        try:
            TESTS[name](op, schema, tuple(args), dict(kwargs or {}))
            outcome[name] = "SUCCESS"
        except Exception as e:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {e} (scroll up for stack trace)") from e
            outcome[name] = e
    return outcome
