# SPDX-License-Identifier: Apache-2.0
"""Kernel files: loaded, launched by name, bound to operators, replaced while the program runs; and what goes wrong."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from functools import partial

import pytest

pytestmark = [pytest.mark.skipif(not (shutil.which(os.environ.get("CXX", "c++").split()[0]) or shutil.which("g++")), reason="no C++ compiler to compile kernels with"), pytest.mark.not_sanitized]

BETTER = """
#include <facula_hb/kernel.h>
template <class T>
void {name}(hb::Out<T> out, hb::In<T> a, T factor) {{
  hb::map(out, [&](T x) {{ return {body}; }}, a);
}}
HB_KERNEL({name}, "", HB_NUMBERS)
"""
PORT = """
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int tensorlib_vincr(hb_tensor_t* t0, hb_tensor_t* t1, float* by) {
  HBTensor<float> out(t0), in(t1);
  float amount = *by;
  hb_tiled_foreach([amount](float x) { return x + amount; }, out, in);
  if (__bsg_id == 0) bsg_printf("added %d\\n", (int)amount);
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(tensorlib_vincr, hb_tensor_t*, hb_tensor_t*, float*)
}
"""


def write(path, text):
    path.write_text(text)
    os.utime(path, ns=(time.time_ns(), time.time_ns()))  # another time even where the file system's clock is coarse


def test_a_file_of_ones_own_and_its_next_version(torch, tmp_path):
    file = tmp_path / "scaled.cpp"
    write(file, BETTER.format(name="scaled", body="x * factor"))
    assert set(torch.hammerblade.load(file)) == {"tensorlib_scaled", "tensorlib_scaled_Int", "tensorlib_scaled_Long"}
    x, out = torch.arange(100.0).hammerblade(), torch.empty(100, device="hammerblade")
    torch.hammerblade.launch("tensorlib_scaled", out, x, 3)
    assert torch.equal(out.cpu(), torch.arange(100.0) * 3)
    n = torch.arange(5).hammerblade()
    m = torch.empty_like(n)
    torch.hammerblade.launch("tensorlib_scaled_Long", m, n, 2)
    assert m.cpu().tolist() == [0, 2, 4, 6, 8]

    assert torch.hammerblade.reload() == []
    write(file, BETTER.format(name="scaled", body="x + factor"))
    start = time.perf_counter()
    assert "tensorlib_scaled" in torch.hammerblade.reload()
    print(f"reloaded in {time.perf_counter() - start:.2f} s")
    torch.hammerblade.launch("tensorlib_scaled", out, x, 3)
    assert torch.equal(out.cpu(), torch.arange(100.0) + 3)

    write(file, BETTER.format(name="scaled", body="x + no_such_thing"))
    with pytest.raises(RuntimeError, match="no_such_thing"):
        torch.hammerblade.reload()
    torch.hammerblade.launch("tensorlib_scaled", out, x, 4)  # the old one stays
    assert torch.equal(out.cpu(), torch.arange(100.0) + 4)
    with torch.hammerblade.mode("check"):  # compiles it once more: only its own kernels are not to be had
        assert (x + x).cpu()[3].item() == 6
        for _ in range(2):
            with pytest.raises(RuntimeError, match="(?s)the kernel does not compile.*scaled.cpp.*no_such_thing"):
                torch.hammerblade.launch("tensorlib_scaled", out, x, 4)
        with pytest.raises(RuntimeError, match="there is no kernel tensorlib_scaledd .*nearest is tensorlib_scaled"):
            torch.hammerblade.launch("tensorlib_scaledd", out, x, 4)
    torch.hammerblade.launch("tensorlib_scaled", out, x, 5)
    assert torch.equal(out.cpu(), torch.arange(100.0) + 5)
    file.unlink()  # a file that is gone is not compiled
    assert torch.hammerblade.reload() == []


def test_every_pointwise_kernel_equals_its_formula_on_made_up_arguments(torch, tmp_path):
    file = tmp_path / "scaled2.cpp"
    write(file, BETTER.format(name="scaled2", body="x * factor"))
    torch.hammerblade.load(file)
    assert torch.hammerblade.verify("tensorlib_scaled2", lambda a, f: a * f) == 20
    assert torch.hammerblade.verify("tensorlib_scaled2_Long", lambda a, f: a * f) == 20
    with pytest.raises(AssertionError, match="tensorlib_scaled2, example 0"):
        torch.hammerblade.verify("tensorlib_scaled2", lambda a, f: a * f + 1)
    for name in ["exp", "sigmoid", "tanh", "neg", "abs", "maximum", "mul", "sign", "round", "floor", "eq", "lt"]:
        torch.hammerblade.verify(f"tensorlib_{name}", getattr(torch, name), examples=4)
    assert torch.hammerblade.verify("tensorlib__softmax", make=lambda r: [torch.randn(r.randint(1, 9), r.randint(1, 9)), 1, False], examples=4) == 4


def test_a_header_that_changes_reloads_the_files_that_include_it(torch, tmp_path):
    file, first, second = tmp_path / "including.cpp", tmp_path / "first.h", tmp_path / "inner" / "second.def"
    second.parent.mkdir()
    first.write_text('  #  include "inner/second.def"  // from the file that says it\n')
    second.write_text("#define BY 2\n")
    write(file, '#include "first.h"\n' + BETTER.format(name="including", body="x * BY").replace("HB_NUMBERS", "HB_FLOATS"))
    torch.hammerblade.load(file)
    x, out = torch.ones(3).hammerblade(), torch.empty(3, device="hammerblade")
    assert torch.hammerblade.reload() == []
    write(second, "#define BY nothing\n")
    reload = partial(torch.hammerblade._device._call, "reload")
    for repeated in (False, True):
        with pytest.raises(RuntimeError, match="(?s)the kernel does not compile.*nothing"):
            reload() if repeated else reload(1)
    assert reload(1) == ""  # what watch() asks: it has been told of this
    torch.hammerblade.launch("tensorlib_including", out, x, 0)
    assert out.cpu().tolist() == [2.0] * 3
    write(second, "#define BY 7\n")
    assert reload(1).splitlines() == ["tensorlib_including"] and torch.hammerblade.reload() == []
    torch.hammerblade.launch("tensorlib_including", out, x, 0)
    assert out.cpu().tolist() == [7.0] * 3


def test_the_files_of_faculas_own_kernels_are_watched(torch):
    kernels = {k.name: k for k in torch.hammerblade.kernels()}
    folder = pathlib.Path(kernels["tensorlib__softmax"].file).parent
    own = {k.file for k in kernels.values() if pathlib.Path(k.file).parent == folder}
    assert {pathlib.Path(file).name for file in own} == {file.name for file in folder.glob("*.cpp")}  # those of formulas, too
    assert kernels["tensorlib__softmax"].operator == "aten::_softmax" and os.path.exists(kernels["tensorlib__softmax"].file)
    assert kernels["tensorlib__softmax"].parameters == ("out float32", "in float32", "number int64", "ignored")


def test_a_kernel_takes_an_operator_over(torch, tmp_path):
    file = tmp_path / "halved.cpp"
    write(file, '#include <facula_hb/kernel.h>\\ntemplate <class T>\\nvoid halved(hb::Out<T> out, hb::In<T> a) { hb::map(out, [](T x) { return x / 2; }, a); }\\nHB_KERNEL(halved, "", HB_FLOATS)\\n'.replace("\\n", "\n"))
    torch.hammerblade.load(file)
    x = torch.tensor([1.0, -4.0]).hammerblade()
    want = torch.tensor([1.0, -4.0]).sigmoid()
    torch.testing.assert_close(x.sigmoid().cpu(), want)
    torch.hammerblade.bind("aten::sigmoid", "tensorlib_halved")
    try:
        assert x.sigmoid().cpu().tolist() == [0.5, -2.0]
        torch.testing.assert_close(x.double().float().tanh().cpu(), torch.tensor([1.0, -4.0]).tanh())
    finally:
        torch.hammerblade.bind("aten::sigmoid", None)
    torch.testing.assert_close(x.sigmoid().cpu(), want)


def test_a_file_of_the_port(torch, tmp_path):
    file = tmp_path / "kernel_vincr.cpp"
    write(file, PORT)
    assert torch.hammerblade.load(file) == ["tensorlib_vincr"]
    x = torch.arange(50.0).hammerblade()
    out = torch.empty_like(x)
    torch.hammerblade.echo(False)
    torch.hammerblade.launch("tensorlib_vincr", out, x, 2.0)
    torch.hammerblade.echo(True)
    assert torch.equal(out.cpu(), torch.arange(50.0) + 2)
    assert torch.hammerblade.printed() == "(0,0) added 2\n"
    with torch.hammerblade.mode("check"):
        torch.hammerblade.launch("tensorlib_vincr", out, x, 5.0)
    assert torch.equal(out.cpu(), torch.arange(50.0) + 5)
    torch.hammerblade.bind("aten::add.Scalar", None)  # nothing was bound: nothing happens
    assert torch.equal(torch.vincr(x).cpu(), torch.arange(50.0) + 1)  # Facula's own kernel of this name goes on
    torch.hammerblade.bind("aten::leaky_relu", "tensorlib_vincr")  # result, tensor, number
    try:
        torch.hammerblade.echo(False)
        for mode in ("fast", "check"):
            with torch.hammerblade.mode(mode):
                assert torch.equal(torch.nn.functional.leaky_relu(x, 3.0).cpu(), torch.arange(50.0) + 3)
        whole = torch.nn.functional.leaky_relu(x.int().float()[:0], 3.0)
        assert whole.shape == (0,)  # not for the kernel
    finally:
        torch.hammerblade.echo(True)
        torch.hammerblade.bind("aten::leaky_relu", None)
    torch.testing.assert_close(torch.nn.functional.leaky_relu(-x, 3.0).cpu(), torch.arange(50.0) * -3)


ABS = """
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int tensorlib_own_abs(hb_tensor_t* t0, hb_tensor_t* t1) {
  HBTensor<float> out(t0), in(t1);  // line: opened
  hb_tiled_foreach([](float x) { return x < 0 ? -x : x; }, out, in);
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(tensorlib_own_abs, hb_tensor_t*, hb_tensor_t*)
__attribute__((noinline)) int tensorlib_own_count(hb_tensor_t* t0, hb_tensor_t* t1) {
  HBTensor<int> out(t0);
  HBTensor<char> in(t1);
  if (__bsg_id == 0)
    for (uint32_t i = 0; i < in.numel(); ++i) out(0) += in(i);
  g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(tensorlib_own_count, hb_tensor_t*, hb_tensor_t*)
}
"""


@pytest.mark.parametrize("mode", ["fast", "check"])
def test_elements_of_another_type_are_told(torch, tmp_path, mode):
    file = tmp_path / "kernel_own_abs.cpp"
    write(file, ABS)
    torch.hammerblade.load(file)
    line = next(i for i, text in enumerate(ABS.splitlines(), 1) if "// line: opened" in text)
    with torch.hammerblade.mode(mode):
        for dtype, name in ((torch.int32, "int32"), (torch.float16, "float16 or bfloat16"), (torch.int64, "int64"), (torch.float64, "float64"), (torch.complex64, "another type")):
            x = torch.tensor([-3, 5]).to(dtype).hammerblade()
            with pytest.raises(RuntimeError, match=rf"tile .* opens a tensor of {name} as one of float32 at kernel_own_abs.cpp:{line}.*\[element type"):
                torch.hammerblade.launch("tensorlib_own_abs", torch.empty_like(x), x)
        x = torch.tensor([-3.0, 5.0]).hammerblade()
        out = torch.empty_like(x)
        torch.hammerblade.launch("tensorlib_own_abs", out, x)
        assert out.cpu().tolist() == [3.0, 5.0]
        mask, count = torch.tensor([True, False, True]).hammerblade(), torch.zeros(1, dtype=torch.int32).hammerblade()
        torch.hammerblade.launch("tensorlib_own_count", count, mask)  # bytes are bytes
        assert count.cpu().item() == 2


def test_binding_what_does_not_exist_or_fit(torch, tmp_path):
    file = tmp_path / "kernel_own_abs.cpp"
    write(file, ABS)
    torch.hammerblade.load(file)
    bind = torch.hammerblade.bind
    with pytest.raises(RuntimeError, match=r"no operator aten::add: there is aten::add.Tensor"):
        bind("aten::add", "tensorlib_own_abs")
    with pytest.raises(RuntimeError, match=r"no operator aten::sigmoidd: there is aten::sigmoid"):
        bind("aten::sigmoidd", "tensorlib_own_abs")
    with pytest.raises(RuntimeError, match=r"tensorlib_own_abs cannot do aten::sum: the operator has 1 result, then its arguments \(aten::sum.*takes \(hb_tensor_t\*, hb_tensor_t\*\)"):
        bind("aten::sum", "tensorlib_own_abs")
    with pytest.raises(RuntimeError, match=r"tensorlib_sigmoid cannot do aten::add.Tensor"):
        bind("aten::add.Tensor", "tensorlib_sigmoid")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bind("aten::abs", "tensorlib_own_abs")
        try:
            assert torch.tensor([-1.0, 2.0]).hammerblade().abs().cpu().tolist() == [1.0, 2.0]
            assert torch.ones(0, dtype=torch.int32).hammerblade().abs().shape == (0,)
            n = torch.tensor([-1, 2], dtype=torch.int32).hammerblade()
            with pytest.warns(UserWarning, match="tensorlib_own_abs does not do this call of aten::abs, which goes another way: argument 0 .*is a tensor of float32 by its name, but was given one of int32"):
                n.abs()
            assert n.abs().cpu().tolist() == [1, 2]  # said once
        finally:
            bind("aten::abs", None)


def test_a_kernel_for_an_operator_of_ones_own_says_what_it_lacks(torch, tmp_path):
    file = tmp_path / "owned.cpp"
    write(file, BETTER.format(name="owned", body="x * factor").replace('"", HB_NUMBERS', '"hb_test::owned", HB_FLOATS'))
    torch.library.define("hb_test::owned", "(Tensor x, float factor) -> Tensor")
    torch.hammerblade.load(file)
    x = torch.ones(3).hammerblade()
    with pytest.warns(UserWarning, match="tensorlib_owned does not do this call of hb_test::owned.*torch.library.register_fake"), pytest.raises(NotImplementedError):
        torch.ops.hb_test.owned(x, 2.0)
    torch.library.register_fake("hb_test::owned", lambda x, factor: torch.empty_like(x))
    assert torch.ops.hb_test.owned(x, 2.0).cpu().tolist() == [2.0] * 3
    unknown = tmp_path / "unknown.cpp"
    write(unknown, BETTER.format(name="unknown", body="x * factor").replace('"", HB_NUMBERS', '"hb_test::unknown", HB_FLOATS'))
    with pytest.warns(UserWarning, match="offers the operator 'hb_test::unknown'"):
        torch.hammerblade.load(unknown)
    with warnings.catch_warnings():  # once
        warnings.simplefilter("error")
        torch.hammerblade.bind("aten::sigmoid", "tensorlib_sigmoid")
        torch.hammerblade.bind("aten::sigmoid", None)


def test_headers_beside_a_file_and_characters_of_the_chip(torch, tmp_path):
    (tmp_path / "kernel_beside.hpp").write_text("#define BESIDE 128\n")
    file = tmp_path / "kernel_beside.cpp"
    write(file, ABS.replace("#include <kernel_common.hpp>", "#include <kernel_common.hpp>\n#include <kernel_beside.hpp>").replace("own_", "beside_").replace("HBTensor<int> out(t0);", "HBTensor<int> out(t0); const char c[] = {BESIDE}; if (c[0] < 0) return 1;"))
    for mode in ("fast", "check"):
        with torch.hammerblade.mode(mode):
            assert "tensorlib_beside_abs" in torch.hammerblade.load(file)


def test_what_is_no_file_is_not_waited_for(torch, tmp_path):
    file = tmp_path / "piped.cpp"
    write(file, BETTER.format(name="piped", body="x * factor"))
    torch.hammerblade.load(file)
    file.unlink()
    os.mkfifo(file)
    assert torch.hammerblade.reload() == []
    with pytest.raises(RuntimeError, match="piped.cpp: it is not a file"):
        torch.hammerblade.load(file)
    with pytest.raises(OverflowError):
        torch.hammerblade.tiles(2**70, 1)


def test_bad_launches(torch):
    x, y = torch.ones(4, device="hammerblade"), torch.ones(4, device="hammerblade", dtype=torch.int32)
    with pytest.raises(RuntimeError, match="there is no kernel tensorlib_sigmoidd .*nearest is tensorlib_sigmoid"):
        torch.hammerblade.launch("tensorlib_sigmoidd", x, x)
    with pytest.raises(RuntimeError, match="takes 3 arguments, but was given 1"):
        torch.hammerblade.launch("tensorlib_sigmoid", x)
    with pytest.raises(RuntimeError, match="argument 1 of tensorlib_sigmoid is a tensor of float32, but was given one of int32"):
        torch.hammerblade.launch("tensorlib_sigmoid", x, y)
    with pytest.raises(RuntimeError, match="device"):
        torch.hammerblade.launch("tensorlib_sigmoid", x, torch.ones(4))
    with pytest.raises(RuntimeError, match="No such file"):
        torch.hammerblade.load("/nowhere/kernel.cpp")
    with pytest.raises(RuntimeError, match="64"):
        torch.hammerblade.tiles(100, 1)
    with pytest.raises(RuntimeError, match="modes are fast, check and sim"):
        torch.hammerblade.mode("slow")
    with pytest.raises(RuntimeError, match="no kernel tensorlib_none"):
        torch.hammerblade.bind("aten::sigmoid", "tensorlib_none")
    assert (x + x).cpu().tolist() == [2.0] * 4  # nothing of this hurt


def test_bad_index_and_memory(torch):
    table = torch.ones(4, 2).hammerblade()
    with pytest.raises(IndexError, match="9"):
        torch.nn.functional.embedding(torch.tensor([1, 9]).hammerblade(), table)
    assert torch.nn.functional.embedding(torch.tensor([1, 3]).hammerblade(), table).sum().item() == 4
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(2**33, device="hammerblade")
    big = torch.empty(2**27, device="hammerblade")
    del big
    assert torch.empty(2**27, device="hammerblade").numel() == 2**27


def test_a_machine_that_cannot_be_read(torch, tmp_path):
    bad = tmp_path / "bad.machine"
    bad.write_text("[tiles]\nx = many\n")
    with pytest.raises(RuntimeError, match="bad.machine:2"):
        torch.hammerblade.machine(bad)
    assert torch.hammerblade.machine() == "pod_X1Y1_ruche_X16Y8"
    program = "import facula as torch; torch.ones(2, device='hammerblade')"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "FACULA_HB_MACHINE": str(bad)}, capture_output=True, text=True)
    assert done.returncode == 1 and "bad.machine:2" in done.stderr, done.stderr


HANGS = """
#include <kernel_common.hpp>
extern "C" {
__attribute__((noinline)) int tensorlib_hangs(hb_tensor_t* t0) {
  (void)t0;
  if (__bsg_id != 0) g_barrier.sync();
  return 0;
}
HB_EMUL_REG_KERNEL(tensorlib_hangs, hb_tensor_t*)
}
"""


def test_a_kernel_that_hangs_is_ended(torch, tmp_path):
    file = tmp_path / "hangs.cpp"
    write(file, HANGS)
    torch.hammerblade.load(file)
    torch.hammerblade.watchdog(1)
    try:
        with pytest.raises(RuntimeError, match="barrier"):
            torch.hammerblade.launch("tensorlib_hangs", torch.ones(2, device="hammerblade"))
    finally:
        torch.hammerblade.watchdog(60)
    assert torch.ones(3, device="hammerblade").sum().item() == 3


WATCHES = """
import torch
import os, signal, sys, time
torch.hammerblade.load(sys.argv[1])
x = torch.ones(2).hammerblade()
def result():
    out = torch.empty_like(x)
    torch.hammerblade.launch("tensorlib_watched", out, x, 3.0)
    return out.cpu()[0].item()
assert result() == 3
with open(sys.argv[1]) as f:
    text = f.read()
with open(sys.argv[1] + ".new", "w") as f:
    f.write(text.replace("x * factor", "x + factor"))
os.replace(sys.argv[1] + ".new", sys.argv[1])
end = time.monotonic() + 60
while result() != 4:
    assert time.monotonic() < end, "the new kernel is not used"
    time.sleep(0.01)
if "dies" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_saved_file_is_used_while_the_program_runs_and_leaves_nothing_behind(torch, tmp_path):
    program, file, temporary = tmp_path / "program.py", tmp_path / "watched.cpp", tmp_path / "temporary"
    temporary.mkdir()
    program.write_text(WATCHES)

    def run(*arguments):
        write(file, BETTER.format(name="watched", body="x * factor").replace("HB_NUMBERS", "HB_FLOATS"))
        command = [sys.executable, "-m", "facula", "run", "--watch", str(program), str(file), *arguments]
        return subprocess.run(command, env={**os.environ, "TMPDIR": str(temporary)}, capture_output=True, text=True, timeout=100)

    killed = run("dies")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = list(temporary.iterdir())
    assert len(left) == 1 and list(left[0].iterdir())  # nobody could remove them
    done = run()
    assert done.returncode == 0, done.stderr
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
def test_gdb_stops_in_the_kernel(torch, tmp_path):
    file = tmp_path / "stops.cpp"
    write(file, BETTER.format(name="stops", body="x * factor"))
    program = tmp_path / "program.py"
    program.write_text(
        "import facula as torch, os, time\n"
        f"torch.hammerblade.load({str(file)!r})\n"
        "x = torch.ones(4).hammerblade()\n"
        "_ = x.sigmoid()\n"
        f"t = open({str(file)!r}).read(); open({str(file)!r}, 'w').write(t.replace('x * factor', 'x - factor'))\n"
        f"os.utime({str(file)!r}, ns=(time.time_ns() + 10**9,) * 2)\n"
        "assert torch.hammerblade.reload()\n"
        "torch.hammerblade.launch('tensorlib_stops', x, x, 2.0)\n"
    )
    command = ["gdb", "-q", "-batch", "-ex", "set breakpoint pending on", "-ex", "set debuginfod enabled off", "-ex", "handle SIGSEGV nostop noprint pass", "-ex", "b tensorlib_sigmoid", "-ex", "b tensorlib_stops",
               "-ex", "r", "-ex", "bt 1", "-ex", "delete 1", "-ex", "c", "-ex", "bt 3", "-ex", "list", "-ex", "kill", "--args", sys.executable, str(program)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
    if "ptrace" in done.stderr and "not permitted" in done.stderr:
        pytest.skip("this container does not let gdb trace a process")
    assert "Breakpoint 1" in done.stdout and "tensorlib_sigmoid" in done.stdout, done.stdout + done.stderr
    assert "tensorlib_stops" in done.stdout.partition("Breakpoint 1")[2] and "stops.cpp" in done.stdout, done.stdout


LOST = """#include <facula_hb/kernel.h>
void lost(hb::DenseOut<float> out, int32_t how) {
  if (hb::tile() == 0 && how == 0) {
    out.data[0] = 1;
    hb::barrier();  // line: only tile 0
  }
  float sum = 0;
  for (int32_t i = 0; how; i = (i + 1) % 7) {
    sum += hb::load(out.data + i);  // line: for ever
    if (sum < -1) break;
  }
  out.data[hb::tile()] = sum;
}
HB_KERNEL_PLAIN(lost, "")
"""


@pytest.mark.parametrize("mode", ["fast", "check"])
def test_where_tiles_are_that_hang_or_miss_a_barrier(torch, tmp_path, mode):
    """In the kernel's file, whatever of ours they were in when they were stopped."""
    (tmp_path / "lost.cpp").write_text(LOST)
    line = {mark: number for number, text in enumerate(LOST.splitlines(), 1) if (mark := text.partition("line: ")[2])}
    hb = torch.hammerblade
    hb.load(tmp_path / "lost.cpp")
    hb.tiles(2, 2)
    hb.watchdog(0.3)
    try:
        with hb.mode(mode, seed=5):
            with pytest.raises(RuntimeError, match="no tile has ended") as hang:
                hb.launch("tensorlib_lost", torch.zeros(8).hammerblade(), 1)
            with pytest.raises(RuntimeError, match="divergent barrier") as barrier:
                hb.launch("tensorlib_lost", torch.zeros(8).hammerblade(), 0)
    finally:
        hb.watchdog(60)
    where = [row for row in str(hang.value).splitlines() if " run" in row]
    assert where and all(re.search(r"lost\.cpp:(8|9|10)\b", row) for row in where), hang.value
    assert f"lost.cpp:{line['only tile 0']}" in str(barrier.value), barrier.value


SHARED = """#include <facula_hb/kernel.h>
void shared_word(hb::DenseOut<float> out, int32_t writer) {
  float sum = 0;
  for (int32_t i = 0; i < 3000; ++i) sum += hb::load(out.data);  // all tiles, again and again
  if (hb::tile() == writer) hb::store(out.data, sum);
}
HB_KERNEL_PLAIN(shared_word, "")
"""


def test_a_word_that_all_tiles_read_is_still_looked_at(torch, tmp_path):
    (tmp_path / "shared_word.cpp").write_text(SHARED)
    hb = torch.hammerblade
    hb.load(tmp_path / "shared_word.cpp")
    hb.tiles(4, 2)
    x = torch.zeros(4).hammerblade()
    for seed in range(3):
        with hb.mode("check", seed=seed):
            hb.launch("tensorlib_shared_word", x, -1)
            for writer in (0, 5):
                with pytest.raises(RuntimeError, match=r"shared_word\.cpp:[45].*\[race"):
                    hb.launch("tensorlib_shared_word", x, writer)
