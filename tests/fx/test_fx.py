# SPDX-License-Identifier: Apache-2.0
"""torch.fx: graphs and generated code read as PyTorch's, run as the program did, and can be changed."""
import copy
import json
import operator
import pathlib
import pickle

import graphs
import pytest

import facula
from facula import fx, nn

pytestmark = pytest.mark.not_sanitized

GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "fx.json").read_text())


@pytest.fixture(scope="module")
def found():
    return graphs.texts(facula)


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_texts(found, name):
    assert found[name] == GOLDEN[name]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
        self.scale = nn.Parameter(facula.ones(3))

    def forward(self, x, bias=None):
        x = facula.relu(self.a(x)) + x
        return self.b(x) * self.scale


def test_runs_as_the_program():
    facula.manual_seed(0)
    model, x = Model(), facula.randn(5, 4)
    traced = fx.symbolic_trace(model)
    assert (traced(x) == model(x)).all() and [*traced.state_dict()] == [*model.state_dict()]
    traced(x).sum().backward()
    assert model.a.weight.grad is not None  # the parameters are the program's own
    assert (fx.Interpreter(traced.eval()).run(x) == model.eval()(x)).all() and (fx.Transformer(traced).transform().eval()(x) == model(x)).all()
    for again in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        assert again.code == traced.code and (again(x) == traced(x)).all() and again.a is not traced.a
    assert traced.graph.find_nodes(op="call_module", target="a")[0].meta.get("nn_module_stack", {}) == {}


def swap(x):
    return facula.clamp_min(x, 0.0)


def test_changed_graphs():
    model, x = Model().eval(), facula.randn(5, 4)
    traced = fx.symbolic_trace(model)
    matches = fx.replace_pattern(traced, lambda x: facula.relu(x), swap)
    assert len(matches) == 1 and matches[0].anchor.name == "relu" and "clamp_min" in traced.code and "relu" not in traced.code
    assert (traced(x) == model(x)).all()
    add = traced.graph.find_nodes(op="call_function", target=operator.add)[0]
    with traced.graph.inserting_after(add):
        doubled = traced.graph.call_function(operator.mul, (add, 2))
    add.replace_all_uses_with(doubled, delete_user_cb=lambda user: user is not doubled)
    traced.graph.lint()
    traced.recompile()
    assert "mul_1 = add * 2" in traced.code and not (traced(x) == model(x)).all()
    traced.delete_all_unused_submodules()
    assert hasattr(traced, "a")


@fx.wrap
def opaque(x, n):
    return x * n if n > 1 else x


def test_wrapped_functions_and_leaves():
    traced = fx.symbolic_trace(lambda x: opaque(x, 3))
    assert "wrap(" in traced.code and traced(facula.ones(2)).tolist() == [3, 3]

    class Coarse(fx.Tracer):
        def is_leaf_module(self, m, name):
            return isinstance(m, nn.Sequential) or super().is_leaf_module(m, name)

    model = Model().eval()
    graph = Coarse().trace(model)
    assert [n.target for n in graph.nodes if n.op == "call_module"] == ["a", "b"]
    x = facula.randn(2, 4)
    assert (fx.GraphModule(model, graph)(x) == model(x)).all()


def test_shapes():
    from facula.fx.passes.shape_prop import ShapeProp

    traced = fx.symbolic_trace(Model().eval())
    ShapeProp(traced).propagate(facula.randn(5, 4))
    assert [tuple(n.meta["tensor_meta"].shape) for n in traced.graph.nodes if n.op == "call_module"] == [(5, 4), (5, 3), (5, 3)]


def test_what_is_refused():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(facula.relu, (x,))
    for call, error, message in (
        (lambda: graph.erase_node(x), RuntimeError, "Tried to erase Node x but it still had 1 users"),
        (lambda: x.append(fx.Graph().placeholder("z")), AssertionError, "different Graph"),
        (lambda: y.args.__class__ and y.kwargs.update(a=1), NotImplementedError, "does not support mutation"),
        (lambda: graph.create_node("no_such_op", "x"), AssertionError, "no_such_op"),
        (lambda: graph.create_node("call_function", "x"), ValueError, "but a Callable is expected"),
        (lambda: fx.wrap(3), RuntimeError, "Unsupported type"),
        (lambda: fx.wrap("len"), NotImplementedError, "top level of a module"),
        (lambda: fx.GraphModule({}, _calls_a_module()), RuntimeError, "was not provided in ``root``"),
        (lambda: fx.symbolic_trace(lambda x: x, concrete_args={"x": {"a": fx.PH}}), NotImplementedError, "concrete_args"),
    ):
        with pytest.raises(error, match=message):
            call()


def _calls_a_module():
    graph = fx.Graph()
    graph.output(graph.call_module("m", (graph.placeholder("x"),)))
    return graph


def test_a_failed_trace_leaves_nothing_behind():
    call, getattribute = nn.Module.__call__, nn.Module.__getattr__
    with pytest.raises(ZeroDivisionError):
        fx.symbolic_trace(lambda x: 1 / 0)
    assert nn.Module.__call__ is call and nn.Module.__getattr__ is getattribute
