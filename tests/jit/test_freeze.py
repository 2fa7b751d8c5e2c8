# SPDX-License-Identifier: Apache-2.0
"""torch.jit.freeze: attributes become constants, what nothing reads goes away, what code changes stays."""

import io
import pathlib

import pytest

import facula as torch

ARCHIVES = pathlib.Path(__file__).parent.parent / "golden/jit/archives"
X = torch.linspace(-1.0, 1.0, 2 * 3 * 5 * 5).reshape(2, 3, 5, 5)


@pytest.mark.parametrize("name", ["theirs_script_Small", "theirs_trace_Small"])
def test_a_network_becomes_constants(name):
    module = torch.jit.load(ARCHIVES / f"{name}.pt")
    frozen = torch.jit.freeze(module.eval())
    plain = torch.jit.freeze(module, optimize_numerics=False)
    assert not list(frozen.parameters()) and not list(frozen.children()) and not list(frozen.buffers())
    kinds = [n.kind() for n in frozen.graph.nodes()]
    assert "prim::GetAttr" not in kinds and "prim::CallMethod" not in kinds
    assert "aten::batch_norm" not in kinds and "aten::batch_norm" in [n.kind() for n in plain.graph.nodes()]
    torch.testing.assert_close(frozen(X), module(X), rtol=1e-5, atol=1e-6)
    assert torch.equal(plain(X), module(X))
    assert len(list(module.parameters())) == 6, "the module itself is as it was"
    again = torch.jit.load(io.BytesIO(frozen.save_to_buffer()))
    assert torch.equal(again(X), frozen(X)) and again.code == frozen.code
    quick = torch.jit.optimize_for_inference(module)
    torch.testing.assert_close(quick(X), module(X), rtol=1e-5, atol=1e-6)
    assert torch.jit.optimize_for_inference(frozen) is frozen


def test_what_code_changes_stays():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(2))
            self.register_buffer("seen", torch.zeros(2))
            self.scale = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            self.seen.view(2).add_(x)
            self.total += x
            return x * self.scale + self.total

    module = torch.jit.trace(Counts().eval(), torch.ones(2), check_trace=False)
    frozen = torch.jit.freeze(module)
    assert [name for name, _ in frozen.named_buffers()] == ["total", "seen"]
    assert not list(frozen.parameters())
    before = frozen(torch.ones(2)).detach()
    assert torch.equal(frozen(torch.ones(2)), before + 1)


def test_names_that_are_kept_and_errors():
    module = torch.jit.load(ARCHIVES / "theirs_script_Unions.pt")
    module.eval()
    frozen = torch.jit.freeze(module, preserved_attrs=["other", "maybe"])
    assert torch.equal(frozen.other(torch.ones(2)), torch.ones(2) * 2)
    assert frozen.maybe is None
    with pytest.raises(AttributeError):
        torch.jit.freeze(module).other  # noqa: B018
    with pytest.raises(RuntimeError, match="Unknown name: absent"):
        torch.jit.freeze(module, ["absent"])
    with pytest.raises(RuntimeError, match="Freezing expects a ScriptModule"):
        torch.jit.freeze(torch.nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="eval mode"):
        torch.jit.freeze(module.train())
    with pytest.raises(RuntimeError, match="optimize_for_inference expects a ScriptModule"):
        torch.jit.optimize_for_inference(torch.nn.Linear(1, 1))


def test_objects_branches_and_loops_of_a_frozen_module():
    for name, args in (("Flow", (torch.ones(3), 7, True)), ("Shared", (torch.ones(3, 2),))):
        module = torch.jit.load(ARCHIVES / f"theirs_script_{name}.pt").eval()
        wanted, found = module(*args), torch.jit.freeze(module)(*args)
        for a, b in zip(wanted if isinstance(wanted, tuple) else (wanted,), found if isinstance(found, tuple) else (found,)):
            assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
