# SPDX-License-Identifier: Apache-2.0
"""GVProf's samples as programs: the value flow of copies within and between memories, and patterns of arrays of 500, on the CPU
and on the HammerBlade device. What is expected follows from the programs."""

import pytest

pytestmark = pytest.mark.usefixtures("facula_only")
N = 1000


@pytest.fixture(params=["cpu", "hammerblade"])
def place(torch, request):
    if request.param != "cpu":
        try:
            torch.empty(1, device=request.param)
        except (RuntimeError, ValueError) as error:
            pytest.skip(f"this build has no {request.param} device: {error}")
    return request.param


def watched(torch, program, **options):
    with torch.profiler.values(mode="exact", min_bytes=0, share=0, **options) as v:
        program()
    return v


def flow(v, pattern="redundant"):
    return [(f.operator, f.bytes, round(f.share, 3)) for f in v.findings if f.pattern == pattern]


def test_repeated_copy(torch, place):
    host = torch.arange(N, dtype=torch.int32) % 7

    def program():
        to = torch.empty(N, dtype=torch.int32, device=place)
        to.copy_(host)
        to.sum()
        to.copy_(host)  # the same again
        to.sum()

    (again,) = [
        f for f in watched(torch, program, patterns="redundant").findings if f.operator == "aten::copy_"
    ]
    assert (again.bytes, again.share) == (4 * N, 1.0)
    edges = [e for e in watched(torch, program).graph.edges if e["type"] == "WRITE" and e["redundancy"] == 1]
    assert [(e["overwrite"], e["bytes"]) for e in edges] == [(1.0, 4 * N)]


def test_half_copy(torch, place):
    def program():
        a = torch.full((N,), 3, dtype=torch.int32, device=place)
        b = torch.full((N,), 3, dtype=torch.int32, device=place)
        b[: N // 2].copy_(a[: N // 2])
        b.sum()

    v = watched(torch, program)
    assert ("aten::copy_", 2 * N, 1.0) in flow(v)
    assert [
        (e["overwrite"], e["redundancy"])
        for e in v.graph.edges
        if e["type"] == "WRITE" and e["bytes"] == 2 * N
    ] == [(0.5, 1.0)]


def test_self_copy(torch, place):
    def program():
        a = torch.full((N,), 5, dtype=torch.int32, device=place)
        b = a.clone()
        a.copy_(b)  # what it holds
        a.sum()

    assert ("aten::copy_", 4 * N, 1.0) in flow(watched(torch, program))


def test_odd_elements_rewritten(torch, place):
    def program():
        p = torch.full((N,), 9, dtype=torch.int32, device=place)
        p[1::2].fill_(9)
        p.sum()

    v = watched(torch, program)
    assert ("aten::fill_", 2 * N, 1.0) in flow(v)
    node = next(f.node for f in v.findings if f.pattern == "redundant" and f.operator == "aten::fill_")
    edges = [e for e in v.graph.edges if e["target"] == node and e["type"] == "WRITE"]
    assert sum(e["bytes"] for e in edges) == 2 * N and all(e["redundancy"] == 1 for e in edges)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda torch, i: i * 0.0, {"single_zero"}),
        (lambda torch, i: i * 0.0 + 1.0, {"single_value"}),
        (lambda torch, i: 1 + i / 10000, {"structured", "approximate"}),
        (lambda torch, i: (i * 0 + 3).int(), {"single_value", "heavy_type"}),
        (lambda torch, i: (2 * i + 1).int(), {"structured"}),
    ],
    ids=["zeros", "ones", "1 + i/10000", "threes", "odd numbers"],
)
def test_patterns(torch, place, make, expected):
    i = torch.arange(500.0)
    given = make(torch, i)
    kinds = sorted(expected | {"single_zero", "single_value", "structured", "approximate", "frequent"})

    def program():
        there = given.to(place) if place != "cpu" else given.clone()
        there.sum()

    found = {
        f.pattern for f in watched(torch, program, patterns=kinds).findings if f.tensor.endswith("[500]")
    }
    assert expected <= found and found <= expected | {"approximate"}
