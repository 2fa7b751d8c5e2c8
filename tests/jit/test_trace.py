# SPDX-License-Identifier: Apache-2.0
"""Traces of functions: graphs, warnings and errors are those recorded from PyTorch, and a trace computes what the function does."""

import json
import pathlib
import re
import sys

import pytest

import facula as torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
from record_traces import COMMENT, graph_of  # noqa: E402
from trace_cases import make  # noqa: E402

GOLDEN = json.loads((HERE.parent / "golden/jit/traces.json").read_text())


def without_foreign_comments(ours, theirs):
    """A comment of ours where PyTorch's names a file of its own says more, and is not compared."""
    lines = theirs.splitlines()
    out = [
        COMMENT.sub("", line) if i < len(lines) and not COMMENT.search(lines[i]) else line
        for i, line in enumerate(ours.splitlines())
    ]
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("name", list(GOLDEN))
def test_graph(name):
    golden, found = GOLDEN[name], graph_of(torch, make(torch)[name])
    if "error" in golden:
        assert "error" in found, found
        assert found["error"][0] == golden["error"][0]
        assert first_sentence(found["error"][1]) == first_sentence(golden["error"][1])
        return
    assert "graph" in found, found
    assert without_foreign_comments(found["graph"], golden["graph"]) == golden["graph"]
    assert found["warnings"] == golden["warnings"]


def first_sentence(text):
    """Without a tensor's numbers, which PyTorch prints as C++ does."""
    return re.sub(r"\([^)]*\)", "()", text.splitlines()[0])


RUNS = [
    name
    for name, golden in GOLDEN.items()
    if "graph" in golden and name not in {"random_operators", "in_place_on_input", "dict_output_loose", "BufferWritten", "sizes_everywhere"}
]


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in flat(v)]


@pytest.mark.filterwarnings("ignore::facula.jit.TracerWarning")
@pytest.mark.parametrize("name", RUNS)
def test_computes_what_the_function_does(name):
    case = make(torch)[name]
    inputs = case.inputs[0] if len(case.inputs) == 1 and isinstance(case.inputs[0], torch.Tensor) else case.inputs
    options = {"_force_outplace" if k == "force_outplace" else k: v for k, v in case.options.items()}
    traced = torch.jit.trace(case.function, inputs, check_trace=False, **options)
    found, expected = flat(traced(*case.inputs)), flat(case.function(*case.inputs))
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        torch.testing.assert_close(a, b, check_stride=False)


def net():
    return make(torch)["Nested"].function


def test_module_is_like_the_one_it_was_traced_from():
    from facula.jit import RecursiveScriptModule, ScriptModule, TopLevelTracedModule, TracedModule

    module, x = net(), make(torch)["Nested"].inputs[0]
    traced = torch.jit.trace(module, x)
    assert type(traced) is TopLevelTracedModule and type(traced.inner) is TracedModule
    assert isinstance(traced, ScriptModule) and isinstance(traced, RecursiveScriptModule)
    assert dict(traced.named_parameters()).keys() == dict(module.named_parameters()).keys()
    assert all(a is b for a, b in zip(traced.parameters(), module.parameters()))
    assert list(traced.state_dict()) == list(module.state_dict())
    assert [n for n, _ in traced.named_buffers()] == ["inner.shift"]
    assert traced.original_name == "Nested" and str(traced).startswith("Nested(\n  original_name=Nested\n")
    traced(x).sum().backward()
    assert module.weight.grad is not None
    module.zero_grad()
    traced.eval()
    assert not traced.training and not traced.inner.training
    with pytest.raises(RuntimeError, match="Trace submodules cannot be called"):
        traced.inner(x, x.sum())
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        traced.absent  # noqa: B018
    with pytest.raises(RuntimeError, match="Cannot re-assign modules"):
        traced.inner = module.inner


def test_copies_of_a_traced_module():
    import copy

    x = make(torch)["Nested"].inputs[0]
    traced = torch.jit.trace(net(), x)
    other = copy.deepcopy(traced)
    with torch.no_grad():
        other.weight.add_(1)
    assert not torch.equal(other(x), traced(x)) and other.inner.fc.weight is not traced.inner.fc.weight
    same = traced.copy()
    assert same.weight is traced.weight and torch.equal(same(x), traced(x))
    double = copy.deepcopy(traced).double()
    assert double.inner.shift.dtype == torch.float64 and double(x.double()).dtype == torch.float64
    loaded = copy.deepcopy(traced)
    loaded.load_state_dict({k: v + 1 for k, v in traced.state_dict().items()})
    assert torch.equal(loaded.weight, traced.weight + 1)


def test_several_methods():
    x = make(torch)["OtherMethods"].inputs[0]
    module = make(torch)["OtherMethods"].function
    traced = torch.jit.trace_module(module, {"forward": (x, x), "helper": x})
    assert torch.equal(traced.helper(x), module.helper(x)) and torch.equal(traced(x, b=x), module(x, x))
    with pytest.raises(AttributeError, match="Please use trace_module"):
        torch.jit.trace(module.helper, x)
    by_name = torch.jit.trace(module, example_kwarg_inputs={"b": x, "a": x + 1})
    assert torch.equal(by_name(a=x, b=x), module(x, x))
    with pytest.raises(NameError, match="'c' is not in forward"):
        torch.jit.trace(module, example_kwarg_inputs={"c": x})
    again = torch.jit.trace(module.forward, (x, x))
    assert torch.equal(again(x, x), module(x, x))
    with pytest.warns(UserWarning, match="already a ScriptModule"):
        assert torch.jit.trace(again, (x, x)) is again


def test_check_tells_how_traces_differ():
    calls = []

    def moody(x):
        calls.append(1)
        return x + 1 if len(calls) % 2 else x * 2

    with pytest.raises(torch.jit.TracingCheckError, match="Graphs differed across invocations"):
        torch.jit.trace(moody, torch.ones(2))
    with pytest.warns(torch.jit.TracerWarning) as said:
        torch.jit.trace(lambda x: x + torch.rand(2), torch.ones(2))
    texts = [str(w.message) for w in said]
    assert any("Trace had nondeterministic nodes" in t for t in texts) and any("Output nr 1" in t for t in texts)


def test_a_trace_that_fails_leaves_nothing():
    def fails(x):
        x + 1
        raise ZeroDivisionError("here")

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            torch.jit.trace(fails, torch.ones(2))
    assert not torch.jit.is_tracing() and torch._C._get_tracing_state() is None
    with pytest.raises(RuntimeError, match="can't be nested"):
        torch.jit.trace(lambda x: torch.jit.trace(lambda y: y + 1, x)(x), torch.ones(2))
    assert not torch.jit.is_tracing()


def test_threads_trace_apart():
    import threading

    graphs = [None] * 4

    def one(i):
        graphs[i] = str(torch.jit.trace(lambda x: x * i + i, torch.ones(2), check_trace=False).graph)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(f"value={{{i}}}" in g and g.count("aten::") == 2 for i, g in enumerate(graphs))


def test_custom_operators_are_one_node():
    @torch.library.custom_op("traced_tests::twice", mutates_args=())
    def twice(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * 2 + n

    traced = torch.jit.trace(lambda x: twice(x, 3) + 1, torch.ones(2))
    assert [n.kind() for n in traced.graph.nodes() if "prim" not in n.kind()] == ["traced_tests::twice", "aten::add"]
    assert traced(torch.ones(2)).tolist() == [6.0, 6.0]


def test_flat_graph_of_a_module():
    module, x = torch.nn.Linear(3, 2), torch.ones(4, 3)
    graph, out, given = torch.jit._get_trace_graph(module, (x,), return_inputs=True)
    assert [n.kind() for n in graph.nodes()] == ["aten::linear"] and len(list(graph.inputs())) == 3 == len(given)
    assert torch.equal(out, module(x))
    graph, out = torch.jit._get_trace_graph(lambda pair, d: {"sum": pair[0] + pair[1] * d["k"]}, ((x, x), {"k": x}))
    assert len(list(graph.inputs())) == 3 and torch.equal(out["sum"], x * 2)


def test_what_is_called_in_place_of_calls():
    traced = torch.jit.trace(net(), make(torch)["Nested"].inputs[0], check_trace=False)
    kinds = [n.kind() for n in traced.inlined_graph.nodes()]
    assert "prim::CallMethod" not in kinds and kinds.count("aten::linear") == 3
    assert str(traced.inlined_graph) == str(traced.forward.inlined_graph)
    function = torch.jit.trace(lambda x: x + 1, torch.ones(2))
    assert str(function.inlined_graph) == str(function.graph)
