# SPDX-License-Identifier: Apache-2.0
"""What an operator's row says about its work: floating-point operations of a call, from its arguments' shapes."""
import facula as torch
import pytest
from facula.nn import functional as F

# (what, shapes, operations forward, backward), as torch.utils.flop_counter of PyTorch 2.15 counts products and convolutions.
RECORDED = {
    "mm": (lambda a, b: a @ b, [(3, 4), (4, 5)], 120, 240),
    "bmm": (torch.bmm, [(2, 3, 4), (2, 4, 5)], 240, 480),
    "addmm": (torch.addmm, [(5,), (3, 4), (4, 5)], 120, 240),
    "baddbmm": (torch.baddbmm, [(2, 3, 5), (2, 3, 4), (2, 4, 5)], 240, 480),
    "linear": (F.linear, [(6, 4), (5, 4), (5,)], 240, 480),
    "conv1d": (lambda x, w: F.conv1d(x, w, stride=2, padding=1), [(2, 3, 9), (4, 3, 3)], 720, 1440),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, padding=1, dilation=2), [(2, 3, 9, 8), (4, 3, 3, 2), (4,)], 16128, 32256),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, stride=2), [(2, 3, 5, 4), (3, 4, 3, 2)], 5760, 11520),
    "attention": (F.scaled_dot_product_attention, [(2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 7)], 3960, 9360),  # the scores once more
    "attention of equal sizes": (F.scaled_dot_product_attention, [(2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 4)], 2880, 7200),
    # PyTorch says 13824: it takes the weight's gradient for one without groups.
    "groups": (lambda x, w: F.conv2d(x, w, groups=2), [(2, 4, 6, 5), (6, 2, 3, 2)], 4608, 9216),
}
PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "convolution", "convolution_backward",
            "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention_for_cpu_backward"}  # fmt: skip


class Counted:
    def __init__(self):
        self.flops = 0

    def __call__(self, op, args, kwargs, go_on):
        if op._opname in PRODUCTS:
            self.flops += op.flops(*args, **kwargs)
        return go_on(*args, **kwargs)


@pytest.mark.parametrize("name", RECORDED)
def test_products(name):
    function, shapes, forward, backward = RECORDED[name]
    x = [torch.randn(s, requires_grad=True) for s in shapes]
    counted = Counted()
    with torch.dispatch.layer("flops", counted):
        y = function(*x)
        assert counted.flops == forward
        y.sum().backward()
    assert counted.flops == forward + backward


def test_other_operators():
    aten, x = torch.ops.aten, torch.ones(4, 6)
    assert aten.add.Tensor.flops(x, torch.ones(5, 1, 6)) == aten.mul_.Scalar.flops(torch.ones(5, 4, 6), 2) == 120  # broadcast
    assert aten.exp.out.flops(x, out=x) == 24
    assert aten.sum.dim_IntList.flops(x, [0]) == aten.amax.default.flops(x) == aten.cumsum.default.flops(x, 0) == 24
    assert aten._softmax.default.flops(x, 1, False) == 5 * 24
    assert aten.native_layer_norm.default.flops(x, [6], None, None, 1e-5) == 8 * 24
    assert aten.mv.default.flops(x, torch.ones(6)) == 48 and aten.dot.default.flops(x[0], x[0]) == 12
    assert aten.t.default.flops(x) == aten.clone.default.flops(x) == aten.matmul.default.flops(x, x.t()) == 0
    assert aten.exp.default.map == ("exp", 1, 0) and aten.add.Tensor.map == ("add", 2, 1) and aten.mm.default.map is None


def test_bounds():
    aten, vast = torch.ops.aten, torch.empty(2**29, 2**29, device="meta")
    assert aten.mm.default.flops(vast, vast) == 2**63 - 1
    with pytest.raises(TypeError):
        aten.mm.default.flops(vast)
    number = torch.ones(())
    assert aten.mm.default.flops(number, number) == 2
    with pytest.raises(RuntimeError):
        aten.convolution.default.flops(number, number, None, [1], [0], [1], True, [0], 1)
    with pytest.raises(RuntimeError):
        aten.convolution_backward.default.flops(number, number, number, None, [1], [0], [1], False, [0], 1, [True, True, True])
