# SPDX-License-Identifier: Apache-2.0
"""What can be called: every overload of the registry, and what Python adds to it; with valid arguments to start from.

Valid arguments come from the operator table of tests/ops: its samples run forward and backward under a layer that
notes the arguments of every operator they reach. An operator that none of them reaches gets arguments made from its schema.
"""
import inspect
import keyword
import os
import sys
import warnings
from dataclasses import dataclass, field

from fuzz_operators.values import Items, Literal, Tensor, from_python, literal

OPS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "ops")
MOST_SAMPLES = 24  # kept of an operator
MOST_ELEMENTS = 5000


@dataclass
class Parameter:
    name: str
    type: str
    keyword: bool = False  # by keyword only
    default: bool = False
    writes: bool = False


@dataclass
class Target:
    name: str                      # "aten::add.Tensor", "torch.einsum"
    text: str                      # how it is called
    parameters: list
    samples: list = field(default_factory=list)  # (positional values, keyword values)
    function: str = ""             # torch.add, where it exists
    method: str = ""               # its name, where a tensor has it
    view: bool = False
    random: bool = False           # its values are drawn


# Changes the process by design, or gives back addresses, or waits for somebody.
EXCEPT = {
    "torch." + name for name in (
        "set_default_device", "set_default_dtype", "set_flush_denormal", "set_num_threads", "set_printoptions", "manual_seed", "seed",
        "set_rng_state", "use_deterministic_algorithms", "set_deterministic_debug_mode", "load_backend", "set_grad_enabled", "printoptions",
        "inference_mode", "no_grad", "enable_grad", "autocast", "get_rng_state", "initial_seed", "set_autocast_cpu_enabled", "set_autocast_enabled", "set_autocast_cpu_dtype",
        "set_autocast_dtype", "set_autocast_gpu_dtype", "set_autocast_cache_enabled", "set_default_tensor_type", "set_float32_matmul_precision",
        "Tensor.__new__", "Tensor.__init__", "Tensor.__init_subclass__", "Tensor.__subclasshook__", "Tensor.__class__",
        "Tensor.__getattribute__", "Tensor.__setattr__", "Tensor.__delattr__", "Tensor.__dir__", "Tensor.__sizeof__", "Tensor._dump",
        "Tensor.__reduce__", "Tensor.__getstate__", "Tensor.__array_wrap__", "Tensor.__format__",
    )
}  # fmt: skip
RANDOM = ("rand", "bernoulli", "dropout", "normal", "multinomial", "poisson", "exponential_", "cauchy_", "geometric_", "uniform_",
          "log_normal_", "random_", "empty", "rrelu", "resize", "new_empty")  # fmt: skip


def is_random(name):
    return any(word in name for word in RANDOM)


def operators(torch):
    from facula import _C
    for name in sorted(_C._operator_names()):
        op = _C._find_operator(name)
        space, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        parameters = [Parameter(a.name, a.type, a.kwarg_only, a.has_default_value(), a.is_write) for a in op._schema.arguments]
        text = f"torch.ops.{space}.{base}"
        text = f"getattr({text}, {overload!r})" if keyword.iskeyword(overload) else f"{text}.{overload or 'default'}"
        yield Target(
            name, text, parameters,
            function=f"torch.{base}" if space == "aten" and base in _C._functions and hasattr(torch, base) else "",
            method=base if space == "aten" and base in _C._methods and hasattr(torch.Tensor, base) else "",
            view=op.is_view, random=is_random(base) or any(p.type.startswith("Generator") for p in parameters),
        )  # fmt: skip


def type_of(name):
    """A schema type for a parameter of a Python function, guessed from its name."""
    if name in ("self", "input", "other", "tensor", "x", "weight", "target", "mat", "src", "x1", "x2"):
        return "Tensor"
    if name in ("bias", "running_mean", "running_var", "gradient"):
        return "Tensor?"
    if name in ("tensors", "operands", "outputs", "inputs"):
        return "Tensor[]"
    if name in ("dim", "dims", "axis", "groups", "start", "end", "num_groups", "chunks", "n"):
        return "int"
    if name in ("size", "shape", "sizes", "kernel_size", "stride", "padding", "dilation", "output_size", "normalized_shape", "pad"):
        return "int[]"
    if name in ("eps", "momentum", "p", "beta", "alpha", "scale_factor", "negative_slope", "lambd", "ord", "label_smoothing"):
        return "float"
    if name in ("keepdim", "inplace", "training", "sorted", "return_inverse", "return_counts", "ceil_mode", "align_corners", "copy"):
        return "bool"
    return {"dtype": "ScalarType?", "device": "Device?", "reduction": "str", "mode": "str", "equation": "str", "idx": "index"}.get(name, "any")


def described(function, method):
    """Parameters of a callable: as its signature says, else a few of any type."""
    try:
        signature = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        signature = None
    if not signature:
        return [Parameter("self", "Tensor")] * method + [Parameter("other", "any", default=True), Parameter("more", "any", default=True)]
    parameters = []
    for p in signature:
        if p.kind == p.VAR_POSITIONAL:
            parameters += [Parameter(p.name, type_of(p.name) if type_of(p.name) != "any" else "any", default=True)] * 2
        elif p.kind != p.VAR_KEYWORD:
            parameters.append(Parameter(p.name, type_of(p.name), p.kind == p.KEYWORD_ONLY, p.default is not p.empty))
    return parameters


def in_python(torch):
    """Functions and methods that do more than call one operator."""
    from facula import _C
    places = {"torch": torch, "torch.Tensor": torch.Tensor, "torch.nn.functional": torch.nn.functional, "torch.autograd": torch.autograd,
              "torch.special": torch.special, "torch.Generator": torch.Generator, "torch.UntypedStorage": torch.UntypedStorage}  # fmt: skip
    for place, holder in places.items():
        for name in sorted(dir(holder)):
            text = f"{place}.{name}"
            private = name.startswith("_") and not (place == "torch.Tensor" and name.startswith("__"))
            value = getattr(holder, name, None)
            if private or text in EXCEPT or not callable(value) or isinstance(value, (_C.Function, _C.Method, type(os))):
                continue
            if isinstance(value, type) and place != "torch":
                continue
            method = place == "torch.Tensor"
            parameters = described(value, method)
            if place in ("torch.Generator", "torch.UntypedStorage"):
                parameters = [Parameter("self", place.split(".")[1]), *parameters[:2]]
            if name in ("__getitem__", "__setitem__"):
                parameters = [Parameter("self", "Tensor"), Parameter("index", "index"), Parameter("value", "any", default=True)][: 2 + (name == "__setitem__")]
            yield Target(text, text, parameters, random=is_random(name))


def observed(torch, targets):
    """Adds the arguments that the table's samples give to operators and functions."""
    sys.path[:0] = [OPS] if OPS not in sys.path else []
    from opspec import resolve, select
    from record import with_grad
    from table import ROWS

    seen = {}

    def small(x):
        return not isinstance(x, torch.Tensor) or x.numel() <= MOST_ELEMENTS

    def note(name, args, kwargs):
        target = targets.get(name)
        if target is None or len(target.samples) >= MOST_SAMPLES or not all(map(small, (*args, *kwargs.values()))):
            return
        values = [from_python(torch, x) for x in args], {k: from_python(torch, x) for k, x in kwargs.items()}
        if None in values[0] or None in values[1].values():
            return
        key = name, tuple(x.text for x in values[0]), tuple((k, x.text) for k, x in values[1].items())
        if key not in seen:
            seen[key] = True
            target.samples.append(values)

    def watch(op, args, kwargs, go_on):
        note(op.name(), args, kwargs)
        return go_on(*args, **kwargs)

    with warnings.catch_warnings(), torch.dispatch.layer("fuzz", watch):
        warnings.simplefilter("ignore")
        for row in ROWS:
            try:
                function = resolve(torch, row.call)
            except AttributeError:
                continue
            for sample in select(row, torch, "f32" if "f32" in row.dtypes else row.dtypes[0]):
                if isinstance(row.call, str):
                    note("torch." + row.call, sample.args, sample.kwargs)
                try:
                    function(*sample.args, **sample.kwargs)
                    if row.grad and sample.slope:
                        args, kwargs, leaves = with_grad(torch, sample, row.grad_args)
                        results = function(*args, **kwargs)
                        results = [r for r in (results if isinstance(results, (tuple, list)) else [results]) if isinstance(r, torch.Tensor) and r.requires_grad]
                        torch.autograd.grad(results, leaves, [torch.ones_like(r) for r in results], allow_unused=True)
                except Exception:  # a sample that only PyTorch runs: the table's own tests say so
                    continue


def borrowed(targets):
    """In-place and out= forms, and second names, start from the arguments of the plain form."""
    for target in list(targets.values()):
        if target.samples or "::" not in target.name:
            continue
        space, _, rest = target.name.partition("::")
        base, _, overload = rest.partition(".")
        outs = [p for p in target.parameters if p.writes and p.keyword]
        wanted = [p.type for p in target.parameters if not (p.writes and p.keyword)]
        plain = base.rstrip("_") if base.endswith("_") and not base.endswith("__") else base
        donors = [t for t in targets.values() if t.name.startswith(f"{space}::") and t.samples and t.name.split("::")[1].split(".")[0] == plain]
        same = [t for t in donors if [p.type for p in t.parameters][: len(wanted)] == wanted]
        for donor in (same or donors)[:2]:
            for args, kwargs in donor.samples:
                names = {p.name for p in target.parameters}
                kwargs = {k: v for k, v in kwargs.items() if k in names}
                kwargs.update({p.name: Tensor((0,), args[0].dtype if args and isinstance(args[0], Tensor) else "float32") for p in outs})
                target.samples.append((list(args), kwargs))
        del target.samples[MOST_SAMPLES:]


def collect(torch, devices=("cpu", "meta")):
    """Every target by name, in an order that only depends on the build."""
    targets = {t.name: t for t in (*operators(torch), *in_python(torch))}
    observed(torch, targets)
    borrowed(targets)
    return [targets[name] for name in sorted(targets)]


def made(rng, target):
    """Arguments that fit the schema and, with luck, each other: tensors of one shape and dtype."""
    shape = rng.choice([(3,), (2, 3), (2, 3), (3, 3), (2, 3, 4), (2, 3, 4), (1, 2, 4, 4), (2, 4, 3, 3), (1, 2, 3, 3, 3), ()])
    dtype = rng.choice(["float32"] * 4 + ["float64", "int64", "complex64", "bool"])
    rank = len(shape)

    def tensor(name):
        if "ind" in name or name in ("target", "offsets", "repeats", "lengths"):
            return Tensor(rng.choice([shape, (2,)]), "int64", fill="values", values=()) if rng.random() < 0.2 else Tensor(shape, "int64", fill=rng.choice("01"))
        if name in ("mask", "condition"):
            return Tensor(shape, "bool", fill="True")
        if name in ("weight", "bias", "running_mean", "running_var", "mean", "rstd") and rank > 1:
            return Tensor((shape[1],), dtype)
        return Tensor(shape, dtype)

    def value(p):
        kind = p.type.rstrip("?")
        if p.type.endswith("?") and rng.random() < 0.4:
            return literal(None)
        if kind == "Tensor":
            return tensor(p.name)
        if kind.startswith("Tensor"):
            return Items(tuple(tensor(p.name) for _ in range(rng.randint(1, 3))))
        if kind == "int":
            return literal(rng.randrange(max(rank, 1)) if "dim" in p.name else rng.choice([0, 1, 1, 2, 3]))
        if kind.startswith("int["):
            count = int(kind[4:-1] or 0)
            if "dim" in p.name:
                return Items(tuple(literal(d) for d in sorted(rng.sample(range(max(rank, 1)), rng.randint(1, max(rank, 1))))))
            if "size" in p.name or "shape" in p.name:
                return Items(tuple(map(literal, shape if not count else [2] * count)))
            return Items(tuple(literal(rng.choice([0, 1, 1, 2])) for _ in range(count or max(rank, 1))))
        if kind == "float":
            return literal(rng.choice([0.5, 0.1, 1.0]))
        if kind == "Scalar":
            return literal(rng.choice([1, 2, 0.5, 3]))
        if kind == "bool":
            return literal(rng.random() < 0.5)
        if kind.startswith("bool["):
            return Items(tuple(literal(rng.random() < 0.5) for _ in range(int(kind[5:-1] or 2))))
        if kind == "str":
            return literal(rng.choice(["mean", "none", "sum", "linear", "floor", "trunc", "tanh", "constant", "reflect", "ij", "ij->ji"]))
        if kind == "ScalarType":
            return Literal(f"torch.{rng.choice(('float32', 'float64', 'int64', 'bool'))}")
        if kind == "Device":
            return literal("cpu")
        if kind == "Layout":
            return Literal("torch.strided")
        if kind == "MemoryFormat":
            return Literal(rng.choice(["torch.contiguous_format", "torch.preserve_format"]))
        if kind == "Generator":
            return Literal(rng.choice(["torch.Generator()", "None"]) if p.type.endswith("?") else "torch.Generator()")
        if kind == "UntypedStorage":
            return Literal("torch.ones(4).untyped_storage()")
        if kind == "index":
            return index(rng, shape)
        return rng.choice([Tensor(shape, dtype), literal(1), literal(0.5), literal(None), Items((literal(1), literal(2))), literal(True)])

    args, kwargs = [], {}
    for p in target.parameters:
        if p.default and rng.random() < 0.5:
            if not p.keyword:
                break
            continue
        if p.keyword:
            kwargs[p.name] = value(p)
        else:
            args.append(value(p))
    for p in target.parameters:
        if p.keyword and not p.default and p.name not in kwargs:
            kwargs[p.name] = value(p)
    return args, kwargs


def index(rng, shape):
    """What stands in x[...]."""
    def one(size):
        return rng.choice([
            Literal(str(rng.randrange(max(size, 1)))), Literal("slice(None)"), Literal("slice(0, 2)"), Literal("slice(None, None, 2)"), Literal("None"),
            Literal("..."), Literal("True"), Items((literal(0), literal(0))), Tensor((2,), "int64", fill="0"), Tensor((size,), "bool", fill="True"),
            Literal("slice(2**62, -2**62, 2**63-1)"), Literal("slice(-2**63, 2**63, 1)"), Literal("range(2)"), Literal("Index(0)"),
        ])  # fmt: skip
    items = tuple(one(n) for n in shape[: rng.randint(1, len(shape) or 1)] or (1,))
    return items[0] if len(items) == 1 else Items(items, "()")
