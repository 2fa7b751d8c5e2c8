# SPDX-License-Identifier: Apache-2.0
"""Every row of the table with one argument replaced by something it did not expect: an answer or an ordinary error.

Each row runs in a child process, so a crash or a hang names its row, and the last call that was tried.
"""
import os
import resource
import signal
import sys

import pytest
from golden import flatten
from opspec import Sample, resolve, select
from record import with_grad
from table import ROWS

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from hostile import MAX64, MIN64  # noqa: E402

ORDINARY = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, OverflowError, MemoryError, AttributeError, AssertionError)


def stand_ins(torch, value):
    """What may come instead of an argument."""
    if isinstance(value, torch.Tensor):
        for dim in range(value.dim()):
            yield value.narrow(dim, 0, 0)
            yield value.narrow(dim, 0, min(1, value.size(dim))).expand(*[7 if d == dim and n else n for d, n in enumerate(value.shape)])
        yield value.unsqueeze(0)
        yield value.reshape(-1)[:1].reshape(()) if value.numel() else torch.zeros(())
        yield value.t() if value.dim() == 2 else value.expand(2, *value.shape)
        for dtype in (torch.bool, torch.uint8, torch.int64, torch.float16, torch.complex64, torch.uint64, torch.float8_e5m2):
            yield value.to(dtype)
        yield value.to("meta")
        yield torch.full_like(value, float("nan")) if value.is_floating_point() else torch.full_like(value, 1)
        yield from (None, 2, [value, value], "x")
    elif isinstance(value, bool):
        yield from (not value, None, "x")
    elif isinstance(value, (int, float, complex)):
        yield from (0, -1, MAX64, MIN64, 2**63, 2**64, -0.5, float("nan"), float("inf"), 1j, True, None, "x", torch.ones(()), torch.ones(2))
    elif isinstance(value, (tuple, list)):
        yield from ((), None, "x", (0,), (-1,), (MAX64,), (MIN64, MAX64), [None], (1,) * 70, tuple(value) * 2)
    else:
        yield from (None, "x", 0, object())


def calls(torch, sample):
    for i, value in enumerate(sample.args):
        for other in stand_ins(torch, value):
            yield (*sample.args[:i], other, *sample.args[i + 1:]), sample.kwargs
    for key, value in sample.kwargs.items():
        for other in stand_ins(torch, value):
            yield sample.args, {**sample.kwargs, key: other}


def backward(torch, function, sample):
    try:
        args, kwargs, leaves = with_grad(torch, sample, None)
        results = [x for x in flatten(torch, function(*args, **kwargs)) if isinstance(x, torch.Tensor) and x.requires_grad]
        if leaves and results:
            torch.autograd.grad(results, leaves, [torch.ones_like(x) for x in results], allow_unused=True)
    except ORDINARY:
        pass


def run(torch, op, tell):
    function = resolve(torch, op.call)
    seen = set()
    for sample in select(op, torch, "f32" if "f32" in op.dtypes else op.dtypes[0]):
        shape = tuple(type(x).__name__ for x in (*sample.args, *sample.kwargs.values())), tuple(sample.kwargs)
        if shape in seen:
            continue
        seen.add(shape)
        for args, kwargs in calls(torch, sample):
            tell(args, kwargs)
            try:
                function(*args, **kwargs)
            except ORDINARY:
                pass
            if op.grad:
                backward(torch, function, Sample("", args, kwargs))
            if op.inplace and op.inplace != "inplace=" and isinstance(args[0], torch.Tensor):
                try:
                    getattr(args[0].clone(), op.inplace)(*args[1:], **kwargs)
                except ORDINARY:
                    pass


def short(x):
    return f"{x.dtype}{list(x.shape)}" if hasattr(x, "dtype") else repr(x)[:80]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_nothing_crashes(torch, op):
    if torch.__name__ != "facula":
        pytest.skip("PyTorch promises less")
    try:
        resolve(torch, op.call)
    except AttributeError:
        pytest.skip("not here")  # test_ops tells what is missing
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(60)
            if not os.environ.get("FACULA_SANITIZED"):  # a sanitizer's shadow memory is larger than any limit
                # Beside what the process has mapped already: below that every new mapping fails, a library's own too.
                with open("/proc/self/statm") as statm:
                    limit = int(statm.read().split()[0]) * resource.getpagesize() + (16 << 30)
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            run(torch, op, lambda args, kwargs: os.write(write, f"\n{[short(x) for x in args]} { {k: short(x) for k, x in kwargs.items()} }".encode()[:4000]))
            code = 0
        except BaseException as error:
            os.write(write, f"\nraised {type(error).__name__}: {error}".encode()[:4000])
        os._exit(code)
    os.close(write)
    told = b""
    while chunk := os.read(read, 65536):
        told = (told + chunk)[-8000:]
    os.close(read)
    status = os.waitpid(child, 0)[1]
    if status:
        pytest.fail(f"{'signal ' + str(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else 'failed'} after {told.decode(errors='replace').splitlines()[-2:]}", pytrace=False)
