# SPDX-License-Identifier: Apache-2.0
"""How operators work on parts: rules by operator name. A rule gives strategies along one dimension of a mesh (_dispatch)."""

from collections.abc import Callable, Iterator

import facula
from facula.distributed import _functional_collectives as _collectives
from facula.distributed.tensor import _views
from facula.distributed.tensor._dispatch import Call, Strategy
from facula.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _NormPartial

__all__ = ["rule_of"]

_REPLICATE, _SUM = Replicate(), Partial()
Rule = Callable[[Call], Iterator[Strategy]]
RULES: dict[str, Rule] = {}


def rule_of(func) -> Rule | None:
    """The rule of an operator; None: it has none."""
    name = func._opname
    base = name[:-1] if func.is_in_place and name.endswith("_") and not name.endswith("__") else name
    if base in RULES:
        return RULES[base]
    if base in _views.RESHAPES:
        return _views.reshape
    if base in ("view_as_complex", "view_as_real"):
        return _views.complex_numbers
    if func.is_map or base in ELEMENTS:
        return pointwise
    if func.is_view and not func.is_in_place and not func.is_composite and base != "as_strided":
        return _views.strided
    return None


def rule(*names: str):
    def put(f: Rule) -> Rule:
        RULES.update(dict.fromkeys(" ".join(names).split(), f))
        return f

    return put


# ---- element by element

ELEMENTS = frozenset(
    "where masked_fill clone detach alias _to_copy to type_as contiguous copy zero fill gelu zeros_like ones_like empty_like full_like "
    "rand_like randn_like native_dropout dropout isnan isinf isfinite isclose clamp nan_to_num float_power lift_fresh celu hardtanh "
    "fake_quantize_per_tensor_affine relu6 logsigmoid threshold heaviside normal uniform bernoulli exponential random trunc_normal "
    "pow float double half bfloat16 int long bool".split()
)
_OF_SUMS = frozenset("neg clone detach alias _to_copy to type_as contiguous zero float double half bfloat16 copy lift_fresh zeros_like".split())


def pointwise(call: Call) -> Iterator[Strategy]:
    """Each element of the result is made of the operands' elements at its place."""
    out = next((r for r in call.results if r is not None), None)
    if out is None:
        return
    for d in range(out.dim()):
        places: dict[str, Placement | list[Placement]] = {}
        for name, at in call.at.items():
            mine = []
            for i in at:
                x = call.tensors[i]
                k = d - (out.dim() - x.dim())
                mine.append(Shard(k) if k >= 0 and (x.shape[k] != 1 or out.shape[d] == 1) else _REPLICATE)
            places[name] = mine
        yield Strategy(Shard(d), places)
    yield from _sums(call)


def _sums(call: Call) -> Iterator[Strategy]:
    name = call.func._opname.rstrip("_")
    names = list(call.at)
    for p in call.partials():
        if name in _OF_SUMS and (call.results[0].is_floating_point() or call.results[0].is_complex()):
            if isinstance(p, _NormPartial) and name == "neg":
                continue
            yield Strategy(p, dict.fromkeys(names, p))
        if isinstance(p, _NormPartial) or p.reduce_op not in ("sum", "avg"):
            continue
        if name in ("add", "sub", "subtract", "rsub") and len(call.tensors) == 2:
            yield Strategy(_REPLICATE, {})  # before it: a replicated operand is not made a sum
            yield Strategy(p, dict.fromkeys(names, p))
        elif name in ("mul", "multiply") and len(call.tensors) == 2:
            yield Strategy(p, {names[0]: p})
            yield Strategy(p, {names[1]: p})
        elif name in ("mul", "multiply", "div", "divide", "true_divide") and call["rounding_mode"] is None:
            yield Strategy(p, {names[0]: p})


@rule("new_zeros new_ones new_empty new_full")
def _new(call: Call) -> Iterator[Strategy]:
    x, out = call.geometry("self"), call.results[0]
    if x.shape != out.shape:
        return

    def local(call: Call):
        return lambda x, size, *args, **kwargs: call.func(x, list(x.shape), *args, **kwargs)

    call.local = local
    for d in range(x.dim()):
        yield Strategy(Shard(d), {"self": Shard(d)})


@rule("prelu _prelu_kernel")
def _prelu(call: Call) -> Iterator[Strategy]:
    """The weight is one number, or one for each of the channels in dimension 1."""
    (x, a), (w, b) = ((n, call.geometry(n)) for n in call.at)
    for d in range(a.dim()):
        if b.numel() > 1 and b.dim() != 1:
            return
        yield Strategy(Shard(d), {x: Shard(d), **({w: Shard(0)} if d == 1 and b.numel() > 1 else {})})


# ---- reductions


def _reduced_dims(call: Call, ndim: int) -> list[int]:
    dim = call["dim"]
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(ndim))
    return [d % max(ndim, 1) for d in (dim if isinstance(dim, (list, tuple)) else [dim])]


def _kept(call: Call, x, dims: list[int]) -> Iterator[tuple[int, int]]:
    keep = bool(call["keepdim"])
    for d in range(x.dim()):
        if d not in dims:
            yield d, d if keep else d - sum(k < d for k in dims)


@rule("sum mean amax amin var std logsumexp argmax argmin all any prod var_mean std_mean nansum nanmean count_nonzero median nanmedian "
      "max min mode kthvalue aminmax")  # fmt: skip
def _reduction(call: Call) -> Iterator[Strategy]:
    x = call.geometry("self")
    if len(call.tensors) != 1:
        yield from pointwise(call)  # max and min of two
        return
    name, dims = call.func._opname, _reduced_dims(call, x.dim())
    for d, to in _kept(call, x, dims):
        yield Strategy(Shard(to), {"self": Shard(d)})
    if name == "sum":
        for d in dims:
            yield Strategy(_SUM, {"self": Shard(d)})
    elif name == "mean":
        for d in dims:
            if call.even(x.shape[d]):
                yield Strategy(Partial("avg"), {"self": Shard(d)})
    elif name in ("amax", "amin") or (name in ("max", "min") and len(call.results) == 1):
        for d in dims:
            if call.filled(x.shape[d]):
                yield Strategy(Partial("max" if name in ("amax", "max") else "min"), {"self": Shard(d)})
    if name in ("sum", "mean"):
        for p in call.partials():
            if p.reduce_op in ("sum", "avg") and not isinstance(p, _NormPartial):
                yield Strategy(p, {"self": p})


@rule("linalg_vector_norm norm")
def _norm(call: Call) -> Iterator[Strategy]:
    x = call.geometry("self")
    order = call["ord"] if "ord" in call.values else call["p"]
    order = 2.0 if order is None else order
    if isinstance(order, str):
        return
    dims = _reduced_dims(call, x.dim())
    for d, to in _kept(call, x, dims):
        yield Strategy(Shard(to), {"self": Shard(d)})
    kind = _NormPartial("norm", float(order))
    if order > 0 and order != float("inf"):
        for d in dims:
            yield Strategy(kind, {"self": Shard(d)})
        if len(dims) == x.dim() and kind in call.placed:
            yield Strategy(kind, {"self": kind})


@rule("softmax log_softmax _softmax _log_softmax cumsum cumprod sort argsort topk cummax cummin logcumsumexp flip roll gather take_along_dim "
      "_softmax_backward_data _log_softmax_backward_data")  # fmt: skip
def _along(call: Call) -> Iterator[Strategy]:
    """All operands have the result's dimensions, and each dimension but `dim` is independent."""
    dims = call["dim"] if call["dim"] is not None else call["dims"]
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):  # roll without dimensions is that of the flat tensor
        return
    x = call.geometry("self") if "self" in call.at else call.tensors[0]
    dims = [d % max(x.dim(), 1) for d in (dims if isinstance(dims, (list, tuple)) else [dims])]
    for d in range(x.dim()):
        if d not in dims and all(t.dim() == x.dim() and t.shape[d] == x.shape[d] for t in call.tensors):
            yield Strategy(Shard(d), {name: Shard(d) for name in call.at})


@rule("index_select")
def _index_select(call: Call) -> Iterator[Strategy]:
    x = call.geometry("self")
    for d in range(x.dim()):
        if d != call["dim"] % max(x.dim(), 1):
            yield Strategy(Shard(d), {"self": Shard(d)})


@rule("cat stack")
def _joined(call: Call) -> Iterator[Strategy]:
    out, stacked = call.results[0], call.func._opname == "stack"
    at = call["dim"] % out.dim()
    (name, places), *rest = call.at.items()
    if rest or any(call.tensors[i].dim() != out.dim() - stacked for i in places):
        return
    for d in range(out.dim()):
        if d != at:
            yield Strategy(Shard(d), {name: Shard(d - (stacked and d > at))})
    for p in call.partials():
        yield Strategy(p, {name: p})


# ---- products


def _labelled(call: Call, labels: dict[str, str], out: str, added: str | None = None) -> Iterator[Strategy]:
    """A product by the letters of its dimensions: a letter of the result may be cut, and one that is summed over. added: an
    operand that the sum is added to. Dimensions of size 1 that are repeated are whole everywhere."""
    result = next(r for r in call.results if r is not None)
    for letter in dict.fromkeys("".join(labels.values())):
        places: dict[str, Placement | list[Placement]] = {}
        length = None
        for name, text in labels.items():
            k = text.find(letter)
            if k >= 0:
                x = call.geometry(name)
                length = x.shape[k]
                repeated = letter in out and x.shape[k] == 1 != result.shape[out.index(letter)]
                if not repeated:
                    places[name] = Shard(k)
        if letter in out:
            yield Strategy(Shard(out.index(letter)), places)
        elif length:
            if added is not None:
                places[added] = _SUM
            yield Strategy(_SUM, places)
    factors = [n for n in labels if n != added]
    for p in call.partials():
        if p == _SUM:
            for name in factors:
                yield Strategy(p, {name: p, **({added: p} if added is not None else {})})


def _letters(n: int, skip: str = "") -> str:
    return "".join([c for c in "abcdefghlmpqrstuvwxyz" if c not in skip][:n])


def _matmul_labels(a, b) -> tuple[str, str, str] | None:
    if a.dim() == 0 or b.dim() == 0:
        return None
    if a.dim() == 1 and b.dim() == 1:
        return "k", "k", ""
    batch = _letters(max(a.dim(), b.dim()) - 2) if max(a.dim(), b.dim()) > 2 else ""
    first = batch[len(batch) - (a.dim() - 2) :] if a.dim() > 2 else ""
    second = batch[len(batch) - (b.dim() - 2) :] if b.dim() > 2 else ""
    if a.dim() == 1:
        return "k", second + "kj", second + "j"
    if b.dim() == 1:
        return first + "ik", "k", first + "i"
    return first + "ik", second + "kj", batch + "ij"


@rule("matmul mm bmm mv dot inner __matmul__")
def _matmul(call: Call) -> Iterator[Strategy]:
    (x, a), (y, b) = ((n, call.geometry(n)) for n in call.at)
    found = _matmul_labels(a, b) if call.func._opname != "inner" or b.dim() == 1 else None
    if found is not None:
        yield from _labelled(call, {x: found[0], y: found[1]}, found[2])


@rule("addmm baddbmm addmv")
def _addmm(call: Call) -> Iterator[Strategy]:
    names = list(call.at)
    a, b = (call.geometry(n) for n in names[1:3])
    found = _matmul_labels(a, b)
    start = call.geometry(names[0])
    if found is None or start.dim() > len(found[2]):
        return
    added = found[2][len(found[2]) - start.dim() :]
    yield from _labelled(call, {names[1]: found[0], names[2]: found[1], names[0]: added}, found[2], names[0])


@rule("linear")
def _linear(call: Call) -> Iterator[Strategy]:
    x, w = call.geometry("input"), call.geometry("weight")
    if w.dim() != 2 or x.dim() == 0:
        return
    batch = _letters(x.dim() - 1)
    labels, bias = {"input": batch + "k", "weight": "jk"}, "bias" if "bias" in call.at else None
    if bias:
        labels["bias"] = "j"
    yield from _labelled(call, labels, batch + "j", bias)


@rule("scaled_dot_product_attention")
def _attention(call: Call) -> Iterator[Strategy]:
    q, k = call.geometry("query"), call.geometry("key")
    out, mask = call.results[0], call.geometry("attn_mask")
    for d in range(out.dim() - 1):
        if d == out.dim() - 2:  # of the queries, each attends to all keys
            if not call["is_causal"]:
                places = {"query": Shard(d)}
            else:
                continue
        elif q.dim() != k.dim() or not call.even(q.shape[d]) or (k.shape[d] != q.shape[d] and (k.shape[d] == 1 or not call.even(k.shape[d]))):
            continue
        else:
            places = {"query": Shard(d), "key": Shard(d), "value": Shard(d)}
        if mask is not None:
            at = d - (out.dim() - mask.dim())
            if at >= 0 and mask.shape[at] != 1:
                places["attn_mask"] = Shard(at)
        yield Strategy(Shard(d), places)


# ---- layers


@rule("layer_norm native_layer_norm rms_norm _fused_rms_norm")
def _normalized(call: Call) -> Iterator[Strategy]:
    x = call.geometry("input")
    for d in range(x.dim() - len(call["normalized_shape"])):
        yield Strategy(Shard(d), {"input": Shard(d)})


@rule("group_norm native_group_norm convolution conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d max_pool1d max_pool2d "
      "max_pool3d max_pool2d_with_indices avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d "
      "_adaptive_avg_pool2d upsample_nearest2d upsample_bilinear2d pixel_shuffle pad constant_pad_nd instance_norm")  # fmt: skip
def _samples(call: Call) -> Iterator[Strategy]:
    """Samples of a batch are independent."""
    name = next(iter(call.at))
    x, out = call.geometry(name), call.results[0]
    if x.dim() < 2 or x.dim() != out.dim() or x.shape[0] != out.shape[0] or call["use_input_stats"] or not call.filled(x.shape[0]):
        return
    if call.func._opname.startswith(("max_pool", "avg_pool", "adaptive", "_adaptive", "pad", "constant_pad")) and x.dim() < 3:
        return
    if call.func._opname == "native_group_norm" and not call.even(x.shape[0]):
        return
    if call.func._opname == "native_group_norm":
        call.local = lambda c: lambda x, w, b, n, *rest: c.func(x, w, b, x.shape[0], *rest)
    yield Strategy(Shard(0), {name: Shard(0)})


@rule("embedding")
def _embedding(call: Call) -> Iterator[Strategy]:
    ids = call.geometry("indices")
    for d in range(ids.dim()):
        yield Strategy(Shard(d), {"indices": Shard(d)})
    yield Strategy(Shard(ids.dim()), {"weight": Shard(1)})
    if call.mesh.ndim == 1:
        call.local = _rows_of_embedding
        yield Strategy(_SUM, {"weight": Shard(0)})


def _rows_of_embedding(call: Call):
    """Every rank looks up what is in its rows, and gives zeros for the rest."""
    if call.wanted[call.at["weight"][0]][0] != Shard(0):
        return call.func
    whole, parts, here = call.geometry("weight").shape[0], call.mesh.size(), call.mesh.get_local_rank()
    length, begin = Shard.local_shard_size_and_offset(whole, parts, here)

    def local(weight, indices, padding_idx=-1, *args, **kwargs):
        if indices.numel() and (int(indices.min()) < 0 or int(indices.max()) >= whole):
            raise IndexError("index out of range in self")
        place = indices - begin
        mine = (place >= 0) & (place < length)
        if length == 0:
            return weight.new_zeros((*indices.shape, weight.shape[1])) + weight.sum()
        inner = padding_idx - begin if begin <= padding_idx < begin + length else -1
        return call.func(weight, place.where(mine, 0), inner, *args, **kwargs).masked_fill(~mine.unsqueeze(-1), 0)

    return local


@rule("cross_entropy_loss")
def _cross_entropy(call: Call) -> Iterator[Strategy]:
    x, target = call.geometry("self"), call.geometry("target")
    if x.dim() < 2:
        return
    classes = 1
    reduction = call["reduction"]
    call.local = _loss_of_parts
    for d in range(x.dim()):
        if d == classes:
            continue
        to = d if target.dim() == x.dim() else d - (d > classes)
        places = {"self": Shard(d), "target": Shard(to)}
        if reduction == 0:
            yield Strategy(Shard(d - (d > classes)), places)
        else:
            yield Strategy(_SUM, places)


@rule("nll_loss nll_loss_nd nll_loss2d")
def _nll(call: Call) -> Iterator[Strategy]:
    yield from _cross_entropy(call)


def _loss_of_parts(call: Call):
    """A mean over parts is the sum over each, divided by the weight of all targets."""
    cut = [d for d, p in enumerate(call.outs[0]) if not isinstance(p, Replicate)]
    names = [p.name for p in call.func._schema.arguments]
    if not cut or call["reduction"] != 1:
        return call.func
    groups = [call.mesh.get_group(d).group_name for d in cut]
    classes = call.geometry("self").dim() == call.geometry("target").dim()

    def local(*args, **kwargs):
        values = {**dict(zip(names, args, strict=False)), **kwargs}
        values["reduction"] = 2
        total = call.func(**values)
        x, target, weight = values["self"], values["target"], values.get("weight")
        if classes:
            count = facula.tensor(float(target.numel() // target.shape[1]), dtype=x.dtype)
        else:
            used = target != values.get("ignore_index", -100)
            count = used.sum().to(x.dtype) if weight is None else weight.detach()[target.where(used, 0)].where(used, 0).sum()
        for name in groups:
            count = _collectives.all_reduce_op(count, "sum", name)
        return total / count

    return local


@rule("mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div")
def _elementwise_loss(call: Call) -> Iterator[Strategy]:
    x, reduction = call.geometry("self"), call["reduction"]
    if any(t.shape != x.shape for t in call.tensors):
        return
    for d in range(x.dim()):
        places = {name: Shard(d) for name in call.at}
        if reduction == 0:
            yield Strategy(Shard(d), places)
        elif reduction == 2:
            yield Strategy(_SUM, places)
        elif call.even(x.shape[d]):
            yield Strategy(Partial("avg"), places)
