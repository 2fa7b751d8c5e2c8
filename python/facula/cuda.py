# SPDX-License-Identifier: Apache-2.0
"""torch.cuda: this build has no CUDA device."""


def is_available():
    return False


def device_count():
    return 0


def is_initialized():
    return False


def _refuse():
    raise AssertionError("Facula was not compiled with CUDA enabled")


def current_device():
    _refuse()


def synchronize(device=None):
    _refuse()


def manual_seed(seed):
    """Nothing to seed, as in PyTorch without a device."""


manual_seed_all = manual_seed
