# SPDX-License-Identifier: Apache-2.0
"""Checkpointing: a part of the forward pass keeps nothing for backward and is run again when backward needs it.

Without re-entrance (use_reentrant=False, the form to use), what the function would have saved is replaced by holders. The
first holder that backward opens runs the function again, under the same random state, autocast and contexts, and keeps what
it saves this time for the others; the run stops as soon as it has saved all of them. With re-entrance the function is one
node of the graph, whose backward runs it with recording and then runs backward inside of backward.
"""

import contextlib
import threading
import warnings
import weakref

import facula as torch
from facula import _C, _missing
from facula.autograd.graph import saved_tensors_hooks
from facula.utils._selective_checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "checkpoint", "checkpoint_sequential", "CheckpointError", "CheckpointFunction", "check_backward_validity", "detach_variable",
    "get_device_states", "set_device_states", "noop_context_fn", "set_checkpoint_early_stop", "DefaultDeviceType",
    "set_checkpoint_debug_enabled", "CheckpointPolicy", "GraphExecGroup", "SAC_IGNORED_OPS", "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
]  # fmt: skip

__getattr__ = _missing.missing("facula.utils.checkpoint")

_debug = None  # what set_checkpoint_debug_enabled says
_early_stop = None  # what set_checkpoint_early_stop says
_TIP = (
    "\nTip: To see a more detailed error message, either pass `debug=True` to\n`torch.utils.checkpoint.checkpoint(...)` or wrap the "
    "code block\nwith `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):`."
)


class CheckpointError(RuntimeError):
    """Running a function again did not save what its first run would have."""


class _Stop(Exception):
    """Everything that backward can ask for has been computed."""


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Inside, errors of checkpoint list the operators of both runs; None leaves it to the debug argument."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Inside, running again stops when all is saved, or never does; None leaves it to the early_stop argument."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


def noop_context_fn():
    """Contexts that do nothing, for the first run and the second."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def detach_variable(inputs):
    """A tuple's tensors as leaves that need a gradient where they did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in inputs)


def check_backward_validity(inputs):
    """Warns where no input needs a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, torch.Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class DefaultDeviceType:
    """The device type whose state checkpoint keeps where no argument lies on an accelerator."""

    _default_device_type = None

    @staticmethod
    def set_device_type(device="cuda"):
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type():
        return DefaultDeviceType._default_device_type or "cpu"


def get_device_states(*args):
    """Random states per device: none, since every device draws from the one generator."""
    return [], []


def set_device_states(devices, states, *, device_type=None):
    """Takes over what get_device_states gave."""


class _Surroundings:
    """What a second run must find as the first did: random numbers and autocast."""

    def __init__(self, args, keep_rng):
        self.rng = torch.get_rng_state() if keep_rng else None
        devices = {"cpu", *(x.device.type for x in args if isinstance(x, torch.Tensor) and not x.is_meta)}
        self.autocast = [(d, torch.get_autocast_dtype(d), torch.is_autocast_enabled(d)) for d in devices]

    @contextlib.contextmanager
    def again(self):
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng(enabled=self.rng is not None))
            if self.rng is not None:
                torch.set_rng_state(self.rng)
            for device, dtype, enabled in self.autocast:
                stack.enter_context(torch.autocast(device, dtype=dtype, enabled=enabled))
            yield


class CheckpointFunction(torch.autograd.Function):
    """The re-entrant form."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function, ctx.surroundings = run_function, _Surroundings(args, preserve_rng_state)
        ctx.inputs = [None if isinstance(x, torch.Tensor) else x for x in args]
        ctx.tensor_indices = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.tensor_indices))
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if not _C._is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the "
                "`inputs` argument."
            )
        inputs = list(ctx.inputs)
        for i, x in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[i] = x
        leaves = detach_variable(tuple(inputs))
        with ctx.surroundings.again(), torch.enable_grad():
            outputs = ctx.run_function(*leaves)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, torch.Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        torch.autograd.backward(*zip(*pairs, strict=True))
        return None, None, *(x.grad if isinstance(x, torch.Tensor) else None for x in leaves)


class GraphExecGroup:
    """Backward passes inside compute a checkpointed part again at most once between them."""

    _inner = threading.local()

    def __enter__(self):
        if GraphExecGroup._current() is not None:
            raise RuntimeError("GraphExecGroup contexts cannot be nested: one is active on this thread already")
        self.at_end, GraphExecGroup._inner.group = [], self
        return self

    def __exit__(self, *_):
        GraphExecGroup._inner.group = None
        for drop in self.at_end:
            drop()

    @staticmethod
    def _current():
        return getattr(GraphExecGroup._inner, "group", None)


class _Holder:
    """Stands for a tensor that the function saved, its number `index`."""

    __slots__ = ("index", "__weakref__")

    def __init__(self, index):
        self.index = index


def _facts(x):
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


_CHECKS = {"default": _facts, "none": lambda x: None}


class _Frame:
    """One call of checkpoint: what it takes to run the function again, and what was saved by such runs."""

    def __init__(self, run, args, facts, early_stop, trace):
        self.run, self.facts, self.early_stop, self.trace = run, facts, early_stop, trace
        # Kept as autograd would keep them: an enclosing checkpoint holds them in turn.
        self.args = [_C._SavedTensor(x) if isinstance(x, torch.Tensor) else x for x in args]
        self.holders, self.seen = [], []  # weak references, and the facts about what they stand for
        self.complete = False
        self.again = {}  # number of a backward pass, or a group of them: {index: tensor}
        self.lock = threading.RLock()

    def pack(self, x):
        holder = _Holder(len(self.holders))
        self.holders.append(weakref.ref(holder))
        with torch.no_grad():
            self.seen.append(self.facts(x))
        return holder

    def unpack(self, holder):
        with self.lock:
            group, number = GraphExecGroup._current(), _C._current_graph_task_id()
            run = group or number
            found = self.again.get(run, {})
            if holder.index not in found:
                found = self.run_again()
                if group or number >= 0:  # outside of backward nothing would drop them
                    if run not in self.again:
                        at_end = group.at_end.append if group else _C._queue_callback
                        at_end(lambda: self.again.pop(run, None))
                    self.again[run] = found
            if holder.index not in found:
                raise CheckpointError("torch.utils.checkpoint: a tensor was saved that running again does not save")
            return found[holder.index] if group else found.pop(holder.index)

    def run_again(self):
        saved, count = {}, 0

        def pack(x):
            nonlocal count
            index, count = count, count + 1
            x = x.detach() if x.requires_grad else x
            if index >= len(self.holders):
                if self.complete:
                    self.fail("trying to save more tensors during recomputation than during the original forward pass.\n")
                return x  # backward inside of the function: what comes later is not yet known
            if self.holders[index]() is not None:
                saved[index] = x
            if self.early_stop and count == len(self.holders):
                raise _Stop
            return x

        args = [x.unpack() if isinstance(x, _C._SavedTensor) else x for x in self.args]
        with contextlib.suppress(_Stop), saved_tensors_hooks(pack, lambda x: x), torch.enable_grad():
            self.run(args)
        if self.complete and count != len(self.holders):
            self.fail(
                "A different number of tensors was saved during the original forward and recomputation.\nNumber of tensors saved during "
                f"forward: {len(self.holders)}\nNumber of tensors saved during recomputation: {count}.\n"
            )
        differences = [(i, self.seen[i], self.facts(x)) for i, x in saved.items() if self.seen[i] != self.facts(x)]
        if differences:
            self.fail(
                "Recomputed values for the following tensors have different metadata than during the forward pass.\n"
                + "".join(f"tensor at position {i}:\nsaved metadata: {a}\nrecomputed metadata: {b}\n" for i, a, b in differences)
                + ".\n"
            )
        return saved

    def fail(self, text):
        if self.trace is None:
            raise CheckpointError(f"torch.utils.checkpoint: {text}{_TIP}")
        first, second = ("\n".join(f"  {op}" for op in ops) for ops in self.trace)
        raise CheckpointError(
            f"torch.utils.checkpoint: {text}\nOperations executed during the original forward:\n\n{first}\n\n"
            f"Operations executed during recomputation:\n\n{second}\n"
        )


def _tracing_contexts(trace):
    from facula.utils._python_dispatch import TorchDispatchMode

    class Trace(TorchDispatchMode):
        def __init__(self, ops):
            self.ops = ops

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            shapes = ", ".join(f"{x.dtype}{list(x.shape)}" if isinstance(x, torch.Tensor) else repr(x) for x in (*args, *kwargs.values()))
            self.ops.append(f"{func}({shapes})")
            return func(*args, **kwargs)

    return lambda: (Trace(trace[0]), Trace(trace[1]))


def _without_reentrance(function, args, kwargs, preserve_rng_state, context_fn, determinism_check, debug, early_stop):
    trace = None
    if debug if _debug is None else _debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        trace = ([], [])
        context_fn = _tracing_contexts(trace)
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    forward = torch.autograd.function._forward
    if not torch.is_grad_enabled() or (forward is not None and forward._active()):  # whose tangents need what is saved at once
        return function(*args, **kwargs)
    first, second = context_fn()
    surroundings = _Surroundings(args, preserve_rng_state)

    def run(args):
        with surroundings.again(), second:
            function(*args, **kwargs)

    frame = _Frame(run, args, _CHECKS[determinism_check], early_stop if _early_stop is None else _early_stop, trace)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        result = function(*args, **kwargs)
        frame.complete = True
    if not frame.complete:
        raise RuntimeError("torch.utils.checkpoint: the forward context that context_fn gave suppressed an exception")
    return result


def checkpoint(
    function, *args, use_reentrant=None, preserve_rng_state=True, context_fn=noop_context_fn, determinism_check="default",
    debug=False, early_stop=True, respect_saved_tensors_hooks=None, **kwargs,
):  # fmt: skip
    """function(*args, **kwargs), whose intermediate results are computed again in backward instead of being kept.

    respect_saved_tensors_hooks is accepted: what a selective policy keeps is not given to hooks around the call.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended; the "
            "default is use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    if not use_reentrant:
        return _without_reentrance(function, args, kwargs, preserve_rng_state, context_fn, determinism_check, debug, early_stop)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False or respect_saved_tensors_hooks is not None:
        raise ValueError("Passing `context_fn`, `debug`, or `respect_saved_tensors_hooks` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve_rng_state, *args)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Functions (or the modules of a Sequential) one after the other, in segments of which all but the last are checkpointed."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. use_reentrant=False "
            "is recommended; the default is use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if isinstance(functions, torch.nn.Sequential) else list(functions)

    def run(part):
        def forward(x):
            for f in part:
                x = f(x)
            return x

        return forward

    size = len(functions) // segments
    last = size * (segments - 1)
    for start in range(0, last, size) if size else ():
        input = checkpoint(run(functions[start : start + size]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(functions[last:])(input)
