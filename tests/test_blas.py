# SPDX-License-Identifier: Apache-2.0
"""Choosing a BLAS: names, paths, force, threads, forks, and every way in which a library can be the wrong one."""
import ctypes
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import threading

import facula as torch
import facula.nn.functional as F
import pytest

BUILT = pathlib.Path(os.path.abspath(torch.__file__)).parents[2] / "tests" / "blas"
preferred_blas = torch.backends.cpu.preferred_blas
REAL = (torch.float32, torch.float64)
TYPES = (*REAL, torch.complex64, torch.complex128)


def library(name):
    path = BUILT / f"{name}.so"
    if not path.exists():
        pytest.skip(f"{path} was not built (BUILD_TEST=0)")
    return str(path)


class Counted:
    """A test library in use for every product; .work() is how many multiplications it did since the last question."""

    def __init__(self, name="cblas", force=True):
        self.path = library(name)
        self.choice = preferred_blas(self.path, force=force)
        self.c = ctypes.CDLL(self.path)
        self.c.counting_work.restype = self.c.counting_calls.restype = ctypes.c_int64
        self.before = self.c.counting_work()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.choice.__exit__()

    def work(self):
        now = self.c.counting_work()
        done, self.before = now - self.before, now
        return done


def python(program, *arguments, **environment):
    home = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__)))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([home, os.environ.get("PYTHONPATH", "")]), **environment}
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, env=env, timeout=120)


def numbers(*sizes, dtype=torch.float32):
    """Small whole numbers, whose products are exact."""
    return (torch.arange(torch.Size(sizes).numel()) % 7 - 3).reshape(sizes).to(dtype)


# --- the choice
def test_set_read_restore():
    assert preferred_blas() == "auto"
    with preferred_blas("facula") as choice:
        assert choice == "facula" == preferred_blas()
        with preferred_blas("facula", force=True) as inner:
            assert inner == "facula,force" == preferred_blas()
            assert preferred_blas(inner, force=True) == inner
        assert preferred_blas() == "facula"
    before = preferred_blas()
    preferred_blas("facula,force")
    preferred_blas(before)
    assert preferred_blas() == "auto"
    with pytest.raises(KeyError), preferred_blas("facula"):
        raise KeyError
    assert preferred_blas() == "auto"


@pytest.mark.parametrize("name, error, words", [
    ("atlas", ValueError, 'expected "auto", "facula", "onednn", "openblas", "blis", "mkl", "reference" or the path of a library, got "atlas"'),
    ("auto,force", ValueError, "nothing to force"),
    ("/no/such/lib.so", RuntimeError, "cannot open /no/such/lib.so: No such file or directory"),
    ("libnosuchblas.so", RuntimeError, "cannot open libnosuchblas.so"),
    ("/", RuntimeError, "it is no file"),
])  # fmt: skip
def test_names_that_are_none(name, error, words):
    with pytest.raises(error, match=words) as told:
        preferred_blas(name)
    assert "\n" not in str(told.value) and preferred_blas() == "auto"


def test_wrong_arguments():
    with pytest.raises(ValueError, match="force=True needs the name"):
        preferred_blas(force=True)
    with pytest.raises(TypeError):
        preferred_blas(3)


# --- libraries that are none
def test_wrong_libraries_are_told_by_symbol():
    for name, words in (("half", "has cblas_sgemm, but lacks cblas_dgemm"), ("wrong", "its cblas_sgemm gives a wrong product")):
        with pytest.raises(RuntimeError, match=words) as told:
            preferred_blas(library(name))
        assert library(name) in str(told.value)
    with pytest.raises(RuntimeError, match="has neither cblas_sgemm nor sgemm_"):
        preferred_blas(os.path.join(os.path.dirname(os.path.abspath(torch.__file__)), "libfacula.so"))


def test_damaged_files(tmp_path):
    whole = pathlib.Path(library("cblas")).read_bytes()
    text, cut, other = tmp_path / "text.so", tmp_path / "cut.so", tmp_path / "other.so"
    text.write_text("GROUP ( libblas.so.3 )")
    cut.write_bytes(whole[: len(whole) // 3])
    machine = struct.unpack_from("<H", whole, 18)[0]
    other.write_bytes(whole[:18] + struct.pack("<H", 183 if machine != 183 else 62) + whole[20:])
    for file, words in ((text, "no shared library"), (cut, "the file is damaged"), (other, "a library for another processor")):
        with pytest.raises(RuntimeError, match=words):
            preferred_blas(file)
    if os.geteuid() == 0:
        return  # root may read everything
    text.chmod(0)
    with pytest.raises(RuntimeError, match="Permission denied"):
        preferred_blas(text)


def test_a_library_that_lacks_its_own_libraries(tmp_path):
    compiler = shutil.which("cc") or shutil.which("c++")
    if not compiler:
        pytest.skip("no C compiler")
    (tmp_path / "empty.c").write_text("int nothing_at_all;")
    run = lambda *a: subprocess.run([compiler, "-shared", "-fPIC", *a], cwd=tmp_path, check=True, capture_output=True)
    run("empty.c", "-o", "libneeded_by_test.so")
    run("empty.c", "-Wl,--no-as-needed", "-L.", "-lneeded_by_test", "-o", "needs.so")
    with pytest.raises(RuntimeError, match="cannot open .*needs.so: libneeded_by_test.so: cannot open shared object"):
        preferred_blas(tmp_path / "needs.so")


# --- the environment
def test_environment():
    program = "import facula; print(facula.backends.cpu.preferred_blas())"
    path = library("cblas")
    for value, told in (("", "auto"), (f"{path},force", f"{path},force")):
        assert python(program, FACULA_BLAS=value).stdout == f"{told}\n"
    for value, words in (("nothing", 'got "nothing"'), ("/no/such.so", "cannot open /no/such.so")):
        done = python(program, FACULA_BLAS=value)
        assert done.returncode == 1 and f"ImportError: the environment variable FACULA_BLAS is '{value}': " in done.stderr and words in done.stderr


def test_the_configuration_page_names_it():
    path = library("cblas")
    with preferred_blas(path, force=True):
        page = torch.__config__.show()
    assert f"BLAS in use: {path},force: {path} (cblas interface" in page and "32-bit integers" in page
    page = torch.__config__.show()
    assert "BLAS in use: auto: " in page and "BLAS found: " in page
    with preferred_blas("facula"):
        assert "BLAS in use: facula: Facula's own kernel" in torch.__config__.show()


# --- every interface
@pytest.mark.parametrize("name, wide", [("cblas", 32), ("cblas64", 64), ("unmarked64", 64), ("fortran", 32), ("fortran64", 64)])
def test_interfaces(name, wide):
    with Counted(name) as blas:
        assert f"{wide}-bit integers" in torch.__config__.show().partition("BLAS found")[0]
        for dtype in TYPES:
            a, b = numbers(5, 7, dtype=dtype), numbers(7, 3, dtype=dtype)
            if dtype.is_complex:
                a, b = a * (1 + 2j), b * (2 - 1j)
            want = (a[:, :, None] * b[None]).sum(1)
            blas.work()
            for x, y in ((a, b), (a.t().contiguous().t(), b), (a, b.t().contiguous().t()), (torch.cat([a, a], 1)[:, :7], torch.cat([b, b], 1)[:, 3:])):
                assert torch.equal(x @ y, want) and blas.work() == 105
            assert torch.equal(a @ b[:, 1], want[:, 1]) and blas.work() == 35
            assert torch.equal(a[2] @ b, want[2]) and blas.work() == 21
            assert torch.equal(a[2] @ b[:, 0], want[2, 0]) and blas.work() == 7
            c = numbers(5, 3, dtype=dtype)
            assert torch.equal(torch.addmm(c, a, b, beta=2, alpha=3), 2 * c + 3 * want) and blas.work() == 105
            assert torch.equal(torch.bmm(a.expand(4, 5, 7), b.expand(4, 7, 3)), want.expand(4, 5, 3)) and blas.work() == 420


GLOBAL = """
import ctypes, os, sys, facula as torch
other = ctypes.CDLL(sys.argv[1], os.RTLD_GLOBAL | os.RTLD_NOW)  # its sgemm_ is everyone's now
try:
    torch.backends.cpu.preferred_blas("reference", force=True)
except RuntimeError:
    sys.exit(3)
a = torch.ones(9, 9)
assert torch.equal(a @ a, 9 * a) and torch.equal(a.double() @ a.double(), 9 * a.double())
big = (torch.arange(10000) * 37 % 101).reshape(100, 100).double()
try:
    if "FACULA_SANITIZED" not in os.environ:  # sanitizers forbid what it takes
        u, s, v = torch.linalg.svd(big)  # calls products inside of LAPACK
        assert torch.allclose(u @ s.diag() @ v, big)
except RuntimeError as e:
    assert "this needs LAPACK" in str(e), e
print(other.counting_calls())
"""


def test_names_that_another_library_lent_to_the_process():
    done = python(GLOBAL, library("fortran"))
    if done.returncode == 3:
        pytest.skip("no reference BLAS is here")
    assert done.stdout == "0\n", done.stderr


# --- force
def test_every_product_goes_through_it():
    """Each line is an operator and the multiplications that its definition has."""
    x, w = numbers(6, 5), numbers(4, 5)
    q = numbers(1, 2, 6, 8)
    rows = [
        (lambda: F.linear(x, w, numbers(4)), 6 * 5 * 4),
        (lambda: torch.einsum("ij,kj->ik", x, w), 6 * 5 * 4),
        (lambda: torch.tensordot(x, w, ([1], [1])), 6 * 5 * 4),
        (lambda: x.mv(numbers(5)), 30),
        (lambda: torch.dot(x[0], x[1]), 5),
        (lambda: torch.linalg.multi_dot([x, w.t(), numbers(4, 2)]), 5 * 4 * 2 + 6 * 5 * 2),
        (lambda: torch.baddbmm(numbers(3, 2, 2), numbers(3, 2, 4), numbers(3, 4, 2)), 3 * 2 * 4 * 2),
        (lambda: F.scaled_dot_product_attention(q, q, q), 2 * 2 * 6 * 6 * 8),
        (lambda: F.bilinear(x, numbers(6, 3), numbers(2, 5, 3)), None),
        (lambda: torch.cdist(x, w, compute_mode="use_mm_for_euclid_dist"), 6 * 4 * 7),
        (lambda: torch.nn.LSTM(5, 3)(x), 6 * 12 * (5 + 3)),
        (lambda: x.half() @ w.half().t(), 6 * 5 * 4),
        (lambda: x.bfloat16() @ w.bfloat16().t(), 6 * 5 * 4),
    ]
    torch.manual_seed(0)
    with torch.no_grad():
        for i, (run, work) in enumerate(rows):
            torch.manual_seed(1)
            want = run()
            torch.manual_seed(1)
            with Counted() as blas:
                got = run()
                done = blas.work()
            assert done > 0 if work is None else done == work, (i, done)
            for a, b in zip(*(t if isinstance(t, tuple) else (t,) for t in (want, got))):
                if isinstance(a, torch.Tensor):
                    torch.testing.assert_close(a, b)
        with Counted() as blas:
            numbers(6, 5, dtype=torch.int64) @ numbers(5, 6, dtype=torch.int64)
            assert blas.work() == 0  # no BLAS multiplies integers


CONVOLUTIONS = [  # input, weight, options, multiplications of the forward
    ((2, 6, 9, 8), (4, 6, 3, 3), {}, 2 * 4 * 7 * 6 * 54),
    ((2, 6, 9, 8), (4, 3, 3, 3), {"groups": 2, "stride": 2, "padding": 1}, 2 * 4 * 5 * 4 * 27),
    ((1, 6, 30, 30), (6, 1, 3, 3), {"groups": 6, "padding": 1}, 6 * 900 * 9),  # depthwise: a kernel of our own otherwise
    ((2, 6, 9, 8), (4, 6, 1, 1), {}, 2 * 4 * 72 * 6),
    ((2, 3, 12), (5, 3, 4), {"dilation": 2}, 2 * 5 * 6 * 12),
    ((1, 2, 4, 5, 6), (3, 2, 2, 2, 2), {}, 3 * 3 * 4 * 5 * 16),
]


@pytest.mark.parametrize("size, kernel, options, work", CONVOLUTIONS)
def test_every_convolution_goes_through_it(size, kernel, options, work):
    run = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(size)]

    def passes(blas=None):
        x, w = numbers(*size).requires_grad_(), numbers(*kernel).requires_grad_()
        y = run(x, w, numbers(kernel[0]), **options)
        first = blas.work() if blas else 0
        y.sum().backward()
        return (y, x.grad, w.grad), first, blas.work() if blas else 0

    want, _, _ = passes()
    with Counted() as counted:
        got, forward, backward = passes(counted)
    assert forward == work and backward == 2 * work
    for a, b in zip(want, got):
        assert torch.equal(a, b)


def test_transposed_and_half_convolutions():
    x, w = numbers(2, 4, 5, 6), numbers(4, 3, 3, 3)
    for run in (lambda: F.conv_transpose2d(x, w, stride=2), lambda: F.conv2d(x.bfloat16(), w.permute(1, 0, 2, 3).bfloat16())):
        want = run()
        with Counted() as blas:
            assert torch.equal(run(), want) and blas.work() > 0


def test_preferred_is_by_work():
    """Without force small products stay with our own kernel and convolutions with oneDNN; large products go to the library."""
    with Counted(force=False) as blas:
        small, large = numbers(8, 8), numbers(160, 160)
        small @ small
        F.conv2d(numbers(1, 4, 8, 8), numbers(4, 4, 3, 3))
        if "oneDNN: no" not in torch.__config__.show():
            assert blas.work() == 0
        for dtype in TYPES:
            large.to(dtype) @ large.to(dtype)
            assert blas.work() == 160**3


@pytest.mark.parametrize("name", ["facula", "onednn"])
def test_forcing_what_is_inside(name):
    try:
        preferred_blas(name, force=True).__exit__()
    except RuntimeError as e:
        pytest.skip(str(e))
    for size, kernel, options, _ in CONVOLUTIONS[:3]:
        x, w = numbers(*size), numbers(*kernel)
        want = F.conv2d(x, w, **options)
        with preferred_blas(name, force=True):
            assert torch.equal(F.conv2d(x, w, **options), want)
            for dtype in (*TYPES, torch.bfloat16, torch.int32):
                a = numbers(9, 9, dtype=dtype)
                assert torch.equal(a @ a, (a[:, :, None] * a[None]).sum(1).to(dtype))


def test_every_library_found_here_multiplies():
    a, b = numbers(40, 30), numbers(30, 50)
    want = (a[:, :, None] * b[None]).sum(1)
    for name in ("openblas", "blis", "mkl", "reference"):
        try:
            choice = preferred_blas(name, force=True)
        except RuntimeError as e:
            assert f"install it ({'PyPI' if name == 'mkl' else 'Debian'}: " in str(e)
            continue
        with choice:
            for dtype in TYPES:
                assert torch.equal(a.to(dtype) @ b.to(dtype), want.to(dtype)), name


# --- the comparison
def test_the_shapes_are_those_of_the_networks():
    """ResNet-50 has 4.09 G multiplications; a transformer's layer 12 times its width squared for each token, and its attention."""
    from facula._blas import MODELS

    resnet, bert, prompt, token = (sum(times * shape.flops for times, shape in rows) / 2 for rows in MODELS.values())
    layers, attention = 12 * 12 * 768**2, 12 * 2 * 12 * 128 * 128 * 64
    assert round(resnet / 1e9, 2) == 4.09
    assert bert == 128 * layers + attention + 768**2
    assert prompt == 128 * layers + attention + 50257 * 768 and token == layers + 50257 * 768


def test_comparison(monkeypatch, tmp_path, capsys):
    import json
    import xml.etree.ElementTree as ElementTree

    from facula import __main__, _blas

    monkeypatch.setattr(_blas, "MODELS", {"a network": _blas._products((2, 20, 30, 40), (1, 3, 8, 9, 10)) + _blas._products((1, 20, 30, 40), transposed=True)})
    path, data, picture = library("cblas"), tmp_path / "data.json", tmp_path / "picture.svg"
    assert __main__.main(["blas", "--quick", "--threads", "1", "facula", path, path, "--json", str(data), "--svg", str(picture)]) == 0
    page = capsys.readouterr().out
    assert "cblas.so#2" in page and "3 of 8 x 9 x 10" in page and "20 x 30 x 40 T" in page and "share of the peak" in page and "A/A" in page
    told = json.loads(data.read_text())
    assert set(told["shapes"]) == {"20 x 30 x 40", "3 of 8 x 9 x 10", "20 x 30 x 40 T"} and len(told["shapes"]["20 x 30 x 40"]["runs"]["facula"]) == 5
    assert told["state"]["model"] and "during" in told["state"]
    assert all(0 < rate < 2 * told["machine"]["peak_gflops"] for rate in told["geometric_mean"].values())
    words = "".join(ElementTree.fromstring(picture.read_text()).itertext())
    assert "cblas.so#2" in words and "3 of 8 x 9 x 10" in words and "peak" in words
    assert preferred_blas() == "auto" and sorted(p.name for p in tmp_path.iterdir()) == ["data.json", "picture.svg"]


def test_comparison_of_nothing(tmp_path, capsys):
    from facula import __main__

    for arguments, words in ((["atlas"], 'got "atlas"'), (["/no/such.so"], "cannot open /no/such.so"), (["--threads", "0"], "--threads takes 1 to 1024"),
                             ([library("wrong")], "gives a wrong product"), (["--svg", "/no/folder/x.svg"], "cannot write /no/folder/x.svg"),
                             (["--json", str(tmp_path)], "it is a folder")):  # fmt: skip
        assert __main__.main(["blas", *arguments]) == 2
        told = capsys.readouterr().err
        assert told.startswith("facula blas: ") and words in told and told.count("\n") == 1


# --- threads
def test_deterministic_mode_calls_it_on_one_thread():
    a = numbers(256, 256)
    torch.use_deterministic_algorithms(True)
    try:
        with Counted() as blas:
            calls = blas.c.counting_calls()
            a @ a
            assert blas.c.counting_calls() - calls == 1 and blas.c.counting_threads() == 1
            assert blas.work() == 256**3
    finally:
        torch.use_deterministic_algorithms(False)


def test_its_threads_follow_ours():
    before = torch.get_num_threads()
    try:
        with Counted() as blas:
            long, small = numbers(32, 1 << 14), numbers(16, 16)
            for n in (2, 3):
                torch.set_num_threads(n)
                long @ long.t()  # only cutting k occupies the threads: the library's own
                assert blas.c.counting_threads() == n
                small @ small
                assert blas.c.counting_threads() == 1
            torch.set_num_threads(3)
            q = numbers(1, 8, 600, 16)
            F.scaled_dot_product_attention(q, q, q)  # calls from a parallel region of ours
            assert blas.c.counting_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_a_serial_library_is_called_by_one_thread_at_a_time():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with Counted("serial") as blas:
            blas.c.counting_crowded.restype = ctypes.c_bool
            calls = blas.c.counting_calls()
            a, q = numbers(200, 200), numbers(1, 8, 100, 16)
            assert torch.equal(a @ a, (a[:, :, None] * a[None]).sum(1)) and blas.c.counting_calls() == calls + 1
            F.scaled_dot_product_attention(q, q, q)  # on three threads
            assert blas.c.counting_calls() > calls + 8 and not blas.c.counting_crowded()
    finally:
        torch.set_num_threads(before)


def test_the_layer_of_threads_is_chosen_before_the_first_call(monkeypatch, tmp_path):
    """MKL's, of which one takes our threads; what the variable says is left alone, and told."""
    ours = "OpenMP: no" not in torch.__config__.show()
    monkeypatch.delenv("MKL_THREADING_LAYER", raising=False)
    for variable, layer, words in ((None, 3, "OpenMP") if ours else (None, 1, "one thread"), ("INTEL", 0, "threads of its own")):
        if variable:
            monkeypatch.setenv("MKL_THREADING_LAYER", variable)
        copy = shutil.copy(library("layers"), tmp_path / f"{layer}.so")  # a file is loaded once
        with preferred_blas(copy, force=True):
            assert torch.equal(torch.ones(3, 3) @ torch.ones(3, 3), torch.full((3, 3), 3.0))
            assert f"{copy} (cblas interface, {words}, 32-bit integers)" in torch.__config__.show()
        assert ctypes.CDLL(copy).MKL_Set_Threading_Layer(2) == layer


def test_changed_while_others_multiply():
    a = numbers(64, 64)
    want, wrong, end = a @ a, [], threading.Event()

    def work():
        while not end.is_set():
            if not torch.equal(a @ a, want):
                wrong.append(preferred_blas())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for i in range(200):
        preferred_blas(("facula", library("cblas"), library("fortran") + ",force", "auto")[i % 4])
    end.set()
    for t in threads:
        t.join()
    preferred_blas("auto")
    assert not wrong


FORK = """
import os, sys, facula as torch
a = (torch.arange(32 * 16384) % 7 - 3).reshape(32, -1).float()
want = a @ a.t()  # only cutting k occupies several threads: the library's own
pid = os.fork()
if pid == 0:
    os._exit(0 if torch.equal(a @ a.t(), want) and torch.equal(a.double() @ a.double().t(), want.double()) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_forked_children_multiply():
    names = ["openblas", library("cblas")]
    for name in names:
        try:
            preferred_blas(name).__exit__()
        except RuntimeError:
            continue
        done = python(FORK, FACULA_BLAS=f"{name},force", FACULA_NUM_THREADS="2")
        assert done.returncode == 0, (name, done.stderr)
