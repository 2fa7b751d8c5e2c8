# SPDX-License-Identifier: Apache-2.0
"""The mean as it is, or sent in 16 bits; each for DistributedDataParallel.register_comm_hook."""

from collections.abc import Callable

import facula
from facula.distributed import distributed_c10d as c10d
from facula.futures import Future

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper"]


def allreduce_hook(process_group, bucket) -> Future:
    """The mean of the gradients, as without a hook."""
    group = process_group if process_group is not None else c10d._get_default_group()
    tensor = bucket.buffer().div_(group.size())
    return c10d.all_reduce(tensor, group=group, async_op=True).get_future().then(lambda f: f.value()[0])


def _compressed(dtype: facula.dtype, process_group, bucket) -> Future:
    group = process_group if process_group is not None else c10d._get_default_group()
    sent = bucket.buffer().to(dtype).div_(group.size())

    def widen(future: Future) -> facula.Tensor:
        with facula.no_grad():
            return bucket.buffer().copy_(future.value()[0])

    return c10d.all_reduce(sent, group=group, async_op=True).get_future().then(widen)


def fp16_compress_hook(process_group, bucket) -> Future:
    """The mean, sent as float16."""
    return _compressed(facula.float16, process_group, bucket)


def bf16_compress_hook(process_group, bucket) -> Future:
    """The mean, sent as bfloat16."""
    return _compressed(facula.bfloat16, process_group, bucket)


def _wrapper(dtype: facula.dtype, hook: Callable) -> Callable:
    def wrapped(state: object, bucket) -> Future:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))

        def widen(future: Future) -> facula.Tensor:
            value = future.value()
            with facula.no_grad():
                return buffer.copy_(value[0] if isinstance(value, (list, tuple)) else value)

        return hook(state, bucket).then(widen)

    return wrapped


def fp16_compress_wrapper(hook: Callable) -> Callable:
    """Another hook, which sees the gradients as float16."""
    return _wrapper(facula.float16, hook)


def bf16_compress_wrapper(hook: Callable) -> Callable:
    """Another hook, which sees the gradients as bfloat16."""
    return _wrapper(facula.bfloat16, hook)
