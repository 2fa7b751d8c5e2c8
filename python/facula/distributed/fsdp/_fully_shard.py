# SPDX-License-Identifier: Apache-2.0
"""fully_shard: a module whose parameters are cut over ranks, and whole only while it computes (docs/distributed.md)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

import facula
from facula.autograd.graph import queue_callback
from facula.distributed import distributed_c10d as c10d
from facula.distributed.device_mesh import DeviceMesh, init_device_mesh
from facula.distributed.fsdp._parameters import ParameterGroup
from facula.distributed.fsdp._policies import MixedPrecisionPolicy, OffloadPolicy
from facula.nn import ModuleDict, ModuleList
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter
from facula.utils._pytree import tree_flatten, tree_map

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]


class _Run:
    """What the modules of one root share."""

    def __init__(self, states: list[_State]) -> None:
        self.states = states
        self.order: list[_State] = []  # of the forward under way
        self.backward = False
        self.reductions: list[tuple] = []

    def begin_backward(self) -> None:
        if not self.backward:
            self.backward = True
            queue_callback(self.end_backward)

    def end_backward(self) -> None:
        """At the end of a backward: what was not reduced is, and all gradients are there."""
        for state in self.states:
            if state.in_backward or state.group.fired:
                state.post_backward()
                if state.reshard_after_backward:
                    state.group.let_go()
            state.in_backward = False
        self.backward = False
        copies = [(over_copies(), end) for over_copies, end in self.reductions]
        self.reductions = []
        for work, end in copies:
            if work is not None:
                work.wait()
            end()
        self.order = []


class _State:
    """fully_shard of one module (or of several that compute one after the other)."""

    def __init__(self, modules: tuple[Module, ...], group: ParameterGroup, reshard_after_forward: bool | int | None, policy: MixedPrecisionPolicy) -> None:
        self.modules, self.group, self.policy = modules, group, policy
        self.reshard_after_forward = reshard_after_forward  # None: unless it is the root
        self.reshard_after_backward = True
        self.run: _Run | None = None
        self.is_root = False
        self.in_backward = False  # between the gradient of the outputs and those of the parameters
        self.forward_prefetch: list[_State] = []
        self.backward_prefetch: list[_State] | None = None
        group.whole_group_fired = self._fired
        for m in modules:
            m.register_forward_pre_hook(self._pre_forward, prepend=True, with_kwargs=True)
            m.register_state_dict_pre_hook(lambda *args: group.let_go())
            m.register_load_state_dict_pre_hook(lambda *args: group.let_go())
        modules[-1].register_forward_hook(lambda module, inputs, outputs: self._post_forward(outputs))

    def _find_root(self) -> None:
        """The first module that computes is the root of all below it."""
        if self.run is not None:
            return
        states = list(dict.fromkeys(s for top in self.modules for m in top.modules() if (s := _state(m)) is not None))
        run = _Run(states)
        for s in states:
            s.run, s.is_root = run, s is self

    def _pre_forward(self, module: Module, args: tuple, kwargs: dict):
        self._find_root()
        run = self.run
        if self.is_root and not run.backward:
            run.order = []
        self.group.gather()
        for s in self.forward_prefetch:
            s.group.begin_gather()
        dtype = self.policy.param_dtype
        if dtype is not None and self.policy.cast_forward_inputs and not run.backward:
            args, kwargs = tree_map(lambda t: _cast(t, dtype), (args, kwargs))
        return args, kwargs

    def _post_forward(self, outputs):
        run = self.run
        if run is None:
            return outputs
        if self.policy.output_dtype is not None:
            outputs = tree_map(lambda t: _cast(t, self.policy.output_dtype), outputs)
        if run.backward:  # a checkpoint computes it again: backward needs the parameters
            return outputs
        run.order.append(self)
        keep = self.reshard_after_forward is False or (self.reshard_after_forward is None and self.is_root)
        if facula.is_grad_enabled():
            for t in tree_flatten(outputs)[0]:
                if isinstance(t, facula.Tensor) and t.requires_grad:
                    t.register_hook(self._pre_backward)
        if not keep:
            self.group.let_go()
        return outputs

    def _pre_backward(self, grad: facula.Tensor) -> None:
        run = self.run
        run.begin_backward()
        if self.in_backward:
            return
        self.in_backward = True
        self.group.gather()
        if self.backward_prefetch is not None:
            ahead = self.backward_prefetch
        else:
            at = next((i for i in range(len(run.order) - 1, -1, -1) if run.order[i] is self), 0)
            ahead = run.order[max(at - 1, 0) : at]
        for s in ahead:
            s.group.begin_gather()

    def _fired(self, group: ParameterGroup, frozen: bool) -> None:
        """All parameters have their gradients. One that gets none may still be needed for others': those wait for the end."""
        self.run.begin_backward()
        if frozen:
            self.in_backward = True
            return
        self.post_backward()
        if self.reshard_after_backward:
            group.let_go()
        self.in_backward = False

    def post_backward(self) -> None:
        self.run.reductions += self.group.begin_reduce()


def _state(module: Module) -> _State | None:
    return module.__dict__.get("_fsdp_state")


def _cast(value, dtype: facula.dtype):
    return value.to(dtype) if isinstance(value, facula.Tensor) and value.is_floating_point() and value.dtype != dtype else value


class UnshardHandle:
    """A gather that goes on: wait() returns when the parameters are whole."""

    def __init__(self, group: ParameterGroup) -> None:
        self._group = group

    def wait(self) -> None:
        self._group.gather()


class FSDPModule:
    """What fully_shard adds to a module's class."""

    def _states(self, recurse: bool) -> Iterable[_State]:
        found = (_state(m) for m in (self.modules() if recurse else [self]))
        return dict.fromkeys(s for s in found if s is not None)

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Makes the module's own parameters whole; with async_op begins to, and gives a handle to wait for."""
        group = _state(self).group
        if async_op:
            group.begin_gather()
            return UnshardHandle(group)
        group.gather()
        return None

    def reshard(self) -> None:
        """Leaves this rank its parts."""
        _state(self).group.let_go()

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Says that other backward passes of the step follow. Gradients are complete after each, so nothing depends on it."""

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backward sums gradients over the ranks; without, they are added up on each until it does."""
        for s in self._states(recurse):
            s.group.reduces = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether gradients are summed over copies, on a mesh of two dimensions."""
        for s in self._states(recurse):
            s.group.all_reduces = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether parameters are let go of between forward and backward."""
        for s in self._states(recurse):
            s.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether parameters are let go of after backward."""
        for s in self._states(recurse):
            s.reshard_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Modules that begin to be gathered when this one has been."""
        _state(self).forward_prefetch = [_state(m) for m in modules]

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """The same in backward, in place of the module that computed before this one."""
        _state(self).backward_prefetch = [_state(m) for m in modules]

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Gradients are sums divided by this, in place of means over the ranks."""
        if not factor > 0:
            raise ValueError(f"set_gradient_divide_factor: a number above 0 is expected, got {factor}")
        _state(self).group.divide_by = float(factor)

    set_reduce_scatter_divide_factor = set_gradient_divide_factor


def fully_shard(
    module: Module | list[Module], *, mesh: DeviceMesh | None = None, reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Parameter], object] | None = None, mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None, ignored_params: set[Parameter] | None = None,
):  # fmt: skip
    """Cuts a module's parameters, but for those of submodules that were cut before, over the ranks of a mesh; they are
    gathered while it computes. Call it on inner modules first: each call is one gather. On a mesh of two dimensions parts are
    copied along the first. reshard_after_forward: whether the parameters are let go of until backward (True, but for the root).
    Changes the module, whose class becomes one of FSDPModule, and returns it."""
    modules = tuple(module) if isinstance(module, (list, tuple)) else (module,)
    if not modules or not all(isinstance(m, Module) for m in modules):
        raise ValueError(f"fully_shard expects a module or a list of modules, got {module!r}")
    for m in modules:
        if isinstance(m, (ModuleList, ModuleDict)) and type(m).forward is Module.forward:
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {m}")
        if isinstance(m, FSDPModule):
            raise ValueError("fully_shard has already been applied to a module")
    mesh = mesh if mesh is not None else _default_mesh()
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    if isinstance(reshard_after_forward, int) and not isinstance(reshard_after_forward, bool) and reshard_after_forward != mesh.size(mesh.ndim - 1):
        raise NotImplementedError("fully_shard: reshard_after_forward is True or False; smaller groups of ranks are not there")
    policy = mp_policy or MixedPrecisionPolicy()
    group = ParameterGroup(_own_parameters(modules, ignored_params or set()), mesh, policy, shard_placement_fn)
    state = _State(modules, group, reshard_after_forward, policy)
    for m in modules:
        m.__dict__["_fsdp_state"] = state
        m.__class__ = type(f"FSDP{type(m).__name__}", (FSDPModule, type(m)), {"__deepcopy__": _refuse_copies})
    return module


def _refuse_copies(self, memo):
    raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


def _default_mesh() -> DeviceMesh:
    if not c10d.is_initialized():
        c10d.init_process_group()
    return init_device_mesh("cpu", (c10d.get_world_size(),))


def _own_parameters(modules: tuple[Module, ...], ignored: set) -> dict[Parameter, list]:
    found: dict[int, tuple[Parameter, list]] = {}
    skip = {id(p) for p in ignored}
    seen = set()

    def look(m: Module) -> None:
        todo = [m]
        while todo:
            part = todo.pop()
            if id(part) in seen or (_state(part) is not None):
                continue
            seen.add(id(part))
            for name, p in part._parameters.items():
                if p is not None and id(p) not in skip:
                    if isinstance(p, facula.nn.parameter.UninitializedParameter):
                        raise ValueError(f"fully_shard: {name} has no shape yet; run a forward first")
                    found.setdefault(id(p), (p, []))[1].append((part, name))
            todo += reversed(list(part.children()))

    for m in modules:
        look(m)
    return {p: places for p, places in found.values()}


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """A method that computes as forward does: parameters are whole while it runs."""
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)

    @functools.wraps(method)
    def whole(*args, **kwargs):
        state = _state(module)
        args, kwargs = state._pre_forward(module, args, kwargs)
        return state._post_forward(method(*args, **kwargs))

    setattr(module, method_name, whole)
