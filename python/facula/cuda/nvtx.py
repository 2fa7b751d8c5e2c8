# SPDX-License-Identifier: Apache-2.0
"""torch.cuda.nvtx: marks for NVIDIA's profilers. This build has no CUDA, and says so as PyTorch's CPU build does."""

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _absent(name):
    def function(*args, **kwargs):
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")

    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = __name__, "Needs CUDA: raises RuntimeError."
    return function


mark, range_end, range_pop, range_push, range_start = map(_absent, ("mark", "range_end", "range_pop", "range_push", "range_start"))
range = _absent("range")
