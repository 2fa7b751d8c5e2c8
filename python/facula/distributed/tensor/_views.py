# SPDX-License-Identifier: Apache-2.0
"""Rules of views: which dimension of the result is the dimension that is cut."""

from collections.abc import Iterator

import facula
from facula.distributed.tensor._dispatch import Call, Strategy
from facula.distributed.tensor._utils import compute_local_shape
from facula.distributed.tensor.placement_types import Shard

__all__ = ["RESHAPES", "complex_numbers", "groups", "reshape", "strided"]

RESHAPES = frozenset("view reshape _unsafe_view flatten unflatten ravel expand _reshape_alias".split())
_PRIMES = (10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079, 10091, 10093, 10099, 10103, 10111, 10133, 10139, 10141)


def _sums(call: Call) -> Iterator[Strategy]:
    """A view of a sum is the sum of the views."""
    for p in call.partials():
        yield Strategy(p, dict.fromkeys(call.at, p))


def groups(source: list[int], target: list[int]) -> list[tuple[list[int], list[int]]]:
    """Dimensions of two shapes of one number of elements, in groups of equal products."""
    found, i, j = [], 0, 0
    while i < len(source) or j < len(target):
        a, b = [], []
        m = n = 1
        if i < len(source):
            m, a, i = source[i], [i], i + 1
        if j < len(target):
            n, b, j = target[j], [j], j + 1
        while m != n:
            if (m < n and i < len(source)) or j >= len(target):
                m, i = m * source[i], i + 1
                a.append(i - 1)
            else:
                n, j = n * target[j], j + 1
                b.append(j - 1)
        found.append((a, b))
    return found


def reshape(call: Call) -> Iterator[Strategy]:
    """A cut dimension stays cut where it is the outermost of those that are joined, and becomes the outermost of those that it
    is taken apart into."""
    x, out = call.geometry("self"), call.results[0]
    if x is None or 0 in x.shape or isinstance(call["size"], facula.dtype) or isinstance(call["dtype"], facula.dtype):
        return
    if call.func._opname == "expand":
        new = out.dim() - x.dim()
        pairs = [(i, i + new) for i in range(x.dim()) if x.shape[i] == out.shape[i + new]]
    else:
        pairs = []
        for a, b in groups(list(x.shape), list(out.shape)):
            a, b = [i for i in a if x.shape[i] > 1], [j for j in b if out.shape[j] > 1]
            if not a or not b:
                continue
            if (len(a) == len(b) == 1) or (call.even(x.shape[a[0]]) and call.even(out.shape[b[0]])):
                pairs.append((a[0], b[0]))
    call.local = _of_local_shape
    for i, j in pairs:
        yield Strategy(Shard(j), {"self": Shard(i)})
    yield from _sums(call)


def _of_local_shape(call: Call):
    shape = compute_local_shape(call.results[0].shape, call.mesh, call.outs[0])
    if call.func._opname == "expand":
        return lambda x, *args, **kwargs: x.expand(shape)
    return lambda x, *args, **kwargs: x.reshape(shape)


def strided(call: Call) -> Iterator[Strategy]:
    """Views that order, take away or add dimensions: which is which, strides that are primes show."""
    name = next(iter(call.at))
    x = call.geometry(name)
    if call.func._opname == "squeeze":
        call.local = _squeezed
    if len(call.tensors) > 1 or x.dim() > len(_PRIMES):
        return
    primes = list(_PRIMES[: x.dim()])
    probe = facula.empty_strided(x.shape, primes, device="meta")
    if any(p.kwarg_only for p in call.func._schema.arguments):
        return
    try:
        found = call.func(*(probe if v is x else v for v in call.values.values()))
    except RuntimeError:  # a view that these strides do not allow
        return
    found = found if isinstance(found, (list, tuple)) else [found]
    for i, prime in enumerate(primes):
        if x.shape[i] <= 1:
            continue
        places = []
        for out in found:
            same = [j for j, s in enumerate(out.stride()) if s == prime and out.shape[j] == x.shape[i]]
            others = [j for j, s in enumerate(out.stride()) if s % prime == 0 and out.shape[j] > 1]
            places.append(same[0] if len(same) == 1 and others == same else None)
        if None not in places:
            yield Strategy(tuple(map(Shard, places)), {name: Shard(i)})
    yield from _sums(call)


def _squeezed(call: Call):
    """A part may have one element in a dimension where the whole has more."""
    x, given = call.geometry("self"), call["dim"]
    dims = range(x.dim()) if given is None else given if isinstance(given, (list, tuple)) else [given]
    single = [d for d in dims if x.dim() and x.shape[d] == 1]
    return lambda part, *args: part.squeeze(single)


def complex_numbers(call: Call) -> Iterator[Strategy]:
    """Numbers and pairs of numbers: the last dimension of the pairs stays whole."""
    x, out = call.geometry("self"), call.results[0]
    for d in range(min(x.dim(), out.dim())):
        yield Strategy(Shard(d), {"self": Shard(d)})
    yield from _sums(call)
