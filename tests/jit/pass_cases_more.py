# SPDX-License-Identifier: Apache-2.0
"""More graphs for passes: those that look at shapes, merge nodes into subgraphs, or rewrite patterns. As pass_cases.py."""

from pass_cases import body, branch, shaped

FLOAT = "Float({}, strides=[{}], requires_grad=0, device=cpu)"


def typed(inputs, *lines, result="%r"):
    """A graph of inputs with types of their own, and the constants that every graph here has."""
    return body(*lines, result=result).replace(body()[: body().index("\n") + 1], f"graph({inputs}):\n", 1)


def same(n):
    return [f"%p{i} : Tensor = aten::mm(%x, %y)" for i in range(n)]


TREE = [
    *(f"%p{i} : Tensor = aten::mm(%x, %y)" for i in range(4)),
    "%s0 : Tensor = aten::add(%p0, %p1, %one)",
    "%s1 : Tensor = aten::add(%p2, %p3, %one)",
    "%r : Tensor = aten::add(%s0, %s1, %one)",
]
DTYPES = "%x : Float(2, 3, device=cpu), %y : Double(2, 3, device=cpu), %l : Long(2, 3, device=cpu), %s : Double(device=cpu), %f : float, %n : int"
GRAD = "%x : Float(2, 3, strides=[3, 1], requires_grad=1, device=cpu), %y : Float(2, 3, strides=[3, 1], requires_grad=1, device=cpu), %b : bool"
WHERE = "%x : Float(2, 3, device=cpu), %y : Float(2, 3, device=cuda:0), %s : Float(device=cpu), %f : float"
SIZES = "%x : Float(2, 3), %y : Float(3, 4), %u : Tensor, %z : Float(2, *), %n : int, %i : Float(1, 3, 8, 8), %w : Float(4, 3, 3, 3)"
# prim::If that says nothing about a value beside `n == 1` and what follows from it
INT_IF = (
    "%c : bool = aten::{test}(%n, {with_})",
    "%r : int = prim::If(%c)",
    "  block0():",
    "    %a : int = aten::add(%n, %two)",
    "    -> (%a)",
    "  block1():",
    "    %d : int = aten::mul(%n, %two)",
    "    -> (%d)",
)
LIST_IF = (
    "%c : int = aten::len(%l)",
    "%k : bool = aten::{test}(%c, %two)",
    "%r : int = prim::If(%k)",
    "  block0():",
    "    %e : int = aten::len(%l)",
    "    -> (%e)",
    "  block1():",
    "    %g : int = aten::len(%l)",
    "    -> (%g)",
)


def lines(rows, **names):
    return [row.format(**names) for row in rows]


def chain(*kinds, start="%x", names="c", last=None):
    """One operator after the other: %c0, %c1 …; the last as `last` says."""
    made = [f"%{names}{i}" for i in range(len(kinds))]
    made[-1] = last or made[-1]
    return [f"{out} : Tensor = aten::{kind}({before})" for out, kind, before in zip(made, kinds, [start, *made], strict=False)]


MM = "%x : Float(2, 3, strides=[3, 1], device=cpu), %y : Float(3, 2, strides=[2, 1], device=cpu), %z : Float(3, 2, strides=[2, 1], device=cpu)"
CASES = {
    "_jit_pass_batch_mm": {
        "tree": body(*TREE),
        "small_tree": body("%p0 : Tensor = aten::mm(%x, %y)", "%p1 : Tensor = aten::mm(%y, %x)", "%r : Tensor = aten::add(%p0, %p1, %one)"),
        "tree_typed": typed("%x : Float(2, 3, device=cpu), %y : Float(3, 2, device=cpu)", *TREE),
        "side_lhs": typed(
            "%x : Float(2, 3, device=cpu), %y : Float(3, 2, device=cpu), %z : Float(3, 2, device=cpu)",
            "%a : Float(2, 2) = aten::mm(%x, %y)",
            "%c : Float(2, 2) = aten::mm(%x, %z)",
            "%d : Float(2, 2) = aten::mm(%x, %y)",
            "%e : Float(2, 2) = aten::mm(%x, %z)",
            result="%a, %c, %d, %e",
        ),
        "side_rhs": typed(
            "%x : Float(3, 2, device=cpu), %y : Float(2, 3, device=cpu), %z : Float(2, 3, device=cpu)",
            "%a : Float(2, 2) = aten::mm(%y, %x)",
            "%c : Float(2, 2) = aten::mm(%z, %x)",
            "%d : Float(2, 2) = aten::mm(%y, %x)",
            result="%a, %c, %d",
        ),
        "eight_left": typed(MM, *(f"%m{i} : Tensor = aten::mm(%x, %{'yz'[i % 2]})" for i in range(8)), result=", ".join(f"%m{i}" for i in range(8))),
        "nine_right": typed(MM, *(f"%m{i} : Tensor = aten::mm(%{'xw'[i % 2]}, %y)" for i in range(9)), result=", ".join(f"%m{i}" for i in range(9))).replace("graph(", "graph(%w : Tensor, ", 1),
        "dependent": typed(MM, "%m0 : Tensor = aten::mm(%y, %x)", *(f"%m{i + 1} : Tensor = aten::mm(%y, %m{i})" for i in range(8)), result="%m8"),
        "two_is_few": typed("%x : Float(2, 3, device=cpu), %y : Float(3, 2, device=cpu)", "%a : Float(2, 2) = aten::mm(%x, %y)", "%c : Float(2, 2) = aten::mm(%x, %y)", result="%a, %c"),
        "mutated": body(*TREE[:-1], "%m_ : Tensor = aten::relu_(%x)", TREE[-1]),
        "odd_tree": body(
            *(f"%p{i} : Tensor = aten::mm(%x, %y)" for i in range(5)),
            "%s0 : Tensor = aten::add(%p0, %p1, %one)",
            "%s1 : Tensor = aten::add(%s0, %p2, %one)",
            "%s2 : Tensor = aten::add(%s1, %p3, %one)",
            "%r : Tensor = aten::add(%s2, %p4, %one)",
        ),
        "t_tree": body(
            "%t : Tensor = aten::t(%y)",
            "%p0 : Tensor = aten::mm(%x, %t)",
            "%p1 : Tensor = aten::mm(%y, %t)",
            "%p2 : Tensor = aten::mm(%z, %t)",
            "%p3 : Tensor = aten::mm(%x, %t)",
            "%s0 : Tensor = aten::add(%p0, %p1, %one)",
            "%s1 : Tensor = aten::add(%p2, %p3, %one)",
            "%r : Tensor = aten::add(%s0, %s1, %one)",
        ),
    },
    "_jit_pass_create_functional_graphs": {
        "plain": body("%p : Tensor = aten::tanh(%x)", "%q : Tensor = aten::relu(%p)", "%s : Tensor = aten::mul(%q, %y)", "%r : Tensor = aten::neg(%s)"),
        "mutation": body("%p : Tensor = aten::tanh(%x)", "%q : Tensor = aten::relu_(%x)", "%s : Tensor = aten::mul(%y, %z)", "%r : Tensor = aten::neg(%s)", result="%p, %r"),
        "inside": branch("%u", "%x", inside=("%a : Tensor = aten::tanh(%y)", "%k : Tensor = aten::exp(%a)", "%d : Tensor = aten::neg(%k)", "%u : Tensor = aten::relu(%d)")),
        "random": body("%p : Tensor = aten::rand_like(%x, %none, %none, %none, %none, %none)", "%q : Tensor = aten::relu(%p)", "%s : Tensor = aten::mul(%q, %y)", "%r : Tensor = aten::neg(%s)"),
        "one": body("%r : Tensor = aten::tanh(%x)"),
        "six": body(*chain("neg", "exp", "relu", "sigmoid", "tanh", "sin", "cos", "abs", last="%r")),
        "two_groups": body(*chain("neg", "exp", "relu", "sigmoid", "tanh", "sin"), "prim::Print(%c5)", *chain("abs", "exp", "relu", "sin", "cos", "neg", "tanh", start="%c5", names="e", last="%r")),
        "diamond": body("%a : Tensor = aten::neg(%x)", "%c : Tensor = aten::exp(%a)", "%d : Tensor = aten::sin(%a)", "%e : Tensor = aten::mul(%c, %d)", "%g : Tensor = aten::add(%e, %y, %two)", "%h : Tensor = aten::cos(%g)", "%i : Tensor = aten::relu(%h)", "%r : Tensor = aten::tanh(%i)"),
        "print": body("%p : Tensor = aten::tanh(%x)", "prim::Print(%p)", "%q : Tensor = aten::exp(%p)", "%s : Tensor = aten::neg(%q)", "%r : Tensor = aten::relu(%s)"),
    },
    "_jit_pass_create_autodiff_subgraphs": {
        "plain": typed(GRAD, "%p : Tensor = aten::mul(%x, %y)", "%q : Tensor = aten::tanh(%p)", "%r : Tensor = aten::add(%q, %y, %one)"),
        "two": typed(
            GRAD,
            "%p : Tensor = aten::mul(%x, %y)",
            "%q : Tensor = aten::tanh(%p)",
            "prim::Print(%q)",
            "%s : Tensor = aten::sigmoid(%q)",
            "%t : Tensor = aten::mul(%s, %y)",
            "%r : Tensor = aten::relu(%t)",
        ),
        "one": typed(GRAD, "%r : Tensor = aten::tanh(%x)"),
        "no_gradient": body("%p : Tensor = aten::mul(%x, %y)", "%q : Tensor = aten::tanh(%p)", "%r : Tensor = aten::add(%q, %y, %one)"),
        "not_differentiable": typed(GRAD, "%p : Tensor = aten::mul(%x, %y)", "%q : Tensor = aten::digamma(%p)", "%s : Tensor = aten::mul(%q, %y)", "%r : Tensor = aten::tanh(%s)"),
        "branch": typed(
            GRAD,
            "%r : Tensor = prim::If(%b)",
            "  block0():",
            "    %p : Tensor = aten::mul(%x, %y)",
            "    %q : Tensor = aten::tanh(%p)",
            "    -> (%q)",
            "  block1():",
            "    -> (%y)",
        ),
        "views": typed(GRAD, "%p : Tensor = aten::t(%x)", "%q : Tensor = aten::t(%y)", "%s : Tensor = aten::mul(%p, %q)", "%r : Tensor = aten::t(%s)"),
    },
    "_jit_pass_integer_value_refinement": {
        "equal": body(*lines(INT_IF, test="eq", with_="%one")),
        "different": body(*lines(INT_IF, test="ne", with_="%one")),
        "less": body(*lines(INT_IF, test="lt", with_="%one")),
        "other": body(*lines(INT_IF, test="eq", with_="%m")),
        "and": body(
            "%c : bool = aten::eq(%n, %one)",
            "%d : bool = prim::If(%c)",
            "  block0():",
            "    %e : bool = aten::eq(%m, %two)",
            "    -> (%e)",
            "  block1():",
            "    -> (%false)",
            "%r : int = prim::If(%d)",
            "  block0():",
            "    %k : int = aten::add(%n, %m)",
            "    -> (%k)",
            "  block1():",
            "    %l : int = aten::mul(%n, %m)",
            "    -> (%l)",
        ),
        "raises": body(
            "%text : str = prim::Constant[value=\"no\"]()",
            "%c : bool = aten::ne(%n, %two)",
            "prim::If(%c)",
            "  block0():",
            "    prim::RaiseException(%text, %none)",
            "    -> ()",
            "  block1():",
            "    -> ()",
            "%r : int = aten::add(%n, %one)",
        ),
        "both_values": body(
            "%c : bool = aten::eq(%n, %one)",
            "%r : int = prim::If(%c)",
            "  block0():",
            "    -> (%n)",
            "  block1():",
            "    -> (%one)",
        ),
    },
    "_jit_pass_refine_integer_values": {
        "equal": body(*lines(INT_IF, test="eq", with_="%one")),
        "dim": shaped("%d : int = aten::dim(%x)", "%c : bool = aten::eq(%d, %two)", "%r : int = prim::If(%c)", "  block0():", "    -> (%d)", "  block1():", "    -> (%one)"),
    },
    "_jit_pass_propagate_dtype": {
        "tanh": typed(DTYPES, "%r : Tensor = aten::tanh(%x)"),
        "tanh_of_ints": typed(DTYPES, "%r : Tensor = aten::tanh(%l)"),
        "add_mixed": typed(DTYPES, "%r : Tensor = aten::add(%x, %l, %one)"),
        "add_double": typed(DTYPES, "%r : Tensor = aten::add(%x, %y, %one)"),
        "add_zero_dim": typed(DTYPES, "%r : Tensor = aten::add(%x, %s, %one)"),
        "add_number": typed(DTYPES, "%r : Tensor = aten::add(%l, %f, %one)"),
        "add_int": typed(DTYPES, "%r : Tensor = aten::add(%x, %n, %one)"),
        "compare": typed(DTYPES, "%r : Tensor = aten::lt(%x, %y)"),
        "chain": typed(DTYPES, "%p : Tensor = aten::mul(%x, %x)", "%q : Tensor = aten::relu(%p)", "%r : Tensor = aten::matmul(%q, %q)"),
        "branch": branch("%u", "%x", inside=("%u : Tensor = aten::tanh(%x)",)),
        "sum": typed(DTYPES, "%r : Tensor = aten::sum(%l, %none)"),
        "to": typed(DTYPES, "%k : int = prim::Constant[value=7]()", "%r : Tensor = aten::to(%x, %k, %false, %false, %none)"),
        "div": typed(DTYPES, "%r : Tensor = aten::div(%l, %l)"),
        "unknown": body("%r : Tensor = aten::tanh(%x)"),
        "in_place": typed(DTYPES, "%r : Tensor = aten::add_(%x, %y, %one)"),
        "argmax": typed(DTYPES, "%r : Tensor = aten::argmax(%x, %none, %false)"),
        "zeros": typed(DTYPES, "%k : int[] = prim::ListConstruct(%two)", "%r : Tensor = aten::zeros(%k, %none, %none, %none, %none)"),
    },
    "_jit_pass_propagate_device": {
        "tanh": typed(WHERE, "%r : Tensor = aten::tanh(%x)"),
        "add_scalar_tensor": typed(WHERE, "%r : Tensor = aten::add(%y, %s, %one)"),
        "add_scalar_first": typed(WHERE, "%r : Tensor = aten::add(%s, %y, %one)"),
        "mixed": typed(WHERE, "%r : Tensor = aten::add(%x, %y, %one)"),
        "to_device": typed(WHERE, '%d : Device = prim::Constant[value="cuda:0"]()', "%k : int = prim::Constant[value=6]()", "%r : Tensor = aten::to(%x, %d, %k, %false, %false, %none)"),
        "cpu": typed(WHERE, "%r : Tensor = aten::cpu(%y)"),
        "cuda": typed(WHERE, "%r : Tensor = aten::cuda(%x)"),
        "chain": typed(WHERE, "%p : Tensor = aten::relu(%y)", "%r : Tensor = aten::mul(%p, %p)"),
        "branch": typed(WHERE + ", %b : bool", "%r : Tensor = prim::If(%b)", "  block0():", "    %u : Tensor = aten::tanh(%x)", "    -> (%u)", "  block1():", "    -> (%x)"),
        "branch_mixed": typed(WHERE + ", %b : bool", "%r : Tensor = prim::If(%b)", "  block0():", "    -> (%y)", "  block1():", "    -> (%x)"),
        "loop": typed(WHERE + ", %n : int", "%r : Tensor = prim::Loop(%n, %true, %x)", "  block0(%i : int, %c : Tensor):", "    %d : Tensor = aten::tanh(%c)", "    -> (%true, %d)"),
        "matmul": typed(WHERE, "%r : Tensor = aten::matmul(%x, %x)"),
        "in_place": typed(WHERE, "%r : Tensor = aten::add_(%x, %s, %one)"),
        "list": typed(WHERE, "%l : Tensor[] = prim::ListConstruct(%x, %x)", "%r : Tensor = aten::cat(%l, %zero)"),
        "unknown": body("%r : Tensor = aten::tanh(%x)"),
    },
    "_jit_pass_propagate_shapes_on_graph": {
        "tanh": typed(SIZES, "%r : Tensor = aten::tanh(%x)"),
        "mm": typed(SIZES, "%r : Tensor = aten::mm(%x, %y)"),
        "matmul": typed(SIZES, "%r : Tensor = aten::matmul(%x, %y)"),
        "add": typed(SIZES, "%r : Tensor = aten::add(%x, %x, %one)"),
        "unknown": typed(SIZES, "%r : Tensor = aten::add(%u, %x, %one)"),
        "view": typed(SIZES, "%three : int = prim::Constant[value=3]()", "%l : int[] = prim::ListConstruct(%three, %two)", "%r : Tensor = aten::view(%x, %l)"),
        "size": typed(SIZES, "%l : int[] = aten::size(%x)", "%k : int = aten::__getitem__(%l, %one)", "%m : int[] = prim::ListConstruct(%k, %two)", "%r : Tensor = aten::view(%x, %m)"),
        "sum": typed(SIZES, "%l : int[] = prim::ListConstruct(%one)", "%r : Tensor = aten::sum(%x, %l, %true, %none)"),
        "conv": typed(SIZES, "%l : int[] = prim::ListConstruct(%one, %one)", "%r : Tensor = aten::conv2d(%i, %w, %none, %l, %l, %l, %one)"),
        "unsqueeze": typed(SIZES, "%r : Tensor = aten::unsqueeze(%x, %zero)"),
        "transpose": typed(SIZES, "%p : Tensor = aten::t(%x)", "%r : Tensor = aten::transpose(%p, %zero, %one)"),
        "cat": typed(SIZES, "%l : Tensor[] = prim::ListConstruct(%x, %x)", "%r : Tensor = aten::cat(%l, %zero)"),
        "branch": typed(SIZES + ", %b : bool", "%r : Tensor = prim::If(%b)", "  block0():", "    %v : Tensor = aten::relu(%x)", "    -> (%v)", "  block1():", "    -> (%x)"),
    },
    "_jit_pass_remove_inplace_ops": {
        "add": body("%p : Tensor = aten::mul(%x, %y)", "%r : Tensor = aten::add_(%p, %z, %one)"),
        "relu": body("%p : Tensor = aten::relu_(%x)", "%r : Tensor = aten::mul(%p, %x)"),
        "inside": branch("%u", "%x", inside=("%a : Tensor = aten::tanh(%y)", "%u : Tensor = aten::mul_(%a, %z)")),
        "several": body("%p : Tensor = aten::neg(%x)", "%q : Tensor = aten::sub_(%p, %y, %one)", "%s : Tensor = aten::div_(%p, %y)", "%t : Tensor = aten::zero_(%p)", "%r : Tensor = aten::fill_(%p, %n)"),
    },
    "_jit_pass_fuse_addmm": {
        "pair": body("%p : Tensor = aten::mm(%x, %y)", "%r : Tensor = aten::add(%p, %z, %one)"),
        "typed": typed("%x : Float(2, 3, device=cpu), %y : Float(3, 4, device=cpu), %z : Float(4, device=cpu)", "%p : Float(2, 4) = aten::mm(%x, %y)", "%r : Float(2, 4) = aten::add(%z, %p, %one)"),
        "alpha": body("%p : Tensor = aten::mm(%x, %y)", "%r : Tensor = aten::add(%p, %z, %two)"),
        "shared": body("%p : Tensor = aten::mm(%x, %y)", "%q : Tensor = aten::add(%p, %z, %one)", "%r : Tensor = aten::mul(%p, %q)"),
        "typed_sum_right": typed("%x : Float(2, 3, device=cpu), %y : Float(3, 4, device=cpu), %z : Float(4, device=cpu)", "%p : Float(2, 4) = aten::mm(%x, %y)", "%r : Float(2, 4) = aten::add(%p, %z, %one)"),
    },
    "_jit_pass_fuse_linear": {
        "addmm": body("%t : Tensor = aten::t(%y)", "%r : Tensor = aten::addmm(%z, %x, %t, %one, %one)"),
        "matmul_add": body("%t : Tensor = aten::t(%y)", "%p : Tensor = aten::matmul(%x, %t)", "%r : Tensor = aten::add_(%p, %z, %one)"),
        "matmul": body("%t : Tensor = aten::t(%y)", "%r : Tensor = aten::matmul(%x, %t)"),
        "addmm_scaled": body("%t : Tensor = aten::t(%y)", "%r : Tensor = aten::addmm(%z, %x, %t, %two, %one)"),
    },
    "_jit_pass_fuse_add_relu": {
        "pair": body("%p : Tensor = aten::add(%x, %y, %one)", "%r : Tensor = aten::relu(%p)"),
        "in_place": body("%p : Tensor = aten::add_(%x, %y, %one)", "%r : Tensor = aten::relu_(%p)"),
        "mixed": body("%p : Tensor = aten::add(%x, %y, %one)", "%r : Tensor = aten::relu_(%p)"),
        "shared": body("%p : Tensor = aten::add(%x, %y, %one)", "%q : Tensor = aten::relu(%p)", "%r : Tensor = aten::mul(%p, %q)"),
    },
    "_jit_pass_peephole_list_idioms|refine_list_len": {
        "equal": typed("%l : int[]", *lines(LIST_IF, test="eq")),
        "different": typed("%l : int[]", *lines(LIST_IF, test="ne")),
        "less": typed("%l : int[]", *lines(LIST_IF, test="lt")),
        "changed": typed("%l : int[]", "%q : int[] = aten::append(%l, %one)", *lines(LIST_IF, test="eq")),
        "raises": typed(
            "%l : int[]",
            '%text : str = prim::Constant[value="no"]()',
            "%c : int = aten::len(%l)",
            "%k : bool = aten::ne(%c, %two)",
            "prim::If(%k)",
            "  block0():",
            "    prim::RaiseException(%text, %none)",
            "    -> ()",
            "  block1():",
            "    -> ()",
            "%r : int = aten::len(%l)",
        ),
        "item": typed("%l : int[]", "%c : int = aten::len(%l)", "%k : bool = aten::eq(%c, %two)", "%r : int = prim::If(%k)", "  block0():", "    %i : int = prim::Constant[value=-1]()", "    %e : int = aten::__getitem__(%l, %i)", "    -> (%e)", "  block1():", "    -> (%one)"),
        "sliced": typed("%l : int[]", "%c : int = aten::len(%l)", "%k : bool = aten::eq(%c, %two)", "%r : int[] = prim::If(%k)", "  block0():", "    %e : int[] = aten::slice(%l, %one, %two, %one)", "    -> (%e)", "  block1():", "    -> (%l)"),
    },
}
