# SPDX-License-Identifier: Apache-2.0
"""Training on several processes: each computes with its part of a batch, and all get the mean of the gradients."""

import contextlib
import copy

import facula
from facula.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over a process group while backward runs (docs/distributed.md).

    All ranks begin with rank 0's parameters and buffers. Gradients are means, so a loss is the mean over each rank's part
    of the batch. bucket_cap_mb: the size of a reduction (25). find_unused_parameters: for modules in which some parameters
    take no part in a step. static_graph: every step is alike. gradient_as_bucket_view: gradients are views of the buckets.
    """

    def __init__(
        self, module: Module, device_ids=None, output_device=None, dim: int = 0, broadcast_buffers: bool = True,
        init_sync: bool = True, process_group=None, bucket_cap_mb: float | None = None, find_unused_parameters: bool = False,
        check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False,
        delay_all_reduce_named_params=None, param_to_hook_all_reduce=None, mixed_precision=None, device_mesh=None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:  # fmt: skip
        from facula.distributed import _reducer
        from facula.distributed import distributed_c10d as c10d
        from facula.distributed._group import ProcessGroup

        super().__init__()
        if device_mesh is not None:
            if process_group is not None:
                raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
            process_group = device_mesh.get_group()
        self.process_group = process_group if isinstance(process_group, ProcessGroup) else c10d._get_default_group()
        if mixed_precision is not None:
            raise NotImplementedError("mixed_precision: use torch.autocast around forward, and a communication hook")
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [(n, p) for n, p in module.named_parameters() if p.requires_grad and n not in ignored]
        if not named:
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
        for n, p in named:
            if isinstance(p, facula.nn.parameter.UninitializedParameter):
                raise RuntimeError(f"Modules with uninitialized parameters can't be used with DistributedDataParallel ({n}). Run a dummy forward pass to correctly initialize the modules")
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element: one process for each device")
        self.module = module
        self.dim, self.device_ids, self.output_device = dim, device_ids, output_device
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.static_graph, self.gradient_as_bucket_view = static_graph, gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.parameters_to_ignore = ignored
        self._ignored_buffers = ignored
        if init_sync:
            _reducer.check_shapes(self.process_group, [n for n, _ in named], [p for _, p in named])
            state = [t for n, t in (*module.named_parameters(), *module.named_buffers()) if n not in ignored]
            _reducer.broadcast_coalesced(self.process_group, state)
        self.bucket_bytes_cap = _reducer.default_bucket_bytes(bucket_cap_mb)
        self._attach(named)
        self._joined = None  # the Join that this module takes part in

    # ---- a step

    def forward(self, *inputs, **kwargs):
        training = facula.is_grad_enabled() and self.training
        if self._joined is not None and training and self.require_backward_grad_sync:
            from facula.distributed.algorithms.join import Join

            work = Join.notify_join_context(self)
            if work is not None:
                self.reducer.divide_by = self._joined.divisor(self)
        if self.require_forward_param_sync and self.broadcast_buffers:
            self._sync_buffers()
        output = self.module(*inputs, **kwargs)
        self.reducer.synchronize = training and self.require_backward_grad_sync
        if self.reducer.synchronize:
            self.require_forward_param_sync = True
            self.reducer.prepare(output)
        else:
            self.require_forward_param_sync = training is False and self.require_forward_param_sync
        return output

    def _buffers_to_sync(self) -> list[facula.Tensor]:
        return [b for n, b in self.module.named_buffers() if n not in self._ignored_buffers]

    def _sync_buffers(self) -> None:
        if not self.training or self.process_group.size() == 1:
            return
        if buffers := self._buffers_to_sync():
            from facula.distributed import _reducer

            root = self._joined.sync_root(self) if self._joined is not None else 0
            _reducer.broadcast_coalesced(self.process_group, buffers, root)

    @contextlib.contextmanager
    def no_sync(self):
        """Within it, gradients are added up on each rank; the next backward after it reduces them."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False):
        """For ranks with different numbers of batches: those that are done take part in what the others still do."""
        from facula.distributed.algorithms.join import Join

        return Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs):
        """What this module does on a rank that has joined (torch.distributed.algorithms.Join)."""
        from facula.distributed.algorithms._ddp_join import DDPJoinHook

        return DDPJoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> facula.device:
        return next(self.module.parameters()).device

    @property
    def join_process_group(self):
        return self.process_group

    def register_comm_hook(self, state: object, hook) -> None:
        """Replaces the mean of a bucket: hook(state, GradBucket) returns a future of the flat gradients."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.comm_hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.comm_hook = (state, hook)

    def _set_static_graph(self) -> None:
        self.static_graph = self.reducer.static_graph = True

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, names) -> None:
        module._ddp_params_and_buffers_to_ignore = names

    def _attach(self, named) -> None:
        from facula.distributed._reducer import Reducer

        self.reducer = Reducer(
            [n for n, _ in named], [p for _, p in named], self.process_group, self.bucket_bytes_cap,
            self.find_unused_parameters, self.static_graph, self.gradient_as_bucket_view,
        )  # fmt: skip

    # ---- copies are modules of the default group

    def __getstate__(self):
        state = copy.copy(self.__dict__)
        del state["process_group"], state["reducer"]
        return state

    def __setstate__(self, state) -> None:
        from facula.distributed.distributed_c10d import _get_default_group

        super().__setstate__(state)
        self.process_group = _get_default_group()
        named = self.module.named_parameters()
        self._attach([(n, p) for n, p in named if p.requires_grad and n not in self.parameters_to_ignore])
