# SPDX-License-Identifier: Apache-2.0
"""Communication hooks: what is sent in place of the gradients."""

import enum

from facula import _missing
from facula.distributed.algorithms.ddp_comm_hooks import default_hooks
from facula.nn.parallel import DistributedDataParallel

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class DDPCommHookType(enum.Enum):
    """Hooks by name, for register_ddp_comm_hook."""

    ALLREDUCE = "allreduce_hook"
    FP16_COMPRESS = "fp16_compress_hook"
    BF16_COMPRESS = "bf16_compress_hook"


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: DistributedDataParallel, state: object = None) -> None:
    """Has a model send its gradients by one of the hooks; `state` is the process group, None the default one."""
    model.register_comm_hook(state, getattr(default_hooks, DDPCommHookType(comm_hook_type).value))


__getattr__ = _missing.missing(__name__)
