# SPDX-License-Identifier: Apache-2.0
"""torch.func: functions from functions: their derivatives, and their calls on many samples."""

from facula import _missing
from facula.func._grad import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from facula.func._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from facula.func._rearrange import rearrange
from facula.func._vmap import debug_unwrap, vmap

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "rearrange", "replace_all_batch_norm_modules_",
    "stack_module_state", "vjp", "vmap",
]  # fmt: skip

__getattr__ = _missing.missing("facula.func")


def functionalize(func, *, remove="mutations"):
    """Not here: in-place operators are not rewritten."""
    raise NotImplementedError("torch.func.functionalize does not exist here: Facula records no graph of operators that would need it")
