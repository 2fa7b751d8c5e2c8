# SPDX-License-Identifier: Apache-2.0
"""Pipes that are streams."""

from facula.utils.data.datapipes.iter.callable import CollatorIterDataPipe as Collator, MapperIterDataPipe as Mapper
from facula.utils.data.datapipes.iter.combinatorics import SamplerIterDataPipe as Sampler, ShufflerIterDataPipe as Shuffler
from facula.utils.data.datapipes.iter.combining import (
    ConcaterIterDataPipe as Concater,
    DemultiplexerIterDataPipe as Demultiplexer,
    ForkerIterDataPipe as Forker,
    MultiplexerIterDataPipe as Multiplexer,
    ZipperIterDataPipe as Zipper,
)
from facula.utils.data.datapipes.iter.filelister import FileListerIterDataPipe as FileLister
from facula.utils.data.datapipes.iter.fileopener import FileOpenerIterDataPipe as FileOpener
from facula.utils.data.datapipes.iter.grouping import BatcherIterDataPipe as Batcher, GrouperIterDataPipe as Grouper, UnBatcherIterDataPipe as UnBatcher
from facula.utils.data.datapipes.iter.routeddecoder import RoutedDecoderIterDataPipe as RoutedDecoder
from facula.utils.data.datapipes.iter.selecting import FilterIterDataPipe as Filter
from facula.utils.data.datapipes.iter.sharding import ShardingFilterIterDataPipe as ShardingFilter
from facula.utils.data.datapipes.iter.streamreader import StreamReaderIterDataPipe as StreamReader
from facula.utils.data.datapipes.iter.utils import IterableWrapperIterDataPipe as IterableWrapper

__all__ = [
    "Batcher", "Collator", "Concater", "Demultiplexer", "FileLister", "FileOpener", "Filter", "Forker", "Grouper", "IterableWrapper",
    "Mapper", "Multiplexer", "RoutedDecoder", "Sampler", "ShardingFilter", "Shuffler", "StreamReader", "UnBatcher", "Zipper",
]  # fmt: skip
