# SPDX-License-Identifier: Apache-2.0
"""torch.autograd.functional: Jacobians, Hessians and their products with vectors."""
import pytest


@pytest.fixture
def functional(torch):
    return torch.autograd.functional


def test_shapes_and_values_of_jacobians(torch, functional):
    x, y, s = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor(2.0)
    assert functional.jacobian(lambda a: a**2, x).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    assert functional.jacobian(lambda a: a.sum(0), y).tolist() == [[[1, 0], [1, 0]], [[0, 1], [0, 1]]]
    by_x, by_y = functional.jacobian(lambda a, b: a * b.sum(), (x, y))
    assert by_x.tolist() == [[10, 0, 0], [0, 10, 0], [0, 0, 10]] and by_y.shape == (3, 2, 2) and by_y[1].tolist() == [[2, 2], [2, 2]]
    total, twice = functional.jacobian(lambda a: (a.sum(), a * 2), x)
    assert total.tolist() == [1, 1, 1] and twice[2].tolist() == [0, 0, 2]
    (a, b), (c, d) = functional.jacobian(lambda a, b: (a * b, a), (s, x))
    assert a.tolist() == [1, 2, 3] and b[0].tolist() == [2, 0, 0] and c.item() == 1 and d.tolist() == [0, 0, 0]
    for how in ({"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
        assert functional.jacobian(lambda a: a**2, x, **how).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]


def test_hessians(torch, functional):
    x, s = torch.tensor([1.0, 2.0, 3.0]), torch.tensor(2.0)
    assert functional.hessian(lambda a: (a**3).sum(), x).tolist() == [[6, 0, 0], [0, 12, 0], [0, 0, 18]]
    (a, b), (c, d) = functional.hessian(lambda a, b: (a * b).sum() + a.pow(2).sum(), (x, s))
    assert a[1].tolist() == [0, 2, 0] and b.tolist() == c.tolist() == [1, 1, 1] and d.item() == 0
    assert functional.hessian(lambda a: a.sum(), x).tolist() == [[0, 0, 0]] * 3
    with pytest.raises(RuntimeError, match="function given to hessian should contain a single element"):
        functional.hessian(lambda a: a**2, x)
    with pytest.raises(RuntimeError, match="function given to hessian should return a single Tensor"):
        functional.hessian(lambda a: (a.sum(), a.sum()), x)


def test_products_with_vectors(torch, functional):
    x, s, v = torch.tensor([1.0, 2.0, 3.0]), torch.tensor(2.0), torch.tensor([1.0, 0.0, 2.0])
    for product in (functional.vjp, functional.jvp):
        out, result = product(lambda a: a**2, x, v)
        assert out.tolist() == [1, 4, 9] and result.tolist() == [2, 0, 12] and not out.requires_grad and not result.requires_grad
    _, (by_x, by_s) = functional.vjp(lambda a, b: (a * b, a + b), (x, s), (x, x))
    assert by_x.tolist() == [3, 6, 9] and by_s.item() == 20
    _, (first, second) = functional.jvp(lambda a, b: (a * b, a + b), (x, s), (x, s))
    assert first.tolist() == [4, 8, 12] and second.tolist() == [3, 4, 5]
    for product in (functional.hvp, functional.vhp):
        out, result = product(lambda a: (a**3).sum(), x, v)
        assert out.item() == 36 and result.tolist() == [6, 0, 36]
        _, (by_x, by_s) = product(lambda a, b: (a * b).sum() + a.pow(2).sum(), (x, s), (x, s))
        assert by_x.tolist() == [4, 6, 8] and by_s.item() == 6
        assert product(lambda a: a**3, s)[1].item() == 12  # v may be left out for one number
    assert functional.jvp(lambda a: torch.ones(2), x, x)[1].tolist() == [0, 0]


def test_graphs_are_made_when_asked_for(torch, functional):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert not functional.jacobian(lambda a: a**3, x).requires_grad
    functional.jacobian(lambda a: a**3, x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [6, 12]
    v = torch.ones(2)
    for product in (functional.vjp, functional.jvp):
        x.grad = None
        product(lambda a: a**3, x, v, create_graph=True)[1].sum().backward()
        assert x.grad.tolist() == [6, 12]
    for product in (functional.hvp, functional.vhp):
        x.grad = None
        product(lambda a: (a**3).sum(), x, v, create_graph=True)[1].sum().backward()
        assert x.grad.tolist() == [6, 6]
    with torch.no_grad():
        assert functional.jacobian(lambda a: a**2, x.detach()).tolist() == [[2, 0], [0, 4]]


def test_strict(torch, functional):
    x, s = torch.tensor([1.0, 2.0]), torch.tensor(2.0)
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function is independent of input 1"):
        functional.jacobian(lambda a, b: a, (x, s), strict=True)
    for f in (functional.jacobian, functional.vjp):
        with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not require gradients"):
            f(lambda a: torch.tensor(1.0), x, strict=True)
    with pytest.raises(RuntimeError, match="The output of the user-provided function is independent of input 1"):
        functional.vjp(lambda a, b: a, (x, s), x, strict=True)
    for f in (functional.hessian, lambda *args, **how: functional.hvp(*args, x, **how), lambda *args, **how: functional.vhp(*args, x, **how)):
        with pytest.raises(RuntimeError, match="jacobian of the user-provided function with respect to input 0 is independent of the input"):
            f(lambda a: a.sum(), x, strict=True)
    y = x.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="independent of input 0. This is not allowed in strict mode when create_graph=True"):
        functional.jacobian(lambda a: a * 2, y, strict=True, create_graph=True)


def test_wrong_arguments(torch, functional):
    x, s = torch.tensor([1.0, 2.0]), torch.tensor(2.0)
    for given, words in (([x], "the given inputs has type <class 'list'>"), ((x, 3), "the value at index 1 has type <class 'int'>")):
        with pytest.raises(TypeError, match=words):
            functional.jacobian(lambda *a: a[0], given)
    with pytest.raises(TypeError, match="outputs of the user-provided function given to jacobian must be either a Tensor or a tuple"):
        functional.jacobian(lambda a: 3, x)
    with pytest.raises(RuntimeError, match="v can only be None if the user-provided function returns a single Tensor with a single element"):
        functional.vjp(lambda a: a, x)
    with pytest.raises(RuntimeError, match="v can only be None if the input to the user-provided function is a single Tensor"):
        functional.jvp(lambda a, b: a, (s, s))
    with pytest.raises(RuntimeError, match=r"v has invalid size: should be torch.Size\(\[2\]\) but got torch.Size\(\[1\]\)"):
        functional.jvp(lambda a: a, x, torch.ones(1))
    with pytest.raises(RuntimeError, match="v is a tuple of invalid length: should be 2 but got 1"):
        functional.vjp(lambda a: (a, a), x, (x,))
    with pytest.raises(AssertionError, match="Expected strategy"):
        functional.jacobian(lambda a: a, x, strategy="sideways")
    with pytest.raises(NotImplementedError, match="vectorize=True"):
        functional.jacobian(lambda a: a, x, strategy="forward-mode")
    with pytest.raises(RuntimeError, match="not supported together"):
        functional.jacobian(lambda a: a, x, strict=True, vectorize=True)
