"""tools/gdb/facula_printers.py shows tensors and values, and dump() can be called from gdb."""

import os
import pathlib
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.not_sanitized

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
#include <cstdio>
#include "dispatch/schema.h"
#include "jit/ir/graph.h"
#include "jit/run/executor.h"
using namespace fc;
int main() {
  Tensor t = empty_tensor(IntSpan(Dims{2, 3}), DType::Float32, Device{});
  for (int i = 0; i < 6; ++i) t.data_as<float>()[i] = i * 1.5f;
  int64_t sizes[] = {3, 2}, strides[] = {1, 3};
  Tensor v = make_view(t, sizes, strides, 0), undefined;
  Value boxed(t), number(int64_t{3}), none;
  Dims dims{4, 5, 6};
  Schema schema = parse_schema("add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  Ref<jit::Graph> held = jit::Graph::make();
  jit::Graph& graph = *held;
  jit::Value* x = graph.add_input("x");
  x->set_type(list_type(tensor_type()));
  jit::Node& node = *graph.insert(graph.create(jit::Symbol::of("my::op"), std::span<jit::Value* const>(&x, 1)));
  graph.register_output(node.output());
  jit::Stack stack{number, boxed};
  jit::Graph* pointer = &graph;
  static_cast<c10::IValue&>(stack[0]).dump();
  std::puts("here");
}
"""
EXPECTED = {
    "p t": "Float32[2, 3] strides [3, 1] on cpu {0, 1.5, 3, 4.5, 6, 7.5}",
    "p v": "Float32[3, 2] strides [1, 3] on cpu {0, 4.5, 1.5, 6, 3, 7.5}",
    "p undefined": "undefined",
    "p boxed": "Tensor Float32[2, 3]",
    "p number": "Int 3",
    "p none": "None",
    "p dims": "[4, 5, 6]",
    "p schema": "aten::add_.Tensor",
    "p *x": "%x : List[Tensor]",
    "p *x->type_": "List[Tensor]",
    "p node": "%1 : Tensor = my::op(%x)",
    "p graph": "graph(%x : List[Tensor]) of 1 nodes -> (%1 : Tensor)",
}
# What the notes of the JIT type; the text goes to the program's stderr.
CALLED = {
    "call ((c10::IValue *)stack._M_impl._M_start)->dump()": "3",
    "call pointer->dump()": "%1 : Tensor = my::op(%x)",
}
# These need the library's own full symbols: PRESET=debug or relwithdebinfo.
DUMPED = {
    "p fc::dump(t)": "float32 [2, 3]",
    "p fc::dump(number)": '"3"',
    "p fc::dump(schema)": "add_.Tensor(Tensor(a!) self",
}


# A program with symbols of its own beside a library without: the tensor's insides are unknown.
NO_SYMBOLS = {
    "p t": "fc::Tensor at 0x",
    "p boxed": "(no symbols for what it holds: PRESET=relwithdebinfo has them)",
    **{command: EXPECTED[command] for command in ("p undefined", "p number", "p none", "p dims", "p schema")},
}


@pytest.mark.skipif("FACULA_SANITIZED" in os.environ, reason="gdb does not run under a preloaded sanitizer")
@pytest.mark.skipif(not shutil.which("gdb") or not shutil.which("g++"), reason="gdb or a compiler is not installed")
@pytest.mark.parametrize("full", (True, False), ids=("symbols", "no symbols"))
def test_printers(tmp_path, full):
    import facula

    library = pathlib.Path(facula.__file__).parent
    has_symbols = facula.__config__.rows()["build"]["build type"] in ("Debug", "RelWithDebInfo")
    if not full and has_symbols:
        pytest.skip("the library has symbols")
    (tmp_path / "a.cpp").write_text(PROGRAM)
    subprocess.run(
        ["g++", "-std=c++20", *(("-g3", "-femit-class-debug-always") if full else ("-g",)), "-I", ROOT / "src", "-I", ROOT / "include", tmp_path / "a.cpp",
         "-o", tmp_path / "a", f"-L{library}", "-lfacula", f"-Wl,-rpath,{library}"],
        check=True,
    )  # fmt: skip
    commands = [f"source {ROOT}/tools/gdb/facula_printers.py", "set print elements 0", "break puts", "run", "up"]
    expected = {**EXPECTED, **(DUMPED if has_symbols else {})} if full else NO_SYMBOLS
    shown = {}
    for command in expected:
        commands += [f"echo <<{command}>>\\n", command]
    out = subprocess.run(
        ["gdb", "-q", "-nx", "-batch", *(x for c in commands for x in ("-ex", c)), tmp_path / "a"],
        capture_output=True, text=True,
    )  # fmt: skip
    for part in out.stdout.split("<<")[1:]:
        command, text = part.split(">>", 1)
        shown[command] = text.strip()
    for command, text in expected.items():
        assert text in shown.get(command, ""), (command, shown.get(command), out.stderr)
    if full:
        typed = [x for command in CALLED for x in ("-ex", command)]
        out = subprocess.run(["gdb", "-q", "-nx", "-batch", "-ex", "break puts", "-ex", "run", "-ex", "up", *typed, tmp_path / "a"], capture_output=True, text=True)
        assert all(text in out.stderr for text in CALLED.values()), out.stderr
        assert out.stderr.splitlines().count("3") == 2  # the program's own call, and gdb's
    assert "Python Exception" not in out.stdout + out.stderr
