# SPDX-License-Identifier: Apache-2.0
"""State dicts of models and optimizers by the parameters' full names, in parts or whole, whatever wraps the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import facula
from facula import _missing
from facula.distributed import distributed_c10d as c10d
from facula.distributed.tensor._api import distribute_tensor
from facula.distributed.tensor._dtensor import DTensor
from facula.distributed.tensor._utils import local_box
from facula.distributed.tensor.placement_types import Partial, Replicate
from facula.nn.modules.module import Module
from facula.nn.parallel import DistributedDataParallel
from facula.optim import Optimizer

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip

Tensor = facula.Tensor


@dataclass
class StateDictOptions:
    """full_state_dict: whole tensors in place of DTensors, and with cpu_offload on the first rank only. ignore_frozen_params: without
    what requires no gradient. strict: as load_state_dict's. broadcast_from_rank0: the first rank has the whole state dict, the
    others an empty one. flatten_optimizer_state_dict: "state.<name>.<key>" in place of nested dicts."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"

    def __post_init__(self) -> None:
        if self.broadcast_from_rank0 and not self.full_state_dict:
            raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")


# ---- whole tensors


def _rank() -> int:
    return c10d.get_rank() if c10d.is_initialized() else 0


def _boxes(t: DTensor) -> list[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """(rank, shape, offset) of every part that is not empty, once."""
    mesh, found, seen = t.device_mesh, [], set()
    for place in facula.cartesian_prod(*(facula.arange(n) for n in mesh.shape)).view(-1, mesh.ndim).tolist():
        shape, offset = local_box(t.shape, mesh.shape, place, t.placements)
        if offset not in seen and 0 not in shape:
            seen.add(offset)
            found.append((int(mesh.mesh[tuple(place)]), shape, offset))
    return found


def _gathered(t: DTensor) -> Tensor | None:
    """The whole tensor on the first rank, where parts come one after the other into their places; None elsewhere."""
    if any(isinstance(p, Partial) for p in t.placements):
        t = t._placed(tuple(Replicate() if isinstance(p, Partial) else p for p in t.placements))
    part, here = t._local_tensor.detach(), _rank()
    if not bool((t.device_mesh.mesh == 0).any()):
        return None  # a copy of what others have, among them the first rank
    boxes = _boxes(t)
    if here != 0:
        for rank, _, _ in boxes:
            if rank == here:
                c10d.send(part.contiguous().view(-1).view(facula.uint8) if part.dim() else part.reshape(1).view(facula.uint8), 0)
        return None
    whole = facula.empty(t.shape, dtype=t.dtype)
    for rank, shape, offset in boxes:
        to = whole
        for d, (length, begin) in enumerate(zip(shape, offset, strict=True)):
            to = to.narrow(d, begin, length)
        if rank == 0:
            to.copy_(part)
        elif to.is_contiguous():
            c10d.recv(to.reshape(-1).view(facula.uint8), rank)
        else:
            came = facula.empty(shape, dtype=t.dtype)
            c10d.recv(came.view(-1).view(facula.uint8), rank)
            to.copy_(came)
    return whole


def _out(value, options: StateDictOptions):
    """A value as the options want it; _LEFT_OUT: another rank has it."""
    if not isinstance(value, Tensor):
        return value if not (options.full_state_dict and options.cpu_offload and _rank()) else _LEFT_OUT
    value = value.detach()
    if not options.full_state_dict:
        return value.cpu() if options.cpu_offload else value
    if not options.cpu_offload:
        return value.full_tensor() if isinstance(value, DTensor) else value
    whole = _gathered(value) if isinstance(value, DTensor) else (value.cpu() if _rank() == 0 else None)
    return _LEFT_OUT if whole is None else whole


_LEFT_OUT = object()


def _in(given: Tensor | None, like: Tensor, options: StateDictOptions) -> Tensor:
    """A whole tensor (of the first rank, or of every one) placed as another is."""
    if options.broadcast_from_rank0 and c10d.is_initialized() and c10d.get_world_size() > 1:
        if given is None:
            given = facula.empty(like.shape, dtype=like.dtype)
        given = given.detach().to(like.dtype)
        if given.shape != like.shape:
            raise RuntimeError(f"a tensor of shape {list(given.shape)} for one of shape {list(like.shape)}")
        mesh = like.device_mesh if isinstance(like, DTensor) else None
        if mesh is not None and mesh.size() == c10d.get_world_size() and int(mesh.mesh.flatten()[0]) == 0:
            return distribute_tensor(given, mesh, like.placements)
        given = given.contiguous().clone()  # the first rank is not in every mesh
        c10d.broadcast(given, 0)
        return given if mesh is None else distribute_tensor(given, mesh, like.placements, src_data_rank=None)
    if isinstance(like, DTensor) and not isinstance(given, DTensor):
        return distribute_tensor(given.detach(), like.device_mesh, like.placements, src_data_rank=None)
    return given


# ---- models


def _plain_name(name: str) -> str:
    parts = [p for p in name.split(".") if p not in ("_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module")]
    return ".".join(parts)


def _unwrapped(model: Module) -> Module:
    while isinstance(model, DistributedDataParallel):
        model = model.module
    return model


def _names(model: Module) -> dict[Tensor, str]:
    """Parameters -> their full names."""
    return {p: _plain_name(n) for n, p in _unwrapped(model).named_parameters()}


def _part_names(model: Module, submodules: Iterable[Module] | None, options: StateDictOptions) -> dict[str, str] | None:
    """Names of what belongs to submodules -> names to give them; None: everything, by its own name."""
    if submodules is None:
        return None
    wanted, found = set(map(id, submodules)), {}
    keys = model.state_dict().keys()
    for prefix, m in model.named_modules():
        if id(m) in wanted:
            for key in keys:
                if key.startswith(f"{prefix}."):
                    found[key] = key if options.keep_submodule_prefixes else key[len(prefix) + 1 :]
    return found


def get_model_state_dict(model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None) -> dict:
    """The model's state dict by full names. Every rank calls it."""
    options = options or StateDictOptions()
    model = _unwrapped(model)
    parts = _part_names(model, submodules, options)
    frozen = {n for n, p in model.named_parameters() if not p.requires_grad} if options.ignore_frozen_params else set()
    state, result = model.state_dict(), {}
    while state:  # what was handed out is not held here, too
        name = next(iter(state))
        value = state.pop(name)
        if name in frozen or (parts is not None and name not in parts):
            continue
        value = _out(value, options)
        if value is not _LEFT_OUT:
            result[_plain_name(name if parts is None else parts[name])] = value
    return result


def set_model_state_dict(model: Module, model_state_dict: dict, *, options: StateDictOptions | None = None):
    """Gives a model the values of a state dict: parts, or with full_state_dict whole tensors, that each rank takes its part of."""
    options = options or StateDictOptions()
    model = _unwrapped(model)
    own, given = model.state_dict(), {}
    everywhere = options.broadcast_from_rank0 and c10d.is_initialized() and c10d.get_world_size() > 1
    if everywhere:
        known = [list(model_state_dict) if _rank() == 0 else None]
        c10d.broadcast_object_list(known, src=0)
        present = set(known[0])
    else:
        present = set(model_state_dict)
    for name, like in own.items():
        plain = _plain_name(name)
        if plain not in present:
            continue
        value = model_state_dict.get(plain)
        if isinstance(like, Tensor) and options.full_state_dict:
            value = _in(value, like, options)
        given[name] = value
    extra = {n: model_state_dict.get(n) for n in present - set(map(_plain_name, own))}
    return model.load_state_dict({**given, **extra}, strict=options.strict)


# ---- optimizers


def _init_optim_state(optimizer: Optimizer) -> None:
    """Makes the state of an optimizer that has made no step: by one that changes nothing."""
    if optimizer.state:
        return
    if any(p.grad is not None for g in optimizer.param_groups for p in g["params"]):
        return
    kept = [g["lr"] for g in optimizer.param_groups]
    for g in optimizer.param_groups:
        g["lr"] = facula.zeros(()) if isinstance(g["lr"], Tensor) else 0.0
        for p in g["params"]:
            if p.requires_grad:
                p.grad = facula.zeros_like(p)
    before = [p._local_tensor.detach().clone() if isinstance(p, DTensor) else p.detach().clone() for g in optimizer.param_groups for p in g["params"]]
    optimizer.step()
    with facula.no_grad():
        for p, old in zip((p for g in optimizer.param_groups for p in g["params"]), before, strict=True):
            (p._local_tensor if isinstance(p, DTensor) else p).copy_(old)
    for g, lr in zip(optimizer.param_groups, kept, strict=True):
        g["lr"] = lr
    for state in optimizer.state.values():  # it made no step
        if "step" in state:
            state["step"] = state["step"] - 1
    optimizer.zero_grad(set_to_none=True)


def _listed(optimizers: Optimizer | Iterable[Optimizer]) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def get_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict:
    """The optimizers' state by the parameters' full names: {"state": {name: …}, "param_groups": [{"params": [name, …], …}]}."""
    options = options or StateDictOptions()
    names = _names(model)
    wanted = _part_names(_unwrapped(model), submodules, options)
    found: dict = {"state": {}, "param_groups": []}
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        for group in optimizer.param_groups:
            listed = []
            for p in group["params"]:
                if p not in names:
                    raise RuntimeError("get_optimizer_state_dict: the optimizer has a parameter that the model does not")
                name = names[p]
                if (options.ignore_frozen_params and not p.requires_grad) or (wanted is not None and name not in wanted):
                    continue
                listed.append(name)
                state = {k: _out(v, options) for k, v in optimizer.state.get(p, {}).items()}
                state = {k: v for k, v in state.items() if v is not _LEFT_OUT}
                if state:
                    found["state"][name] = state
            rest = {k: v for k, v in group.items() if k != "params"}
            found["param_groups"].append({**rest, "params": listed})
    if options.full_state_dict and options.cpu_offload and _rank():
        return {}
    if not options.flatten_optimizer_state_dict:
        return found
    flat = {f"state.{name}.{key}": value for name, state in found["state"].items() for key, value in state.items()}
    for group in found["param_groups"]:
        for name in group["params"]:
            flat.update({f"param_groups.{name}.{key}": value for key, value in group.items() if key != "params"})
    return flat


def _nested(flat: dict, optimizer: Optimizer, names: dict) -> dict:
    """The nested form of what flatten_optimizer_state_dict gave."""
    found: dict = {"state": {}, "param_groups": []}
    for group in optimizer.param_groups:
        listed = [names[p] for p in group["params"]]
        values = {}
        for name in listed:
            state = {key[len(f"state.{name}.") :]: v for key, v in flat.items() if key.startswith(f"state.{name}.")}
            if state:
                found["state"][name] = state
            values |= {k: flat[f"param_groups.{name}.{k}"] for k in group if f"param_groups.{name}.{k}" in flat}
        found["param_groups"].append({**values, "params": listed})
    return found


def set_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], optim_state_dict: dict, *, options: StateDictOptions | None = None
) -> None:
    """Gives optimizers the state that get_optimizer_state_dict gave."""
    options = options or StateDictOptions()
    names = _names(model)
    for optimizer in _listed(optimizers):
        _init_optim_state(optimizer)
        given = optim_state_dict
        if given and "param_groups" not in given:
            given = _nested(given, optimizer, names)
        everywhere = options.broadcast_from_rank0 and c10d.is_initialized() and c10d.get_world_size() > 1
        if everywhere:
            about = [None]
            if _rank() == 0:
                about = [({n: {k: None if isinstance(v, Tensor) else v for k, v in s.items()} for n, s in given["state"].items()}, given["param_groups"])]
            c10d.broadcast_object_list(about, src=0)
            given = {"state": given.get("state", {}) if given else {}, "param_groups": about[0][1], "known": about[0][0]}
        optimizer.load_state_dict(_numbered(optimizer, names, given, options))


def _numbered(optimizer: Optimizer, names: dict, given: dict, options: StateDictOptions) -> dict:
    """The form that the optimizer's own load_state_dict takes."""
    state, groups, number = {}, [], 0
    by_name = {n: g for g in given["param_groups"] for n in g["params"]}
    known = given.get("known", given["state"])
    for group in optimizer.param_groups:
        numbers, values = [], {k: v for k, v in group.items() if k != "params"}
        for p in group["params"]:
            name = names[p]
            if name in by_name:
                values |= {k: v for k, v in by_name[name].items() if k != "params"}
            elif options.strict and p.requires_grad:
                raise RuntimeError(f"set_optimizer_state_dict: the state dict has no parameter {name!r}")
            if name in known:
                mine = {}
                for key, seen in known[name].items():
                    value, like = given["state"].get(name, {}).get(key), optimizer.state.get(p, {}).get(key)
                    if options.full_state_dict and isinstance(like, Tensor):
                        value = _in(value, like, options)
                    mine[key] = value if value is not None else seen
                state[number] = mine
            numbers.append(number)
            number += 1
        groups.append({**values, "params": numbers})
    return {"state": state, "param_groups": groups}


def get_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> tuple[dict, dict]:
    """The state dicts of a model and its optimizers."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, model_state_dict: dict, optim_state_dict: dict,
    options: StateDictOptions | None = None,
):  # fmt: skip
    """Gives a model and its optimizers their states."""
    result = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result


__getattr__ = _missing.missing(__name__)
