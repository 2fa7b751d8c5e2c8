# SPDX-License-Identifier: Apache-2.0
"""A pipe that decodes files by the extension of their names."""

import warnings
from collections.abc import Callable, Iterable

from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.datapipe import IterDataPipe, length_of
from facula.utils.data.datapipes.utils.common import _check_unpickable_fn, validate_pathname_binary_tuple
from facula.utils.data.datapipes.utils.decoder import Decoder, basichandlers, extension_extract_fn, imagehandler

__all__ = ["RoutedDecoderIterDataPipe"]


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe):
    """Pairs of a name and the decoded content of its stream: by the first handler that knows the extension. Without
    handlers basichandlers, and pictures as tensors."""

    def __init__(self, datapipe: Iterable, *handlers: Callable, key_fn: Callable = extension_extract_fn) -> None:
        warnings.warn(
            "`RoutedDecoderIterDataPipe()` and its functional API `.routed_decode()` are deprecated since 1.12 and will be removed in 1.13.",
            FutureWarning,
            stacklevel=2,
        )
        _check_unpickable_fn(key_fn)
        self.datapipe = datapipe
        self.decoder = Decoder(*(handlers or (basichandlers, imagehandler("torch"))), key_fn=key_fn)

    def add_handler(self, *handler: Callable) -> None:
        """Handlers that are asked before the others."""
        self.decoder.add_handler(*handler)

    def __iter__(self):
        for data in self.datapipe:
            validate_pathname_binary_tuple(data)
            yield data[0], self.decoder(data)[data[0]]

    def __len__(self) -> int:
        return length_of(self.datapipe, self)
