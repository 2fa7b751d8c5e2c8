# SPDX-License-Identifier: Apache-2.0
"""How operators work on all samples at once: rules of vmap, by operator name.

A rule is called with the operator, its arguments with every Batched of the innermost level replaced by a Samples (whose
value has the samples first), and the level; it returns results on values, which are wrapped again. Operators that name the
dimensions they work on share one rule, which moves those by one; which parameters are such is in the schema.
"""

import functools
import math

import facula as torch
from facula.func._vmap import Batched, VmapError, stack, wrap_results
from facula.utils._pytree import tree_flatten, tree_map


class Samples:
    """A value of which every sample has its own part, in the first dimension."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    @property
    def rank(self):
        """Of one sample."""
        return self.value.dim() - 1


def _is(x):
    return isinstance(x, Samples)


def _all(x, level):
    """x's value, repeated for all samples if it has no part of each."""
    return x.value if _is(x) else x.unsqueeze(0).expand(level.size, *x.shape)


def run(func, args, kwargs):
    """Calls func, some of whose arguments are Batched."""
    order = stack.levels
    found = [x.level for x in tree_flatten((args, kwargs))[0] if isinstance(x, Batched)]
    for level in found:
        if level not in order:
            raise VmapError("vmap: a tensor of one sample was used after the vmap that made it had ended")
    level = max(found, key=order.index)
    args, kwargs = tree_map(lambda x: Samples(x.value) if isinstance(x, Batched) and x.level is level else x, (args, kwargs))
    written = _written(func, args, kwargs, level)
    rule = RULES.get(func._opname)
    if rule is None and func.is_map:
        rule = pointwise
    if rule is None and func.is_composite and not func._opname.startswith("linalg_"):  # those look at what their kernel found
        rule = _expand
    if rule is None and not func.is_in_place and not func.is_out and DIMS.get(func._opname):
        rule = by_dims
    result = NotImplemented if rule is None else rule(func, args, kwargs, level)
    if result is NotImplemented:
        result = loop(func, args, kwargs, level)
    if written is not None:  # the result is the tensor itself
        return written
    return tree_map(lambda x: Batched(x.value, level) if _is(x) else x, result)


def _written(func, args, kwargs, level):
    """The Batched that an operator writes to and returns, made anew; an error if only other arguments are Batched."""
    if not func.is_in_place and not func.is_out:
        return None
    if func._opname in GEOMETRY:
        raise VmapError(f"vmap: {func.name()} is not possible inside of vmap; please use the form that returns a new tensor")
    for i, parameter in enumerate(func._schema.arguments):
        if parameter.is_write:
            target = args[i] if i < len(args) else kwargs.get(parameter.name)
            if func.is_out or not _is(target):
                raise VmapError(
                    f"vmap: {func.name()}(self, *extra_args) is not possible because there exists a Tensor in extra_args that has a part for "
                    "each sample, while `self`, which is written, is one tensor for all of them. Please use the out-of-place operator, or make "
                    "`self` of a Tensor that vmap maps over (x.new_zeros)."
                )
            return Batched(target.value, level)
    return None


# They change what a tensor is, not what is in it: a Batched that others hold would not change with it.
GEOMETRY = frozenset("transpose_ t_ squeeze_ unsqueeze_ swapaxes_ swapdims_ resize_ resize_as_ set_ as_strided_ detach_".split())


def _expand(func, args, kwargs, level):
    args, kwargs = tree_map(lambda x: Batched(x.value, level) if _is(x) else x, (args, kwargs))
    result = func._expand(*args, **kwargs)
    return tree_map(lambda x: Samples(x.value) if isinstance(x, Batched) and x.level is level else x, result)


def loop(func, args, kwargs, level):
    """One call per sample."""
    if func._opname in ("_local_scalar_dense", "item"):
        raise VmapError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to "
            "rewrite what you're doing with other operations. A Tensor in an `if` or a loop's condition is such a call, too."
        )
    if level.size == 0:
        raise VmapError(f"vmap: {func.name()} has no rule for all samples at once, and there is no sample to call it with")
    results = []
    for i in range(level.size):
        one = tree_map(lambda x: x.value[i] if _is(x) else x, (args, kwargs))  # noqa: B023
        results.append(func(*one[0], **one[1]))
    return tree_map(lambda x: Samples(x.value) if isinstance(x, Batched) and x.level is level else x, wrap_results(results, level))


# --- element by element


def _aligned(x, rank):
    """A value of samples with as many dimensions after the first as the widest operand has."""
    v = x.value
    return v.reshape(v.shape[0], *(1,) * (rank - x.rank), *v.shape[1:]) if x.rank < rank else v


def _rank(x):
    return x.rank if _is(x) else x.dim() if isinstance(x, torch.Tensor) else 0


def _value(x):
    return x.value if _is(x) else x


def pointwise(func, args, kwargs, level):
    tensors = [x for x in (*args, *kwargs.values()) if _is(x) or isinstance(x, torch.Tensor)]
    rank = max(map(_rank, tensors))
    types = {_value(x).dtype for x in tensors}
    if len(types) > 1 and any(_is(x) and x.rank == 0 for x in tensors) and rank > 0:
        # A tensor without dimensions weighs less when types are promoted, which the value of samples does not show.
        wide, narrow = (functools.reduce(torch.promote_types, (_value(x).dtype for x in tensors if (_rank(x) > 0) == w)) for w in (True, False))
        target = torch.result_type(torch.empty(1, dtype=wide, device="meta"), torch.empty((), dtype=narrow, device="meta"))
        args = [Samples(x.value.to(target)) if _is(x) and x.rank == 0 and x.value.dtype != torch.bool else x for x in args]

    def fit(x):
        return _aligned(x, rank) if _is(x) else x

    return Samples(func(*map(fit, args), **{k: fit(v) for k, v in kwargs.items()}))


# --- operators that name the dimensions they work on


def _shift(d, rank, extra=0):
    """Dimension d of a sample as one of the value; extra: how many dimensions more than the sample the result has."""
    n = max(rank + extra, 1)
    if not -n <= d < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    return d % n + 1


DIMS = {}  # operator: names of the parameters that are dimensions of the first tensor


def by_dims(func, args, kwargs, level):
    """Dimensions are counted from one; all tensor arguments are values of samples. A sample without dimensions has one here."""
    names, extra = DIMS[func._opname], EXTRA.get(func._opname, 0)
    first = args[0]
    if isinstance(first, (list, tuple)):
        values = [_all(x, level) for x in first]
        rank = values[0].dim() - 1
        args = [values, *args[1:]]
    else:
        one_index = func._opname.startswith("index_")  # whose index is a vector, the same for all samples
        if one_index and _is(args[2]):
            return NotImplemented
        args = [Samples(_all(x, level)) if isinstance(x, torch.Tensor) and not (one_index and i == 2) else x for i, x in enumerate(args)]
        rank = args[0].rank
        flat = rank == 0 and not extra
        args = [x.value.unsqueeze(1) if _is(x) and flat and x.rank == 0 else x.value if _is(x) else x for x in args]
    call = {p.name: (args[i] if i < len(args) else kwargs.get(p.name, p.default_value if p.has_default_value() else None))
            for i, p in enumerate(func._schema.arguments)}  # fmt: skip
    for name in names:
        if name not in call:
            return NotImplemented
        d = call[name]
        if func._opname in ("flip", "roll") and not d:
            return Samples(first.value.clone()) if func._opname == "flip" else NotImplemented
        if d is None or (isinstance(d, (list, tuple)) and len(d) == 0):
            d = list(range(rank))
            if "[]" not in next(p.type for p in func._schema.arguments if p.name == name):
                return NotImplemented
        call[name] = [_shift(k, rank, extra) for k in d] if isinstance(d, (list, tuple)) else _shift(d, rank, extra)
    if not isinstance(first, (list, tuple)) and rank == 0 and not extra:
        for name in names:
            if isinstance(call[name], list) and not call[name]:
                call[name] = [1]
    positional = [call[p.name] for p in func._schema.arguments if not p.kwarg_only]
    keywords = {p.name: call[p.name] for p in func._schema.arguments if p.kwarg_only and call[p.name] is not None}
    result = func(*positional, **keywords)
    squeeze = not isinstance(first, (list, tuple)) and rank == 0 and not extra
    return tree_map(lambda x: Samples(x.squeeze(1) if squeeze and x.dim() > 1 else x) if isinstance(x, torch.Tensor) else x, result)


EXTRA = {"unsqueeze": 1, "stack": 1}
for _names, _parameters in (
    ("sum prod amax amin var std var_mean std_mean logsumexp all any argmax argmin max min cumsum cumprod cummax cummin logcumsumexp "
     "_softmax _log_softmax softmax log_softmax sort argsort topk kthvalue median nanmedian mode mean nansum nanmean gather "
     "index_select select narrow unbind split split_with_sizes chunk unsqueeze squeeze cat stack index_add index_copy scatter "
     "scatter_add scatter_reduce linalg_vector_norm norm count_nonzero glu diff slice aminmax unflatten repeat_interleave "
     "renorm cross linalg_cross select_scatter slice_scatter index_fill", ("dim",)),
    ("transpose swapaxes swapdims", ("dim0", "dim1")),
    ("diagonal diag_embed", ("dim1", "dim2")),
    ("flip roll", ("dims",)),
    ("unfold", ("dimension",)),
    ("flatten", ("start_dim", "end_dim")),
):  # fmt: skip
    DIMS.update(dict.fromkeys(_names.split(), _parameters))
DIMS["_softmax_backward_data"] = DIMS["_log_softmax_backward_data"] = ("dim",)
EXTRA["diag_embed"] = 1


# Reductions of everything: the operator that reduces dimensions instead.
def _of_dims(name, dims=None):
    def rule(func, args, kwargs, level):
        if func._overloadname not in ("default", ""):
            return by_dims(func, args, kwargs, level) if DIMS.get(name) else NotImplemented
        x = args[0]
        flat = x.value.reshape(x.value.shape[0], -1)
        return tree_map(lambda t: Samples(t) if isinstance(t, torch.Tensor) else t, dims(flat, *args[1:], **kwargs))

    return rule


# --- views


def _sizes(x, sizes):
    """Sizes of one sample, -1 resolved, as sizes of the value."""
    numel = math.prod(x.value.shape[1:])
    known = math.prod(s for s in sizes if s != -1)
    if -1 in sizes and x.value.numel() == 0 and known:
        sizes = [numel // known if s == -1 else s for s in sizes]
    return [x.value.shape[0], *sizes]


def _view(func, args, kwargs, level):
    if isinstance(args[1], torch.dtype):
        return NotImplemented
    return Samples(func(args[0].value, _sizes(args[0], list(args[1]))))


def _expand_sizes(func, args, kwargs, level):
    x, sizes = args[0], list(args[1])
    return Samples(func(_aligned(x, len(sizes)), [x.value.shape[0], *sizes], **kwargs))


def _permute(func, args, kwargs, level):
    x = args[0]
    if len(args[1]) != x.rank:
        raise RuntimeError(f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. input.dim() = {x.rank} is not equal to len(dims) = {len(args[1])}")
    return Samples(func(x.value, [0, *(_shift(d, x.rank) for d in args[1])]))


def _repeat(func, args, kwargs, level):
    x, repeats = args[0], list(args[1])
    return Samples(func(_aligned(x, len(repeats)), [1, *repeats]))


def _t(func, args, kwargs, level):
    x = args[0]
    return Samples(x.value.transpose(1, 2) if x.rank == 2 else x.value)


def _squeeze(func, args, kwargs, level):
    x = args[0]
    if func._overloadname == "default":
        return Samples(x.value.reshape([x.value.shape[0], *(s for s in x.value.shape[1:] if s != 1)]))
    dims = args[1] if isinstance(args[1], (list, tuple)) else [args[1]]
    return Samples(func(x.value, [_shift(d, x.rank) for d in dims] if isinstance(args[1], (list, tuple)) else _shift(dims[0], x.rank)) if x.rank else x.value)


def _new(func, args, kwargs, level):
    """x.new_zeros(size): so that it can be written to, with a part for each sample."""
    if not _is(args[0]):
        return NotImplemented
    return Samples(func(args[0].value, [level.size, *args[1]], *args[2:], **kwargs))


def _unary(func, args, kwargs, level):
    """What does not look at dimensions at all."""
    if not _is(args[0]) or any(map(_is, args[1:])) or "memory_format" in kwargs:
        return NotImplemented
    return tree_map(lambda t: Samples(t) if isinstance(t, torch.Tensor) else t, func(args[0].value, *args[1:], **kwargs))


def _copy_in_place(func, args, kwargs, level):
    target, source = args[0], args[1]
    func(target.value, _aligned(source, target.rank) if _is(source) else source, *args[2:], **kwargs)
    return target


# --- products


def _mm(func, args, kwargs, level):
    return Samples(torch.matmul(*map(_value, args)))


def _bmm(func, args, kwargs, level):
    a, b = (_all(x, level) for x in args)
    return Samples(torch.matmul(a, b))


def _mv(func, args, kwargs, level):
    a, b = args
    return Samples(torch.matmul(_value(a), _value(b).unsqueeze(-1)).squeeze(-1))


def _dot(func, args, kwargs, level):
    a, b = map(_value, args)
    return Samples((a.conj() * b if func._opname == "vdot" else a * b).sum(-1))


def _matmul(func, args, kwargs, level):
    a, b = args
    ra, rb = _rank(a), _rank(b)
    if ra == 0 or rb == 0:
        raise RuntimeError("both arguments to matmul need to be at least 1D, but they are " + f"{ra}D and {rb}D")
    n = max(ra, rb, 2)
    x, y = _value(a), _value(b)
    x = x.unsqueeze(-2) if ra == 1 else x
    y = y.unsqueeze(-1) if rb == 1 else y
    x = _aligned(Samples(x), n) if _is(a) else x
    y = _aligned(Samples(y), n) if _is(b) else y
    out = torch.matmul(x, y)
    out = out.squeeze(-2) if ra == 1 else out
    return Samples(out.squeeze(-1) if rb == 1 else out)


def _added(product):
    """addmm and its like: beta * self + alpha * product."""

    def rule(func, args, kwargs, level):
        start, *factors = args[:3]
        if not any(map(_is, factors)):
            factors[0] = Samples(_all(factors[0], level))
        beta, alpha = kwargs.get("beta", 1), kwargs.get("alpha", 1)
        out = product(func, factors, {}, level).value
        out = out if alpha == 1 else out * alpha
        if beta == 0:
            return Samples(out)
        start = _aligned(start, out.dim() - 1) if _is(start) else start
        return Samples(out + (start if beta == 1 else start * beta))

    return rule


def _linear(func, args, kwargs, level):
    x, w, b = args[0], args[1], args[2] if len(args) > 2 else kwargs.get("bias")
    if not _is(w) and not _is(b):
        return Samples(func(x.value, w, b))
    turned = w if _rank(w) < 2 else Samples(w.value.transpose(-1, -2)) if _is(w) else w.t()
    out = _matmul(func, [x, turned], {}, level).value
    if b is None:
        return Samples(out)
    return Samples(out + (_aligned(b, out.dim() - 1) if _is(b) else b))


def _convolution(func, args, kwargs, level):
    call = [args[i] if i < len(args) else kwargs.get(p.name, p.default_value if p.has_default_value() else None)
            for i, p in enumerate(func._schema.arguments)]  # fmt: skip
    names = [p.name for p in func._schema.arguments]
    x, w, b = call[:3]
    space = len(call[names.index("stride")]) if isinstance(call[names.index("stride")], (list, tuple)) else None
    if space is None or _rank(x) != space + 2 or func._schema.returns[0].type != "Tensor" or (names[:3] != ["input", "weight", "bias"]):
        return NotImplemented
    size = level.size
    if not _is(w):
        value = func(x.value.flatten(0, 1), w, None, *call[3:])
        out = value.unflatten(0, (size, -1)) if size else value
    else:
        if "transposed" in names and call[names.index("transposed")]:
            return NotImplemented
        folded = _all(x, level).transpose(0, 1).flatten(1, 2)  # samples become groups
        groups = names.index("groups")
        call[groups] = call[groups] * size
        out = func(folded, w.value.flatten(0, 1), None, *call[3:]).unflatten(1, (size, -1)).transpose(0, 1)
    if b is not None:
        out = out + (b.value.reshape(size, 1, -1, *(1,) * space) if _is(b) else b.reshape(-1, *(1,) * space))
    return Samples(out)


def _rms_norm(func, args, kwargs, level):
    x, shape, weight = (*args, None)[:3]
    if kwargs or not _is(x):
        return NotImplemented
    if not _is(weight):
        return Samples(func(x.value, shape, weight, *args[3:]))
    return Samples(func(x.value, shape, None, *args[3:]) * _aligned(weight, x.rank))


def _layer_norm(func, args, kwargs, level):
    x, shape, weight, bias = (*args, None, None)[:4]
    weight, bias = kwargs.get("weight", weight), kwargs.get("bias", bias)
    if not _is(x):
        return NotImplemented
    rest = {k: v for k, v in kwargs.items() if k not in ("weight", "bias")}
    if not _is(weight) and not _is(bias):
        return Samples(func(x.value, shape, weight, bias, *args[4:], **rest))
    out = func(x.value, shape, None, None, *args[4:], **rest)
    for v, join in ((weight, torch.mul), (bias, torch.add)):
        if v is not None:
            out = join(out, _aligned(v, out.dim() - 1) if _is(v) else v)
    return Samples(out)


def _batch_norm(func, args, kwargs, level):
    """The channels of all samples side by side; weight and bias after it."""
    x, weight, bias, mean, var, training, *rest = args
    if training and mean is not None and _is(x) and not (_is(mean) and _is(var)):
        raise VmapError(
            "vmap: Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
            "were not batched. Without running statistics there is nothing to update: torch.func.replace_all_batch_norm_modules_(module), "
            "or track_running_stats=False when the module is made."
        )
    if kwargs or not all(v is None or not _is(v) or v.value.is_contiguous() for v in (mean, var)):
        return NotImplemented
    if not _is(x):
        if _is(mean) or _is(var):
            return NotImplemented
        out, m, r = func(x, None, None, mean, var, training, *rest)
        out = out.unsqueeze(0).expand(level.size, *out.shape)
    else:
        values = [None if v is None else v.value.view(-1) if _is(v) else v.repeat(level.size) for v in (mean, var)]
        out, m, r = func(x.value.transpose(0, 1).flatten(1, 2), None, None, *values, training, *rest)
        out = out.unflatten(1, (level.size, -1)).transpose(0, 1)
        m, r = (Samples(v.reshape(level.size, -1)) for v in (m, r))
    for v, join in ((weight, torch.mul), (bias, torch.add)):
        if v is not None:
            shape = (-1, *(1,) * (out.dim() - 3))
            out = join(out, v.value.reshape(level.size, 1, *shape) if _is(v) else v.reshape(shape))
    return Samples(out), m, r


def _embedding(func, args, kwargs, level):
    weight, index = args[:2]
    if _is(weight):
        return NotImplemented
    return Samples(func(weight, index.value, *args[2:], **kwargs))


def _reduced(loss, reduction):
    """A loss per element as that of each sample: 0 leaves it, 1 is the mean, 2 the sum."""
    flat = loss.reshape(loss.shape[0], -1)
    return loss if reduction == 0 else flat.mean(1) if reduction == 1 else flat.sum(1)


def _loss(func, args, kwargs, level):
    """A loss that is computed element by element and then reduced."""
    at = next(i for i, p in enumerate(func._schema.arguments) if p.name == "reduction")
    reduction = args[at] if at < len(args) else kwargs.get("reduction", func._schema.arguments[at].default_value)
    given = [*args, *(p.default_value for p in func._schema.arguments[len(args) : at + 1])]
    given[at] = 0
    given[:2] = [Samples(_all(x, level)) for x in given[:2]]  # some want them of one size
    rest = {k: v for k, v in kwargs.items() if k != "reduction"}
    return Samples(_reduced(pointwise(func, given, rest, level).value, reduction))


def _nll(func, args, kwargs, level):
    """Of scores [classes] or [n, classes] and targets; results are the loss and the sum of the weights."""
    scores, target, weight, reduction, ignored = args
    if _rank(scores) > 2 or _is(weight):
        return NotImplemented
    scores, target = _all(scores, level), _all(target, level)
    used = target != ignored
    index = torch.where(used, target, 0)
    weights = used.to(scores.dtype) if weight is None else torch.where(used, weight[index], 0)
    losses = -scores.gather(-1, index.unsqueeze(-1)).squeeze(-1) * weights
    total = weights if weights.dim() == 1 else weights.sum(1)
    if reduction == 0:
        return Samples(losses), Samples(torch.zeros_like(total))
    out = losses if losses.dim() == 1 else losses.sum(1)
    return Samples(out / total if reduction == 1 else out), Samples(total)


def _softmax_backward(func, args, kwargs, level):
    grad, out, dim, *rest = args
    rank = max(_rank(grad), _rank(out))
    if rank == 0:
        return NotImplemented
    return Samples(func(_all(grad, level), _all(out, level), _shift(dim, rank), *rest, **kwargs))


def _masked_fill(func, args, kwargs, level):
    x, mask, value = args
    if not _is(value):
        return pointwise(func, args, kwargs, level)
    return pointwise(torch.where, [mask, Samples(value.value.to(_value(x).dtype)), x], {}, level)


def _pool(func, args, kwargs, level):
    """Over the last dimensions, as many as the name says; before them channels, and batches if there are any."""
    x, space = args[0], int(func._opname.split("d")[-2][-1] if func._opname[-1] != "d" else func._opname[-2])
    if x.rank == space + 1:
        return tree_map(lambda t: Samples(t) if isinstance(t, torch.Tensor) else t, func(x.value, *args[1:], **kwargs))
    if x.rank != space + 2 or level.size == 0:
        return NotImplemented
    out = func(x.value.flatten(0, 1), *args[1:], **kwargs)
    return tree_map(lambda t: Samples(t.unflatten(0, (level.size, -1))) if isinstance(t, torch.Tensor) else t, out)


def _where(func, args, kwargs, level):
    return pointwise(func, args, kwargs, level) if len(args) == 3 else NotImplemented


def _one_hot(func, args, kwargs, level):
    x, classes = args[0], args[1] if len(args) > 1 else kwargs.get("num_classes", -1)
    if classes <= 0:
        raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.")
    return Samples((x.value.unsqueeze(-1) == torch.arange(classes, device=x.value.device)).to(torch.int64))


RULES = {
    "one_hot": _one_hot,
    **dict.fromkeys("view reshape _unsafe_view _reshape_alias".split(), _view),
    **dict.fromkeys("expand broadcast_to".split(), _expand_sizes),
    **dict.fromkeys("zeros_like ones_like empty_like full_like rand_like randn_like clone contiguous detach alias to _to_copy "
                    "dropout native_dropout bernoulli triu tril view_as_real view_as_complex nan_to_num conj real imag lift_fresh "
                    "_conj resolve_conj resolve_neg square hardtanh gelu logit softshrink hardshrink round constant_pad_nd linalg_inv inverse "
                    "linalg_det det slogdet linalg_slogdet linalg_cholesky cholesky linalg_eigh linalg_eigvalsh linalg_svd linalg_svdvals "
                    "linalg_pinv pinverse linalg_matrix_power matrix_exp linalg_matrix_exp logdet fill_ zero_ normal_ uniform_ bernoulli_ exponential_".split(), _unary),
    **dict.fromkeys("new_zeros new_ones new_empty new_full".split(), _new),
    "where": _where,
    **dict.fromkeys("clamp pow add sub mul div rsub lerp addcmul addcdiv maximum minimum threshold_backward copysign "
                    "fmod remainder floor_divide isclose atan2 hypot xlogy logaddexp clamp_min clamp_max "
                    "tanh_backward sigmoid_backward gelu_backward silu_backward softplus_backward elu_backward leaky_relu_backward "
                    "hardtanh_backward".split(), pointwise),
    "permute": _permute, "repeat": _repeat, "t": _t, "numpy_T": _t, "squeeze": _squeeze,
    "copy_": _copy_in_place,
    "mm": _mm, "bmm": _bmm, "mv": _mv, "dot": _dot, "vdot": _dot, "matmul": _matmul,
    "addmm": _added(_mm), "addmv": _added(_mv), "baddbmm": _added(_bmm), "linear": _linear,
    "convolution": _convolution, "conv1d": _convolution, "conv2d": _convolution, "conv3d": _convolution,
    **dict.fromkeys("mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss binary_cross_entropy "
                    "binary_cross_entropy_with_logits kl_div".split(), _loss),
    "nll_loss_forward": _nll, "masked_fill": _masked_fill,
    **dict.fromkeys("avg_pool2d avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d".split(), _pool),
    "layer_norm": _layer_norm, "rms_norm": _rms_norm, "native_batch_norm": _batch_norm, "embedding": _embedding,
    "_softmax_backward_data": _softmax_backward, "_log_softmax_backward_data": _softmax_backward,
    "sum": _of_dims("sum", lambda x, **k: x.sum(1, **k)),
    "mean": _of_dims("mean", lambda x, **k: x.mean(1, **k)),
    "prod": _of_dims("prod", lambda x, **k: x.prod(1, **k)),
    "max": _of_dims("max", lambda x: x.amax(1)), "min": _of_dims("min", lambda x: x.amin(1)),
    "all": _of_dims("all", lambda x: x.all(1)), "any": _of_dims("any", lambda x: x.any(1)),
    "std": _of_dims("std", lambda x, unbiased=True: x.std(1, unbiased)), "var": _of_dims("var", lambda x, unbiased=True: x.var(1, unbiased)),
    "median": _of_dims("median", lambda x: x.median(1).values),
}  # fmt: skip
