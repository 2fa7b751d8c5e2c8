# SPDX-License-Identifier: Apache-2.0
"""torch.utils: what lies beside the framework proper."""
from facula.utils import _python_dispatch, dlpack

__all__ = ["dlpack"]


def __getattr__(name: str):
    raise AttributeError(f"module 'facula.utils' has no attribute '{name}': this part of torch does not exist here (yet)")
