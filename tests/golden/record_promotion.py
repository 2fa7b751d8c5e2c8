# SPDX-License-Identifier: Apache-2.0
"""Records PyTorch's type promotion: python tests/golden/record_promotion.py (needs PyTorch; writes promotion.json).

"pairs" maps "kind a b" to the result of result_type for kinds of operand: t tensor with dimensions, z tensor
without, n Python number. "promote" and "cast" are promote_types and can_cast. "!" stands for an error.
"""
import json
import pathlib

NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128",
         "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2")
NUMBERS = {"True": True, "2": 2, "2.5": 2.5, "1j": 1j}


def record(torch):
    """The whole table of a module; the test calls it with the module under test."""
    def name(function, *args):
        try:
            return str(function(*args)).split(".")[-1]
        except (RuntimeError, NotImplementedError):
            return "!"
    types = {n: getattr(torch, n) for n in NAMES}
    with_dims = {n: torch.zeros(1, dtype=t) for n, t in types.items()}
    without = {n: torch.zeros((), dtype=t) for n, t in types.items()}
    pairs, promote, cast = {}, {}, {}
    for a in NAMES:
        for b in NAMES:
            pairs[f"tt {a} {b}"] = name(torch.result_type, with_dims[a], with_dims[b])
            pairs[f"tz {a} {b}"] = name(torch.result_type, with_dims[a], without[b])
            pairs[f"zz {a} {b}"] = name(torch.result_type, without[a], without[b])
            promote[f"{a} {b}"] = name(torch.promote_types, types[a], types[b])
            cast[f"{a} {b}"] = name(torch.can_cast, types[a], types[b])
        for text, number in NUMBERS.items():
            pairs[f"tn {a} {text}"] = name(torch.result_type, with_dims[a], number)
            pairs[f"zn {a} {text}"] = name(torch.result_type, without[a], number)
            pairs[f"nt {text} {a}"] = name(torch.result_type, number, with_dims[a])
    for s, x in NUMBERS.items():
        for t, y in NUMBERS.items():
            pairs[f"nn {s} {t}"] = name(torch.result_type, x, y)
    return {"pairs": pairs, "promote": promote, "cast": cast}


if __name__ == "__main__":
    import torch
    table = {"torch": torch.__version__, **record(torch)}
    (pathlib.Path(__file__).parent / "promotion.json").write_text(json.dumps(table, separators=(",", ":"), sort_keys=True) + "\n")
