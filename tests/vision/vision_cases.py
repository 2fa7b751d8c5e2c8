# SPDX-License-Identifier: Apache-2.0
"""Calls of torchvision's operators for detection, on inputs that any framework can make.

    python tests/vision/vision_cases.py FILE     # with PyTorch and torchvision: records their results
"""
import json
import sys


def wave(torch, *shape):
    n = 1
    for s in shape:
        n *= s
    return torch.sin(torch.arange(n, dtype=torch.float64) * 0.7).reshape(shape)


BOXES = [[0, 1.0, 2.0, 9.0, 7.5], [1, 0.3, 0.2, 4.4, 11.9], [0, 3.0, 3.0, 3.0, 3.0], [1, -4.0, -2.0, 30.0, 30.0], [0, 8.0, 6.0, 2.0, 1.0], [1, 20.0, 20.0, 25.0, 26.0]]

# For the position-sensitive operators: torchvision divides by zero for an empty box, and its gradient of ps_roi_pool
# counts the last row and column, which its result does not.
INSIDE = [[0, 1.0, 2.0, 5.0, 6.0], [1, 0.3, 0.2, 4.4, 6.9], [1, 2.0, 1.0, 7.0, 5.0]]


def results(torch):
    """{case: [values …]}"""
    ops = torch.ops.torchvision
    rois = torch.tensor(BOXES, dtype=torch.float64)
    inside = torch.tensor(INSIDE, dtype=torch.float64)
    calls = {
        "roi_align": lambda x: ops.roi_align(x, rois, 0.5, 3, 2, 2, False),
        "roi_align.adaptive": lambda x: ops.roi_align(x, rois, 1.0, 2, 2, -1, False),
        "roi_align.aligned": lambda x: ops.roi_align(x, rois, 0.5, 2, 3, 0, True),
        "roi_pool": lambda x: ops.roi_pool(x, rois, 0.5, 3, 2),
        "roi_pool.whole": lambda x: ops.roi_pool(x, rois, 1.0, 2, 2),
        "ps_roi_align": lambda x: ops.ps_roi_align(x, inside, 0.5, 2, 3, 2),
        "ps_roi_align.adaptive": lambda x: ops.ps_roi_align(x, inside, 1.0, 3, 2, -1),
        "ps_roi_pool": lambda x: ops.ps_roi_pool(x, inside, 0.5, 2, 3),
        "ps_roi_pool.whole": lambda x: ops.ps_roi_pool(x, inside, 1.0, 3, 2),
    }
    found = {}
    for name, call in calls.items():
        x = wave(torch, 2, 12, 8, 9).requires_grad_()
        got = call(x)
        values, rest = (got, []) if not isinstance(got, tuple) else (got[0], got[1:])
        (values * wave(torch, *values.shape)).sum().backward()
        found[name] = [values.detach(), *rest, x.grad]
    boxes = wave(torch, 30, 4).abs() * 5
    boxes[:, 2:] += boxes[:, :2]
    scores = wave(torch, 30)
    scores[3] = scores[7]
    for threshold in (0.1, 0.3, 0.7):
        found[f"nms.{threshold}"] = [ops.nms(boxes, scores, threshold)]
    found["nms.none"] = [ops.nms(boxes[:0], scores[:0], 0.5)]
    return found


def digest(t):
    """Few numbers that tell tensors apart: sizes, sum, weighted sum, and some elements."""
    flat = t.reshape(-1).double()
    weights = flat * (flat.new_tensor(range(1, flat.numel() + 1)) / max(flat.numel(), 1))
    return {"sizes": list(t.shape), "sum": flat.sum().item(), "weighted": weights.sum().item(), "some": flat[:: max(flat.numel() // 12, 1)].tolist()}


if __name__ == "__main__":
    import torch
    import torchvision  # noqa: F401 -- defines the operators

    with open(sys.argv[1], "w") as f:
        json.dump({name: [digest(t) for t in tensors] for name, tensors in results(torch).items()}, f, indent=0)
