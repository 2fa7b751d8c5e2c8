# SPDX-License-Identifier: Apache-2.0
"""An optimizer whose state is shared out over the ranks (ZeRO, stage 1): each updates its part of the parameters and
sends it to the others."""

import copy
from collections.abc import Callable, Iterable

import facula
from facula.distributed import _reducer
from facula.distributed import distributed_c10d as c10d
from facula.distributed.algorithms.join import Joinable, JoinHook
from facula.optim import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class _StepHook(JoinHook):
    def __init__(self, zero: "ZeroRedundancyOptimizer") -> None:
        self.zero = zero

    def main_hook(self) -> None:
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Wraps an optimizer class: `ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)`. Parameters go to
    the ranks so that all have about the same number of elements."""

    def __init__(
        self, params: Iterable, optimizer_class: type[Optimizer], process_group=None, parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False, **defaults,
    ) -> None:  # fmt: skip
        if overlap_with_ddp:
            raise NotImplementedError("overlap_with_ddp: step() after backward does the same")
        self.process_group = c10d._group_of(process_group)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self._optim_class, self._optim_defaults, self._joined = optimizer_class, defaults, None
        self._all_states: list[dict] = []
        Optimizer.__init__(self, params, defaults)
        types = {type(p) for g in self.param_groups for p in g["params"]}
        if not all(issubclass(t, facula.Tensor) for t in types):
            raise TypeError("ZeroRedundancyOptimizer takes tensors, or groups of them")
        self._share_out()

    def _share_out(self) -> None:
        loads = [0] * self.world_size
        self._owner = {}
        for group in self.param_groups:
            for p in sorted(group["params"], key=lambda p: p.numel(), reverse=True):
                rank = loads.index(min(loads))
                loads[rank] += p.numel()
                self._owner[p] = rank
        groups = [{**g, "params": [p for p in g["params"] if self._owner[p] == self.rank]} for g in self.param_groups]
        self._local = [g for g in groups if g["params"]]
        self.optim = self._optim_class(self._local, **self._optim_defaults) if self._local else None
        self._places = [i for i, g in enumerate(groups) if g["params"]]

    def _of_rank(self, rank: int) -> list[facula.Tensor]:
        return [p for g in self.param_groups for p in g["params"] if self._owner[p] == rank]

    def add_param_group(self, param_group: dict) -> None:
        """Adds parameters, which go to the ranks with the fewest elements."""
        super().add_param_group(param_group)
        if hasattr(self, "_owner"):
            state = self.optim.state if self.optim is not None else {}
            self._share_out()
            if self.optim is not None:
                self.optim.state.update({p: s for p, s in state.items() if self._owner.get(p) == self.rank})

    def step(self, closure: Callable | None = None, **kwargs):
        """One step of this rank's part; afterwards all ranks have all parameters."""
        from facula.distributed.algorithms.join import Join

        if self._joined is not None:
            Join.notify_join_context(self)
        loss = None
        if self.optim is not None:
            for i, g in zip(self._places, self.optim.param_groups, strict=True):  # schedulers change ours
                g.update({k: v for k, v in self.param_groups[i].items() if k != "params"})
            loss = self.optim.step(closure, **kwargs) if closure is not None else self.optim.step(**kwargs)
        elif closure is not None:
            with facula.enable_grad():
                loss = closure()
        for rank in range(self.world_size):
            if tensors := self._of_rank(rank):
                _reducer.broadcast_coalesced(self.process_group, tensors, rank)
        return loss

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gathers the state of all ranks on one, for state_dict()."""
        mine = self.optim.state_dict() if self.optim is not None else {"state": {}, "param_groups": []}
        gathered = [None] * self.world_size if self.process_group.ranks[self.rank] == to else None
        c10d.gather_object(mine, gathered, dst=to, group=self.process_group)
        self._all_states = gathered or []

    def state_dict(self) -> dict:
        """The whole state, as the wrapped optimizer's own; consolidate_state_dict() comes first."""
        if not self._all_states:
            raise RuntimeError(
                f"Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to={self.rank})` on all "
                "ranks beforehand if you meant to save the global state."
            )
        whole = super().state_dict()
        number = {p: i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
        whole["state"] = {}
        for rank, local in enumerate(self._all_states):
            order = [p for g in self.param_groups for p in g["params"] if self._owner[p] == rank]
            for i, state in local["state"].items():
                whole["state"][number[order[i]]] = state
        whole["state"] = dict(sorted(whole["state"].items()))
        return whole

    def load_state_dict(self, state_dict: dict) -> None:
        """Takes this rank's part of a whole state."""
        order = [p for g in self.param_groups for p in g["params"]]
        for ours, theirs in zip(self.param_groups, state_dict["param_groups"], strict=True):
            ours.update({k: v for k, v in theirs.items() if k != "params"})
        if self.optim is not None:
            local = self.optim.state_dict()
            mine = [p for g in self.optim.param_groups for p in g["params"]]
            where = {p: i for i, p in enumerate(mine)}
            local["state"] = {where[order[i]]: copy.deepcopy(s) for i, s in state_dict["state"].items() if order[i] in where}
            self.optim.load_state_dict(local)

    def join_hook(self, **kwargs) -> JoinHook:
        return _StepHook(self)

    @property
    def join_device(self) -> facula.device:
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self):
        return self.process_group
