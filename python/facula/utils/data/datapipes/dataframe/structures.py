# SPDX-License-Identifier: Apache-2.0
"""A batch of data frames."""

from facula.utils.data.datapipes.dataframe import dataframe_wrapper as frames
from facula.utils.data.datapipes.datapipe import DataChunk

__all__ = ["DataChunkDF"]


class DataChunkDF(DataChunk):
    """Data frames, as one list of their rows; raw_iterator gives the frames."""

    def __iter__(self):
        for frame in self.items:
            yield from frames.iterate(frame)

    def __len__(self) -> int:
        return sum(frames.get_len(frame) for frame in self.items)
