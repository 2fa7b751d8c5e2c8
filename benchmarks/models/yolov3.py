# SPDX-License-Identifier: Apache-2.0
"""YOLOv3 of Redmon and Farhadi 2018: Darknet-53 and three heads of three boxes with 80 classes. The loss is a dense one over the
heads (boxes, objects, classes against drawn targets): the original's needs the pictures of COCO.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH, TINY_BATCH, PARAMETERS = (8, 8), 2, 61_949_149


def unit(inputs, outputs, kernel, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.1, inplace=True))


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.path = nn.Sequential(unit(width, width // 2, 1), unit(width // 2, width, 3))

    def forward(self, x):
        return x + self.path(x)


class Head(nn.Module):
    """Five alternating convolutions, whose end goes on, and the boxes of this scale."""

    def __init__(self, inputs, width, outputs):
        super().__init__()
        parts = [unit(inputs, width, 1)]
        for _ in range(2):
            parts += [unit(width, 2 * width, 3), unit(2 * width, width, 1)]
        self.path, self.boxes = nn.Sequential(*parts), nn.Sequential(unit(width, 2 * width, 3), nn.Conv2d(2 * width, outputs, 1))

    def forward(self, x):
        x = self.path(x)
        return x, self.boxes(x)


class Yolo(nn.Module):
    def __init__(self, width=32, counts=(1, 2, 8, 8, 4), classes=80):
        super().__init__()
        self.stem, self.stages = unit(3, width, 3), nn.ModuleList()
        for i, count in enumerate(counts):
            self.stages.append(nn.Sequential(unit(width << i, width << (i + 1), 3, 2), *(Residual(width << (i + 1)) for _ in range(count))))
        top, outputs = width << (len(counts) - 1), 3 * (5 + classes)
        self.heads = nn.ModuleList((Head(2 * top, top, outputs), Head(top + top // 2, top // 2, outputs), Head(top // 2 + top // 4, top // 4, outputs)))
        self.between = nn.ModuleList((unit(top, top // 2, 1), unit(top // 2, top // 4, 1)))

    def forward(self, x):
        x, kept = self.stem(x), []
        for stage in self.stages:
            x = stage(x)
            kept.append(x)
        found, side = [], None
        for i, head in enumerate(self.heads):
            x = kept[-1 - i] if side is None else torch.cat((side, kept[-1 - i]), 1)
            x, boxes = head(x)
            batch, channels, height, across = boxes.shape
            found.append(boxes.view(batch, 3, channels // 3, height, across).permute(0, 1, 3, 4, 2))
            if i < 2:
                side = F.interpolate(self.between[i](x), scale_factor=2, mode="nearest")
        return found


def loss(outputs, targets):
    total = 0.0
    for found in outputs:
        truth = targets[: found.shape[0]].view(-1, 1, 1, 1, targets.shape[1]).expand(*found.shape[:4], -1)
        boxes = F.mse_loss(torch.sigmoid(found[..., :2]), truth[..., :2]) + F.mse_loss(found[..., 2:4], truth[..., 2:4])
        total = total + boxes + F.binary_cross_entropy_with_logits(found[..., 4:], truth[..., 4:])
    return total


def model(tiny):
    return Yolo(2, (1, 1, 1, 1, 1), 3) if tiny else Yolo()


def optimiser(parameters):
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, nesterov=True)


def data(batch, tiny, training):
    height, width, classes = (64, 64, 3) if tiny else (384, 512, 80)
    return (torch.rand(batch, 3, height, width),), torch.rand(batch, 5 + classes)
