# SPDX-License-Identifier: Apache-2.0
"""Checks gradients against finite differences, in double precision."""

from facula import _C
from facula._tensor import Tensor

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


class GradcheckError(RuntimeError):
    """Numerical and analytical gradients disagree."""


def _as_tuple(x):
    return x if isinstance(x, tuple) else tuple(x) if isinstance(x, list) else (x,)


def _is_differentiable(x):
    return isinstance(x, Tensor) and x.requires_grad


def _flat(x):
    """All tensors of arguments that may be nested in lists and tuples."""
    for item in x:
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, (list, tuple)):
            yield from _flat(item)


def _outputs(function, inputs):
    return tuple(o for o in _as_tuple(function(*inputs)) if isinstance(o, Tensor) and (o.is_floating_point() or o.is_complex()))


def _row(t):
    """All elements, on the CPU in double precision."""
    return t.detach().reshape(-1).to("cpu", _C.complex128 if t.is_complex() else _C.float64)


def _numerical(function, inputs, x, eps):
    """A Jacobian for each output, [directions, elements of the output]: one direction for each element of x, of complex ones two,
    along 1 and along 1j."""
    data = x.data  # a version counter of its own: poking at it is no in-place change of x
    flat = data.reshape(-1) if data.is_contiguous() else None
    directions = (eps, eps * 1j) if x.is_complex() else (eps,)
    jacobians = []
    for i in range(x.numel()):
        for step in directions:
            position = i
            if flat is not None:
                cell = flat
            else:
                index = []
                for size in reversed(x.shape):
                    index.insert(0, position % size)
                    position //= size
                cell, position = data, tuple(index)
            before = cell[position].item()
            cell[position] = before + step
            high = [o.detach().clone() for o in _outputs(function, inputs)]
            cell[position] = before - step
            low = [o.detach().clone() for o in _outputs(function, inputs)]
            cell[position] = before
            jacobians.append([_row((h - lo) / (2 * eps)) for h, lo in zip(high, low, strict=True)])
    stack = _C._functions["stack"]
    return [stack(columns) for columns in zip(*jacobians, strict=True)]


def _analytical(outputs, x, which, position, imaginary):
    output = outputs[which]
    seed = output.detach().clone().zero_() if output.is_contiguous() else output.detach().contiguous().zero_()
    seed.view(-1)[position] = 1j if imaginary else 1
    (g,) = _run([output], [seed], [x])
    return _row(x.detach().new_zeros(x.shape) if g is None else g)


def _run(outputs, seeds, inputs):
    return _C._run_backward(outputs, seeds, inputs, True, False, True, False)


def gradcheck(
    func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
    check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False, check_backward_ad=True,
    fast_mode=False, masked=None,
):  # fmt: skip
    """Compare the gradients of func(*inputs) with central differences; inputs should be float64.

    check_forward_ad: tangents (torch.autograd.forward_ad), too; without check_backward_ad they alone. The other options that
    begin with check_ and fast_mode are accepted: every element is compared.
    """
    if not (check_forward_ad or check_backward_ad):
        raise ValueError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise ValueError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    try:
        _check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol, check_forward_ad, check_backward_ad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _replaced(x, old, new):
    if isinstance(x, (list, tuple)):
        items = [_replaced(item, old, new) for item in x]
        return items if isinstance(x, list) else tuple(items)
    return new if x is old else x


def _check_forward(func, inputs, x, jacobians, i, atol, rtol):
    from facula import zeros
    from facula.autograd.forward_ad import dual_level, make_dual, unpack_dual

    for j in range(len(jacobians[0]) if jacobians else 0):  # in the order of _numerical
        with dual_level():
            element, unit = (j // 2, (1, 1j)[j % 2]) if x.is_complex() else (j, 1)
            direction = zeros(x.numel(), dtype=x.dtype, device=x.device)
            direction[element] = unit
            dual = make_dual(x, direction.view(x.shape))
            found = [unpack_dual(o).tangent for o in _outputs(func, _replaced(inputs, x, dual))]
            found = [None if t is None else _row(t) for t in found]
        for which, (row, numerical) in enumerate(zip(found, jacobians, strict=True)):
            row = numerical[j] * 0 if row is None else row
            _compare(row.unsqueeze(1), numerical[j].unsqueeze(1), atol, rtol, which, i, element, "computed with forward mode ")


def _check(func, inputs, eps, atol, rtol, nondet_tol, forward, backward):
    differentiable = [t for t in _flat(inputs) if t.requires_grad]
    if not differentiable:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")
    for x in differentiable:
        if x.dtype not in (_C.float64, _C.complex128):
            import warnings

            warnings.warn(f"gradcheck: an input of type {x.dtype} is too imprecise for finite differences; use float64", stacklevel=3)
        if any(stride == 0 and size > 1 for size, stride in zip(x.shape, x.stride(), strict=True)):
            raise RuntimeError("gradcheck: an input has elements that share memory; expand() it inside the function instead")
        if not x.is_leaf:
            x.retain_grad()
    outputs = _outputs(func, inputs)
    if backward and not any(o.requires_grad for o in outputs):
        for i, x in enumerate(differentiable):
            if any((jacobian.abs() > atol).any() for jacobian in _numerical(func, inputs, x, eps)):
                raise GradcheckError(f"Numerical gradient for function expected to be zero, but it is not, for input {i}")
        return
    for i, x in enumerate(differentiable):
        jacobians = _numerical(func, inputs, x, eps)
        if forward:
            _check_forward(func, inputs, x, jacobians, i, atol, rtol)
        if not backward or x.numel() == 0:
            continue
        for which, output in enumerate(outputs):
            if not output.requires_grad or output.numel() == 0:
                continue
            for imaginary in (False, True) if output.is_complex() else (False,):
                found = []
                for position in range(output.numel()):
                    found.append(_analytical(outputs, x, which, position, imaginary))
                    if not imaginary and not _same(found[-1], _analytical(outputs, x, which, position, False), nondet_tol):
                        raise GradcheckError("Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different values")
                _compare(_C._functions["stack"](found), _expected(jacobians[which], x.is_complex(), imaginary), atol, rtol, which, i)


def _same(a, b, tolerance):
    return bool(((a == b) | ((a - b).abs() <= tolerance) | ((a != a) & (b != b))).all())


def _expected(jacobian, complex_input, imaginary):
    """What backward must return for grad_output 1, or 1j, [elements of the output, of the input], from the derivatives along 1
    (and 1j)."""
    part = jacobian if not jacobian.is_complex() else jacobian.imag if imaginary else jacobian.real
    part = part.t()
    return _C._functions["complex"](part[:, ::2].contiguous(), part[:, 1::2].contiguous()) if complex_input else part


def _compare(found, expected, atol, rtol, which, i, element=None, how=""):
    """Matrices: elements of the output and of the input; or of the output alone, along one element of the input."""
    fits = (found - expected).abs() <= atol + rtol * expected.abs()
    if bool(fits.all()):
        return
    position, j = (~fits).nonzero()[0].tolist()
    raise GradcheckError(
        f"Jacobian {how}mismatch for output {which} with respect to input {i}, at element {position} of the output and "
        f"{j if element is None else element} of the input:\nnumerical: {expected[position, j].item()}\nanalytical: {found[position, j].item()}"
    )


def gradgradcheck(
    func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False, raise_exception=True,
    nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False, check_fwd_over_rev=False,
    check_rev_over_rev=True, fast_mode=False, masked=False,
):  # fmt: skip
    """Check the gradients of the gradients of func(*inputs)."""
    from facula import zeros
    from facula.autograd import grad

    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        seeds = []
        for k, o in enumerate(_outputs(func, inputs)):
            seed = zeros(o.shape, dtype=o.dtype, device=o.device)
            flat = seed.view(-1)
            for n in range(o.numel()):  # fixed numbers without a random generator: the check must not change its state
                flat[n] = ((n * 7 + k * 3) % 11 - 5) / 4 + 0.1
            seeds.append(seed.requires_grad_())
        grad_outputs = tuple(seeds)
    else:
        grad_outputs = _as_tuple(grad_outputs)
    n = len(grad_outputs)

    def gradients(*args):
        given, seeds = args[: len(args) - n], args[len(args) - n :]
        wanted = [t for t in _flat(given) if t.requires_grad]
        outputs = _outputs(func, given)
        pairs = [(o, s) for o, s in zip(outputs, seeds, strict=True) if o.requires_grad]
        found = grad([o for o, _ in pairs], wanted, [s for _, s in pairs], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
    )  # fmt: skip
