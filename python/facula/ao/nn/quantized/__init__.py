# SPDX-License-Identifier: Apache-2.0
"""torch.ao.nn.quantized: functions as modules, so that an observer can be put behind each. As they are, they compute in
floats; quantised modules are not here."""

from facula import _C, _missing, nn

__all__ = ["FXFloatFunctional", "FloatFunctional"]


class FloatFunctional(nn.Module):
    """Additions, products and concatenations of floats, whose results pass `activation_post_process`, the identity until an
    observer takes its place. x + y becomes f.add(x, y)."""

    def __init__(self):
        super().__init__()
        self.activation_post_process = nn.Identity()

    def forward(self, x):
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x, y):
        return self.activation_post_process(_C._functions["add"](x, y))

    def add_scalar(self, x, y):
        return _C._functions["add"](x, y)  # observed where x was made

    def mul(self, x, y):
        return self.activation_post_process(_C._functions["mul"](x, y))

    def mul_scalar(self, x, y):
        return _C._functions["mul"](x, y)

    def cat(self, x, dim=0):
        return self.activation_post_process(_C._functions["cat"](x, dim=dim))

    def add_relu(self, x, y):
        return self.activation_post_process(_C._functions["relu"](_C._functions["add"](x, y)))

    def matmul(self, x, y):
        return self.activation_post_process(_C._functions["matmul"](x, y))


class FXFloatFunctional(nn.Module):
    """The same functions without observers."""

    def forward(self, x):
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x, y):
        return _C._functions["add"](x, y)

    def add_scalar(self, x, y):
        return _C._functions["add"](x, y)

    def mul(self, x, y):
        return _C._functions["mul"](x, y)

    def mul_scalar(self, x, y):
        return _C._functions["mul"](x, y)

    def cat(self, x, dim=0):
        return _C._functions["cat"](x, dim=dim)

    def add_relu(self, x, y):
        return _C._functions["relu"](_C._functions["add"](x, y))

    def matmul(self, x, y):
        return _C._functions["matmul"](x, y)


__getattr__ = _missing.missing(__name__)
