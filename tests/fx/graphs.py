# SPDX-License-Identifier: Apache-2.0
"""Programs whose graphs and generated code must read as PyTorch's.

    python tests/fx/graphs.py FILE     # with PyTorch: records them
"""
import json
import math
import operator
import sys


def texts(torch):
    """{name: text}"""
    from_torch = torch.nn
    fx, F = torch.fx, torch.nn.functional
    found = {}

    class Block(from_torch.Module):
        def __init__(self):
            super().__init__()
            self.c = from_torch.Conv2d(3, 4, 3, bias=False)
            self.w = from_torch.Parameter(torch.ones(4))
            self.register_buffer("b", torch.ones(1))

        def forward(self, x, scale: float = 2.0, *, flag=None):
            x = self.c(x)
            x = F.relu(x, inplace=False) * self.w.view(1, -1, 1, 1) + self.b
            a, b = x.chunk(2, 1)
            y = torch.cat([a, b], dim=1).to(torch.float32)
            return {"out": y[:, 0, ..., 1:3].sum((1, 2)), "s": (x.shape[0], -x, x**2, 2**x, x // 1, x @ y, 1 - x, x > y, x.size(0))}

    class Net(from_torch.Module):
        def __init__(self):
            super().__init__()
            self.sub = Block()
            self.seq = from_torch.Sequential(from_torch.Linear(2, 3), from_torch.ReLU())
            self.lst = from_torch.ModuleList([from_torch.Linear(3, 3)])
            self.camelCase = from_torch.Identity()

        def forward(self, x, *args, **kw):
            q = self.sub(x)
            d = self.camelCase(x)
            return (q["out"], self.lst[0](self.seq(d)), getattr(x, "T"), torch.add(x, x, alpha=2), math.pi, torch.zeros((x.shape[0], 3), device=x.device),
                    float("inf"), torch.float32, "st'r", slice(1, 2), range(3))  # fmt: skip

    def annotated(x: torch.Tensor, y: int = 3) -> torch.Tensor:
        z = x + y
        z += 1
        return math.sqrt(z) + operator.neg(abs(x)) + x.foo.bar(1)

    for name, root in (("block", Block()), ("net", Net()), ("annotated", annotated), ("sequential", from_torch.Sequential(from_torch.Linear(1, 1), from_torch.ReLU()))):
        traced = fx.symbolic_trace(root)
        found[f"{name}.code"], found[f"{name}.graph"] = traced.code, str(traced.graph)
    found["block.str"] = str(fx.symbolic_trace(Block()))
    found["concrete"] = fx.symbolic_trace(annotated, concrete_args={"y": 5}).code

    g = fx.Graph()
    x = g.placeholder("x")
    a = g.call_function(torch.sigmoid, (x,))
    unused = g.call_method("exp", (a,))
    with g.inserting_before(a):
        c = g.call_function(torch.tanh, (x,), {"out": None})
    a.replace_input_with(x, c)
    g.output([a, c])
    g.lint()
    found["made"] = str(g)
    g.eliminate_dead_code()
    found["without dead code"] = str(g) + str(unused.users)

    for name, f in {
        "if": lambda x: x if x.sum() > 0 else -x, "for": lambda x: [y for y in x], "len": lambda x: len(x), "range": lambda x: range(x), "bool": lambda x: bool(x),
    }.items():  # fmt: skip
        try:
            found[name] = fx.symbolic_trace(f).code
        except Exception as e:
            found[name] = f"{type(e).__name__}: {e}"
    return found


if __name__ == "__main__":
    import torch
    import torch.fx

    with open(sys.argv[1], "w") as f:
        json.dump(texts(torch), f, indent=0)
