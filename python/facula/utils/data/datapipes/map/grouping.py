# SPDX-License-Identifier: Apache-2.0
"""A pipe that makes batches."""


from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.datapipe import DataChunk, MapDataPipe, length_of

__all__ = ["BatcherMapDataPipe"]


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe):
    """Lists of batch_size samples; the last may be shorter unless drop_last."""

    datapipe: MapDataPipe
    batch_size: int
    drop_last: bool

    def __init__(self, datapipe: MapDataPipe, batch_size: int, drop_last: bool = False, wrapper_class: type = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = datapipe, batch_size, drop_last, wrapper_class

    def __getitem__(self, index):
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        first = index * self.batch_size
        last = min(first + self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[i] for i in range(first, last)])

    def __len__(self) -> int:
        n = length_of(self.datapipe, self)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
