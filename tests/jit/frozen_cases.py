# SPDX-License-Identifier: Apache-2.0
"""Graphs of frozen modules: {pass: {case: (text, constants)}}. Inputs that `constants` names become constants of these values."""

CONV = """graph(%x : Tensor, %w : Tensor, %b : Tensor{more}):
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %zero : int = prim::Constant[value=0]()
  %half : float = prim::Constant[value=0.5]()
  %no : bool = prim::Constant[value=0]()
  %yes : bool = prim::Constant[value=1]()
  %momentum : float = prim::Constant[value=0.1]()
  %eps : float = prim::Constant[value=0.001]()
  %ones : int[] = prim::Constant[value=[1, 1]]()
  %zeros : int[] = prim::Constant[value=[0, 0]]()
  %c : Tensor = {conv}
{rest}
  return (%y)
"""
CONV2D = "aten::conv2d(%x, %w, %b, %ones, %zeros, %ones, %one)"
UNDERLYING = "aten::_convolution(%x, %w, %b, %ones, %zeros, %ones, %no, %zeros, %one, %no, %no, %yes, %yes)"
TRANSPOSED = "aten::conv_transpose2d(%x, %w, %b, %ones, %zeros, %zeros, %one, %ones)"
NORM = "  %y : Tensor = aten::batch_norm(%c, %nw, %nb, %m, %v, %no, %momentum, %eps, %no)"
NORM_MORE = ", %nw : Tensor, %nb : Tensor, %m : Tensor, %v : Tensor"
W, B = "T(3, 2, 1, 1)", "T(3)"
OF_NORM = {"nw": "T(3) + 1", "nb": "T(3) + 2", "m": "T(3) + 0.5", "v": "T(3) + 1"}


def conv(rest, more="", conv=CONV2D, **constants):
    return CONV.format(more=more, conv=conv, rest=rest), {"w": W, "b": B, **constants}


def binary(op, number=None, alpha="%one"):
    last = f", {alpha}" if op in ("add", "sub") else ""
    return f"  %y : Tensor = aten::{op}(%c, {number or '%k'}{last})"


def of_binary(op):
    """With a tensor or number behind a convolution."""

    def case(k, bias=None, alpha="%one", **options):
        return conv(binary(op, alpha=alpha), ", %k : Tensor", k=k, b=bias, **options)

    return {
        "number of a tensor": case("torch.tensor(2.0)"),
        "a channel each": case("T(1, 3, 1, 1) + 1"),
        "with bias": case("T(1, 3, 1, 1) + 1", B),
        "number with bias": case("torch.tensor(2.0)", B),
        "no batch": case("T(3, 1, 1) + 1", B),
        "along width": case("T(1, 3, 1, 3) + 1", B),
        "one of four": case("T(1, 1, 1, 1) + 1", B),
        "of other type": case("torch.tensor(2)", B),
        "of wider type": case("(T(1, 3, 1, 1) + 1).double()", B),
        "float": conv(binary(op, "%half")),
        "int": conv(binary(op, "%two")),
        "twice alpha": case("T(1, 3, 1, 1) + 1", B, alpha="%two"),
        "not a constant": conv(binary(op, "%x")),
        "used twice": conv(binary(op) + "\n  %z : Tensor = aten::mul(%y, %c)".replace("%z", "%y2"), ", %k : Tensor", k="T(1, 3, 1, 1)"),
        "underlying": case("T(1, 3, 1, 1) + 1", B, conv=UNDERLYING),
        "weight not a constant": (CONV.format(more=", %k : Tensor", conv=CONV2D, rest=binary(op)), {"k": "T(1, 3, 1, 1)", "b": B}),
    }


LINEAR = """graph(%x : Tensor, %w : Tensor, %b : Tensor, %nw : Tensor, %nb : Tensor, %m : Tensor, %v : Tensor):
  %no : bool = prim::Constant[value=0]()
  %yes : bool = prim::Constant[value=1]()
  %momentum : float = prim::Constant[value=0.1]()
  %eps : float = prim::Constant[value=0.001]()
  %c : Tensor = aten::linear(%x, %w, %b)
  %y : Tensor = aten::batch_norm(%c, %nw, %nb, %m, %v, {training}, %momentum, %eps, %no)
  return (%y)
"""
LINEAR_OF = {"w": "T(3, 2)", "b": B, **OF_NORM}
TWO_LINEAR = """graph(%x : Tensor, %w1 : Tensor, %b1 : Tensor, %w2 : Tensor, %b2 : Tensor):
  %c : Tensor = aten::linear(%x, %w1, %b1)
  %d : Tensor = aten::linear(%x, %w2, %b2)
  %y : Tensor = aten::mul(%c, %d)
  return (%y)
"""
DROPOUT = """graph(%x : Tensor, %w : Tensor):
  %p : float = prim::Constant[value=0.5]()
  %no : bool = prim::Constant[value=0]()
  %yes : bool = prim::Constant[value=1]()
  %t : Tensor = aten::dropout(%x, %p, %no)
  %u : Tensor = aten::feature_dropout(%t, %p, %no)
  %v : Tensor = aten::dropout_(%u, %p, %no)
  %none : NoneType = prim::Constant()
  %z : Tensor = aten::linear(%v, %w, %none)
  %y : Tensor = aten::dropout(%z, %p, %yes)
  return (%y)
"""

CASES = {
    "_jit_pass_fold_frozen_conv_bn": {
        "all": conv(NORM, NORM_MORE, **OF_NORM),
        "no weights": conv(NORM, NORM_MORE, **{**OF_NORM, "nw": None, "nb": None, "b": None}),
        "no bias": conv(NORM, NORM_MORE, **{**OF_NORM, "b": None}),
        "training": conv(NORM.replace("%no, %momentum", "%yes, %momentum"), NORM_MORE, **OF_NORM),
        "underlying": conv(NORM, NORM_MORE, UNDERLYING, **OF_NORM),
        "transposed": conv(NORM, NORM_MORE, TRANSPOSED, **{**OF_NORM, "w": "T(2, 3, 1, 1)"}),
        "used twice": conv(NORM.replace("%y", "%n") + "\n  %y : Tensor = aten::mul(%n, %c)", NORM_MORE, **OF_NORM),
        "weight not a constant": (CONV.format(more=NORM_MORE, conv=CONV2D, rest=NORM), {"b": B, **OF_NORM}),
        "in a branch": conv(
            "  %y : Tensor = prim::If(%k)\n    block0():\n    " + NORM.replace("%y", "%n") + "\n      -> (%n)\n    block1():\n      -> (%x)",
            NORM_MORE + ", %k : bool", **OF_NORM
        ),
    },
    "_jit_pass_fold_frozen_conv_add_or_sub": {
        **{f"add {k}": v for k, v in of_binary("add").items()},
        **{f"sub {k}": v for k, v in of_binary("sub").items()},
    },
    "_jit_pass_fold_frozen_conv_mul_or_div": {
        **{f"mul {k}": v for k, v in of_binary("mul").items()},
        **{f"div {k}": v for k, v in of_binary("div").items()},
    },
    "_jit_pass_fold_frozen_linear_bn": {
        "all": (LINEAR.format(training="%no"), LINEAR_OF),
        "no bias": (LINEAR.format(training="%no"), {**LINEAR_OF, "b": None}),
        "no weights": (LINEAR.format(training="%no"), {**LINEAR_OF, "nw": None, "nb": None}),
        "one output": (LINEAR.format(training="%no"), {**LINEAR_OF, "w": "T(1, 2)", "b": "T(1)"}),
        "training": (LINEAR.format(training="%yes"), LINEAR_OF),
    },
    "_jit_pass_concat_frozen_linear": {
        "on the CPU": (TWO_LINEAR, {"w1": "T(3, 2)", "b1": B, "w2": "T(3, 2) + 1", "b2": "T(3) + 1"}),
    },
    "_jit_pass_optimize_frozen_graph|True": {
        "norm": conv(NORM, NORM_MORE, **OF_NORM),
        "dropout": (DROPOUT, {"w": "T(3, 2)"}),
        "chain": conv(
            NORM.replace("%y", "%n") + "\n  %s : Tensor = aten::add(%n, %k, %one)\n  %y : Tensor = aten::mul(%s, %k)",
            NORM_MORE + ", %k : Tensor", k="T(1, 3, 1, 1) + 1", **OF_NORM
        ),
        "linear": (LINEAR.format(training="%no"), LINEAR_OF),
    },
    "_jit_pass_optimize_frozen_graph|False": {
        "norm": conv(NORM, NORM_MORE, **OF_NORM),
        "dropout": (DROPOUT, {"w": "T(3, 2)"}),
    },
}  # fmt: skip


def build(torch, text, constants):
    def T(*sizes):  # noqa: N802 (named so in the cases)
        return torch.arange(float(torch.Size(sizes).numel())).reshape(sizes) / 8

    graph = torch._C.parse_ir(text)
    inputs = list(graph.inputs())
    graph.setInsertPoint(next(graph.nodes()))
    for i in reversed(range(len(inputs))):
        name = inputs[i].debugName()
        if name not in constants:
            continue
        value = constants[name]
        made = graph.insertConstant(value if value is None else eval(value, {"T": T, "torch": torch}))
        made.setDebugName("the_" + name)
        inputs[i].replaceAllUsesWith(made)
        graph.eraseInput(i)
    return graph
