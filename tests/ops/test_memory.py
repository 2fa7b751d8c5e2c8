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
READ_UNSEEN = ("aten::eq_.Tensor", "aten::ne_.Tensor", "aten::logical_or_")  # whatever the poison, the answer is one
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
        if any(t.dtype is torch.bool for _, t in filled) and name.endswith("_out"):
            return go_on(*args, **kwargs)
        self.calls[name] += 1
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
                result = None
            del poison
            if result is None:
                break
            results = [r for r in (result if isinstance(result, (list, tuple)) else [result]) if isinstance(r, torch.Tensor) and r.layout is torch.strided]
            seen.append(([bits(t).clone() for _, t in filled], [bits(r).clone() for r in results]))
        for t, was in zip(everything, kept):
            if t.shape == was.shape and t.numel() and any(t is u for _, u in filled):
                t.copy_(was)
        torch.random.set_rng_state(state)
        for a, b in itertools.combinations(range(len(seen)), 2):
            self.judge(name, facts, filled, (a, b), (seen[a], seen[b]))
        return go_on(*args, **kwargs)

    def judge(self, name, facts, filled, which, seen):
        (a_args, a_results), (b_args, b_results) = seen
        for (arg, t), a, b in zip(filled, a_args, b_args):
            if arg in facts["unread"] or a.shape != b.shape or not a.numel() or a.shape[0] != t.numel():
                continue
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
            if arg in facts["overwritten"] or name in READ_UNSEEN:
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


def test_rows_say_what_they_do_to_memory():
    look = Looker()
    drive(look)
    wrong = sorted(set(look.bad)) + sorted(look.undeclared())
    assert not wrong, "\n".join(wrong)
    assert sum(1 for n in look.calls if look.facts[n]["written"]) > 250


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
