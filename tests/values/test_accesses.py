# SPDX-License-Identifier: Apache-2.0
"""Single loads and stores of kernels on the HammerBlade device: what of them is for nothing, by line and object."""

import pathlib

import pytest

pytestmark = pytest.mark.usefixtures("facula_only")
N = 500
KERNEL = """
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int tensorlib_wasteful(hb_tensor_t* out_, hb_tensor_t* in_, hb_tensor_t* sum_) {
  HBTensor<float> out(out_), in(in_), sum(sum_);
  volatile float* to = (volatile float*)out.data_ptr();
  const volatile float* from = (const volatile float*)in.data_ptr();
  hb_tiled_for(in.numel(), [&](size_t i) {
    float x = from[i];   // first
    float y = from[i];   // again
    to[i] = x;           // store
    to[i] = y;           // silent
  });
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(tensorlib_wasteful, hb_tensor_t*, hb_tensor_t*, hb_tensor_t*)
}
"""


@pytest.fixture
def hammerblade(torch):
    try:
        torch.empty(1, device="hammerblade")
    except (RuntimeError, ValueError) as error:
        pytest.skip(f"this build has no hammerblade device: {error}")
    return torch.hammerblade


def watched(torch, program, mode="check", **options):
    with (
        torch.profiler.values(instructions=True, min_bytes=0, share=0, **options) as v,
        torch.hammerblade.mode(mode),
    ):
        program()
    return v


def rows(v, kernel):
    return {r.kind: r for r in v.accesses.rows if kernel in r.kernel}


@pytest.mark.parametrize(
    ("make", "counts", "patterns"),
    [
        (lambda torch: torch.zeros(N), (N, N, 1), {"single_zero"}),
        (lambda torch: torch.zeros(N // 2), (N // 2, N // 2, 1), {"single_zero"}),
        (lambda torch: 1 + torch.arange(float(N)) / 10000, (N, N, N), {"structured", "approximate"}),
        (lambda torch: torch.full((N,), 3, dtype=torch.int32), (N, N, 1), {"single_value", "heavy_type"}),
        (lambda torch: 2 * torch.arange(N, dtype=torch.int32) + 1, (N, N, N), {"structured", "heavy_type"}),
    ],
    ids=["zeros", "half as many zeros", "1 + i/10000", "threes", "odd numbers"],
)
def test_items_and_their_patterns(torch, hammerblade, make, counts, patterns):
    given = make(torch).hammerblade()

    def program():
        given.clone()

    v = watched(torch, program)
    for kind in ("load", "store"):
        r = rows(v, "copy")[kind]
        assert (
            (r.accesses, r.unique_items, r.distinct) == counts
            and r.items == counts[1]
            and r.unique_accesses == counts[0]
        )
        assert set(r.patterns) - {"inappropriate_float"} >= patterns, r.patterns
        assert r.dtype == str(given.dtype).removeprefix("torch.")
    assert "approximate" not in patterns or rows(v, "copy")["load"].about == 1


def test_each_line_has_its_share(torch, hammerblade, tmp_path):
    path = tmp_path / "kernel_wasteful.cpp"
    path.write_text(KERNEL)
    hammerblade.load(str(path))
    lines = {
        text.split("// ")[1]: f"{path.name}:{i}"
        for i, text in enumerate(KERNEL.splitlines(), 1)
        if "  // " in text
    }
    a = torch.randn(N).hammerblade()
    out, total = torch.zeros(N, device="hammerblade"), torch.zeros(1, device="hammerblade")

    def program():
        for _ in range(2):
            hammerblade.launch("tensorlib_wasteful", out, a, total)

    found = rows(watched(torch, program), "wasteful")
    load = {line.split(" ")[0]: counts for line, *counts in found["load"].lines}
    store = {line.split(" ")[0]: counts for line, *counts in found["store"].lines}
    # accesses, silent, temporal, spatial: in the second launch the first line loads what the second one had seen; what is
    # stored in the first launch was unknown before, since the tensor is older than the profile.
    assert load[lines["first"]][:3] == [2 * N, N, 0] and load[lines["again"]][:3] == [2 * N, 2 * N, 2 * N]
    assert store[lines["store"]][:3] == [2 * N, N, 0] and store[lines["silent"]][:3] == [2 * N, 2 * N, 2 * N]
    most = max(a.cpu().tolist().count(x) for x in a.cpu().tolist())
    assert load[lines["first"]][3] == store[lines["silent"]][3] == 2 * most
    assert pathlib.Path(found["load"].file).name == pathlib.Path(__file__).name


def test_stores_to_memory_that_nobody_wrote_are_not_silent(torch, hammerblade):
    zeros = torch.zeros(N).hammerblade()

    def program():
        fresh = torch.empty(N, device="hammerblade")
        fresh.copy_(zeros)  # whatever lay there
        fresh.copy_(zeros)

    assert sum(r.silent for r in watched(torch, program).accesses.rows if r.kind == "store") == N


def test_rows_stand_at_the_operator_that_launched(torch, hammerblade):
    a = torch.randn(N).hammerblade()

    def program():
        a.exp()  # HERE

    r = rows(watched(torch, program), "exp")["store"]
    assert r.operator == "aten::exp" and pathlib.Path(r.file).name == pathlib.Path(__file__).name
    assert "# HERE" in pathlib.Path(r.file).read_text().splitlines()[r.line - 1]
    assert r.object.startswith(f"{4 * N} bytes of aten::exp at ")


def test_fast_mode_says_what_it_did_not_see(torch, hammerblade):
    a = torch.randn(N).hammerblade()
    v = watched(torch, lambda: (a.exp(), a.exp()), "fast")
    assert v.accesses.rows == [] and v.accesses.unseen == {"tensorlib_exp": 2}
    assert "tensorlib_exp: 2 launches in a mode that tells no loads and stores" in v.table()


def test_stacks_with_compiled_frames(torch):
    with torch.profiler.values(native=True, min_bytes=0) as v:
        x = torch.empty(50_000)
        x.zero_()
        x.zero_()
    (found,) = [f for f in v.findings if f.pattern == "redundant"]
    frames = [line for line in found.stack if "fc::" in line]
    assert frames and any(__file__ in line for line in found.stack) and not any("observe" in line for line in frames)


def test_without_instructions_nothing_is_asked(torch, hammerblade):
    a = torch.randn(N).hammerblade()
    with torch.profiler.values() as v, torch.hammerblade.mode("check"):
        a.exp()
    assert v.accesses.rows == [] and v.accesses.unseen == {}
    with pytest.raises(ValueError, match="instructions is True or False"):
        torch.profiler.values(instructions=1)


BROKEN = """
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int tensorlib_runs_over(hb_tensor_t* out_) {
  HBTensor<float> out(out_);
  volatile float* to = (volatile float*)out.data_ptr();
  for (int i = 0; i < 1 << 20; ++i) to[i] = 1.0f;
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(tensorlib_runs_over, hb_tensor_t*)
}
"""


def test_a_launch_that_is_ended_leaves_what_it_did(torch, hammerblade, tmp_path):
    path = tmp_path / "kernel_runs_over.cpp"
    path.write_text(BROKEN)
    hammerblade.load(str(path))
    a = torch.zeros(N, device="hammerblade")

    def program():
        with pytest.raises(RuntimeError, match="out of bounds|race"):
            hammerblade.launch("tensorlib_runs_over", a)
        a.exp()

    v = watched(torch, program)
    assert rows(v, "runs_over")["store"].accesses > 0 and rows(v, "exp")["load"].accesses == N


def test_profiles_beside_each_other(torch, hammerblade):
    a = torch.randn(N).hammerblade()
    with torch.profiler.values(instructions=True) as outer, torch.hammerblade.mode("check"):
        a.exp()
        inner = watched(torch, lambda: a.cos())  # the accesses are told to the one that came last, until it ends
        a.sin()
    assert {r.operator for r in inner.accesses.rows} == {"aten::cos"}
    assert "aten::exp" in {r.operator for r in outer.accesses.rows}
    with torch.profiler.values(instructions=True) as again, torch.hammerblade.mode("check"), torch.hammerblade.accesses() as seen:
        a.exp()
    assert seen.loads == sum(r.accesses for r in again.accesses.rows if r.kind == "load") == N
