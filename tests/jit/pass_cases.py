# SPDX-License-Identifier: Apache-2.0
"""Graphs for passes, our own: CASES maps the pass's name under torch._C to graphs, each a name and a text.

A text is the body of a graph; `x`, `y`, `z` are tensors, `n`, `m` ints, `b` a bool, `f` a float, `o` an optional tensor, unless a
head of its own is given. Used by record_passes.py (PyTorch) and test_passes.py (Facula).
"""

HEAD = (
    "graph(%x : Tensor, %y : Tensor, %z : Tensor, %n : int, %m : int, %b : bool, %f : float, %o : Tensor?):\n"
)
K = """  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %none : NoneType = prim::Constant()
"""


def body(*lines, result="%r"):
    return HEAD + K + "".join(f"  {line}\n" for line in lines) + f"  return ({result})\n"


ADD = "%r : Tensor = aten::add(%p, %q, %one)"
TWICE = ("%p : Tensor = aten::tanh(%x)", "%q : Tensor = aten::tanh(%x)")
LOOP = (
    "%r : Tensor = prim::Loop({count}, %true, %x)",
    "  block0(%i : int, %c : Tensor):",
    "    %d : Tensor = aten::{op}",
    "    -> (%true, %d)",
)


def branch(yes, no, kind="Tensor", cond="%b", before=(), inside=()):
    return body(
        *before,
        f"%r : {kind} = prim::If({cond})",
        "  block0():",
        *(f"    {i}" for i in inside),
        f"    -> ({yes})",
        "  block1():",
        f"    -> ({no})",
    )


def loop(count, op, cond="%true", again="%true"):
    return body(
        f"%r : Tensor = prim::Loop({count}, {cond}, %x)",
        "  block0(%i : int, %c : Tensor):",
        f"    %d : Tensor = {op}",
        f"    -> ({again}, %d)",
    )


SHAPED = "graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu), %y : Double(2, 3, device=cpu), %z : Float(*, 3), %n : int, %m : int):\n"


def shaped(*lines, result="%r"):
    return SHAPED + K + "".join(f"  {line}\n" for line in lines) + f"  return ({result})\n"


DCE = {
    "unused": body("%u : Tensor = aten::neg(%x)", "%r : Tensor = aten::relu(%x)"),
    "chain": body(
        "%u : Tensor = aten::neg(%x)", "%v : Tensor = aten::neg(%u)", "%r : Tensor = aten::relu(%x)"
    ),
    "written_view": body(
        "%v : Tensor = aten::select(%x, %zero, %zero)",
        "%w : Tensor = aten::add_(%v, %one, %one)",
        result="%x",
    ),
    "written_fresh": body(
        "%v : Tensor = aten::relu(%x)", "%w : Tensor = aten::add_(%v, %one, %one)", result="%x"
    ),
    "written_then_read": body(
        "%v : Tensor = aten::relu(%x)",
        "%w : Tensor = aten::add_(%v, %one, %one)",
        "%r : Tensor = aten::neg(%v)",
    ),
    "print": body("%u : Tensor = aten::neg(%x)", "prim::Print(%u)", result="%x"),
    "raise": body('%s : str = prim::Constant[value="no"]()', "prim::RaiseException(%s, %none)", result="%x"),
    "if_output": body(
        "%p : Tensor, %q : Tensor = prim::If(%b)",
        "  block0():",
        "    %s : Tensor = aten::neg(%x)",
        "    %t : Tensor = aten::relu(%x)",
        "    -> (%s, %t)",
        "  block1():",
        "    -> (%x, %y)",
        result="%p",
    ),
    "if_unused": body(
        "%p : Tensor = prim::If(%b)", "  block0():", "    -> (%x)", "  block1():", "    -> (%y)", result="%x"
    ),
    "if_print": body(
        "%p : Tensor = prim::If(%b)",
        "  block0():",
        "    prim::Print(%x)",
        "    -> (%x)",
        "  block1():",
        "    -> (%y)",
        result="%x",
    ),
    "loop_unused": body(
        "%p : Tensor = prim::Loop(%n, %true, %x)",
        "  block0(%i : int, %c : Tensor):",
        "    %d : Tensor = aten::neg(%c)",
        "    -> (%true, %d)",
        result="%x",
    ),
    "loop_carried": body(
        "%p : Tensor, %q : Tensor = prim::Loop(%n, %true, %x, %y)",
        "  block0(%i : int, %c : Tensor, %e : Tensor):",
        "    %d : Tensor = aten::neg(%c)",
        "    -> (%true, %d, %z)",
        result="%p",
    ),
    "loop_kept": body(
        "%p : Tensor, %q : Tensor = prim::Loop(%n, %true, %x, %y)",
        "  block0(%i : int, %c : Tensor, %e : Tensor):",
        "    %d : Tensor = aten::add(%c, %e, %one)",
        "    %g : Tensor = aten::neg(%e)",
        "    -> (%true, %d, %g)",
        result="%p",
    ),
    "dead_loop_reads": body(
        "%u : Tensor = aten::neg(%x)",
        "%p : Tensor = prim::Loop(%n, %true, %u)",
        "  block0(%i : int, %c : Tensor):",
        "    %d : Tensor = aten::add(%c, %u, %one)",
        "    -> (%true, %d)",
        result="%x",
    ),
    "append": body(
        "%l : Tensor[] = prim::ListConstruct(%x)", "%k : Tensor[] = aten::append(%l, %y)", result="%l"
    ),
    "append_dead": body(
        "%l : Tensor[] = prim::ListConstruct(%x)", "%k : Tensor[] = aten::append(%l, %y)", result="%x"
    ),
    "constants": body("%u : int = aten::add(%one, %two)", result="%n"),
    "nested": body(
        "%p : Tensor = prim::If(%b)",
        "  block0():",
        "    %s : Tensor = prim::If(%b)",
        "      block0():",
        "        %t : Tensor = aten::neg(%x)",
        "        %w : Tensor = aten::relu(%t)",
        "        -> (%t)",
        "      block1():",
        "        -> (%y)",
        "    -> (%s)",
        "  block1():",
        "    -> (%y)",
        result="%p",
    ),
    "random": body("%u : Tensor = aten::dropout(%x, %f, %true)", result="%x"),
}
CSE = {
    "twice": body(*TWICE, ADD),
    "order_matters": body(
        "%p : Tensor = aten::sub(%x, %y, %one)", "%q : Tensor = aten::sub(%y, %x, %one)", ADD
    ),
    "constants": body(
        "%k : int = prim::Constant[value=1]()",
        "%p : int = aten::add(%n, %one)",
        "%q : int = aten::add(%n, %k)",
        "%r : int = aten::mul(%p, %q)",
    ),
    "around": body(
        "%p : Tensor = aten::tanh(%x)",
        "%r : Tensor = prim::If(%b)",
        "  block0():",
        "    %q : Tensor = aten::tanh(%x)",
        "    -> (%q)",
        "  block1():",
        "    -> (%p)",
    ),
    "siblings": body(
        "%r : Tensor = prim::If(%b)",
        "  block0():",
        "    %p : Tensor = aten::tanh(%x)",
        "    -> (%p)",
        "  block1():",
        "    %q : Tensor = aten::tanh(%x)",
        "    -> (%q)",
    ),
    "written": body(
        "%p : Tensor = aten::tanh(%x)",
        "%w : Tensor = aten::add_(%x, %y, %one)",
        "%q : Tensor = aten::tanh(%x)",
        ADD,
    ),
    "random": body(
        "%p : Tensor = aten::rand_like(%x, %none, %none, %none, %none, %none)",
        "%q : Tensor = aten::rand_like(%x, %none, %none, %none, %none, %none)",
        ADD,
    ),
    "both_returned": body(*TWICE, result="%p, %q"),
    "views": body(
        "%p : Tensor = aten::select(%x, %zero, %zero)", "%q : Tensor = aten::select(%x, %zero, %zero)", ADD
    ),
    "chain": body(
        *TWICE,
        "%s : Tensor = aten::neg(%p)",
        "%t : Tensor = aten::neg(%q)",
        "%r : Tensor = aten::add(%s, %t, %one)",
    ),
    "loop": body(
        "%p : Tensor = aten::tanh(%x)",
        "%r : Tensor = prim::Loop(%n, %true, %x)",
        "  block0(%i : int, %c : Tensor):",
        "    %q : Tensor = aten::tanh(%x)",
        "    %d : Tensor = aten::add(%c, %q, %one)",
        "    -> (%true, %d)",
    ),
    "print": body("prim::Print(%x)", "prim::Print(%x)", result="%x"),
    "lists": body(
        "%l : int[] = prim::ListConstruct(%n, %m)",
        "%k : int[] = prim::ListConstruct(%n, %m)",
        "%p : Tensor = aten::reshape(%x, %l)",
        "%q : Tensor = aten::reshape(%x, %k)",
        ADD,
    ),
    "types": body("%p : Float(2) = aten::tanh(%x)", "%q : Tensor = aten::tanh(%x)", ADD),
}
POOL = {
    "same": body(
        "%k : int = prim::Constant[value=1]()",
        "%p : int = aten::add(%n, %one)",
        "%r : int = aten::add(%p, %k)",
    ),
    "order": "graph(%n : int):\n  %a : int = prim::Constant[value=1]()\n  %p : int = aten::add(%n, %a)\n  %c : int = prim::Constant[value=2]()\n  %q : int = aten::add(%p, %c)\n  %d : float = prim::Constant[value=2.]()\n  return (%q, %d)\n",
    "blocks": "graph(%x : Tensor, %b : bool):\n  %r : Tensor = prim::If(%b)\n    block0():\n      %k : int = prim::Constant[value=1]()\n      %u : Tensor = aten::add(%x, %x, %k)\n      -> (%u)\n    block1():\n      %j : int = prim::Constant[value=1]()\n      %v : Tensor = aten::sub(%x, %x, %j)\n      -> (%v)\n  return (%r)\n",
    "kinds": body(
        "%k : float = prim::Constant[value=1.]()",
        '%s : str = prim::Constant[value="a"]()',
        '%t : str = prim::Constant[value="a"]()',
        "%j : float = prim::Constant[value=1.]()",
        result="%k, %s, %t, %j",
    ),
    "none": body("%p : NoneType = prim::Constant()", "%q : int? = prim::Constant()", result="%p, %q, %none"),
    "zeros": body(
        "%p : float = prim::Constant[value=0.]()", "%q : float = prim::Constant[value=-0.]()", result="%p, %q"
    ),
    "loop": body(
        "%r : int = prim::Loop(%n, %true, %m)",
        "  block0(%i : int, %c : int):",
        "    %k : int = prim::Constant[value=7]()",
        "    %d : int = aten::add(%c, %k)",
        "    -> (%true, %d)",
    ),
}
PROP = {
    "int": body("%a : int = aten::mul(%two, %two)", "%r : int = aten::add(%n, %a)"),
    "chain": body(
        "%a : int = aten::add(%one, %two)",
        "%c : int = aten::mul(%a, %a)",
        "%d : int = aten::sub(%c, %one)",
        "%r : int = aten::add(%n, %d)",
    ),
    "compare": body(
        "%c : bool = aten::lt(%one, %two)",
        "%r : int = prim::If(%c)",
        "  block0():",
        "    -> (%n)",
        "  block1():",
        "    -> (%m)",
    ),
    "if_true": branch("%x", "%y", cond="%true"),
    "if_false": branch("%x", "%y", cond="%false"),
    "if_body": body(
        "%r : Tensor = prim::If(%true)",
        "  block0():",
        "    %s : Tensor = aten::neg(%x)",
        "    %t : Tensor = aten::relu(%s)",
        "    -> (%t)",
        "  block1():",
        "    -> (%y)",
    ),
    "if_print": body(
        "%r : Tensor = prim::If(%false)",
        "  block0():",
        "    prim::Print(%x)",
        "    -> (%x)",
        "  block1():",
        "    -> (%y)",
    ),
    "if_same": branch("%x", "%x"),
    "if_equal_constants": body(
        "%r : int = prim::If(%b)",
        "  block0():",
        "    %s : int = prim::Constant[value=5]()",
        "    -> (%s)",
        "  block1():",
        "    %t : int = prim::Constant[value=5]()",
        "    -> (%t)",
    ),
    "if_nested": body(
        "%r : Tensor = prim::If(%b)",
        "  block0():",
        "    %s : Tensor = prim::If(%true)",
        "      block0():",
        "        %t : Tensor = aten::neg(%x)",
        "        -> (%t)",
        "      block1():",
        "        -> (%y)",
        "    -> (%s)",
        "  block1():",
        "    -> (%y)",
    ),
    "loop_never": loop("%zero", "aten::neg(%c)"),
    "loop_false": loop("%n", "aten::neg(%c)", cond="%false"),
    "loop_runs": loop("%two", "aten::neg(%c)"),
    "loop_unchanged": body(
        "%p : Tensor, %r : Tensor = prim::Loop(%n, %true, %x, %y)",
        "  block0(%i : int, %c : Tensor, %d : Tensor):",
        "    %e : Tensor = aten::add(%c, %d, %one)",
        "    -> (%true, %e, %d)",
        result="%p, %r",
    ),
    "not": body(
        "%c : bool = aten::__not__(%true)",
        "%r : int = prim::If(%c)",
        "  block0():",
        "    -> (%n)",
        "  block1():",
        "    -> (%m)",
    ),
    "division": body("%a : float = aten::div(%one, %two)", "%r : float = aten::mul(%f, %a)"),
    "by_zero": body("%a : int = aten::floordiv(%one, %zero)", "%r : int = aten::add(%n, %a)"),
    "list": body("%l : int[] = prim::ListConstruct(%one, %two)", "%r : Tensor = aten::reshape(%x, %l)"),
    "list_returned": body("%r : int[] = prim::ListConstruct(%one, %two)"),
    "tuple": body(
        "%t : (int, int) = prim::TupleConstruct(%one, %two)",
        "%p : int, %q : int = prim::TupleUnpack(%t)",
        "%r : int = aten::add(%q, %n)",
    ),
    "none": body(
        "%c : bool = aten::__is__(%none, %none)",
        "%r : Tensor = prim::If(%c)",
        "  block0():",
        "    -> (%x)",
        "  block1():",
        "    -> (%y)",
    ),
    "string": body(
        '%s : str = prim::Constant[value="a"]()',
        '%t : str = prim::Constant[value="b"]()',
        "%r : str = aten::add(%s, %t)",
    ),
    "tensor": body(
        "%l : int[] = prim::ListConstruct(%two)",
        "%t : Tensor = aten::zeros(%l, %none, %none, %none, %none)",
        "%r : Tensor = aten::add(%t, %x, %one)",
    ),
    "random": body(
        "%l : int[] = prim::ListConstruct(%two)",
        "%t : Tensor = aten::rand(%l, %none, %none, %none, %none)",
        "%r : Tensor = aten::add(%t, %x, %one)",
    ),
    "written": body(
        "%l : int[] = prim::ListConstruct(%two)",
        "%t : Tensor = aten::zeros(%l, %none, %none, %none, %none)",
        "%r : Tensor = aten::add_(%t, %x, %one)",
    ),
    "nothing": body("%r : Tensor = aten::add(%x, %y, %one)"),
    "shift": body("%a : int = aten::__lshift__(%one, %two)", "%r : int = aten::add(%n, %a)"),
    "number_to_tensor": body(
        "%t : Tensor = prim::NumToTensor(%two)", "%r : Tensor = aten::add(%x, %t, %one)"
    ),
    "max": body("%a : int = prim::max(%one, %two)", "%r : int = aten::add(%n, %a)"),
}
PEEP = {
    "tt": body("%t : Tensor = aten::t(%x)", "%r : Tensor = aten::t(%t)"),
    "ttt": body("%t : Tensor = aten::t(%x)", "%s : Tensor = aten::t(%t)", "%r : Tensor = aten::t(%s)"),
    "int_of_tensor": body("%t : Tensor = prim::NumToTensor(%n)", "%r : int = aten::Int(%t)"),
    "float_of_tensor": body("%t : Tensor = prim::NumToTensor(%f)", "%r : float = aten::Float(%t)"),
    "implicit": body("%t : Tensor = prim::NumToTensor(%n)", "%r : int = aten::IntImplicit(%t)"),
    "is_none": body(
        "%c : bool = aten::__is__(%x, %none)",
        "%r : int = prim::If(%c)",
        "  block0():",
        "    -> (%n)",
        "  block1():",
        "    -> (%m)",
    ),
    "isnot_none": body("%r : bool = aten::__isnot__(%x, %none)"),
    "optional_stays": body("%r : bool = aten::__isnot__(%o, %none)"),
    "if_to_condition": branch("%true", "%false", "bool"),
    "if_not_condition": branch("%false", "%true", "bool"),
    "if_refines": body(
        "%r : Tensor? = prim::If(%b)", "  block0():", "    -> (%x)", "  block1():", "    -> (%y)"
    ),
    "unwrap": body("%r : Tensor = aten::_unwrap_optional(%x)"),
    "unwrap_prim": body("%r : Tensor = prim::unchecked_unwrap_optional(%x)"),
    "unwrap_optional": body("%r : Tensor = prim::unchecked_unwrap_optional(%o)"),
    "cast": body("%r : Tensor = prim::unchecked_cast(%x)"),
    "cast_stays": body("%r : Tensor = prim::unchecked_cast(%o)"),
    "int_int": body("%r : int = aten::Int(%n)"),
    "plus_zero": body("%r : int = aten::add(%n, %zero)"),
    "zero_plus": body("%r : int = aten::add(%zero, %n)"),
    "minus_zero": body("%r : int = aten::sub(%n, %zero)"),
    "times_one": body("%r : int = aten::mul(%n, %one)"),
    "one_times": body("%r : int = aten::mul(%one, %n)"),
    "floordiv_one": body("%r : int = aten::floordiv(%n, %one)"),
    "swap": body("%r : int = aten::add(%two, %n)"),
    "swap_mul": body("%r : int = aten::mul(%two, %n)"),
    "associate": body("%a : int = aten::add(%n, %two)", "%r : int = aten::add(%a, %one)"),
    "associate_minus": body("%a : int = aten::sub(%n, %two)", "%r : int = aten::add(%a, %one)"),
    "equal_self": body("%r : bool = aten::eq(%n, %n)"),
    "unequal_self": body("%r : bool = aten::ne(%n, %n)"),
    "grad_sum": body("%r : Tensor = aten::_grad_sum_to_size(%x, %none)"),
    "tensor_plus_zero": body("%r : Tensor = aten::add(%x, %zero, %one)"),
    "tensor_times_one": body("%r : Tensor = aten::mul(%x, %one)"),
    "shaped_plus_zero": shaped(
        "%p : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) = aten::relu(%x)",
        "%q : Tensor = aten::add(%p, %zero, %one)",
        "%r : Tensor = aten::neg(%q)",
    ),
    "shaped_times_one": shaped(
        "%p : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) = aten::relu(%x)",
        "%q : Tensor = aten::mul(%p, %one)",
        "%r : Tensor = aten::neg(%q)",
    ),
    "size": shaped("%r : int[] = aten::size(%x)"),
    "size_dim": shaped("%r : int = aten::size(%x, %one)"),
    "size_dim_negative": shaped("%k : int = prim::Constant[value=-1]()", "%r : int = aten::size(%z, %k)"),
    "size_unknown": shaped("%r : int = aten::size(%z, %zero)"),
    "dim": shaped("%r : int = aten::dim(%z)"),
    "len_size": shaped("%s : int[] = aten::size(%z)", "%r : int = aten::len(%s)"),
    "dtype": shaped("%r : int = prim::dtype(%y)"),
    "device": shaped("%r : Device = prim::device(%x)"),
    "is_cuda": shaped("%r : bool = prim::is_cuda(%x)"),
    "is_floating": shaped("%r : bool = aten::is_floating_point(%x)"),
    "type_as": shaped("%r : Tensor = aten::type_as(%x, %x)"),
    "type_as_other": shaped("%r : Tensor = aten::type_as(%x, %y)"),
    "expand": shaped(
        "%k : int = prim::Constant[value=3]()",
        "%l : int[] = prim::Constant[value=[2, 3]]()",
        "%r : Tensor = aten::expand(%x, %l, %false)",
    ),
    "len_list": body("%l : int[] = prim::ListConstruct(%n, %m)", "%r : int = aten::len(%l)"),
    "item": body("%l : int[] = prim::ListConstruct(%n, %m)", "%r : int = aten::__getitem__(%l, %one)"),
    "item_negative": body(
        "%k : int = prim::Constant[value=-2]()",
        "%l : int[] = prim::ListConstruct(%n, %m)",
        "%r : int = aten::__getitem__(%l, %k)",
    ),
    "item_outside": body(
        "%l : int[] = prim::ListConstruct(%n, %m)", "%r : int = aten::__getitem__(%l, %two)"
    ),
    "unpack": body(
        "%l : Tensor[] = prim::ListConstruct(%x, %y)", "%p : Tensor, %q : Tensor = prim::ListUnpack(%l)", ADD
    ),
    "list_add": body(
        "%l : int[] = prim::ListConstruct(%n)",
        "%k : int[] = prim::ListConstruct(%m)",
        "%r : int[] = aten::add(%l, %k)",
    ),
    "list_slice": body(
        "%l : int[] = prim::ListConstruct(%n, %m, %n)", "%r : int[] = aten::slice(%l, %one, %none, %one)"
    ),
    "appended": body(
        "%l : int[] = prim::ListConstruct(%n, %m)",
        "%k : int[] = aten::append(%l, %n)",
        "%r : int = aten::len(%l)",
    ),
    "dict_item": body(
        '%s : str = prim::Constant[value="a"]()',
        "%d : Dict(str, int) = prim::DictConstruct(%s, %n)",
        "%r : int = aten::__getitem__(%d, %s)",
    ),
    "dict_len": body(
        '%s : str = prim::Constant[value="a"]()',
        "%d : Dict(str, int) = prim::DictConstruct(%s, %n)",
        "%r : int = aten::len(%d)",
    ),
    "cat_cat": body(
        "%l : Tensor[] = prim::ListConstruct(%x, %y)",
        "%c : Tensor = aten::cat(%l, %zero)",
        "%k : Tensor[] = prim::ListConstruct(%c, %z)",
        "%r : Tensor = aten::cat(%k, %zero)",
    ),
    "conv_dim": body(
        "%l : int[] = prim::ListConstruct(%one, %one)",
        "%c : Tensor = aten::conv2d(%x, %y, %none, %l, %l, %l, %one)",
        "%r : int = aten::dim(%c)",
    ),
}
TUPLES = {
    "unpack": body(
        "%t : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)",
        "%p : Tensor, %q : Tensor = prim::TupleUnpack(%t)",
        ADD,
    ),
    "index": body(
        "%t : (Tensor, int) = prim::TupleConstruct(%x, %n)", "%r : int = prim::TupleIndex(%t, %one)"
    ),
    "index_negative": body(
        "%k : int = prim::Constant[value=-1]()",
        "%t : (Tensor, int) = prim::TupleConstruct(%x, %n)",
        "%r : int = prim::TupleIndex(%t, %k)",
    ),
    "slice": body(
        "%t : (int, int, int) = prim::TupleConstruct(%n, %m, %n)",
        "%s : (int, int) = prim::TupleSlice[beg=1, end=3](%t)",
        "%p : int, %q : int = prim::TupleUnpack(%s)",
        "%r : int = aten::add(%p, %q)",
    ),
    "through_if": body(
        "%t : (Tensor, Tensor) = prim::If(%b)",
        "  block0():",
        "    %s : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)",
        "    -> (%s)",
        "  block1():",
        "    %u : (Tensor, Tensor) = prim::TupleConstruct(%y, %x)",
        "    -> (%u)",
        "%p : Tensor, %q : Tensor = prim::TupleUnpack(%t)",
        ADD,
    ),
    "through_loop": body(
        "%t : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)",
        "%u : (Tensor, Tensor) = prim::Loop(%n, %true, %t)",
        "  block0(%i : int, %c : (Tensor, Tensor)):",
        "    %d : Tensor, %e : Tensor = prim::TupleUnpack(%c)",
        "    %g : (Tensor, Tensor) = prim::TupleConstruct(%e, %d)",
        "    -> (%true, %g)",
        "%p : Tensor, %q : Tensor = prim::TupleUnpack(%u)",
        ADD,
    ),
    "nested": body(
        "%t : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)",
        "%u : ((Tensor, Tensor), int) = prim::TupleConstruct(%t, %n)",
        "%v : (Tensor, Tensor), %w : int = prim::TupleUnpack(%u)",
        "%p : Tensor, %q : Tensor = prim::TupleUnpack(%v)",
        ADD,
    ),
    "returned": body("%r : (Tensor, int) = prim::TupleConstruct(%x, %n)"),
    "argument": "graph(%t : (Tensor, Tensor)):\n  %one : int = prim::Constant[value=1]()\n  %p : Tensor, %q : Tensor = prim::TupleUnpack(%t)\n  %r : Tensor = aten::add(%p, %q, %one)\n  return (%r)\n",
}
EXPAND = {
    "implicit": body(
        "%l : int[] = prim::ListConstruct(%n, %m)",
        "%e : Tensor = aten::expand(%x, %l, %true)",
        "%r : Tensor = aten::add(%e, %y, %one)",
    ),
    "explicit": body(
        "%l : int[] = prim::ListConstruct(%n, %m)",
        "%e : Tensor = aten::expand(%x, %l, %false)",
        "%r : Tensor = aten::add(%e, %y, %one)",
    ),
    "inside": body(
        "%l : int[] = prim::ListConstruct(%n, %m)",
        "%r : Tensor = prim::If(%b)",
        "  block0():",
        "    %e : Tensor = aten::expand(%x, %l, %true)",
        "    -> (%e)",
        "  block1():",
        "    -> (%y)",
    ),
}
FUSER = {
    "number": body("%t : Long(device=cpu) = prim::Constant[value={2}]()", "%r : Tensor = aten::mul(%x, %t)"),
    "number_float": body(
        "%t : Float(device=cpu) = prim::Constant[value={2.5}]()", "%r : Tensor = aten::div(%x, %t)"
    ),
    "add": body(
        "%t : Long(device=cpu) = prim::Constant[value={2}]()", "%r : Tensor = aten::add(%x, %t, %one)"
    ),
    "sub": body(
        "%t : Float(device=cpu) = prim::Constant[value={0.5}]()", "%r : Tensor = aten::sub(%x, %t, %one)"
    ),
    "chunk_unpack": body(
        "%l : Tensor[] = aten::chunk(%x, %two, %one)", "%p : Tensor, %q : Tensor = prim::ListUnpack(%l)", ADD
    ),
    "chunk_items": body(
        "%l : Tensor[] = aten::chunk(%x, %two, %one)",
        "%p : Tensor = aten::select(%l, %zero)",
        "%q : Tensor = aten::select(%l, %one)",
        ADD,
    ),
    "chunk_kept": body(
        "%l : Tensor[] = aten::chunk(%x, %two, %one)",
        "%p : Tensor, %q : Tensor = prim::ListUnpack(%l)",
        result="%p, %l",
    ),
    "chunk_unknown": body(
        "%l : Tensor[] = aten::chunk(%x, %n, %one)", "%p : Tensor, %q : Tensor = prim::ListUnpack(%l)", ADD
    ),
}
DECOMPOSE = {
    "addmm": body("%r : Tensor = aten::addmm(%x, %y, %z, %one, %one)"),
    "addmm_alpha": body("%r : Tensor = aten::addmm(%x, %y, %z, %two, %one)"),
    "addmm_inside": body(
        "%r : Tensor = prim::If(%b)",
        "  block0():",
        "    %s : Tensor = aten::addmm(%x, %y, %z, %one, %one)",
        "    -> (%s)",
        "  block1():",
        "    -> (%y)",
    ),
    "layer_norm_cpu": body(
        "%l : int[] = prim::ListConstruct(%n)", "%r : Tensor = aten::layer_norm(%x, %l, %y, %z, %f, %true)"
    ),
    "layer_norm_cuda": "graph(%x : Float(2, 3, device=cuda:0), %y : Tensor, %z : Tensor, %n : int, %f : float):\n"
    + K
    + "  %l : int[] = prim::ListConstruct(%n)\n  %r : Tensor = aten::layer_norm(%x, %l, %y, %z, %f, %true)\n  return (%r)\n",
    "batch_norm_cuda": "graph(%x : Float(2, 3, 4, 4, device=cuda:0), %y : Tensor, %z : Tensor, %n : Tensor, %m : Tensor, %f : float):\n"
    + K
    + "  %r : Tensor = aten::batch_norm(%x, %y, %z, %n, %m, %true, %f, %f, %true)\n  return (%r)\n",
}
ERASE = {
    "values": shaped("%r : Float(2, 3) = aten::neg(%x)"),
    "lists": shaped("%r : Float(2, 3)[] = prim::ListConstruct(%x)"),
    "blocks": shaped(
        "%r : Float(2, 3) = prim::Loop(%n, %true, %x)",
        "  block0(%i : int, %c : Float(2, 3)):",
        "    %d : Float(2, 3) = aten::neg(%c)",
        "    -> (%true, %d)",
    ),
}
NUMBERS = {
    "constants": body("%r : Tensor = aten::add(%x, %y, %one)"),
    "values": body("%r : int = aten::add(%n, %m)"),
    "floats": body("%k : float = prim::Constant[value=1.5]()", "%r : Tensor = aten::mul(%x, %k)"),
}
UNROLL = {
    "constant": loop("%two", "aten::neg(%c)"),
    "counter": loop("%two", "aten::add(%c, %i, %one)"),
    "dynamic": loop("%n", "aten::neg(%c)"),
    "dynamic_counter": loop("%n", "aten::add(%c, %i, %one)"),
    "while": loop("%n", "aten::neg(%c)", again="%b"),
    "zero": loop("%zero", "aten::neg(%c)"),
    "nested": body(
        "%r : Tensor = prim::Loop(%n, %true, %x)",
        "  block0(%i : int, %c : Tensor):",
        "    %d : Tensor = prim::Loop(%two, %true, %c)",
        "      block0(%j : int, %e : Tensor):",
        "        %g : Tensor = aten::neg(%e)",
        "        -> (%true, %g)",
        "    -> (%true, %d)",
    ),
}
FORK = {}
CASES = {
    "_jit_pass_dce": DCE,
    "_jit_pass_cse": CSE,
    "_jit_pass_constant_pooling": POOL,
    "_jit_pass_constant_propagation": PROP,
    "_jit_pass_constant_propagation_immutable_types": {
        k: v for k, v in PROP.items() if k in ("int", "list", "tensor", "tuple", "if_true", "string")
    },
    "_jit_pass_peephole": PEEP,
    "_jit_pass_lower_all_tuples": TUPLES,
    "_jit_pass_remove_expands": EXPAND,
    "_jit_pass_canonicalize_graph_fuser_ops": FUSER,
    "_jit_pass_decompose_ops": DECOMPOSE,
    "_jit_pass_erase_shape_information": ERASE,
    "_jit_pass_erase_number_types": NUMBERS,
    "_jit_pass_loop_unrolling": UNROLL,
    "_jit_pass_constant_loop_unrolling": UNROLL,
    "_jit_pass_remove_mutation": {
        "add_": body(
            "%t : Tensor = aten::relu(%x)",
            "%u : Tensor = aten::add_(%t, %y, %one)",
            "%r : Tensor = aten::neg(%t)",
        ),
        "input": body("%r : Tensor = aten::add_(%x, %y, %one)"),
        "view": body(
            "%t : Tensor = aten::relu(%x)",
            "%v : Tensor = aten::select(%t, %zero, %zero)",
            "%u : Tensor = aten::add_(%v, %y, %one)",
            result="%t",
        ),
        "append": body(
            "%l : Tensor[] = prim::ListConstruct(%x)",
            "%k : Tensor[] = aten::append(%l, %y)",
            "%r : Tensor = aten::cat(%l, %zero)",
        ),
        "append_twice": body(
            "%l : int[] = prim::ListConstruct()",
            "%k : int[] = aten::append(%l, %n)",
            "%j : int[] = aten::append(%l, %m)",
            "%r : Tensor = aten::reshape(%x, %l)",
        ),
        "append_read": body(
            "%l : int[] = prim::ListConstruct(%n)",
            "%s : int = aten::len(%l)",
            "%k : int[] = aten::append(%l, %m)",
            "%r : Tensor = aten::reshape(%x, %l)",
            result="%r, %s",
        ),
        "relu_": body(
            "%t : Tensor = aten::neg(%x)",
            "%u : Tensor = aten::relu_(%t)",
            "%r : Tensor = aten::add(%t, %u, %one)",
        ),
        "twice": body(
            "%t : Tensor = aten::neg(%x)",
            "%u : Tensor = aten::add_(%t, %y, %one)",
            "%v : Tensor = aten::mul_(%u, %z)",
            result="%t",
        ),
    },
    "_jit_pass_peephole_list_idioms": {
        k: PEEP[k]
        for k in ("len_list", "item", "item_negative", "unpack", "list_add", "list_slice", "appended")
    },
}
