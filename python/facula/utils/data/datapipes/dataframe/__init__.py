# SPDX-License-Identifier: Apache-2.0
"""Pipes of data frames, a prototype of PyTorch's; they need pandas."""

from facula.utils.data.datapipes.dataframe.dataframes import CaptureDataFrame, DFIterDataPipe
from facula.utils.data.datapipes.dataframe.datapipes import DataFramesAsTuplesPipe

__all__ = ["CaptureDataFrame", "DFIterDataPipe", "DataFramesAsTuplesPipe"]
