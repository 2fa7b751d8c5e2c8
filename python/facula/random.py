# SPDX-License-Identifier: Apache-2.0
"""The default random generator."""

import contextlib

from facula import _C


def manual_seed(seed):
    """Seed the default generator of every device; returns it."""
    return _C.default_generator.manual_seed(int(seed))


def seed():
    """Draw a seed from the system, use and return it."""
    return _C.default_generator.seed()


def initial_seed():
    """The seed last set."""
    return _C.default_generator.initial_seed()


def get_rng_state():
    """The default generator's state as a tensor of bytes."""
    return _C.default_generator.get_state()


def set_rng_state(new_state):
    """Take over a state that get_rng_state gave."""
    _C.default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, *, device_type=None):
    """What is drawn inside leaves the default generator as it was. Every device draws from it, so devices need no naming."""
    before = _C.default_generator.get_state() if enabled else None
    try:
        yield
    finally:
        if enabled:
            _C.default_generator.set_state(before)
