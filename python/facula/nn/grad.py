# SPDX-License-Identifier: Apache-2.0
"""Gradients of convolutions by themselves: by the input, whose values they do not need, and by the weight."""

import facula as torch
from facula.nn.modules.utils import _pair, _single, _triple

__all__: list[str] = []


def _make(count, numbers):
    def input_gradient(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        shape = grad_output.new_empty(1).expand(tuple(input_size))
        steps = numbers(stride), numbers(padding), numbers(dilation)
        return torch.ops.aten.convolution_backward(grad_output, shape, weight, None, *steps, False, [0], groups, (True, False, False))[0]

    def weight_gradient(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):  # noqa: A002 -- PyTorch's name
        shape = grad_output.new_empty(1).expand(tuple(weight_size))
        steps = numbers(stride), numbers(padding), numbers(dilation)
        return torch.ops.aten.convolution_backward(grad_output, input, shape, None, *steps, False, [0], groups, (False, True, False))[1]

    for function, what in ((input_gradient, "input"), (weight_gradient, "weight")):
        function.__name__ = function.__qualname__ = f"conv{count}d_{what}"
        function.__doc__ = f"The gradient of conv{count}d by its {what}, of the given size."
        globals()[function.__name__] = function
        __all__.append(function.__name__)


_make(1, _single)
_make(2, _pair)
_make(3, _triple)
