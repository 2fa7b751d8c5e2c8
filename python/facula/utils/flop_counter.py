# SPDX-License-Identifier: Apache-2.0
"""torch.utils.flop_counter: counts the multiplications and additions of products, convolutions and attention."""

import math
from collections import defaultdict

import facula
from facula.utils._python_dispatch import TorchDispatchMode

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


def _product(a, b):
    return 2 * math.prod(a) * b[-1]


@register_flop_formula([facula.ops.aten.mm, facula.ops.aten.bmm])
def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    return _product(a_shape, b_shape)


@register_flop_formula([facula.ops.aten.addmm, facula.ops.aten.baddbmm])
def addmm_flop(self_shape, a_shape, b_shape, *args, out_shape=None, **kwargs):
    return _product(a_shape, b_shape)


@register_flop_formula(facula.ops.aten.matmul)
def matmul_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    return 2 * math.prod(out_shape) * a_shape[-1]


@register_flop_formula(facula.ops.aten.linear)
def linear_flop(x_shape, w_shape, *args, out_shape=None, **kwargs):
    return 2 * math.prod(x_shape) * w_shape[0]


def conv_flop_count(x_shape, w_shape, out_shape, transposed=False):
    """A weight has (out, in / groups, …) channels: every output is a product with one of the filters."""
    places = (x_shape if transposed else out_shape)[2:]
    return 2 * x_shape[0] * math.prod(places) * math.prod(w_shape)


@register_flop_formula(facula.ops.aten.convolution)
def conv_flop(x_shape, w_shape, bias, stride, padding, dilation, transposed, *args, out_shape=None, **kwargs):
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula([getattr(facula.ops.aten, f"conv{d}d") for d in (1, 2, 3)])
def plain_conv_flop(x_shape, w_shape, *args, out_shape=None, **kwargs):
    return conv_flop_count(x_shape, w_shape, out_shape)


@register_flop_formula([facula.ops.aten.conv_transpose1d, facula.ops.aten.conv_transpose2d, facula.ops.aten.conv_transpose3d])
def conv_transpose_flop(x_shape, w_shape, *args, out_shape=None, **kwargs):
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=True)


@register_flop_formula(facula.ops.aten.convolution_backward)
def conv_backward_flop(grad_out_shape, x_shape, w_shape, bias, stride, padding, dilation, transposed, output_padding, groups, output_mask, out_shape=None):
    each = conv_flop_count(x_shape, w_shape, grad_out_shape, transposed)
    return each * (bool(output_mask[0]) + bool(output_mask[1]))


def sdpa_flop_count(query_shape, key_shape, value_shape):
    """Two products: of queries and keys, and of the weights and values."""
    *batch, s, d = query_shape
    return 2 * math.prod(batch) * s * key_shape[-2] * (d + value_shape[-1])


def _attention(name, backward=False):
    packet = getattr(facula.ops.aten, name, None)
    if packet is None:
        return

    @register_flop_formula(packet)
    def sdpa(*shapes, out_shape=None, **kwargs):
        # Backward makes the weights anew and has four products of its own.
        return sdpa_flop_count(*shapes[1:4]) * 5 // 2 if backward else sdpa_flop_count(*shapes[:3])


_attention("scaled_dot_product_attention")
_attention("_scaled_dot_product_flash_attention_for_cpu")
_attention("_scaled_dot_product_flash_attention_for_cpu_backward", backward=True)


class FlopCounterMode(TorchDispatchMode):
    """Inside of `with`, counts flops, in all and per module of `mods`, if any are given."""

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        self.depth, self.display = depth, display
        self.flop_counts: dict = defaultdict(lambda: defaultdict(int))
        self.flop_registry = {**flop_registry, **{_packet(op): f for op, f in (custom_mapping or {}).items()}}
        self._parents, self._hooks = ["Global"], []

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
        return super().__enter__()

    def __exit__(self, *exc):
        result = super().__exit__(*exc)
        for hook in self._hooks:
            hook.remove()
        if self.display:
            print(self.get_table(self.depth))
        return result

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

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        packet = _packet(func)
        if packet in self.flop_registry:
            flops = self.flop_registry[packet](*args, **kwargs, out_val=out)
            for module in set(self._parents):
                self.flop_counts[module][packet] += flops
        return out
