# SPDX-License-Identifier: Apache-2.0
"""Whole networks as modules; the same text runs on PyTorch and, under Facula's `torch`, on Facula.

NETWORKS names them. `make(name)` returns a step without arguments: an inference in eval mode under no_grad, or a training
step (forward, loss, backward, optimiser). A step returns a number by which two sides can be compared: the sum of what
was computed, or the loss. Weights and data come from one seed; dropout is left out, whose numbers differ by build.

    facula run benchmarks/networks.py        # every network at a size for tests: its name and the values of two steps
"""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.project, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.project(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A transformer's block: norms before the two branches (GPT-2, ViT) or after the sums (BERT)."""

    def __init__(self, width, heads, causal=False, norm_first=True, gelu="none", eps=1e-5):
        super().__init__()
        self.norm_first = norm_first
        self.attention = Attention(width, heads, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(gelu), nn.Linear(4 * width, width))
        self.norm1, self.norm2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)

    def forward(self, x):
        if self.norm_first:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class Bert(nn.Module):
    """BERT-base: encoder and pooler."""

    def __init__(self, width=768, heads=12, layers=12, words=30522, places=512):
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(words, width), nn.Embedding(places, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.blocks = nn.ModuleList(Block(width, heads, norm_first=False, eps=1e-12) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]] + self.kinds(torch.zeros_like(tokens))
        x = self.norm(x)
        for block in self.blocks:
            x = block(x)
        return torch.tanh(self.pooler(x[:, 0]))


class Gpt2(nn.Module):
    """GPT-2 small; the output's weights are the embedding's."""

    def __init__(self, width=768, heads=12, layers=12, words=50257, places=1024):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
        self.blocks = nn.ModuleList(Block(width, heads, causal=True, gelu="tanh") for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        nn.init.normal_(self.words.weight, std=0.02)
        self.head.weight = self.words.weight

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Vit(nn.Module):
    """ViT-S/16."""

    def __init__(self, size=224, patch=16, width=384, heads=6, layers=12, classes=1000):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads, eps=1e-6) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width, 1e-6), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


def unit(inputs, outputs, kernel, stride=1, groups=1, activation=nn.ReLU):
    """Convolution, batch norm and, unless it is None, an activation."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out")
    parts = [convolution, nn.BatchNorm2d(outputs)]
    return nn.Sequential(*parts, activation(inplace=True)) if activation else nn.Sequential(*parts)


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride, project):
        super().__init__()
        self.path = nn.Sequential(
            unit(inputs, width, 1), unit(width, width, 3, stride), unit(width, 4 * width, 1, activation=None)
        )
        self.shortcut = unit(inputs, 4 * width, 1, stride, activation=None) if project else nn.Identity()

    def forward(self, x):
        return F.relu(self.path(x) + self.shortcut(x), inplace=True)


class ResNet(nn.Module):
    """ResNet-50 with the stride in the 3 x 3 convolution."""

    def __init__(self, stages=((64, 3), (128, 4), (256, 6), (512, 3)), classes=1000):
        super().__init__()
        inputs, blocks = stages[0][0], []
        self.stem = nn.Sequential(unit(3, inputs, 7, 2), nn.MaxPool2d(3, 2, 1))
        for number, (width, count) in enumerate(stages):
            for i in range(count):
                blocks.append(Bottleneck(inputs, width, 2 if i == 0 and number > 0 else 1, project=i == 0))
                inputs = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, classes)

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class Squeeze(nn.Module):
    """Squeeze and excitation: channels are weighed by what they hold on average."""

    def __init__(self, channels, inner):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.down, self.up = nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.up(F.relu(self.down(self.pool(x)), inplace=True)))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, kernel, inner, outputs, squeeze, activation, stride):
        super().__init__()
        parts = [unit(inputs, inner, 1, activation=activation)] if inner != inputs else []
        parts.append(unit(inner, inner, kernel, stride, groups=inner, activation=activation))
        if squeeze:
            parts.append(Squeeze(inner, eighth(inner // 4)))
        parts.append(unit(inner, outputs, 1, activation=None))
        self.path, self.adds = nn.Sequential(*parts), stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.path(x) if self.adds else self.path(x)


def eighth(n):
    """The multiple of eight next to n, not under nine tenths of it."""
    rounded = max(8, (n + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * n else rounded + 8


class MobileNet(nn.Module):
    """MobileNet-V3 large: (kernel, inner channels, channels, squeezes, hard swish, stride) of each block."""

    BLOCKS = (
        (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1), (5, 72, 40, True, False, 2),
        (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1), (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1),
        (3, 184, 80, False, True, 1), (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
        (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1),
    )  # fmt: skip

    def __init__(self, blocks=BLOCKS, head=1280, classes=1000):
        super().__init__()
        inputs = 16
        parts = [unit(3, inputs, 3, 2, activation=nn.Hardswish)]
        for kernel, inner, outputs, squeeze, swish, stride in blocks:
            activation = nn.Hardswish if swish else nn.ReLU
            parts.append(InvertedResidual(inputs, kernel, inner, outputs, squeeze, activation, stride))
            inputs = outputs
        parts.append(unit(inputs, 6 * inputs, 1, activation=nn.Hardswish))
        self.features, self.pool = nn.Sequential(*parts), nn.AdaptiveAvgPool2d(1)
        self.head = nn.Sequential(nn.Linear(6 * inputs, head), nn.Hardswish(inplace=True), nn.Linear(head, classes))

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.features(x)), 1))


class UNet(nn.Module):
    """U-Net with batch norm and padded convolutions; answers with a class per pixel."""

    def __init__(self, width=32, depth=4, classes=2):
        super().__init__()
        widths = [width << i for i in range(depth + 1)]
        pairs = list(zip([3, *widths[:-1]], widths, strict=True))
        self.down = nn.ModuleList(self.double(a, b) for a, b in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in pairs[:0:-1])
        self.merge = nn.ModuleList(self.double(2 * a, a) for a, _ in pairs[:0:-1])
        self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(width, classes, 1)

    @staticmethod
    def double(inputs, outputs):
        return nn.Sequential(unit(inputs, outputs, 3), unit(outputs, outputs, 3))

    def forward(self, x):
        kept = []
        for number, block in enumerate(self.down):
            x = block(self.pool(x) if number else x)
            kept.append(x)
        kept.pop()
        for up, merge in zip(self.up, self.merge, strict=True):
            x = merge(torch.cat((kept.pop(), up(x)), 1))
        return self.head(x)


class LanguageModel(nn.Module):
    """A two-layer LSTM over words, of the size that is called medium for the Penn Treebank."""

    def __init__(self, words=10000, width=650, layers=2):
        super().__init__()
        self.words, self.lstm = nn.Embedding(words, width), nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        return self.head(self.lstm(self.words(tokens))[0])


# --- data: what a network reads, and what its answers are compared with
def words_of(batch, length, words, **_):
    tokens = torch.randint(0, words, (batch, length + 1))
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def sentences_of(batch, length, words, width, **_):
    return torch.randint(0, words, (batch, length)), torch.randint(0, width, (batch,))


def pictures_of(batch, size, classes, **_):
    return torch.randn(batch, 3, size, size), torch.randint(0, classes, (batch,))


def pixels_of(batch, size, classes, **_):
    return torch.randn(batch, 3, size, size), torch.randint(0, classes, (batch, size, size))


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=1e-2, momentum=0.9)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-4)


# name: (network, what it is built with, data, what that is built with beyond, optimiser of a training step or None)
BERT, GPT2, WORDS = dict(words=30522, width=768), dict(words=50257), dict(words=10000)
PICTURES, PIXELS = dict(size=224, classes=1000), dict(size=256, classes=2)
NETWORKS = {
    "BERT-base 1x128": (Bert, BERT, sentences_of, dict(batch=1, length=128), None),
    "BERT-base 8x128": (Bert, BERT, sentences_of, dict(batch=8, length=128), None),
    "BERT-base 2x128 train": (Bert, BERT, sentences_of, dict(batch=2, length=128), adamw),
    "GPT-2 1x256": (Gpt2, GPT2, words_of, dict(batch=1, length=256), None),
    "GPT-2 2x128 train": (Gpt2, GPT2, words_of, dict(batch=2, length=128), adamw),
    "ViT-S 1": (Vit, {}, pictures_of, dict(batch=1, **PICTURES), None),
    "ViT-S 8 train": (Vit, {}, pictures_of, dict(batch=8, **PICTURES), adamw),
    "ResNet-50 1": (ResNet, {}, pictures_of, dict(batch=1, **PICTURES), None),
    "ResNet-50 8": (ResNet, {}, pictures_of, dict(batch=8, **PICTURES), None),
    "ResNet-50 8 train": (ResNet, {}, pictures_of, dict(batch=8, **PICTURES), sgd),
    "MobileNet-V3 1": (MobileNet, {}, pictures_of, dict(batch=1, **PICTURES), None),
    "MobileNet-V3 8 train": (MobileNet, {}, pictures_of, dict(batch=8, **PICTURES), sgd),
    "U-Net 1": (UNet, {}, pixels_of, dict(batch=1, **PIXELS), None),
    "U-Net 2 train": (UNet, {}, pixels_of, dict(batch=2, **PIXELS), sgd),
    "LSTM 20x35": (LanguageModel, WORDS, words_of, dict(batch=20, length=35), None),
    "LSTM 20x35 train": (LanguageModel, WORDS, words_of, dict(batch=20, length=35), sgd),
}  # fmt: skip
TINY = {  # the same modules in a blink, for tests: what replaces the sizes above
    Bert: (dict(words=50, width=16, heads=2, layers=2), dict(batch=3, length=6)),
    Gpt2: (dict(words=50, width=16, heads=2, layers=2), dict(batch=2, length=6)),
    Vit: (dict(size=32, width=16, heads=2, layers=2, classes=5), dict(batch=2, size=32, classes=5)),
    ResNet: (dict(stages=((4, 1), (8, 2)), classes=5), dict(batch=2, size=32, classes=5)),
    MobileNet: (dict(blocks=MobileNet.BLOCKS[3:6], head=8, classes=5), dict(batch=2, size=32, classes=5)),
    UNet: (dict(width=4, depth=2), dict(batch=2, size=16, classes=2)),
    LanguageModel: (dict(words=50, width=16), dict(batch=3, length=5)),
}


def make(name, tiny=False):
    network, sizes, data, data_sizes, optimiser = NETWORKS[name]
    if tiny:
        sizes, data_sizes = TINY[network]
    torch.manual_seed(0)
    model = network(**sizes).train(optimiser is not None)
    x, target = data(**{**sizes, **data_sizes})

    def infer():
        with torch.no_grad():
            return model(x).sum().item()

    def train():
        answers = model(x)
        if target.dim() == 2:  # a class per word: [batch, length, classes]
            answers = answers.flatten(0, 1)
        loss = F.cross_entropy(answers, target.flatten() if target.dim() == 2 else target)
        update.zero_grad()
        loss.backward()
        update.step()
        return loss.item()

    if optimiser is None:
        return infer
    update = optimiser(model.parameters())
    return train


if __name__ == "__main__":
    for name in NETWORKS:
        step = make(name, tiny=True)
        print(name, step(), step(), sep="\t")
