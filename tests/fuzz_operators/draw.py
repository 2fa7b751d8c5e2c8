# SPDX-License-Identifier: Apache-2.0
"""A call from a seed and a trial number: valid arguments, then hostile ones in a few places."""
import keyword
import random
from dataclasses import dataclass, field, replace

from fuzz_operators.targets import made
from fuzz_operators.values import DTYPES, FLOATING, LAYOUTS, Alias, Items, Literal, Tensor, helpers, literal, name_of

INTS = ("0", "1", "2", "3", "-1", "-2", "7", "64", "65", "1000", "2**31-1", "2**31", "-2**31", "2**32", "2**32+1", "2**61", "2**62", "2**63-1",
        "2**63-2", "-2**63", "-2**63+1", "2**63", "2**64", "0x3333333333333334", "3037000500", "-3037000500")  # fmt: skip
FLOATS = ("0.0", "-0.0", "float('nan')", "float('inf')", "-float('inf')", "1e308", "-1e308", "5e-324", "1e-30", "2.0**63", "-2.0**63", "0.5", "-1.5",
          "1e30", "65504.0", "1e10")  # fmt: skip
SIZES = (0, 1, 2, 3, 5, 17, 64)
HUGE = (2**31, 2**32, 2**62, 2**63 - 1, 0x3333333333333334)
OBJECTS = ("None", "'x'", "''", "1.5", "True", "1j", "object()", "[]", "()", "{}", "(i for i in range(3))", "Int(2)", "Index(2)", "Index(2**70)",
           "clearing(3)", "growing(3)", "Liar(3)", "Liar(2**62)", "Angry()", "b'xy'", "range(3)", "range(2**62)", "torch.float32", "torch.Tensor",
           "'cpu'", "...", "slice(None)", "[None]", "[[1, 2], [3]]", "[1, 'x']", "Tuple((1, 2))", "List([1, 2])", "np.float32(2)", "np.int64(2)",
           "np.arange(3)", "np.array('x')", "lambda *a: 1", "torch.Size([1, 2])", "10**400", "-10**400", "'\\0'", "'\\ud800'")  # fmt: skip
STRINGS = ("'mean'", "'sum'", "'none'", "''", "'x' * 10000", "'ij,jk->ik'", "'...ij->ji'", "'ii'", "'->'", "','", "'i' * 60 + '->i'", "'\\0'", "'\\ud800'",
           "'linear'", "'nearest'", "'constant'", "'floor'", "'trunc'", "'tanh'")  # fmt: skip


@dataclass
class Call:
    text: str                        # what is called; ".add" is a method of the first argument
    args: list
    kwargs: dict = field(default_factory=dict)
    after: str = ""                  # "backward", "twice" (its gradient's gradient)

    def values(self):
        return [*self.args, *self.kwargs.values()]

    def parts(self):
        """The program in three pieces: makes arguments (named a, b, ...), calls, uses the result."""
        made, names = [], []
        aliased = {v.of for v in self.values() if isinstance(v, Alias)}
        for i, value in enumerate(self.values()):
            if isinstance(value, (Tensor, Alias)) or i in aliased:
                made.append(f"{name_of(i)} = {value.text}\n")
                names.append(name_of(i))
            else:
                names.append(value.text)
        positional, keywords = names[: len(self.args)], names[len(self.args):]
        given = [*positional, *(f"**{{{k!r}: {v}}}" if keyword.iskeyword(k) else f"{k}={v}" for k, v in zip(self.kwargs, keywords))]
        if self.text.startswith("."):
            call = f"result = {positional[0]}{self.text}({', '.join(given[1:])})\n"
        else:
            call = f"result = {self.text}({', '.join(given)})\n"
        after = ""
        if self.after:
            graph = ", create_graph=True" if self.after == "twice" else ""
            after = ("results = [r for r in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(r, torch.Tensor) and r.requires_grad\n"
                     "           and (r.device.type == 'meta' or r.numel() < 2**28)]  # a view may have any size, and its gradient is summed\n"
                     f"torch.autograd.backward(results, [torch.ones((), dtype=r.dtype, device=r.device).expand(r.shape) for r in results]{graph})\n")
            if self.after == "twice":
                leaves = [n for n, v in zip(names, self.values()) if isinstance(v, Tensor) and v.grad == "leaf" and v.dtype in FLOATING]
                after += f"for x in ({', '.join(leaves)},):\n    if x.grad is not None and x.grad.requires_grad:\n        x.grad.sum().backward()\n" if leaves else ""
        return "".join(made), call, after

    def program(self, devices=""):
        """What reproduces the call, alone."""
        body = "".join(self.parts())
        return f"import facula as torch\n{helpers(body)}{devices}torch.manual_seed(1)\n{body}"


def hostile_tensor(rng, value, devices, view):
    """The same tensor with one property changed for the worse."""
    what = rng.randrange(12)
    shape = value.shape
    if what == 0:
        return replace(value, dtype=rng.choice(DTYPES), fill="1" if value.fill == "values" and rng.random() < 0.5 else value.fill)
    if what in (1, 2):
        return replace(value, layout=rng.choice(LAYOUTS[1:]))
    if what == 3:
        return replace(value, device=rng.choice(devices))
    if what == 4:  # another number of dimensions
        if shape and rng.random() < 0.6:
            at = rng.randrange(len(shape))
            return replace(value, shape=shape[:at] + shape[at + 1:])
        at = rng.randint(0, len(shape))
        return replace(value, shape=(*shape[:at], rng.choice(SIZES[:4]), *shape[at:]))
    if what in (5, 6) and shape:  # another size
        at = rng.randrange(len(shape))
        return replace(value, shape=(*shape[:at], rng.choice(SIZES), *shape[at + 1:]))
    if what == 7:
        return replace(value, shape=rng.choice([(), (0,), (1,), (0, 3), (3, 0), (1,) * 8, (2, 0, 3), (1,) * 65, (7,)]))
    if what == 8:  # sizes whose product wraps, without memory or with none needed
        sizes = list(shape or (1,))
        sizes[rng.randrange(len(sizes))] = rng.choice(HUGE)
        if rng.random() < 0.5:
            sizes.insert(rng.randint(0, len(sizes)), 0)
        return replace(value, shape=tuple(sizes), device="meta")
    if what == 9:
        return replace(value, fill=rng.choice(["float('nan')", "float('inf')", "-float('inf')", "1e30", "0", "-1"] if value.dtype in FLOATING
                                              else ["0", "1", "-1", "2**62", "-2**63", "2**31", "100", "5"] if value.dtype == "int64" else ["0", "1", "100"]))
    if what == 10:
        return replace(value, wrap=rng.choice(["Sub", "inference"]))
    if value.dtype in FLOATING:
        return replace(value, grad=rng.choice(["leaf", "inner"]))
    return Literal(rng.choice(OBJECTS))


def hostile(rng, value, devices, view, earlier):
    """Something else in the place of a value."""
    roll = rng.random()
    if isinstance(value, Tensor):
        if roll < 0.06:
            return Literal(rng.choice(OBJECTS))
        if roll < 0.2 and earlier:
            return Alias(rng.choice(earlier), rng.choice(["", "", "[:1]", "[1:]", ".t()", ".flatten()", "[...]", ".expand(2, *[-1] * {}.dim())", ".detach()", ".view(-1)", ".data", ".transpose(0, -1)"]))
        return hostile_tensor(rng, value, devices, view)
    if isinstance(value, Items):
        if roll < 0.15:
            return Literal(rng.choice(OBJECTS))
        if roll < 0.25:
            return Items(value.items, wrap=rng.choice(["List", "Tuple", "torch.Size" if all(isinstance(i, Literal) for i in value.items) else "List"]))
        if roll < 0.4 and value.items:
            return replace(value, items=value.items[:-1])
        if roll < 0.5:
            return replace(value, items=value.items * rng.choice([2, 3, 30]) if value.items else (literal(1),) * rng.choice([1, 70]))
        if not value.items:
            return replace(value, items=(Literal(rng.choice(INTS)),))
        at = rng.randrange(len(value.items))
        return replace(value, items=(*value.items[:at], hostile(rng, value.items[at], devices, view, []), *value.items[at + 1:]))
    if roll < 0.2:
        return Literal(rng.choice(OBJECTS))
    if value.text.startswith("'"):
        return Literal(rng.choice(STRINGS) if rng.random() < 0.7 else f"'{rng.choice(devices)}'")
    if value.text.startswith("torch."):
        return Literal(rng.choice([f"torch.{d}" for d in DTYPES] + ["torch.channels_last", "torch.channels_last_3d", "torch.preserve_format", "torch.strided"]))
    if "." in value.text or "float" in value.text:
        return Literal(rng.choice(FLOATS))
    if value.text in ("True", "False") and roll < 0.7:
        return Literal("True" if value.text == "False" else "False")
    if value.text == "None" and roll < 0.5:
        return rng.choice([Tensor((2,)), Literal("0"), Literal("1"), Literal("[]"), Literal("0.5"), Literal("torch.float64")])
    return Literal(rng.choice(INTS if roll < 0.8 else FLOATS))


def spelling(rng, target, args, kwargs):
    """As an overload, as a function of torch or as a method."""
    roll = rng.random()
    if target.method and args and isinstance(args[0], Tensor) and roll < 0.3:
        return "." + target.method
    return target.function if target.function and roll < 0.6 else target.text


def valid(rng, target):
    args, kwargs = rng.choice(target.samples) if target.samples and rng.random() < 0.85 else made(rng, target)
    return list(args), dict(kwargs)


def draw(targets, seed, trial, devices):
    """The call of a trial. Targets take turns, so that each gets its share of any number of trials; a target's n-th call does
    not depend on how many others there are."""
    turn, at = divmod(trial, len(targets))
    target = targets[at]
    rng = random.Random(f"{seed}:{turn}:{target.name}")
    args, kwargs = valid(rng, target)
    needs_grad = rng.random() < 0.3
    if needs_grad:
        args = [replace(v, grad="leaf") if isinstance(v, Tensor) and v.dtype in FLOATING else v for v in args]
    device = rng.choice(devices) if rng.random() < 0.15 else "cpu"
    if device != "cpu":
        args = [replace(v, device=device) if isinstance(v, Tensor) else v for v in args]
        kwargs = {k: replace(v, device=device) if isinstance(v, Tensor) else v for k, v in kwargs.items()}
    if rng.random() < 0.15:  # another type for all
        dtype = rng.choice(DTYPES)
        args = [replace(v, dtype=dtype) if isinstance(v, Tensor) and v.dtype == "float32" else v for v in args]
    for _ in range(rng.choice((0, 0, 0, 1, 1, 1, 1, 2))):
        places = [*range(len(args)), *kwargs]
        if not places:
            break
        at = rng.choice(places)
        earlier = [i for i, v in enumerate(args[: at if isinstance(at, int) else None]) if isinstance(v, Tensor)]
        value = hostile(rng, args[at] if isinstance(at, int) else kwargs[at], devices, target.view, earlier)
        if isinstance(value, Alias) and "{}" in value.change:
            value = replace(value, change=value.change.replace("{}", name_of(value.of)))
        if isinstance(at, int):
            args[at] = value
        else:
            kwargs[at] = value
    roll = rng.random()
    if roll < 0.03 and args:
        args.pop()
    elif roll < 0.05:
        args.append(Literal(rng.choice(OBJECTS)))
    elif roll < 0.07:
        kwargs[rng.choice(["out", "dim", "dtype", "self", "nonsense", "device", "generator"])] = rng.choice([Tensor((2,)), Literal("0"), Literal("None")])
    after = rng.choice(("backward", "backward", "twice")) if any(isinstance(v, Tensor) and v.grad for v in (*args, *kwargs.values())) else ""
    return target, Call(spelling(rng, target, args, kwargs), args, kwargs, after)
