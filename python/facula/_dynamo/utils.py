# SPDX-License-Identifier: Apache-2.0
"""torch._dynamo.utils: whether there is a compiler."""


def is_compile_supported(device_type):
    """Whether torch.compile compiles for a device: no."""
    return False
