# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions, as functions.

A transform differentiates with respect to fresh variables that it puts in the place of the inputs. They hang on the inputs
where those are part of a graph (of the caller, or of a transform further out), so transforms nest. Inside of vmap a
variable has a part for each sample, whose results are independent: one backward pass over their sum gives the gradient of
each. Tangents are the derivative of the backward pass with respect to its cotangents, in which it is linear.
"""

import contextlib
import functools

import facula as torch
from facula import autograd
from facula.autograd.forward_modes import follow_tangents
from facula.func._vmap import Batched, insert, lift, like, map_tensors, plain, vmap
from facula.utils._pytree import tree_flatten, tree_unflatten


def _detach(x):
    forward = autograd.function._forward
    return x.detach() if forward is None else forward._detach(x)


def _recording():
    """What a transform needs of the thread, whatever the modes of who calls it: graphs."""
    stack = contextlib.ExitStack()
    if torch.is_inference_mode_enabled():
        stack.enter_context(torch.inference_mode(False))
    stack.enter_context(torch.enable_grad())
    return stack


def _outside_inference(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if not torch.is_inference_mode_enabled():
            return function(*args, **kwargs)
        with torch.inference_mode(False):
            return function(*args, **kwargs)

    return wrapped


def _variable(x, what):
    """(x as a variable of its own, the tensor under its levels)."""
    if not isinstance(x, torch.Tensor):
        raise ValueError(f"{what}: Expected all inputs to be differentiated to be Tensors, got {type(x)}")
    x = lift(x)
    bottom = plain(x)
    if bottom.is_inference():  # what is saved for backward must be counted
        bottom = bottom.clone()
        x = like(x, bottom)
    if bottom.requires_grad:
        with torch.enable_grad():
            fresh = bottom.view_as(bottom)
    else:
        fresh = _detach(bottom).requires_grad_()
    return like(x, fresh), fresh


def _variables(tree, what):
    leaves, spec = tree_flatten(tree)
    pairs = [_variable(x, what) for x in leaves]
    return tree_unflatten([x for x, _ in pairs], spec), [x for x, _ in pairs], spec


def _only_ours(outputs, variables):
    """Whether nothing else than these variables can be differentiated through outputs: then no graph need be made."""
    ours = {autograd.graph.get_gradient_edge(plain(v)).node for v in variables}
    seen = set()
    waiting = [t.grad_fn for t in map(plain, outputs) if t.requires_grad and t.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if node in seen or node in ours:
            continue
        seen.add(node)
        if not node.next_functions:
            if getattr(getattr(node, "variable", None), "requires_grad", True):  # not one of forward_ad's, which are done with
                return False
        waiting += [n for n, _ in node.next_functions if n is not None]
    return all(plain(v).is_leaf for v in variables)


def _settled(tree, ours):
    """Results that hang on nothing but this transform's own variables, without their graph."""
    return map_tensors(lambda t: like(t, _detach(plain(t))), tree) if ours else tree


def _chain(x):
    """The levels of a tensor, innermost vmap first."""
    out = []
    while isinstance(x, Batched):
        out.append(x.level)
        x = x.value
    return out


def _lower(x, levels):
    """x with these levels as leading dimensions, those of outer vmaps first. Levels of vmaps further in stay."""
    if isinstance(x, Batched) and x.level not in levels:
        return Batched(_lower(x.value, levels).movedim(len(levels), 0), x.level)
    for level in reversed(levels):
        if level not in _chain(x):
            x = insert(x, level)
    return plain(x)


def _raise(x, model):
    """The inverse, with the levels of model."""
    if isinstance(x, Batched):
        return Batched(_raise(x.value.movedim(0, len(_chain(model))), model), x.level)
    return like(model, x)


@_outside_inference
def _gradients(outputs, cotangents, variables, create_graph):
    """The products with the Jacobian, one per variable; zeros where outputs do not depend on it."""
    used = [(plain(o), _lower(c, _chain(o))) for o, c in zip(outputs, cotangents, strict=True) if plain(o).requires_grad]
    if not used:
        return [like(v, torch.zeros_like(plain(v))) for v in variables]
    roots, seeds = zip(*used, strict=True)
    got = autograd.grad(roots, [plain(v) for v in variables], seeds, retain_graph=True, create_graph=create_graph, allow_unused=True)
    return [like(v, torch.zeros_like(plain(v))) if g is None else _raise(_as_variable_lies(g, v) if isinstance(v, Batched) else g, v) for g, v in zip(got, variables, strict=True)]


def _as_variable_lies(g, variable):
    """The gradient of each sample in the layout of the variable, which a batched product may have transposed."""
    one = plain(variable)
    for _ in _chain(variable):
        one = one.select(0, 0) if one.shape[0] else one.flatten(0, 1)
    return g.contiguous() if one.is_contiguous() and not g.is_contiguous() else g


def _positions(argnums, args, what):
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not numbers:
        raise RuntimeError(f"{what}: argnums must not be empty")
    out = []
    for n in numbers:
        if not isinstance(n, int) or isinstance(n, bool):
            raise RuntimeError(f"argnum must be an int, got {type(n)}")
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
        out.append(n % len(args))
    if len(set(out)) != len(out):
        raise RuntimeError(f"argnums elements must be unique. Got argnums={argnums}")
    return out


def _replaced(args, positions, values):
    args = list(args)
    for i, v in zip(positions, values, strict=True):
        args[i] = v
    return args


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns the gradient of func, whose result is one number, and the result."""

    def wrapped(*args, **kwargs):
        where = _positions(argnums, args, "grad")
        with _recording():
            inputs, variables, spec = _variables([args[i] for i in where], "grad")
            out = func(*_replaced(args, where, inputs), **kwargs)
        aux = None
        if has_aux:
            if not (isinstance(out, tuple) and len(out) == 2):
                raise RuntimeError("grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True")
            out, aux = out
        if not isinstance(out, torch.Tensor):
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a single tensor, got {type(out)}")
        if out.dim() != 0:
            raise RuntimeError(
                f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {out.dim()} dims. Maybe you wanted to "
                "use the vjp or jacrev APIs instead?"
            )
        if out.dtype.is_complex:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
        ours = _only_ours([out], variables)
        gradients = _gradients([out], [like(out, torch.ones_like(plain(out)))], variables, not ours)
        result = tree_unflatten(gradients, spec)
        result = tuple(result) if isinstance(argnums, tuple) else result[0]
        out, aux = _settled(out, ours), _settled(aux, ours)
        return (result, (out, aux)) if has_aux else (result, out)

    return _named(wrapped, func)


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of func, whose result is one number, with respect to the argument argnums."""
    both = grad_and_value(func, argnums, has_aux)

    def wrapped(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return _named(wrapped, func)


def _named(wrapped, func):
    return functools.wraps(func)(wrapped) if hasattr(func, "__name__") else wrapped


def _check_outputs(out, what):
    leaves, spec = tree_flatten(out)
    if not leaves:
        raise RuntimeError(f"{what}: Expected f to be a function that has non-empty output")
    for t in leaves:
        if not isinstance(t, torch.Tensor):
            raise RuntimeError(f"{what}: Expected f to return only Tensors, got {type(t)}")
    return leaves, spec


class _Linear:
    """A call of func whose derivative can be asked for, at any number of cotangents or tangents."""

    def __init__(self, func, primals, has_aux, what, tangents=False):
        with _recording():
            inputs, self.variables, self.in_spec = _variables(list(primals), what)
            if tangents:  # they are there whatever is recorded, and what they belong to may be changed in place
                passed = [x.clone() for x in self.variables]
                before = [plain(x)._version for x in passed]
                with follow_tangents():
                    out = func(*tree_unflatten(passed, self.in_spec))
                for x, given, version in zip(passed, tree_flatten(list(primals))[0], before, strict=True):
                    if plain(x)._version != version:
                        _write_back(given, x)
            else:
                out = func(*inputs)
        self.aux = None
        if has_aux:
            if not (isinstance(out, tuple) and len(out) == 2):
                raise RuntimeError(f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True")
            out, self.aux = out
        self.outputs, self.out_spec = _check_outputs(out, what)
        self.ours = _only_ours(self.outputs, self.variables)
        self.out = tree_unflatten([_settled(t, self.ours) for t in self.outputs], self.out_spec)
        self.aux = _settled(self.aux, self.ours)
        self.forward = None

    def vjp(self, cotangents):
        """Gradients, one per leaf of the inputs."""
        wanted = not self.ours or any(plain(c).requires_grad for c in cotangents)
        return _gradients(self.outputs, cotangents, self.variables, wanted)

    def jvp(self, tangents):
        """Tangents, one per leaf of the outputs."""
        if self.forward is None:  # the backward pass at cotangents that can be differentiated
            with _recording():
                seeds = [like(o, torch.zeros_like(plain(o)).requires_grad_()) for o in self.outputs]
                self.forward = seeds, self.vjp(seeds)
        seeds, gradients = self.forward
        wanted = not self.ours or any(plain(t).requires_grad for t in tangents)
        return _gradients(gradients, tangents, seeds, wanted)


def _write_back(given, changed):
    """A function that changes its argument in place changes what it was called with."""
    if isinstance(given, Batched) or plain(given).requires_grad:
        raise RuntimeError("jvp: an input that is part of a graph or of vmap was changed in place: use the operator that returns a new tensor")
    with torch.no_grad():
        given.copy_(_detach(plain(changed)))


def _check_like(given, wanted, what):
    leaves, spec = tree_flatten(given)
    if len(leaves) != len(wanted):
        raise RuntimeError(f"{what}: Expected {len(wanted)} Tensors, got {len(leaves)} in {spec}")
    for a, b in zip(leaves, wanted, strict=True):
        if not isinstance(a, torch.Tensor) or a.shape != b.shape:
            got = f"a Tensor of shape {tuple(a.shape)}" if isinstance(a, torch.Tensor) else str(type(a))
            raise RuntimeError(f"{what}: Expected a Tensor of shape {tuple(b.shape)}, got {got}")
    return leaves


def _same_structure(given, wanted):
    return tree_flatten(given)[1] == tree_flatten(wanted)[1]


class _Leaf:
    """What stands for a tensor where a structure is printed."""

    def __repr__(self):
        return "*"


def _printed(tree):
    leaves, spec = tree_flatten(tree)
    return repr(tree_unflatten([_Leaf()] * len(leaves), spec))


def vjp(func, *primals, has_aux=False):
    """func(*primals), and the function that gives the product of cotangents with its Jacobian."""
    call = _Linear(func, primals, has_aux, "vjp(f, *primals)")

    def vjp_fn(cotangents, retain_graph=True, create_graph=None):  # the graph is always kept
        if not _same_structure(cotangents, call.out):
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {_printed(cotangents)}, primal output: {_printed(call.out)}"
            )
        leaves = _check_like(cotangents, call.outputs, "vjp_fn")
        result = tree_unflatten(call.vjp(leaves), call.in_spec)
        return tuple(result)

    return (call.out, vjp_fn, call.aux) if has_aux else (call.out, vjp_fn)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """func(*primals), and the product of its Jacobian with tangents."""
    if not isinstance(primals, tuple):
        raise RuntimeError(f"jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals), got {type(primals)}")
    if not _same_structure(primals, tangents):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if primals is a tuple "
            f"of 3 tensors, tangents also must be. Got primals with structure {_printed(primals)} and tangents with structure {_printed(tangents)}"
        )
    call = _Linear(func, primals, has_aux, "jvp(f, primals, tangents)", tangents=True)
    leaves = _check_like(tangents, call.variables, "jvp(f, primals, tangents)")
    out = tree_unflatten(call.jvp(leaves), call.out_spec)
    return (call.out, out, call.aux) if has_aux else (call.out, out)


def linearize(func, *primals):
    """func(*primals), and the function that gives the product of its Jacobian with tangents."""
    call = _Linear(func, primals, False, "linearize", tangents=True)

    def jvp_fn(*tangents):
        if not _same_structure(tangents, primals):
            raise RuntimeError(f"Expected the tangents {_printed(tangents)} to have the same argspec as the primals {_printed(primals)}")
        return tree_unflatten(call.jvp(_check_like(list(tangents), call.variables, "linearize")), call.out_spec)

    return call.out, jvp_fn


def _basis(tensors):
    """For each tensor, all directions of all tensors: [n, *shape] with n the number of all elements."""
    sizes = [t.numel() for t in tensors]
    out, before = [], 0
    for t, size in zip(tensors, sizes, strict=True):
        block = torch.zeros(sum(sizes), size, dtype=t.dtype, device=t.device)
        block[before : before + size].fill_diagonal_(1) if size else None
        out.append(block.view(sum(sizes), *t.shape))
        before += size
    return out


def _jacobian(func, argnums, has_aux, chunk_size, what, rows):
    def wrapped(*args, **kwargs):
        where = _positions(argnums, args, what)
        call = _Linear(lambda *xs: func(*_replaced(args, where, xs), **kwargs), [args[i] for i in where], has_aux, what, tangents=not rows)
        ins, outs = call.variables, call.outputs
        from_, to, step = (outs, ins, call.vjp) if rows else (ins, outs, call.jvp)
        sizes = [t.numel() for t in from_]
        if any(sizes):
            all_rows = vmap(lambda *seeds: step(seeds), chunk_size=chunk_size, randomness="same")(*_basis(from_))
        else:  # no directions at all
            all_rows = [like(t, plain(t).new_zeros(plain(t).shape)).unsqueeze(0)[:0] for t in to]
        table = {}  # (number of an output, number of an input): its Jacobian
        for j, rows_of in enumerate(all_rows):
            for i, part in enumerate(rows_of.split(sizes)):
                block = part.reshape((*from_[i].shape, *to[j].shape))
                if not rows:
                    order = list(range(from_[i].dim(), block.dim())) + list(range(from_[i].dim()))
                    block = block.permute(order)
                table[(i, j) if rows else (j, i)] = block
        per_output = []
        for o in range(len(outs)):
            columns = tree_unflatten([table[o, i] for i in range(len(ins))], call.in_spec)
            per_output.append(tuple(columns) if isinstance(argnums, tuple) else columns[0])
        result = tree_unflatten(per_output, call.out_spec)
        result = _settled(result, call.ours)
        return (result, call.aux) if has_aux else result

    return _named(wrapped, func)


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of func, computed row by row: one backward pass for all rows at once."""
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")
    return _jacobian(func, argnums, has_aux, chunk_size, "jacrev", rows=True)


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that returns the Jacobian of func, computed column by column."""
    return _jacobian(func, argnums, has_aux, None, "jacfwd", rows=False)


def hessian(func, argnums=0):
    """A function that returns the second derivatives of func: jacfwd of jacrev."""
    return jacfwd(jacrev(func, argnums), argnums)
