# SPDX-License-Identifier: Apache-2.0
"""Groups, hooks, names and errors of the base class."""
import importlib

import pytest

pytestmark = pytest.mark.not_sanitized


def required(torch):
    return importlib.import_module(torch.optim.Optimizer.__module__).required


def leaf(torch, *values):
    return torch.tensor(values, requires_grad=True)


def test_groups_and_defaults(torch):
    a, b, c = leaf(torch, 1.0), leaf(torch, 2.0), leaf(torch, 3.0)
    made = torch.optim.SGD([{"params": a}, {"params": [b], "lr": 0.5}], lr=0.1, momentum=0.9)
    made.add_param_group({"params": [c], "momentum": 0.0})
    assert [(g["lr"], g["momentum"]) for g in made.param_groups] == [(0.1, 0.9), (0.5, 0.9), (0.1, 0.0)]
    assert made.state_dict()["param_groups"][2]["params"] == [2]
    a.grad = torch.ones(1)
    made.step()
    assert len(made.state) == 1 and b.item() == 2.0
    made.zero_grad(set_to_none=False)
    assert a.grad.tolist() == [0.0]
    made.zero_grad()
    assert a.grad is None


def test_named_parameters(torch):
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    made = torch.optim.SGD([("a", a), ("b", b)], lr=0.1)
    assert made.param_groups[0]["param_names"] == ["a", "b"]
    assert made.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    with pytest.raises(ValueError, match="with/without names"):
        made.add_param_group({"params": [leaf(torch, 1.0)]})
    with pytest.raises(ValueError, match="Some param names are missing"):
        torch.optim.SGD([("a", a), b], lr=0.1)


def test_step_hooks_and_closure(torch):
    p, log = leaf(torch, 1.0), []
    made = torch.optim.SGD([p], lr=0.1)
    module = importlib.import_module(torch.optim.Optimizer.__module__)
    before = module.register_optimizer_step_pre_hook(lambda o, args, kwargs: log.append("all before"))
    after = module.register_optimizer_step_post_hook(lambda o, args, kwargs: log.append("all after"))
    handle = made.register_step_pre_hook(lambda o, args, kwargs: log.append(("before", o is made, len(args))))
    made.register_step_post_hook(lambda o, args, kwargs: log.append("after"))

    def closure():
        assert torch.is_grad_enabled()
        log.append("closure")
        p.grad = torch.ones(1)
        return 7.0

    assert made.step(closure) == 7.0
    assert log == ["all before", ("before", True, 2), "closure", "after", "all after"]
    for h in (before, after, handle):
        h.remove()
    log.clear()
    made.step()
    assert log == ["after"]
    made.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        made.step()


def test_hooks_of_a_class_that_overrides_step(torch):
    class Mine(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.5})

        def step(self, closure=None):
            with torch.no_grad():
                for p in self.param_groups[0]["params"]:
                    p.add_(p.grad, alpha=-self.param_groups[0]["lr"])

    p, log = leaf(torch, 1.0), []
    made = Mine([p])
    made.register_step_post_hook(lambda *a: log.append(1))
    p.grad = torch.ones(1)
    made.step()
    assert p.item() == 0.5 and log == [1]


def test_state_dict_hooks(torch):
    made, log = torch.optim.SGD([leaf(torch, 1.0)], lr=0.1), []
    made.register_state_dict_pre_hook(lambda o: log.append("second"))
    made.register_state_dict_pre_hook(lambda o: log.append("first"), prepend=True)
    made.register_state_dict_post_hook(lambda o, s: {**s, "more": 1})
    saved = made.state_dict()
    assert log == ["first", "second"] and saved["more"] == 1

    def drop(o, s):
        s["param_groups"] = [{**s["param_groups"][0], "lr": 0.7}]
        return s

    made.register_load_state_dict_pre_hook(drop)
    made.register_load_state_dict_post_hook(lambda o: log.append("loaded"))
    made.load_state_dict(saved)
    assert made.param_groups[0]["lr"] == 0.7 and log[-1] == "loaded"


def test_load_casts_to_the_parameters_type_but_not_the_count(torch):
    p = leaf(torch, 1.0)
    made = torch.optim.Adam([p])
    p.grad = torch.ones(1)
    made.step()
    q = torch.ones(1, dtype=torch.float64, requires_grad=True)
    other = torch.optim.Adam([q])
    other.load_state_dict(made.state_dict())
    state = other.state[q]
    assert state["exp_avg"].dtype == torch.float64 and state["step"].dtype == torch.float32
    old = made.state_dict()
    old["state"] = {0: {**old["state"][0], "step": 5}}  # as old versions saved it
    other.load_state_dict(old)
    assert isinstance(other.state[q]["step"], torch.Tensor) and other.state[q]["step"].item() == 5


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda t, p: t.optim.SGD(p), TypeError, "should be an iterable of Tensors or dicts"),
        (lambda t, p: t.optim.SGD([]), ValueError, "empty parameter list"),
        (lambda t, p: t.optim.SGD([3]), TypeError, "can only optimize Tensors"),
        (lambda t, p: t.optim.SGD([p * 2]), ValueError, "non-leaf"),
        (lambda t, p: t.optim.SGD([{"params": {p}}]), TypeError, "ordered collections"),
        (lambda t, p: t.optim.SGD([{"params": [p]}, {"params": [p]}]), ValueError, "more than one parameter group"),
        (lambda t, p: t.optim.SGD([p]).add_param_group([p]), TypeError, "must be a dict"),
        (lambda t, p: t.optim.SGD([p], lr=-1.0), ValueError, "Invalid learning rate: -1.0"),
        (lambda t, p: t.optim.SGD([p], lr=0.1, momentum=-1.0), ValueError, "Invalid momentum value: -1.0"),
        (lambda t, p: t.optim.SGD([p], lr=0.1, nesterov=True), ValueError, "Nesterov momentum requires"),
        (lambda t, p: t.optim.Adam([p], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
        (lambda t, p: t.optim.Adam([p], betas=(0.5, t.tensor(0.9))), ValueError, "both floats or both Tensors"),
        (lambda t, p: t.optim.Adam([p], eps=-1.0), ValueError, "Invalid epsilon value: -1.0"),
        (lambda t, p: t.optim.Adam([p], lr=t.ones(2)), ValueError, "Tensor lr must be 1-element"),
        (lambda t, p: t.optim.Adam([p], lr=t.tensor(0.1), foreach=True), ValueError, "lr as a Tensor is not supported"),
        (lambda t, p: t.optim.Adam([p], fused=True, differentiable=True), RuntimeError, "does not support `differentiable`"),
        (lambda t, p: t.optim.Adam([p], fused=True, foreach=True), RuntimeError, "cannot be `True` together"),
        (lambda t, p: t.optim.Optimizer([p], {"lr": required(t)}), ValueError, "required optimization parameter lr"),
        (lambda t, p: t.optim.Optimizer([p], {}).step(), NotImplementedError, None),
        (lambda t, p: t.optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []}), ValueError, "different number of parameter groups"),
        (lambda t, p: t.optim.SGD([p]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}), ValueError, "match the size"),
    ],
)
def test_refuses(torch, make, kind, text):
    with pytest.raises(kind, match=text):
        make(torch, leaf(torch, 1.0))


def test_warns(torch):
    p = leaf(torch, 1.0)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        torch.optim.SGD([p, p], lr=0.1)
    with pytest.warns(FutureWarning, match="ordered collections"), pytest.raises(TypeError):
        torch.optim.SGD({3}, lr=0.1)


def test_capturable_needs_an_accelerator(torch):
    p = leaf(torch, 1.0)
    p.grad = torch.ones(1)
    with pytest.raises(AssertionError, match="If capturable=True"):
        torch.optim.Adam([p], capturable=True).step()


def test_other_parameters_and_state_for_a_while(torch):
    def model(value):
        return {"a": leaf(torch, value), "b": leaf(torch, value + 1)}

    def run(made, params):
        for p in params.values():
            p.grad = torch.full_like(p, 0.5)
        made.step()

    def adam(params):
        return torch.optim.Adam([{"params": [params["a"]]}, {"params": [params["b"]], "lr": 0.5}], lr=0.1)

    own, other = model(1.0), model(5.0)
    made, theirs = adam(own), adam(other)
    run(made, own)
    run(theirs, other)
    state, twin = theirs.state_dict(), {k: v.detach().clone().requires_grad_() for k, v in other.items()}
    state["param_groups"][0]["lr"] = 0.25
    before = {k: v.detach().clone() for k, v in own.items()}, made.state, [dict(g) for g in made.param_groups]
    with torch.optim.swap_in_optimizer_params_and_state(made, twin, state):
        run(made, twin)
        assert made.param_groups[0]["lr"] == 0.25 and made.param_groups[1]["params"][0] is twin["b"] and set(made.state) == set(twin.values())
    assert state["state"][0]["step"].item() == 2.0 and all(torch.equal(own[k], before[0][k]) for k in own)
    assert made.state is before[1] and [dict(g) for g in made.param_groups] == before[2]
    expected = torch.tensor([other["a"].item() - 0.25])
    assert torch.allclose(twin["a"].detach(), expected, atol=1e-4) and twin["b"].item() != other["b"].item()

    swap = torch.optim.swap_in_optimizer_params_and_state
    for params, given in (
        (twin, {"state": {}, "param_groups": state["param_groups"][:1]}), (twin, {"state": [], "param_groups": state["param_groups"]}), (twin, []),
        (twin, {"state": {7: {}}, "param_groups": state["param_groups"]}), ({"a": twin["a"]}, state),
        (twin, {"state": {}, "param_groups": [{"params": [0]}, {"params": [1]}]}), (twin, {"state": {}, "param_groups": [{"params": [0, 1]}, {"params": []}]}),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="swap"), swap(made, params, given):
            pass
    with pytest.raises(RuntimeError, match="state"), swap(adam(own), twin, state):
        pass
    with pytest.raises(KeyError), swap(made, twin, state):
        raise KeyError
    assert made.state is before[1] and made.param_groups[0]["params"][0] is own["a"]


# The options that stand after lr, in the order of PyTorch's groups.
ORDERS = {
    "NAdam": "betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach capturable differentiable",
    "RAdam": "betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable",
    "Adadelta": "rho eps weight_decay maximize capturable foreach differentiable",
    "Adagrad": "lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused",
    "RMSprop": "momentum alpha eps centered weight_decay capturable foreach maximize differentiable",
    "Rprop": "etas step_sizes foreach maximize differentiable capturable",
    "SGD": "momentum dampening weight_decay nesterov maximize foreach differentiable fused",
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_order_of_options(torch, name):
    made = getattr(torch.optim, name)([leaf(torch, 1.0)], lr=0.1)
    assert list(made.defaults) == ["lr", *ORDERS[name].split()]
    assert list(made.param_groups[0]) == ["params", *made.defaults]


def test_the_order_of_states(torch):
    x = leaf(torch, 1.0, 2.0)
    made = torch.optim.LBFGS([x])

    def closure():
        made.zero_grad()
        loss = (x * x * x * x).sum()
        loss.backward()
        return loss

    for _ in range(2):
        made.step(closure)
        assert list(made.state[x]) == "func_evals n_iter al d t old_dirs old_stps ro H_diag prev_flat_grad prev_loss".split()
    kept = torch.optim.lr_scheduler.ReduceLROnPlateau(made).state_dict()
    assert list(kept)[-7:] == "mode_worse mode threshold threshold_mode best cooldown_counter num_bad_epochs".split()


@pytest.mark.parametrize("name", ["Adam", "AdamW", "NAdam", "RAdam", "Adadelta", "Adagrad", "Adamax", "ASGD", "RMSprop", "Rprop"])
def test_foreach_is_not_differentiable(torch, name):
    x = leaf(torch, 1.0)
    made = getattr(torch.optim, name)([x], lr=0.1, foreach=True, differentiable=True)
    x.grad = torch.ones(1)
    with pytest.raises(AssertionError, match="_foreach ops don't support autograd"):
        made.step()
