# SPDX-License-Identifier: Apache-2.0
"""L-BFGS: Newton's direction from the last changes of the gradient, with an optional line search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from facula import _C
from facula._tensor import Tensor
from facula.autograd import enable_grad, no_grad
from facula.optim.optimizer import Optimizer, ParamsT, _options, _to_scalar

__all__ = ["LBFGS"]


class _Point(NamedTuple):
    """A place on the line of a search."""

    t: Any  # how far along the direction
    loss: float
    grad: Tensor
    slope: Any  # of the loss along the direction


def _cubic_minimum(a: _Point, b: _Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through both points with their slopes is lowest, within the bounds or between the points."""
    low, high = bounds or (min(a.t, b.t), max(a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    if a.t > b.t:
        a, b = b, a
    d2 = square**0.5
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)


def _strong_wolfe(
    evaluate: Callable[[Any], _Point], start: _Point, t: Any, reach: Any, limit: int, c1: float = 1e-4, c2: float = 0.9, tolerance: float = 1e-9
) -> tuple[_Point, int]:
    """A point that fulfils the strong Wolfe conditions (loss low enough by c1, slope flat enough by c2), and the evaluations.

    Steps forward until such a point lies between two, then narrows the two. reach: the largest element of the direction.
    """

    def too_high(p: _Point) -> bool:
        return p.loss > start.loss + c1 * p.t * start.slope

    def flat(p: _Point) -> bool:
        return abs(p.slope) <= -c2 * start.slope

    previous, here = start, evaluate(t)
    evaluations, rounds = 1, 0
    ends: list[_Point] = []
    while rounds < limit:
        if too_high(here) or (rounds > 1 and here.loss >= previous.loss):
            ends = [previous, here]
            break
        if flat(here):
            return here, evaluations
        if here.slope >= 0:
            ends = [previous, here]
            break
        t = _cubic_minimum(previous, here, (here.t + 0.01 * (here.t - previous.t), here.t * 10))
        previous, here = here, evaluate(t)
        evaluations += 1
        rounds += 1
    else:
        ends = [start, here]

    stuck = False
    low, high = (0, 1) if ends[0].loss <= ends[1].loss else (1, 0)
    while rounds < limit and not abs(ends[1].t - ends[0].t) * reach < tolerance:
        t = _cubic_minimum(*ends)
        first, last = min(ends[0].t, ends[1].t), max(ends[0].t, ends[1].t)
        margin = 0.1 * (last - first)
        if min(last - t, t - first) < margin:  # too close to an end, for the second time or beyond it: move inwards
            if stuck or t >= last or t <= first:
                t = last - margin if abs(t - last) < abs(t - first) else first + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        here = evaluate(t)
        evaluations += 1
        rounds += 1
        if too_high(here) or here.loss >= ends[low].loss:
            ends[high] = here
            low, high = (0, 1) if ends[0].loss <= ends[1].loss else (1, 0)
            continue
        done = flat(here)
        if not done and here.slope * (ends[high].t - ends[low].t) >= 0:
            ends[high] = ends[low]
        ends[low] = here
        if done:
            break
    return ends[low], evaluations


class LBFGS(Optimizer):
    """Newton's method with the curvature of the last history_size steps; one group of parameters, and a closure in every step.

    A step makes up to max_iter iterations and max_eval evaluations. line_search_fn: None or "strong_wolfe".
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        options = _options(locals())
        options["max_eval"] = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, options)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def _gradient(self) -> Tensor:
        """All gradients in one row, downwards."""
        rows = []
        for p in self._params:
            row = (p.new_zeros(p.numel()) if p.grad is None else p.grad).reshape(-1)
            rows.append(_C._functions["view_as_real"](row).reshape(-1) if row.is_complex() else row)
        row = _C._functions["cat"](rows)
        return -row if self.param_groups[0].get("maximize", False) else row

    def _move(self, t: Any, direction: Tensor) -> None:
        offset = 0
        for p in self._params:
            real = _C._functions["view_as_real"](p) if p.is_complex() else p
            real.add_(direction[offset : offset + real.numel()].view_as(real), alpha=t)
            offset += real.numel()

    @no_grad()
    def step(self, closure: Callable[[], float]) -> float:
        """Iterates. closure: computes the loss and the gradients anew, and returns the loss."""
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        group = self.param_groups[0]
        lr, sign = _to_scalar(group["lr"]), -1 if group.get("maximize", False) else 1

        def evaluate() -> Any:
            with enable_grad():
                return closure()

        first_loss = evaluate()
        if not self._params:
            return first_loss
        state = self.state[self._params[0]]  # of all; loading casts it to the first parameter's type
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        loss, grad = sign * float(first_loss), self._gradient()
        evaluations, iterations = 1, 0
        state["func_evals"] += 1
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        direction, t, previous, previous_loss = (state.get(key) for key in ("d", "t", "prev_flat_grad", "prev_loss"))
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                direction = -grad
                state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            else:
                direction = self._direction(state, group["history_size"], grad, grad - previous, direction * t)
            previous, previous_loss = grad.clone(), loss
            t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            more = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                begin = [p.clone() for p in self._params]

                def at(t: Any, begin=begin, direction=direction) -> _Point:
                    self._move(t, direction)
                    loss, grad = sign * float(evaluate()), self._gradient()
                    for p, old in zip(self._params, begin, strict=True):
                        p.copy_(old)
                    return _Point(t, loss, grad, grad.dot(direction))

                found, more = _strong_wolfe(at, _Point(0, loss, grad.clone(), slope), t, direction.abs().max(), group["max_eval"] - evaluations)
                t, loss, grad = found.t, found.loss, found.grad
                self._move(t, direction)
            else:
                self._move(t, direction)
                if iterations != group["max_iter"]:  # after the last one nobody asks
                    loss, grad = sign * float(evaluate()), self._gradient()
                    more = 1
            evaluations += more
            state["func_evals"] += more
            if (
                evaluations >= group["max_eval"]
                or grad.abs().max() <= group["tolerance_grad"]
                or (direction * t).abs().max() <= group["tolerance_change"]
                or abs(loss - previous_loss) < group["tolerance_change"]
            ):
                break
        history = {} if "d" in state else {key: state.pop(key) for key in ("old_dirs", "old_stps", "ro", "H_diag")}  # after d and t
        state.update(d=direction, t=t, **history, prev_flat_grad=previous, prev_loss=previous_loss)
        return first_loss

    @staticmethod
    def _direction(state: dict[str, Any], history_size: int, grad: Tensor, change: Tensor, step: Tensor) -> Tensor:
        """-H grad, after the last step and the change of the gradient over it went into the history that stands for H."""
        changes, steps, inverse = state["old_dirs"], state["old_stps"], state["ro"]
        curvature = change.dot(step)
        if curvature > 1e-10:
            if len(changes) == history_size:
                for history in (changes, steps, inverse):
                    history.pop(0)
            changes.append(change)
            steps.append(step)
            inverse.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        parts = state.setdefault("al", [None] * history_size)
        direction = -grad
        for i in reversed(range(len(changes))):
            parts[i] = steps[i].dot(direction) * inverse[i]
            direction.add_(changes[i], alpha=-parts[i])
        direction = direction * state["H_diag"]
        for i in range(len(changes)):
            direction.add_(steps[i], alpha=parts[i] - changes[i].dot(direction) * inverse[i])
        return direction
