# SPDX-License-Identifier: Apache-2.0
"""Numbers beyond what a type holds. As bounds they bound nothing, or leave no value; elsewhere they are refused."""

import pytest

import facula as torch


def byte(*values):
    return torch.tensor(values, dtype=torch.uint8)


def test_a_bound_beyond_the_type_bounds_nothing():
    assert byte(3, 200).clamp(min=-1).tolist() == [3, 200]
    assert byte(3, 200).clamp(-1, 300).tolist() == [3, 200]
    assert byte(3, 200).clamp_(-1, 7).tolist() == [3, 7]
    assert byte(3, 200).clamp_min(-3).tolist() == [3, 200]
    assert byte(3, 200).clamp_max_(300).tolist() == [3, 200]
    assert torch.tensor([-128, 3], dtype=torch.int8).clip(-1000, 1000).tolist() == [-128, 3]
    assert torch.tensor([3], dtype=torch.int32).clamp(max=2**40).tolist() == [3]
    assert torch.tensor([3]).clamp(-(2**63), 2**63).tolist() == [3]
    assert torch.nn.functional.hardtanh(torch.tensor([3], dtype=torch.int8), -1000, 1000).tolist() == [3]


@pytest.mark.parametrize(
    "call",
    [
        lambda: byte(3).clamp(min=256),
        lambda: byte(3).clamp(max=-1),
        lambda: byte(3).clamp_min(300),
        lambda: byte(3).clamp_max_(-1),
        lambda: torch.tensor([3], dtype=torch.int16).clamp(40000, 50000),
        lambda: torch.tensor([3]).clamp(min=2**63),
    ],
)
def test_a_bound_that_leaves_no_value_is_refused(call):
    with pytest.raises(RuntimeError, match="outside the representable range"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.where(torch.tensor([True]), byte(3), 300),
        lambda: torch.where(torch.tensor([True]), -300, byte(3)),
        lambda: torch.where(torch.tensor([True]), torch.ones(1), 1e300),
        lambda: byte(3).add(byte(1), alpha=300),
        lambda: torch.ones(1, dtype=torch.float16).sub(torch.ones(1, dtype=torch.float16), alpha=1e9),
        lambda: torch.addcmul(byte(3), byte(1), byte(1), value=300),
    ],
)
def test_other_numbers_must_fit(call):
    with pytest.raises(RuntimeError, match="without overflow"):
        call()


def test_numbers_that_wrap_or_are_infinite_fit():
    assert torch.where(torch.tensor([True, False]), byte(3, 5), -1).tolist() == [3, 255]
    assert torch.where(torch.tensor([False]), torch.ones(1, dtype=torch.float16), 1e9).tolist() == [float("inf")]
    assert byte(3).add(byte(1), alpha=-1).tolist() == [2]


@pytest.mark.parametrize("dtype, most", [("float16", 65504.0), ("float8_e5m2", 57344.0), ("float8_e4m3fn", 448.0)])
def test_large_numbers_of_narrow_types(dtype, most):
    dtype = getattr(torch, dtype)
    saturates = dtype is torch.float8_e4m3fn  # it has no infinity
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.full((2,), most * 1.3, dtype=dtype)
    assert torch.full((2,), -most, dtype=dtype).float().tolist() == [-most, -most]
    for made in (torch.tensor([most * 1.3, 1e300], dtype=dtype), torch.tensor([most * 1.3, 1e300]).to(dtype)):
        assert made.float().tolist() == [most if saturates else float("inf")] * 2
    if saturates:
        numbers = torch.tensor([449.0, 480.0, -1e4, float("inf"), 447.9, 2.0**-10, 1.1 * 2.0**-10])
        assert numbers.to(dtype).float().tolist() == [448.0, 448.0, -448.0, 448.0, 448.0, 0.0, 2.0**-9]
        assert torch.tensor(float("nan")).to(dtype).float().isnan().item()
