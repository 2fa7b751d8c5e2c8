# SPDX-License-Identifier: Apache-2.0
"""Pipes that choose the order."""

import random
from collections.abc import Sized

from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.datapipe import IterDataPipe, length_of
from facula.utils.data.sampler import Sampler, SequentialSampler, random_seed

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe):
    """What a sampler draws, which gets the source as data_source."""

    datapipe: IterDataPipe
    sampler: Sampler

    def __init__(
        self,
        datapipe: IterDataPipe,
        sampler: type[Sampler] = SequentialSampler,
        sampler_args: tuple | None = None,
        sampler_kwargs: dict | None = None,
    ) -> None:
        if not isinstance(datapipe, Sized):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        self.datapipe, self.sampler_args = datapipe, sampler_args or ()
        self.sampler_kwargs = {**(sampler_kwargs or {}), "data_source": datapipe}
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self):
        return iter(self.sampler)

    def __len__(self) -> int:
        return length_of(self.sampler, self)


class RandomOrder:
    """What pipes share whose order is drawn: a seed for the next iteration, and a switch."""

    def _start_random(self):
        self._enabled, self._seed, self._rng = True, None, random.Random()

    def set_shuffle(self, shuffle=True):
        """Switches shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int):
        """The seed of the next iteration. Those after it draw their own from torch's generator."""
        self._seed = seed
        return self

    def _seed_order(self):
        if self._enabled:
            self._rng.seed(random_seed() if self._seed is None else self._seed)
            self._seed = None


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(RandomOrder, IterDataPipe):
    """Samples in random order: each is drawn from a buffer of buffer_size, which the next of the source refills.
    unbatch_level: takes that many levels of batches apart before."""

    datapipe: IterDataPipe
    buffer_size: int
    _running = (*IterDataPipe._running, "_buffer")

    def __init__(self, datapipe: IterDataPipe, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size = buffer_size
        self._start_random()

    def reset(self) -> None:
        self._buffer = []
        self._seed_order()

    def __iter__(self):
        if not self._enabled:
            yield from self.datapipe
            return
        buffer, draw = self._buffer, self._rng.randint
        for sample in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
            else:
                i = draw(0, len(buffer) - 1)
                buffer[i], sample = sample, buffer[i]
                yield sample
        while buffer:
            yield buffer.pop(draw(0, len(buffer) - 1))

    def __len__(self) -> int:
        return length_of(self.datapipe, self)
