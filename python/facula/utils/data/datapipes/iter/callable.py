# SPDX-License-Identifier: Apache-2.0
"""Pipes that call a function for every sample."""

from collections.abc import Callable

from facula.utils.data._utils.collate import default_collate
from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.datapipe import IterDataPipe, length_of
from facula.utils.data.datapipes.utils.common import _check_unpickable_fn, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe):
    """fn of every sample. With input_col (a key, or a list of keys for as many arguments) fn gets parts of the sample, and
    its result takes their place, or the one at output_col; -1 appends it."""

    datapipe: IterDataPipe
    fn: Callable

    def __init__(self, datapipe: IterDataPipe, fn: Callable, input_col=None, output_col=None) -> None:
        _check_unpickable_fn(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) != 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        validate_input_col(fn, input_col)
        self.datapipe, self.fn, self.input_col, self.output_col = datapipe, fn, input_col, output_col

    def _apply_fn(self, data):
        if self.input_col is None:
            return self.fn(data)
        columns = list(self.input_col) if isinstance(self.input_col, (list, tuple)) else [self.input_col]
        result = self.fn(*(data[c] for c in columns))
        row = list(data) if isinstance(data, tuple) else data
        if self.output_col is None:
            row[columns[0]] = result
            for c in sorted(columns[1:], reverse=True):  # from behind, so that numbers stay right
                del row[c]
        elif self.output_col == -1:
            row.append(result)
        else:
            row[self.output_col] = result
        return tuple(row) if isinstance(data, tuple) else row

    def __iter__(self):
        for data in self.datapipe:
            yield self._apply_fn(data)

    def __len__(self) -> int:
        return length_of(self.datapipe, self)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches become tensors: by collate_fn, by a function as conversion, or by default_collate. A dict as conversion has
    the function of every column of a data frame."""

    def __init__(self, datapipe: IterDataPipe, conversion=default_collate, collate_fn: Callable | None = None) -> None:
        fn = collate_fn or conversion
        if not callable(fn):
            from facula.utils.data.datapipes.dataframe.datapipes import CollateColumns

            fn = CollateColumns(fn)
        super().__init__(datapipe, fn=fn)
