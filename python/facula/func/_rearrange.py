# SPDX-License-Identifier: Apache-2.0
"""Dimensions by name: `rearrange(x, "b (h p) c -> b h (p c)", h=2)`."""

import math
import re

import facula as torch

_TOKEN = re.compile(r"\s*(\(|\)|\.\.\.|[A-Za-z_]\w*|\d+|\S)")


def _names(side, pattern):
    """The dimensions of one side: tuples of one name ("..." is one) or none (1), lists of the names in brackets."""
    groups, open_ = [], None
    for token in _TOKEN.findall(side):
        if token == "(":
            if open_ is not None:
                raise ValueError(f"rearrange: brackets inside of brackets in '{pattern}'")
            open_ = []
        elif token == ")":
            if open_ is None:
                raise ValueError(f"rearrange: a bracket that was not opened in '{pattern}'")
            groups.append(open_)
            open_ = None
        else:
            if token.isdigit() and token != "1":
                raise ValueError(f"rearrange: the only number that a pattern may have is 1, got '{pattern}'")
            if token not in ("...", "1") and not (token.isidentifier() and token[0] != "_" and token[-1] != "_"):
                raise ValueError(f"Invalid axis identifier: {token}\naxis name should not start or end with underscore")
            name = [] if token == "1" else [token]
            if open_ is None:
                groups.append(tuple(name))
            else:
                open_ += name
    if open_ is not None:
        raise ValueError(f"rearrange: a bracket that is not closed in '{pattern}'")
    flat = [n for group in groups for n in group]
    for n in flat:
        if flat.count(n) > 1:
            raise ValueError(f"Indexing expression contains duplicate dimension '{n}'")
    return groups


def _sizes(group, size, known):
    """The sizes of the names of one dimension, of which one may be unknown."""
    unknown = [n for n in group if n not in known]
    rest = math.prod(known[n] for n in group if n in known)
    if len(unknown) > 1:
        raise ValueError(f"rearrange: cannot infer the sizes of {' and '.join(unknown)} at once: give all but one of them")
    if (rest == 0 or size % rest) if unknown else size != rest:
        raise ValueError(f"rearrange: a dimension of {size} does not divide into ({' '.join(group)}) with {rest} of it known")
    return [known[n] if n in known else size // rest for n in group]


def rearrange(tensor, pattern, **axes_lengths):
    """The tensor with its dimensions permuted, joined and split: names on the left are its dimensions, those in brackets
    parts of one; on the right they stand as they shall. "..." is the dimensions in between, 1 one of that size. A list of
    tensors is stacked first. axes_lengths: sizes of parts."""
    x = torch.stack(list(tensor)) if isinstance(tensor, (list, tuple)) else tensor
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"rearrange: expected a tensor or a list of tensors, got {type(tensor).__name__}")
    if pattern.count("->") != 1:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = (_names(side, pattern) for side in pattern.split("->"))
    names = [n for group in left for n in group]
    wanted = [n for group in right for n in group]
    if one_sided := set(names) ^ set(wanted):
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {one_sided}")
    if strange := set(axes_lengths) - set(names):
        raise ValueError(f"Identifiers not found in rearrange expression: {strange}")
    if "..." in names:
        if ("...",) not in left:
            raise ValueError("rearrange: '...' may stand in brackets on the right only")
        between = x.dim() - len(left) + 1
    else:
        between = 0
    if between < 0 or ("..." not in names and len(left) != x.dim()):
        raise ValueError(
            f"Number of dimensions in pattern ({len(left)}) must be equal to the number of dimensions in the tensor ({x.dim()})"
        )
    dots = [f"...{i}" for i in range(between)]

    def spelled(groups):
        for group in groups:
            if group == ("...",):
                yield from ([n] for n in dots)
            else:
                yield [m for n in group for m in (dots if n == "..." else [n])]

    parts, order = [], []
    for group, size in zip(spelled(left), x.shape, strict=True):
        parts += _sizes(group, size, axes_lengths)
        order += group
    sizes = dict(zip(order, parts, strict=True))
    target = list(spelled(right))
    permuted = x.reshape(parts).permute([order.index(n) for group in target for n in group])
    return permuted.reshape([math.prod(sizes[n] for n in group) for group in target])
