# SPDX-License-Identifier: Apache-2.0
"""Programs with known waste: what the value profiler finds in each, to the line, the operator, the bytes and the share, and that
their mended twins are silent. The line is the one with the mark."""

import inspect

import pytest

pytestmark = pytest.mark.usefixtures("facula_only")
N = 20_000
BYTES = 4 * N


@pytest.fixture
def null_device(torch):
    if not any(b["name"] == "null" for b in torch.backends.backends()):
        pytest.skip("this build has no null device")
    return "null"


@pytest.fixture
def look(torch):
    def run(program, *args, **options):
        torch.manual_seed(0)
        data = torch.randn(N)
        with torch.profiler.values(**options) as v:
            x = data * 2
            float(x.sum())
            program(torch, x, *args)
        return v.findings

    return run


def marked(program, mark="HERE"):
    """Numbers of the lines with the mark."""
    lines, first = inspect.getsourcelines(program)
    return [first + i for i, line in enumerate(lines) if f"# {mark}" in line]


def told(findings, pattern):
    return [
        (f.operator, f.line, f.bytes, round(f.share, 3), f.calls) for f in findings if f.pattern == pattern
    ]


def patterns(findings):
    return {f.pattern for f in findings}


def double_zero(torch, x):
    x = torch.empty(N)
    x.zero_()  # DEAD
    x.zero_()  # HERE
    return float(x.sum())


def one_zero(torch, x):
    x = torch.empty(N)
    x.zero_()
    return float(x.sum())


def test_double_zero(look):
    found = look(double_zero)
    assert (
        told(found, "redundant")
        == told(found, "single_zero")
        == [("aten::zero_", *marked(double_zero), BYTES, 1.0, 1)]
    )
    assert told(found, "dead") == [("aten::zero_", *marked(double_zero, "DEAD"), BYTES, 1.0, 1)]
    assert patterns(found) == {"redundant", "single_zero", "dead"}
    assert (
        found[0].file == __file__
        and found[0].function == "double_zero"
        and "float32" in found[0].tensor
        and found[0].fix
    )
    assert look(one_zero) == []


def times_one(torch, x):
    y = x * 1.0  # HERE
    return float(y.sum())


def times_two(torch, x):
    y = x * 2.0
    return float(y.sum())


def test_times_one(look):
    found = look(times_one)
    assert told(found, "identity") == [("aten::mul", *marked(times_one), BYTES, 1.0, 1)] and patterns(
        found
    ) == {"identity"}
    assert look(times_two) == []


def drawn_then_copied(torch, x):
    y = torch.empty(N)
    y.normal_()  # HERE
    y.copy_(x)
    y.mul_(3)
    return float(y.sum())


def copied(torch, x):
    y = torch.empty(N)
    y.copy_(x)
    y.mul_(3)
    return float(y.sum())


def test_drawn_then_copied(look):
    found = look(drawn_then_copied)
    assert told(found, "dead") == [("aten::normal_", *marked(drawn_then_copied), BYTES, 1.0, 1)] and patterns(
        found
    ) == {"dead"}
    assert look(copied) == []


def two_clones(torch, x):
    a = x.clone()  # HERE
    b = x.clone()  # HERE
    return float(a.sum() + b.sum() + x.sum())


def clone_that_changes(torch, x):
    a = x.clone()
    a.mul_(2)
    return float(a.sum() + x.sum())


def test_two_clones(look):
    found = look(two_clones)
    lines = marked(two_clones)
    assert sorted(told(found, "duplicate")) == [
        ("aten::clone", line, BYTES, 1.0, 1) for line in lines
    ] and patterns(found) == {"duplicate"}
    assert look(clone_that_changes) == []


def batch_each_step(torch, x, device):
    for _ in range(3):
        y = x.to(device)  # HERE
        y.add(1)


def batch_once(torch, x, device):
    y = x.to(device)
    for i in range(3):
        y.add(i + 1)


def test_batch_copied_in_every_step(look, torch, null_device):
    found = look(batch_each_step, null_device)
    assert told(found, "duplicate") == [("aten::to", *marked(batch_each_step), 2 * BYTES, 0.667, 2)]
    assert told(look(batch_once, null_device), "duplicate") == []


def flags(torch, x):
    y = (x > 1).to(torch.int64)  # HERE
    return float(y.sum())


def small_flags(torch, x):
    y = x > 1
    return float(y.sum())


def test_flags(look):
    found = look(flags)
    assert told(found, "heavy_type") == [("aten::to", *marked(flags), 7 * N, 0.875, 1)]
    assert patterns(found) == {"heavy_type", "frequent"}  # one of two values is most of them
    assert look(small_flags) == []


def mostly_zeros(torch, x):
    y = torch.relu(x - 2.5631)  # HERE
    return float(y.sum())


def few_zeros(torch, x):
    y = torch.relu(x + 2.5631)
    return float(y.sum())


def test_mostly_zeros(look):
    found = look(mostly_zeros)
    assert told(found, "frequent") == [("aten::relu", *marked(mostly_zeros), BYTES, 1.0, 1)] and patterns(
        found
    ) == {"frequent"}
    assert 0.89 < float(found[0].detail.split("%")[0]) / 100 < 0.91 and found[0].detail.endswith("are 0")
    assert look(few_zeros) == []


def made_anew(torch, x):
    total = 0.0
    for _ in range(3):
        i = torch.arange(N)  # HERE
        total += float(x[i].sum())
    return total


def made_once(torch, x):
    total = 0.0
    i = torch.arange(N)
    for step in range(3):
        total += float((x + step)[i].sum())
    return total


def test_made_anew(look):
    assert told(look(made_anew, patterns="repeated"), "repeated")[0] == (
        "aten::arange",
        *marked(made_anew),
        2 * 8 * N,
        0.667,
        2,
    )
    assert look(made_once, patterns="repeated") == []


def half_there(torch, x):
    x = torch.empty(N)
    x[: N // 2].fill_(1.5)  # DEAD
    x.fill_(1.5)  # HERE
    return float(x.sum())


def all_at_once(torch, x):
    x = torch.empty(N)
    x.fill_(1.5)
    return float(x.sum())


def test_half_there(look):
    found = look(half_there)
    assert told(found, "redundant") == [("aten::fill_", *marked(half_there), BYTES // 2, 0.5, 1)]
    assert told(found, "dead") == [("aten::fill_", *marked(half_there, "DEAD"), BYTES // 2, 1.0, 1)]
    assert look(all_at_once) == []


def in_backward(torch, x, once=False):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            out = torch.empty_like(g)
            out.zero_()
            if not once:
                out.zero_()
            return (out + 3) * g

    x.requires_grad_()
    y = Double.apply(x)  # HERE
    (y * y).sum().backward()


def test_waste_inside_of_a_functions_backward(look):
    found = [f for f in look(in_backward) if f.operator == "aten::zero_"]
    assert told(found, "redundant") == [("aten::zero_", *marked(in_backward), BYTES, 1.0, 1)]
    assert all(f.forward and f.backward.startswith(__file__) for f in found)
    assert [f for f in look(in_backward, True) if f.operator == "aten::zero_"] == []


# --- what is no waste, though it may look so


def recycled(torch, x):
    for _ in range(4):  # the same place in memory, with the same zeros in it
        y = torch.zeros(N)
        y.sum()
        del y


def through_numpy(torch, x):
    y = torch.empty(N)
    array = y.numpy()
    for i in range(3):
        y.fill_(i)
        array[:] = 7
        y.fill_(i)


def odd_numbers(torch, x):
    y = torch.full((N,), float("nan"))
    y.sum()
    y.copy_(x)
    y.add_(1)
    y.sum()
    z = torch.full((N,), -0.0)
    z.sum()
    z.zero_()
    z.sum()


def drawn(torch, x):
    total = 0.0
    for _ in range(3):
        total += float(torch.randn(N).sum())
    return total


def accumulated(torch, x):
    w = (x * 3).requires_grad_()
    for i in range(2):
        y = (w * (x + (i + 1))).square()
        y.sum()
        y.backward(x)  # a sum's gradient is ones, by which a formula would multiply for nothing
    w.grad.sum()


@pytest.mark.parametrize("program", [recycled, through_numpy, odd_numbers, drawn, accumulated])
@pytest.mark.parametrize("mode", ["default", "exact"])
def test_traps(look, program, mode):
    assert look(program, mode=mode) == []


@pytest.mark.parametrize(
    "program", [double_zero, times_one, drawn_then_copied, two_clones, flags, mostly_zeros, half_there]
)
def test_exact_agrees(look, program):
    assert [str(f).split(":")[0] for f in sorted(look(program, mode="exact"), key=str)] == [
        str(f).split(":")[0] for f in sorted(look(program), key=str)
    ]


# --- contexts and filters


def test_modules_ranges_and_filters(torch):
    class Wasteful(torch.nn.Module):
        def forward(self, x):
            return x * 1.0

    net = torch.nn.Sequential(torch.nn.Identity(), Wasteful())

    def run(**options):
        with torch.profiler.values(patterns="identity", **options) as v:
            x = torch.randn(N) + 1
            with torch.profiler.record_function("my part"):
                net(x).sum()
            Wasteful()(x).sum()
        return v.findings

    inside, alone = sorted(run(scopes=True), key=lambda f: -len(f.scope))
    assert (
        inside.scope == "my part / nn.Module: Sequential / nn.Module: Sequential.1"
        and alone.scope == "nn.Module: Wasteful"
    )
    assert [f.scope for f in run(modules="*my part*")] == [inside.scope] and len(
        run(files="*test_wasteful_programs.py")
    ) == 2
    assert (
        run(operators="aten::add") == []
        and len(run(operators=["mul"])) == 2
        and run(exclude="aten::mul") == []
    )


def test_regions_and_ignored_tensors(torch):
    from facula.vprof import ignore

    x, y = torch.empty(N), ignore(torch.empty(N))
    with torch.profiler.values(patterns="redundant") as v:
        x.zero_()
        with v.pause():
            x.zero_()
        x.zero_()  # what was written meanwhile is unknown
        y.zero_()
        y.zero_()
    assert v.findings == []


def test_sampling_says_what_it_looked_at(torch):
    x = torch.randn(N) + 1
    with torch.profiler.values(mode="budget", budget=0.0, patterns="frequent") as v:
        for _ in range(50):
            torch.relu(x - 1.8).sum()
    (found,) = v.findings
    assert (
        found.looked == 3
        and found.of == 50
        and found.interval[0] < 0.6
        and found.interval[1] == 1.0
        and "3 of 50 calls looked at" in str(found)
    )


def test_what_is_asked_for_wrongly(torch):
    for wrong in (
        {"mode": "fast"},
        {"patterns": ["odd"]},
        {"share": 3},
        {"frequent": "half"},
        {"approximate": 0},
        {"min_bytes": 1.5},
    ):
        with pytest.raises(ValueError, match="values: "):
            torch.profiler.values(**wrong)
    with pytest.raises(TypeError, match="unknown option 'colour'"):
        torch.profiler.values(colour="red")
    v = torch.profiler.values()
    with v, pytest.raises(RuntimeError, match="running already"):
        v.start()
    with pytest.raises(ValueError, match="assert_none: patterns are some of"):
        v.assert_none("odd")


def test_assert_none(look, torch):
    with torch.profiler.values() as v:
        double_zero(torch, None)
    with pytest.raises(
        AssertionError,
        match=r"redundant: aten::zero_ at .*test_wasteful_programs.py:\d+, float32 \[20000\]: 80,000 bytes, share 1.00",
    ):
        v.assert_none("redundant", min_bytes=4096)
    v.assert_none("redundant", min_bytes=10**6)
    v.assert_none("identity")
