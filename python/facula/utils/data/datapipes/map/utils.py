# SPDX-License-Identifier: Apache-2.0
"""Where pipes of samples by key begin: a sequence or a mapping."""

import copy
import warnings

from facula.utils.data.datapipes.datapipe import MapDataPipe

__all__ = ["SequenceWrapperMapDataPipe"]


class SequenceWrapperMapDataPipe(MapDataPipe):
    """The elements of a sequence or mapping, of a deep copy of it unless deepcopy=False."""

    def __init__(self, sequence, deepcopy: bool = True) -> None:
        if deepcopy:
            try:
                sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "The input sequence can not be deepcopied, please be aware of in-place modification would affect source data", stacklevel=2
                )
        self.sequence = sequence

    def __getitem__(self, index):
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)
