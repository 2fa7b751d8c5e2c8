# SPDX-License-Identifier: Apache-2.0
"""Modules that learn the shapes of their parameters from their first input."""

from __future__ import annotations

from facula.autograd.forward_modes import no_grad
from facula.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Put before a module class: hooks call initialize_parameters(*args) before the first forward, then turn the module
    into one of the class cls_to_become."""

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _tensors(self):
        return [(name, t) for name, t in (*self._parameters.items(), *self._buffers.items()) if t is not None]

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, t in self._tensors():
            if name not in self._non_persistent_buffers_set:
                destination[prefix + name] = t if keep_vars or is_lazy(t) else t.detach()

    def _lazy_load_hook(self, state_dict, prefix, *_):
        for name, t in self._tensors():
            given = state_dict.get(prefix + name)
            if is_lazy(t) and given is not None and not is_lazy(given):
                with no_grad():
                    t.materialize(given.shape)

    def initialize_parameters(self, *args, **kwargs):
        """Give the parameters their shapes and values; args: those of forward."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(t) for _, t in self._tensors())

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to correctly initialize "
            "the modules"
        )
