# SPDX-License-Identifier: Apache-2.0
"""torch.types: names for what functions take, for annotations."""

import os
import typing

from facula import _C
from facula._tensor import Tensor
from facula.storage import TypedStorage, UntypedStorage

__all__ = ["Number", "Device", "FileLike", "Storage"]

Number = typing.Union[int, float, bool]
Device = typing.Union[_C.device, str, int, None]
FileLike = typing.Union[str, "os.PathLike[str]", typing.IO[bytes]]
Storage = typing.Union[UntypedStorage, TypedStorage]

_int, _float, _bool, _complex = int, float, bool, complex
_dtype, _device, _layout, _memory_format = _C.dtype, _C.device, _C.layout, _C.memory_format
_size = typing.Union[_C.Size, list[int], tuple[int, ...]]
_symsize = _size
_dispatchkey = typing.Union[str, int]
_TensorOrTensors = typing.Union[Tensor, typing.Sequence[Tensor]]
_TensorOrTensorsOrGradEdge = _TensorOrTensors
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
