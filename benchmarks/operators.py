# SPDX-License-Identifier: Apache-2.0
"""Times operators: the table of what is timed, and `make bench`, which times it on one module.

    python benchmarks/operators.py [--module torch] [--ops 'gelu|conv'] [--sizes small,large] [--quick]

benchmarks/reference.py times the same table on Facula and PyTorch in turns. A row of the table is a name, a
family, a setup and a statement, both Python text. They see `torch`, `F` (torch.nn.functional), `pick(a, b, c)`
(one value per size) and `shape`, the family's usual tensor shape. Views cost the same at any size, so they are
timed at one.
"""

import argparse
import collections
import gc
import importlib
import json
import math
import os
import re
import resource
import sys
import time

import quiet

SIZES = ("small", "medium", "large")
Row = collections.namedtuple("Row", "name family setup statement sizes", defaults=[SIZES])

SHAPES = {  # what `shape` means in each family
    "matrix": ((16, 16), (256, 256), (1024, 1024)),
    "picture": ((1, 8, 8, 8), (8, 32, 28, 28), (16, 64, 56, 56)),
    "text": ((2, 8, 16), (8, 64, 128), (16, 256, 768)),
    None: ((8, 8), (256, 256), (2048, 2048)),
}

POSITIVE = "x = torch.rand(shape) * 0.8 + 0.1"
NORMAL = "x = torch.randn(shape)"
TWO = "x = torch.rand(shape) + 0.1; y = torch.rand(shape) + 0.1"
INTS = "x = torch.randint(1, 100, shape); y = torch.randint(1, 30, shape)"
BOOLS = "x = torch.rand(shape) > 0.5; y = torch.rand(shape) > 0.5"


def each(names, family, setup, statement, sizes=SIZES):
    return [Row(name, family, setup, statement.replace("NAME", name), sizes) for name in names.split()]


ROWS = [
    *each("sqrt rsqrt log log2 log10 log1p asin acos atanh erfinv logit reciprocal lgamma digamma", "unary", POSITIVE, "torch.NAME(x)"),
    *each("abs neg exp exp2 expm1 square sin cos tan atan sinh cosh tanh asinh erf erfc sigmoid floor ceil round trunc "
          "frac sign sgn signbit isnan isinf isfinite relu nan_to_num deg2rad i0 sinc", "unary", NORMAL, "torch.NAME(x)"),
    Row("acosh", "unary", "x = torch.rand(shape) + 1", "torch.acosh(x)"),
    Row("logical_not", "unary", BOOLS, "torch.logical_not(x)"),
    Row("bitwise_not", "unary", INTS, "torch.bitwise_not(x)"),
    *each("gelu silu relu6 leaky_relu elu selu softplus hardtanh hardswish hardsigmoid mish logsigmoid", "unary", NORMAL, "F.NAME(x)"),
    Row("gelu.tanh", "unary", NORMAL, "F.gelu(x, approximate='tanh')"),
    Row("exp_", "unary", "x = torch.zeros(shape)", "x.zero_().exp_()"),
    Row("exp.out", "unary", NORMAL + "; o = torch.empty(shape)", "torch.exp(x, out=o)"),
    *[Row(f"{name}.{dtype}", "unary", f"{NORMAL}.to(torch.{dtype})", f"torch.{name}(x)")
      for name in ("exp", "sigmoid") for dtype in ("float64", "bfloat16", "float16")],
    Row("exp.strided", "unary", "x = torch.randn(shape).t()", "torch.exp(x)"),
    Row("exp.columns", "unary", "x = torch.randn(shape)[:, ::2]", "torch.exp(x)"),

    *each("add sub mul div pow atan2 maximum minimum fmax fmin hypot copysign logaddexp xlogy remainder fmod floor_divide "
          "eq ne lt le gt ge", "binary", TWO, "torch.NAME(x, y)"),
    *each("bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd", "binary", INTS, "torch.NAME(x, y)"),
    *each("logical_and logical_or logical_xor", "binary", BOOLS, "torch.NAME(x, y)"),
    Row("add.int64", "binary", INTS, "x + y"),
    Row("div.floor", "binary", TWO, "torch.div(x, y, rounding_mode='floor')"),
    *[Row(f"add.{dtype}", "binary", f"x = torch.randn(shape).to(torch.{dtype}); y = x + 1", "x + y")
      for dtype in ("float64", "bfloat16", "float16")],
    Row("add.promote", "binary", "x = torch.randn(shape); y = torch.randint(0, 9, shape)", "x + y"),
    Row("add.alpha", "binary", TWO, "torch.add(x, y, alpha=2)"),
    Row("add.number", "binary", TWO, "x + 1.5"),
    Row("mul.number", "binary", TWO, "x * 1.5"),
    Row("pow.number", "binary", TWO, "x ** 3"),
    Row("add.row", "binary", "x = torch.randn(shape); y = torch.randn(shape[-1])", "x + y"),
    Row("add.column", "binary", "x = torch.randn(shape); y = torch.randn(shape[0], 1)", "x + y"),
    Row("add.transposed", "binary", "x = torch.randn(shape); y = torch.randn(shape).t()", "x + y"),
    Row("add_", "binary", TWO, "x.add_(y, alpha=0.001)"),
    Row("mul.out", "binary", TWO + "; o = torch.empty(shape)", "torch.mul(x, y, out=o)"),
    Row("add.recorded", "binary", "x = torch.randn(shape, requires_grad=True); y = torch.randn(shape)", "x + y"),

    Row("where", "ternary", TWO + "; c = x > y", "torch.where(c, x, y)"),
    Row("clamp", "ternary", NORMAL, "torch.clamp(x, -0.5, 0.5)"),
    Row("clamp_min", "ternary", NORMAL, "torch.clamp_min(x, 0.1)"),
    Row("lerp", "ternary", TWO, "torch.lerp(x, y, 0.3)"),
    Row("addcmul", "ternary", TWO, "torch.addcmul(x, x, y, value=0.5)"),
    Row("addcdiv", "ternary", TWO, "torch.addcdiv(x, x, y, value=0.5)"),
    Row("masked_fill", "ternary", TWO + "; c = x > y", "x.masked_fill(c, 0.0)"),

    *[Row(f"cast.{a}-{b}", "copy", f"x = (torch.rand(shape) * 100).to(torch.{a})", f"x.to(torch.{b})") for a, b in (
        ("float32", "float64"), ("float32", "bfloat16"), ("float32", "float16"), ("bfloat16", "float32"), ("float16", "float32"),
        ("float32", "int64"), ("int64", "float32"), ("float32", "bool"), ("bool", "float32"), ("uint8", "float32"))],
    Row("clone", "copy", NORMAL, "x.clone()"),
    Row("contiguous", "copy", "x = torch.randn(shape).t()", "x.contiguous()"),
    Row("copy_", "copy", TWO, "x.copy_(y)"),
    Row("copy_.transposed", "copy", "x = torch.randn(shape); y = torch.randn(shape).t()", "x.copy_(y)"),
    Row("fill_", "copy", NORMAL, "x.fill_(1.0)"),
    Row("zero_", "copy", NORMAL, "x.zero_()"),

    *each("sum mean prod amax amin argmax var any all", "reduce", "x = torch.rand(shape)", "torch.NAME(x)"),
    *[Row(f"{name}.{axis}", "reduce", "x = torch.rand(shape)", f"torch.{name}(x, {dim})")
      for name in ("sum", "mean", "prod", "amax", "argmax", "var", "any", "all", "logsumexp", "max")
      for axis, dim in (("inner", -1), ("outer", 0))],
    *[Row(f"sum.{dtype}", "reduce", f"x = torch.ones(shape).to(torch.{dtype})", "x.sum()") for dtype in ("float64", "bfloat16", "int64", "bool")],
    *[Row(f"{name}.{axis}", "reduce", "x = torch.randn(shape)", f"torch.{name}(x, {dim})")
      for name in ("softmax", "log_softmax", "cumsum") for axis, dim in (("inner", -1), ("outer", 0))],
    Row("sort", "reduce", "x = torch.randn(pick((64,), (256, 256), (1024, 1024)))", "torch.sort(x)"),
    Row("sort.long", "reduce", "x = torch.randn(pick(1024, 65536, 1048576))", "torch.sort(x)"),
    Row("sort.outer", "reduce", "x = torch.randn(pick((8, 8), (256, 256), (1024, 1024)))", "torch.sort(x, 0)"),

    Row("layer_norm", "text", NORMAL + "; w = torch.ones(shape[-1]); b = torch.zeros(shape[-1])", "F.layer_norm(x, (shape[-1],), w, b)"),
    Row("batch_norm.train", "picture", NORMAL + "; w = torch.ones(shape[1]); b = torch.zeros(shape[1])",
        "F.batch_norm(x, None, None, w, b, training=True)"),
    Row("batch_norm.eval", "picture", NORMAL + "; w = torch.ones(shape[1]); b = torch.zeros(shape[1])", "F.batch_norm(x, b, w, w, b)"),

    Row("mm", "matrix", "x = torch.randn(shape); y = torch.randn(shape)", "torch.mm(x, y)"),
    Row("mm.transposed", "matrix", "x = torch.randn(shape); y = torch.randn(shape).t()", "torch.mm(x, y)"),
    Row("mm.float64", "matrix", "x = torch.randn(shape, dtype=torch.float64)", "torch.mm(x, x)"),
    Row("mm.bfloat16", "matrix", "x = torch.randn(shape).to(torch.bfloat16)", "torch.mm(x, x)", ("small", "medium")),
    Row("addmm", "matrix", "x = torch.randn(shape); b = torch.randn(shape[0])", "torch.addmm(b, x, x)"),
    Row("matmul.vector", "matrix", "x = torch.randn(shape); y = torch.randn(shape[0])", "torch.matmul(x, y)"),
    Row("matmul.heads", "matrix", "b, h, t, d = pick((1, 2, 8, 8), (4, 8, 64, 32), (8, 12, 128, 64)); x = torch.randn(b, h, t, d)",
        "torch.matmul(x, x.transpose(2, 3))"),
    Row("bmm", "matrix", "b, n = pick((2, 8), (16, 64), (32, 256)); x = torch.randn(b, n, n)", "torch.bmm(x, x)"),
    Row("linear", "text", "x = torch.randn(shape); w = torch.randn(4 * shape[-1], shape[-1]); b = torch.randn(4 * shape[-1])", "F.linear(x, w, b)"),
    Row("einsum", "matrix", "b, n = pick((2, 8), (16, 64), (32, 256)); x = torch.randn(b, n, n)", "torch.einsum('bij,bkj->bik', x, x)"),

    Row("conv2d", "picture", NORMAL + "; w = torch.randn(shape[1], shape[1], 3, 3); b = torch.randn(shape[1])", "F.conv2d(x, w, b, padding=1)"),
    Row("conv2d.stride", "picture", NORMAL + "; w = torch.randn(2 * shape[1], shape[1], 3, 3)", "F.conv2d(x, w, stride=2, padding=1)"),
    Row("conv2d.1x1", "picture", NORMAL + "; w = torch.randn(shape[1], shape[1], 1, 1)", "F.conv2d(x, w)"),
    Row("conv2d.depthwise", "picture", NORMAL + "; w = torch.randn(shape[1], 1, 3, 3)", "F.conv2d(x, w, padding=1, groups=shape[1])"),
    Row("max_pool2d", "picture", NORMAL, "F.max_pool2d(x, 2)"),

    Row("embedding", "index", "w = torch.randn(pick(16, 1000, 30000), pick(8, 64, 256)); i = torch.randint(0, w.shape[0], pick((8,), (16, 64), (64, 256)))", "F.embedding(i, w)"),
    Row("gather", "index", NORMAL + "; i = torch.randint(0, shape[1], shape)", "torch.gather(x, 1, i)"),
    Row("scatter_add", "index", NORMAL + "; i = torch.randint(0, shape[1], shape)", "torch.scatter_add(x, 1, i, x)"),
    Row("index_select", "index", NORMAL + "; i = torch.randint(0, shape[0], (shape[0],))", "torch.index_select(x, 0, i)"),
    Row("index.rows", "index", NORMAL + "; i = torch.randint(0, shape[0], (shape[0],))", "x[i]"),
    Row("index.points", "index", NORMAL + "; i = torch.randint(0, shape[0], shape)", "x[i, i]"),
    Row("index.mask", "index", NORMAL + "; m = x > 0", "x[m]"),
    Row("index_put.rows", "index", NORMAL + "; i = torch.randint(0, shape[0], (shape[0],)); y = torch.randn(shape)", "x[i] = y"),
    Row("index_put.mask", "index", NORMAL + "; m = x > 0", "x[m] = 0.0"),
    Row("setitem.slice", "index", NORMAL, "x[1:-1, 1:-1] = 0.0"),

    *[Row(name, "view", "x = torch.randn(4, 6, 8)", statement, ("small",)) for name, statement in (
        ("view", "x.view(24, 8)"), ("reshape", "x.reshape(4, 48)"), ("transpose", "x.transpose(0, 1)"), ("permute", "x.permute(2, 0, 1)"),
        ("expand", "x.expand(3, 4, 6, 8)"), ("slice", "x[1:3]"), ("select", "x[1]"), ("slice.two", "x[1:3, ::2]"), ("narrow", "x.narrow(1, 2, 3)"),
        ("squeeze", "x.squeeze()"), ("unsqueeze", "x.unsqueeze(1)"), ("flatten", "x.flatten(1)"), ("split", "x.split(2)"), ("chunk", "x.chunk(2, 1)"),
        ("unbind", "x.unbind()"), ("as_strided", "x.as_strided((2, 2), (1, 2))"), ("diagonal", "x.diagonal(0, 0, 1)"), ("unfold", "x.unfold(2, 3, 1)"),
        ("t", "x[0].t()"), ("detach", "x.detach()"))],
    Row("reshape.copy", "shape", "x = torch.randn(shape).t()", "x.reshape(-1)"),
    Row("cat.outer", "shape", "x = torch.randn(shape)", "torch.cat([x, x, x])"),
    Row("cat.inner", "shape", "x = torch.randn(shape)", "torch.cat([x, x, x], -1)"),
    Row("stack", "shape", "x = torch.randn(shape)", "torch.stack([x, x], 1)"),
    Row("permute.copy", "shape", "x = torch.randn(pick((2, 3, 4, 5), (8, 16, 16, 16), (32, 64, 32, 32)))", "x.permute(0, 2, 3, 1).contiguous()"),

    Row("nll_loss", "loss", "x = torch.randn(pick((8, 10), (256, 100), (8192, 1000))).log_softmax(1); y = torch.randint(0, x.shape[1], (x.shape[0],))", "F.nll_loss(x, y)"),
    Row("cross_entropy", "loss", "x = torch.randn(pick((8, 10), (256, 100), (8192, 1000))); y = torch.randint(0, x.shape[1], (x.shape[0],))", "F.cross_entropy(x, y)"),
    Row("mse_loss", "loss", TWO, "F.mse_loss(x, y)"),

    *each("zeros ones empty rand randn", "create", "pass", "torch.NAME(shape)"),
    Row("full", "create", "pass", "torch.full(shape, 1.5)"),
    Row("arange", "create", "n = pick(64, 65536, 4194304)", "torch.arange(n)"),
    Row("linspace", "create", "n = pick(64, 65536, 4194304)", "torch.linspace(0, 1, n)"),
    Row("eye", "create", "n = shape[0]", "torch.eye(n)"),
    *each("tril triu", "create", NORMAL, "torch.NAME(x)"),
    Row("tensor", "create", "l = list(range(pick(8, 256, 65536)))", "torch.tensor(l)"),
    Row("tensor.number", "create", "pass", "torch.tensor(1.5)", ("small",)),
    Row("item", "create", "x = torch.tensor(1.5)", "x.item()", ("small",)),

    Row("randint", "random", "pass", "torch.randint(0, 100, shape)"),
    Row("randperm", "random", "n = pick(64, 65536, 1048576)", "torch.randperm(n)"),
    Row("bernoulli", "random", "x = torch.rand(shape)", "torch.bernoulli(x)"),
    Row("dropout", "random", "x = torch.rand(shape)", "F.dropout(x, 0.1, True)"),
    Row("normal_", "random", NORMAL, "x.normal_(1, 2)"),
    Row("uniform_", "random", NORMAL, "x.uniform_(-1, 1)"),

    *[Row(f"{name}.backward", "backward", setup + "; y = " + statement + "; g = torch.ones_like(y)",
          f"torch.autograd.grad(y, ({inputs},), g, retain_graph=True)") for name, setup, statement, inputs in (
        ("mul", "x = torch.randn(shape, requires_grad=True); z = torch.randn(shape, requires_grad=True)", "x * z", "x, z"),
        ("add.row", "x = torch.randn(shape, requires_grad=True); z = torch.randn(shape[-1], requires_grad=True)", "x + z", "x, z"),
        ("gelu", "x = torch.randn(shape, requires_grad=True)", "F.gelu(x)", "x"),
        ("relu", "x = torch.randn(shape, requires_grad=True)", "torch.relu(x)", "x"),
        ("tanh", "x = torch.randn(shape, requires_grad=True)", "torch.tanh(x)", "x"),
        ("sum", "x = torch.randn(shape, requires_grad=True)", "x.sum(1)", "x"),
        ("softmax", "x = torch.randn(shape, requires_grad=True)", "torch.softmax(x, 1)", "x"),
        ("cross_entropy", "x = torch.randn(pick((8, 10), (256, 100), (8192, 1000)), requires_grad=True); "
                          "t = torch.randint(0, x.shape[1], (x.shape[0],))", "F.cross_entropy(x, t)", "x"),
        ("mm", "n = pick(16, 256, 1024); x = torch.randn(n, n, requires_grad=True); z = torch.randn(n, n, requires_grad=True)", "x @ z", "x, z"),
        ("layer_norm", "s = pick((2, 8, 16), (8, 64, 128), (16, 256, 768)); x = torch.randn(s, requires_grad=True); "
                       "w = torch.ones(s[-1], requires_grad=True); b = torch.zeros(s[-1], requires_grad=True)", "F.layer_norm(x, (s[-1],), w, b)", "x, w, b"),
        ("conv2d", "s = pick((1, 8, 8, 8), (8, 32, 28, 28), (16, 64, 56, 56)); x = torch.randn(s, requires_grad=True); "
                   "w = torch.randn(s[1], s[1], 3, 3, requires_grad=True)", "F.conv2d(x, w, padding=1)", "x, w"),
        ("max_pool2d", "s = pick((1, 8, 8, 8), (8, 32, 28, 28), (16, 64, 56, 56)); x = torch.randn(s, requires_grad=True)", "F.max_pool2d(x, 2)", "x"),
        ("embedding", "w = torch.randn(pick(16, 1000, 30000), pick(8, 64, 256), requires_grad=True); "
                      "i = torch.randint(0, w.shape[0], pick((8,), (16, 64), (64, 256)))", "F.embedding(i, w)", "w"),
    )],
]  # fmt: skip

QUICK = set("exp gelu add add.row add.promote where cast.float32-bfloat16 contiguous sum sum.outer softmax.inner layer_norm mm bmm linear "
            "conv2d max_pool2d embedding index.rows view cat.outer cross_entropy zeros randn mul.backward conv2d.backward".split())  # fmt: skip


def select(ops=None, sizes=None, quick=False):
    """(row, size) pairs, by family and size."""
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
    wanted = [row for row in ROWS if (row.name in QUICK or not quick) and (not ops or re.search(ops, row.name) or row.family == ops)]
    return [(row, size) for size in (sizes or SIZES) for row in wanted if size in row.sizes]


class Timer:
    """One prepared statement at a time, on one module."""

    def __init__(self, torch, clock=time.perf_counter):
        self.torch, self.clock = torch, clock

    def prepare(self, family, setup, statement, size):
        self.loop = self.scope = None
        gc.collect()
        index = SIZES.index(size)
        scope = {
            "torch": self.torch,
            "F": self.torch.nn.functional,
            "pick": lambda *values: values[index],
            "shape": SHAPES.get(family, SHAPES[None])[index],
        }
        self.torch.manual_seed(0)
        exec(setup, scope)
        # Names with underscores: a statement may use any other, among them those of its setup.
        loop = f"def loop(_n, _clock):\n  _start = _clock()\n  for _ in range(_n): {statement}\n  return _clock() - _start"
        exec(loop, scope)
        self.loop, self.scope = scope["loop"], scope
        self.loop(1, self.clock)

    def value(self, expression):
        """What an expression gives in the prepared statement's scope."""
        return eval(expression, self.scope)

    def peak_memory(self):
        """The most bytes that this process has had resident."""
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def kernel_seconds(self):
        """What one statement of Facula's spends in kernels, the least of three times.

        An observer adds up what passes between the begin and the end of outermost kernels. Operators that a kernel
        calls are part of it; the time that observing those takes is not. Some of the observer's own cost stays inside.
        """
        clock, depth, begun, spent, total = self.clock, 0, 0.0, 0.0, 0.0

        def see(event):
            nonlocal depth, begun, spent, total
            now = clock()
            if event.phase == "end":
                depth -= 1
                if depth == 0:
                    total += now - begun - spent
            else:
                depth += 1
                if depth == 1:
                    spent, begun = 0.0, clock()
                    return
            if depth:
                spent += clock() - now

        times = []
        for _ in range(3):
            total = 0.0
            with self.torch.dispatch.observe(see, "kernel"):
                self.loop(1, clock)
            times.append(total)
        return min(times)

    def run(self, n, blocks):
        """Seconds of one statement: n of them in a row, and the best of some such blocks.

        A block is short, so that the best one has seen no other process on its core.
        """
        return min(self.loop(n, self.clock) for _ in range(blocks)) / n

    def calibrate(self, target):
        """How many statements make a block of about target seconds."""
        n = 1
        while True:
            seconds = self.run(n, 2) * n
            if seconds > target / 4:
                return max(1, round(n * target / seconds))
            n *= 4


# Seconds in a block, and blocks in a sample.
EFFORT = {"small": (0.0003, 6), "medium": (0.001, 6), "large": (0.004, 3)}


def work(torch, clock):
    """Obeys commands on standard input, one JSON object a line; benchmarks/reference.py gives them."""
    timer = Timer(torch, clock)
    gc.collect()
    gc.freeze()
    gc.disable()
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        try:
            answer = {"value": getattr(timer, command)(*arguments)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".split("\n")[0]}
        print(json.dumps(answer), flush=True)


def readable(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--module", default="facula", help="facula or torch")
    arguments.add_argument("--ops", help="only operators whose name matches this expression, or of this family")
    arguments.add_argument("--sizes", type=lambda text: text.split(","), help=",".join(SIZES))
    arguments.add_argument("--quick", action="store_true", help="a few operators, short samples")
    arguments.add_argument("--threads", type=int, default=quiet.default_threads())
    arguments.add_argument("--json", help="write the times and the machine's state here")
    arguments.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments.add_argument("--cpu-time", action="store_true", help="time of the processor, for busy machines; needs --threads 1")
    options = arguments.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    quiet.pin(options.threads)
    torch = importlib.import_module(options.module)
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.cpu_time else time.perf_counter
    if options.worker:
        return work(torch, clock)
    timer, times, noise, before = Timer(torch, clock), {}, {}, quiet.snapshot()
    print(f"{options.module} {torch.__version__}, {options.threads} threads, best of several blocks, and by what two such times differ")
    for row, size in select(options.ops, options.sizes, options.quick):
        try:
            timer.prepare(row.family, row.setup, row.statement, size)
            target, blocks = EFFORT[size]
            n = timer.calibrate(target)
            halves = [timer.run(n, blocks if options.quick else 2 * blocks) for _ in range(2)]
            noise[f"{row.name}/{size}"] = max(halves) / min(halves) - 1
            best, text = min(halves), f"{readable(min(halves)):>8s} ±{100 * noise[f'{row.name}/{size}']:4.1f}%"
        except Exception as error:
            best, text = math.nan, f"{type(error).__name__}: {error}".split("\n")[0]
        times[f"{row.name}/{size}"] = best
        print(f"{size:7s} {row.family:9s} {row.name:26s} {text}", flush=True)
    state = quiet.snapshot(before)
    quiet.beware(state)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"times": times, "noise": noise, "machine": state}, file, indent=1)


if __name__ == "__main__":
    main()
