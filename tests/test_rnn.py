# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers against the same network written step by step in cells: results and all gradients."""
import itertools

import pytest

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def by_cells(torch, name, x, sizes, states, params, biases, layers, directions):
    """x is packed; each step's rows are x's next sizes[t]."""
    each = len(params) // (layers * directions)
    ends = [[] for _ in states]
    for layer in range(layers):
        outs = []
        for d in range(directions):
            at = layer * directions + d
            p = params[at * each : (at + 1) * each]
            project = p[-1] if each % 2 else None
            now = [s[at] for s in states]
            steps = list(torch.split(x, sizes))
            out = [None] * len(steps)
            for t in range(len(steps))[:: -1 if d else 1]:
                n = sizes[t]
                rows = [s[:n] for s in now]
                weights = (p[0], p[1], *(p[2:4] if biases else (None, None)))
                if name == "lstm":
                    h, c = torch.lstm_cell(steps[t], rows, *weights) if project is None else projected(torch, steps[t], rows, weights, project)
                    new = [h, c]
                else:
                    new = [getattr(torch, name + "_cell")(steps[t], rows[0], *weights)]
                now = [torch.cat([a, b[n:]]) for a, b in zip(new, now)]
                out[t] = new[0]
            outs.append(torch.cat(out))
            for end, s in zip(ends, now):
                end.append(s)
        x = torch.cat(outs, 1)
    return (x, *(torch.stack(e) for e in ends))


def projected(torch, x, state, weights, project):
    w_ih, w_hh, b_ih, b_hh = weights
    gates = torch.nn.functional.linear(x, w_ih, b_ih) + torch.nn.functional.linear(state[0], w_hh, b_hh)
    i, f, g, o = gates.chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return (o.sigmoid() * c.tanh()) @ project.t(), c


CASES = [(n, layers, both, biases, 0) for n, layers, both, biases in itertools.product(GATES, (1, 2), (False, True), (False, True))]
CASES += [("lstm", 2, True, True, 2), ("lstm", 1, False, False, 1)]


@pytest.mark.parametrize("sizes", [[2] * 4, [3, 3, 2, 1], [4, 1], [1]])
@pytest.mark.parametrize("name, layers, both, biases, project", CASES)
def test_layers_equal_cells(torch, name, layers, both, biases, project, sizes):
    compare(torch, name, layers, both, biases, project, sizes, size=3)


# A step is computed in pieces of some units and rows: full ones, several, and incomplete ones.
@pytest.mark.parametrize("size, sizes", [(32, [12, 12]), (37, [29, 29, 14, 13, 1]), (70, [5, 4])])
@pytest.mark.parametrize("name", GATES)
def test_pieces_equal_cells(torch, name, size, sizes):
    compare(torch, name, 1, True, True, 0, sizes, size)


def compare(torch, name, layers, both, biases, project, sizes, size):
    torch.manual_seed(3)
    inputs, directions, batch = 2, 1 + both, sizes[0]
    out = project or size

    def leaf(*shape):
        return torch.randn(*shape, dtype=torch.float64).requires_grad_()
    params = []
    for layer, _ in itertools.product(range(layers), range(directions)):
        params += [leaf(GATES[name] * size, inputs if layer == 0 else out * directions), leaf(GATES[name] * size, out)]
        params += [leaf(GATES[name] * size), leaf(GATES[name] * size)] if biases else []
        params += [leaf(project, size)] if project else []
    states = [leaf(layers * directions, batch, out)] + ([leaf(layers * directions, batch, size)] if name == "lstm" else [])
    x = leaf(sum(sizes), inputs)
    state = states if name == "lstm" else states[0]
    got = getattr(torch, name)(x, torch.tensor(sizes), state, params, biases, layers, 0.0, False, both)
    want = by_cells(torch, name, x, sizes, states, params, biases, layers, directions)
    leaves = [x, *states, *params]
    grads = [torch.autograd.grad(sum((y * (i + 1.5)).sin().sum() for i, y in enumerate(ys)), leaves, retain_graph=True) for ys in (got, want)]
    for a, b in zip([*got, *grads[0]], [*want, *grads[1]]):
        assert a.shape == b.shape and (a - b).abs().max() < 1e-11 * max(1, b.abs().max())
    # Only the last state is used.
    grads = [torch.autograd.grad(ys[-1].sum(), leaves, allow_unused=True) for ys in (got, want)]
    for a, b in zip(*grads):
        a, b = (torch.zeros(1, dtype=torch.float64) if g is None else g for g in (a, b))
        assert (a - b).abs().max() < 1e-11 * max(1, b.abs().max())


def test_one_node(torch):
    params = [torch.randn(8, 3, requires_grad=True), torch.randn(8, 2, requires_grad=True)]
    out = torch.lstm(torch.randn(5, 2, 3), [torch.zeros(1, 2, 2)] * 2, params, False, 1, 0.0, False, False, False)[0]
    node = out.grad_fn.next_functions[0][0]
    assert "RnnLayer" in node.name()
    assert all(f is None or "AccumulateGrad" in f.name() for f, _ in node.next_functions)


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("how", ["plain", "projected", "no biases"])
def test_second_derivatives(torch, name, how):
    """Against those of cells, which autograd takes apart: of sequences of several lengths, in both directions."""
    if how == "projected" and name != "lstm":
        pytest.skip("only an LSTM has a projection")
    torch.manual_seed(7)
    biases, size, width = how != "no biases", 3, 2 if how == "projected" else 3
    rows, sizes = GATES[name] * size, [3, 2, 2, 1]

    def fresh(*shape):
        return (torch.randn(*shape).double() * 0.5).requires_grad_()

    params = []
    for _ in range(2):
        params += [fresh(rows, 4), fresh(rows, width)] + ([fresh(rows), fresh(rows)] if biases else []) + ([fresh(width, size)] if how == "projected" else [])
    x, states = fresh(8, 4), [fresh(2, 3, width)] + ([fresh(2, 3, size)] if name == "lstm" else [])
    leaves = [x, *states, *params]
    answers = []
    for run in (
        lambda: getattr(torch, name)(x, torch.tensor(sizes), states if name == "lstm" else states[0], params, biases, 1, 0.0, False, True),
        lambda: by_cells(torch, name, x, sizes, states, params, biases, 1, 2),
    ):
        first = torch.autograd.grad(sum((y * y).sum() for y in run()), leaves, create_graph=True)
        answers.append([*first, *torch.autograd.grad(sum((g * g).sum() for g in first), leaves)])
    for a, b in zip(*answers):
        assert (a - b).abs().max() < 1e-10


@pytest.mark.parametrize("change", [
    lambda a: a.update(sizes=[2, 3]), lambda a: a.update(sizes=[3, 2, 1]), lambda a: a.update(sizes=[]), lambda a: a.update(sizes=[2, 2, -1]),
    lambda a: a.update(sizes=[2**62, 2**62, 2]), lambda a: a["params"].pop(), lambda a: a.update(layers=2**40), lambda a: a.update(layers=0),
    lambda a: a.update(state="wide"), lambda a: a.update(weight="narrow"), lambda a: a.update(dropout=2.0),
])  # fmt: skip
def test_wrong_sizes_are_errors(torch, change):
    a = dict(sizes=[2, 2], layers=1, params=[torch.ones(8, 3), torch.ones(8, 2)], state=None, weight=None, dropout=0.0)
    change(a)
    h = torch.zeros(1, 2, 5 if a["state"] else 2)
    if a["weight"]:
        a["params"][0] = torch.ones(7, 3)
    with pytest.raises(RuntimeError):
        torch.lstm(torch.ones(4, 3), torch.tensor(a["sizes"], dtype=torch.int64), [h, h], a["params"], False, a["layers"], a["dropout"], True, False)


@pytest.mark.parametrize("mode", range(4))
@pytest.mark.parametrize("biases", [(0,), (1,)])
def test_one_bias_without_the_other(torch, mode, biases):
    gates = [1, 1, 4, 3][mode]
    both = [torch.ones(gates) if i in biases else None for i in range(2)]
    cell = torch.ones(2, 1) if mode == 2 else None
    with pytest.raises(RuntimeError, match="rnn: expected both biases or none, got only bias_[ih]h"):
        torch.ops.facula.rnn_layer(torch.ones(4, 3), torch.ones(2, 1), cell, torch.ones(gates, 3), torch.ones(gates, 1), *both, None, [2, 2], mode, False)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_too_few_states_for_packed_sequences(torch, kind):
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2, 4), torch.ones(3, 4)], enforce_sorted=False)
    h = torch.zeros(1, 1, 5)
    with pytest.raises(RuntimeError):
        getattr(torch.nn, kind)(4, 5)(packed, (h, h) if kind == "LSTM" else h)
