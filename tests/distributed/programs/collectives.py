# SPDX-License-Identifier: Apache-2.0
"""Every collective over types, layouts and forms; each rank computes what all must get from everybody's seeds."""
import functools
import itertools
import sys

import torch
import torch.distributed as dist

BACKEND = sys.argv[1]
dist.init_process_group(BACKEND)
rank, size = dist.get_rank(), dist.get_world_size()
everyone = range(size)


def data(r, dtype, shape=(3, 4), step=0):
    g = torch.Generator().manual_seed(100 * step + r)
    if dtype.is_complex or dtype.is_floating_point:
        return torch.randn(shape, generator=g, dtype=torch.complex64 if dtype.is_complex else torch.float32).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 7, shape, generator=g).to(dtype)


FORMS = {
    "contiguous": lambda t: t.clone(),
    "transposed": lambda t: t.t().contiguous().t(),
    "strided": lambda t: torch.stack([t, t], -1)[..., 0],
}
OPS = {
    "SUM": lambda a, b: a + b, "PRODUCT": lambda a, b: a * b, "MIN": torch.minimum, "MAX": torch.maximum,
    "BAND": lambda a, b: a & b, "BOR": lambda a, b: a | b, "BXOR": lambda a, b: a ^ b,
}  # fmt: skip
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTS = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def combined(op, dtype, **kwargs):
    parts = [data(r, dtype, **kwargs) for r in everyone]
    if dtype == torch.bool:
        parts = [p.to(torch.uint8) for p in parts]
    out = functools.reduce(OPS[op], parts)
    return (out > 0 if op == "SUM" else out).to(dtype) if dtype == torch.bool else out


def close(a, b):
    torch.testing.assert_close(a, b, rtol=2e-2 if a.dtype in FLOATS[:2] else 1e-5, atol=1e-2 if a.dtype in FLOATS[:2] else 1e-6)


for dtype, (form, make) in itertools.product([*FLOATS, *INTS, torch.complex64], FORMS.items()):
    for op in OPS:
        if op in ("BAND", "BOR", "BXOR") and dtype not in INTS or dtype.is_complex and op not in ("SUM", "PRODUCT"):
            continue
        x = make(data(rank, dtype))
        before = x._version
        assert dist.all_reduce(x, getattr(dist.ReduceOp, op)) is None
        close(x, combined(op, dtype))
        assert x._version > before
    x = make(data(rank, dtype))
    dist.broadcast(x, size - 1)
    close(x, data(size - 1, dtype))
    outs = [make(torch.zeros(3, 4, dtype=dtype)) for _ in everyone]
    dist.all_gather(outs, make(data(rank, dtype)))
    for r in everyone:
        close(outs[r], data(r, dtype))
    flat = torch.empty(3 * size, 4, dtype=dtype)
    dist.all_gather_into_tensor(flat, make(data(rank, dtype)))
    close(flat, torch.cat([data(r, dtype) for r in everyone]))
    x = make(data(rank, dtype))
    dist.reduce(x, 1, dist.ReduceOp.SUM)
    close(x, combined("SUM", dtype) if rank == 1 else data(rank, dtype))
    outs = [make(torch.zeros(3, 4, dtype=dtype)) for _ in everyone] if rank == 0 else None
    dist.gather(make(data(rank, dtype)), outs, dst=0)
    for r in everyone if rank == 0 else ():
        close(outs[r], data(r, dtype))
    x = make(torch.zeros(3, 4, dtype=dtype))
    dist.scatter(x, [make(data(r, dtype, step=5)) for r in everyone] if rank == 1 else None, src=1)
    close(x, data(rank, dtype, step=5))
    x = make(torch.zeros(3, 4, dtype=dtype))
    dist.reduce_scatter(x, [make(data(rank, dtype, step=s)) for s in everyone])
    close(x, combined("SUM", dtype, step=rank))
    x = torch.zeros(2, 4, dtype=dtype)
    dist.reduce_scatter_tensor(x, data(rank, dtype, shape=(2 * size, 4)))
    close(x, combined("SUM", dtype, shape=(2 * size, 4))[2 * rank : 2 * rank + 2])
    ins = [make(data(rank, dtype, step=s)) for s in everyone]
    outs = [make(torch.zeros(3, 4, dtype=dtype)) for _ in everyone]
    dist.all_to_all(outs, ins)
    for r in everyone:
        close(outs[r], data(r, dtype, step=rank))

# means, of floats only
x = data(rank, torch.float32)
dist.all_reduce(x, dist.ReduceOp.AVG)
close(x, combined("SUM", torch.float32) / size)
try:
    dist.all_reduce(torch.ones(2, dtype=torch.int64), dist.ReduceOp.AVG)
    raise AssertionError("AVG of integers")
except ValueError as e:
    assert "AVG is not defined for int64" in str(e)

# splits, nothing at all, many at once, later
rows = torch.arange(rank * 100.0, rank * 100 + sum(range(1, size + 1))).unsqueeze(1)
out = torch.empty((rank + 1) * size, 1)
dist.all_to_all_single(out, rows, [rank + 1] * size, list(range(1, size + 1)))
at = sum(range(1, rank + 1))
close(out.flatten(), torch.cat([torch.arange(r * 100.0 + at, r * 100 + at + rank + 1) for r in everyone]))
for empty in (torch.empty(0), torch.empty(0, 3)):
    dist.all_reduce(empty)
    dist.broadcast(empty, 0)
    dist.all_gather([empty.clone() for _ in everyone], empty)
many = [data(rank, torch.float32, step=s, shape=(s + 1,)) for s in range(5)]
dist.all_reduce_coalesced(many)
for s, t in enumerate(many):
    close(t, combined("SUM", torch.float32, step=s, shape=(s + 1,)))
lists = [[torch.zeros(s + 1) for s in range(3)] for _ in everyone]
dist.all_gather_coalesced(lists, [torch.full((s + 1,), float(rank)) for s in range(3)])
assert all((t == r).all() for r in everyone for t in lists[r])
works = [(t := torch.full((1000,), float(i + rank)), dist.all_reduce(t, async_op=True)) for i in range(20)]
for i, (t, work) in enumerate(works):
    assert work.wait() and work.is_completed() and work.is_success() and work.exception() is None
    assert t[0] == i * size + sum(everyone)
future = dist.all_reduce(torch.ones(2), async_op=True).get_future().then(lambda f: f.value()[0] * 2)
assert future.wait().tolist() == [2.0 * size] * 2
leaf = torch.ones(2, requires_grad=True)
dist.all_reduce(leaf)
assert leaf.tolist() == [size] * 2 and leaf.requires_grad and leaf.grad_fn is None

# objects
found = [None] * size
dist.all_gather_object(found, {"rank": rank, "list": list(range(rank))})
assert found == [{"rank": r, "list": list(range(r))} for r in everyone]
found = [None] * size if rank == 1 else None
dist.gather_object(("x" * rank,), found, dst=1)
assert rank != 1 or found == [("x" * r,) for r in everyone]
found = [rank, None, "own"]
dist.broadcast_object_list(found, src=0)
assert found == [0, None, "own"]
found = [None]
dist.scatter_object_list(found, [f"for {r}" for r in everyone] if rank == 0 else None, src=0)
assert found == [f"for {rank}"]

# between two
if rank == 0:
    for r in range(1, size):
        dist.send(torch.full((4, 3), float(r)).t(), r, tag=3)
    got = torch.zeros(2)
    sources = {dist.recv(got, None if BACKEND != "nccl" else r) for r in range(1, size)}  # NCCL takes from a rank that is named
    assert sources == set(range(1, size))
    dist.send_object_list([1, "two", {3}], 1)
else:
    x = torch.zeros(3, 4)
    assert dist.recv(x, 0, tag=3) == 0 and (x == rank).all()
    dist.send(torch.full((2,), float(rank)), 0)
    if rank == 1:
        found = [None] * 3
        assert dist.recv_object_list(found, 0) == 0 and found == [1, "two", {3}]
right, left = (rank + 1) % size, (rank - 1) % size
x, y = torch.full((5,), float(rank)), torch.empty(5)
for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, right), dist.P2POp(dist.irecv, y, left)]):
    work.wait()
assert (y == left).all()

# groups
pair = dist.new_group([0, 1])
if rank < 2:
    x = torch.ones(1)
    dist.all_reduce(x, group=pair)
    assert x == 2 and dist.get_rank(pair) == rank and dist.get_world_size(pair) == 2
    assert dist.get_process_group_ranks(pair) == [0, 1] and dist.get_global_rank(pair, 1) == 1
else:
    assert pair == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(pair) == -1
mine, all_ = dist.new_subgroups(1)
assert mine.ranks == [rank] and len(all_) == size
half = dist.split_group(split_ranks=[[0], list(range(1, size))])
x = torch.ones(1)
dist.all_reduce(x, group=half)
assert x == (1 if rank == 0 else size - 1)
dist.barrier()
dist.monitored_barrier()
calls = dist.group.WORLD.last_calls()
assert len(calls) == 64 and calls[-1]["op"] == "barrier" and calls[-1]["where"].startswith("collectives.py:")
assert dist.get_backend() == BACKEND and dist.is_initialized() and dist.group.WORLD is not None

# what is refused before anything is sent, on this rank alone
for wrong, kind, text in (
    (lambda: dist.all_reduce([1]), TypeError, "type torch.Tensor"),
    (lambda: dist.all_reduce(torch.ones(2), "sum"), TypeError, "ReduceOp"),
    (lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND), ValueError, "BAND is not defined for float32"),
    (lambda: dist.broadcast(torch.ones(2), size), ValueError, "not part of group"),
    (lambda: dist.all_gather([torch.ones(2)], torch.ones(2)), ValueError, f"expected {size} output tensors"),
    (lambda: dist.all_gather([torch.ones(3)] * size, torch.ones(2)), ValueError, "2 elements"),
    (lambda: dist.all_gather([torch.ones(2).double()] * size, torch.ones(2)), ValueError, "float32"),
    (lambda: dist.reduce_scatter_tensor(torch.ones(2), torch.ones(3)), ValueError, "does not give"),
    (lambda: dist.all_to_all_single(torch.ones(size), torch.ones(size), [size], [1] * size), ValueError, "splits"),
    (lambda: dist.send(torch.ones(1), rank), ValueError, "this process itself"),
    (lambda: dist.all_reduce(torch.ones(2).to_sparse()), ValueError, "sparse"),
    (lambda: dist.init_process_group(BACKEND), ValueError, "twice"),
    (lambda: dist.new_group([size]), ValueError, "within the world_size"),
    (lambda: dist.new_group([0, 0]), ValueError, "listed twice"),
):  # fmt: skip
    try:
        wrong()
    except kind as e:
        assert text in str(e), (text, str(e))
    else:
        raise AssertionError(text)
dist.barrier()
dist.destroy_process_group()
assert not dist.is_initialized()
print(f"rank {rank} passed")
