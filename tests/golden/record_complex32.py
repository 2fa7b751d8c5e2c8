# SPDX-License-Identifier: Apache-2.0
"""Records what PyTorch does with complex32: python tests/golden/record_complex32.py (needs PyTorch; writes complex32.json).

Each expression over `torch`, `x` (two complex numbers of halves) and `m` (a matrix of them) maps to the repr of its value.
"""

import json
import pathlib
import warnings

CASES = """
x
x.dtype, x.element_size(), x.is_complex(), torch.complex32 is torch.chalf
torch.complex32.itemsize, torch.complex32.is_complex, torch.complex32.is_floating_point, torch.complex32.is_signed
torch.complex32.to_real(), torch.float16.to_complex(), torch.float32.to_complex()
torch.finfo(torch.complex32)
x.to(torch.complex64)
x.to(torch.complex128)
x.cfloat(), x.cdouble(), x.chalf()
torch.tensor([1 / 3 + 2e-8j, 70000 - 1e-9j, complex('nan'), complex(0, float('inf'))]).chalf()
torch.tensor([1.5, 2, 70000]).chalf()
torch.tensor([True, False]).chalf(), torch.tensor([3, -7]).chalf(), torch.tensor([0.1]).double().chalf(), torch.tensor([0.1]).bfloat16().chalf()
torch.tensor([1 / 3 + 0.1j]).to(torch.complex128).chalf()
x.half(), x.float(), x.int(), x.bool()
x.real, x.imag
torch.view_as_real(x)
torch.view_as_complex(torch.tensor([[1.0, 2], [3, 4]]).half())
torch.complex(torch.tensor([1.0, 2]).half(), torch.tensor([3.0, 4]).half())
torch.polar(torch.tensor([1.0, 2]).half(), torch.tensor([3.0, 4]).half())
x.tolist(), x[0].item()
x.view(torch.float16), x.view(torch.int32).shape, x.half().view(torch.complex32).shape
torch.zeros(2, dtype=torch.complex32), torch.ones(2, dtype=torch.complex32), torch.full((2,), 1j, dtype=torch.complex32)
torch.tensor([1 + 1j], dtype=torch.complex32), torch.as_tensor([1j], dtype=torch.chalf)
torch.empty_like(x).shape, torch.zeros_like(x), torch.ones_like(x), x.new_ones(2), x.new_zeros(1)
torch.cat([x, x]), torch.stack([x, x])
x[torch.tensor([1, 0])], x.index_select(0, torch.tensor([1])), x[1:]
x.clone(), x.expand(2, 2).contiguous(), x.flatten(), m.t(), m.t().contiguous()
x.clone().fill_(1j), x.clone().zero_(), x.masked_fill(torch.tensor([True, False]), 0)
x.clone().copy_(torch.tensor([2.0, 3j]))
torch.where(torch.tensor([True, False]), x, -x)
x.conj(), x.conj().resolve_conj(), x.abs(), x.sgn(), -x
x + x, x - x, x * x, x + 1, x * 1j
x == x, x != x, torch.allclose(x, x)
torch.isnan(x), torch.isinf(x), torch.isfinite(x), torch.isreal(x), x.any(), x.all(), x.nonzero(), torch.count_nonzero(x)
torch.ones(2).half() * 1j, torch.ones(2).half() + x, torch.ones(2) + x, torch.ones(2).double() + x, torch.ones(2).int() + x
torch.ones(2).bfloat16() + x
m.tril(), m.triu()
x.numpy()
torch.ones(2, dtype=torch.uint16) + x
torch.ones(2).to(torch.float8_e4m3fn) + x
torch.set_default_dtype(torch.complex32)
torch.iinfo(torch.complex32)
x.sort()
""".strip().split("\n")


def evaluate(torch, case):
    x = torch.tensor([1 + 2j, 3 - 0.5j]).to(torch.complex32)
    m = torch.view_as_complex(torch.arange(8.0).view(2, 2, 2).half())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return repr(eval(case, {"torch": torch, "x": x, "m": m}))
    except (RuntimeError, TypeError) as error:  # NotImplementedError is one
        return type(error).__name__


if __name__ == "__main__":
    import torch

    table = {case: evaluate(torch, case) for case in CASES}
    (pathlib.Path(__file__).parent / "complex32.json").write_text(json.dumps({"torch": torch.__version__, "cases": table}, indent=0) + "\n")
