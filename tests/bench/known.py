# SPDX-License-Identifier: Apache-2.0
"""A network and backends whose truth is known: one gives back the model, one sleeps a tenth of a step, one is wrong by a
hundredth in one layer, one leaves an operator out."""

import copy
import time

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 8)

    def forward(self, x):
        return self.last(torch.tanh(self.second(torch.tanh(self.first(x)))))

    def get_example_inputs(self):
        return (torch.randn(8, 32),)


class Wide(Net):
    """A step of some milliseconds."""

    def __init__(self):
        super().__init__(512)

    def get_example_inputs(self):
        return (torch.randn(256, 512),)


def same(model, inputs):
    return model


def tenth(model, inputs):
    """As slow as a model that takes a tenth longer, by a clock that starts with each call."""

    def call(*arguments):
        start = time.perf_counter()
        result = model(*arguments)
        end = time.perf_counter()
        time.sleep((end - start) / 10)
        return result

    return call


def wrong(model, inputs):
    model = copy.deepcopy(model)
    inner = model.second.forward
    model.second.forward = lambda x: inner(x) + 0.01
    return model


def shorter(model, inputs):
    return lambda x: model.last(torch.tanh(model.first(x)))
