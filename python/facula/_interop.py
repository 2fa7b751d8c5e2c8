# SPDX-License-Identifier: Apache-2.0
"""NumPy, loaded when it is first needed."""
from facula import _C

_ARRAY_TYPES = {
    "uint8": "u1", "int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "float16": "f2", "float32": "f4",
    "float64": "f8", "complex64": "c8", "complex128": "c16", "bool": "b1", "uint16": "u2", "uint32": "u4", "uint64": "u8",
}  # fmt: skip


def to_numpy(tensor, force=False):
    import numpy

    if _C._is_tracing():
        _C._warn_of_value("Converting a tensor to a NumPy array")
    if force:
        tensor = tensor.detach().cpu()
    if tensor.requires_grad and _C.is_grad_enabled():
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if tensor.device.type != "cpu":
        raise TypeError(
            f"can't convert {tensor.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    if tensor.layout is not _C.strided:
        raise TypeError(f"can't convert a {tensor.layout} tensor to numpy. Use Tensor.to_dense() first.")
    code = _ARRAY_TYPES.get(str(tensor.dtype).removeprefix("torch."))
    if code is None:
        raise TypeError(f"Got unsupported ScalarType {_scalar_name(tensor.dtype)}")
    if tensor.numel() == 0:
        return numpy.empty(tuple(tensor.shape), dtype=code)
    return numpy.asarray(_C._lend(tensor))


def _scalar_name(dtype):
    return {"bfloat16": "BFloat16", "complex32": "ComplexHalf"}.get(str(dtype).removeprefix("torch."), str(dtype))
