# SPDX-License-Identifier: Apache-2.0
"""Pipes of samples by key."""

from facula.utils.data.datapipes.map.callable import MapperMapDataPipe as Mapper
from facula.utils.data.datapipes.map.combinatorics import ShufflerIterDataPipe as Shuffler
from facula.utils.data.datapipes.map.combining import ConcaterMapDataPipe as Concater, ZipperMapDataPipe as Zipper
from facula.utils.data.datapipes.map.grouping import BatcherMapDataPipe as Batcher
from facula.utils.data.datapipes.map.utils import SequenceWrapperMapDataPipe as SequenceWrapper

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]
