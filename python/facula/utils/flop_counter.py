# SPDX-License-Identifier: Apache-2.0
"""torch.utils.flop_counter: counts the multiplications and additions of products, convolutions and attention."""

import threading
from collections import defaultdict

import facula
from facula import dispatch

__all__ = ["FlopCounterMode", "register_flop_formula"]

flop_registry: dict = {}  # torch.ops.aten.mm …: function of the call's arguments and result


def register_flop_formula(targets, get_raw=False):
    """A decorator: the flops of operators, as a function of shapes, or of tensors with get_raw. The result is `out_val` or `out_shape`."""

    def register(function):
        def formula(*args, out_val=None, **kwargs):
            if get_raw:
                return function(*args, out_val=out_val, **kwargs)
            shape = lambda x: tuple(x.shape) if isinstance(x, facula.Tensor) else type(x)(map(shape, x)) if isinstance(x, (list, tuple)) else x  # noqa: E731
            return function(*map(shape, args), **{k: shape(v) for k, v in kwargs.items()}, out_shape=shape(out_val))

        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            flop_registry[_packet(target)] = formula
        return function

    return register


def _packet(op):
    """torch.ops.aten.mm, of itself and of its overloads."""
    if not hasattr(op, "_schema"):
        return op
    space, name = str(op).split(".")[:2]
    return getattr(getattr(facula.ops, space), name)


def _row_formula(packet):
    """What the operator's own row says (src/ops), which the profiler counts by, too."""

    def formula(*args, out_val=None, **kwargs):
        op = packet.out if "out" in kwargs else packet.default
        return op.flops(*args, **kwargs)

    return formula


# Composites (linear, conv2d, matmul …) call these, so they are counted there.
_attention = "_scaled_dot_product_flash_attention_for_cpu"
for _name in ("mm", "bmm", "addmm", "baddbmm", "convolution", "convolution_backward", _attention, f"{_attention}_backward"):
    flop_registry[getattr(facula.ops.aten, _name)] = _row_formula(getattr(facula.ops.aten, _name))
for _name in ("attention_dropout", "attention_dropout_backward"):
    flop_registry[getattr(facula.ops.facula, _name)] = _row_formula(getattr(facula.ops.facula, _name))


class FlopCounterMode:
    """Inside of `with`, counts flops, in all and per module."""

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None, skip_unsupported=False):
        self.depth, self.display, self.skip_unsupported = depth, display, skip_unsupported  # nothing is refused here
        self.flop_counts: dict = defaultdict(lambda: defaultdict(int))
        self.flop_registry = {**flop_registry, **{_packet(op): f for op, f in (custom_mapping or {}).items()}}
        self._parents, self._hooks = ["Global"], []
        self._inside = threading.local()  # of a call that a formula has counted, with all that it calls

    def get_total_flops(self):
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """{module: {operator: flops}}; the module "Global" is everything."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def _enter(self, module, args):
        name = type(module).__name__ if len(self._parents) == 1 else f"{self._parents[-1]}.{self._names.get(module, type(module).__name__)}"
        self._names.update({child: n for n, child in module.named_children()})
        self._parents.append(name)

    def _leave(self, module, args, output):
        self._parents.pop()

    def __enter__(self):
        from facula.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

        self.flop_counts.clear()
        self._names: dict = {}
        self._hooks = [register_module_forward_pre_hook(self._enter), register_module_forward_hook(self._leave, always_call=True)]
        self._layer = dispatch.Layer("count flops", self._call)
        self._layer.enable()
        return self

    def __exit__(self, *exc):
        self._layer.remove()
        for hook in self._hooks:
            hook.remove()
        if self.display:
            print(self.get_table(self.depth))

    def get_table(self, depth=None):
        """Flops per module, down to a depth, as text."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        rows = [("Module", "FLOP", "% Total")]
        for module, counts in sorted(self.flop_counts.items(), key=lambda item: ("" if item[0] == "Global" else item[0])):
            if module.count(".") < depth:
                indent = " " * (module.count(".") + (module != "Global"))
                rows.append((indent + module, f"{sum(counts.values()):,}", f"{100 * sum(counts.values()) / max(total, 1):.2f}%"))
                rows += [(f"{indent} - {op._name.replace('::', '.')}", f"{n:,}", f"{100 * n / max(total, 1):.2f}%") for op, n in counts.items()]
        widths = [max(len(r[i]) for r in rows) for i in range(3)]
        rows.insert(1, tuple("-" * w for w in widths))
        return "\n".join("  ".join([r[0].ljust(widths[0]), r[1].rjust(widths[1]), r[2].rjust(widths[2])]) for r in rows)

    def _call(self, op, args, kwargs, go_on):
        formula = None if getattr(self._inside, "counted", False) else self.flop_registry.get(_packet(op))
        if formula is None:
            return go_on(*args, **kwargs)
        self._inside.counted = True
        try:
            out = go_on(*args, **kwargs)
        finally:
            self._inside.counted = False
        flops = formula(*args, **kwargs, out_val=out)
        for module in set(self._parents):
            self.flop_counts[module][_packet(op)] += flops
        return out
