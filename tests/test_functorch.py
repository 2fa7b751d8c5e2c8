# SPDX-License-Identifier: Apache-2.0
"""functorch, the package from before torch.func."""

import pytest


@pytest.fixture
def functorch(facula_only):
    from facula import functorch

    return functorch


def test_make_functional(torch, functorch):
    model = torch.nn.Linear(3, 2)
    f, weights = functorch.make_functional(model)
    x = torch.ones(4, 3)
    assert torch.equal(f(weights, x), model(x))
    gradients = functorch.grad(lambda w: f(w, x).sum())(weights)
    assert [tuple(g.shape) for g in gradients] == [(2, 3), (2,)] and gradients[1].tolist() == [4.0, 4.0]


def test_make_functional_with_buffers(torch, functorch):
    model = torch.nn.BatchNorm1d(3).eval()
    with pytest.raises(RuntimeError, match="make_functional_with_buffers"):
        functorch.make_functional(model)
    f, weights, buffers = functorch.make_functional_with_buffers(model, disable_autograd_tracking=True)
    assert not any(w.requires_grad for w in weights)
    assert torch.allclose(f(weights, buffers, torch.ones(2, 3)), model(torch.ones(2, 3)))


def test_combine_state_for_ensemble(torch, functorch):
    models = [torch.nn.Linear(3, 2) for _ in range(4)]
    f, weights, buffers = functorch.combine_state_for_ensemble(models)
    x = torch.ones(5, 3)
    together = functorch.vmap(f, in_dims=(0, 0, None))(weights, buffers, x)
    assert torch.allclose(together, torch.stack([m(x) for m in models]))
    with pytest.raises(RuntimeError, match="same class"):
        functorch.combine_state_for_ensemble([torch.nn.Linear(3, 2), torch.nn.ReLU()])
