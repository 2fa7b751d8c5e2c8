# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation, and what it shares with instance normalisation."""

from __future__ import annotations

import facula as torch
from facula import _C
from facula._tensor import Tensor
from facula.nn import functional as F
from facula.nn import init
from facula.nn.modules.lazy import LazyModuleMixin
from facula.nn.modules.module import Module
from facula.nn.modules.utils import _add_parameters
from facula.nn.parameter import UninitializedBuffer, UninitializedParameter

__all__ = [
    "BatchNorm1d", "LazyBatchNorm1d", "BatchNorm2d", "LazyBatchNorm2d", "BatchNorm3d", "LazyBatchNorm3d", "SyncBatchNorm",
]  # fmt: skip


def _counter(device=None):
    return _C._functions["zeros"]((), dtype=_C.int64, device=device)


class _NormBase(Module):
    """Weight and bias (affine), running mean and variance (track_running_stats), one of each per channel."""

    _version = 2  # since it counts batches
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    _ranks: tuple[int, ...] = ()  # of the inputs that are taken

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device=None, dtype=None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        _add_parameters(
            self, device, dtype, weight=num_features if affine else None, bias=num_features if affine and bias else None
        )
        track = track_running_stats
        empty = _C._functions["empty"]
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, empty(num_features, device=device, dtype=dtype) if track else None)
        self.register_buffer("num_batches_tracked", _counter(device) if track else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Back to mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and the running statistics back to their start."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input):
        if not self._ranks:
            raise NotImplementedError
        if input.dim() not in self._ranks:
            raise ValueError(f"expected {' or '.join(f'{r}D' for r in self._ranks)} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            own = self.num_batches_tracked
            state_dict.setdefault(prefix + "num_batches_tracked", own if own is not None and not own.is_meta else _counter())
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self.momentum or 0.0
        training, track = self.training, self.track_running_stats
        if training and track and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the average of all batches
                factor = 1.0 / float(self.num_batches_tracked)
        mean, var = self.running_mean, self.running_var
        return F.batch_norm(
            input,
            mean if not training or track else None,
            var if not training or track else None,
            self.weight,
            self.bias,
            training or (mean is None and var is None),
            factor,
            self.eps,
        )


class _LazyNormBase(LazyModuleMixin, _NormBase):
    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device=None, dtype=None,
        *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = _counter(device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input) -> None:
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                if tensor is not None:
                    tensor.materialize((self.num_features,))
            self.reset_parameters()


class BatchNorm1d(_BatchNorm):
    """Normalises each channel over the batch: (N, C) or (N, C, L)."""

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises each channel over the batch: (N, C, H, W)."""

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalises each channel over the batch: (N, C, D, H, W)."""

    _ranks = (5,)


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """BatchNorm1d, with the channels taken from the first input."""

    cls_to_become = BatchNorm1d
    _ranks = BatchNorm1d._ranks


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """BatchNorm2d, with the channels taken from the first input."""

    cls_to_become = BatchNorm2d
    _ranks = BatchNorm2d._ranks


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """BatchNorm3d, with the channels taken from the first input."""

    cls_to_become = BatchNorm3d
    _ranks = BatchNorm3d._ranks


class SyncBatchNorm(_BatchNorm):
    """BatchNorm over the batches of all processes of a group. Without a group it is the process's own: (N, C, *)."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        process_group=None, device=None, dtype=None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input):
        if not self.training or (group := self._several()) is None:
            return super().forward(input)
        from facula.distributed import _functional_collectives as collectives

        self._check_input_dim(input)
        dims = [d for d in range(input.dim()) if d != 1]
        shape = [1, -1] + [1] * (input.dim() - 2)
        x = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
        count = torch.full((1,), x.numel() // x.size(1), dtype=x.dtype, device=x.device)
        sums = collectives.all_reduce(torch.cat([x.sum(dims), count]), "sum", group)
        n = sums[-1].detach()
        if n <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(input.shape)}")
        mean = sums[:-1] / n
        centered = x - mean.view(shape)
        var = collectives.all_reduce((centered * centered).sum(dims), "sum", group) / n
        if self.track_running_stats:
            self.num_batches_tracked.add_(1)
            share = self.momentum if self.momentum is not None else 1.0 / float(self.num_batches_tracked)
            with torch.no_grad():
                self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
                self.running_var.lerp_((var * (n / (n - 1))).to(self.running_var.dtype), share)
        out = centered * torch.rsqrt(var + self.eps).view(shape)
        if self.affine:
            out = out * self.weight.view(shape)
            out = out if self.bias is None else out + self.bias.view(shape)
        return out.to(input.dtype)

    def _several(self):
        """The group, where it has several processes."""
        import sys

        if (distributed := sys.modules.get("facula.distributed")) is None or not distributed.is_initialized():
            return None
        group = distributed.distributed_c10d._group_of(self.process_group)
        return group if group.size() > 1 else None

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group=None) -> Module:
        """The module with every batch norm in it replaced by one of this class with the same tensors."""
        new = module
        if isinstance(module, _BatchNorm):
            new = SyncBatchNorm(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group,
                bias=module.bias is not None,
            )  # fmt: skip
            if module.affine:
                new.weight, new.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(new, name, getattr(module, name))
        for name, child in module.named_children():
            new.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return new
