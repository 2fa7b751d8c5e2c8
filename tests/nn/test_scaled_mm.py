# SPDX-License-Identifier: Apache-2.0
"""Products of float8 matrices with scales."""

import pytest

import facula as torch
import facula.nn.functional as F
from facula.nn.functional import ScalingType, SwizzleType

pytestmark = pytest.mark.not_sanitized

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
ONE, ROWS = ScalingType.TensorWise, ScalingType.RowWise


@pytest.fixture
def operands():
    torch.manual_seed(0)
    return torch.randn(6, 16).to(E4M3), torch.randn(10, 16).to(E4M3).t()


def close(got, want, dtype=torch.float32):
    assert got.dtype is dtype
    torch.testing.assert_close(got, want.to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_values(operands, dtype):
    a, b = operands
    plain, bias = a.float() @ b.float(), torch.randn(10)
    one, two, rows, columns = torch.tensor(1.5), torch.tensor([0.5]), torch.rand(6, 1), torch.rand(1, 10)
    close(torch._scaled_mm(a, b, one, two, out_dtype=dtype), plain * 0.75, dtype)
    close(torch._scaled_mm(a, b, rows, columns, bias=bias, out_dtype=dtype), plain * rows * columns + bias, dtype)
    close(F.scaled_mm(a, b, one, ONE, [two], [ONE], output_dtype=dtype), plain * 0.75, dtype)
    close(F.scaled_mm(a, b, rows, ROWS, columns, ROWS, bias=bias, output_dtype=dtype, contraction_dim=(-1, -2)),
          plain * rows * columns + bias, dtype)  # fmt: skip
    close(torch._scaled_mm(a.to(E5M2), b, one, two, out_dtype=dtype), a.to(E5M2).float() @ b.float() * 0.75, dtype)


def test_narrow_results(operands):
    a, b = operands
    one, half = torch.tensor(1.0), torch.tensor(0.5)
    plain = a.float() @ b.float()
    assert torch._scaled_mm(a, b, one, one).dtype is E4M3
    assert F.scaled_mm(a, b, one, ONE, one, ONE).dtype is torch.bfloat16
    assert torch.equal(torch._scaled_mm(a, b, one, one).float(), plain.to(E4M3).float())
    assert torch.equal(torch._scaled_mm(a, b, one, one, scale_result=half).float(), (plain * 2).to(E4M3).float())
    assert torch._scaled_mm(a, b, one * 1e6, one).float().abs().max() == 448  # as every cast to this type
    out = torch.empty(6, 10)
    assert torch._scaled_mm(a, b, one, one, out_dtype=torch.float32, out=out) is out
    close(out, plain)


def test_no_elements(operands):
    a, b = operands
    one = torch.ones(1, 1)
    assert torch._scaled_mm(a[:, :0], b[:0], one, one, out_dtype=torch.float32).eq(0).all()
    assert torch._scaled_mm(a[:0], b, one, one).shape == (0, 10)
    meta = F.scaled_mm(a.to("meta"), b.to("meta"), one.to("meta"), ONE, one.to("meta"), ONE)
    assert meta.shape == (6, 10) and meta.dtype is torch.bfloat16


def test_adding(operands):
    a, b = operands
    rows, columns = torch.rand(6, 1), torch.rand(1, 10)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        c = torch.randn(6, 10).to(dtype)
        want = c.float() * 0.5 + a.float() @ b.float() * rows * columns * 2
        close(F.scaled_addmm(c, a, b, rows, ROWS, columns, ROWS, beta=0.5, alpha=2), want, dtype)
        assert F.scaled_addmm_(c, a, b, rows, ROWS, columns, ROWS, beta=0.5, alpha=2) is c
        close(c, want, dtype)
    for wrong in (torch.zeros(6, 9), torch.zeros(6, 10, dtype=torch.float64)):
        with pytest.raises(RuntimeError, match="input must be"):
            F.scaled_addmm(wrong, a, b, rows, ROWS, columns, ROWS)


def test_groups(operands):
    a, b = operands
    ends = torch.tensor([2, 2, 5], dtype=torch.int32)
    weights = torch.randn(3, 10, 16).to(E4M3).transpose(1, 2)
    batch = torch.randn(3, 4, 16).to(E5M2)

    def check(x, y, scale_x, scale_y, want, **offsets):
        close(F.scaled_grouped_mm(x, y, scale_x, ROWS, scale_y, ROWS, output_dtype=torch.float32, **offsets), want)
        close(torch._scaled_grouped_mm(x, y, scale_x, scale_y, **offsets), want, torch.bfloat16)

    sx, sy = torch.rand(6), torch.rand(3, 10)
    check(a, weights, sx, sy, F.grouped_mm(a.float() * sx[:, None], weights.float() * sy[:, None], offs=ends), offs=ends)
    sx = torch.rand(3, 4)
    check(batch, weights, sx, sy, (batch.float() @ weights.float()) * sx[..., None] * sy[:, None])
    ends, sx, sy = torch.tensor([4, 4, 16], dtype=torch.int32), torch.rand(18), torch.rand(30)
    want = F.grouped_mm(a.float(), b.float(), offs=ends) * sx.view(3, 6, 1) * sy.view(3, 1, 10)
    check(a, b, sx, sy, want, offs=ends)
    with pytest.raises(ValueError, match="scale_b must have"):
        torch._scaled_grouped_mm(a, b, sx, sy[1:], offs=ends)
    with pytest.raises(RuntimeError, match="offsets"):
        torch._scaled_grouped_mm(a, b, sx, sy)
    with pytest.raises(ValueError, match="float8"):
        torch._scaled_grouped_mm(a.float(), b, sx, sy, offs=ends)
    with pytest.raises(NotImplementedError, match="[Ss]cale result"):
        torch._scaled_grouped_mm(a, b, sx, sy, offs=ends, scale_result=torch.ones(1))


def test_what_is_refused(operands):
    a, b = operands
    one, rows, columns = torch.tensor(1.0), torch.rand(6, 1), torch.rand(1, 10)
    for x, sx, sy in ((a.float(), one, one), (a, one.double(), one), (a, rows, one), (a, torch.rand(3), one), (a, rows.t(), columns)):
        with pytest.raises(ValueError, match="Invalid scaling configuration"):
            torch._scaled_mm(x, b, sx, sy)
    for recipes, scales in (((ONE, ROWS), (one, columns)), ((ScalingType.BlockWise1x128,) * 2, (rows, columns)), ((ROWS, ROWS), (one, one))):
        with pytest.raises(ValueError, match="Invalid scaling configuration"):
            F.scaled_mm(a, b, scales[0], recipes[0], scales[1], recipes[1])
    with pytest.raises(ValueError, match="Invalid scaling configuration"):
        F.scaled_mm(a, b, [], [], [], [])
    with pytest.raises(ValueError, match=r"contraction_dim=\(1, 0\)"):
        F.scaled_mm(a, b, one, ONE, one, ONE, contraction_dim=(0, 1))
    with pytest.raises(ValueError, match="swizzle"):
        F.scaled_mm(a, b, one, ONE, one, ONE, swizzle_a=SwizzleType.SWIZZLE_32_8)
    with pytest.raises(TypeError, match="expected ScalingType or a list of them, got float"):
        F.scaled_grouped_mm(a, b, one, [0.5], one, ROWS)
    with pytest.raises(TypeError, match="expected SwizzleType or a list of them, got ScalingType"):
        F.scaled_addmm(a, a, b, one, ONE, one, ONE, swizzle_b=ONE)
    with pytest.raises(RuntimeError, match="Bias must be size 10 but got 9"):
        torch._scaled_mm(a, b, one, one, bias=torch.ones(9))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch._scaled_mm(a, b[1:], one, one)
    with pytest.raises(RuntimeError, match="must be a matrix"):
        torch._scaled_mm(a[None], b, one, one)
