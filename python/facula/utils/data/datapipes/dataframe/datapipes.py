# SPDX-License-Identifier: Apache-2.0
"""Pipes of data frames."""

import collections
import itertools
import random

from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.dataframe import dataframe_wrapper as frames
from facula.utils.data.datapipes.datapipe import DFIterDataPipe, IterDataPipe

__all__ = [
    "ConcatDataFramesPipe", "DataFramesAsTuplesPipe", "ExampleAggregateAsDataFrames", "FilterDataFramesPipe", "PerRowDataFramesPipe",
    "ShuffleDataFramesPipe",
]  # fmt: skip


def _rows(source):
    """(number of rows of its frame, the frame of one row), for every row."""
    for frame in source:
        for i in range(frames.get_len(frame)):
            yield frames.get_len(frame), frames.get_item(frame, i)


def _in_frames(rows):
    """Frames of as many rows as the first had."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    size = first[0]
    rows = itertools.chain([first], rows)
    while some := [row for _, row in itertools.islice(rows, size)]:
        yield frames.concat(some)


@functional_datapipe("_dataframes_as_tuples")
class DataFramesAsTuplesPipe(IterDataPipe):
    """The rows of data frames as tuples."""

    def __init__(self, source_datapipe) -> None:
        self.source_datapipe = source_datapipe

    def __iter__(self):
        for frame in self.source_datapipe:
            yield from frames.iterate(frame)


@functional_datapipe("_dataframes_per_row", enable_df_api_tracing=True)
class PerRowDataFramesPipe(DFIterDataPipe):
    """A data frame for every row."""

    def __init__(self, source_datapipe) -> None:
        self.source_datapipe = source_datapipe

    def __iter__(self):
        for _, row in _rows(self.source_datapipe):
            yield row


@functional_datapipe("_dataframes_concat", enable_df_api_tracing=True)
class ConcatDataFramesPipe(DFIterDataPipe):
    """One data frame of batch data frames."""

    def __init__(self, source_datapipe, batch=3) -> None:
        self.source_datapipe, self.n_batch = source_datapipe, batch

    def __iter__(self):
        source = iter(self.source_datapipe)
        while some := list(itertools.islice(source, self.n_batch)):
            yield frames.concat(some)


@functional_datapipe("_dataframes_shuffle", enable_df_api_tracing=True)
class ShuffleDataFramesPipe(DFIterDataPipe):
    """All rows in random order, drawn by Python's generator."""

    def __init__(self, source_datapipe) -> None:
        self.source_datapipe = source_datapipe

    def __iter__(self):
        rows = list(_rows(self.source_datapipe))
        size = rows[0][0] if rows else 0
        random.shuffle(rows)
        yield from _in_frames((size, row) for _, row in rows)


@functional_datapipe("_dataframes_filter", enable_df_api_tracing=True)
class FilterDataFramesPipe(DFIterDataPipe):
    """The rows for which filter_fn is true, which gets them as tuples."""

    def __init__(self, source_datapipe, filter_fn) -> None:
        self.source_datapipe, self.filter_fn = source_datapipe, filter_fn

    def __iter__(self):
        yield from _in_frames((n, row) for n, row in _rows(self.source_datapipe) if self.filter_fn(next(iter(frames.iterate(row)))))


@functional_datapipe("_to_dataframes_pipe", enable_df_api_tracing=True)
class ExampleAggregateAsDataFrames(DFIterDataPipe):
    """Data frames of dataframe_size samples each, which are rows or numbers."""

    def __init__(self, source_datapipe, dataframe_size=10, columns=None) -> None:
        self.source_datapipe, self.dataframe_size, self.columns = source_datapipe, dataframe_size, columns

    def __iter__(self):
        source = iter(self.source_datapipe)
        while some := list(itertools.islice(source, self.dataframe_size)):
            rows = [x if isinstance(x, (list, tuple)) else [x] for x in some]
            yield frames.create_dataframe(rows, columns=self.columns)


class CollateColumns:
    """What collate(conversion={column: function}) does: a named tuple of what the functions make of a frame's columns."""

    def __init__(self, conversion):
        self.conversion, self.__name__ = dict(conversion), "collate_columns"

    def __call__(self, batch):
        parts = list(batch.raw_iterator()) if hasattr(batch, "raw_iterator") else [batch]
        if not parts or not all(frames.is_dataframe(p) for p in parts):
            raise TypeError(
                f"collate by columns works on batches of data frames, and got {type(batch).__name__}: make them with `_to_dataframes_pipe()` "
                "and `batch()`, or give collate a function"
            )
        frame = frames.concat(parts) if len(parts) > 1 else parts[0]
        columns = frames.get_columns(frame)
        left = [c for c in columns if c not in self.conversion]
        if left:
            raise RuntimeError(f"collate by columns needs a function for every column, and has none for {', '.join(map(str, left))}")
        return collections.namedtuple("CollateResult", columns)(*(self.conversion[c](frame[c]) for c in columns))
