# SPDX-License-Identifier: Apache-2.0
"""Modules where there is little to go by: numbers near zero, batches without elements, results in place of inputs."""
import pytest

pytestmark = pytest.mark.not_sanitized


@pytest.mark.parametrize("dtype, right", [("bfloat16", 1.0), ("float16", 0.9995), ("float32", 0.9994), ("float64", 1.0)])
def test_rms_norm_takes_the_epsilon_of_the_type_it_computes_in(torch, dtype, right):
    dtype = getattr(torch, dtype)
    x = torch.full((1, 4), 0.01, dtype=dtype)
    for y in (torch.nn.functional.rms_norm(x, (4,)), torch.nn.RMSNorm(4, dtype=dtype)(x)):
        assert y.dtype is dtype and torch.allclose(y.double(), torch.full((1, 4), right).double(), atol=2e-4)


@pytest.mark.parametrize("name", ["SELU", "CELU", "ELU"])
def test_in_place_units_have_gradients(torch, name):
    unit = getattr(torch.nn, name)
    x = torch.tensor([-1.0, -0.1, 0.5, 2.0], requires_grad=True)
    unit(inplace=True)(x * 1).sum().backward()
    found, x.grad = x.grad, None
    unit()(x).sum().backward()
    assert torch.allclose(found, x.grad)
    y = torch.tensor([-1.0, 2.0])
    assert unit(inplace=True)(y) is y and torch.equal(y, unit()(torch.tensor([-1.0, 2.0])))


@pytest.mark.parametrize("shape", [(0, 2), (0, 2, 3), (3, 2, 0), (0, 2, 3, 3), (3, 2, 0, 4), (0, 2, 3, 3, 3)])
def test_batch_norm_learns_nothing_from_an_empty_batch(torch, shape):
    kind = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d, 5: torch.nn.BatchNorm3d}[len(shape)]
    for dtype in (torch.float32, torch.float64):
        layer, x = kind(2, dtype=dtype), torch.zeros(shape, dtype=dtype, requires_grad=True)
        y = layer(x)
        y.sum().backward()
        assert y.shape == x.grad.shape == shape and y.dtype is dtype
        assert layer.running_mean.tolist() == [0, 0] and layer.running_var.tolist() == [1, 1]
        assert layer.weight.grad.tolist() == layer.bias.grad.tolist() == [0, 0]


def test_norms_say_which_shape_they_want(torch):
    with pytest.raises(RuntimeError, match=r"expected input with shape \[\*, 3, 5\], but got input of size *\[2, 4\]"):
        torch.nn.LayerNorm((3, 5))(torch.ones(2, 4))
    with pytest.raises(ValueError, match="Input tensor must have at least 2 dimensions, but got 1"):
        torch.nn.functional.rms_norm(torch.ones(3), (2, 3))


def test_smoothing_is_a_share(torch):
    for target in (torch.tensor([0, 1]), torch.rand(2, 3)):
        with pytest.raises(RuntimeError, match=r"label_smoothing must be between 0.0 and 1.0. Got: 1.5"):
            torch.nn.functional.cross_entropy(torch.randn(2, 3), target, label_smoothing=1.5)


def test_gradients_are_as_complex_as_results(torch):
    x = torch.randn(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="both grad_output and output are required to have the same dtype"):
        torch.autograd.grad(x * 2, x, torch.ones(3, dtype=torch.complex64))


def test_transforms_refuse_types(torch):
    with pytest.raises(TypeError, match="rfft expects a real input tensor, but got ComplexFloat"):
        torch.fft.rfft(torch.ones(3, dtype=torch.complex64))
    with pytest.raises(NotImplementedError, match="Unsupported dtype Half"):
        torch.fft.fft(torch.ones(4, dtype=torch.float16))
