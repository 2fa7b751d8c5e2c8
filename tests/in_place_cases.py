# SPDX-License-Identifier: Apache-2.0
"""What every in-place method says to every type of tensor and argument: one letter for a result or the kind of exception.
tests/golden/record_in_place.py records PyTorch's, test_in_place_types.py compares."""
import warnings

TYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()
LETTERS = {"RuntimeError": "R", "NotImplementedError": "N", "TypeError": "T", "IndexError": "I", "ValueError": "V"}
# Random numbers, memory and names, and what takes no operand.
OTHERS = {"apply_", "bernoulli_", "cauchy_", "detach_", "exponential_", "geometric_", "log_normal_", "map2_", "map_", "normal_", "random_",
          "rename_", "requires_grad_", "resize_as_sparse_", "set_", "share_memory_", "sparse_resize_", "sparse_resize_and_clear_", "uniform_"}  # fmt: skip


def methods(torch):
    return sorted(n for n in dir(torch.Tensor) if n.endswith("_") and not n.startswith("_") and n not in OTHERS)


def arguments(torch):
    tensors = (torch.ones(2, dtype=getattr(torch, t)) for t in ("float32", "complex64", "int64", "bool", "float64"))
    return [(), (2.5,), (1j,), (True,), (2,), *((t,) for t in tensors)]


def letter(call):
    try:
        call()
    except Exception as e:
        return LETTERS.get(type(e).__name__, "?")
    return "."


def outcomes(torch, method):
    """A word for each type of tensor, with a letter for each argument."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            "".join(letter(lambda: getattr(torch.ones(2, dtype=getattr(torch, t)), method)(*a)) for a in arguments(torch))  # noqa: B023
            for t in TYPES
        ]
