# SPDX-License-Identifier: Apache-2.0
"""A pipe that leaves samples out."""

from collections.abc import Callable

from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.datapipe import IterDataPipe
from facula.utils.data.datapipes.utils.common import _check_unpickable_fn, validate_input_col

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples for which filter_fn is true; with input_col it gets parts of the sample."""

    datapipe: IterDataPipe
    filter_fn: Callable

    def __init__(self, datapipe: IterDataPipe, filter_fn: Callable, input_col=None) -> None:
        _check_unpickable_fn(filter_fn)
        validate_input_col(filter_fn, input_col)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def _is_wanted(self, data):
        if self.input_col is None:
            answer = self.filter_fn(data)
        elif isinstance(self.input_col, (list, tuple)):
            answer = self.filter_fn(*(data[c] for c in self.input_col))
        else:
            answer = self.filter_fn(data[self.input_col])
        if not isinstance(answer, bool):
            raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(answer))
        return answer

    def __iter__(self):
        for data in self.datapipe:
            if self._is_wanted(data):
                yield data
