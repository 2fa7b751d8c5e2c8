# SPDX-License-Identifier: Apache-2.0
"""Records how PyTorch prints graphs as Python into golden/jit/code.json: functions of script_cases.py and trace_cases.py, and the
texts of graphs in GRAPHS.

    python tests/jit/record_code.py        # with PyTorch; test_code.py runs it here, into a file of its own
"""

import json
import pathlib
import re
import sys
import warnings

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
GOLDEN = HERE.parent / "golden/jit/code.json"

RESERVED = (
    "_ and as aten attribute assert async await break class continue def del elif else except False finally for from global if import in is lambda "
    "None nonlocal not or pass raise return True try while with yield uninitialized unchecked_cast fork awaitable CONSTANTS inf nan infj nanj ops getattr rpc_async rpc_sync "
    "rpc_remote torch self print int annotate isinstance x.y"
).split()

GRAPHS = {
    "long_expressions": """graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : Tensor = aten::add(%x, %y, %1)
  %3 : Tensor = aten::mul(%x, %2)
  %4 : Tensor = aten::sub(%3, %y, %1)
  %5 : Tensor = aten::div(%x, %y)
  %6 : Tensor = aten::add(%4, %5, %1)
  %7 : Tensor = aten::neg(%x)
  %8 : Tensor = aten::mul(%6, %7)
  return (%8)""",
    "order": """graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : Tensor = aten::add_(%x, %y, %1)
  %3 : Tensor = aten::mul(%x, %x)
  %4 : Tensor = aten::sub(%3, %2, %1)
  return (%4)""",
    "default_arguments": """graph(%x : Tensor, %w : Tensor):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %n : NoneType = prim::Constant()
  %f : bool = prim::Constant[value=0]()
  %l1 : int[] = prim::Constant[value=[1, 1]]()
  %l0 : int[] = prim::Constant[value=[0, 0]]()
  %a : Tensor = aten::conv2d(%x, %w, %n, %l1, %l0, %l1, %1)
  %b : Tensor = aten::conv2d(%a, %w, %n, %l1, %l0, %l1, %2)
  %c : Tensor = aten::sum(%b, %l0, %f, %n)
  %d : Tensor = aten::add(%c, %2, %1)
  %e : Tensor = aten::add(%d, %2, %2)
  %g : Tensor = aten::add(%e, %e, %2)
  %h : Tensor = aten::softmax(%g, %0, %n)
  %i : Tensor = aten::zeros_like(%h, %n, %n, %n, %n, %n)
  return (%i)""",
    "given_results": """graph(%x : Tensor, %y : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %a : Tensor = aten::add(%x, %y, %1, %y)
  %b : Tensor = aten::add(%x, %y, %2, %y)
  %c : Tensor = aten::mul(%a, %b, %x)
  return (%c)""",
    "constants": """graph(%x : Tensor):
  %a : float = prim::Constant[value=0.10000000000000001]()
  %b : float = prim::Constant[value=3.]()
  %s : str = prim::Constant[value="a long text that does not fit into one line"]()
  %t : str = prim::Constant[value="short"]()
  %d : Device = prim::Constant[value="cpu"]()
  %l : int[] = prim::Constant[value=annotate(List[int], [])]()
  %u : (Tensor, float, float, str, str, Device, str) = prim::TupleConstruct(%x, %a, %b, %s, %t, %d, %s)
  return (%u)""",
    "unused": """graph(%x : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : Tensor = aten::add(%x, %1, %1)
  %3 : int[] = prim::ListConstruct()
  %4 : int[] = prim::ListConstruct(%1, %1)
  %5 : int, %6 : int = prim::ListUnpack(%4)
  return (%x)""",
    "two_results": """graph(%x : Tensor):
  %0 : int = prim::Constant[value=0]()
  %f : bool = prim::Constant[value=0]()
  %v : Tensor, %i : Tensor = aten::max(%x, %0, %f)
  %u : (Tensor, Tensor) = prim::TupleConstruct(%v, %i)
  %p : Tensor, %q : Tensor = prim::TupleUnpack(%u)
  %r : Tensor = aten::add(%p, %q, %0)
  return (%r)""",
    "branches": """graph(%x : Tensor, %c : bool):
  %1 : int = prim::Constant[value=1]()
  %y : Tensor, %2 : int = prim::If(%c)
    block0():
      %3 : Tensor = aten::add(%x, %1, %1)
      -> (%3, %1)
    block1():
      -> (%x, %1)
  prim::If(%c)
    block0():
      -> ()
    block1():
      prim::Print(%x)
      -> ()
  %4 : Tensor = aten::mul(%y, %2)
  return (%4)""",
    "loops": """graph(%x : Tensor, %n : int):
  %1 : int = prim::Constant[value=1]()
  %t : bool = prim::Constant[value=1]()
  %max : int = prim::Constant[value=9223372036854775807]()
  %c : bool = aten::lt(%n, %1)
  %y : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %z : Tensor):
      %w : Tensor = aten::add(%z, %i, %1)
      -> (%t, %w)
  %k : int = prim::Loop(%max, %c, %n)
    block0(%i : int, %m : int):
      %o : int = aten::add(%m, %1)
      %p : bool = aten::lt(%o, %n)
      -> (%p, %o)
  %5 : Tensor = aten::mul(%y, %k)
  return (%5)""",
    "mixed_loop": """graph(%x : Tensor, %n : int):
  %c : bool = aten::lt(%n, %n)
  %y : Tensor = prim::Loop(%n, %c, %x)
    block0(%i : int, %z : Tensor):
      -> (%c, %z)
  return (%y)""",
    "containers": """graph(%x : Tensor, %o : Tensor?, %k : str):
  %1 : int = prim::Constant[value=1]()
  %n : NoneType = prim::Constant()
  %a : Tensor?[] = prim::ListConstruct(%x, %o)
  %b : Tensor[] = prim::ListConstruct(%x, %x)
  %d : Dict(str, Tensor) = prim::DictConstruct(%k, %x)
  %e : Dict(str, Tensor?) = prim::DictConstruct(%k, %o)
  %f : Dict(str, int) = prim::DictConstruct()
  %g : Tensor = aten::__getitem__(%b, %1)
  %h : Tensor = aten::__getitem__(%d, %k)
  %t : (Tensor) = prim::TupleConstruct(%x)
  %u : Tensor = prim::TupleIndex(%t, %1)
  %w : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%x, %g, %h)
  %v : (Tensor, Tensor) = prim::TupleSlice[beg=0, end=2](%w)
  %q : Tensor = aten::_unwrap_optional(%o)
  %r : Tensor = aten::_unwrap_optional(%n)
  %s : Tensor = prim::unchecked_cast(%o)
  %i : int = aten::Int(%x)
  %j : float = aten::Float(%x)
  %l : bool = aten::Bool(%x)
  %m : str = aten::str(%x)
  %p : Scalar = aten::ScalarImplicit(%x)
  %y : Tensor = prim::NumToTensor(%i)
  %z : int = prim::dtype(%x)
  %aa : (Tensor?[], Dict(str, Tensor?), Dict(str, int), Tensor, (Tensor, Tensor), Tensor, Tensor, Tensor, int, float, bool, str, Scalar, Tensor, int) = prim::TupleConstruct(%a, %e, %f, %u, %v, %q, %r, %s, %i, %j, %l, %m, %p, %y, %z)
  return (%aa)""",
}


def code_of_graph(torch, text, name=None):
    graph = torch._C.parse_ir(text)
    if name:
        next(iter(graph.inputs())).setDebugName(name)
    return torch._C._create_function_from_graph("f", graph).code


def methods(module, name="module"):
    """The code of all methods of a module and of what it consists of."""
    for method in sorted(module._c._method_names()):
        text = re.sub(r"___torch_mangle_\d+\.", "", module._c._get_method(method).code)
        yield f"{name}.{method}: {text}"
    for child, inner in module.named_children():
        yield from methods(inner, f"{name}.{child}")


def attempt(function):
    try:
        return function()
    except Exception as error:
        return f"{type(error).__name__}"


def describe(torch):
    import script_cases
    import trace_cases

    out = {}
    for name, text in GRAPHS.items():
        out[f"graph {name}"] = attempt(lambda text=text: code_of_graph(torch, text))
    for word in RESERVED:
        out[f"name {word}"] = attempt(lambda word=word: code_of_graph(torch, "graph(%x : Tensor):\n  return (%x)", word))
    for fn, _ in script_cases.CASES:
        try:
            made = torch.jit.script(fn)
        except Exception:
            continue
        out[f"script {fn.__name__}"] = attempt(lambda made=made: made.code)
    for name, case in trace_cases.make(torch).items():
        options = dict(case.options)
        if "force_outplace" in options:
            options["_force_outplace"] = options.pop("force_outplace")
        inputs = case.inputs[0] if len(case.inputs) == 1 and isinstance(case.inputs[0], torch.Tensor) else case.inputs
        try:
            made = torch.jit.trace(case.function, inputs, check_trace=False, **options)
        except Exception:
            continue
        is_module = isinstance(case.function, torch.nn.Module)
        out[f"trace {name}"] = attempt(lambda made=made, is_module=is_module: "".join(methods(made)) if is_module else made.code)
    return out


def main():
    import torch

    warnings.simplefilter("ignore")
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDEN
    out.write_text(json.dumps(describe(torch), indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
