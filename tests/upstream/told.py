# SPDX-License-Identifier: Apache-2.0
"""What a call gave, as data: the same function tells it of PyTorch, which is recorded, and of the module under test."""

import warnings


def told(t, case):
    """The result of case(t) as lists, numbers and names; {"raises": exception} if it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return value(t, case(t))
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is the answer
            return {"raises": type(error).__name__}


def value(t, result):
    if isinstance(result, t.Tensor):
        if result.is_sparse:
            return {"sparse": [value(t, result._indices()), value(t, result._values())], "shape": list(result.shape)}
        wide = result.detach()
        if wide.dtype.is_complex:
            wide = t.view_as_real(wide.resolve_conj())
        return {"type": str(result.dtype), "stride": list(result.stride()), "shape": list(result.shape), "is": numbers(wide.tolist())}
    if isinstance(result, (list, tuple)):
        return [value(t, item) for item in result]
    if isinstance(result, dict):
        return {str(key): value(t, item) for key, item in result.items()}
    if result is None or isinstance(result, (bool, int, str)):
        return result
    if isinstance(result, float):
        return numbers(result)
    if isinstance(result, complex):
        return [numbers(result.real), numbers(result.imag)]
    return str(result)


def numbers(x):
    """JSON has no infinities and no NaN."""
    if isinstance(x, list):
        return [numbers(item) for item in x]
    return str(x) if isinstance(x, float) and (x != x or abs(x) == float("inf")) else x
