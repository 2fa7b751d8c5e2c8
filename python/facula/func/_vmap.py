# SPDX-License-Identifier: Apache-2.0
"""vmap: a function of one sample, called once for all samples.

Inside, a tensor of which every sample has its own is a Batched: it shows the shape of one sample, and its value has the
samples as first dimension. Operators reach it above autograd (the Python layer of the dispatcher), so what is computed on
the values is recorded as usual, and gradients pass through. Calls of vmap nest: each has a level, and a Batched of one level
may have one of an outer level as its value. Rules (_rules.py) say how an operator works on values; where there is none, a
composite operator is taken apart, and any other is called once per sample.
"""

import collections
import functools
import threading

import facula as torch
from facula import _C
from facula.utils._python_dispatch import TorchDispatchMode
from facula.utils._pytree import tree_flatten, tree_map, tree_unflatten



class _Stack(threading.local):
    def __init__(self):
        self.levels = []  # of the vmaps under way on this thread, outermost first


stack = _Stack()


class _Level:
    """One call of vmap."""

    def __init__(self, size, randomness):
        self.size, self.randomness = size, randomness


class VmapError(RuntimeError):
    """Something that cannot be done for all samples at once."""


class Batched(torch.Tensor):
    """A tensor of one sample, standing for all of them; see the module."""

    __module__ = "facula.func"
    __torch_function__ = _C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, value, level):
        self = cls._make_wrapper_subclass(value.shape[1:], strides=list(value.stride())[1:], dtype=value.dtype, device=value.device)
        self.value, self.level = value, level
        return self

    def __init__(self, value, level):
        pass

    requires_grad = property(lambda self: self.value.requires_grad)

    def _refuse(self, *args, **kwargs):
        raise VmapError(
            "vmap: It looks like you're calling .item() on a Tensor, or reading its memory in another way. Inside of vmap a tensor stands for "
            "all samples, and has no numbers of its own."
        )

    tolist = numpy = __array__ = __dlpack__ = data_ptr = untyped_storage = storage = __reduce_ex__ = __deepcopy__ = _refuse

    def requires_grad_(self, requires_grad=True):
        raise VmapError(
            "vmap: You are attempting to call Tensor.requires_grad_() inside of a function being transformed. Use torch.func.grad there instead"
        )

    def __repr__(self, *, tensor_contents=None):
        return f"BatchedTensor(lvl={stack.levels.index(self.level) + 1 if self.level in stack.levels else '?'}, bdim=0, value={self.value})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        from facula.func._rules import run

        return run(func, args, kwargs or {})


# Composite operators that may draw, though their names do not say so as those of dropout and of recurrent layers do.
_MAY_DRAW = frozenset(("dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_", "scaled_dot_product_attention"))
_REFUSED = frozenset(("rrelu", "rrelu_", "rrelu_with_noise", "rrelu_with_noise_"))


class _Drawn(Exception):
    """A composite operator draws: what randomness "look" is for."""


class _Randomness(TorchDispatchMode):
    """What random operators do inside of vmap."""

    def __init__(self, level, randomness=None):
        self.level, self.randomness = level, randomness or level.randomness

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._opname
        if name in _REFUSED:
            raise VmapError(f"vmap: we do not yet support {func.name()}")
        if func.is_composite:
            return self._composite(func, args, kwargs) if func.is_random or name in _MAY_DRAW else func(*args, **kwargs)
        if not func.is_random:
            return func(*args, **kwargs)
        mode = self.randomness
        if mode == "look":
            raise _Drawn
        if mode == "error":
            raise VmapError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags "
                "on vmap or perform the randomness operation out of vmap"
            )
        batched = [x for x in tree_flatten((args, kwargs))[0] if self._is(x)]
        if batched:
            return self._same(func, batched, args, kwargs) if mode == "same" else func(*args, **kwargs)  # or for the whole value
        if mode == "same":
            return func(*args, **kwargs)
        # Nothing of the call is batched: draw once per sample.
        if func.is_in_place:
            raise VmapError(f"vmap: {func.name()} cannot write numbers that differ from sample to sample into a tensor that does not")
        return wrap_results([func(*args, **kwargs) for _ in range(self.level.size)], self.level)

    def _is(self, x):
        return isinstance(x, Batched) and x.level is self.level

    def _composite(self, func, args, kwargs):
        """Taken apart here, under this mode, which then sees what is drawn inside."""
        if func._opname == "scaled_dot_product_attention" and not (args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0)):
            return func(*args, **kwargs)  # which has a rule
        batched = any(map(self._is, tree_flatten((args, kwargs))[0]))
        # Noise that is made by sizes is one tensor for all samples. To differ, it is drawn in a call for each.
        apart = self.randomness == "different" and (not batched or func._opname.startswith("feature_"))
        try:
            with _Randomness(self.level, "look" if apart else None):
                result = func._expand(*args, **kwargs)
                return args[0] if func.is_in_place else result
        except _Drawn:
            pass
        if func.is_in_place and not batched:
            raise VmapError(f"vmap: {func.name()} cannot write numbers that differ from sample to sample into a tensor that does not")
        results = []
        for i in range(self.level.size):
            one = tree_map(lambda x: x.value[i] if self._is(x) else x, (args, kwargs))  # noqa: B023
            results.append(func(*one[0], **one[1]))
        return args[0] if func.is_in_place else wrap_results(results, self.level)

    def _same(self, func, batched, args, kwargs):
        """A draw that only the shape of a Batched matters to, made once for all samples."""
        x = args[0] if args else None
        if len(batched) == 1 and x is batched[0]:
            one = x.value.new_empty(x.value.shape[1:])
            if func.is_in_place:
                x.value.copy_(func(one, *args[1:], **kwargs))
                return x
            if func._opname.endswith("_like"):
                return func(one, *args[1:], **kwargs)
            if func._opname == "native_dropout":
                kept, mask = func(one.fill_(1), *args[1:], **kwargs)
                return x * kept, mask
        if func._opname == "attention_kept":
            return func(*(x.value.new_empty(x.value.shape[1:]) if self._is(x) else x for x in args), **kwargs)
        raise VmapError(
            f"vmap: {func.name()} of a tensor that differs from sample to sample cannot draw the same numbers for all in randomness mode 'same'"
        )


def wrap_results(samples, level):
    """Results of one call per sample as the result of one call."""
    leaves, spec = zip(*(tree_flatten(s) for s in samples), strict=True)

    def join(column):
        if not isinstance(column[0], torch.Tensor):
            return column[0]
        if any(t.shape != column[0].shape for t in column):
            raise VmapError("vmap: an operator gave results whose sizes differ from sample to sample")
        return Batched(torch.stack(column), level)

    return tree_unflatten([join(c) for c in zip(*leaves, strict=True)], spec[0])


VmapInfo = collections.namedtuple("VmapInfo", ["batch_size", "randomness"])


def _apply(function, args):
    """A call of a torch.autograd.Function, some of whose arguments may be Batched."""
    found = [x.level for x in tree_flatten(args)[0] if isinstance(x, Batched)]
    if not found:
        return NotImplemented
    level = max(found, key=stack.levels.index)

    def split(x):
        return (x.value, 0) if isinstance(x, Batched) and x.level is level else (x, None)

    if function.vmap is torch.autograd.Function.vmap:
        samples = [tree_map(lambda x: x.value[i] if split(x)[1] == 0 else x, args) for i in range(level.size)]  # noqa: B023
        return wrap_results([function.apply(*one) for one in samples], level)
    values, dims = tree_map(lambda x: split(x)[0], args), tree_map(lambda x: split(x)[1], args)
    out, out_dims = function.vmap(VmapInfo(level.size, level.randomness), dims, *values)
    leaves, spec = tree_flatten(out)
    flat = _out_dims(out_dims, spec, function)
    return tree_unflatten([x if d is None else Batched(_front(x, d), level) for x, d in zip(leaves, flat, strict=True)], spec)


torch.autograd.function._of_samples = _apply


def _front(x, dim):
    return x.movedim(dim, 0) if dim else x


def _dims_of(dims, args, name, what):
    """The leaves of args and a dimension, or None, for each."""
    leaves, spec = tree_flatten(args)
    flat = _broadcast(dims, spec)
    if flat is None:
        raise ValueError(
            f"vmap({name}, in_dims={dims}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(dims)[1]} but inputs has structure {spec}."
        )
    return leaves, spec, flat


def _broadcast(dims, spec):
    """One entry of dims per leaf of spec; an entry of dims may stand for a whole part. None where it does not fit."""
    if spec.is_leaf():
        return [dims] if dims is None or isinstance(dims, int) else None
    if dims is None or isinstance(dims, int):
        return [dims] * spec.num_leaves
    children = spec.children() if callable(getattr(spec, "children", None)) else spec.children_specs
    if isinstance(dims, dict):
        parts = list(dims.values())
    elif isinstance(dims, (tuple, list)):
        parts = list(dims)
    else:
        return None
    if len(parts) != len(children):
        return None
    out = []
    for d, s in zip(parts, children, strict=True):
        flat = _broadcast(d, s)
        if flat is None:
            return None
        out += flat
    return out


def _name(f):
    return getattr(f, "__name__", repr(f))


def _check_in(in_dims, args, func):
    name = _name(func)
    if not isinstance(in_dims, (int, tuple, list, dict)) or isinstance(in_dims, bool):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if len(args) == 0:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no inputs. "
            "The latter is unsupported."
        )
    leaves, spec, dims = _dims_of(in_dims, args, name, "inputs")
    found = []
    sizes = set()
    for x, d in zip(leaves, dims, strict=True):
        if d is not None and not isinstance(d, int):
            raise ValueError(f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={d} for an input but in_dim must be either an integer dimension or None.")
        if d is not None and not isinstance(x, torch.Tensor):
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap "
                "over non-Tensor arguments, please use None as the respective in_dim"
            )
        if d is not None and (d < -x.dim() or d >= x.dim()):
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={d} for some input, but that input is a Tensor of dimensionality "
                f"{x.dim()} so expected in_dim to satisfy -{x.dim()} <= in_dim < {x.dim()}."
            )
        d = d + x.dim() if d is not None and d < 0 else d
        if d is not None:
            sizes.add(x.shape[d])
        found.append(d)
    if not sizes:
        raise ValueError("vmap: at least one of the inputs must have a dimension that is mapped over: all in_dims are None")
    if len(sizes) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {[x.shape[d] for x, d in zip(leaves, found, strict=True) if d is not None]} "
            "for the mapped dimension"
        )
    return leaves, spec, found, sizes.pop()


def _unwrap(out, level, dim, name):
    if not isinstance(out, torch.Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(out)}. Did you mean to set out_dims= to None for output?")
    value = out.value if isinstance(out, Batched) and out.level is level else None
    if dim is None:
        if value is not None:
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return out
    if value is None:
        value = out.unsqueeze(0).expand(level.size, *out.shape)
    if not -value.dim() <= dim < value.dim():
        raise IndexError(f"Dimension out of range (expected to be in range of [{-value.dim()}, {value.dim() - 1}], but got {dim})")
    return value.movedim(0, dim) if dim else value


def _out_dims(out_dims, spec, func):
    """A dimension, or None, for each leaf of the outputs."""
    flat = _broadcast(out_dims, spec)
    if flat is None and isinstance(out_dims, (tuple, list)) and len(out_dims) == 1 and spec.is_leaf():
        flat = list(out_dims)
    if flat is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has "
            f"structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return flat


def _call(func, level, leaves, spec, dims, out_dims, kwargs):
    args = [x if d is None else Batched(_front(x, d), level) for x, d in zip(leaves, dims, strict=True)]
    stack.levels.append(level)
    try:
        with _Randomness(level):
            out = func(*tree_unflatten(args, spec), **kwargs)
    finally:
        stack.levels.pop()
    results, out_spec = tree_flatten(out)
    flat = _out_dims(out_dims, out_spec, func)
    return tree_unflatten([_unwrap(r, level, d, _name(func)) for r, d in zip(results, flat, strict=True)], out_spec)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """func, mapped over a dimension of its inputs: in_dims says which (None: not), out_dims where it goes in the outputs.

    randomness: what random operators do: "error", draw "different" numbers for each sample, or the "same". chunk_size: so
    many samples at a time.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapped(*args, **kwargs):
        leaves, spec, dims, size = _check_in(in_dims, args, func)
        if chunk_size is None or size <= chunk_size:
            return _call(func, _Level(size, randomness), leaves, spec, dims, out_dims, kwargs)
        results = []
        for start in range(0, size, chunk_size):
            n = min(chunk_size, size - start)
            part = [x if d is None else x.narrow(d, start, n) for x, d in zip(leaves, dims, strict=True)]
            results.append(tree_flatten(_call(func, _Level(n, randomness), part, spec, dims, out_dims, kwargs)))
        out_spec = results[0][1]
        columns = zip(*(leaves for leaves, _ in results), strict=True)
        flat = _out_dims(out_dims, out_spec, func)
        return tree_unflatten([c[0] if d is None else torch.cat(list(c), d) for c, d in zip(columns, flat, strict=True)], out_spec)

    return functools.wraps(func)(wrapped) if hasattr(func, "__name__") else wrapped


def debug_unwrap(tensor, *, recurse=True):
    """What a tensor inside of vmap stands for, all samples of it, for a look at it in a debugger. recurse: under all levels."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"debug_unwrap: expected a tensor, got {type(tensor).__name__}")
    if recurse:
        return plain(tensor)
    return tensor.value if isinstance(tensor, Batched) else tensor


def plain(x):
    """The tensor under all levels."""
    while isinstance(x, Batched):
        x = x.value
    return x


def lift(x):
    """x as a Batched of every vmap under way, repeated (by strides) for the samples of those where it was none."""
    for level in stack.levels:
        y = x
        while isinstance(y, Batched) and y.level is not level:
            y = y.value
        if not isinstance(y, Batched):
            x = insert(x, level)
    return x


def insert(x, level):
    """x with another level: over those of outer vmaps, under those of inner ones."""
    if isinstance(x, Batched) and stack.levels.index(x.level) > stack.levels.index(level):
        return Batched(insert(x.value, level), x.level)
    return Batched(x.unsqueeze(0).expand(level.size, *x.shape), level)


def like(x, value):
    """A tensor with x's levels over another value."""
    if not isinstance(x, Batched):
        return value
    return Batched(like(x.value, value), x.level)


def map_tensors(f, tree):
    return tree_map(lambda x: f(x) if isinstance(x, torch.Tensor) else x, tree)
