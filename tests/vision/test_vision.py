# SPDX-License-Identifier: Apache-2.0
"""torchvision's operators for detection against results recorded from torchvision."""
import json
import pathlib

import vision_cases as cases
import pytest

GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "vision.json").read_text())


@pytest.fixture(scope="module")
def found():
    import facula

    return cases.results(facula)


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_against_torchvision(found, name):
    got = [cases.digest(t) for t in found[name]]
    for mine, theirs in zip(got, GOLDEN[name], strict=True):
        assert mine["sizes"] == theirs["sizes"]
        assert mine["some"] == pytest.approx(theirs["some"], rel=1e-9, abs=1e-9, nan_ok=True)
        assert [mine["sum"], mine["weighted"]] == pytest.approx([theirs["sum"], theirs["weighted"]], rel=1e-9, abs=1e-9, nan_ok=True)


def test_derivatives(torch):
    ops = torch.ops.torchvision
    rois = torch.tensor(cases.BOXES, dtype=torch.float64)
    x = cases.wave(torch, 2, 4, 5, 6).requires_grad_()
    torch.autograd.gradcheck(lambda x: ops.roi_align(x, rois, 0.5, 2, 2, 2, True), (x,))
    torch.autograd.gradgradcheck(lambda x: ops.roi_align(x, rois, 0.5, 2, 2, 2, True), (x,))
    torch.autograd.gradcheck(lambda x: ops.roi_pool(x, rois, 0.5, 2, 2)[0], (x,))
    torch.autograd.gradcheck(lambda x: ops.ps_roi_align(x, rois, 0.5, 2, 2, 2)[0], (x,))
    torch.autograd.gradcheck(lambda x: ops.ps_roi_pool(x, rois, 0.5, 2, 2)[0], (x,))


def test_half_and_meta(torch):
    ops = torch.ops.torchvision
    x, rois = cases.wave(torch, 1, 4, 8, 8).half(), torch.tensor([[0, 1.0, 1.0, 6.0, 6.0]]).half()
    assert ops.roi_align(x, rois, 1.0, 2, 2, 2, False).dtype is torch.float16
    assert ops.roi_align(x.to("meta"), rois.to("meta"), 1.0, 2, 3, 2, False).shape == (1, 4, 2, 3)
    with pytest.raises(NotImplementedError, match="how many boxes"):
        ops.nms(torch.empty(3, 4, device="meta"), torch.empty(3, device="meta"), 0.5)


def test_hostile_arguments(torch):
    ops = torch.ops.torchvision
    x, rois = torch.ones(1, 4, 8, 8), torch.tensor([[0, 1.0, 1.0, 6.0, 6.0]])
    inf, nan = float("inf"), float("nan")
    for box in ([1, 0, 0, 1, 1], [-1, 0, 0, 1, 1], [nan, 0, 0, 1, 1], [0, nan, 0, 1, 1], [0, 0, 0, inf, 1], [0, -1e30, 0, 1, 1], [0, 0, 0, 1.6e7, 1.6e7]):
        bad = torch.tensor([box], dtype=torch.float32)
        with pytest.raises(RuntimeError):
            ops.roi_align(x, bad, 1.0, 2, 2, -1, True)
        if box[-1] != 1.6e7:
            with pytest.raises(RuntimeError):
                ops.roi_pool(x, bad, 1.0, 2, 2)
    for call in (
        lambda: ops.roi_align(x, rois, 1.0, 0, 2, 2, False), lambda: ops.roi_align(x, rois, 1.0, -3, 2, 2, False), lambda: ops.roi_align(x[0], rois, 1.0, 2, 2, 2, False),
        lambda: ops.roi_align(x, rois[:, :4], 1.0, 2, 2, 2, False), lambda: ops.roi_align(x, rois.double(), 1.0, 2, 2, 2, False),
        lambda: ops.roi_align(x.long(), rois.long(), 1.0, 2, 2, 2, False), lambda: ops.roi_align(x, rois, 1.0, 2**40, 2**40, 2, False),
        lambda: ops.roi_align(x, rois, 1.0, 2, 2, 2**40, False), lambda: ops.ps_roi_pool(x, rois, 1.0, 3, 2),
        lambda: ops._roi_align_backward(torch.ones(1, 4, 2, 2), rois, 1.0, 2, 2, 1, 4, -1, 8, 2, False),
        lambda: ops._roi_align_backward(torch.ones(1, 4, 2, 2), rois, 1.0, 2, 2, 2**40, 4, 2**40, 8, 2, False),
        lambda: ops._roi_align_backward(torch.ones(1, 4, 2, 3), rois, 1.0, 2, 2, 1, 4, 8, 8, 2, False),
        lambda: ops._roi_pool_backward(torch.ones(1, 4, 2, 2), rois, torch.full((1, 4, 2, 2), 64, dtype=torch.int32), 1.0, 2, 2, 1, 4, 8, 8),
        lambda: ops._roi_pool_backward(torch.ones(1, 4, 2, 2), rois, torch.zeros(1, 4, 2, 2), 1.0, 2, 2, 1, 4, 8, 8),
        lambda: ops.nms(torch.ones(3, 4), torch.ones(2), 0.5), lambda: ops.nms(torch.ones(3, 5), torch.ones(3), 0.5), lambda: ops.nms(torch.ones(3, 4), torch.ones(3).double(), 0.5),
        lambda: ops.nms(torch.ones(3, 4).long(), torch.ones(3).long(), 0.5),
        lambda: ops.deform_conv2d(x, x, x, x, x, 1, 1, 0, 0, 1, 1, 1, 1, False), lambda: ops.box_iou_rotated(x, x),
    ):  # fmt: skip
        with pytest.raises((RuntimeError, NotImplementedError)):
            call()
    assert ops.roi_align(x[:, :, :0], rois, 1.0, 2, 2, 2, False).abs().sum() == 0 and ops.roi_align(x, rois[:0], 1.0, 2, 2, 2, False).shape == (0, 4, 2, 2)
    assert ops.nms(torch.full((3, 4), nan), torch.full((3,), nan), 0.5).tolist() == [0, 1, 2]
