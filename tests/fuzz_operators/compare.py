# SPDX-License-Identifier: Apache-2.0
"""Valid calls computed in two ways that must agree: strided against contiguous arguments, the meta device and the example
device against the CPU, two threads against one. Random operators are compared by shape.
"""
import random
import re
from dataclasses import replace

from fuzz_operators.draw import Call, valid
from fuzz_operators.judge import Finding
from fuzz_operators.values import Items, Tensor, helpers

# Their results tell of layouts, addresses or devices, or hold nothing defined.
ABOUT_LAYOUT = re.compile(r"stride|contiguous|(^|\W)view|storage|data_ptr|set_|resize|detach_|is_|reshape_alias|empty|dlpack|__array__|__reduce|element_size|"
                          r"__repr__|__str__|__hash__|deepcopy|dim_order|_version|device|unsafe_view|Generator|backward$|typename|Storage|\.type|numpy|"
                          r"memory_format|^aten::_local|cpu|cuda|::to\b|Tensor\.to$|has_torch_function|register|\.grad$|copy__|retain_grad|from_numpy|frombuffer|"
                          r"^torch\.\w*Tensor$")  # fmt: skip
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
    target = targets[trial % len(targets)]
    rng = random.Random(f"{seed}:{trial}:{target.name}:compare")
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


def close(torch, x, y):
    if not x.dtype.is_floating_point and not x.dtype.is_complex:
        return torch.equal(x, y)
    rtol = {2: 3e-2, 4: 1e-3, 1: 0.2}.get(x.element_size(), 1e-3 if x.dtype == torch.complex64 else 1e-9)  # long products, too
    wide = torch.complex128 if x.dtype.is_complex else torch.float64
    x, y = x.to(wide), y.to(wide)
    size = x.abs()
    largest = torch.where(size < float("inf"), size, 0.0).max().item() if x.numel() else 0.0
    atol = rtol * (largest or 1)
    return torch.allclose(x, y, rtol, atol, equal_nan=True)


def layout(x):
    return [s for n, s in zip(x.shape, x.stride()) if n > 1] if x.numel() else []


def difference(torch, way, expected, got, random_values):
    """What differs, in words; "" for nothing."""
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
        if way == "meta" or random_values:
            continue
        y = y.to("cpu")
        same = x.numpy().tobytes() == y.numpy().tobytes() if way == "two threads" and x.dtype in (torch.float32, torch.float64) else close(torch, x, y)
        if not same:
            return f"result {i} differs {way}: {x.flatten()[:8].tolist()} and {y.flatten()[:8].tolist()}"[:400]
    return ""


def examine(torch, target, call, devices):
    if ABOUT_LAYOUT.search(target.name):
        return "", None
    expected = None
    for way, variant in ways(call, target, devices):
        if way == "two threads":
            torch.set_num_threads(2)
        try:
            with torch.no_grad():
                got = outcome(torch, variant)
        finally:
            torch.set_num_threads(1)
        if way == "contiguous":
            if isinstance(got, Exception):
                return "", None
            expected = got
            continue
        if way == "meta" and isinstance(got, Exception) and "meta" in str(got).lower():
            continue  # depends on values
        text = difference(torch, way, expected, got, target.random)
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
