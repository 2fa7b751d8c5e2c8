# SPDX-License-Identifier: Apache-2.0
"""Where pickles find the values whose classes say that they are torch's, which need not be importable."""

from facula import _C


def named(name):
    """float32, contiguous_format, strided …"""
    return getattr(_C, name)


def device(text):
    return _C.device(text)


def size(values):
    return _C.Size(values)


def generator(device_and_state):
    """A generator with the state of another."""
    device, state = device_and_state
    new = _C.Generator(device)
    new.set_state(state)
    return new
