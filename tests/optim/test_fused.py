# SPDX-License-Identifier: Apache-2.0
"""Fused steps as operators: layouts, scales, and what they refuse."""
import pytest

pytestmark = pytest.mark.not_sanitized

OPTIONS = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-8, "amsgrad": False, "maximize": False}


def lists(torch, *makes, dtype=None):
    """Parameters, gradients, means and squares."""
    rows = []
    for k in range(4):
        rows.append([make(torch.arange(12.0).reshape(3, 4).to(dtype or torch.float32) * 0.1 + 0.2 * k) for make in makes])
    return rows


def test_any_layout(torch):
    """Rows, transposed tensors and parts of others give what rows give."""
    plain = lists(torch, lambda x: x.clone(), lambda x: x.clone(), lambda x: x.clone())
    mixed = lists(torch, lambda x: x.t().contiguous().t(), lambda x: torch.stack([x, x], -1)[..., 0], lambda x: x.clone())
    mixed[1][2] = mixed[1][2].t().contiguous().t()  # only the gradient
    for given in (plain, mixed):
        torch._fused_adamw_(*given, [], [torch.tensor(float(i + 1)) for i in range(3)], **OPTIONS)
    for a, b in zip(sum(plain, []), sum(mixed, []), strict=True):
        assert torch.equal(a, b)


def test_scales(torch):
    whole, scaled, skipped = (lists(torch, lambda x: x.clone()) for _ in range(3))
    scaled[1][0] *= 8
    steps = [torch.tensor(1.0)]
    torch._fused_adam_(*whole, [], steps, **OPTIONS)
    torch._fused_adam_(*scaled, [], steps, **OPTIONS, grad_scale=torch.tensor(8.0), found_inf=torch.tensor(0.0))
    for a, b in zip(sum(whole, []), sum(scaled, []), strict=True):
        torch.testing.assert_close(a, b)
    before = [x.clone() for x in sum(skipped, [])]
    torch._fused_adam_(*skipped, [], steps, **OPTIONS, grad_scale=torch.tensor(8.0), found_inf=torch.tensor(1.0))
    assert all(torch.equal(a, b) for a, b in zip(before, sum(skipped, []), strict=True))


def test_tensor_rate(torch):
    number, tensor = (lists(torch, lambda x: x.clone(), dtype=torch.float64) for _ in range(2))
    torch._fused_adam_(*number, [], [torch.tensor(1.0)], **OPTIONS)
    torch._fused_adam_(*tensor, [], [torch.tensor(1.0)], **{**OPTIONS, "lr": torch.tensor(0.1, dtype=torch.float64)})
    torch.testing.assert_close(number[0][0], tensor[0][0])


def test_threads_change_no_bit(torch):
    ends = []
    before = torch.get_num_threads()
    for threads in (1, 4):
        torch.set_num_threads(threads)
        given = [[torch.arange(n, dtype=torch.float32).add(k).sin() + 1.5 for n in (1, 50000, 7, 33333)] for k in range(4)]
        torch._fused_adamw_(*given, [], [torch.tensor(3.0)] * 4, **OPTIONS)
        ends.append(sum(given, []))
    torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*ends, strict=True))


def change(**new):
    """The lists of a good call with some replaced."""
    return lambda t: {**{"p": [t.ones(3)], "g": [t.ones(3)], "m": [t.ones(3)], "v": [t.ones(3)], "x": [], "s": [t.tensor(1.0)]},
                      **{k: f(t) for k, f in new.items()}}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "options", "kind", "text"),
    [
        (change(g=lambda t: []), {}, RuntimeError, "same number of tensors"),
        (change(s=lambda t: []), {}, RuntimeError, "same number of tensors"),
        (change(g=lambda t: [t.ones(4)]), {}, RuntimeError, "type and shape"),
        (change(g=lambda t: [t.ones(3, dtype=t.float64)]), {}, RuntimeError, "type and shape"),
        (change(s=lambda t: [t.ones(2)]), {}, RuntimeError, "one element"),
        (change(), {"amsgrad": True}, RuntimeError, "same number of tensors"),
        (change(**{k: lambda t: [t.ones(3, dtype=t.int32)] for k in "pgmv"}), {}, NotImplementedError, "not implemented for 'Int'"),
        (change(p=lambda t: [t.ones(3, requires_grad=True)]), {}, RuntimeError, "leaf"),
        (change(p=lambda t: [t.ones(1).expand(3)]), {}, RuntimeError, "single memory location"),
        (change(p=lambda t: [t.ones(3, device="meta")]), {}, RuntimeError, "same device"),
    ],
)
def test_refuses(torch, call, options, kind, text):
    if torch.__name__ != "facula":
        pytest.skip("PyTorch checks less")
    with pytest.raises(kind, match=text):
        torch._fused_adam_(*call(torch).values(), **{**OPTIONS, **options})


def test_optimizers_with_a_parameter_twice(torch):
    """Two steps, one after the other, as the loop makes them."""
    ends = []
    for foreach in (None, False):
        p = torch.ones(3, requires_grad=True)
        p.grad = torch.ones(3)
        with pytest.warns(UserWarning, match="duplicate"):
            made = torch.optim.SGD([p, p], lr=0.1, momentum=0.9, foreach=foreach)
        made.step()
        made.step()
        ends.append(p.detach())
    assert torch.equal(*ends)
