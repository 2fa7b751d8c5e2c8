# SPDX-License-Identifier: Apache-2.0
"""What programs written for the port expect of indices and modules on the device."""

import pytest


def test_buffers_that_stay_on_the_cpu(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.BatchNorm1d(4 * 16)).hammerblade()
    assert model.move_buffers_to_cpu(nn.BatchNorm2d, ["num_batches_tracked"]) is model
    places = {name: buffer.device.type for name, buffer in model.named_buffers()}
    assert places["1.num_batches_tracked"] == "cpu" and set(places.values()) == {"cpu", "hammerblade"} and list(places.values()).count("cpu") == 1
    x = torch.randn(2, 3, 6, 6)
    model(x.hammerblade()).sum().backward()  # it trains, and counts
    assert model[1].num_batches_tracked.item() == 1 and model[0].weight.grad.is_hammerblade
    with pytest.raises(AttributeError, match="BatchNorm1d has no buffer 'nosuch'; it has running_mean, running_var, num_batches_tracked"):
        model.move_buffers_to_cpu((nn.BatchNorm1d,), "nosuch")
    model.move_buffers_to_cpu()
    assert {b.device.type for b in model.buffers()} == {"cpu"} and {p.device.type for p in model.parameters()} == {"hammerblade"}
    model.hammerblade()
    assert {b.device.type for b in model.buffers()} == {"hammerblade"}
    nn.BatchNorm1d(3, track_running_stats=False).move_buffers_to_cpu()  # buffers that are None
    assert not nn.Linear(2, 2).move_buffers_to_cpu().weight.is_hammerblade


@pytest.mark.parametrize("mode", ["fast", "check"])
def test_indices_of_max_pool2d_are_of_the_devices_type(torch, mode):
    F = torch.nn.functional
    x = torch.randn(2, 3, 7, 9)
    with torch.hammerblade.mode(mode, seed=2):
        for like in (lambda t: t, lambda t: t.half(), lambda t: t.requires_grad_()):
            want, at = F.max_pool2d(like(x.clone()), 3, 2, 1, return_indices=True)
            got, index = F.max_pool2d(like(x.clone().hammerblade()), 3, 2, 1, return_indices=True)
            assert at.dtype == torch.int64 and index.dtype == torch.int32 and index.type() == "torch.hammerblade.IntTensor"
            assert torch.equal(at.int(), index.cpu()) and torch.equal(want, got.cpu())
        a, h = x.clone().requires_grad_(), x.hammerblade().requires_grad_()
        for t in (a, h):
            out, index = F.max_pool2d(t, 2, return_indices=True)
            F.max_unpool2d(out, index, 2, output_size=t.shape[2:]).square().sum().backward()
        assert torch.equal(a.grad, h.grad.cpu())
        out, index = F.max_pool1d(h.detach()[0], 3, return_indices=True)
        assert index.dtype == torch.int32 and torch.equal(index.cpu().long(), F.max_pool1d(x[0], 3, return_indices=True)[1])
        # Indices of one's own may be of the type that the CPU's are.
        pool = torch.ops.aten.max_pool2d_with_indices_backward
        image, grad, own = x[:1], torch.ones(1, 3, 3, 4), F.max_pool2d(x[:1], 2, return_indices=True)[1]
        want = pool(grad, image, [2, 2], [2, 2], [0, 0], [1, 1], False, own)
        got = pool(grad.hammerblade(), image.hammerblade(), [2, 2], [2, 2], [0, 0], [1, 1], False, own.hammerblade())
        assert torch.equal(want, got.cpu())
    assert torch.max(h.detach(), 3).indices.dtype == torch.int64  # of nothing else


def test_indices_of_sparse_tensors_are_of_the_devices_type(torch):
    x = torch.tensor([[0, 1.5, 0], [2, 0, 0]]).to_sparse()
    h = x.hammerblade()
    for of in (torch.Tensor.indices, torch.Tensor._indices):
        assert of(h).type() == "torch.hammerblade.IntTensor" and of(x).type() == "torch.LongTensor"
        assert torch.equal(of(h).cpu(), of(x).int())
    again = torch.sparse_coo_tensor(h.indices(), h.values(), h.shape)
    assert again.is_hammerblade and torch.equal(again.cpu().to_dense(), x.to_dense())
    assert h.cpu().indices().dtype == torch.int64 and "indices=tensor(" in repr(h)
    assert torch.equal((h + h).cpu().to_dense(), (x + x).to_dense()) and torch.equal(torch.sparse.mm(h, torch.ones(3, 2).hammerblade()).cpu(), x.to_dense() @ torch.ones(3, 2))
    dense = h.to_dense().requires_grad_()
    (dense.to_sparse() * 2).to_dense().sum().backward()
    assert torch.equal(dense.grad.cpu(), 2.0 * (x.to_dense() != 0))  # of the entries


def test_factories_have_one_function_for_all_devices(torch):
    profiler = torch.hammerblade.profiler
    x = torch.ones(3)
    with profiler.region():
        torch.randn(4), torch.zeros(2), torch.arange(3), torch.eye(2), torch.zeros_like(x), x.new_ones(2), torch.rand(2).hammerblade()
        torch.empty(3), x + x
    stack = profiler.exec_time.raw_stack()
    assert "at::Tensor at::TypeDefault::randn(c10::IntArrayRef, const c10::TensorOptions&)" in stack
    for name in ("zeros", "arange", "eye", "zeros_like", "new_ones", "rand"):
        assert f"at::TypeDefault::{name}(" in stack and f"{{anonymous}}::{name}(" not in stack, name
    assert "at::CPUType::{anonymous}::empty(" in stack and "at::CPUType::{anonymous}::add(" in stack
