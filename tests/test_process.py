# SPDX-License-Identifier: Apache-2.0
"""Surroundings that programs meet: one core, no locale, a home that cannot be written, no compiler, little memory, Ctrl-C in
the middle of an operator, recursion without end. Each in a process of its own."""
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.not_sanitized

TRAINS = """
import os, sys
import facula as torch
from facula import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(4 * 36, 3))
optimizer = torch.optim.AdamW(model.parameters())
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8, 1, 8, 8), torch.arange(8) % 3), batch_size=4)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
letter = "\\u00e4" if sys.getfilesystemencoding() == "utf-8" else "a"  # Python's own files are named in it, too
path = os.path.join(sys.argv[1], f"modell-{letter}.pt")
torch.save({"n\\u00e4me": model.state_dict()}, path)
assert torch.equal(torch.load(path)["n\\u00e4me"]["0.weight"], model[0].weight)
repr(model), str(torch.randn(3, 3))
try:
    torch.load(path + letter)
except FileNotFoundError as e:
    assert e.filename == path + letter
try:
    torch.ones(2).to("\\u00fc")
except RuntimeError:
    pass
torch.hub.get_dir(), torch.compile(model)
print(torch.get_num_threads(), float(model(x).sum()))
"""


def start(program, *arguments, change=None, **kwargs):
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    return subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            errors="backslashreplace", env={**environment, **(change or {})}, **kwargs)  # fmt: skip


def test_surroundings(tmp_path):
    """One program under each, all with the same answer."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system does not say which cores a process has")
    core = min(os.sched_getaffinity(0))
    locked = tmp_path / "home"
    locked.mkdir(mode=0o500)
    ways = {
        "plain": {},
        "one core": {"preexec_fn": lambda: os.sched_setaffinity(0, {core})},
        "C locale": {"change": {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}},
        "home that cannot be written": {"change": {"HOME": str(locked), "XDG_CACHE_HOME": str(locked), "TORCH_HOME": ""}},
        "no home": {"change": {"HOME": "/nonexistent"}},
        "no compiler": {"change": {"PATH": str(locked)}},
    }
    children = {}
    for way, options in ways.items():
        (tmp_path / way).mkdir()
        children[way] = start(TRAINS, tmp_path / way, **options)
    found = {}
    for way, child in children.items():
        out, errors = child.communicate(timeout=120)
        assert child.returncode == 0, f"{way}: {errors}"
        found[way] = out.split()
    assert found["one core"][0] == "1"
    values = {way: float(value) for way, (_, value) in found.items()}
    assert all(abs(value - values["plain"]) < 1e-5 for value in values.values()), values
    assert not any(locked.iterdir())


def test_memory_that_the_cache_keeps_is_given_back_when_it_is_needed():
    """A block that is asked for does not fit beside what freed tensors left in the cache: the cache goes, and it fits."""
    program = """
import resource
import facula as torch
torch.ones(1000)
size = 64 << 20
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + 5 * size
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
kept = [torch.empty(size // 4) for _ in range(4)]
try:
    torch.empty(3 * size // 4)
    raise SystemExit("the limit does not hold")
except (RuntimeError, MemoryError) as e:
    assert "memory" in str(e), e
del kept  # to the cache
big = torch.zeros(3 * size // 4)
assert big.sum() == 0
try:
    torch.empty(1 << 40)
except (RuntimeError, MemoryError) as e:
    assert "memory" in str(e), e
assert (torch.ones(3) + 1).tolist() == [2, 2, 2]
"""
    child = start(program, change={"MALLOC_ARENA_MAX": "1"})
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors


@pytest.mark.parametrize("work", ["x @ x", "torch.nn.functional.linear(x, x, x[0])", "torch.conv2d(image, kernel)"])
def test_signals_while_a_library_computes(work):
    """A library's kernels may have their stack in the heap, where a signal's frame would destroy what lies beside it."""
    program = f"""
import signal, time
import facula as torch
x, image, kernel = torch.rand(700, 700), torch.rand(4, 16, 64, 64), torch.rand(32, 16, 3, 3)
seen = 0
def count(*_):
    global seen
    seen += 1
signal.signal(signal.SIGALRM, count)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
start = time.monotonic()
while time.monotonic() < start + (0.4 if seen > 3 else 60):  # a busy machine gives few of them
    y = {work}
signal.setitimer(signal.ITIMER_REAL, 0)
assert seen > 3, seen
print("whole")
"""
    child = start(program)
    out, errors = child.communicate(timeout=120)
    assert (child.returncode, out) == (0, "whole\n"), errors


@pytest.mark.parametrize("work", ["y = x @ x", "y = (p @ p).sum(); y.backward(); p.grad = None"])
def test_interrupt_inside_of_an_operator(work):
    """Ctrl-C is heard when the operator returns; nothing is broken by it."""
    program = f"""
import sys
import facula as torch
x, p = torch.rand(700, 700), torch.rand(300, 300, requires_grad=True)
print("ready", flush=True)
try:
    while True:
        {work}
except KeyboardInterrupt:
    pass
assert torch.is_grad_enabled() and (torch.ones(3) * 2).tolist() == [2, 2, 2]
q = torch.ones(2, requires_grad=True)
(q * q).sum().backward()
assert q.grad.tolist() == [2, 2]
print("whole")
"""
    child = start(program)
    assert child.stdout.readline() == "ready\n", child.communicate()
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=120)
    assert (child.returncode, out) == (0, "whole\n"), errors


RECURSIONS = {
    "modules": "m = nn.Linear(1, 1)\nfor _ in range(3000): m = nn.Sequential(m)\nkeep.append(m)\nm(torch.ones(1))",
    "repr of modules": "m = nn.Linear(1, 1)\nfor _ in range(3000): m = nn.Sequential(m)\nkeep.append(m)\nrepr(m)",
    "a module inside of itself": "m = nn.Module()\nm.forward = lambda x: m(x)\nm(torch.ones(1))",
    "a function mode": "class M(torch.overrides.TorchFunctionMode):\n  def __torch_function__(s, f, t, a=(), k=None):\n    with M(): return f(*a, **(k or {}))\nwith M(): torch.ones(2) + 1",
    "a dispatch mode": "from facula.utils._python_dispatch import TorchDispatchMode\nclass M(TorchDispatchMode):\n  def __torch_dispatch__(s, f, t, a=(), k=None):\n"
                       "    with M(): return f(*a, **(k or {}))\nwith M(): torch.ones(2) + 1",
    "a subclass": "class T(torch.Tensor):\n  @classmethod\n  def __torch_function__(c, f, t, a=(), k=None): return f(*a, **(k or {}))\nT([1.0]) + 1",
    "a hook": "x = torch.ones(1, requires_grad=True)\ny = x * 2\ny.register_hook(lambda g: torch.autograd.grad(y, x, retain_graph=True)[0])\ny.backward()",
    "a Function": "class F(torch.autograd.Function):\n  @staticmethod\n  def forward(c, x): return F.apply(x)\nF.apply(torch.ones(1, requires_grad=True))",
    "a parametrization": "class P(nn.Module):\n  def forward(s, w): return m.weight\nm = nn.Linear(1, 1)\nnn.utils.parametrize.register_parametrization(m, 'weight', P(), unsafe=True)\nm.weight",
    "nested lists in a file": "x = []\nfor _ in range(50_000): x = [x]\nkeep.append(x)\nimport io\ntorch.save(x, io.BytesIO())",
    "nested lists of tensors": "x = [torch.ones(1)]\nfor _ in range(50_000): x = [x]\nkeep.append(x)\ntorch.utils._pytree.tree_map(lambda t: t, x)",
    "a copy": "import copy\nm = nn.Linear(1, 1)\nfor _ in range(3000): m = nn.Sequential(m)\nkeep.append(m)\ncopy.deepcopy(m)",
}  # fmt: skip


def test_recursion_without_end():
    """Python's RecursionError, or an answer, but never the end of the process; afterwards everything works."""
    program = """
import os, sys
import facula as torch
from facula import nn
keep = []
try:
    exec(sys.argv[1])
except (RecursionError, RuntimeError, MemoryError) as e:
    assert isinstance(e, RecursionError) or any(word in str(e) for word in ("recursion", "depth", "itself")), repr(e)
x = torch.ones(2, requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2, 2]
print("whole", flush=True)
os._exit(0)  # freeing what is nested so deeply is Python's own business
"""
    children = {}
    for name, work in RECURSIONS.items():
        children[name] = start(program, work)
    wrong = {}
    for name, child in children.items():
        out, errors = child.communicate(timeout=300)
        if (child.returncode, out) != (0, "whole\n"):
            wrong[name] = (child.returncode, errors[-300:])
    assert not wrong


OPENMP = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
static int watching, locked;  // as Intel's OpenMP: from its first call on, over a fork
static void lock(void) { locked = 1; }
static void unlock(void) { locked = 0; }
static void* real(const char* name) {
  if (!watching++) pthread_atfork(lock, unlock, unlock);
  if (locked) _exit(9);
  return dlsym(dlopen("libgomp.so.1", RTLD_NOW), name);
}
int omp_get_max_threads(void) { return ((int (*)(void))real("omp_get_max_threads"))(); }
void omp_set_num_threads(int n) { ((void (*)(int))real("omp_set_num_threads"))(n); }
"""
FORKS = """
import os, sys, facula as torch
torch.set_num_threads(2)
a = torch.ones(1 << 20)
a.exp().sum()  # on two threads
pid = os.fork()
if pid == 0:
    os._exit(0 if torch.get_num_threads() == 1 and a.sum() == 1 << 20 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_forks_beside_an_openmp_that_holds_locks_over_them(tmp_path):
    """The child's count of threads is set when that OpenMP is in order again."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not compiler:
        pytest.skip("there is no C compiler")
    (tmp_path / "openmp.c").write_text(OPENMP)
    subprocess.run([compiler, "-shared", "-fPIC", tmp_path / "openmp.c", "-o", tmp_path / "openmp.so", "-ldl", "-lpthread"], check=True)
    process = start(FORKS, change={"LD_PRELOAD": str(tmp_path / "openmp.so")})
    told = process.communicate(timeout=120)
    assert process.returncode == 0, told


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_process_ends_while_daemon_threads_compute(threads):
    """Destructors of libraries would run below them."""
    program = """
import threading
import facula as torch
def work():
    image, kernels, a = torch.randn(2, 32, 40, 40), torch.randn(32, 32, 5, 5), torch.randn(100, 100)
    while True:
        a @ a
        torch.conv2d(image, kernels)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
"""
    for _ in range(4):
        env = dict(os.environ, FACULA_NUM_THREADS=threads)
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
