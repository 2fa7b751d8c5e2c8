# SPDX-License-Identifier: Apache-2.0
"""The recorded graph: nodes, edges, hooks on gradients and on what is saved for backward."""

import _thread
import abc
import contextlib
import weakref
from collections import defaultdict, namedtuple

from facula import _C, _missing
from facula._tensor import Tensor
from facula.utils._python_dispatch import TorchDispatchMode
from facula.utils.hooks import RemovableHandle

__all__ = [
    "saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks", "register_multi_grad_hook",
    "allow_mutation_on_saved_tensors", "Node", "GradientEdge", "get_gradient_edge", "increment_version", "queue_callback",
]  # fmt: skip

__getattr__ = _missing.missing("facula.autograd.graph")


class Node(abc.ABC):  # noqa: B024 -- isinstance is all that it is for
    """A node of the graph, as y.grad_fn is one: name(), next_functions, register_hook(fn), register_prehook(fn)."""

    @classmethod
    def __subclasshook__(cls, other):
        if cls is not Node:
            return NotImplemented
        from facula.autograd.function import FunctionCtx

        return issubclass(other, (_C._GradNode, FunctionCtx))


class GradientEdge(namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"], defaults=[None])):
    """Where a tensor's gradient goes: a node and which of its inputs. backward and grad take it in a tensor's place."""


def get_gradient_edge(tensor):
    """The edge that a tensor's gradient goes to."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*_C._gradient_edge(tensor))


def increment_version(tensor):
    """Says that a tensor, or each of several, was written to in a way that autograd did not see."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _C._bump_version(t)


def queue_callback(callback):
    """Calls callback() when the backward pass that runs on this thread has ended without an error."""
    _C._queue_callback(callback)


class saved_tensors_hooks(_C._SavedTensorsHooks):
    """Inside, every tensor saved for backward goes through pack_hook, and through unpack_hook when it is used."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook


class save_on_cpu(saved_tensors_hooks):
    """Keeps saved tensors in host memory until backward wants them."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(tensor):
            copy = Tensor.new_empty(tensor, tensor.shape, device="cpu")
            copy.copy_(tensor)
            return tensor.device, copy

        super().__init__(pack, lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """Inside, saved_tensors_hooks raises a RuntimeError with this message."""
    before = _C._disable_saved_tensors_hooks(error_message)
    try:
        yield
    finally:
        _C._disable_saved_tensors_hooks(before)


class _MultiHandle(RemovableHandle):
    def __init__(self, handles):
        self.handles = handles

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, state):
        self.handles = state


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """mode "all": fn(grads) when the gradients of all tensors have been computed, as far as this backward pass computes
    them (None for the others); "any": fn(grad) with the first of them. Once per backward pass."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = _thread.allocate_lock()
    if mode == "any":
        done = set()

        def first(grad):
            number = _C._current_graph_task_id()
            with lock:
                new = number not in done
                done.add(number)
            if new:
                _C._queue_callback(lambda: done.discard(number))
                fn(grad)

        return _MultiHandle(tuple(t.register_hook(first) for t in tensors if t.requires_grad))
    edges = [get_gradient_edge(t) for t in tensors]
    passes = {}  # number of a backward pass: gradients, and how many are still to come

    def hook_of(i):
        def hook(grad):
            number = _C._current_graph_task_id()
            with lock:
                if number not in passes:
                    passes[number] = [[None] * len(edges), sum(map(_C._will_engine_execute_node, edges))]
                entry = passes[number]
                entry[0][i] = grad
                entry[1] -= 1
                if entry[1] == 0:
                    del passes[number]
            if entry[1] == 0:
                fn(entry[0])

        return hook

    return _MultiHandle(tuple(t.register_hook(hook_of(i)) for i, t in enumerate(tensors)))


class _Kept:
    """A saved tensor, copied when its memory is about to be written."""

    def __init__(self, tensor, context):
        self.tensor, self.context, self.copied = tensor, context, False


class _CopyBeforeWrite(TorchDispatchMode):
    def __init__(self, kept):
        self.kept = kept

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for i, parameter in enumerate(func._schema.arguments):
            if not parameter.is_write:
                continue
            written = args[i] if i < len(args) else kwargs.get(parameter.name)
            for t in written if isinstance(written, (list, tuple)) else (written,):
                for k in list(self.kept.get(t._storage_id(), ())) if isinstance(t, Tensor) else ():
                    if not k.copied:
                        k.tensor, k.copied = k.tensor.clone(), True
        return func(*args, **kwargs)


_mutation_allowed = _thread._local()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Inside, tensors saved for backward may be written to: they are copied first. Backward must run inside, too."""
    if getattr(_mutation_allowed, "context", None) is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    kept = defaultdict(weakref.WeakSet)  # by storage

    def pack(tensor):
        entry = _Kept(tensor, kept)
        kept[tensor._storage_id()].add(entry)
        return entry

    def unpack(entry):
        if getattr(_mutation_allowed, "context", None) is not entry.context:
            raise AssertionError("Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was originally recorded.")
        return entry.tensor

    with saved_tensors_hooks(pack, unpack), _CopyBeforeWrite(kept):
        _mutation_allowed.context = kept
        try:
            yield kept
        finally:
            _mutation_allowed.context = None
            kept.clear()
