# SPDX-License-Identifier: Apache-2.0
"""Averages of weights over training."""
import pytest

pytestmark = pytest.mark.not_sanitized


def model(torch):
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))


def trained(torch, averaged, source, steps=4):
    """Changes the source in steps and returns all values that its first weight had."""
    values = []
    for i in range(steps):
        with torch.no_grad():
            for p in source.parameters():
                p.add_(0.5 * i + 0.25)
        values.append(source[0].weight.detach().clone())
        averaged.update_parameters(source)
    return values


@pytest.mark.parametrize("form", ["default", "multi", "single"])
def test_plain_average(torch, form):
    swa = torch.optim.swa_utils
    options = {"default": {}, "multi": {"multi_avg_fn": swa.get_swa_multi_avg_fn()}, "single": {"avg_fn": swa.get_swa_avg_fn()}}[form]
    source = model(torch)
    averaged = swa.AveragedModel(source, **options)
    values = trained(torch, averaged, source)
    torch.testing.assert_close(averaged.module[0].weight.detach(), sum(values) / len(values))
    assert averaged.n_averaged.item() == 4 and averaged.n_averaged.dtype == torch.int64
    x = torch.ones(5, 3)
    averaged.eval()
    assert averaged(x).shape == (5, 2)
    assert list(averaged.state_dict())[:2] == ["n_averaged", "module.0.weight"]


@pytest.mark.parametrize("form", ["multi", "single"])
def test_moving_average(torch, form):
    swa = torch.optim.swa_utils
    options = {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)} if form == "multi" else {"avg_fn": swa.get_ema_avg_fn(0.9)}
    source = model(torch)
    averaged = swa.AveragedModel(source, **options, use_buffers=True)
    values = trained(torch, averaged, source)
    want = values[0]
    for value in values[1:]:
        want = 0.9 * want + 0.1 * value
    torch.testing.assert_close(averaged.module[0].weight.detach(), want)


def test_buffers_are_copied_or_averaged(torch):
    swa, source = torch.optim.swa_utils, model(torch)
    copied, averaged = swa.AveragedModel(source), swa.AveragedModel(source, use_buffers=True)
    for mean in (1.0, 3.0):
        source[1].running_mean.fill_(mean)
        copied.update_parameters(source)
        averaged.update_parameters(source)
    assert copied.module[1].running_mean[0].item() == 3.0 and averaged.module[1].running_mean[0].item() == 2.0


def test_update_bn(torch):
    net = model(torch)
    batches = [torch.arange(12.0).reshape(4, 3), torch.ones(4, 3)]
    torch.optim.swa_utils.update_bn([(b, 0) for b in batches], net)
    with torch.no_grad():
        want = sum(net[0](b).mean(0) for b in batches) / 2
    torch.testing.assert_close(net[1].running_mean, want)
    assert net[1].momentum == 0.1 and net.training


def test_refuses(torch):
    swa = torch.optim.swa_utils
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        swa.AveragedModel(model(torch), avg_fn=swa.get_swa_avg_fn(), multi_avg_fn=swa.get_swa_multi_avg_fn())
    for make in (swa.get_ema_avg_fn, swa.get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match="Invalid decay value 2"):
            make(2)
    with pytest.raises(ValueError, match="anneal_strategy must be one of"):
        swa.SWALR(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1), 0.1, anneal_strategy="x")
