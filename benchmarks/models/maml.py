# SPDX-License-Identifier: Apache-2.0
"""MAML of Finn et al. 2017 on pictures as Omniglot's: for each of 32 tasks a few steps of gradient descent on five pictures
of five classes, then the loss on 75 others. Its forward takes gradients itself, and gradients of those when it is trained.
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH, TINY_BATCH, PARAMETERS = (1, 1), 1, 112_261


class Maml(nn.Module):
    def __init__(self, width=64, classes=5, steps=5, rate=0.4):
        super().__init__()
        self.steps, self.rate = steps, rate
        self.weights = nn.ParameterList()
        for inputs in (1, width, width, width):
            self.weights += [nn.Parameter(torch.empty(width, inputs, 3, 3)), nn.Parameter(torch.zeros(width)), nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))]
        self.weights += [nn.Parameter(torch.empty(classes, width)), nn.Parameter(torch.zeros(classes))]
        for w in self.weights:
            if w.dim() > 1:
                nn.init.kaiming_normal_(w)

    def network(self, x, weights):
        for i in range(4):
            w, b, scale, shift = weights[4 * i : 4 * i + 4]
            x = F.batch_norm(F.relu(F.conv2d(x, w, b, stride=2, padding=1)), None, None, scale, shift, True)
        return F.linear(x.mean((2, 3)), *weights[-2:])

    def forward(self, x, y, others, truth):
        create = torch.is_grad_enabled()
        total = 0.0
        for task in range(x.shape[0]):
            with torch.enable_grad():
                weights = list(self.weights) if create else [w.detach().requires_grad_() for w in self.weights]
                for _ in range(self.steps):
                    gradients = torch.autograd.grad(F.cross_entropy(self.network(x[task], weights), y[task]), weights, create_graph=create)
                    weights = [w - self.rate * g for w, g in zip(weights, gradients)]
            total = total + F.cross_entropy(self.network(others[task], weights), truth[task])
        return total / x.shape[0]


def model(tiny):
    return Maml(4, 3, 2) if tiny else Maml()


def loss(outputs, targets):
    return outputs


def data(batch, tiny, training):
    tasks, few, many, size, classes = (2, 3, 6, 16, 3) if tiny else (32, 5, 75, 28, 5)

    def labels(count):
        return torch.randint(0, classes, (tasks, count))

    return (torch.rand(tasks, few, 1, size, size), labels(few), torch.rand(tasks, many, 1, size, size), labels(many)), None
