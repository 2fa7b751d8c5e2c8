# SPDX-License-Identifier: Apache-2.0
"""Graph convolutions of Kipf and Welling 2016 after TorchBench's sizes (torch_geometric's GCN): three layers of 64 channels,
10,000 nodes, 200,000 edges. The graph's shape is the batch.
"""

import torch
from torch import nn

BATCH, TINY_BATCH, PARAMETERS = (1, 1), 1, 12_480


class Convolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(outputs, inputs)), nn.Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, source, target, weights):
        x = x @ self.weight.t()
        out = torch.zeros_like(x).index_add(0, target, x.index_select(0, source) * weights[:, None])
        return out + self.bias


class Gcn(nn.Module):
    def __init__(self, widths=(64, 64, 64, 64)):
        super().__init__()
        self.layers = nn.ModuleList(Convolution(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x, edges):
        nodes = torch.arange(x.shape[0], device=x.device)
        source, target = torch.cat((edges[0], nodes)), torch.cat((edges[1], nodes))  # every node sees itself
        degree = torch.zeros(x.shape[0], dtype=x.dtype, device=x.device).index_add(0, target, torch.ones_like(target, dtype=x.dtype))
        root = degree.rsqrt()
        weights = root[source] * root[target]
        for i, layer in enumerate(self.layers):
            x = layer(x, source, target, weights)
            x = torch.relu(x) if i < len(self.layers) - 1 else x
        return x


def model(tiny):
    return Gcn((4, 4, 4)) if tiny else Gcn()


def loss(outputs, targets):
    return nn.functional.mse_loss(outputs, targets)


def data(batch, tiny, training):
    nodes, edges, width = (10, 20, 4) if tiny else (10000, 200000, 64)
    return (torch.randn(nodes, width), torch.randint(0, nodes, (2, edges))), torch.randn(nodes, width)
