# SPDX-License-Identifier: Apache-2.0
"""torch.utils.benchmark and torch.utils.flop_counter."""
import pytest


def test_timer(torch):
    from facula.utils.benchmark import Compare, Measurement, Timer

    timer = Timer("x + 1", globals={"x": torch.ones(4)}, label="sum", sub_label="small", description="here")
    once = timer.timeit(20)
    assert once.number_per_run == 20 and len(once.raw_times) == 1 and 0 < once.mean < 1 and once.title == "sum: small"
    many = timer.blocked_autorange(min_run_time=0.02)
    assert sum(many.raw_times) >= 0.02 and "measurement" in repr(many) and many.median > 0
    assert timer.adaptive_autorange(max_run_time=0.05).median > 0
    merged = Measurement.merge([once, once])
    assert len(merged) == 1 and len(merged[0].raw_times) == 2
    text = str(Compare([once, many]))
    assert "[sum]" in text and "small" in text and "here" in text and "Times are in" in text
    for wrong in (lambda: Timer("x", language="C++"), timer.collect_callgrind):
        with pytest.raises(NotImplementedError):
            wrong()


def test_flops(torch):
    """The figures are PyTorch's."""
    from facula.utils.flop_counter import FlopCounterMode

    nn = torch.nn
    a, b, c = torch.ones(3, 4), torch.ones(4, 5), torch.ones(2, 3, 4)
    with FlopCounterMode(display=False) as count:
        a @ b
        torch.bmm(c, torch.ones(2, 4, 6))
    assert count.get_total_flops() == 2 * 3 * 4 * 5 + 2 * 2 * 3 * 4 * 6
    model = nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))
    x = torch.ones(2, 4, 8, 8, requires_grad=True)
    with FlopCounterMode(display=False) as count:
        y = model(x)
    conv, linear = 2 * 2 * 36 * (8 * 4 * 9), 2 * 2 * 288 * 10
    assert count.get_total_flops() == conv + linear and set(count.get_flop_counts()) == {"Global", "Sequential", "Sequential.0", "Sequential.3"}
    assert "Sequential.3" in count.get_table(depth=2)
    with FlopCounterMode(display=False) as count:
        y.sum().backward()
    assert count.get_total_flops() == 2 * (conv + linear)
    q = torch.ones(1, 2, 5, 4)
    with FlopCounterMode(display=False) as count:
        nn.functional.scaled_dot_product_attention(q, q, q)
    assert count.get_total_flops() == 2 * 2 * 2 * 5 * 5 * 4
    with FlopCounterMode(display=False) as count:
        nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
        nn.functional.conv_transpose2d(torch.ones(1, 2, 5, 5), torch.ones(2, 3, 3, 3))
    assert count.get_total_flops() == 2 * 2 * 2 * 5 * 5 * 4 + 2 * 25 * 2 * 3 * 9


def test_flops_of_formulas(torch):
    """A registered formula counts a call whole: what it calls inside is not added."""
    from facula.utils.flop_counter import FlopCounterMode

    aten = torch.ops.aten
    with FlopCounterMode(display=False, custom_mapping={aten.linear: lambda x, w, *bias, out_val: x.numel(), aten.relu.default: lambda x, out_val: 7}) as count:
        torch.nn.functional.relu(torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3)))
        torch.mm(torch.ones(2, 3), torch.ones(3, 4))
    assert count.get_flop_counts() == {"Global": {aten.linear: 6, aten.relu: 7, aten.mm: 48}}
    with pytest.raises(RuntimeError, match="mat1|size"), FlopCounterMode(display=False) as count:
        torch.mm(torch.ones(2, 3), torch.ones(2, 3))
    assert count.get_total_flops() == 0
    with FlopCounterMode(display=False) as outer, FlopCounterMode(display=False) as inner:
        torch.mm(torch.ones(2, 3), torch.ones(3, 4), out=torch.empty(2, 4))
    assert outer.get_total_flops() == inner.get_total_flops() == 48


def test_timers_of_nothing(torch):
    from facula.utils.benchmark import Timer

    with pytest.raises(ValueError, match="Invalid language `fortran`"):
        Timer("1", language="fortran")
    with pytest.raises(NotImplementedError, match="Python only"):
        Timer("1", language="c++")
    with pytest.raises(ValueError, match="at least one run"):
        Timer("1").timeit(-1)
