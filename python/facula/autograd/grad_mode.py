# SPDX-License-Identifier: Apache-2.0
"""Where programs import the grad modes from."""

from facula.autograd.forward_modes import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__all__ = ["no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "set_multithreading_enabled", "enforce_grad_layout_policy"]
