# SPDX-License-Identifier: Apache-2.0
"""What programs do, in small: each function is run once per allocation that it makes. They check their own answers."""
import io
import os
import pathlib

import facula as torch
import numpy as np

EXAMPLE = pathlib.Path(os.path.abspath(torch.__file__)).parents[2] / "tests" / "backends" / "example.so"
F = torch.nn.functional


def expect(x, values):
    got = x.tolist()
    if got != values:
        raise AssertionError(f"wrong answer: {got}, not {values}")


def training_step():
    """Forward, backward and an update in place."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    w = torch.tensor([[1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    b = torch.zeros(2, requires_grad=True)
    y = F.linear(x, w, b).relu()
    loss = F.mse_loss(y, torch.zeros(2, 2))
    loss.backward()
    with torch.no_grad():
        for p in (w, b):
            p.add_(p.grad, alpha=-1.0)
            p.grad = None
    expect(w, [[-4.0, -7.0], [-7.0, -9.0]])


def convolution():
    x = torch.ones(1, 2, 4, 4, requires_grad=True)
    w = torch.ones(3, 2, 3, 3, requires_grad=True)
    y = F.max_pool2d(F.batch_norm(F.conv2d(x, w), None, None, training=True), 2)
    y.sum().backward()
    expect(y, [[[[0.0]], [[0.0]], [[0.0]]]])


def attention():
    q = torch.ones(1, 2, 4, requires_grad=True)
    p = (q @ q.transpose(-1, -2)).softmax(-1)
    y = F.layer_norm(p @ q, (4,))
    F.cross_entropy(y.reshape(2, 4), torch.tensor([0, 1])).backward()
    expect(p, [[[0.5, 0.5], [0.5, 0.5]]])


def hooks():
    seen = []
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
    x.register_hook(lambda g: g + 1)
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    y.retain_grad()
    y.grad_fn.register_prehook(lambda g: None)
    y.grad_fn.register_hook(lambda i, o: None)
    y.sum().backward()
    expect(x.grad, [5.0, 5.0])
    if seen != [[1.0, 1.0], [5.0, 5.0]]:
        raise AssertionError(f"wrong answer: {seen}")


def views():
    x = torch.zeros(2, 3, requires_grad=True)
    y = x * 1
    y[0].add_(1)
    y.t()[1:].mul_(2)
    a, b = y.split(1)
    z = y.reshape(-1)[::2]
    z.sum().backward()
    expect(x.grad, [[1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    expect(b, [[0.0, 0.0, 0.0]])


def indexing():
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    y = x[torch.tensor([0, 2])][:, [1, 3]] + x[x > 100].sum()
    z = x.detach().clone()
    z[1, ::2] = torch.tensor([7.0, 8.0])
    z[torch.tensor([True, False, True])] = 0
    torch.cat([y, torch.stack([y[0], y[1]])]).sort(0)[0].sum().backward()
    expect(x.grad, [[0.0, 2.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 2.0]])
    expect(z, [[0.0] * 4, [7.0, 5.0, 8.0, 7.0], [0.0] * 4])


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x)
        ctx.mark_dirty(y)
        return x * x, y.add_(1)

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g * 2 * x, h


def custom_function():
    x, y = torch.tensor([3.0], requires_grad=True), torch.zeros(1)
    a, b = Square.apply(x, y)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), lambda a: torch.from_numpy(a)):
        c = a.exp().log()
    (g,) = torch.autograd.grad(c.sum() + b.sum(), x, create_graph=True)
    expect((g * 10).round(), [60.0])


def exchange():
    a = np.arange(6.0).reshape(2, 3)
    x = torch.from_numpy(a)
    x.mul_(2)
    y = torch.from_dlpack(torch.ones(3))
    z = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(y * 3))
    b = np.asarray(x.t())
    v = torch.frombuffer(bytearray(8), dtype=torch.int32)
    expect(z + torch.tensor(b[:, 1]).sum() + v.sum(), [27.0, 27.0, 27.0])
    expect(torch.tensor([[1, 2], [3, 4]], dtype=torch.float64), [[1.0, 2.0], [3.0, 4.0]])


def errors_and_text():
    x = torch.arange(3.0, requires_grad=True)
    try:
        x @ torch.ones(2)
    except RuntimeError as error:
        if "memory" in str(error):
            raise
    try:
        torch.add(x, "x")
    except TypeError:
        pass
    if repr(x * 2) != "tensor([0., 2., 4.], grad_fn=<MulBackward0>)":
        raise AssertionError(f"wrong answer: {x * 2!r}")


def einsum_and_random():
    torch.manual_seed(1)
    g = torch.Generator()
    g.manual_seed(2)
    x = torch.rand(2, 3, generator=g)
    y = torch.einsum("ij,kj->ik", x, torch.ones(2, 3))
    expect((y.sum() - 2 * x.sum()).abs() < 1e-4, True)
    torch.randperm(5).sort()
    g.set_state(g.get_state())


SEEN = []


def note(op, args, kwargs, go_on):
    SEEN.append(op.name())
    return go_on(*args, **kwargs)


LAYER = torch.dispatch.Layer("faults", note)  # once: a layer is never freed


def modes():
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        x = torch.ones(2, 2) @ torch.ones(2, 2)
    with torch.inference_mode():
        y = torch.ones(2).add_(1)
    SEEN.clear()
    LAYER.enable()
    try:
        torch.ones(1).exp()
    finally:
        LAYER.disable()
    expect(x.float() + y, [[4.0, 4.0], [4.0, 4.0]])
    if "aten::exp" not in SEEN:
        raise AssertionError(f"wrong answer: {SEEN}")


def files():
    """Saved and loaded in each format."""
    x = torch.arange(3.0)
    for how in (True, False):
        buffer = io.BytesIO()
        torch.save({"x": x, "tail": x[1:], "n": [1, 1 << 70, "text", (2.5, None), {4}]}, buffer, _use_new_zipfile_serialization=how)
        buffer.seek(0)
        out = torch.load(buffer)
        expect(out["tail"], [1.0, 2.0])
        if out["n"] != [1, 1 << 70, "text", (2.5, None), {4}]:
            raise AssertionError(f"wrong answer: {out['n']}")
    expect(torch.safetensors.load(torch.safetensors.save({"x": x}))["x"], [0.0, 1.0, 2.0])


def device():
    """A backward on a plugin's device: its worker thread allocates too."""
    x = torch.ones(3).to(loaded()).requires_grad_()
    y = (x * 2).exp() + x.sort()[0]
    y.sum().backward()
    expect((x.grad.cpu() - 15.778).abs() < 1e-2, [True] * 3)


def value_profile():
    """Without memory a profile knows less; the program runs on, and nothing is found that is not there."""
    with torch.profiler.values(min_bytes=0) as v:
        x = torch.arange(200.0)
        y = torch.empty(200)
        y.fill_(2.0)
        z = (x * y).view(20, 10)
        y.copy_(x)
        total = float(z.sum() + y.sum())
    found = {f.pattern for f in v.findings} - {"structured", "inappropriate_float", "heavy_type", "single_value"}
    if total != 59700.0 or found:
        raise AssertionError(f"wrong answer: {total}, {found}")


def loaded():
    """The example backend; loads it if need be."""
    names = [b["name"] for b in torch.backends.backends()]
    return "example" if "example" in names else torch.load_backend(EXAMPLE)


def plugin_load():
    """A second try after a refusal must succeed."""
    x = torch.ones(2).to(loaded())
    expect((x + x).cpu(), [2.0, 2.0])


def library():
    """Operators defined at run time."""
    global defined
    defined = globals().get("defined", 0) + 1
    lib = torch.library.Library(f"faults{defined}", "DEF")
    lib.define("twice(Tensor x, int[2] sizes=0) -> (Tensor a, Tensor b)")
    lib.impl("twice", lambda x, sizes=(0, 0): (x * 2, x + sizes[0]), "CompositeImplicitAutograd")
    a, b = getattr(torch.ops, f"faults{defined}").twice(torch.ones(2), 3)
    expect(a + b, [6.0, 6.0])


ONCE = (plugin_load, library)  # change the process: each refusal in a process of its own
ALL = (training_step, convolution, attention, hooks, views, indexing, custom_function, exchange, errors_and_text, einsum_and_random, modes, files,
       plugin_load, library, device, value_profile)  # fmt: skip
