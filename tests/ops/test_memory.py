# SPDX-License-Identifier: Apache-2.0
"""What a row says that its calls do to memory (MemoryFacts in dispatch/operator.h), checked for every row of the operator
table by filling memory with poisons: an answer that changes was read, or nobody wrote it."""
import collections
import itertools
import warnings

import pytest
from opspec import resolve, select
from record import run_inplace
from table import ROWS

torch = pytest.importorskip("facula")
from facula import _C  # noqa: E402
from facula.dispatch import route  # noqa: E402

BYTES = (0x5A, 0xA5, 0)  # as numbers large, tiny and negative, and zero
READ_UNSEEN = ("aten::eq_.Tensor", "aten::ne_.Tensor", "aten::eq_.Scalar", "aten::ne_.Scalar", "aten::logical_or_")  # whatever the poison, the answer is one
MOST = 6  # calls of one operator that are looked at


def bits(t):
    """The elements as whole numbers, in order."""
    t = t.detach().contiguous().reshape(-1)
    return t.view(torch.uint8).reshape(t.numel(), t.element_size())


def poisoned(t, byte):
    """A tensor like t, every byte of it poison; of bool all true or all false."""
    if t.dtype is torch.bool:
        return torch.full(t.shape, byte != 0)
    return torch.full((t.numel() * t.element_size(),), byte, dtype=torch.uint8).view(t.dtype).reshape(t.shape)


class Looker:
    """A route that answers every kernel as it would be, after having run it on poisoned memory."""

    def __init__(self):
        self.facts, self.calls, self.bad = {}, collections.Counter(), []
        self.reads, self.same, self.some = collections.Counter(), collections.Counter(), collections.Counter()
        self.samples = collections.defaultdict(list)  # arguments by their names, of all forms of an operator

    def look(self, op, args, kwargs, go_on):
        name = str(op.name() if callable(op.name) else op.name)
        facts = self.facts.get(name)
        if facts is None:
            facts = self.facts[name] = _C._memory_facts(name)
        if facts["geometry"] or self.calls[name] >= MOST:
            return go_on(*args, **kwargs)
        given = dict(zip((a.name for a in op._schema.arguments), args)) | kwargs
        tensors = {n: [t for t in (v if isinstance(v, (list, tuple)) else [v]) if isinstance(t, torch.Tensor) and t.layout is torch.strided and t.device.type == "cpu"] for n, v in given.items()}
        filled = [(n, t) for n in facts["written"] + facts["unread"] for t in tensors.get(n, ())]
        everything = [t for group in tensors.values() for t in group]
        kept = [t.detach().clone() for t in everything]
        state = torch.random.get_rng_state()
        seen = []
        for byte in BYTES:
            for t, was in zip(everything, kept):
                if t.numel() and t._storage_id() not in {u._storage_id() for _, u in filled}:
                    continue
                if t.numel():
                    t.copy_(was)
            for _, t in filled:
                if t.numel():
                    t.copy_(poisoned(t, byte))
            torch.random.set_rng_state(state)
            poison = _C._Poison(byte)
            try:
                result = go_on(*args, **kwargs)
            except Exception:  # an argument that is read decides: it cannot be looked at in this way
                del poison
                break
            del poison
            results = [r for r in (result if isinstance(result, (list, tuple)) else [result]) if isinstance(r, torch.Tensor) and r.layout is torch.strided]
            seen.append(([bits(t).clone() for _, t in filled], [bits(r).clone() for r in results]))
        for t, was in zip(everything, kept):
            if t.shape == was.shape and t.numel() and any(t is u for _, u in filled):
                t.copy_(was)
        torch.random.set_rng_state(state)
        self.calls[name] += len(seen) == len(BYTES)
        if len(self.samples[plain(name)]) < MOST:
            copies = iter(kept)
            self.samples[plain(name)].append({n: given[n] if n not in tensors or not tensors[n] else next(copies) if isinstance(given[n], torch.Tensor) else [next(copies) for _ in tensors[n]] for n in given})
        for a, b in itertools.combinations(range(len(seen)), 2):
            self.judge(name, facts, filled, (a, b), (seen[a], seen[b]))
        return go_on(*args, **kwargs)

    def judge(self, name, facts, filled, which, seen):
        (a_args, a_results), (b_args, b_results) = seen
        for (arg, t), a, b in zip(filled, a_args, b_args):
            if arg in facts["unread"] or a.shape != b.shape or not a.numel() or a.shape[0] != t.numel():
                continue
            if t.dtype is torch.bool and arg in facts["partial"]:
                continue  # what stayed and what was written look alike
            same = (a == b).all(1)
            untouched = (a == bits(poisoned(t, BYTES[which[0]]))).all(1) & (b == bits(poisoned(t, BYTES[which[1]]))).all(1)
            if t.dtype is torch.bool:  # a poison may well be the answer
                untouched &= False
            read = bool((~(same | untouched)).any())
            where = f"{name}, argument {arg}"
            self.reads[where] += read
            self.same[where] += bool(same.all())
            self.some[where] += bool(untouched.any()) and bool(same.any()) and not read
            if arg in facts["overwritten"] and read:
                self.bad.append(f"{where}: the row says it is overwritten, but what was there plays a part")
            if arg in facts["overwritten"] and arg not in facts["partial"] and bool(untouched.any()):
                self.bad.append(f"{where}: some elements stay as they are, and the row does not say that it is partial")
        if not facts["written"] and not facts["unwritten"]:
            for a, b in zip(a_results, b_results):
                if a.shape == b.shape and not bool((a == b).all()):
                    self.bad.append(f"{name}: a result depends on what fresh memory held, or on an argument the row says is not read")

    def undeclared(self):
        for where in self.same:
            name, arg = where.split(", argument ")
            facts = self.facts[name]
            if arg in facts["overwritten"] or arg in facts["partial"] or name in READ_UNSEEN:
                continue
            if self.same[where] and not self.reads[where] and not self.some[where]:
                yield f"{where}: what was there never plays a part, and the row does not say that it is overwritten"
            if self.some[where] and not self.reads[where] and arg not in facts["partial"]:
                yield f"{where}: only some elements are written, and the row does not say that it is partial"


def calls(op):
    """Everything that a row can be called by: as it is, in place, with out=."""
    function = resolve(torch, op.call)
    dtype = "f32" if "f32" in op.dtypes else op.dtypes[0]
    for sample in itertools.islice(select(op, torch, dtype), 4):
        made = None

        def plain(sample=sample):
            return function(*sample.args, **sample.kwargs)

        try:
            made = plain()
        except Exception:  # errors are test_ops' business
            continue
        if op.out and sample.out:
            made = made if isinstance(made, (tuple, list)) else [made]
            outs = [torch.empty_like(r) for r in made if isinstance(r, torch.Tensor)][: op.out]
            if len(outs) == op.out:
                yield lambda s=sample, o=outs: function(*s.args, **s.kwargs, out=o[0] if op.out == 1 else tuple(o))
    if op.inplace and op.inplace != "inplace=":
        for sample in itertools.islice((s for s in select(op, torch, dtype) if s.inplace), 4):
            yield lambda s=sample: run_inplace(op, function, s)


def drive(look):
    rows = collections.Counter()
    for op in ROWS:
        with warnings.catch_warnings(), route(look.look):
            warnings.simplefilter("ignore")
            for call in calls(op):
                try:
                    call()
                    rows[op.name] += 1
                except Exception:  # errors are test_ops' business
                    pass
    return rows


def rest(look):
    """The rows that no sample called, by their schemas: (names, why they could not be called)."""
    out = {}
    for name in _C._operator_names():
        facts = _C._memory_facts(name)
        if look.calls[name] or facts["geometry"] or not (facts["written"] or facts["unread"] or facts["unwritten"]):
            continue
        space, _, whole = name.partition("::")
        base, _, overload = whole.partition(".")
        op = getattr(getattr(getattr(torch.ops, space), base), overload or "default")
        if op.is_composite:  # it is what its parts are
            continue
        for given in (*look.samples[plain(name)], *(dict.fromkeys(["made"], make) for make in TENSORS)):
            make = given.get("made", TENSORS[0])
            values = {a.name: given[a.name] if a.name in given else value_of(a.name, str(a.type), make) for a in op._schema.arguments}
            try:
                if op.is_out:
                    results = functional(op, values)
                    outs = [a.name for a in op._schema.arguments][-len(results) :]
                    values |= {name: torch.empty_like(result) for name, result in zip(outs, results, strict=True)}
                with route(look.look), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    op(**{n: [t.clone() for t in v] if isinstance(v, list) and v and isinstance(v[0], torch.Tensor) else v.clone() if isinstance(v, torch.Tensor) else v for n, v in values.items()})
            except ERRORS as error:
                out[name] = str(error)
        if look.calls[name]:
            out.pop(name, None)
        else:
            out.setdefault(name, "its kernel was not seen")
    return out


def by_hand():
    """Calls of rows whose arguments no schema tells."""
    of = torch.ops.aten
    square, batch, vector = torch.rand(4, 4) + torch.eye(4) * 4, torch.rand(2, 4, 4), torch.rand(4)
    spd, empty = square @ square.T, torch.empty_like
    lu, pivots = torch.linalg.lu_factor(square)
    reflectors, tau = torch.geqrf(square)
    yield lambda: of.addbmm_(square.clone(), batch, batch)
    yield lambda: of.addbmm.out(square, batch, batch, out=empty(square))
    yield lambda: of.addr_(square.clone(), vector, vector)
    yield lambda: of.cholesky.out(spd, out=empty(spd))
    yield lambda: of.lu_solve.out(square, lu, pivots, out=empty(square))
    yield lambda: of.linalg_lu_factor_ex.out(square, LU=empty(lu), pivots=empty(pivots), info=torch.empty((), dtype=torch.int32))
    yield lambda: of.orgqr.out(reflectors, tau, out=empty(square))
    yield lambda: of.ormqr.out(reflectors, tau, square, out=empty(square))
    yield lambda: of.linalg_tensorsolve.out(square, vector, out=empty(vector))
    yield lambda: of.nuclear_norm.dim_out(square, [0, 1], out=torch.empty(()))
    for median in (of.median, of.nanmedian):
        yield lambda median=median: median.dim_out(square, 0, values=empty(vector), indices=empty(vector, dtype=torch.int64))
    yield lambda: of.randint_like.low_dtype(square, 1, 5)
    yield lambda: of.randint.low_out(1, 5, [4], out=empty(vector))
    yield lambda: of.randint.low_generator_out(1, 5, [4], generator=None, out=empty(vector))
    index = torch.tensor([[0, 1, 2, 3]])
    yield lambda: of.scatter_reduce.two_out(square, 0, index, square, "sum", out=empty(square))
    yield lambda: of.scatter_reduce_.two(square.clone(), 0, index, square, "sum")
    yield lambda: of.segment_reduce.out(vector, "sum", lengths=torch.tensor([1, 3]), out=torch.empty(2))
    yield lambda: of._amp_foreach_non_finite_check_and_unscale_([square.clone()], torch.zeros(1), torch.ones(1))
    yield lambda: of._amp_update_scale_(torch.ones(1), torch.zeros(1, dtype=torch.int32), torch.zeros(1), 2.0, 0.5, 3)
    for kind in (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad):
        for lr in (0.1, torch.tensor(0.1)):
            weight = torch.nn.Parameter(torch.rand(4))
            weight.grad = torch.rand(4)
            yield kind([weight], lr=lr, fused=True, **({"momentum": 0.9} if kind is torch.optim.SGD else {})).step


LEFT = {  # products of scaled float8, one of sparse tensors, and updates that read a learning rate and are the ones without it
    "aten::_scaled_mm.out", "aten::_scaled_mm_v2.out", "aten::_scaled_addmm.out", "aten::_scaled_grouped_mm_v2.out", "aten::sreciprocal_",
    "aten::_fused_adam_.tensor_lr", "aten::_fused_adamw_.tensor_lr", "aten::_fused_sgd_.tensor_lr", "aten::_fused_adagrad_.tensor_lr",
}  # fmt: skip


def plain(name):
    """aten::add of aten::add_.Scalar, aten::add.out …"""
    return name.partition(".")[0].removesuffix("_")


ERRORS = (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError)


def functional(op, values):
    """What the form without out= gives for these arguments, else what is written into empty ones."""
    packet = op.overloadpacket
    for other in (getattr(packet, name) for name in packet.overloads()):
        if other.is_out or not {a.name for a in other._schema.arguments} <= set(values):
            continue
        try:
            result = other(**{a.name: values[a.name] for a in other._schema.arguments})
            return list(result) if isinstance(result, (tuple, list)) else [result]
        except ERRORS:
            continue
    outs = {a.name: torch.empty(0) for a in op._schema.arguments if a.is_write}
    op(**values | outs)
    return list(outs.values())


TENSORS = (
    lambda: torch.rand(4, 4) + 0.5,
    lambda: torch.rand(4, 4, dtype=torch.float64) + 0.5,
    lambda: torch.randint(1, 4, (4, 4)),
    lambda: torch.randint(0, 2, (4, 4)).bool(),
    lambda: torch.rand(4) + 0.5,
    lambda: torch.rand(2, 3, 8, 8),
    lambda: torch.rand(2, 3, 8),
    lambda: torch.rand(2, 3, 6, 6, 6),
    lambda: torch.rand(3, 4, 4),
    lambda: torch.randint(0, 4, (4,)),
    lambda: torch.rand(4, 4).to(torch.complex64),
)
PLACES, SOME = torch.tensor([[0, 1, 2, 3]] * 4), torch.tensor([[True, False, True, False]] * 4)
VALUES = {  # of arguments of these names and types
    ("index", "Tensor"): PLACES, ("indices", "Tensor"): PLACES, ("mask", "Tensor"): SOME, ("condition", "Tensor"): SOME, ("p", "Tensor"): torch.full((4, 4), 0.5),
    ("dim", "int"): 0, ("dim", "int[]?"): [0, 1], ("dim", "int[]"): [0, 1], ("p", "str"): "fro", ("ord", "str"): "fro", ("UPLO", "str"): "L", ("reduce", "str"): "add", ("approximate", "str"): "none", ("value", "Tensor"): torch.tensor(2.0), ("dims_self", "int[]"): [1], ("dims_other", "int[]"): [0], ("dims", "int[]"): [0, 1], ("mode", "int"): 0, ("min_val", "Scalar"): -1, ("lower", "Scalar"): -1,
}  # fmt: skip
OF_TYPES = {"Scalar": 2, "Scalar[]": [2, 2], "bool": False, "int": 1, "float": 0.5, "int[]": [4, 4], "float[]": [1.0], "str": "ij,jk->ik", "ScalarType": torch.float32}


def value_of(name, kind, make):
    known = VALUES.get((name, kind))
    if known is not None:
        return known.clone() if isinstance(known, torch.Tensor) else known
    if kind.startswith("Tensor"):
        return {"Tensor": make, "Tensor[]": lambda: [make(), make()], "Tensor?[]": lambda: [torch.tensor([0, 1])]}.get(kind, lambda: None)()
    if kind.endswith("?"):
        return None
    return OF_TYPES[kind] if kind in OF_TYPES else [1] * int(kind[4:-1])


def test_rows_say_what_they_do_to_memory():
    look = Looker()
    drive(look)
    with route(look.look), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in by_hand():
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        unreached = rest(look)
    wrong = sorted(set(look.bad)) + sorted(look.undeclared())
    assert not wrong, "\n".join(wrong)
    assert set(unreached) <= LEFT, "\n".join(f"{name}: {why}" for name, why in unreached.items())
    assert sum(1 for n in look.calls if look.facts[n]["written"]) > 600


def test_facts():
    facts = _C._memory_facts
    assert facts("aten::fill_.Scalar")["overwritten"] == ["self"] and facts("aten::copy_")["overwritten"] == ["self"]
    assert facts("aten::normal_")["overwritten"] == ["self"] and facts("aten::add_.Tensor")["overwritten"] == []
    assert facts("aten::mm.out")["overwritten"] == ["out"] and facts("aten::masked_fill_.Scalar")["partial"] == ["self"]
    assert facts("aten::empty.memory_format")["unwritten"] and facts("aten::resize_")["unwritten"]
    assert not facts("aten::zeros")["unwritten"] and facts("aten::zeros_like")["unread"] == ["self"]


def test_poison_reaches_fresh_memory():
    poison = _C._Poison(0x5A)
    assert bits(torch.empty(40)).unique().tolist() == [0x5A]
    del poison
