# SPDX-License-Identifier: Apache-2.0
"""Texts of graphs, constants, programs and checks, our own, for record_graphs.py (PyTorch) and test_graph.py (Facula)."""

TEXTS = {
    "loop": "graph(%x.1 : Tensor,\n      %n : int):\n  %4 : bool = prim::Constant[value=1]() # f.py:7:4\n  %2 : int = prim::Constant[value=1]()\n  %y : Tensor = prim::Loop(%n, %4, %x.1)\n    block0(%i : int, %y.9 : Tensor):\n      %y.5 : Tensor = aten::mul(%y.9, %x.1)\n      -> (%4, %y.5)\n  return (%y)\n",
    "no types": "graph(%0, %a):\n  %1 = foo::bar(%0, %a)\n  return (%1)\n",
    "attributes": 'graph(%a):\n  %z : int, %k = foo::two[a=1, b=2.5, c="s\\n", d=[1,2], e=[1.,2.], f=["a"], g=int, h=Tensor[], i=1j, j=[], l=-3, m=1e-5](%a)\n  return (%z, %k)\n',
    "types": "graph(%a : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu), %b : Dict(str, Tensor), %c : Future(int), %d : (int, Tensor)?, %e : int[][], %f : Union(int, str), %g : Float(*, 2), %h : Scalar, %i : Long(), %j : Half(1, 2, 3), %k : Tensor?[]):\n  return (%a)\n",
    "more types": "graph(%a : Device, %b : Generator, %c : Stream, %d : str, %e : complex, %f : NoneType, %g : Any, %h : bool[], %i : (int, (float, str)), %j : Dict(int, int[])):\n  return (%a)\n",
    "constants": 'graph():\n  %1 : int[] = prim::Constant[value=[1,2]]()\n  %2 : float = prim::Constant[value=2.5]()\n  %3 : float = prim::Constant[value=-0.]()\n  %4 : Device = prim::Constant[value="cpu"]()\n  %5 : str = prim::Constant[value="a\\"b\'"]()\n  %6 : NoneType = prim::Constant()\n  %7 : bool = prim::Constant[value=0]()\n  %8 : float = prim::Constant[value=1e20]()\n  %9 : int = prim::Constant[value=-9223372036854775807]()\n  return (%1)\n',
    "no outputs": "graph(%l : int):\n  prim::Print(%l)\n  foo::bar()\n    block0():\n      -> ()\n  return (%l)\n",
    "if": "graph(%b : bool, %x : Tensor):\n  %r : Tensor = prim::If(%b)\n    block0():\n      -> (%x)\n    block1():\n      %q : Tensor = aten::neg(%x)\n      -> (%q)\n  return (%r)\n",
    "renamed": "graph(%x, %y):\n  %x = aten::neg(%x)\n  %x = aten::relu(%x)\n  return (%x, %y)\n",
    "clash": "graph(%x : Tensor, %b : bool):\n  %1 : Tensor = prim::Loop(%b, %b, %x)\n    block0(%x : int, %y : Tensor):\n      -> (%b, %y)\n  return (%1)\n",
    "inferred": "graph(%x : Tensor):\n  %0 : int = prim::Constant[value=0]()\n  %1 = aten::unbind(%x, %0)\n  %2 = aten::relu(%x)\n  return (%1, %2)\n",
    "comments": "# before\ngraph(%x):  # head\n  # between\n  %1 = aten::neg(%x)  # behind\n  return (%1)\n",
}
CONSTANTS = [
    "1", "True", "1.5", "'a\\tb\\x01'", "None", "torch.device('cuda:1')", "[1, 2]", "[1.0, 2.0]", "[True, False]", "['a']", "1+2j", "float('inf')", "1e20", "1e9", "123456.789",
    "-0.0", "1e-7", "float('nan')", "torch.tensor([1, 2, 3])", "torch.tensor([[1., 2.5], [3, 4]])", "torch.tensor([1e-5, 1.0])", "torch.tensor([1e10, 1.0])",
    "torch.tensor([True, False])", "torch.zeros(0)", "torch.zeros(2, 0)", "torch.tensor(2.5)", "torch.tensor([0.1])", "torch.zeros(2, 2, 2)", "torch.zeros(11)",
    "torch.tensor([1.5, 2]).half()", "torch.tensor([1000000, 2])", "torch.tensor([-1.5, 100.25])", "torch.tensor([[1, 2, 3, 4, 5]])", "torch.tensor(True)",
    "torch.tensor([123456., 0.001])", "torch.tensor([float('nan'), 1, float('inf')])", "torch.tensor([123456.5, 654321.25])", "torch.tensor([0.001, 0.002])", "torch.tensor(1+2j)",
]  # fmt: skip
LOGS = {
    "cse": (">common_subexpression_elimination", "_jit_pass_cse", "twice"),
    "dce": (">dead_code_elimination", "_jit_pass_dce_graph", "chain"),
    "dump only": ("dead_code_elimination", "_jit_pass_dce_graph", "chain"),
    "with extension": (">dead_code_elimination.cpp", "_jit_pass_dce_graph", "chain"),
    "fuser": (">canonicalize_graph_fuser_ops:dead_code_elimination", "_jit_pass_canonicalize_graph_fuser_ops", "chain"),
}
LOG_GRAPHS = {
    "chain": "graph(%x : Tensor):\n  %u : Tensor = aten::neg(%x)\n  %v : Tensor = aten::neg(%u)\n  %r : Tensor = aten::relu(%x)\n  return (%r)\n",
    "twice": "graph(%x : Tensor):\n  %p : Tensor = aten::tanh(%x)\n  %q : Tensor = aten::tanh(%x)\n  %r : Tensor = aten::mul(%p, %q)\n  return (%r)\n",
}
CHECKS = [
    "FileCheck().check('a').run('b')", "FileCheck().check('a').check_next('c').run('a\\nb\\nc')", "FileCheck().check('a').check_next('b').run('a\\nb\\nc')",
    "FileCheck().check('a').check_same('c').run('a\\nb\\nc')", "FileCheck().check('a').check_same('b').run('a b')", "FileCheck().check_not('a').run('xa')",
    "FileCheck().check('x').check_not('a').check('y').run('x a y')", "FileCheck().check('x').check_not('b').check('y').run('x a y')",
    "FileCheck().check_count('a', 2, exactly=True).run('aaa')", "FileCheck().check_count('a', 2, exactly=True).run('aa')", "FileCheck().check_count('a', 2).run('a')",
    "FileCheck().check_dag('b').check_dag('a').run('ab')", "FileCheck().check_dag('b').check_dag('c').run('ab')", "FileCheck().check_regex('a.c').run('xabc')",
    "FileCheck().run('# CHECK: a\\n# CHECK-NOT: b', 'a b')", "FileCheck().run('# CHECK: a\\n# CHECK-NEXT: b', 'a\\nb')", "FileCheck().run('# CHECK-COUNT-2: a', 'aba')",
    "FileCheck().run('# CHECK-COUNT-EXACTLY-2: a', 'abaa')", "FileCheck().check_source_highlighted('bar').run('foo bar\\n    ~~~ <--- HERE')",
    "FileCheck().check('b').check('a').run('ab')", "FileCheck().check('a').check('a').run('a')",
]  # fmt: skip
