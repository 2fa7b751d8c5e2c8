# SPDX-License-Identifier: Apache-2.0
"""The default random generator."""

import contextlib

from facula import _C

default_generator = _C.default_generator


def manual_seed(seed):
    """Seed the default generators of all devices; returns the CPU's."""
    _C.default_generator.manual_seed(seed := int(seed))
    _C._seed_all_devices(seed % 2**64)
    return _C.default_generator


def seed():
    """Draw a seed from the system, use and return it."""
    drawn = _C.default_generator.seed()
    _C._seed_all_devices(drawn)
    return drawn


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
    """What is drawn inside leaves the default generators as they were: the CPU's, and those of the devices (all of a
    type unless they are named; all types without one)."""
    kinds = [(name, count) for name, count, *_ in _C._device_records() if name != "cpu" and device_type in (None, name)]
    if devices is None:
        chosen = [_C._default_generator(_C.device(name, i)) for name, count in kinds for i in range(count)]
    else:
        devices = [_C.device(device_type or "cuda", d) if isinstance(d, int) else _C.device(d) for d in devices]
        chosen = [_C._default_generator(d) for d in devices if d.type != "cpu"]
    generators = [_C.default_generator, *chosen] if enabled else []
    before = [g.get_state() for g in generators]
    try:
        yield
    finally:
        for g, state in zip(generators, before):
            g.set_state(state)
