# SPDX-License-Identifier: Apache-2.0
"""What one step is: inference, or a training step with its true loss and optimiser (--compat: PyTorch's runner's)."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

from ._load import SEED, Loaded


def cast(value: Any, dtype: Any = None, device: str | None = None, channels_last: bool = False) -> Any:
    """Floating tensors of inputs in another type; the rest as it is."""
    import torch

    def one(t):
        if not isinstance(t, torch.Tensor):
            return t
        if device:
            t = t.to(device)
        if dtype is not None and t.is_floating_point():
            t = t.to(dtype)
        return t.contiguous(memory_format=torch.channels_last) if channels_last and t.dim() == 4 else t

    return torch.utils._pytree.tree_map(one, value)


def compatible_loss(outputs: Any) -> Any:
    """The mean of what came out, averaged over several outputs: what PyTorch's runner takes for a loss."""
    import torch

    if isinstance(outputs, torch.Tensor):
        return outputs.sum() / outputs.numel()
    if hasattr(outputs, "logits"):
        return compatible_loss(outputs.logits)
    parts = [compatible_loss(v) for v in (outputs.values() if isinstance(outputs, dict) else outputs) if v is not None]
    return sum(parts) / len(parts)


def randomised(value: Any) -> Any:
    import torch

    def one(t):
        if not isinstance(t, torch.Tensor) or not t.is_floating_point():
            return t  # indices stay what they were: any other might be out of range
        return torch.rand_like(t) if not t.is_complex() else t

    return torch.utils._pytree.tree_map(one, value)


class Step:
    """Made once for a module, called once for a step. Returns outputs (inference) or the loss (training)."""

    def __init__(self, loaded: Loaded, module: Any, options: dict, candidate: Any = None):
        import torch

        self.torch, self.loaded, self.module, self.options = torch, loaded, module, options
        self.call = candidate if candidate is not None else module
        self.inputs, self.targets = loaded.inputs, loaded.targets
        self.training, self.compat = options["training"], options["compat"]
        owner = self.call if isinstance(self.call, torch.nn.Module) else module
        self.parameters = [p for p in owner.parameters() if p.requires_grad]
        self.optimiser = None
        if self.training and not self.compat and not self.own and self.parameters:
            self.optimiser = (loaded.optimiser or _adam)(self.parameters)

    @property
    def own(self) -> bool:
        return self.loaded.own_step is not None and not self.compat and not self.options["accuracy"]

    def autocast(self) -> Any:
        if not self.options["amp"]:
            return contextlib.nullcontext()
        return self.torch.autocast(self.options["device"].split(":")[0], getattr(self.torch, self.options["amp_dtype"] or "bfloat16"))

    def forward(self) -> Any:
        inputs = randomised(self.inputs) if self.options["randomize_input"] else self.inputs
        return self.call(**inputs) if isinstance(inputs, dict) else self.call(*inputs)

    def loss_of(self, outputs: Any) -> Any:
        return compatible_loss(outputs) if self.compat or self.loaded.loss is None else self.loaded.loss(outputs, self.targets)

    def __call__(self) -> Any:
        if not self.training:
            with self.torch.no_grad(), self.autocast():
                return self.forward()
        if self.own and self.loaded.own_step:
            return self.loaded.own_step(self.call)
        for p in self.parameters:
            p.grad = None
        with self.autocast():
            outputs = self.forward()
            loss = self.loss_of(outputs)
        loss.backward()
        if self.optimiser is not None:
            self.optimiser.step()
        return (outputs, loss) if self.options["collect_outputs"] else loss.detach()


def _adam(parameters: Any) -> Any:
    import torch

    return torch.optim.Adam(parameters, lr=1e-3)


def prepare(loaded: Loaded, options: dict) -> None:
    """Casts and moves the module and its data in place, in the mode that is asked for."""
    import torch

    dtype = next((getattr(torch, name) for name in ("float16", "bfloat16", "float32") if options[name]), None)
    device = options["device"]
    if dtype is not None:
        loaded.module.to(dtype)
    loaded.module.to(device)
    if options["channels_last"]:
        loaded.module.to(memory_format=torch.channels_last)
    loaded.inputs = cast(loaded.inputs, dtype, device, options["channels_last"])
    loaded.targets = cast(loaded.targets, dtype, device)
    training = options["training"] and not options["use_eval_mode"]
    loaded.module.train(training)
    if options["ddp"]:
        import torch.distributed as dist

        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        loaded.module = torch.nn.parallel.DistributedDataParallel(loaded.module)


def copied(loaded: Loaded) -> Any:
    """A fresh copy of the module, and the seed from which whatever it draws comes."""
    import torch

    module = copy.deepcopy(loaded.module)
    torch.manual_seed(SEED)
    return module
