# SPDX-License-Identifier: Apache-2.0
"""The graph of a model as TensorBoard draws it: the operators of one run, inside of the modules that called them."""

import inspect
from collections import Counter
from contextlib import ExitStack

from facula import Tensor, dispatch, no_grad
from facula.utils._pytree import tree_leaves
from facula.utils.tensorboard._events import integer, message


class _Recorder:
    """Sees every operator of a run; a tensor is known by the node that made it."""

    def __init__(self, model):
        self.nodes = []  # (name, kind, names of inputs, attributes, sizes of results)
        self._made = {}  # id of a tensor: its name, and the tensor itself, so that no other gets its id
        self._names: Counter = Counter()
        self._inside = False
        modules = dict(model.named_modules())
        self._scopes = {id(m): self._path(modules, name) for name, m in modules.items()}
        self._stack = [self._scopes[id(model)]]
        self._owned = {}
        for name, m in modules.items():
            for own, t in (*m.named_parameters(recurse=False), *m.named_buffers(recurse=False)):
                self._owned.setdefault(id(t), (self._path(modules, name), own))

    @staticmethod
    def _path(modules, name):
        """Net/Sequential[body]/Linear[0]"""
        parts = name.split(".") if name else []
        inner = (f"{type(modules['.'.join(parts[: i + 1])]).__name__}[{part}]" for i, part in enumerate(parts))
        return "/".join([type(modules[""]).__name__, *inner])

    def enter(self, module, args):
        self._stack.append(self._scopes.get(id(module)) or f"{self._stack[-1]}/{type(module).__name__}")

    def leave(self, module, args, result):
        self._stack.pop()

    def add(self, name, kind, inputs=(), attributes="{}", results=()):
        self._names[name] += 1
        if self._names[name] > 1:
            name = f"{name}_{self._names[name] - 1}"
        self.nodes.append((name, kind, list(inputs), attributes, [list(t.shape) for t in results]))
        for i, t in enumerate(results):
            self._made[id(t)] = (f"{name}:{i}" if i else name, t)
        return name

    def name_of(self, tensor):
        if id(tensor) not in self._made:
            if id(tensor) in self._owned:
                scope, own = self._owned[id(tensor)]
                self.add(f"{scope}/{own}", "prim::GetAttr", attributes=f"{{ name :  {own} }}", results=[tensor])
            else:
                self.add(f"{self._stack[-1]}/constant", "prim::Constant", results=[tensor])
        return self._made[id(tensor)][0]

    def call(self, op, args, kwargs, go_on):
        if self._inside:  # of an operator that is recorded
            return go_on(*args, **kwargs)
        self._inside = True
        try:
            result = go_on(*args, **kwargs)
        finally:
            self._inside = False
        given = {**dict(zip((a.name for a in op._schema.arguments), args)), **kwargs}
        tensors = {k: [x for x in tree_leaves(v) if isinstance(x, Tensor)] for k, v in given.items()}
        rest = {k: v for k, v in given.items() if not tensors[k]}
        inputs = [self.name_of(x) for found in tensors.values() for x in found]
        results = [x for x in tree_leaves(result) if isinstance(x, Tensor)]
        self.add(f"{self._stack[-1]}/{op._opname}", f"{op.namespace}::{op._opname}", inputs, str(rest).replace("'", " "), results)
        return result


def record(model, inputs) -> list:
    """[(name, kind, inputs, attributes, sizes)] of a run of the model, in evaluation mode."""
    recorder, modules = _Recorder(model), list(model.modules())
    training = [m.training for m in modules]
    try:
        names = list(inspect.signature(model.forward).parameters)
    except (TypeError, ValueError):
        names = []
    with ExitStack() as after:
        after.callback(lambda: [setattr(m, "training", was) for m, was in zip(modules, training)])
        model.eval()
        for i, x in enumerate(inputs):
            for t in tree_leaves(x):
                if isinstance(t, Tensor):
                    recorder.add(f"input/{names[i] if i < len(names) else i}", "IO Node", attributes="", results=[t])
        for m in modules:
            if m is not model:
                after.callback(m.register_forward_pre_hook(recorder.enter).remove)
                after.callback(m.register_forward_hook(recorder.leave, always_call=True).remove)
        with no_grad(), dispatch.layer("SummaryWriter.add_graph", recorder.call):
            outputs = model(*inputs)
    for i, t in enumerate(x for x in tree_leaves(outputs) if isinstance(x, Tensor)):
        recorder.nodes.append((f"output/output.{i + 1}", "IO Node", [recorder.name_of(t)], "", [list(t.shape)]))
    return recorder.nodes


def encoded(nodes) -> bytes:
    """The nodes as a GraphDef."""

    def node(name, kind, inputs, attributes, sizes):
        shapes = b"".join(message(7, *(message(2, integer(1, n)) for n in size)) for size in sizes)
        known = message(5, message(1, "_output_shapes"), message(2, message(1, shapes))) if sizes else b""
        return message(1, message(1, name), message(2, kind), *(message(3, x) for x in inputs), known, message(5, message(1, "attr"), message(2, message(2, attributes))))

    return b"".join(node(*n) for n in nodes) + message(4, integer(1, 22))  # the version that PyTorch's files have


RUN_METADATA = message(1, message(1, message(1, "/device:CPU:0")))
