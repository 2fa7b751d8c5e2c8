# SPDX-License-Identifier: Apache-2.0
"""torch.distributed: not in this build, as is_available() says; the other names are missing, as in such a build of PyTorch.
Of its parts there are the classes that packages import for annotations, and to ask whether an object is one of them."""

from facula import _missing


def is_available():
    """Whether this build can use several processes: no."""
    return False


class ProcessGroup:
    """Processes that talk to each other, for annotations: cannot be made in this build."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError("torch.distributed.ProcessGroup: torch.distributed is not available in this build")


__getattr__ = _missing.missing(__name__, ("device_mesh", "optim", "rpc", "tensor"), {"DeviceMesh": "facula.distributed.device_mesh"})
