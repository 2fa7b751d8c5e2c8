# SPDX-License-Identifier: Apache-2.0
"""The autocast layer: classes of operators, gradients, scopes."""
import facula as torch


def test_products_run_lower_and_gradients_come_back_wide():
    x = torch.ones(4, 4, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        assert y.dtype is torch.bfloat16
        assert (y.float() + y).dtype is torch.float32
        assert y.exp().dtype is torch.float32
    assert (x @ x).dtype is torch.float32
    y.float().sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad[0, 0].item() == 8.0


def test_scopes_nest_and_doubles_stay():
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32
        assert (torch.ones(2, 2, dtype=torch.float64) @ torch.ones(2, 2, dtype=torch.float64)).dtype is torch.float64
        assert torch.is_autocast_enabled("cpu")
    assert not torch.is_autocast_enabled("cpu")
