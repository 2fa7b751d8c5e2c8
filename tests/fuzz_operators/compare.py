# SPDX-License-Identifier: Apache-2.0
"""Valid calls computed in two ways that must agree: strided against contiguous arguments, the meta device and the example
device against the CPU, two threads against one. Random operators are compared by shape.
"""
import random
import re
from dataclasses import replace

from fuzz_operators.draw import Call, valid
from fuzz_operators.judge import Finding
from fuzz_operators.values import FLOATING, Items, Tensor, helpers

# Their results tell of layouts, addresses or devices, or hold nothing defined.
ABOUT_LAYOUT = re.compile(r"stride|contiguous|(^|\W)view|storage|data_ptr|set_|resize|detach_|is_|reshape_alias|empty|dlpack|__array__|__reduce|element_size|"
                          r"__repr__|__str__|__hash__|deepcopy|dim_order|_version|device|unsafe_view|Generator|backward$|typename|Storage|\.type|numpy|"
                          r"memory_format|^aten::_local|cpu|cuda|::to\b|Tensor\.to$|has_torch_function|register|\.grad$|copy__|retain_grad|from_numpy|frombuffer|"
                          r"^torch\.\w*Tensor$")  # fmt: skip
# Matrix products by BLAS and oneDNN round as their threads cut them.
BY_LIBRARY = re.compile(r"mm|matmul|linear|attention|einsum|conv|dot|mv|inner|kron|ger|outer|addr|cdist")
# They subtract a mean: what is left may be smaller than the mean's own rounding.
CANCELS = re.compile(r"std|var|norm")
WIDE = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "float64": "float64", "complex64": "complex128", "complex128": "complex128"}
UNIT = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52, "complex64": 2.0**-23, "complex128": 2.0**-52}
SLACK = 64  # units in the last place: of sums of thousands
MOST_ELEMENTS = 1 << 22  # of results that are compared
STRIDED = ("as transposed", "as step", "as stacked", "channels_last")


def each(value, change):
    """The value with change(tensor) for every tensor in it."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Items):
        return replace(value, items=tuple(each(item, change) for item in value.items))
    return value


def changed(call, change):
    return replace(call, args=[each(v, change) for v in call.args], kwargs={k: each(v, change) for k, v in call.kwargs.items()})


def draw(targets, seed, trial, devices):
    turn, at = divmod(trial, len(targets))
    target = targets[at]
    rng = random.Random(f"{seed}:{turn}:{target.name}:compare")
    args, kwargs = valid(rng, target)
    call = Call(target.text, args, kwargs)
    if rng.random() < 0.3:
        dtype = rng.choice(("float64", "float16", "bfloat16", "complex64", "int64", "int32", "uint8", "bool"))
        call = changed(call, lambda t: replace(t, dtype=dtype) if t.dtype == "float32" else t)
    shapes = {v.shape for v in call.values() if isinstance(v, Tensor)}
    if rng.random() < 0.15 and len(shapes) == 1:  # enough elements for several threads
        factor = rng.choice((1000, 3001))
        call = changed(call, lambda t: replace(t, shape=(t.shape[0] * factor, *t.shape[1:])) if t.shape and t.count <= 24 else t)
    return target, changed(call, lambda t: replace(t, layout=rng.choice(STRIDED)))


def ways(call, target, devices):
    """(name, call) of each way; the first is what the others are compared with."""
    plain = changed(call, lambda t: replace(t, layout="contiguous"))
    yield "contiguous", plain
    yield "strided", call
    for device in devices:
        if device not in ("cpu", "null"):
            yield device, changed(plain, lambda t, device=device: replace(t, device=device))
    if sum(v.count for v in plain.values() if isinstance(v, Tensor)) > 1000:
        yield "two threads", plain


def outcome(torch, call):
    """Results as a list, or the exception."""
    made, body, _ = call.parts()
    names = {"torch": torch}
    try:
        exec(compile(helpers(made + body) + "torch.manual_seed(1)\n" + made + body, "<call>", "exec"), names)
    except Exception as error:  # of which type is the hostile mode's business
        return error
    result = names["result"]
    return list(result) if isinstance(result, (tuple, list)) else [result]


def in_any_order(torch, call):
    """Whether no product of some of the numbers in a tensor leaves the range of its type: then it does not matter in which
    order they are multiplied. Between overflow and underflow lie NaN (0 times infinity), 0, infinity and the right answer."""
    for value in call.values():
        if isinstance(value, Tensor) and value.dtype in FLOATING:
            x = eval(value.text, {"torch": torch}).abs().double().flatten()
            logs = x[(x > 0) & (x < float("inf"))].log2()
            if max(logs.clamp(min=0).sum().item(), -logs.clamp(max=0).sum().item()) > (1000 if value.dtype in ("float64", "complex128") else 120):
                return False
    return True


def moved(torch, call, expected):
    """By how much each result moves when every input moves by a unit in its last place, both computed in a wide type: what no
    way of computing can avoid."""
    def precise(nudge):
        return changed(call, lambda t: replace(t, layout="contiguous", dtype=WIDE[t.dtype], nudge=nudge and UNIT[t.dtype]) if t.dtype in WIDE else t)
    with torch.no_grad():
        still, moving = outcome(torch, precise(False)), outcome(torch, precise(True))
    if isinstance(still, Exception) or isinstance(moving, Exception) or not len(still) == len(moving) == len(expected):
        return [0.0] * len(expected)
    return [largest(torch, wide(torch, x) - wide(torch, y)) if isinstance(x, torch.Tensor) and is_inexact(x) and x.shape == y.shape else 0.0
            for x, y in zip(still, moving)]  # fmt: skip


def is_inexact(x):
    return x.dtype.is_floating_point or x.dtype.is_complex


def wide(torch, x):
    return x.detach().to("cpu").to(torch.complex128 if x.dtype.is_complex else torch.float64)


def largest(torch, x):
    """The largest magnitude of a finite element."""
    size = x.abs()
    return torch.where(size < float("inf"), size, 0.0).max().item() if x.numel() else 0.0


def tolerance(dtype):
    """Relative, with room for long products."""
    return {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-3, "complex64": 1e-3, "float16": 3e-2, "bfloat16": 3e-2}.get(str(dtype).split(".")[-1], 0.2)


def close(torch, x, y, rtol, slack):
    if not is_inexact(x):
        return torch.equal(x, y)
    x, y = wide(torch, x), wide(torch, y)
    return torch.allclose(x, y, rtol, max(rtol * (largest(torch, x) or 1), slack), equal_nan=True)


def layout(x):
    return [s for n, s in zip(x.shape, x.stride()) if n > 1] if x.numel() else []


def difference(torch, way, expected, got, by_shape, exact, coarse, slack):
    """What differs, in words; "" for nothing. exact: bits are compared; coarse: the tolerance that the inputs' types set;
    slack: how far apart each result's elements may be."""
    if isinstance(expected, Exception) or isinstance(got, Exception):
        return f"{expected!r} but {way}: {got!r}"[:400]
    if len(expected) != len(got):
        return f"{len(expected)} results but {way}: {len(got)}"
    for i, (x, y) in enumerate(zip(expected, got)):
        if not isinstance(x, torch.Tensor) or not isinstance(y, torch.Tensor):
            if type(x) is not type(y):
                return f"result {i} is {x!r} but {way}: {y!r}"[:400]
            continue
        a, b = (tuple(x.shape), x.dtype), (tuple(y.shape), y.dtype)
        if way == "meta":
            a, b = (*a, layout(x)), (*b, layout(y))
        if a != b:
            return f"result {i} is {a} but {way}: {b}"
        if way == "meta" or by_shape:
            continue
        x, y = x.detach(), y.detach().to("cpu")
        bits = exact and x.dtype in (torch.float32, torch.float64)
        same = x.numpy().tobytes() == y.numpy().tobytes() if bits else close(torch, x, y, max(coarse, tolerance(x.dtype)), slack[i])
        if not same:
            return f"result {i} differs {way}: {x.flatten()[:8].tolist()} and {y.flatten()[:8].tolist()}"[:400]
    return ""


def too_large(torch, got):
    """Several such results do not fit into a child's memory."""
    if isinstance(got, Exception):
        return isinstance(got, MemoryError) or "memory" in str(got)
    return sum(r.numel() for r in got if isinstance(r, torch.Tensor)) > MOST_ELEMENTS


def examine(torch, target, call, devices):
    if ABOUT_LAYOUT.search(target.name):
        return "", None
    expected = None
    named = [v.dtype if isinstance(v, Tensor) else v.text.removeprefix("torch.") for v in call.values()]  # dtype=torch.float32, too
    coarse = max((tolerance(name) for name in named if name in FLOATING), default=0.0)
    for way, variant in ways(call, target, devices):
        if way == "two threads":
            torch.set_num_threads(2)
        try:
            with torch.no_grad():
                got = outcome(torch, variant)
        finally:
            torch.set_num_threads(1)
        if too_large(torch, got):
            return "", None
        if way == "contiguous":
            if isinstance(got, Exception):
                return "", None
            expected = got
            continue
        if way == "meta" and isinstance(got, Exception) and "meta" in str(got).lower():
            continue  # depends on values
        by_shape, slack = target.random, [0.0] * len(expected)
        exact = way == "two threads" and not BY_LIBRARY.search(target.name)
        text = difference(torch, way, expected, got, by_shape, exact, coarse, slack)
        if "differs" in text:  # more than can be asked for?
            if "prod" in target.name:
                by_shape = not in_any_order(torch, call)
            if CANCELS.search(target.name):
                slack = [SLACK * far for far in moved(torch, call, expected)]
            text = difference(torch, way, expected, got, by_shape, exact, coarse, slack)
        if text:
            kind = re.sub(r"[-\d.e+]+|nan|inf", "N", text)[:60] if "differs" not in text else "values"
            return "used", Finding("difference", f"{way}: {target.name}: {kind}", text)
    return "used", None


def program(call, way, devices, loading):
    """Both ways, one after the other."""
    text = ""
    for name, variant in ways(call, None, devices):
        if name in ("contiguous", way):
            made, body, _ = variant.parts()
            threads = "torch.set_num_threads(2)\n" if way == "two threads" == name else ""
            text += f"# {name}\n{threads}torch.manual_seed(1)\n{made}{body}print(result)\n"
    return f"import facula as torch\n{helpers(text)}{loading}{text}"
