# SPDX-License-Identifier: Apache-2.0
"""torch.testing: comparing results within the tolerance of their types."""

from __future__ import annotations

import cmath
import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from facula import _C, _missing
from facula._tensor import Tensor

__all__ = ["assert_allclose", "assert_close"]

__getattr__ = _missing.missing("facula.testing", names={"FileCheck": "facula._file_check"})

# (relative, absolute); every other type must be equal.
_TOLERANCES = {
    _C.float16: (1e-3, 1e-5), _C.bfloat16: (1.6e-2, 1e-5), _C.float32: (1.3e-6, 1e-5), _C.float64: (1e-7, 1e-7),
    _C.complex32: (1e-3, 1e-5), _C.complex64: (1.3e-6, 1e-5), _C.complex128: (1e-7, 1e-7),
}  # fmt: skip
_NUMBERS = {bool: _C.bool, int: _C.int64, float: _C.float64, complex: _C.complex128}


class _Comparison:
    def __init__(self, options: dict[str, Any]):
        self.options = options
        self.path: list[Any] = []

    def fail(self, message: str, kind: type[Exception] = AssertionError) -> NoReturn:
        if self.path:
            message += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in self.path)}"
        told = self.options["msg"]
        if kind is AssertionError and told is not None:
            message = told(message) if callable(told) else told
        raise kind(message)

    def tolerances(self, *dtypes: _C.dtype) -> tuple[float, float]:
        if self.options["rtol"] is not None:
            return self.options["rtol"], self.options["atol"]
        known = [_TOLERANCES.get(t, (0.0, 0.0)) for t in dtypes]
        return max(r for r, _ in known), max(a for _, a in known)

    def compare(self, actual: Any, expected: Any) -> None:
        if isinstance(actual, Sequence) and isinstance(expected, Sequence) and not isinstance(actual, str) and not isinstance(expected, str):
            if len(actual) != len(expected):
                self.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
            self.items(list(range(len(actual))), actual, expected)
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            missing, more = [k for k in expected if k not in actual], [k for k in actual if k not in expected]
            if missing or more:
                self.fail(
                    "The keys of the mappings do not match:\n"
                    f"Missing keys in the actual mapping: {sorted(missing, key=str)}\nAdditional keys in the actual mapping: {sorted(more, key=str)}"
                )
            self.items(list(expected), actual, expected)
        elif actual is None or expected is None:
            if actual is not expected:
                self.fail(f"None mismatch: {actual} is not {expected}")
        elif isinstance(actual, bool) and isinstance(expected, bool):
            if actual is not expected:
                self.fail(f"Booleans mismatch: {actual} is not {expected}")
        elif isinstance(actual, numbers.Number) and isinstance(expected, numbers.Number):
            self.numbers(*(x.item() if hasattr(x, "item") else x for x in (actual, expected)))  # NumPy's
        else:
            self.tensors(*self.as_tensors(actual, expected))

    def items(self, keys: list, actual: Any, expected: Any) -> None:
        for key in keys:
            self.path.append(key)
            self.compare(actual[key], expected[key])
            self.path.pop()

    def as_tensors(self, actual: Any, expected: Any) -> tuple[Tensor, Tensor]:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if related and (self.options["allow_subclasses"] or type(actual) is type(expected)):
            if isinstance(actual, Tensor) and isinstance(expected, Tensor):
                return actual, expected
            if hasattr(actual, "__array__") and hasattr(expected, "__array__"):
                return _C._tensor(actual, None, None, False), _C._tensor(expected, None, None, False)
        self.fail(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", TypeError)

    def numbers(self, actual: Any, expected: Any, *dtypes: _C.dtype) -> None:
        if self.options["check_dtype"] and type(actual) is not type(expected):
            self.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
        rtol, atol = self.tolerances(*(dtypes or (_NUMBERS[type(actual)], _NUMBERS[type(expected)])))
        nan = cmath.isnan(actual) and cmath.isnan(expected) and self.options["equal_nan"]
        difference = abs(actual - expected)
        if nan or actual == expected or (cmath.isfinite(expected) and difference <= atol + rtol * abs(expected)):
            return
        relative = difference / abs(expected) if expected else cmath.inf
        self.not_close("Scalars", [f"Expected {expected} but got {actual}."], ("Absolute difference", difference, ""), ("Relative difference", relative, ""), rtol, atol)

    def not_close(self, what: str, lines: list[str], absolute: tuple, relative: tuple, rtol: float, atol: float) -> NoReturn:
        exact = rtol == 0 and atol == 0
        for (name, value, where), allowed in ((absolute, atol), (relative, rtol)):
            lines.append(f"{name}: {value}{where}" + ("" if exact else f" (up to {allowed} allowed)"))
        self.fail(f"{what} are not {'equal' if exact else 'close'}!\n\n" + "\n".join(lines))

    def tensors(self, actual: Tensor, expected: Tensor) -> None:
        facts = [("shape", actual.shape, expected.shape, True), ("layout", actual.layout, expected.layout, self.options["check_layout"]),
                 ("device", actual.device, expected.device, self.options["check_device"]), ("dtype", actual.dtype, expected.dtype, self.options["check_dtype"]),
                 ("stride()", actual.stride(), expected.stride(), self.options["check_stride"])]  # fmt: skip
        for name, a, e, wanted in facts:
            if wanted and a != e:
                self.fail(f"The values for attribute '{name}' do not match: {a} != {e}.")
        if actual.is_meta or expected.is_meta:
            return
        rtol, atol = self.tolerances(actual.dtype, expected.dtype)
        common = _C.promote_types(actual.dtype, expected.dtype)
        a, e = (t.detach().as_subclass(Tensor).cpu().to(common) for t in (actual, expected))
        close = a.isclose(e, rtol=rtol, atol=atol, equal_nan=self.options["equal_nan"])
        if bool(close.all()):
            return
        if a.dim() == 0:
            self.numbers(a.item(), e.item(), actual.dtype, expected.dtype)
        if not (a.is_floating_point() or a.is_complex()):
            a, e = a.to(_C.int64), e.to(_C.int64)  # room for differences
        difference = (a - e).abs()
        relative = (difference / e.abs()).masked_fill(close, 0)
        wrong = int((~close).sum())

        def greatest(name: str, values: Tensor) -> tuple:
            flat = int(values.argmax())
            index = []
            for size in reversed(values.shape):
                index.insert(0, flat % size)
                flat //= size
            return f"Greatest {name} difference", values[tuple(index)].item(), f" at index {tuple(index)}"

        lines = [f"Mismatched elements: {wrong} / {close.numel()} ({wrong / close.numel():.1%})"]
        self.not_close("Tensor-likes", lines, greatest("absolute", difference.masked_fill(close, 0)), greatest("relative", relative), rtol, atol)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises AssertionError unless |actual - expected| <= atol + rtol * |expected| holds for every element.

    Compares tensors, numbers, None, NumPy arrays, and sequences and mappings of these. Without rtol and atol the
    element type sets them: integers must be equal. msg replaces the message, or is called with it.
    """
    __tracebackhide__ = True
    if (rtol is None) != (atol is None):
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {'rtol' if rtol is None else 'atol'}.")
    options = {k: v for k, v in locals().items() if k not in ("actual", "expected")}
    _Comparison(options).compare(actual, expected)


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, msg: str = "") -> None:
    """assert_close with looser bounds and without a look at types; deprecated since PyTorch 1.12."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
        "`torch.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    actual, expected = (x if isinstance(x, Tensor) else _C._tensor(x, None, None, True) for x in (actual, expected))
    if rtol is None and atol is None:
        bounds = [{_C.float16: (1e-3, 1e-3), _C.float32: (1e-4, 1e-5), _C.float64: (1e-5, 1e-8)}.get(x.dtype, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = (max(pair) for pair in zip(*bounds, strict=True))
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, check_stride=False, msg=msg or None
    )
