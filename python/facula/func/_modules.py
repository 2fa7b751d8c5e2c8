# SPDX-License-Identifier: Apache-2.0
"""Modules as functions of their parameters."""

from collections import Counter
from collections.abc import Sequence

import facula as torch


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with these tensors in the place of its parameters and buffers."""
    given = parameter_and_buffer_dicts
    if isinstance(given, Sequence) and not isinstance(given, str):
        if not all(isinstance(d, dict) for d in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        repeated = [k for k, n in Counter(k for d in given for k in d).items() if n > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {k: v for d in given for k, v in d.items()}
    elif not isinstance(given, dict):
        raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}")
    from facula.nn.utils.stateless import _functional_call

    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def _stacked(tensors, name):
    if len({t.requires_grad for t in tensors}) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    out = torch.stack(tensors)
    return out.detach().requires_grad_() if tensors[0].requires_grad else out


def stack_module_state(models):
    """The parameters and the buffers of modules of one class, stacked: what vmap of functional_call maps over."""
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return tuple({k: _stacked([d[k] for d in dicts], k) for k in dicts[0]} for dicts in (parameters, buffers))


def replace_all_batch_norm_modules_(root):
    """Lets the batch norms of a module forget their running statistics, which vmap could not update; returns the module."""
    for module in root.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
