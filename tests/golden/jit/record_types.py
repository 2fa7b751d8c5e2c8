# SPDX-License-Identifier: Apache-2.0
"""Records how PyTorch spells, orders and joins types: python tests/golden/jit/record_types.py (needs PyTorch; writes
types.txt, which tests/cpp/type_test.cpp reads).

Tab-separated lines: "text", a type as the graph parser reads it, as a graph prints it, as Python does; "schema", a type
of a schema and how the schema prints it; "pair", two types by their numbers, whether the first is a subtype of the
second, what both unify to ("-": nothing).
"""
import pathlib

TYPES = """
Tensor|int|float|complex|bool|str|Scalar|NoneType|Any|Device|Stream|Generator|Storage|Capsule|QScheme|t
Tensor?|int?|float?|Scalar?|Tensor[]|int[]|float[]|Any[]|t[]|Tensor?[]|int[][]|int[]?|str[]?
(Tensor)|()|(int, Tensor)|(float, Tensor)|(int, Tensor?)|(int, int[])|(Any, Tensor)|((int, str), Tensor)
Dict(str, Tensor)|Dict(str, int)|Dict(int, Tensor[])|Dict(str, int)?|Dict(Tensor, t)
Future(Tensor)|Future(int)|Future(int[])|Future(Tensor?)|RRef(Tensor)|Await(Tensor)|Await(int)
Union(int, str)|Union(str, int)|Union(float, Tensor)|Union(int[], str)|Union(int[], int[], str[])|Union(int, int?)
Union(int, float)|Union(int, float, complex)|Union(Tensor, NoneType)|Union(int, str, NoneType)|Union(str, Tensor, bool)
Union((int, str), (int, int))|Union(Scalar, Tensor)|Union(Tensor, Scalar, str)|Union(int, Future(int), Dict(str, int))
Float()|Float(2)|Float(2, 3)|Float(2, *)|Float(*, *)|Double(2, 3)|Long(3)|Half(1, 1)|Bool(0)|ComplexFloat(4)|BFloat16(2)
Byte(1)|Char(1)|Short(1)|Int(1)|ComplexDouble(1)
Float(2, 3, strides=[3, 1])|Float(2, 3, strides=[1, 2])|Float(2, 3, strides=[3, 1], requires_grad=1, device=cpu)
Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)|Float(requires_grad=0, device=cpu)|Float(2, 3, device=cuda:0)
Float(2, 3, device=cuda:1)|Float(2, 3)[]|Float(2, *)[]|Float(2, 3)?|(Float(2, 3), int)|(Float(2, 4), int)
Dict(str, Float(2, 3))|Future(Float(2, 3))|Await(Float(2, 3))|Union(Float(2, 3), str)
""".strip()
SCHEMA = """
Tensor|int|SymInt|SymInt[]|SymInt[2]|SymInt?|SymInt[1]?|int[3]|int[]?|Scalar|number|ScalarType|ScalarType?|Layout?
MemoryFormat|QScheme|Device|Generator?|Stream|Storage|Any|Any[]|AnyEnumType|AnyClassType?|complex
t|t[]|t?|tVal|(Tensor, tVal)[]|Dict(str, t)|Future(t)|RRef(t)|Await(t)|Tensor?[]|Tensor?[]?|Scalar?[]|bool[3]|str?|SymBool
__torch__.torch.classes.c10d.Work|int[][]|Union(int, str)|Union(str, float, bool)|Dict(str, int)?|Future(int[])|NoneType
Tensor(a)|Tensor(a!)|Tensor(a!)[]|Tensor(a)[]|Tensor(a)?|Tensor(a!)?|Tensor[](a)|t[](a!)|Tensor(a -> *)|t(*)|t(*)?
t[](*)|Dict(str, t)(a!)|Generator(a!)|Tensor(*)|Any(a)
""".strip()


def main(torch):
    def split(text):
        return [t for line in text.split("\n") for t in line.split("|")]

    def graph_text(type_):
        graph = torch._C.Graph()
        graph.addInput("x").setType(type_)
        return str(graph).split("\n", 1)[0].removeprefix("graph(%x : ").removesuffix("):")

    def unified(a, b):
        try:
            return graph_text(torch._C.unify_type_list([a, b]))
        except RuntimeError:
            return "-"

    lines, types = [], []
    for text in split(TYPES):
        graph = torch._C.parse_ir(f"graph(%x : {text}):\n  return (%x)\n")
        types.append(next(iter(graph.inputs())).type())
        lines.append(("text", text, graph_text(types[-1]), str(types[-1])))
    for text in split(SCHEMA):
        shown = str(torch._C.parse_schema(f"f::f({text} x) -> ()")).removeprefix("f::f(").removesuffix(" x) -> ()")
        lines.append(("schema", text, shown))
    for i, a in enumerate(types):
        for j, b in enumerate(types):
            lines.append(("pair", i, j, int(a.isSubtypeOf(b)), unified(a, b)))
    return lines


if __name__ == "__main__":
    import torch

    out = pathlib.Path(__file__).with_name("types.txt")
    out.write_text("".join("\t".join(map(str, line)) + "\n" for line in main(torch)))
