# SPDX-License-Identifier: Apache-2.0
"""--accuracy and --tolerance for one model, in the parent: the order of runs, and the statuses."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any

from . import _plan, _suites


def run(model: Any) -> None:
    """Fills the model's row; raises its Ended."""
    from ._parent import Ended

    options = model.options
    size = model.planned.batch_size
    if size is None and not model.planned.name.startswith("path:"):
        size = _suites.ACCURACY_BATCH[model.suite]
        size = {"torchbench": 8, "huggingface": 8, "timm_models": 16}[model.suite] if options.batch_invariant else size
        model.planned = _plan.Planned(model.planned.name, batch_size=size)
    options.use_eval_mode = options.use_eval_mode or model.suite == "torchbench"
    with contextlib.ExitStack() as stack:
        side = stack.enter_context(contextlib.closing(model.side(False)))
        about = model.load(side)
        model.row.update(batch_size=about["batch_size"], source=about["source"])
        if options.batch_invariant:
            status, reason = model.ask(side, "fail_to_run", "invariant", backend=model.backend).split("|", 1)
            model.row.update(status=status, accuracy=status, reason=reason)
            return
        tolerance = _tolerance(model)
        oracle = None
        if model.backend == "torch":
            oracle = stack.enter_context(contextlib.closing(model.side(True)))
            model.load(oracle)
        candidate = "eager" if oracle else model.backend
        if not options.skip_fp64_check:
            with contextlib.suppress(Ended):  # then the distance between the two is what there is
                model.ask(oracle or side, "fail_to_run", "run_results", kind="float64", backend="eager")
                if oracle:  # the truth is PyTorch's, too: ours would agree with whatever is wrong here
                    _carry(model, oracle, side, ["float64"])
        _eager(model, oracle or side, Ended)
        if oracle:
            _carry(model, oracle, side, ["eager1"])
        else:
            two = model.ask(side, "fail_to_run", "compare", reference="eager1", candidate="eager2", tolerance=0)
            if not two["well"]:
                raise Ended("eager_two_runs_differ", f"{two['worst']}: rmse {two['rmse_candidate']:.3g}")
        try:
            found = model.ask(side, "fail_to_run", "run_results", kind="candidate", backend=candidate)
        except Ended as end:
            if "NoCompiler" in end.reason:
                raise Ended("no_compiler", end.reason.removeprefix("NoCompiler: "))
            raise
        if options.tolerance:
            model.row.update(status="measured", reason="", **model.ask(side, "fail_to_run", "distances", reference="eager1", candidate="candidate"))
            return
        verdict = model.ask(side, "fail_to_run", "compare", reference="eager1", candidate="candidate", tolerance=tolerance)
        for name in ("worst", "rmse_eager", "rmse_candidate"):
            model.row[name] = verdict[name]
        reason = f"{verdict['worst']}: rmse {verdict['rmse_candidate']:.3g}, eager's {verdict['rmse_eager']:.3g}" + (f", {verdict['why']}" if verdict["why"] else "")
        if verdict["well"]:
            model.row.update(status="pass", accuracy="pass", reason=f"{found['nan']} results hold NaN on both sides" if found["nan"] else "", first_divergence="")
            return
        model.row["first_divergence"] = _divergence(model, side, oracle, candidate, tolerance)
        raise Ended("fail_accuracy", f"{reason}; first: {model.row['first_divergence']}")


def _eager(model: Any, side: Any, ended: Any) -> None:
    """Eager twice, with the statuses that say which of them failed."""
    for kind, status in (("eager1", "eager_1st_run"), ("eager2", "eager_2nd_run")):
        try:
            model.ask(side, f"{status}_fail", "run_results", kind=kind, backend="eager")
        except ended as end:
            raise ended(f"{status}_OOM", end.reason) if end.status == "OOM" else end


def _carry(model: Any, source: Any, target: Any, kinds: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="facula-bench-") as folder:
        path = os.path.join(folder, "results.npz")
        model.ask(source, "fail_to_run", "exchange", path=path, kinds=kinds, write=True)
        model.ask(target, "fail_to_run", "exchange", path=path, kinds=kinds, write=False)


def _divergence(model: Any, side: Any, oracle: Any, candidate: str, tolerance: float) -> str:
    with tempfile.TemporaryDirectory(prefix="facula-bench-") as folder:
        path = None
        if oracle:
            path = os.path.join(folder, "trace.json")
            model.ask(oracle, "fail_to_run", "diverges", backend="eager", tolerance=tolerance, path=path)
        return model.ask(side, "fail_to_run", "diverges", backend=candidate, tolerance=tolerance, path=path)


def _tolerance(model: Any) -> float:
    """By precision and suite; no lists of names that are allowed more."""
    options = model.options
    inference, training = _suites.TOLERANCE[model.suite]
    tolerance = training if options.training else inference
    if options.amp or options.float16:
        tolerance = max(tolerance, 1e-3)
    return max(tolerance, 1e-2) if options.bfloat16 or options.amp else tolerance
