# SPDX-License-Identifier: Apache-2.0
"""torch.utils: what lies beside the framework proper."""
from facula.utils import _python_dispatch, dlpack

__all__ = ["dlpack"]
