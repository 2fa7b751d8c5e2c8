# SPDX-License-Identifier: Apache-2.0
"""linear_cross_entropy in chunks against itself at once, and grouped products against single ones."""
import pytest

pytestmark = pytest.mark.not_sanitized


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("kind", ["classes", "weights", "probabilities", "places"])
@pytest.mark.parametrize("options", [dict(batch_chunk_size=3), dict(), dict(chunking_method="aspect_ratio:2"), dict(chunking_method=None)])
def test_chunks(torch, reduction, kind, options):
    torch.manual_seed(1)
    x, bias = torch.randn(7, 5).double().requires_grad_(), torch.randn(11).double().requires_grad_()
    weight = torch.randn(11, 5).double().requires_grad_()
    target = torch.tensor([1, 0, 10, 3, 3, 2, 5])
    more = {}
    if kind == "weights":
        more = dict(weight=torch.rand(11).double(), ignore_index=3, label_smoothing=0.2)
    elif kind == "probabilities":
        target = torch.rand(7, 11).double()
    elif kind == "places":
        weight, bias, target = torch.randn(11, 2, 5).double().requires_grad_(), torch.randn(11, 2).double().requires_grad_(), torch.randint(0, 11, (7, 2))
    answers = []
    for how in (None, torch.nn.LinearCrossEntropyOptions(**options)):
        loss = torch.nn.functional.linear_cross_entropy(x, weight, target, linear_bias=bias, reduction=reduction, options=how, **more)
        answers.append([loss, *torch.autograd.grad((loss * loss).sum(), (x, weight, bias))])
    for a, b in zip(*answers):
        assert a.shape == b.shape and torch.allclose(a, b)


def test_module(torch):
    torch.manual_seed(1)
    m = torch.nn.LinearCrossEntropyLoss(4, 3, bias=True, options=torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2))
    x, t = torch.randn(5, 4), torch.tensor([0, 2, 1, 1, 0])
    assert torch.allclose(m(x, t), torch.nn.functional.cross_entropy(m.linear(x), t))
    assert list(m.state_dict()) == ["linear.weight", "linear.bias"]
    for bad in (dict(acc_policy="x"), dict(chunking_method="x"), dict(chunking_method="aspect_ratio:0"), dict(batch_chunk_size=0)):
        with pytest.raises(ValueError):
            torch.nn.LinearCrossEntropyOptions(**bad)


def test_grouped_products(torch):
    a, b = torch.randn(6, 4).double().requires_grad_(), torch.randn(3, 4, 2).double().requires_grad_()
    ends = torch.tensor([1, 1, 5], dtype=torch.int32)

    def run(a, b):
        return torch.nn.functional.grouped_mm(a, b, offs=ends)

    got = run(a, b)
    assert torch.allclose(got[:1], a[:1] @ b[0]) and torch.allclose(got[1:5], a[1:5] @ b[2]) and not got[5].any()
    assert torch.autograd.gradcheck(run, (a, b))
    for wrong in ([2, 1, 5], [1, 2, 7], [-1, 2, 3]):
        with pytest.raises(RuntimeError, match="offsets must not decrease"):
            torch.nn.functional.grouped_mm(a, b, offs=torch.tensor(wrong, dtype=torch.int32))


def test_implementations_of_attention(torch):
    from facula.nn import attention

    removed = []

    class Handle:
        def remove(self):
            removed.append(True)

    assert attention.current_flash_attention_impl() is None
    attention.register_flash_attention_impl("mine", register_fn=Handle)
    assert "mine" in attention.list_flash_attention_impls()
    attention.activate_flash_attention_impl("mine")
    assert attention.current_flash_attention_impl() == "mine"
    attention.restore_flash_attention_impl()
    assert removed and attention.current_flash_attention_impl() is None
    with pytest.warns(UserWarning, match="no other was activated"):
        attention.restore_flash_attention_impl()
    with pytest.raises(ValueError, match="Unknown flash attention impl 'x'"):
        attention.activate_flash_attention_impl("x")


def test_other_options_and_biases_are_told(torch):
    x, weight, target = torch.ones(2, 3), torch.ones(4, 3), torch.zeros(2, dtype=torch.int64)
    with pytest.raises(TypeError, match="options must be LinearCrossEntropyOptions"):
        torch.nn.functional.linear_cross_entropy(x, weight, target, options=torch.tensor(1.0))
    with pytest.raises(TypeError):
        torch.nn.functional.linear_cross_entropy(x, weight, target, linear_bias=())
    with pytest.raises(TypeError, match=r"linear_cross_entropy\(\): argument 'linear_weight' \(position 2\) must be Tensor, not tuple"):
        torch.nn.functional.linear_cross_entropy(x, (), target)


def test_the_order_of_parameters(torch):
    import inspect

    names = list(inspect.signature(torch.nn.LinearCrossEntropyLoss).parameters)
    assert names[-5:] == ["reduction", "weight", "ignore_index", "label_smoothing", "options"]
