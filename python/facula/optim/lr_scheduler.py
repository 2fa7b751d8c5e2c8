# SPDX-License-Identifier: Apache-2.0
"""Schedulers: learning rates, and momenta, that follow the epochs."""

from __future__ import annotations

import functools
import math
import types
import warnings
import weakref
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, SupportsFloat

from facula._tensor import Tensor
from facula.optim.optimizer import Optimizer, _to_scalar

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form "
    "is used instead of the new chainable form, where available."
)
_ORDER = "Call `optimizer.step()` before `lr_scheduler.step()`; otherwise the first value of the schedule is skipped."


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _format_param(name: str, optimizer: Optimizer, param: Any) -> list[Any]:
    """An option as a list with a value for each group."""
    groups = len(optimizer.param_groups)
    if not isinstance(param, (list, tuple)):
        param = [param] * groups
    elif len(param) != groups:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(param)} values, param_groups has {groups}.")
    return [_copied(p) for p in param]


def _values(optimizer: Optimizer, key: str) -> list[Any]:
    return [_copied(group[key]) for group in optimizer.param_groups]


def _write(group: dict[str, Any], key: str, value: Any) -> None:
    if isinstance(group[key], Tensor):
        group[key].fill_(_to_scalar(value))
    else:
        group[key] = value


def _need_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Base of all schedulers: step() asks get_lr() for the next rates and writes them into the optimiser's groups.

    A subclass says in _next() what follows a group's rate, or in _closed_form() what a rate is at last_epoch; with a
    closed form step(epoch) goes to any epoch.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _need_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0: "
                    "load the optimizer's state first, or begin with last_epoch = -1"
                )
        self.base_lrs: list[Any] = _values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All of the scheduler but the optimiser."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what state_dict() returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of the coming epoch; called by step()."""
        self._warn_outside_step()
        return [self._next(group["lr"], base, i) for i, (group, base) in enumerate(zip(self.optimizer.param_groups, self.base_lrs, strict=True))]

    def _next(self, lr: Any, base: Any, index: int) -> Any:
        raise NotImplementedError

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning, stacklevel=3)

    def _get_closed_form_lr(self) -> list[Any]:
        if type(self)._closed_form is LRScheduler._closed_form:
            return self.get_lr()
        return [self._closed_form(base) for base in self.base_lrs]

    def _closed_form(self, base: Any) -> Any:
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Goes to the next epoch."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(f"Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. {_ORDER}", UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(f"Detected call of `lr_scheduler.step()` before `optimizer.step()`. {_ORDER}", UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._set(self.get_lr if epoch is None else self._get_closed_form_lr)

    def _set(self, rates: Callable[[], list[Any]]) -> None:
        self._get_lr_called_within_step = True
        try:
            values = rates()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            _write(group, "lr", lr)
        self._last_lr: list[Any] = _values(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The base class under its old name."""


def _watch_steps(optimizer: Optimizer) -> None:
    """Makes the optimiser note that it has stepped."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function, seen = optimizer.step.__func__, weakref.ref(optimizer)

    @functools.wraps(function)
    def step(*args, **kwargs):
        optimizer = seen()
        optimizer._opt_called = True
        return function(optimizer, *args, **kwargs)

    step._wrapped_by_lr_sched = True
    optimizer.step = step


class _WithLambdas(LRScheduler):
    """A scheduler with a function per group. Of functions nothing is saved, of other callables their attributes."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All of the scheduler but the optimiser and plain functions."""
        state = super().state_dict()
        del state["lr_lambdas"]
        state["lr_lambdas"] = [None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what state_dict() returned."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_WithLambdas):
    """lr = initial lr * lr_lambda(epoch)."""

    def _next(self, lr: Any, base: Any, index: int) -> Any:
        return base * self.lr_lambdas[index](self.last_epoch)


class MultiplicativeLR(_WithLambdas):
    """lr *= lr_lambda(epoch) in each epoch."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        for function in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def _next(self, lr: Any, base: Any, index: int) -> Any:
        return lr if self._is_initial else lr * self.lr_lambdas[index](self.last_epoch)


class StepLR(LRScheduler):
    """lr *= gamma every step_size epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any, index: int) -> Any:
        return lr if self.last_epoch == 0 or self.last_epoch % self.step_size != 0 else lr * self.gamma

    def _closed_form(self, base: Any) -> Any:
        return base * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """lr *= gamma at each of the milestones."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any, index: int) -> Any:
        return lr * self.gamma ** self.milestones[self.last_epoch] if self.last_epoch in self.milestones else lr

    def _closed_form(self, base: Any) -> Any:
        return base * self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(LRScheduler):
    """lr * factor for total_iters epochs, then lr."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any, index: int) -> Any:
        if self.last_epoch == 0:
            return lr * self.factor
        return lr * (1.0 / self.factor) if self.last_epoch == self.total_iters else lr

    def _closed_form(self, base: Any) -> Any:
        return base * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor))


class LinearLR(LRScheduler):
    """From lr * start_factor to lr * end_factor in total_iters equal steps."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any, index: int) -> Any:
        if self.last_epoch == 0:
            return lr * self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return lr
        rise = self.end_factor - self.start_factor
        return lr * (1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def _closed_form(self, base: Any) -> Any:
        rise = self.end_factor - self.start_factor
        return base * (self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters)


class ExponentialLR(LRScheduler):
    """lr *= gamma in each epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any, index: int) -> Any:
        return lr if self._is_initial else lr * self.gamma

    def _closed_form(self, base: Any) -> Any:
        return base * self.gamma**self.last_epoch


class PolynomialLR(LRScheduler):
    """lr * (1 - epoch / total_iters)^power."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any, index: int) -> Any:
        if self._is_initial or self.last_epoch > self.total_iters:
            return lr
        return lr * ((1.0 - self.last_epoch / self.total_iters) / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power

    def _closed_form(self, base: Any) -> Any:
        return base * (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from lr to eta_min in T_max epochs, and back."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any, index: int) -> Any:
        if self._is_initial:
            return lr
        if self._step_count == 1 and self.last_epoch > 0:
            return self._closed_form(base)
        step = math.pi / self.T_max
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # leaves the lowest point, where ratios say nothing
            return lr + (base - self.eta_min) * (1 - math.cos(step)) / 2
        return (1 + math.cos(step * self.last_epoch)) / (1 + math.cos(step * (self.last_epoch - 1))) * (lr - self.eta_min) + self.eta_min

    def _closed_form(self, base: Any) -> Any:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosines from lr to eta_min, the first T_0 epochs long, each T_mult times as long as the one before."""

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def _next(self, lr: Any, base: Any, index: int) -> Any:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2

    def step(self, epoch: float | None = None) -> None:
        """Goes to the next epoch, or to any, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr)


class _OfSchedulers(LRScheduler):
    """A scheduler made of others."""

    def _check(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified when "
                    f"calling `step`, but got one at index {i} in the given schedulers sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler {type(scheduler).__name__} at "
                    f"index {i} has {scheduler.optimizer}, which is different from {type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """The state of this scheduler and of those it is made of."""
        state = super().state_dict()
        del state["_schedulers"]
        state["_schedulers"] = [s.state_dict() for s in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what state_dict() returned."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"], strict=False):
            scheduler.load_state_dict(saved)


class SequentialLR(_OfSchedulers):
    """One scheduler after the other; milestones are the epochs at which the next one begins."""

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1) -> None:
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, but "
                f"got number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:  # each of them has made its first step; only the first one's shall count
            _write(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Takes back a step of all schedulers inside."""
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for inner in sched._schedulers:
                self.recursive_undo(inner)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Goes to the next epoch."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_OfSchedulers):
    """All schedulers at once, each on what the one before has set."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        self._check(schedulers, optimizer)
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = _values(optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Goes to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = _values(self._schedulers[-1].optimizer, "lr")


class ReduceLROnPlateau(LRScheduler):
    """lr *= factor when a measure has not become better for more than patience epochs.

    Better is by threshold: relative ("rel") or absolute ("abs"), downwards ("min") or upwards ("max"). After a reduction
    cooldown epochs do not count; rates stay above min_lr, and changes below eps are not made.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        _need_optimizer(optimizer)
        self.factor, self.optimizer = factor, optimizer
        groups, several = len(optimizer.param_groups), isinstance(min_lr, (list, tuple))
        if several and len(min_lr) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
        self.default_min_lr = None if several else min_lr
        self.min_lrs = list(min_lr) if several else [min_lr] * groups
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = _values(optimizer, "lr")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self._reset()

    def _reset(self) -> None:
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Goes to the next epoch, of which metrics is the measure."""
        current = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = _values(self.optimizer, "lr")

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when `ReduceLROnPlateau` was initialized "
                    f"({len(self.min_lrs)}). Please modify the `min_lrs` field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                _write(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs do not count, because a reduction was not long ago."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = 1.0 if self.mode == "max" else -1.0
        limit = best * (1.0 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return a > limit if self.mode == "max" else a < limit


class _WithMomentum(LRScheduler):
    """A scheduler that moves the momentum (or the first beta) against the learning rate."""

    def _begin_momentum(self, optimizer: Optimizer, base: Any, most: Any, last_epoch: int) -> tuple[list, list]:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        bases, highest = _format_param("base_momentum", optimizer, base), _format_param("max_momentum", optimizer, most)
        if last_epoch == -1:
            for high, low, group in zip(highest, bases, optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return bases, highest

    def _set_momentum(self, group: dict[str, Any], momentum: Any) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """Up from base_lr to max_lr in step_size_up steps and down in step_size_down, again and again.

    mode: all cycles alike ("triangular"), each half as high ("triangular2"), or with gamma^step ("exp_range"); scale_fn
    of the cycle or of the step (scale_mode) replaces it.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        _need_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = _format_param("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                _write(group, "lr", lr)
        self.max_lrs = _format_param("max_lr", optimizer, max_lr)
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = float(step_size_up) / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """By what the height of a cycle is multiplied."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return {"triangular": lambda: 1.0, "triangular2": lambda: 1 / 2.0 ** (x - 1), "exp_range": lambda: self.gamma**x}[self.mode]()

    def get_lr(self) -> list[Any]:
        """The rates of the coming epoch; called by step(). Sets the momenta too."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """All of the scheduler but the optimiser and a plain function."""
        state, function = super().state_dict(), self._scale_fn_custom
        del state["_scale_fn_custom"]
        plain = function is None or isinstance(function, types.FunctionType)
        return {**state, "_scale_fn_custom": None if plain else function.__dict__.copy()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what state_dict() returned."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


class OneCycleLR(_WithMomentum):
    """One cycle: from max_lr / div_factor up to max_lr in pct_start of all steps, then down to the start / final_div_factor.

    three_phase: first down as fast as up, then to the end. anneal_strategy: "cos" or "linear".
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        _need_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        given = {"total_steps": total_steps} if total_steps is not None else {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
        for name, value in given.items():
            if not isinstance(value, int) or value <= 0:
                raise ValueError(f"Expected positive integer {name}, but got {value}")
        self.total_steps = math.prod(given.values())
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        up, end = float(pct_start * self.total_steps) - 1, self.total_steps - 1
        phases = [(up, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            phases.append((float(2 * pct_start * self.total_steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
            phases.append((end, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
        else:
            phases.append((end, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases = [dict(zip(names, phase, strict=True)) for phase in phases]
        self._anneal_func_type = anneal_strategy
        highest = _format_param("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for high, group in zip(highest, optimizer.param_groups, strict=True):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start: Any, end: Any, part: float) -> Any:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def get_lr(self) -> list[Any]:
        """The rates of the coming epoch; called by step(). Sets the momenta too."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        begin = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        part = (step - begin) / (phase["end_step"] - begin)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                self._set_momentum(group, self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], part))
        return [self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], part) for group in self.optimizer.param_groups]
