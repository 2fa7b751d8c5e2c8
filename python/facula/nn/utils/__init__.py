# SPDX-License-Identifier: Apache-2.0
"""Tools for modules and their parameters. Those that few programs use are imported when they are first asked for."""

import importlib

from facula import _missing
from facula.nn.utils import rnn
from facula.nn.utils.clip_grad import _clip_grads_with_norm_ as clip_grads_with_norm_
from facula.nn.utils.clip_grad import _get_total_norm as get_total_norm
from facula.nn.utils.clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_
from facula.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from facula.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm  # functions over the modules of these names
from facula.nn.utils.weight_norm import remove_weight_norm, weight_norm

_LATER = ("fusion", "init", "memory_format", "parametrizations", "parametrize", "prune", "stateless")
_NAMES = {
    "fuse_conv_bn_eval": "fusion", "fuse_conv_bn_weights": "fusion", "fuse_linear_bn_eval": "fusion", "fuse_linear_bn_weights": "fusion",
    "skip_init": "init", "convert_conv2d_weight_memory_format": "memory_format", "convert_conv3d_weight_memory_format": "memory_format",
}  # fmt: skip
__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grads_with_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector",
    "parametrizations", "parametrize", "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "stateless",
    "vector_to_parameters", "weight_norm", "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval",
    "fuse_linear_bn_weights", "skip_init", "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format",
]  # fmt: skip
_absent = _missing.missing("facula.nn.utils", _LATER)


def __getattr__(name):
    if name not in _NAMES:
        return _absent(name)
    value = getattr(importlib.import_module(f"facula.nn.utils.{_NAMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_NAMES, *_LATER})
