# SPDX-License-Identifier: Apache-2.0
"""Functions whose plans record_executor.py takes down, and what they are called with."""

from typing import Optional

import torch


def pointwise(x, y):
    z = x * y + 2
    return torch.relu(z)


def inner(x):
    return torch.sigmoid(x) * 2


def calls(x):
    return inner(x) + inner(x + 1)


def branches(x, n: int):
    y = x
    for i in range(n):
        if bool(y.sum() > 3):
            y = y * x
        else:
            y = y + x
    return y.tanh()


def sizes(x, y):
    n = x.size(0)
    return (x.t() @ y).view(-1) * n


def lists(x, y):
    items = [x, y]
    items.append(x * 2)
    return torch.cat(items).relu(), len(items)


def maybe(x, y: Optional[torch.Tensor] = None):
    if y is not None:
        return x + y
    return x * 2


def grows(x):
    y = x
    for i in range(3):
        y = torch.cat([y, x]).relu()
    return y


def in_place(x):
    y = x * 2
    y.add_(1)
    return y.relu() * 3


def several(x, y):
    a = x * y
    b = a.tanh()
    return a, b


def broadcast(x, y, z):
    return x * y + z


def chooses(x, y, c: bool):
    z = x if c else y
    return z


def chunks(x):
    a, b = x.chunk(2, 0)
    return a.sigmoid() * b


def products(b, x, w):
    return torch.addmm(b, x, w)


def sums(xs: list[torch.Tensor]):
    s = xs[0]
    for x in xs:
        s = s + x
    return s


def views(x):
    return x.t().unsqueeze(0)


def dead(x):
    y = x * 2
    z = torch.exp(x)  # noqa: F841
    return y


def numbers(n: int, m: int):
    k = n * m
    while k > 10:
        k = k - n
    return k


ones = torch.ones
CASES = [
    (pointwise, lambda: (ones(2, 3), ones(2, 3))),
    (calls, lambda: (ones(4),)),
    (branches, lambda: (ones(3), 2)),
    (sizes, lambda: (ones(2, 3), ones(2, 4))),
    (lists, lambda: (ones(2, 2), ones(3, 2))),
    (maybe, lambda: (ones(2), None)),
    (grows, lambda: (ones(2),)),
    (in_place, lambda: (ones(2),)),
    (several, lambda: (ones(2), ones(2))),
    (broadcast, lambda: (ones(2), ones(3, 2), ones(1))),
    (chooses, lambda: (ones(2), ones(2), True)),
    (chunks, lambda: (ones(4),)),
    (products, lambda: (ones(4), ones(2, 3), ones(3, 4))),
    (sums, lambda: ([ones(2), ones(2)],)),
    (views, lambda: (ones(2, 3),)),
    (dead, lambda: (ones(2),)),
    (numbers, lambda: (5, 7)),
]
