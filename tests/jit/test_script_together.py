# SPDX-License-Identifier: Apache-2.0
"""Where compiled, traced and plain modules and functions meet; what Python may do with a compiled module."""

import copy
import os
import pathlib
import subprocess
import sys
import threading

import pytest

import facula as torch
from facula import nn


class Scale(nn.Module):
    def __init__(self, by: int = 2):
        super().__init__()
        self.by = by
        self.weight = nn.Parameter(torch.ones(2))
        self.register_buffer("shift", torch.zeros(2))

    @property
    def twice(self) -> int:
        return self.by * 2

    @torch.jit.ignore
    def in_python(self, x):
        return x + self.by

    def forward(self, x):
        return x * self.by * self.weight + self.shift


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU(), Scale(3)])
        self.named = nn.ModuleDict({"a": Scale(4)})
        self.seq = nn.Sequential(Scale(), Scale(5))

    def forward(self, x):
        return self.seq(x)


def branch(x, n: int):
    if n > 2:
        x = x + 1
    for _ in range(n):
        x = x * 2
    return x


def signed(x):
    if bool(x.sum() > 0):
        return x + 1
    return x - 1


def double(x):
    return x * 2


def test_a_compiled_module_is_a_module():
    made = torch.jit.script(Network())
    x = torch.ones(2)
    assert isinstance(made, (torch.jit.ScriptModule, nn.Module)) and torch.jit.script(made) is made and made.original_name == "Network"
    assert [n for n, _ in made.named_modules()] == [n for n, _ in Network().named_modules()]
    assert list(made.state_dict()) == list(Network().state_dict())
    assert len(made.layers) == 2 and [m.original_name for m in made.layers] == ["ReLU", "Scale"] and made.layers[-1].by == 3
    assert list(made.named) == ["a"] and "a" in made.named and made.named["a"].by == 4 and made.seq[1](x).tolist() == [5, 5]
    assert len(made.seq[:1]) == 1 and bool(made) and made.seq[0].twice == 4 and made.seq[0].in_python(1) == 3
    made.seq[0].by = 7
    assert made(x).tolist() == [35, 35] and made.eval().layers.training is False and made.train().training
    assert made.double()(x.double()).dtype == torch.float64 and made.to(torch.float32)(x).dtype == torch.float32
    made.load_state_dict({k: v * 2 for k, v in made.state_dict().items()})
    assert made(x).tolist() == [140, 140]
    twin, shallow = copy.deepcopy(made), copy.copy(made)
    with torch.no_grad():
        made.seq[0].weight.zero_()
    assert twin(x).tolist() == [140, 140] and shallow(x).tolist() == [0, 0]
    twin.define("def more(self, x, n: int = 2):\n  return self.forward(x) + n\n")
    assert twin.more(x).tolist() == [142, 142]
    with pytest.raises(RuntimeError, match="Could not cast attribute 'by' to type int"):
        made.seq[0].by = "text"
    with pytest.raises(RuntimeError, match="Can't add a new parameter"):
        made.other = nn.Parameter(x)
    with pytest.raises(RuntimeError, match="Cannot re-assign modules"):
        made.seq = nn.ReLU()
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        made.nope  # noqa: B018


def test_equal_modules_share_a_class():
    a, b, other = torch.jit.script(Scale()), torch.jit.script(Scale()), torch.jit.script(nn.Sequential(Scale()))
    assert a._c._type() == b._c._type() == other[0]._c._type() != other._c._type()
    a.by = 9
    assert b.by == 2 and b(torch.ones(2)).tolist() == [2, 2]


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.scripted = torch.jit.script(nn.ReLU())
        self.traced = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2))
        self.function = torch.jit.trace(double, torch.ones(2))

    def forward(self, x):
        return self.function(self.scripted(self.traced(x)))


def test_traces_inside_of_sources():
    outer = Outer()
    made = torch.jit.script(outer)
    x = torch.randn(3, 2)
    assert torch.equal(made(x), outer(x)) and "prim::CallFunction" in str(made.graph) and "prim::CallMethod" in str(made.graph)


class Holds(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.jit.script(Scale())
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.inner(x))


def test_sources_inside_of_traces():
    made = torch.jit.script(branch)
    traced = torch.jit.trace(lambda x: made(x, 3) + 1, torch.ones(2))
    assert "prim::CallFunction" in str(traced.graph) and traced(torch.ones(2)).tolist() == [17, 17]
    traced = torch.jit.trace(Holds(), torch.ones(2))
    assert 'prim::CallMethod[name="forward"](%inner' in str(traced.graph) and traced(-torch.ones(2)).tolist() == [0, 0]
    keeps = torch.jit.script_if_tracing(signed)
    traced = torch.jit.trace(lambda x: keeps(x) * 2, torch.ones(2))
    assert traced(-torch.ones(2)).tolist() == [-4, -4] and keeps(torch.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize("cls", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_take_tensors_and_packed_sequences(cls):
    layer = cls(3, 4, num_layers=2, bidirectional=True)
    made = torch.jit.script(layer)
    x = torch.randn(5, 2, 3)
    torch.testing.assert_close(made(x)[0], layer(x)[0])
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 5]), enforce_sorted=False)
    wanted, found = layer(packed), made(packed)
    torch.testing.assert_close(found[0].data, wanted[0].data)
    torch.testing.assert_close(found[1], wanted[1])


class Forks(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Scale()

    def helper(self, x):
        return x * 3

    def forward(self, x):
        a = torch.jit.fork(self.inner, x)
        b = torch.jit.fork(self.helper, x)
        return torch.jit.wait(a) + torch.jit.wait(b)


def test_forks_of_modules_and_methods():
    made = torch.jit.script(Forks())
    assert made(torch.ones(2)).tolist() == [5, 5] and str(made.graph).count("prim::fork") >= 2


class Declared(torch.jit.ScriptModule):
    __constants__ = ["k"]

    def __init__(self, k):
        super().__init__()
        self.k = k
        self.linear = nn.Linear(2, 2)

    @torch.jit.script_method
    def forward(self, x):
        return self.helper(x) * self.k

    @torch.jit.script_method
    def helper(self, x):
        return self.linear(x)


def test_script_methods_of_a_class_of_the_program():
    made = Declared(3)
    x = torch.randn(2)
    assert torch.equal(made(x), made.linear(x) * 3) and "CallMethod" in str(made.graph) and list(made.state_dict()) == ["linear.weight", "linear.bias"]


def test_an_ignored_method_may_raise():
    class Raises(nn.Module):
        @torch.jit.ignore
        def bad(self, x) -> torch.Tensor:
            raise KeyError("of the program")

        def forward(self, x):
            return self.bad(x)

    with pytest.raises(Exception, match="of the program"):
        torch.jit.script(Raises())(torch.ones(1))


def test_a_class_that_changes_after_it_was_compiled_keeps_its_methods():
    class Changes(nn.Module):
        def forward(self, x):
            return x + 1

    first = torch.jit.script(Changes())
    Changes.forward = lambda self, x: x + 2
    assert first(torch.zeros(1)).item() == 1


def test_threads_compile_the_same_class():
    results = []

    def work():
        results.append(torch.jit.script(Network())(torch.ones(2)).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [[10, 10]] * 4


def test_a_failure_leaves_no_half_compiled_class():
    class Fails(nn.Module):
        def good(self, x):
            return x

        def forward(self, x):
            return self.good(x) + missing_name  # noqa: F821

    for _ in range(2):
        with pytest.raises(RuntimeError, match="undefined value missing_name"):
            torch.jit.script(Fails())


def test_pytorch_jit_0_compiles_nothing():
    program = "import facula as torch\nm = torch.nn.ReLU()\nassert torch.jit.script(m) is m\n"
    environment = {**os.environ, "PYTORCH_JIT": "0", "PYTHONPATH": str(pathlib.Path(torch.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=60)


class _Adds:
    def plus(self, x):
        return x + 1


@pytest.mark.parametrize("bound", [_Adds().plus, nn.Identity().forward])
def test_a_bound_method_is_compiled_as_its_function(bound):
    """As PyTorch does it: `self` is a parameter like others, and a tensor."""
    compiled = torch.jit.script(bound)
    assert [v.debugName().split(".")[0] for v in compiled.graph.inputs()][0] == "self"
    with pytest.raises(RuntimeError, match="missing value for argument"):
        compiled(torch.ones(2))


@pytest.mark.parametrize("obj", [3, "x", print, torch.add, torch.ones(2)], ids=["int", "str", "print", "operator", "tensor"])
def test_objects_of_built_in_classes_are_not_compiled(obj):
    with pytest.raises(TypeError, match="built-in class"):
        torch.jit.script(obj)
