# SPDX-License-Identifier: Apache-2.0
"""How much of the backend contract a device fulfils, and whether what it claims is right.

`run(device)` asks the device for every compute family, opcode, element type and memory layout, and compares what it
claims with the CPU (copy, map, random) or with plain Python (reduce, matmul, gather, scatter, scan, sort). The result is data:

    {"device": …, "tier": 0…3, "next": [[family, why, opcodes], …], "summary": {family: {status: count}},
     "cases": [[family, opcode, dtype, layout, status, detail], …]}

A case's status is `passed` (claimed and right), `failed` (wrong, or an error: claimed, or made of what is claimed; its detail then starts with "decomposed:"), `decomposed` (not claimed,
right by decomposition into what is claimed) or `fallback` (the CPU does it). Tiers: 0 memory works; 1 copy, map's base
opcodes, reduce and matmul are claimed and pass; 2 gather and scatter too; 3 scan, sort and random too. They are judged by
float32 (int64 where an opcode has no float32), contiguous and strided; a failure in a family keeps its tier from being
reached. `next` is what the tier after the one reached lacks.
"""

import itertools
import json
import math
import re
import sys
from collections import Counter

import facula
from facula import _C
from facula._command_line import write_file

REALS = ("float16", "bfloat16", "float32", "float64")
INTS = ("uint8", "int8", "int16", "int32", "int64")
DTYPES = ("bool", *INTS, *REALS, "complex64", "complex128")
LAYOUTS = ("contiguous", "strided", "expanded", "offset", "0-d", "empty", "special", "large")
FAMILIES = ("memory", "copy", "map", "reduce", "matmul", "gather", "scatter", "scan", "sort", "random")
STATUSES = ("passed", "failed", "decomposed", "fallback")
DECOMPOSED = "decomposed:"  # starts the detail of a failure that was not claimed itself: what it is made of is wrong
TIERS = {0: ("memory",), 1: ("copy", "map", "reduce", "matmul"), 2: ("gather", "scatter"), 3: ("scan", "sort", "random")}

REDUCE = _C._base_reductions
SCATTER = ("set", "add", "mul", "max", "min")
SCAN = ("sum", "prod", "max", "min")
# opcode: (a, b, low, range), and the types that it fills
RANDOM = {"uniform": ((-1.0, 3.0, 0, 0), REALS), "normal": ((1.0, 2.0, 0, 0), REALS), "log_normal": ((0.0, 0.5, 0, 0), REALS),
          "exponential": ((1.5, 0, 0, 0), REALS), "cauchy": ((0.0, 1.0, 0, 0), REALS), "geometric": ((0.25, 0, 0, 0), (*INTS, *REALS)),
          "bernoulli": ((0.25, 0, 0, 0), ("bool", *INTS, *REALS)), "integer": ((0, 0, 3, 17), (*INTS, *REALS))}  # fmt: skip

SCAN_STEPS = {"sum": lambda a, b: a + b, "prod": lambda a, b: a * b, "max": max, "min": min}

TESTS = {"logical_not", "isnan", "lt", "le", "eq", "ne", "gt", "ge", "signbit", "isinf", "isfinite", "isposinf", "isneginf",
         "logical_and", "logical_or", "logical_xor"}  # fmt: skip
TO_REAL = {"abs", "angle", "real", "imag"}  # a complex input gives its real type
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "float64": 1e-11, "complex64": 1e-4, "complex128": 1e-10}
SHAPE = (3, 4)
LARGE = (7, 301)  # more than a vector, a tile or a group of threads takes at once, and a rest


# ---- numbers to compute with -------------------------------------------------------------------------------------


def _values(dtype, n, position=0, opcode=""):
    """n deterministic numbers that suit the type and the opcode's domain."""
    if dtype == "bool":
        return [(i * 5 + position) % 3 == 0 for i in range(n)]
    if dtype in INTS:
        top = 3 if opcode in ("pow", "bitwise_left_shift", "bitwise_right_shift") and position else 11
        low = 0 if dtype == "uint8" or (top == 3) else -7
        out = [low + (i * 7 + position * 3) % (top - low + 1) for i in range(n)]
        if position and opcode in ("div_floor", "remainder", "div_trunc", "fmod", "floor_divide"):
            out = [x or 3 for x in out]
        return out
    if opcode in ("log", "sqrt", "rsqrt", "log2", "log10", "lgamma", "digamma", "polygamma") or (opcode in ("xlogy", "pow") and position == (opcode == "xlogy")):
        out = [0.125 + 0.375 * ((i * 5 + position) % 13) for i in range(n)]
    elif opcode in ("asin", "acos", "atanh", "erfinv", "log1p", "xlog1py", "logit_backward"):
        out = [-0.9 + 0.15 * ((i * 5 + position) % 13) for i in range(n)]
    elif opcode == "logit":
        out = [0.05 + 0.07 * ((i * 5) % 13) for i in range(n)]
    elif opcode == "acosh":
        out = [1.0 + 0.375 * ((i * 5) % 13) for i in range(n)]
    else:
        out = [-2.25 + 0.375 * ((i * 5 + position * 4) % 13) for i in range(n)]
    if dtype.startswith("complex"):
        return [complex(x, 0.5 - 0.25 * ((i + position) % 5)) for i, x in enumerate(out)]
    return out


_SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 3e4, -2.5, 2.0]


def _params(opcode, count):
    known = {"add": [2], "sub": [2], "rsub": [2], "softplus": [1.0, 2.0], "elu": [1.5, 1.25, 0.75], "elu_backward": [1.5, 1.25, 0.75],
             "hardtanh": [-1, 1], "hardtanh_backward": [-1, 1], "threshold": [1, 2], "nan_to_num": [0, 1, -1], "polygamma": [1],
             "round_decimals": [10.0], "logit": [0.125], "logit_backward": [0.125], "softplus_backward": [1.0, 2.0]}  # fmt: skip
    return known.get(opcode, [0.5 if opcode not in ("addcmul", "addcdiv", "threshold_backward") else 1] * count)[:count]


class Pair:
    """A tensor on the CPU and its copy on the device, with the same layout."""

    def __init__(self, values, shape, dtype, device, layout="contiguous"):
        kind = getattr(facula, dtype)
        n = math.prod(shape)
        values = list(itertools.islice(itertools.cycle(values), n)) if values else [0] * n

        def place(stored, stored_shape, view):
            host = facula.tensor(stored, dtype=kind).reshape(stored_shape)
            self.cpu, self.device = view(host), view(host.to(device))

        if layout == "strided" and len(shape) > 1:  # stored with the dimensions in reverse
            place(values, shape[::-1], lambda t: t.permute(*range(len(shape) - 1, -1, -1)))
        elif layout == "offset" and shape:
            place(values[:1] * (n // shape[0] * 2) + values, (shape[0] + 2, *shape[1:]), lambda t: t[2:])
        elif layout == "expanded" and shape:
            place(values[: max(n // shape[0], 1)], (1, *shape[1:]), lambda t: t.expand(*shape))
        else:
            place(values, shape, lambda t: t)


def _numbers(t):
    flat = t.cpu().contiguous().reshape(-1).tolist() if t.dim() else [t.cpu().item()]
    return flat


def _equal(a, b, tolerance):
    if isinstance(a, complex) or isinstance(b, complex):
        a, b = complex(a), complex(b)
        return _equal(a.real, b.real, tolerance) and _equal(a.imag, b.imag, tolerance)
    if isinstance(a, float) or isinstance(b, float):
        if a != a or b != b:
            return a != a and b != b
        if math.isinf(a) or math.isinf(b):
            return a == b
        return abs(a - b) <= tolerance * (1 + max(abs(a), abs(b)))
    return a == b


def _compare(got, want, dtype):
    tolerance = TOLERANCE.get(dtype, 0)
    if len(got) != len(want):
        return f"{len(got)} elements instead of {len(want)}"
    for i, (a, b) in enumerate(zip(got, want)):
        if not _equal(a, b, tolerance):
            return f"element {i} is {a}, expected {b}"
    return ""


class Card:
    def __init__(self, device):
        self.device, self.cases = device, []

    def add(self, family, opcode, dtype, layout, status, detail=""):
        self.cases.append([family, opcode, dtype, layout, status, detail])

    def judge(self, case, operands, want, compute, code=0, family=None, result=None, out=None, **more):
        """Makes one family call; compares `out` (else the first operand) with want, a list, if the device claimed it.
        `result` names the type whose tolerance counts, if it is not the case's own."""
        try:
            claimed = _C._run_family(family or case[0], code, operands, compute, **more)
            got = out if out is not None else operands[0]
            detail = _compare(_numbers(got), want, result or case[2]) if claimed else ""
        except Exception as e:  # a backend may raise anything: that is what is being found out
            claimed, detail = True, f"{type(e).__name__}: {e}"
        status = "fallback" if not claimed else "failed" if detail else "passed"
        self.add(*case, status, detail)
        return status


def _compute(dtype):
    return getattr(facula, "float32" if dtype in ("float16", "bfloat16") else dtype)


# ---- the families ------------------------------------------------------------------------------------------------


def check_memory(card):
    def case(name, body):
        try:
            detail = body() or ""
        except Exception as e:
            detail = f"{type(e).__name__}: {e}"
        card.add("memory", name, "", "", "failed" if detail else "passed", detail)

    device = card.device

    def describe():
        name = facula.device(device).type
        return "" if any(b["name"] == name and b["devices"] for b in _C._backends()) else "no description"

    def round_trip():
        for n in (1, 7, 1000, 100_003):
            data = [i % 251 for i in range(n)]
            if facula.tensor(data, dtype=facula.uint8).to(device).cpu().tolist() != data:
                return f"{n} bytes came back changed"

    def on_device():
        x = facula.tensor(list(range(100)), dtype=facula.int32).to(device)
        return "" if x.clone().cpu().tolist() == list(range(100)) else "a clone differs from its origin"

    def fill():
        x = facula.zeros(1000, dtype=facula.uint8).to(device)
        x.fill_(7)
        return "" if x.cpu().tolist() == [7] * 1000 else "fill_ with equal bytes went wrong"

    def reuse():
        if any(b["exact_memory"] for b in _C._backends() if b["name"] == facula.device(device).type):
            return  # it asked for every block to come and go
        before = _C._backend_memory_stats(device)["from_system"]
        for _ in range(10):
            facula.empty(12345, dtype=facula.uint8, device=device)
        return "" if _C._backend_memory_stats(device)["from_system"] <= before + 1 else "freed memory is not reused"

    case("describe", describe)
    case("round_trip", round_trip)
    case("copy_on_device", on_device)
    case("fill_bytes", fill)
    case("reuse", reuse)
    case("synchronise", lambda: _C._backend_synchronize(device))


def check_copy(card):
    for source, target in itertools.product(DTYPES, DTYPES):
        if source.startswith("complex") and not target.startswith("complex"):
            continue  # loses the imaginary part: an operator refuses it before a device sees it
        for layout in LAYOUTS[:5] if source == target or "float32" in (source, target) else ("contiguous",):
            shape = () if layout == "0-d" else SHAPE
            values = _values(source, 12)
            if target == "uint8" and source != "bool":
                values = [abs(x) for x in values]
            x = Pair(values, shape, source, card.device, layout)
            y = Pair([], shape, target, card.device, layout if layout != "expanded" else "contiguous")
            _C._run_family("copy", 0, [y.cpu, x.cpu], _compute(target))
            card.judge(("copy", f"from {source}", target, layout), [y.device, x.device], _numbers(y.cpu), _compute(target))
    for target in DTYPES:
        y = Pair([], SHAPE, target, card.device, "strided")
        value = {"b": True, "c": 1 + 2j}.get(target[0], 3)
        card.judge(("copy", "fill", target, "strided"), [y.device, value], [value] * 12, _compute(target))


def _map_result(opcode, dtype):
    if opcode in TESTS:
        return "bool"
    if opcode in TO_REAL and dtype.startswith("complex"):
        return "float32" if dtype == "complex64" else "float64"
    return dtype


def check_map(card, opcodes=None):
    for code, (opcode, n_in, n_params) in enumerate(_C._map_opcodes()):
        if opcode == "complex" or (opcodes is not None and opcode not in opcodes):
            continue
        for dtype, layout in itertools.product(DTYPES, LAYOUTS):
            if (layout == "special" and dtype not in ("float32", "float64")) or (layout == "large" and dtype not in ("float32", "int64")):
                continue
            _map_case(card, code, opcode, n_in, n_params, dtype, layout)


def _map_case(card, code, opcode, n_in, n_params, dtype, layout):
    shape = {"0-d": (), "empty": (0, 4), "large": LARGE}.get(layout, SHAPE)
    if layout == "empty":
        return _empty_case(card, opcode, dtype, shape, n_in)
    inputs = []
    for i in range(n_in):
        kind = "bool" if (opcode == "where" and i == 0) or (opcode == "masked_fill" and i == 1) else dtype
        values = _values(kind, max(math.prod(shape), 12), i, opcode)
        if layout == "special" and kind != "bool":
            values = _SPECIAL[i * 5 :] + _SPECIAL[: i * 5]
        # One expanded operand beside full ones is what broadcasting makes.
        inputs.append(Pair(values, shape, kind, card.device, "contiguous" if layout == "expanded" and i == 0 and n_in > 1 else layout))
    result = _map_result(opcode, dtype)
    out = Pair([], shape, result, card.device, "strided" if layout == "strided" else "contiguous")
    params, compute = _params(opcode, n_params), _compute(dtype)
    try:
        known = _C._run_family("map", code, [out.cpu, *(x.cpu for x in inputs)], compute, params=params)
    except (NotImplementedError, RuntimeError):
        known = False  # the CPU has no such formula for this type
    if not known:
        return
    want, case, operands = _numbers(out.cpu), ("map", opcode, dtype, layout), [out.device, *(x.device for x in inputs)]
    status = card.judge(case, operands, want, compute, code, result=result, params=params)
    claimed = status != "fallback"
    if not claimed and code > _C._last_base_opcode:
        card.cases.pop()
        status = card.judge(case, operands, want, compute, code, family="decompose", result=result, params=params)
        if status == "passed":
            card.cases[-1][4] = "decomposed"
    if status == "failed":
        if (where := re.match(r"element (\d+) ", card.cases[-1][5])) and inputs:
            card.cases[-1][5] += f"; inputs {', '.join(str(_numbers(x.cpu)[int(where[1])]) for x in inputs)}"
        if not claimed:
            card.cases[-1][5] = f"{DECOMPOSED} {card.cases[-1][5]}"


def _empty_case(card, opcode, dtype, shape, n_in):
    """Empty tensors never reach a device; the operator must still give the right shape."""
    function = getattr(facula, opcode, None)
    if n_in > 2 or function is None or dtype != "float32":
        return
    try:
        function(*[facula.zeros(shape)] * n_in)
    except (TypeError, RuntimeError):
        return  # the operator has further arguments, or refuses float32
    x = facula.zeros(shape).to(card.device)
    try:
        y = function(*[x] * n_in)
        detail = "" if tuple(y.shape) == shape and y.device.type == x.device.type else f"gave shape {tuple(y.shape)} on {y.device}"
    except Exception as e:
        detail = f"{type(e).__name__}: {e}"
    card.add("map", opcode, dtype, "empty", "failed" if detail else "passed", detail)


def _reference_reduce(opcode, rows):
    def extreme(row, better):
        best = 0
        for i, x in enumerate(row):
            if row[best] == row[best] and (x != x or better(x, row[best])):
                best = i
        return best

    larger, smaller = (lambda a, b: a > b), (lambda a, b: a < b)
    return [{"sum": lambda r: sum(r), "prod": lambda r: math.prod(r), "max": lambda r: r[extreme(r, larger)], "min": lambda r: r[extreme(r, smaller)],
             "argmax": lambda r: extreme(r, larger), "argmin": lambda r: extreme(r, smaller), "any": lambda r: any(r), "all": lambda r: all(r)}[opcode](row)
            for row in rows]  # fmt: skip


def check_reduce(card):
    for code, opcode in enumerate(REDUCE):
        for dtype, layout in itertools.product(DTYPES, ("contiguous", "strided", "expanded", "offset", "special")):
            complex_, arg = dtype.startswith("complex"), opcode.startswith("arg")
            if (complex_ and opcode in ("max", "min", "argmax", "argmin")) or (layout == "special" and dtype not in ("float32", "float64")):
                continue
            values = _values(dtype, 12)
            if layout == "special":
                values = [x if x == x else 2.0 for x in _SPECIAL]
                values[6] = math.nan
                if opcode in ("sum", "prod"):
                    continue  # the order of infinities and zeros is the device's own
            result = "bool" if opcode in ("any", "all") else "int64" if dtype in (*INTS, "bool") and opcode in ("sum", "prod") else dtype
            for dim, name in ((1, "dim 1"), (0, "dim 0"), (-1, "all")):
                x = Pair(values, SHAPE, dtype, card.device, layout)
                table = [_numbers(row) for row in x.cpu]
                rows = table if dim == 1 else list(zip(*table)) if dim == 0 else [sum(table, [])]
                kept = {1: (3, 1), 0: (1, 4), -1: (1, 1)}[dim]
                out = Pair([], kept, "int64" if arg else result, card.device).device
                operands = [None if arg else out.expand(*SHAPE), x.device, out.expand(*SHAPE) if arg else None]
                compute = getattr(facula, result) if result in ("int64", "bool") else _compute(dtype)
                case = ("reduce", f"{opcode} {name}", dtype, layout)
                card.judge(case, operands, _reference_reduce(opcode, rows), compute, code, result="int64" if arg else result, out=out, dim=dim)


def check_matmul(card):
    for dtype, layout in itertools.product((*INTS, *REALS, "complex64", "complex128"), ("contiguous", "strided", "expanded", "offset")):
        for batch, m, n, k in ((1, 3, 4, 5), (2, 3, 4, 5), (2, 1, 1, 1)):
            a = Pair(_values(dtype, 64), (batch, m, k), dtype, card.device, layout)
            b = Pair(_values(dtype, 64, 1), (batch, k, n), dtype, card.device, layout)
            start = _values(dtype, 64, 2)
            for alpha, beta in ((1, 0), (2, 1)):
                out = Pair(start, (batch, m, n), dtype, card.device, "contiguous")
                rows = [[_numbers(r) for r in g] for g in a.cpu], [[_numbers(r) for r in g] for g in b.cpu], [[_numbers(r) for r in g] for g in out.cpu]
                want = [alpha * sum(rows[0][g][i][p] * rows[1][g][p][j] for p in range(k)) + beta * rows[2][g][i][j]
                        for g in range(batch) for i in range(m) for j in range(n)]  # fmt: skip
                if dtype in INTS:
                    want = [_wrap(x, dtype) for x in want]
                case = ("matmul", f"{batch}x{m}x{n}x{k}" + (" + c" if beta else ""), dtype, layout)
                card.judge(case, [out.device, a.device, b.device], want, _compute(dtype), params=[alpha, beta])


def _wrap(x, dtype):
    bits = 8 if dtype.endswith("8") else int(dtype[3:])
    x &= (1 << bits) - 1
    return x - (1 << bits) if dtype[0] == "i" and x >= 1 << (bits - 1) else x


def check_index(card):
    """gather and scatter."""
    picks = [2, 0, 1, 2, 0, 1, 2, 0]  # into dimension 0, of size 3; no place twice, in either layout
    for dtype, layout in itertools.product(DTYPES, ("contiguous", "strided", "offset")):
        x = Pair(_values(dtype, 12), SHAPE, dtype, card.device, layout)
        index = Pair(picks, (2, 4), "int64", card.device, layout)
        table, at = [_numbers(r) for r in x.cpu], [_numbers(r) for r in index.cpu]
        out = Pair([], (2, 4), dtype, card.device)
        want = [table[at[i][j]][j] for i in range(2) for j in range(4)]
        card.judge(("gather", "gather", dtype, layout), [out.device, x.device, index.device], want, _compute(dtype), dim=0)
        for code, opcode in enumerate(SCATTER):
            if (dtype.startswith("complex") or dtype == "bool") and opcode != "set" and not (dtype != "bool" and opcode in ("add", "mul")):
                continue
            source = Pair(_values(dtype, 8, 1), (2, 4), dtype, card.device, layout)
            values, result = [_numbers(r) for r in source.cpu], [list(r) for r in table]
            for i, j in itertools.product(range(2), range(4)):
                old, new = result[at[i][j]][j], values[i][j]
                result[at[i][j]][j] = new if opcode == "set" else SCAN_STEPS[{"add": "sum", "mul": "prod"}.get(opcode, opcode)](old, new)
            want = [_wrap(v, dtype) if dtype in INTS else v for r in result for v in r]
            target = Pair(_values(dtype, 12), SHAPE, dtype, card.device, layout)
            card.judge(("scatter", opcode, dtype, layout), [target.device, source.device, index.device], want, _compute(dtype), code, dim=0)


def check_scan(card):
    for code, opcode in enumerate(SCAN):
        for dtype, layout in itertools.product(DTYPES, ("contiguous", "strided", "offset")):
            if dtype.startswith("complex") and opcode in ("max", "min"):
                continue
            wide = "int64" if dtype in (*INTS, "bool") and opcode in ("sum", "prod") else dtype
            x = Pair(_values(dtype, 12), SHAPE, dtype, card.device, layout)
            out = Pair([], SHAPE, wide, card.device, layout)
            want = [v for r in x.cpu for v in itertools.accumulate(map(int, _numbers(r)) if wide == "int64" else _numbers(r), SCAN_STEPS[opcode])]
            card.judge(("scan", opcode, dtype, layout), [out.device, x.device, None], want, getattr(facula, wide), code, result=wide, dim=1)


def check_sort(card):
    for dtype, layout in itertools.product(DTYPES[:-2], ("contiguous", "strided", "offset")):
        for descending in (False, True):
            x = Pair(_values(dtype, 12), SHAPE, dtype, card.device, layout)
            out, where = Pair([], SHAPE, dtype, card.device, layout), Pair([], SHAPE, "int64", card.device, layout)
            rows = [_numbers(r) for r in x.cpu]
            step = -1 if descending else 1  # either way equal elements keep their order
            orders = [sorted(range(4), key=lambda i, r=r: step * r[i]) for r in rows]
            case = ("sort", "descending" if descending else "ascending", dtype, layout)
            want = [r[i] for r, o in zip(rows, orders) for i in o]
            status = card.judge(case, [out.device, x.device, where.device], want, _compute(dtype), dim=1, descending=descending)
            if status == "passed" and (detail := _compare(_numbers(where.device), [i for o in orders for i in o], "int64")):
                card.cases[-1][4:] = ["failed", f"indices: {detail}"]


def check_random(card):
    """The same seed and counter give the CPU's numbers of docs/random.md."""
    for code, (opcode, (numbers, dtypes)) in enumerate(RANDOM.items()):
        for dtype, layout in itertools.product(dtypes, ("contiguous", "strided", "offset", "large")):
            shape = LARGE if layout == "large" else SHAPE
            out = Pair([], shape, dtype, card.device, layout)
            for given in ("number", "tensor")[: 1 + (opcode == "bernoulli")]:
                p = Pair([0.0, 0.25, 0.5, 1.0], shape, "float32", card.device, layout) if given == "tensor" else None
                params = [*numbers, 2**40 + 7, 12]
                _C._run_family("random", code, [out.cpu, p.cpu if p else None], _compute(dtype), params=params)
                operands = [out.device, p.device if p else None]
                case = ("random", opcode + (" by element" if p else ""), dtype, layout)
                card.judge(case, operands, _numbers(out.cpu), _compute(dtype), code, params=params)


# ---- the card ----------------------------------------------------------------------------------------------------


def _next_tier(cases):
    """(the tier reached, what the next one lacks: [[family, why, [the opcodes it lacks]], …])."""
    base = {row[0] for row in _C._map_opcodes()[: _C._last_base_opcode + 1]}
    for tier, families in TIERS.items():
        lacks = []
        for family in families:
            mine = [c for c in cases if c[0] == family]
            failed = [c for c in mine if c[4] == "failed"]
            if wrong := {c[1] for c in failed if not c[5].startswith(DECOMPOSED)}:
                lacks.append([family, "claimed and wrong", sorted(wrong)])
            if wrong := {c[1] for c in failed if c[5].startswith(DECOMPOSED)}:
                lacks.append([family, "wrong when decomposed", sorted(wrong)])
            mine = [c for c in mine if c[3] in ("contiguous", "strided", "") and (family != "map" or c[1] in base)]
            float32 = [c for c in mine if c[2] in ("float32", "")]
            with_float = {c[1] for c in float32}
            judged = float32 + [c for c in mine if c[2] == "int64" and c[1] not in with_float]
            if not judged:
                lacks.append([family, "not examined", []])
            for dtype in ("float32", "int64"):
                if left := {c[1] for c in judged if c[2] == dtype and c[4] in ("fallback", "decomposed")}:
                    lacks.append([family, f"not claimed for {dtype}", sorted(left)])
        if lacks:
            return tier - 1, lacks
    return max(TIERS), []


def _groups(failures):
    """Failures of one family, opcode and type together: [(family, opcode, dtype, how many, the first)]."""
    groups = {}
    for case in failures:
        groups.setdefault(tuple(case[:3]), []).append(case)
    return [(*key, len(cases), cases[0]) for key, cases in groups.items()]


def _device(name):
    """The device's full name; an error if there is none to examine."""
    device = facula.device(name)
    if device.type in ("cpu", "meta"):
        raise ValueError(f"conformance compares a backend's device with the CPU; '{device}' is none")
    facula.empty(1, device=device)  # says so if it does not exist
    return str(device)


def run(device, families=FAMILIES) -> dict:
    """The scorecard of a device, as data."""
    device = _device(device)
    card = Card(device)
    checks = {"memory": check_memory, "copy": check_copy, "map": check_map, "reduce": check_reduce, "matmul": check_matmul,
              "gather": check_index, "scan": check_scan, "sort": check_sort, "random": check_random}  # fmt: skip
    for family in families:
        if family in checks:
            checks[family](card)
    summary = {f: dict.fromkeys(STATUSES, 0) for f in FAMILIES if any(c[0] == f for c in card.cases)}
    for case in card.cases:
        summary[case[0]][case[4]] += 1
    name = facula.device(device).type
    about = next((b for b in _C._backends() if b["name"] == name), None)
    tier, lacks = _next_tier(card.cases)
    return {"device": device, "facula": facula.__version__, "backend": about, "tier": tier, "next": lacks, "summary": summary, "cases": card.cases}


def text(card) -> str:
    """The scorecard for a terminal."""
    lines = [f"conformance of '{card['device']}' (Facula {card['facula']})", "", f"{'family':<10}{'claimed':>9}{'passed':>9}{'failed':>9}{'decomposed':>12}{'fallback':>10}"]
    unclaimed = Counter(c[0] for c in card["cases"] if c[5].startswith(DECOMPOSED))
    for family, n in card["summary"].items():
        lines.append(f"{family:<10}{n['passed'] + n['failed'] - unclaimed[family]:>9}{n['passed']:>9}{n['failed']:>9}{n['decomposed']:>12}{n['fallback']:>10}")
    failures = [c for c in card["cases"] if c[4] == "failed"]
    groups = _groups(failures)
    for family, opcode, dtype, n, first in groups[:20]:
        what = " ".join(filter(None, (family, opcode, dtype)))
        lines.append(f"  failed: {what}: {n} sample{'s' if n > 1 else ''}, the first: {' '.join(filter(None, (first[3], first[5])))}")
    if len(groups) > 20:
        lines.append(f"  … and {len(groups) - 20} more like these (--json or --html shows all)")
    tier = f"tier {card['tier']}" if card["tier"] >= 0 else "no tier"
    lines += ["", f"{tier} reached, {len(failures)} failures"]
    if card["next"]:
        lines.append(f"tier {card['tier'] + 1} needs:")
    for family, why, opcodes in card["next"]:
        more = f", … ({len(opcodes)} in all)" if len(opcodes) > 12 else ""
        lines.append(f"  {family}: {why}" + (f": {', '.join(opcodes[:12])}{more}" if opcodes else ""))
    return "\n".join(lines)


def html(card) -> str:
    """The scorecard as one page without outside parts: opcodes down, element types across, a square per layout."""
    from html import escape

    page = ["<!doctype html><meta charset='utf-8'><title>Conformance of ", escape(card["device"]), "</title><style>body{font:14px sans-serif;margin:2em}"
            "table{border-collapse:collapse;margin:1em 0}td,th{padding:2px 6px;border:1px solid #ddd;text-align:left;font-weight:normal}"
            "i{display:inline-block;width:9px;height:9px;margin:1px}.passed{background:#2a2}.failed{background:#d22}.decomposed{background:#48d}"
            ".fallback{background:#ccc}</style><h1>Conformance of ", escape(card["device"]), f"</h1><p>Tier {card['tier']}, Facula {escape(card['facula'])}. ",
            "".join(f"<i class={s}></i> {s} &nbsp; " for s in STATUSES), "</p><pre>", escape(text(card)), "</pre>"]  # fmt: skip
    for family in card["summary"]:
        cells, types = {}, []
        for f, opcode, dtype, layout, status, detail in card["cases"]:
            if f == family:
                types += [dtype] if dtype not in types else []
                cells.setdefault(opcode, {}).setdefault(dtype, []).append(f"<i class={status} title='{escape(f'{layout}: {status} {detail}', quote=True)}'></i>")
        page.append(f"<h2>{family}</h2><table><tr><th></th>{''.join(f'<th>{t}</th>' for t in types)}</tr>")
        for opcode, row in cells.items():
            page.append(f"<tr><th>{escape(opcode)}</th>{''.join('<td>' + ''.join(row.get(t, [])) + '</td>' for t in types)}</tr>")
        page.append("</table>")
    return "".join(page)


def main(args) -> int:
    """`facula conformance NAME`: 0 if nothing that is claimed is wrong, 1 otherwise, 2 if there is no such device."""
    name = args.device
    try:
        if name.endswith(".so"):
            name = facula.backends.load_backend(name)
        _device(name)
    except (AssertionError, RuntimeError, ValueError) as e:
        print(f"facula conformance: {e}", file=sys.stderr)
        return 2
    card = run(name)
    print(text(card))
    if args.json:
        write_file(args.json, json.dumps(card, indent=1))
    if args.html:
        write_file(args.html, html(card))
    return 1 if Counter(c[4] for c in card["cases"])["failed"] else 0
