# SPDX-License-Identifier: Apache-2.0
"""What all optimisers share: parameter groups, state, hooks, saving and loading."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, Union

from facula import _C
from facula._tensor import Tensor
from facula.autograd import enable_grad, set_grad_enabled
from facula.utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ParamsT = Union[Iterable[Tensor], Iterable[dict[str, Any]], Iterable[tuple[str, Tensor]]]
_HOOKS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post")
_as_real = _C._functions["view_as_real"]
_global_optimizer_pre_hooks: dict[int, Callable] = OrderedDict()
_global_optimizer_post_hooks: dict[int, Callable] = OrderedDict()


class _RequiredParameter:
    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


def _add_hook(hooks: OrderedDict, hook: Callable, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Calls hook(optimizer, args, kwargs) before each step of any optimiser."""
    return _add_hook(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Calls hook(optimizer, args, kwargs) after each step of any optimiser."""
    return _add_hook(_global_optimizer_post_hooks, hook)


def _use_grad_for_differentiable(step):
    """Runs an optimiser's step without recording, unless the optimiser is differentiable."""

    @functools.wraps(step)
    def wrapper(self, *args, **kwargs):
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            return step(self, *args, **kwargs)

    return wrapper


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    return ["cuda", "xpu", "hpu", "privateuseone"] + ["xla"] * supports_xla


def _default_to_fused_or_foreach(params: list[Tensor], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Whether the fused form serves these tensors, if it is wanted. The form over lists is never the better one here."""
    return use_fused and not differentiable and all(p is None or p.is_floating_point() for p in params), False


def _not_negative(name: str, value: Any) -> None:
    if not value >= 0.0:
        raise ValueError(f"Invalid {name}: {value}")


def _one_element(name: str, value: Any) -> None:
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError(f"Tensor {name} must be 1-element")


def _check_lr(lr: Any) -> None:
    _one_element("lr", lr)
    _not_negative("learning rate", lr)


def _check_betas(betas: tuple) -> None:
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


_NOT_NEGATIVE = ("eps", "weight_decay", "momentum", "lr_decay", "initial_accumulator_value", "lambd", "alpha", "momentum_decay")


def _options(given: dict[str, Any], last: str = "") -> dict[str, Any]:
    """The options of an optimiser's groups: locals() at the head of its __init__. Those that several optimisers have are checked.

    last: those that stand after the others, where PyTorch's groups have another order than its signatures.
    """
    options = {name: value for name, value in given.items() if name not in ("self", "params", "__class__")}
    for name in last.split():
        options[name] = options.pop(name)
    _check_lr(options["lr"])
    for name in _NOT_NEGATIVE:
        if name in options:
            _not_negative("epsilon value" if name == "eps" else f"{name} value", options[name])
    _check_betas(options.get("betas", ()))
    return options


def _to_scalar(x):
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _step_dtype(fused: bool | None = None) -> _C.dtype:
    return _C.float64 if not fused and _C.get_default_dtype() == _C.float64 else _C.float32


class Optimizer:
    """Base of all optimisers: holds groups of parameters with their options, and a state per parameter.

    params: tensors, (name, tensor) pairs, or dicts with "params" and options of their own; defaults: the options of
    groups that do not say otherwise.
    """

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {_typename(params)}")
        if isinstance(params, set):
            warnings.warn(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead. This will be an error in a future release.",
                FutureWarning,
                stacklevel=2,
            )
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        for name in _HOOKS:
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())
        self._patch_step_function()

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [""] * (i > 0) + [f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"

    # Step, with the hooks around it.

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Changes the parameters by their gradients. closure: computes the loss and the gradients anew, and returns the loss."""
        raise NotImplementedError

    @staticmethod
    def profile_hook_step(func: Callable) -> Callable:
        """The step function with its hooks."""

        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            self = args[0]
            with _C._Range(f"Optimizer.step#{type(self).__name__}.step", ""):
                for hook in (*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                    changed = hook(self, args, kwargs)
                    if changed is not None:
                        if not (isinstance(changed, tuple) and len(changed) == 2):
                            raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
                        args, kwargs = changed
                out = func(*args, **kwargs)
                for hook in (*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()):
                    hook(self, args, kwargs)
                return out

        return wrapper

    def _patch_step_function(self) -> None:
        """Every class whose step is its own gets the hooks, when the first optimiser of the class is made."""
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = self.profile_hook_step(cls.step)
            cls.step.hooked = True

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Calls hook(optimizer, args, kwargs) before each step; it may return new (args, kwargs)."""
        return _add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Calls hook(optimizer, args, kwargs) after each step."""
        return _add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Calls hook(optimizer) before state_dict()."""
        return _add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Calls hook(optimizer, state_dict) after state_dict(); what it returns is returned instead."""
        return _add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Calls hook(optimizer, state_dict) before loading; what it returns is loaded instead."""
        return _add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Calls hook(optimizer) after loading."""
        return _add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # Saving and loading.

    def state_dict(self) -> dict[str, Any]:
        """{"state": state by number of the parameter, "param_groups": groups with numbers in place of parameters}."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups, start = [], 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), i)
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
            start += len(group["params"])
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        saved = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, saved)
            if changed is not None:
                saved = changed
        return saved

    @staticmethod
    def _process_value_according_to_param_policy(param: Tensor, value: Tensor, param_id: int, param_groups: list[dict], key=None) -> Tensor:
        """A loaded state tensor as the parameter needs it: of its type and device; the step count stays as it is."""
        if key == "step":
            group = next((g for g in param_groups if param_id in g["params"]), {})
            on_device = group.get("fused") or group.get("capturable")
            return value.to(dtype=_C.float32, device=param.device) if on_device else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what state_dict() returned, here or in PyTorch. Parameters are matched by their order."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        by_number = dict(zip(chain.from_iterable(s["params"] for s in saved), chain.from_iterable(g["params"] for g in groups), strict=True))

        def cast(param, value, number, key=None):
            if isinstance(value, Tensor):
                return Optimizer._process_value_according_to_param_policy(param, value, number, state_dict["param_groups"], key)
            if isinstance(value, dict):
                return {k: cast(param, v, number, k) for k, v in value.items()}
            if isinstance(value, Iterable) and not isinstance(value, str):
                return type(value)(cast(param, v, number) for v in value)
            return value

        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in by_number:
                state[by_number[key]] = cast(by_number[key], value, key)
            else:
                state[key] = value
        for group, new in zip(groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # Groups and gradients.

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or fills them with zeros."""
        with _C._Range(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad", ""):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    if set_to_none:
                        p.grad = None
                        continue
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group: {"params": …, options that differ from the defaults}."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params = list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        if names and len(names) != len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        param_group["params"] = params = [p[1] if isinstance(p, tuple) else p for p in params]
        if names:
            param_group["param_names"] = names
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_typename(p)}")
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                kind = "with names" if names else "without names"
                raise ValueError(f"all optimizer param groups should be with/without names. cannot add param group {kind} to the optimizer")
        if not set(params).isdisjoint(chain.from_iterable(g["params"] for g in self.param_groups)):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)


def _typename(x: Any) -> str:
    return x.type() if isinstance(x, Tensor) else f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


class PerParameter(Optimizer):
    """An optimiser that changes every parameter by itself. A subclass says how its state begins and what one step is.

    The step is written once, in operators, for one parameter: it can be differentiated. `_update_all` may do the same
    for all parameters of a group at once, where nothing has to be differentiated.
    """

    _takes_sparse = False  # gradients
    _complex_as_real = True  # complex numbers are treated as pairs of real ones
    # Options that states saved by older versions lack.
    _later_options: dict[str, Any] = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}
    _records_foreach = False  # whether foreach=True is no reason to refuse differentiable=True
    _numbers = ("step",)  # parts of the state that are numbers in states saved by older versions

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._later_options.items():
                group.setdefault(name, value)
            for p in group["params"]:
                old = self.state.get(p) or {}
                for name in self._numbers:
                    if name in old and not isinstance(old[name], Tensor):
                        old[name] = _number(group, p, float(old[name]))

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Changes the parameters by their gradients. closure: computes the loss and the gradients anew, and returns the loss."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            self._step_of_group(group, params, [p.grad for p in params], [self._state(group, p) for p in params])
        return loss

    def _step_of_group(self, group: dict, params: list[Tensor], grads: list[Tensor], states: list[dict]) -> None:
        """One step of parameters that share their options."""
        if params and group.get("foreach") and group.get("differentiable") and not self._records_foreach:
            raise AssertionError("_foreach ops don't support autograd")
        if not params or (self._may_fuse(group, params, grads) and self._update_all(group, params, grads, states)):
            return
        if self._scaling():
            raise RuntimeError("the step cannot take the scale off these gradients: call GradScaler.unscale_ before it")
        for p, grad, state in zip(params, grads, states, strict=True):
            self._update_one(group, p, grad, state)

    def _scaling(self) -> dict[str, Tensor]:
        """What a GradScaler has set for this step: the scale of the gradients, and whether some are not finite."""
        given = {name: getattr(self, name, None) for name in ("grad_scale", "found_inf")}
        return {name: value for name, value in given.items() if value is not None}

    def _count_all(self, states: list[dict]) -> list[Tensor]:
        """Counts a step, unless it is left out because gradients are not finite."""
        steps, found_inf = [state["step"] for state in states], getattr(self, "found_inf", None)
        _C._functions["_foreach_add_"](steps, 1 if found_inf is None else 1 - float(found_inf))
        return steps

    def _state(self, group: dict, p: Tensor) -> dict:
        state = self.state[p] if p in self.state or self._has_state(group) else {}
        if not state:
            if group.get("fused") and not p.is_floating_point():
                raise RuntimeError(f"`fused=True` requires all the params to be floating point Tensors of supported devices, but got {p.dtype} and {p.device.type}")
            state.update(self._begin(group, p))
        return state

    def _update_one(self, group: dict, p: Tensor, grad: Tensor, state: dict) -> None:
        if grad.is_sparse and not self._takes_sparse:
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam instead")
        if group.get("capturable") and p.device.type not in _get_capturable_supported_devices():
            raise AssertionError(f"If capturable=True, params and state_steps must be on supported devices: {_get_capturable_supported_devices()}.")
        if group.get("maximize"):
            grad = -grad
        if self._complex_as_real and p.is_complex():
            p, grad = _as_real(p), _as_real(grad)
            state = {k: _as_real(v) if isinstance(v, Tensor) and v.is_complex() else v for k, v in state.items()}
        self._update(group, p, grad, state)

    @staticmethod
    def _may_fuse(group: dict, params: list[Tensor], grads: list[Tensor]) -> bool:
        """Whether nobody asks for the loop, and the parameters are plain, floating, and each there once."""
        if group.get("differentiable") or group.get("capturable") or group.get("fused") is False or group.get("foreach") is False:
            return False
        if not group.get("fused") and any(p.device.type != "cpu" for p in params):  # other devices have no such operator by themselves
            return False
        plain = all(p.is_floating_point() and p.dtype == g.dtype and not g.is_sparse for p, g in zip(params, grads, strict=True))
        return plain and len(set(params)) == len(params)

    def _has_state(self, group: dict) -> bool:
        return True

    def _begin(self, group: dict, p: Tensor) -> dict[str, Any]:
        """The state of a parameter before its first step."""
        return {}

    def _update(self, group: dict, p: Tensor, grad: Tensor, state: dict) -> None:
        """One step of one parameter."""
        raise NotImplementedError

    def _update_all(self, group: dict, params: list[Tensor], grads: list[Tensor], states: list[dict]) -> bool:
        """One step of all parameters of a group in one operator; False: there is none for them."""
        return False


def _zeros(p: Tensor) -> Tensor:
    return _C._functions["zeros_like"](p)


def _number(group: dict, p: Tensor, value: Any) -> Tensor:
    """A number of the state. A tensor, which lives on the parameter's device where the step must not wait for it."""
    on_device = group.get("fused") or group.get("capturable")
    return _C._tensor(value, _step_dtype(group.get("fused")), p.device if on_device else None, True)


def _check_forms(differentiable: bool, fused: bool | None, foreach: bool | None) -> None:
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def _value(group: dict, number: Tensor) -> Tensor | float:
    """A number of the state as a number, unless the step is to be differentiated or captured."""
    return number if group.get("differentiable") or group.get("capturable") else number.item()


def _count(group: dict, state: dict) -> Tensor | float:
    """Counts a step and returns how many there were."""
    state["step"] += 1
    return _value(group, state["step"])


def _as(value: Any, like: Tensor) -> Any:
    """A tensor option in the type that it is computed with."""
    return value.to(like.dtype) if isinstance(value, Tensor) else value


def _add(p: Tensor, factor: Any, x: Tensor) -> Tensor:
    """p += factor * x, where factor may be a tensor that needs a gradient."""
    return p.addcmul_(x, _as(factor, x)) if isinstance(factor, Tensor) else p.add_(x, alpha=factor)


def _add_quotient(p: Tensor, factor: Any, x: Tensor, y: Tensor) -> Tensor:
    """p += factor * x / y."""
    return p.addcdiv_(x * _as(factor, x), y) if isinstance(factor, Tensor) else p.addcdiv_(x, y, value=factor)


def _average_square(square: Tensor, grad: Tensor, beta: Any) -> Tensor:
    """square = beta * square + (1 - beta) * grad²."""
    if isinstance(beta, Tensor):
        return square.lerp_(grad.square(), _as(1 - beta, grad))
    return square.mul_(beta).addcmul_(grad, grad, value=1 - beta)


def _decay(group: dict, p: Tensor, grad: Tensor, lr: Any) -> Tensor:
    """Weight decay: shrinks p itself, or returns the gradient of the loss with weight_decay / 2 * |p|² added."""
    decay = group["weight_decay"]
    if group.get("decoupled_weight_decay"):
        if decay != 0:
            p.mul_(1 - lr * decay)
        return grad
    if isinstance(decay, Tensor) and decay.requires_grad:
        return grad + p.clone() * decay
    return grad.add(p, alpha=decay) if decay != 0 else grad
