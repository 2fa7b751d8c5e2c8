# SPDX-License-Identifier: Apache-2.0
"""Products and convolutions of half types that are large enough for a library, against float32."""
import pytest

TOLERANCE = {"bfloat16": 2.0**-7, "float16": 2.0**-10}


def numbers(torch, *shape, dtype, shift=0):
    n = 1
    for size in shape:
        n *= size
    return (((torch.arange(n) * 37 + shift) % 61 - 30) / 32).reshape(shape).to(getattr(torch, dtype))


def close(got, want, dtype):
    assert str(got.dtype) == f"torch.{dtype}" and got.shape == want.shape
    scale = want.abs().max().item()
    assert (got.float() - want).abs().max().item() <= TOLERANCE[dtype] * scale


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_products(torch, dtype):
    a, b, c = (numbers(torch, *shape, dtype=dtype) for shape in ((96, 80), (80, 112), (96, 112)))
    row = numbers(torch, 112, dtype=dtype)
    fa, fb, fc = a.float(), b.float(), c.float()
    close(a @ b, fa @ fb, dtype)
    close(a @ b.t().contiguous().t(), fa @ fb, dtype)
    close(a.t().contiguous().t() @ b, fa @ fb, dtype)
    wide = numbers(torch, 96, 160, dtype=dtype)
    close(wide[:, ::2] @ b, wide.float()[:, ::2] @ fb, dtype)  # no library reads this as it is
    close(torch.addmm(c, a, b), fc + fa @ fb, dtype)
    close(torch.addmm(c, a, b, beta=0.5), 0.5 * fc + fa @ fb, dtype)
    close(torch.addmm(row, a, b, alpha=2), row.float() + 2 * (fa @ fb), dtype)
    close(torch.nn.functional.linear(a, b.t(), row), fa @ fb + row.float(), dtype)
    many = numbers(torch, 3, 96, 80, dtype=dtype)
    close(many @ b, many.float() @ fb, dtype)
    close(torch.bmm(many, b.expand(3, 80, 112)), many.float() @ fb, dtype)
    close(torch.bmm(many.transpose(1, 2), many), many.float().transpose(1, 2) @ many.float(), dtype)
    out = torch.empty(112, 96, dtype=a.dtype).t()
    torch.mm(a, b, out=out)
    close(out, fa @ fb, dtype)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_convolutions(torch, dtype, transposed):
    convolve = getattr(torch.nn.functional, "conv_transpose2d" if transposed else "conv2d")
    for groups, channels_last in ((1, False), (2, False), (1, True)):
        outputs = {}
        for kind in (dtype, "float32"):
            x = numbers(torch, 2, 8, 12, 12, dtype=dtype).to(getattr(torch, kind))
            if channels_last:
                x = x.contiguous(memory_format=torch.channels_last)
            w = numbers(torch, 8, 8 // groups, 3, 3, dtype=dtype, shift=5).to(getattr(torch, kind)).requires_grad_()
            b = numbers(torch, 8, dtype=dtype, shift=9).to(getattr(torch, kind)).requires_grad_()
            x.requires_grad_()
            y = convolve(x, w, b, stride=2, padding=1, groups=groups)
            y.backward(numbers(torch, *y.shape, dtype=dtype, shift=3).to(y.dtype))
            outputs[kind] = [y.detach(), x.grad, w.grad]
        for got, want in zip(outputs[dtype], outputs["float32"], strict=True):
            close(got, want, dtype)
