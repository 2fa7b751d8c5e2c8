# SPDX-License-Identifier: Apache-2.0
"""BERT, GPT-2 and ResNet-50 in functional calls, so that one text runs on Facula and on PyTorch.

A network is a function from the module (facula or torch) to a step without arguments. A step computes an inference
under no_grad, or one training step (forward, loss, backward, update), and returns a number by which two sides can be
compared: the sum of what was computed, or the loss. Weights are drawn from one seed at their usual scale; attention is
written as two products and a softmax, as these networks first were.
"""

import math


class Weights:
    """Draws parameters in order and keeps them for the update."""

    def __init__(self, torch, train):
        self.torch, self.train, self.all = torch, train, []
        torch.manual_seed(0)

    def keep(self, tensor):
        if self.train:
            tensor.requires_grad_(True)
        self.all.append(tensor)
        return tensor

    def normal(self, *shape, scale=0.02):
        return self.keep(self.torch.randn(*shape) * scale)

    def ones(self, n):
        return self.keep(self.torch.ones(n))

    def zeros(self, n):
        return self.keep(self.torch.zeros(n))

    def linear(self, inputs, outputs):
        return self.normal(outputs, inputs), self.zeros(outputs)

    def norm(self, n):
        return self.ones(n), self.zeros(n)

    def update(self, rate):
        with self.torch.no_grad():
            for parameter in self.all:
                parameter.sub_(parameter.grad, alpha=rate)
                parameter.grad = None


def step_of(torch, weights, forward, loss):
    """Inference: the outputs' sum. Training: the loss before the update."""

    def infer():
        with torch.no_grad():
            return forward().sum().item()

    def train():
        value = loss(forward())
        value.backward()
        weights.update(1e-3)
        return value.item()

    return train if weights.train else infer


def attention(torch, x, heads, project, output, mask=None):
    """x: [batch, length, width]; project: weight and bias of queries, keys and values together."""
    F = torch.nn.functional
    batch, length, width = x.shape
    qkv = F.linear(x, *project).view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    q, k, v = qkv[0], qkv[1], qkv[2]
    scores = torch.matmul(q, k.transpose(-2, -1)) * (1 / math.sqrt(width // heads))
    if mask is not None:
        scores = scores + mask
    mixed = torch.matmul(scores.softmax(-1), v)
    return F.linear(mixed.transpose(1, 2).reshape(batch, length, width), *output)


def bert(torch, batch, length, width=768, heads=12, layers=12, words=30522, train=False):
    """BERT-base: post-norm encoder and pooler."""
    F, w = torch.nn.functional, Weights(torch, train)
    table, places, kinds, first = w.normal(words, width), w.normal(512, width), w.normal(2, width), w.norm(width)
    blocks = [
        (w.linear(width, 3 * width), w.linear(width, width), w.norm(width), w.linear(width, 4 * width), w.linear(4 * width, width), w.norm(width))
        for _ in range(layers)
    ]  # fmt: skip
    pooler = w.linear(width, width)
    tokens, kind = torch.randint(0, words, (batch, length)), torch.zeros(batch, length, dtype=torch.int64)
    mask = torch.zeros(batch, 1, 1, length)
    labels = torch.randint(0, width, (batch,))

    def forward():
        x = F.embedding(tokens, table) + places[:length] + F.embedding(kind, kinds)
        x = F.layer_norm(x, (width,), *first, 1e-12)
        for project, output, norm1, up, down, norm2 in blocks:
            x = F.layer_norm(x + attention(torch, x, heads, project, output, mask), (width,), *norm1, 1e-12)
            x = F.layer_norm(x + F.linear(F.gelu(F.linear(x, *up)), *down), (width,), *norm2, 1e-12)
        return torch.tanh(F.linear(x[:, 0], *pooler))

    return step_of(torch, w, forward, lambda y: F.cross_entropy(y, labels))


def gpt2(torch, batch, length, width=768, heads=12, layers=12, words=50257, train=False):
    """GPT-2 small: pre-norm decoder, output weights shared with the embedding."""
    F, w = torch.nn.functional, Weights(torch, train)
    table, places, last = w.normal(words, width), w.normal(1024, width, scale=0.01), w.norm(width)
    blocks = [
        (w.norm(width), w.linear(width, 3 * width), w.linear(width, width), w.norm(width), w.linear(width, 4 * width), w.linear(4 * width, width))
        for _ in range(layers)
    ]  # fmt: skip
    tokens = torch.randint(0, words, (batch, length + 1))
    mask = torch.full((length, length), float("-inf")).triu(1)

    def forward():
        x = F.embedding(tokens[:, :-1], table) + places[:length]
        for norm1, project, output, norm2, up, down in blocks:
            x = x + attention(torch, F.layer_norm(x, (width,), *norm1), heads, project, output, mask)
            x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, (width,), *norm2), *up), approximate="tanh"), *down)
        return F.linear(F.layer_norm(x, (width,), *last), table)

    return step_of(torch, w, forward, lambda y: F.cross_entropy(y.view(-1, words), tokens[:, 1:].reshape(-1)))


def resnet50(torch, batch, size=224, train=False, stages=((64, 3), (128, 4), (256, 6), (512, 3)), classes=1000):
    """ResNet-50 with the stride in the 3 x 3 convolution."""
    F, w = torch.nn.functional, Weights(torch, train)

    def unit(inputs, outputs, kernel):
        weight = w.normal(outputs, inputs, kernel, kernel, scale=math.sqrt(2 / (outputs * kernel * kernel)))
        return weight, *w.norm(outputs), torch.zeros(outputs), torch.ones(outputs)

    def apply(x, u, stride=1, padding=0):
        weight, scale, shift, mean, variance = u
        return F.batch_norm(F.conv2d(x, weight, None, stride, padding), mean, variance, scale, shift, train)

    stem, blocks, inputs = unit(3, stages[0][0], 7), [], stages[0][0]
    for number, (width, count) in enumerate(stages):
        for i in range(count):
            stride = 2 if i == 0 and number > 0 else 1
            shortcut = unit(inputs, 4 * width, 1) if i == 0 else None
            blocks.append((unit(inputs, width, 1), unit(width, width, 3), unit(width, 4 * width, 1), shortcut, stride))
            inputs = 4 * width
    head = w.linear(inputs, classes)
    x0, labels = torch.randn(batch, 3, size, size), torch.randint(0, classes, (batch,))

    def forward():
        x = F.max_pool2d(F.relu(apply(x0, stem, 2, 3)), 3, 2, 1)
        for first, second, third, shortcut, stride in blocks:
            y = F.relu(apply(F.relu(apply(x, first)), second, stride, 1))
            x = F.relu(apply(y, third) + (x if shortcut is None else apply(x, shortcut, stride)))
        return F.linear(x.mean((2, 3)), *head)

    return step_of(torch, w, forward, lambda y: F.cross_entropy(y, labels))


NETWORKS = {
    "BERT-base 1x128": (bert, dict(batch=1, length=128)),
    "BERT-base 8x128": (bert, dict(batch=8, length=128)),
    "GPT-2 1x256": (gpt2, dict(batch=1, length=256)),
    "GPT-2 2x128 train": (gpt2, dict(batch=2, length=128, train=True)),
    "ResNet-50 1": (resnet50, dict(batch=1)),
    "ResNet-50 8": (resnet50, dict(batch=8)),
    "ResNet-50 8 train": (resnet50, dict(batch=8, train=True)),
}
TINY = {  # the same functions in a blink, for tests
    "BERT-base 1x128": dict(batch=1, length=6, width=16, heads=2, layers=2, words=50),
    "BERT-base 8x128": dict(batch=3, length=6, width=16, heads=2, layers=1, words=50),
    "GPT-2 1x256": dict(batch=1, length=6, width=16, heads=2, layers=2, words=50),
    "GPT-2 2x128 train": dict(batch=2, length=6, width=16, heads=2, layers=1, words=50, train=True),
    "ResNet-50 1": dict(batch=1, size=32, stages=((4, 1), (8, 1)), classes=5),
    "ResNet-50 8": dict(batch=2, size=32, stages=((4, 2),), classes=5),
    "ResNet-50 8 train": dict(batch=2, size=32, stages=((4, 1), (8, 2)), classes=5, train=True),
}


def make(torch, name):
    function, sizes = NETWORKS[name]
    return function(torch, **sizes)
