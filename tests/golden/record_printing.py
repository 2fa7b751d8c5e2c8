# SPDX-License-Identifier: Apache-2.0
"""Records how PyTorch prints: `python tests/golden/record_printing.py` with PyTorch 2.x writes printing.json.

A case is a Python expression with the name `torch`; stored is the repr of its value (the value itself if it is
a string), with addresses blanked. CASES print with default options, OPTIONS lists the same expressions under
other ones.
"""

import json
import pathlib
import re
import warnings

FLOATS = "float16 bfloat16 float32 float64".split()
INTS = "uint8 int8 int16 int32 int64".split()
WIDE = "uint16 uint32 uint64".split()
FLOAT8 = "float8_e4m3fn float8_e5m2".split()
COMPLEX = "complex32 complex64 complex128".split()

CASES = [
    # one number
    *[f"torch.tensor({v})" for v in (0, 1, -5, 2**62, True, False, 0.0, -0.0, 1.0, 1.5, -2.25, 3.14159265, 1e-3, 1e-4,
                                     9.9e-5, 1e-7, 1e5, 123456.789, 1e8, 100000001.0, 1.5e9, 1e30, 1 + 2j, 1.5 - 2.25j,
                                     1e-6j, -1j)],
    *[f"torch.tensor(float('{v}'))" for v in ("inf", "-inf", "nan")],
    "torch.tensor(complex(float('nan'), float('-inf')))",
    "torch.tensor(complex(-0.0, -0.0))",
    # every dtype
    *[f"torch.tensor([1, 2, 3], dtype=torch.{t})" for t in FLOATS + INTS + WIDE + COMPLEX + ["bool"]],
    *[f"torch.tensor([0.5, 2, 100], dtype=torch.{t})" for t in FLOATS + COMPLEX],
    *[f"torch.tensor([0.5, 2, 96]).to(torch.{t})" for t in FLOAT8],
    *[f"torch.tensor([1.0, 2]).to(torch.{t})" for t in FLOAT8],
    *[f"torch.zeros(0, dtype=torch.{t})" for t in FLOATS + INTS + WIDE + FLOAT8 + COMPLEX + ["bool"]],
    *[f"torch.tensor(1, dtype=torch.{t})" for t in FLOATS + INTS + WIDE + COMPLEX + ["bool"]],
    "torch.tensor([0, 2**64 - 1], dtype=torch.uint64)",
    "torch.tensor([-(2**63), 2**63 - 1])",
    "torch.tensor([-128, 127], dtype=torch.int8)",
    "torch.tensor([True, False])",
    "torch.tensor([[True], [True]])",
    "torch.tensor([65504.0, 6e-8], dtype=torch.float16)",
    "torch.tensor([3e38, 1e-38], dtype=torch.bfloat16)",
    "torch.tensor([1e308, 5e-324], dtype=torch.float64)",
    "torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)",
    "torch.tensor([0.1, 0.2, 0.3], dtype=torch.float16)",
    # notation
    "torch.tensor([1.0, 1000.0])",
    "torch.tensor([1.0, 1001.0])",
    "torch.tensor([1.5, 1500.0])",
    "torch.tensor([1.5, 1501.0])",
    "torch.tensor([0.0001, 0.1])",
    "torch.tensor([0.0001, 0.0999])",
    "torch.tensor([1e8, 1e8])",
    "torch.tensor([1e8, 2e8])",
    "torch.tensor([0.0, -0.0])",
    "torch.tensor([-0.0, 1.0])",
    "torch.tensor([-0.0, 0.5])",
    "torch.tensor([0.0, 1e-10])",
    "torch.tensor([1.0, -1.0])",
    "torch.tensor([-1.5, 22.25, 333.125])",
    "torch.tensor([99999.5, 100.25])",
    "torch.tensor([0.99999, 1.00001])",
    "torch.tensor([1e-45])",
    # infinities and nan
    *[f"torch.tensor([{v}])" for v in (
        "float('nan'), float('inf')", "float('nan'), 0.0", "float('nan'), 1.0", "float('inf'), 200.0, 1.0",
        "float('-inf'), 1.5", "float('-inf'), 1.0", "float('nan'), 1e-5", "float('inf'), 1e9, -3.0",
        "float('nan'), float('nan'), 12345.0")],
    "torch.tensor([[float('inf'), 1.0], [0.5, float('nan')]])",
    # complex
    "torch.tensor([1 + 2j, 3 - 4j])",
    "torch.tensor([1 + 2.5j, 3.25 - 4j])",
    "torch.tensor([1 + 2j, 3.5 - 1e9j])",
    "torch.tensor([1e-6 + 1j, 1000])",
    "torch.tensor([complex(float('inf'), 1), complex(1, float('nan'))])",
    "torch.tensor([complex(0, -0.0), complex(-0.0, 0)])",
    "torch.tensor([[1 + 1j, 200.5 - 3j], [0, 1j]], dtype=torch.complex128)",
    "torch.zeros(3, 4, dtype=torch.complex64)",
    "torch.arange(30.0) + 1j * torch.arange(30.0) / 8",
    # shapes
    "torch.zeros(3)",
    "torch.zeros(2, 3)",
    "torch.zeros(2, 2, 2)",
    "torch.zeros(1, 2, 1, 2)",
    "torch.arange(6).reshape(1, 1, 1, 1, 6)",
    "torch.arange(24).reshape(2, 3, 4)",
    "torch.arange(48.0).reshape(2, 3, 2, 4)",
    "torch.zeros(0)",
    "torch.zeros(0, 3)",
    "torch.zeros(2, 0)",
    "torch.zeros(2, 0, 3, dtype=torch.int64)",
    "torch.zeros(0, dtype=torch.float64)",
    "torch.tensor([])",
    "torch.tensor([[]])",
    "torch.tensor([[5]])",
    "torch.eye(3)",
    "torch.eye(4, dtype=torch.int32)",
    "torch.tril(torch.ones(4, 4))",
    "torch.arange(12).reshape(3, 4).t()",
    "torch.arange(12)[::5]",
    "torch.arange(12).reshape(3, 4)[:, 1:3]",
    "torch.ones(1).expand(3)",
    # line breaks
    *[f"torch.arange({n})" for n in (10, 19, 20, 36, 100)],
    *[f"torch.arange({n}.0)" for n in (14, 15, 16, 40)],
    *[f"torch.arange({n}.0) / 8" for n in (8, 9, 10, 30)],
    "torch.arange(40) % 2 == 0",
    "torch.arange(26, dtype=torch.int8).reshape(2, 13)",
    "torch.arange(60.0).reshape(2, 30) / 8",
    "torch.arange(8.0, dtype=torch.float64) * 1e-7",
    "torch.arange(7, dtype=torch.float64) / 8",
    "torch.arange(19, dtype=torch.int32)",
    "torch.arange(18, dtype=torch.int32)",
    "torch.arange(17, dtype=torch.int16)",
    # summaries
    "torch.arange(1000).sum()",
    "torch.zeros(1001)",
    "torch.arange(1001)",
    "torch.arange(1001.0)",
    "torch.arange(2000.0) / 8",
    "torch.arange(10000).reshape(100, 100)",
    "torch.arange(10000.0).reshape(100, 100)",
    "torch.arange(2002).reshape(2, 1001)",
    "torch.arange(2002).reshape(1001, 2)",
    "torch.arange(6000).reshape(6, 1000)",
    "torch.arange(7000).reshape(7, 1000)",
    "torch.arange(8000).reshape(20, 20, 20)",
    "torch.arange(10000).reshape(10, 10, 10, 10)",
    "torch.arange(1210).reshape(5, 2, 121) % 3 == 0",
    "torch.ones(30, 40, dtype=torch.complex64)",
    "torch.ones(1500, dtype=torch.float16)",
    "torch.cat([torch.zeros(600), torch.full((1,), 1e9), torch.zeros(600)])",
    "torch.cat([torch.full((1,), 1e9), torch.zeros(1200)])",
    "torch.arange(2000).reshape(40, 50).t()",
    # gradients
    "torch.ones(2, requires_grad=True)",
    "torch.ones(2, dtype=torch.float64, requires_grad=True)",
    "torch.ones(2, requires_grad=True).detach()",
    "torch.tensor(1.0, requires_grad=True)",
    "torch.ones(2, requires_grad=True) + 1",
    "torch.ones(2, requires_grad=True) * 2",
    "torch.ones(2, requires_grad=True) - 2",
    "torch.ones(2, requires_grad=True) / 2",
    "-torch.ones(2, requires_grad=True)",
    "torch.ones(2, requires_grad=True).exp()",
    "torch.ones(2, requires_grad=True).sum()",
    "torch.ones(2, requires_grad=True).mean()",
    "torch.ones(2, 3, requires_grad=True).sum(1)",
    "torch.ones(2, 2, requires_grad=True) @ torch.ones(2, 2)",
    "torch.ones(2, 2, requires_grad=True).t()",
    "torch.ones(2, 2, requires_grad=True)[0]",
    "torch.ones(2, 2, requires_grad=True)[:, 1:]",
    "torch.ones(4, requires_grad=True).view(2, 2)",
    "torch.ones(4, requires_grad=True).clone()",
    "torch.relu(torch.ones(2, requires_grad=True))",
    "torch.softmax(torch.ones(2, requires_grad=True), 0)",
    "torch.ones(2, 1, requires_grad=True).expand(2, 3)",
    "torch.cat([torch.ones(2, requires_grad=True), torch.zeros(1)])",
    "torch.ones(2, requires_grad=True).double()",
    "torch.ones(12, requires_grad=True).cumsum(0).reshape(2, 6) / 8",
    "torch.ones(11, dtype=torch.float64, requires_grad=True) / 8",
    "torch.ones(12, dtype=torch.float64, requires_grad=True).cumsum(0)",
    "torch.zeros(0, 4, requires_grad=True)",
    "torch.ones(1100, requires_grad=True) * 1",
    # meta
    "torch.empty(2, 3, device='meta')",
    "torch.empty((), device='meta')",
    "torch.empty(0, device='meta')",
    "torch.empty(2, device='meta', dtype=torch.int64)",
    "torch.empty(2, device='meta', dtype=torch.bool)",
    "torch.empty(2, device='meta', requires_grad=True)",
    "torch.empty(2, 3, device='meta') + 1",
    # strings
    "str(torch.ones(2))",
    "f'{torch.tensor(1.5)}'",
    "f'{torch.tensor(1.5):.3f}'",
    "f'{torch.tensor(1.5, requires_grad=True):.2f}'",
    "f'{torch.tensor(3):05d}'",
    "f'{torch.tensor(True)}'",
    "f'{torch.tensor(1 + 2j):.1f}'",
    "f'{torch.tensor([1.5])}'",
    "'{:>6}'.format(torch.tensor(5))",
    "'%s' % torch.tensor(1.5)",
    "str([torch.tensor(1), torch.zeros(2)])",
    # classes
    "torch.ones(2).as_subclass(type('Sub', (torch.Tensor,), {}))",
    "torch.arange(30.0).as_subclass(type('LongerName', (torch.Tensor,), {})) / 8",
    "torch.ones(2).__repr__(tensor_contents='[shown elsewhere]')",
    # other objects
    *[f"torch.{t}" for t in FLOATS + INTS + WIDE + FLOAT8 + COMPLEX + ["bool"]],
    "str(torch.float32)",
    "torch.half",
    "torch.long",
    "torch.Size([])",
    "torch.Size([2, 3])",
    "torch.ones(2, 3).shape",
    "str(torch.ones(2, 3).size())",
    "torch.device('cpu')",
    "str(torch.device('cpu'))",
    "torch.device('cuda', 1)",
    "torch.device('cuda:0')",
    "str(torch.device('cuda:0'))",
    "torch.device('meta')",
    "torch.ones(1).device",
    *[f"torch.finfo(torch.{t})" for t in FLOATS + FLOAT8 + COMPLEX],
    *[f"torch.iinfo(torch.{t})" for t in INTS + WIDE],
    "torch.Generator()",
    "torch.strided",
    "torch.contiguous_format",
    "torch.channels_last",
    "torch.preserve_format",
    "torch.ones(2, 3).stride()",
    "torch.result_type(torch.ones(1), 1)",
    "torch.ones(2).tolist()",
    "torch.ones(2, requires_grad=True).grad_fn",
    "torch.ones(2).storage_offset()",
]  # fmt: skip

SHOWN = [
    "torch.arange(1001)",
    "torch.arange(24.0).reshape(2, 3, 4) / 7",
    "torch.tensor([1e-5, 1.0])",
    "torch.tensor([1.0, 2.0, 3.0])",
    "torch.tensor([1e9, 1.5])",
    "torch.tensor([1 + 2.5j, 1e-6])",
    "torch.tensor(1e-7)",
    "torch.tensor([[True, False]] * 5)",
    "torch.arange(400).reshape(20, 20)",
    "torch.ones(5, dtype=torch.float64, requires_grad=True) * 2",
    "torch.zeros(0, 2)",
]
OPTIONS = [
    {"profile": "short"},
    {"profile": "full", "linewidth": 120},
    {"precision": 0},
    {"precision": 8},
    {"sci_mode": True},
    {"sci_mode": False},
    {"sci_mode": True, "precision": 1},
    {"linewidth": 30},
    {"linewidth": 1},
    {"linewidth": 200, "threshold": 10},
    {"threshold": 4, "edgeitems": 1},
    {"threshold": 4, "edgeitems": 2, "precision": 2},
    {"edgeitems": 0, "threshold": 4},
    {"edgeitems": 0},
]
DEFAULT_DTYPES = ["float64", "float16", "bfloat16"]
BY_DTYPE = [
    "torch.tensor([1.5])",
    "torch.ones(1, dtype=torch.float32)",
    "torch.ones(1, dtype=torch.float64)",
    "torch.ones(1, dtype=torch.complex64)",
    "torch.ones(1, dtype=torch.complex128)",
    "torch.ones(0)",
    "torch.tensor([1])",
]


def text(torch, code):
    value = eval(code, {"torch": torch})
    shown = value if isinstance(value, str) else repr(value)
    return re.sub(r"0x[0-9a-f]+", "0x0", shown)


def cases():
    """(code, options, default dtype) of every case."""
    for code in CASES:
        yield code, {}, "float32"
    for options in OPTIONS:
        for code in SHOWN:
            if not (options.get("profile") == "full" and "1001" in code):
                yield code, options, "float32"
    for dtype in DEFAULT_DTYPES:
        for code in BY_DTYPE:
            yield code, {}, dtype


def record():
    import torch

    warnings.simplefilter("ignore")
    rows = []
    for code, options, dtype in cases():
        torch.set_printoptions(profile="default")
        torch.set_printoptions(**options)
        torch.set_default_dtype(getattr(torch, dtype))
        row = {"code": code, "text": text(torch, code)}
        if options:
            row["options"] = options
        if dtype != "float32":
            row["default_dtype"] = dtype
        rows.append(row)
    return torch.__version__, rows


if __name__ == "__main__":
    version, rows = record()
    body = ",\n".join(json.dumps(row) for row in rows)
    path = pathlib.Path(__file__).with_name("printing.json")
    path.write_text(f'{{"torch": "{version}", "cases": [\n{body}\n]}}\n')
    print(f"{path.name}: {len(rows)} cases, {path.stat().st_size} bytes")
