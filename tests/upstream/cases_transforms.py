# SPDX-License-Identifier: Apache-2.0
"""Derivatives as functions: of numbers and of nothing, through no_grad, in inference mode, of inputs changed in place."""


def x(t):
    return t.tensor([1.0, 2.0, 3.0])


def hidden(t):
    """A function all of whose work is under no_grad."""

    def f(v):
        with t.no_grad():
            return (v * v).sum()

    return f


def partly_hidden(t):
    def f(v):
        with t.no_grad():
            c = (v * v).sum()
        return c * v.sum()

    return f


def switched_off(t):
    def f(v):
        t.set_grad_enabled(False)
        try:
            return (v * v).sum()
        finally:
            t.set_grad_enabled(True)

    return f


def in_inference_mode(function):
    def run(t):
        with t.inference_mode():
            result = function(t, x(t))
            return (result.clone() if isinstance(result, t.Tensor) else result), t.is_inference_mode_enabled()

    return run


def keeps(t):
    z = x(t)
    t.func.jvp(lambda v: v.mul_(2), (z,), (t.ones(3),))
    return z


CASES = {}
for _name in ("jacfwd", "jacrev", "hessian"):
    CASES.update({
        f"{_name} of a number": lambda t, n=_name: getattr(t.func, n)(t.sin)(t.tensor(0.7)),
        f"{_name} of numbers in vmap": lambda t, n=_name: t.vmap(getattr(t.func, n)(t.sin))(x(t)),
        f"{_name} of nothing": lambda t, n=_name: list(getattr(t.func, n)(lambda v: v * v)(t.ones(0)).shape),
        f"{_name} of nothing, summed": lambda t, n=_name: getattr(t.func, n)(lambda v: v.sum())(t.ones(0)),
        f"{_name} whose result is empty": lambda t, n=_name: getattr(t.func, n)(lambda v: v[:0])(x(t)),
        f"{_name} of two numbers": lambda t, n=_name: getattr(t.func, n)(lambda a, b: a * b, (0, 1))(t.tensor(2.0), t.tensor(3.0)),
        f"{_name} with two results": lambda t, n=_name: getattr(t.func, n)(lambda v: (v.sum(), v * 2))(x(t)),
        f"{_name} of a matrix": lambda t, n=_name: list(getattr(t.func, n)(t.sin)(t.ones(2, 2)).shape),
        f"{_name} in inference mode": in_inference_mode(lambda t, v, n=_name: getattr(t.func, n)(lambda y: (y**3).sum())(v)),
    })  # fmt: skip
CASES.update({
    "jvp through no_grad": lambda t: t.func.jvp(hidden(t), (x(t),), (t.ones(3),)),
    "jvp partly through no_grad": lambda t: t.func.jvp(partly_hidden(t), (x(t),), (t.ones(3),))[1],
    "jvp through set_grad_enabled": lambda t: t.func.jvp(switched_off(t), (x(t),), (t.ones(3),))[1],
    "jacfwd through no_grad": lambda t: t.func.jacfwd(hidden(t))(x(t)),
    "linearize through no_grad": lambda t: t.func.linearize(hidden(t), x(t))[1](t.ones(3)),
    "grad through no_grad": lambda t: t.func.grad(hidden(t))(x(t)),
    "grad partly through no_grad": lambda t: t.func.grad(partly_hidden(t))(x(t)),
    "jacrev through no_grad": lambda t: t.func.jacrev(hidden(t))(x(t)),
    "jvp of what is detached": lambda t: t.func.jvp(lambda v: v.detach() * v, (x(t),), (t.ones(3),))[1],
    "grad of a complex result": lambda t: t.func.grad(lambda v: v.sum() * 1j)(x(t)),
    "grad of a complex result of complex numbers": lambda t: t.func.grad(lambda v: (v * v).sum())(t.tensor([1 + 1j])),
    "grad of a real result of complex numbers": lambda t: t.func.grad(lambda v: (v * v.conj()).sum().real)(t.tensor([1 + 1j])),
    "grad in inference mode": in_inference_mode(lambda t, v: t.func.grad(lambda y: (y * y).sum())(v)),
    "jvp in inference mode": in_inference_mode(lambda t, v: t.func.jvp(lambda y: (y * y).sum(), (v,), (t.ones(3),))[1]),
    "vjp in inference mode": in_inference_mode(lambda t, v: t.func.vjp(lambda y: (y * y).sum(), v)[1](t.tensor(1.0))[0]),
    "vmap of grad in inference mode": in_inference_mode(lambda t, v: t.vmap(t.func.grad(lambda y: (y * y).sum()))(t.ones(2, 3))),
    "grad of an input from before": lambda t: (lambda v: in_inference_mode(lambda t, _: t.func.grad(lambda y: (y * y).sum())(v))(t))(x(t)),
    "jvp of mul_ of the input": lambda t: t.func.jvp(lambda v: v.mul_(2), (x(t),), (t.ones(3),))[1],
    "jacfwd of mul_ of the input": lambda t: t.func.jacfwd(lambda v: v.mul_(2))(x(t)),
    "grad of mul_ of the input": lambda t: t.func.grad(lambda v: v.mul_(2).sum())(x(t)),
    "jvp of mul_ changes what it was given": keeps,
    "vmap of one_hot": lambda t: t.vmap(lambda v: t.nn.functional.one_hot(v, 3))(t.tensor([1, 2])),
    "vmap of one_hot of another dimension": lambda t: t.vmap(lambda v: t.nn.functional.one_hot(v, 3), in_dims=1)(t.tensor([[1, 2], [0, 1]])),
    "vmap of one_hot without classes": lambda t: t.vmap(lambda v: t.nn.functional.one_hot(v))(t.tensor([1, 2])),
    "vmap of grad of linear": lambda t: t.vmap(t.func.grad(lambda w, v: t.nn.functional.linear(v, w).sum()), (None, 0))(t.ones(3, 5), t.ones(4, 5)),
    "vmap of grad of linear of batches": lambda t: t.vmap(t.func.grad(lambda w, v: t.nn.functional.linear(v, w).sum()), (None, 0))(t.ones(3, 5), t.ones(4, 2, 5)),
    "vmap of grad of a product": lambda t: t.vmap(t.func.grad(lambda w, v: (v @ w.T).sum()), (None, 0))(t.ones(3, 5), t.ones(4, 5)),
})  # fmt: skip


def generator_closed(t):
    """In which mode the end of a generator runs that is decorated with no_grad."""
    seen = []

    @t.no_grad()
    def numbers():
        try:
            yield t.is_grad_enabled()
        finally:
            seen.append(t.is_grad_enabled())

    steps = numbers()
    seen.append(next(steps))
    steps.close()
    return seen, t.is_grad_enabled()


def array_without_grad(t):
    leaf = t.ones(2, requires_grad=True)
    with t.no_grad():
        return leaf.numpy().tolist()


CASES["a generator under no_grad that is closed"] = generator_closed
CASES["numpy under no_grad"] = array_without_grad
CASES["numpy of what requires a gradient"] = lambda t: t.ones(2, requires_grad=True).numpy()
