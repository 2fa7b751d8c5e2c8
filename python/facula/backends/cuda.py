# SPDX-License-Identifier: Apache-2.0
"""Whether this build has CUDA code, and switches of CUDA's libraries, which keep what they are set to."""

import contextlib
import types

from facula import __config__, _missing

matmul = types.SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True,
                               allow_fp16_accumulation=False, fp32_precision="none")  # fmt: skip
_kernels = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}  # of scaled_dot_product_attention on CUDA


def is_built():
    """Whether this build has CUDA code."""
    return __config__.rows()["libraries"].get("CUDA", "no") != "no"


def _switch(kernel):
    def enabled():
        return _kernels[kernel]

    def enable(enabled: bool):
        _kernels[kernel] = bool(enabled)

    enabled.__doc__, enable.__doc__ = f"Whether attention on CUDA may use the {kernel} kernel.", f"Lets attention on CUDA use the {kernel} kernel, or not."
    return enabled, enable


flash_sdp_enabled, enable_flash_sdp = _switch("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient")
math_sdp_enabled, enable_math_sdp = _switch("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn")


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Which kernels attention on CUDA may use, for a `with`."""
    before = dict(_kernels)
    _kernels.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _kernels.update(before)


def is_flash_attention_available():
    """Whether this build has the flash kernel for CUDA: no."""
    return False


__getattr__ = _missing.missing(__name__)
