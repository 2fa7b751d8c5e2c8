# SPDX-License-Identifier: Apache-2.0
"""Where streams begin: any iterable."""

import copy
import warnings
from facula.utils.data.datapipes.datapipe import IterDataPipe, length_of

__all__ = ["IterableWrapperIterDataPipe"]


class IterableWrapperIterDataPipe(IterDataPipe):
    """The elements of an iterable, of a deep copy of it in every iteration unless deepcopy=False."""

    def __init__(self, iterable, deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self):
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:  # a generator, an open file
                warnings.warn(
                    "The input iterable can not be deepcopied, please be aware of in-place modification would affect source data.", stacklevel=2
                )
        yield from source

    def __len__(self) -> int:
        return length_of(self.iterable, self)
