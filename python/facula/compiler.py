# SPDX-License-Identifier: Apache-2.0
"""torch.compiler: nothing is compiled yet. torch.compile gives back what it got and says so once."""

import warnings

from facula import _missing

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling", "is_exporting",
           "list_backends", "reset", "set_stance", "substitute_in_graph", "wrap_numpy"]  # fmt: skip

_warned = False


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False):
    """model itself; without one, a decorator."""
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    global _warned
    if not disable and not _warned:
        _warned = True
        warnings.warn("torch.compile: Facula compiles nothing yet; functions and modules run as they are", stacklevel=2)
    if model is None:
        return lambda function: function
    if not callable(model):
        raise RuntimeError(f"torch.compile: a function or a module expected, got {type(model).__name__}")
    return model


def disable(fn=None, recursive=True, *, reason=None):
    """fn itself: it is not compiled anyway. With and without arguments."""
    return (lambda function: function) if fn is None else fn


def _as_it_is(fn):
    """fn itself: nothing is compiled."""
    return fn


allow_in_graph = assume_constant_result = wrap_numpy = nonstrict_trace = nested_compile_region = _as_it_is


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False):
    """A decorator for what a compiler should call instead of original_fn; nothing is compiled."""
    return _as_it_is


def is_compiling():
    """Whether a compiler is reading the program: no."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset():
    """Forgets what was compiled: nothing."""


def cudagraph_mark_step_begin():
    """Marks a step of recorded work: there is none."""


def list_backends(exclude_tags=("debug", "experimental")):
    """The compilers there are: none."""
    return []


class set_stance:
    """How compiled functions behave; nothing is compiled. A call, a decorator or a context."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile", "aot_eager_then_compile"):
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")

    def __call__(self, fn):
        return fn

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


__getattr__ = _missing.missing(__name__)
