# SPDX-License-Identifier: Apache-2.0
"""Spectral normalisation by a hook, the old way; parametrizations.spectral_norm is the new one."""

from __future__ import annotations

from facula._tensor import Tensor
from facula.autograd.forward_modes import no_grad
from facula.nn import functional as F
from facula.nn.parameter import Parameter, UninitializedParameter

__all__ = ["SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "spectral_norm", "remove_spectral_norm"]


def _channel_dim(module, dim):
    """Where a module's weight has its output channels."""
    from facula.nn.modules.conv import _ConvTransposeNd

    return dim if dim is not None else 1 if isinstance(module, _ConvTransposeNd) else 0


class SpectralNorm:
    """The hook: divides a weight by its largest singular value, which power iteration follows while training."""

    _version = 1  # since v is part of the state

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight as (channels, rest)."""
        weight = weight.movedim(self.dim, 0) if self.dim != 0 else weight
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module, do_power_iteration: bool) -> Tensor:
        """The normalised weight."""
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):  # into the buffers, which other processes may share
                    F.normalize(matrix.t().mv(u), dim=0, eps=self.eps, out=v)
                    F.normalize(matrix.mv(v), dim=0, eps=self.eps, out=u)
                u, v = u.clone(), v.clone()  # the graph keeps these, and the buffers go on
        return weight / u.dot(matrix.mv(v))

    def remove(self, module) -> None:
        """Make it one parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Replace a parameter of a module by one that is normalised before each forward."""
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward before "
                "applying spectral normalization"
            )
        with no_grad():
            matrix = hook.reshape_weight_to_matrix(weight)
            u, v = (F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in matrix.shape)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Computes v for states that were saved before it was part of them."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) -> None:
        hook, key = self.fn, prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(hook.name + ".version")
        if version is not None and version >= 1:
            return
        if version is None and key not in state_dict and all(key + end in state_dict for end in ("_orig", "_u", "_v")):
            return
        missing = [key + end for end in ("_orig", "", "_u") if key + end not in state_dict]
        if missing:
            missing_keys.extend(missing if strict else ())
            return
        with no_grad():
            weight, u = state_dict[key + "_orig"], state_dict[key + "_u"]
            sigma = (weight / state_dict.pop(key)).mean()
            matrix = hook.reshape_weight_to_matrix(weight)
            v = matrix.t().mm(matrix).pinverse().mm(matrix.t()).mv(u)
            state_dict[key + "_v"] = v * (sigma / u.dot(matrix.mv(v)))


class SpectralNormStateDictHook:
    """Says in a state's metadata that v is part of it."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module, state_dict, prefix, local_metadata) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None):
    """Divide a weight by its largest singular value (Miyato and others, 2018); dim: that of the output channels."""
    SpectralNorm.apply(module, name, n_power_iterations, _channel_dim(module, dim), eps)
    return module


def remove_spectral_norm(module, name: str = "weight"):
    """Undo spectral_norm."""
    found = [k for k, hook in module._forward_pre_hooks.items() if isinstance(hook, SpectralNorm) and hook.name == name]
    if not found:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(found[0]).remove(module)
    for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, hook in list(hooks.items()):
            fn = getattr(getattr(hook, "hook", hook), "fn", None)
            if isinstance(fn, SpectralNorm) and fn.name == name:
                del hooks[key]
    return module
