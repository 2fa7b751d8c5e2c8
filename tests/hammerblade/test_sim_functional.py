# SPDX-License-Identifier: Apache-2.0
"""The simulator's results: kernels without functions of libm give fast mode's bits, on small and whole machines."""

import pytest
from cosim import needs_compiler

pytestmark = needs_compiler


@pytest.fixture(params=[(4, 4), (16, 8)], ids=["4x4", "16x8"])
def mesh(torch, request):
    torch.hammerblade.tiles(*request.param)
    return torch


def same_bits(torch, f, *tensors):
    on_device = [t.hammerblade_ll() for t in tensors]
    with torch.hammerblade.engine("emul"):
        want = f(*on_device).cpu()
    with torch.hammerblade.engine("sim", fidelity="functional"):
        got = f(*on_device).cpu()
    assert torch.equal(got.view(torch.int32) if got.dtype == torch.float32 else got, want.view(torch.int32) if want.dtype == torch.float32 else want)


def test_elements(mesh):
    x, y = mesh.randn(7, 33), mesh.randn(33)
    same_bits(mesh, lambda a, b: a * 2 + b - a / b, x, y)
    same_bits(mesh, lambda a, b: mesh.where(a > b, a, b).relu(), x.t().contiguous().t(), y)
    same_bits(mesh, lambda a: a * a - a, mesh.arange(-200, 200) * 123456789123)
    same_bits(mesh, lambda a: a // 7 + a % 5, mesh.arange(-200, 200, dtype=mesh.int32))


def test_reductions_and_products(mesh):
    x = mesh.randn(40, 24)
    same_bits(mesh, lambda a: a.sum(1), x)
    same_bits(mesh, lambda a: a @ a.t(), x)
    same_bits(mesh, lambda a: a.sort(1)[0], x)
    same_bits(mesh, lambda a: a.cumsum(0), x)
    same_bits(mesh, lambda a, w: mesh.nn.functional.conv2d(a, w, padding=1), mesh.randn(2, 3, 8, 8), mesh.randn(4, 3, 3, 3))


def test_functions_of_libm(mesh):
    x = mesh.randn(300)
    for f in (mesh.exp, mesh.tanh, mesh.sigmoid, mesh.erf):
        with mesh.hammerblade.engine("sim", fidelity="functional"):
            mesh.testing.assert_close(f(x.hammerblade()).cpu(), f(x), rtol=1e-5, atol=1e-6)
