# SPDX-License-Identifier: Apache-2.0
"""torch.masked: functions over what a mask lets through, and tensors with a mask of their own."""

NUMBERS = {
    "float32": [[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]],
    "float64": [[float("nan"), 2.0, 1.0], [3.0, float("inf"), 0.0]],
    "int64": [[1, 2, 3], [4, 5, -6]],
    "uint8": [[1, 2, 3], [4, 5, 6]],
    "complex64": [[1 + 1j, 2, 3], [4, 5, -6j]],
}
MASKS = {"no mask": None, "a mask": [[True, False, True], [False, False, False]], "a row": [True, False, True], "a column": [[True], [False]]}
REDUCTIONS = ("sum", "prod", "amax", "amin", "mean", "logsumexp")


def call(t, name, type_name, mask, *args, **kwargs):
    x = t.tensor(NUMBERS[type_name], dtype=getattr(t, type_name))
    return getattr(t.masked, name)(x, *args, mask=None if mask is None else t.tensor(mask), **kwargs)


def gradient(t, name, *args):
    x = t.tensor(NUMBERS["float32"], requires_grad=True)
    (getattr(t.masked, name)(x, *args, mask=t.tensor([[True, False, True], [True, True, False]])) * 2).sum().backward()
    return x.grad


CASES = {}
for _type in NUMBERS:
    for _mask_name, _mask in MASKS.items():
        for _op in REDUCTIONS:
            if (_op, _type) in (("mean", "int64"), ("mean", "uint8"), ("amax", "complex64"), ("amin", "complex64"), ("logsumexp", "uint8"), ("logsumexp", "int64")):
                continue
            for _dim in (None, 0, -1, (0, 1)):
                CASES[f"masked.{_op} of {_type} along {_dim}, {_mask_name}"] = lambda t, a=(_op, _type, _mask, _dim): [
                    call(t, *a), call(t, *a, keepdim=True), call(t, *a, dtype=t.float64)
                ] if a[1] != "complex64" else call(t, *a)  # fmt: skip
        if _type == "complex64":
            continue
        for _op in ("std", "var"):
            if _type != "float64":
                CASES[f"masked.{_op} of {_type}, {_mask_name}"] = lambda t, a=(_op, _type, _mask): [
                    call(t, *a, 1), call(t, *a, 1, False), call(t, *a, 1, correction=2), call(t, *a, None, True, keepdim=True)
                ]  # fmt: skip
        for _op in ("argmax", "argmin"):
            CASES[f"masked.{_op} of {_type}, {_mask_name}"] = lambda t, a=(_op, _type, _mask): [
                call(t, *a), call(t, *a, 0), call(t, *a, 1, keepdim=True)
            ]  # fmt: skip
        for _op in ("cumsum", "cumprod", "softmax", "log_softmax", "softmin"):
            CASES[f"masked.{_op} of {_type}, {_mask_name}"] = lambda t, a=(_op, _type, _mask): call(t, *a, 1)
            CASES[f"masked.{_op} of {_type} in float64, {_mask_name}"] = lambda t, a=(_op, _type, _mask): call(t, *a, 0, dtype=t.float64)
        CASES[f"masked.median of {_type}, {_mask_name}"] = lambda t, a=("median", _type, _mask): call(t, *a)
        CASES[f"masked.median of {_type} along 0, {_mask_name}"] = lambda t, a=("median", _type, _mask): call(t, *a, 0, keepdim=True)
    for _order in (2.0, 1.0, float("inf"), -float("inf"), 0.0):
        if _type in ("complex64", "int64", "uint8") and _order == -float("inf"):
            continue
        CASES[f"masked.norm {_order} of {_type}"] = lambda t, d=_type, o=_order: call(t, "norm", d, MASKS["a mask"], o, 0)
    CASES[f"masked.normalize of {_type}"] = lambda t, d=_type: call(t, "normalize", d, MASKS["a row"], 2.0, 1)
CASES["masked.logaddexp"] = lambda t: t.masked.logaddexp(t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0]), input_mask=t.tensor([True, False]))
for _op, _args in {"sum": (0,), "prod": (0,), "amax": (0,), "mean": (0,), "norm": (2.0, 0), "var": (1,), "softmax": (1,), "cumsum": (0,), "median": (0,), "logsumexp": (0,)}.items():
    CASES[f"masked.{_op}, gradient"] = lambda t, a=(_op, *_args): gradient(t, *a)
CASES["masked.sum of a larger mask"] = lambda t: t.masked.sum(t.ones(2), mask=t.ones(1, 2, dtype=t.bool))
CASES["masked.sum of a mask of another shape"] = lambda t: t.masked.sum(t.ones(2, 3), mask=t.ones(2, 2, dtype=t.bool))
CASES["masked.amax of nothing"] = lambda t: t.masked.amax(t.ones(0, 3), 0)


def masked(t, requires_grad=False):
    return t.masked.masked_tensor(t.tensor([[1.0, 2.0], [3.0, 4.0]]), t.tensor([[True, False], [True, True]]), requires_grad)


def parts(x):
    return x.get_data().detach() * x.get_mask(), x.get_mask()


MASKED = {
    "sin": lambda t, x: x.sin(),
    "add": lambda t, x: x + x,
    "mul by a number": lambda t, x: x * 2,
    "sum": lambda t, x: x.sum(),
    "sum along 0": lambda t, x: x.sum(0),
    "sum along 0, kept": lambda t, x: x.sum(0, keepdim=True),
    "mean along 1": lambda t, x: x.mean(1),
    "amax along 1": lambda t, x: x.amax(1),
    "transpose": lambda t, x: x.transpose(0, 1),
    "index": lambda t, x: x[1],
    "where": lambda t, x: t.where(t.tensor([[True, True], [False, False]]), x, x * 3),
}
for _name, _function in MASKED.items():
    CASES[f"MaskedTensor: {_name}"] = lambda t, f=_function: parts(f(t, masked(t)))
CASES["MaskedTensor: to_tensor"] = lambda t: masked(t).to_tensor(9)
CASES["MaskedTensor: other masks"] = lambda t: masked(t) + t.masked.masked_tensor(t.ones(2, 2), t.ones(2, 2, dtype=t.bool))
CASES["MaskedTensor: matrix product"] = lambda t: masked(t) @ masked(t)
CASES["MaskedTensor: is_masked_tensor"] = lambda t: [t.masked.is_masked_tensor(masked(t)), t.masked.is_masked_tensor(t.ones(2))]


def masked_gradient(t):
    x = masked(t, True)
    (x * x).sum().backward()
    return parts(x.grad)


CASES["MaskedTensor: gradient"] = masked_gradient
