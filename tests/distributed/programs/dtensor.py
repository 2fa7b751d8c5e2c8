# SPDX-License-Identifier: Apache-2.0
"""DTensor against plain tensors: values and gradients of operators in every placement, redistribution, factories."""
import copy
import io
import itertools
import warnings

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_module, distribute_tensor, ones, rand, randn, zeros
from torch.nn import functional as F

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("x",))
warnings.simplefilter("error")


def near(found, wanted, what):
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5, msg=lambda m: f"{what}: {m}")


grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp")) if size == 4 else None


def check(f, *tensors, meshes=((mesh, 1),), only=None, each=1):
    """f on DTensors in all placements gives what it gives on plain tensors, and so do its gradients. Four ranks look at a grid."""
    if grid is not None and meshes[0][0] is mesh:
        return
    plain = [t.detach().requires_grad_(t.is_floating_point()) for t in tensors]
    wanted = f(*plain)
    torch.manual_seed(5)
    seed = torch.randn_like(wanted)
    grads = torch.autograd.grad(wanted, [t for t in plain if t.requires_grad], seed) if wanted.requires_grad else []
    for m, n in meshes:
        options = [[Replicate(), *(Shard(d) for d in range(t.dim()))] for t in tensors]
        for places in list(itertools.product(*([list(p) for p in itertools.product(o, repeat=n)] for o in options)))[::each]:
            if only is not None and not only(places):
                continue
            made = [distribute_tensor(t.detach().requires_grad_(t.is_floating_point()), m, p) for t, p in zip(tensors, places)]
            out = f(*made)
            assert isinstance(out, DTensor) and out.shape == wanted.shape and out.dtype == wanted.dtype, (places, out)
            near(out.full_tensor().detach(), wanted.detach(), places)
            if wanted.requires_grad:
                (out * distribute_tensor(seed, m, [Replicate()] * n)).sum().full_tensor().backward()
                for t, g, p in zip([t for t in made if t.is_floating_point()], grads, places):
                    assert t.grad.shape == t.shape and t.grad.placements == t.placements
                    near(t.grad.full_tensor(), g, (places, "gradient"))


torch.manual_seed(0)
x, y, w, b = torch.randn(4, 6, 8), torch.randn(4, 6, 8), torch.randn(5, 8), torch.randn(5)
check(lambda a, c: a * c + a, x[0], y[0])
check(lambda a, c: a / (c.exp() + 1), x[0], y[0, :1])
check(F.linear, x, w, b)
check(lambda a, c: a @ c, x, y[0].T.contiguous())
check(lambda a, c: a @ c.transpose(1, 2), x, y)
check(lambda a, c, d: torch.addmm(a, c, d), b, x[0], w.T.contiguous())
check(lambda a: F.gelu(a).sum(1), x)
check(lambda a: a.mean(), x)
check(lambda a: a.mean(0), torch.randn(5, 3))
check(lambda a: a.amax(1), x[0])
check(lambda a: a.transpose(0, 1).reshape(6, 32).view(6, 4, 8), x)
check(lambda a: a.view(4, 6, 2, 4).permute(2, 0, 1, 3).flatten(1), x)
check(lambda a: torch.cat([c * i for i, c in enumerate(a.split(4, dim=2))], 1), x)
check(lambda a: a[:, 1:3].unsqueeze(1).expand(4, 3, 2, 8).sum(1), x)
check(lambda a: a.softmax(-1).log().cumsum(1), x)
check(lambda a, c, d: F.layer_norm(a, (8,), c, d), x, torch.rand(8), torch.randn(8))
check(lambda a, c: F.rms_norm(a, (8,), c), x, torch.rand(8))
check(lambda i, a: F.embedding(i, a), torch.randint(0, 7, (4, 6)), torch.randn(7, 3))
check(lambda i, a: F.embedding(i, a, padding_idx=3), torch.randint(0, 7, (4, 6)), torch.randn(7, 3))
labels = torch.randint(0, 8, (12,))
labels[::3] = -100
for options in ({}, {"reduction": "sum"}, {"label_smoothing": 0.1}):
    check(lambda a, t: F.cross_entropy(a, t, **options), torch.randn(12, 8), labels)
q, k, v = torch.randn(3, 2, 4, 6, 8).unbind(0)
same = lambda p: p[0] == p[1] == p[2] or p[0] == [Replicate()]  # noqa: E731
check(lambda a, c, d: F.scaled_dot_product_attention(a, c, d, is_causal=True), q, k, v, only=same)
check(lambda a, c, d: F.scaled_dot_product_attention(a, c, d, attn_mask=torch.zeros(())), q, k, v, only=same)
check(lambda a: torch.where(a > 0, a, a * 0.5).masked_fill(a > 1, 2.0), x[0])
check(lambda a: torch.stack([a, a * 2], 1).norm(dim=2), x[0])
check(lambda a, c: F.conv2d(a, c), torch.randn(4, 3, 5, 5), torch.randn(2, 3, 3, 3))

# A mesh of two dimensions, uneven parts, one dimension cut twice.
if size == 4:
    check(F.linear, x, w, b, meshes=((grid, 2),), each=17)
    check(lambda a: F.gelu(a).view(4, 48).sum(1), x, meshes=((grid, 2),), each=3)
meshes = [(grid, 2)] if size == 4 else [(mesh, 1)]
whole = torch.arange(7.0 * 5).view(7, 5)
for m, n in meshes:
    options = [list(p) for p in itertools.product([Replicate(), Shard(0), Shard(1)], repeat=n)]
    for a, c in list(itertools.product(options, options))[:: 4 if n == 2 else 1]:
        t = distribute_tensor(whole.clone().requires_grad_(), m, a)
        moved = t.redistribute(placements=c)
        assert moved.placements == tuple(c) and torch.equal(moved.full_tensor().detach(), whole), (a, c)
        (moved * moved).sum().backward()
        assert torch.equal(t.grad.full_tensor(), 2 * whole), (a, c)

# Sums: what is on the ranks is added up, in either direction.
part = torch.full((2 * size,), float(rank + 1), requires_grad=True)
total = DTensor.from_local(part, mesh, [Partial()])
assert total.redistribute(placements=[Shard(0)]).to_local().tolist() == [size * (size + 1) / 2] * 2
(total.full_tensor() * torch.arange(2.0 * size)).sum().backward()
assert torch.equal(part.grad, torch.arange(2.0 * size))
for op, wanted in (("avg", (size + 1) / 2), ("max", size), ("min", 1)):
    assert DTensor.from_local(torch.tensor([rank + 1.0]), mesh, [Partial(op)]).full_tensor().item() == wanted

# A replicated tensor that ranks use differently says so, and its gradient is the sum.
t = distribute_tensor(torch.ones(3, requires_grad=True), mesh, [Replicate()])
(t.to_local(grad_placements=[Partial()]) * (rank + 1)).sum().backward()
assert t.grad.to_local().tolist() == [size * (size + 1) / 2] * 3

# Second derivatives, autograd.grad, hooks.
t = distribute_tensor(torch.arange(4.0).requires_grad_(), mesh, [Shard(0)])
(g,) = torch.autograd.grad((t**3).sum(), t, create_graph=True)
(h,) = torch.autograd.grad(g.sum(), t)
assert torch.equal(h.full_tensor(), 6 * torch.arange(4.0)) and h.placements == (Shard(0),)
seen = []
t.register_hook(lambda g: seen.append(type(g)) or g * 2)
t.register_post_accumulate_grad_hook(lambda p: seen.append(p is t))
(t * 1).sum().backward()
assert seen == [DTensor, True] and torch.equal(t.grad.full_tensor(), torch.full((4,), 2.0))

# What has no rule works on whole tensors, and says so once.
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as said:
    for _ in range(2):
        near(torch.linalg.inv(distribute_tensor(torch.eye(4) * 2, mesh, [Shard(0)])).full_tensor(), torch.eye(4) / 2, "inv")
assert sum("linalg_inv" in str(s.message) and "once" in str(s.message) for s in said) <= 1 <= len(said), [str(s.message) for s in said]
t = distribute_tensor(torch.arange(6.0), mesh, [Shard(0)])
assert t.add_(1).mul_(2) is t and torch.equal(t.full_tensor(), 2 * (torch.arange(6.0) + 1)) and t.placements == (Shard(0),)
with warnings.catch_warnings(record=True):
    assert t.index_fill_(0, distribute_tensor(torch.tensor([1, 4]), mesh, [Replicate()]), 9.0) is t
assert t.full_tensor().tolist() == [2, 9, 6, 8, 9, 12] and t.placements == (Shard(0),)
line = distribute_tensor(torch.zeros(size, 3), mesh, [Shard(0)])
assert line.squeeze().shape == (size, 3) and line.squeeze().to_local().shape == (1, 3)  # one row here, several in all
line[:, 1] = 5.0  # a view of parts is one of the tensor
assert line.full_tensor().sum() == 5 * size
for wrong, error, text in (
    (lambda: line[0].add_(1), NotImplementedError, "would not be seen"),
    (lambda: t + torch.ones(6), RuntimeError, "mixed torch.Tensor and DTensor"),
    (lambda: t.redistribute(placements=[Partial()]), RuntimeError, "internal use"),
    (lambda: distribute_tensor(torch.ones(2), mesh, [Shard(1)]), IndexError, "1 dimensions"),
    (lambda: distribute_tensor(torch.ones(2), mesh, []), ValueError, "device_mesh.ndim"),
    (lambda: t.data_ptr(), RuntimeError, "no memory of its own"),
    (lambda: DTensor.from_local(t, mesh, [Shard(0)]), RuntimeError, "only accepts torch.Tensor"),
    (lambda: DTensor.from_local(torch.ones(3), mesh, [Shard(0)], shape=(1,), stride=(1,)), RuntimeError, "has the shape"),
):  # fmt: skip
    try:
        wrong()
    except error as e:
        assert text in str(e), e
    else:
        raise AssertionError(text)

# Factories: parts draw different numbers, copies the same.
assert ones(4, size, device_mesh=mesh, placements=[Shard(1)]).to_local().shape == (4, 1)
assert zeros((3,), device_mesh=mesh, placements=[Replicate()]).full_tensor().tolist() == [0, 0, 0]
torch.manual_seed(rank)
r = randn(size * 50, device_mesh=mesh, placements=[Shard(0)]).full_tensor()
assert len(set(r.tolist())) > size * 49
r = rand(20, device_mesh=mesh, placements=[Replicate()])
copies = [torch.empty(20) for _ in range(size)]
dist.all_gather(copies, r.to_local())
assert all(torch.equal(c, copies[0]) for c in copies)
d = F.dropout(ones(size * 64, device_mesh=mesh, placements=[Shard(0)]), 0.5).full_tensor()
assert 0 < (d == 0).sum() < size * 64

# What is sent: one call for a gather and its gradient each; q, k and v reduce one gradient.
from torch.distributed.tensor.debug import CommDebugMode  # noqa: E402

kinds = torch.ops._c10d_functional
cut_w = [distribute_tensor(torch.randn(4 * size, 8).requires_grad_(), mesh, [Shard(0)]) for _ in range(3)]
t = distribute_tensor(torch.randn(2 * size, 8).requires_grad_(), mesh, [Shard(0)])
with CommDebugMode() as sent:
    whole = t.redistribute(placements=[Replicate()])
    a, c, d = (F.linear(whole, v).square().sum() for v in cut_w)
    out = (a + c + d).redistribute(placements=[Replicate()])
assert sent.get_comm_counts() == {kinds.all_gather_into_tensor: 1, kinds.all_reduce: 1}, sent.get_comm_counts()
with CommDebugMode() as sent:
    out.backward()
assert sent.get_comm_counts() == {kinds.reduce_scatter_tensor: 1} and sent.get_total_counts() == 1, sent.get_comm_counts()
if grid is not None:
    flat = grid["dp", "tp"]._flatten("all")
    assert flat.size() == 4 and grid["all"] is flat and dist.get_world_size(flat.get_group()) == 4

# Modules, copies, files, optimizers.
torch.manual_seed(0)
net, plain = torch.nn.Linear(8, 4), torch.nn.Linear(8, 4)
plain.load_state_dict(net.state_dict())


def cut(name, module, mesh):
    for key, p in module._parameters.items():
        module.register_parameter(key, torch.nn.Parameter(distribute_tensor(p, mesh, [Shard(0)])))


net = distribute_module(net, mesh, cut)
assert isinstance(net.weight, torch.nn.Parameter) and isinstance(net.weight, DTensor) and net.weight.placements == (Shard(0),)
for make in (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), lambda p: torch.optim.AdamW(p, 0.1), lambda p: torch.optim.Adam(p, 0.1, foreach=True),
             lambda p: torch.optim.SGD(p, 0.1, foreach=False)):  # fmt: skip
    pair = [(net, make(net.parameters())), (plain, make(plain.parameters()))]
    for step in range(2):
        norms = []
        for m, o in pair:
            o.zero_grad()
            i = x[0] if m is plain else distribute_tensor(x[0], mesh, [Replicate()])
            m(i).square().sum().backward()
            n = torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
            norms.append(n.full_tensor() if isinstance(n, DTensor) else n)
            o.step()
        near(*norms, "norm")
    near(net.weight.full_tensor().detach(), plain.weight.detach(), "optimizer")
again = copy.deepcopy(net)
assert isinstance(again.weight, torch.nn.Parameter) and torch.equal(again.weight.to_local(), net.weight.to_local())
net.double()
assert net.weight.dtype == torch.float64 == net.weight.to_local().dtype
buffer = io.BytesIO()
torch.save({"weight": again.weight}, buffer)
buffer.seek(0)
loaded = torch.load(buffer)["weight"]
assert isinstance(loaded, torch.nn.Parameter) and loaded.device_mesh is mesh and torch.equal(loaded.full_tensor(), again.weight.full_tensor())
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} passed")
