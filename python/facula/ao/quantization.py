# SPDX-License-Identifier: Apache-2.0
"""torch.ao.quantization: the marks in a model between which it may be quantised, and what observers and rounding modules
are derived from. Quantising itself is not here yet."""

import abc
import functools

import facula
from facula import _missing, nn

__all__ = ["DeQuantStub", "FakeQuantizeBase", "ObserverBase", "QuantStub"]


class QuantStub(nn.Module):
    """From here on a quantised model computes in few bits; as it is, the identity."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class DeQuantStub(QuantStub):
    """Up to here a quantised model computes in few bits; as it is, the identity."""


class _WithArguments:
    """A class and arguments for it, given before the modules exist that it is made for."""

    def __init__(self, make):
        self.make, self.factories = make, {}

    def __call__(self, *args, **kwargs):
        made = {name: factory() for name, factory in self.factories.items() if name not in kwargs}
        return self.make(*args, **kwargs, **made)

    def __repr__(self):
        return repr(self.make) + (repr(self.factories) if self.factories else "")

    def with_args(self, **kwargs):
        new = _WithArguments(functools.partial(self.make, **kwargs))
        new.factories = dict(self.factories)
        return new

    def with_callable_args(self, **kwargs):
        new = self.with_args()
        new.factories |= kwargs
        return new


class ObserverBase(abc.ABC, nn.Module):
    """What looks at tensors that pass and says how to quantise them. Derived classes say what they see."""

    def __init__(self, dtype, is_dynamic=False):
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @abc.abstractmethod
    def forward(self, x):
        """Looks at x and gives it back."""

    @abc.abstractmethod
    def calculate_qparams(self, **kwargs):
        """Scale and zero point."""

    @classmethod
    def with_args(cls, **kwargs):
        """The class with arguments, to be called for each module."""
        return _WithArguments(cls).with_args(**kwargs)

    @classmethod
    def with_callable_args(cls, **kwargs):
        """The class with arguments that are made anew for each module."""
        return _WithArguments(cls).with_callable_args(**kwargs)


class FakeQuantizeBase(abc.ABC, nn.Module):
    """What rounds tensors that pass as a quantised model would. Derived classes round."""

    def __init__(self):
        super().__init__()
        # Buffers, and no attributes: replicas of a module share them, and files keep them.
        self.register_buffer("fake_quant_enabled", facula.tensor([1], dtype=facula.uint8))
        self.register_buffer("observer_enabled", facula.tensor([1], dtype=facula.uint8))

    @abc.abstractmethod
    def forward(self, x):
        """x, rounded."""

    @abc.abstractmethod
    def calculate_qparams(self, **kwargs):
        """Scale and zero point."""

    def enable_fake_quant(self, enabled=True):
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self):
        self.enable_fake_quant(False)

    def enable_observer(self, enabled=True):
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self):
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs):
        """The class with arguments, to be called for each module."""
        return _WithArguments(cls).with_args(**kwargs)


__getattr__ = _missing.missing(__name__)
