# SPDX-License-Identifier: Apache-2.0
"""Samplers: in which order the keys of a dataset are drawn."""

import itertools
from typing import Generic, TypeVar

import facula as torch

_T_co = TypeVar("_T_co", covariant=True)


def random_seed(generator=None):
    """A seed drawn from the generator."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator).item())


def _check_positive(name, value):
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _check_bool(name, value, error=ValueError):
    if not isinstance(value, bool):
        raise error(f"{name} should be a boolean value, but got {name}={value}")


def lazily(keys):
    """The numbers of a tensor, a few thousand at a time as Python's: a list of all of them takes five times their room."""
    for part in keys.split(4096):
        yield from part.tolist()


class Sampler(Generic[_T_co]):
    """Subclasses have __iter__, over keys or lists of keys, and __len__ if they know it."""

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, … in order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All keys in random order, or num_samples keys drawn with replacement."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        _check_bool("replacement", replacement, TypeError)
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self):
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, wanted = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = torch.Generator().manual_seed(random_seed())
        if self.replacement:
            for _ in range(wanted // 32):  # so drawn by PyTorch
                yield from torch.randint(n, (32,), generator=generator).tolist()
            yield from torch.randint(n, (wanted % 32,), generator=generator).tolist()
        else:
            for _ in range(wanted // n):
                yield from lazily(torch.randperm(n, generator=generator))
            yield from lazily(torch.randperm(n, generator=generator)[: wanted % n])

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for i in lazily(torch.randperm(len(self.indices), generator=self.generator)):
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """num_samples keys, drawn in proportion to their weights."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_positive("num_samples", num_samples)
        _check_bool("replacement", replacement)
        self.weights = torch.as_tensor(weights, dtype=torch.double)
        if self.weights.dim() != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        yield from lazily(torch.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator))

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of batch_size keys of another sampler; the last may be shorter unless drop_last."""

    def __init__(self, sampler, batch_size, drop_last):
        _check_positive("batch_size", batch_size)
        _check_bool("drop_last", drop_last)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        keys = iter(self.sampler)
        while batch := list(itertools.islice(keys, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
