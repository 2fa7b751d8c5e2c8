# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers under torch's operator names: the operators where there are some, otherwise written in others.

A layer takes (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or, for packed
sequences, (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional). params: for each
layer and direction weight_ih, weight_hh, then bias_ih, bias_hh, then weight_hr (with projections).
"""

from __future__ import annotations

from facula import _C

_ops = _C._functions


def _lstm_step(gates, state, w_hh, b_hh, w_hr):
    h, c = state
    i, f, g, o = (gates + _ops["linear"](h, w_hh, b_hh)).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return (h if w_hr is None else _ops["linear"](h, w_hr)), c


def _gru_step(gates, state, w_hh, b_hh, w_hr):
    (h,) = state
    i_r, i_z, i_n = gates.chunk(3, 1)
    h_r, h_z, h_n = _ops["linear"](h, w_hh, b_hh).chunk(3, 1)
    n = (i_n + (i_r + h_r).sigmoid() * h_n).tanh()
    return ((h - n) * (i_z + h_z).sigmoid() + n,)


def _tanh_step(gates, state, w_hh, b_hh, w_hr):
    return ((gates + _ops["linear"](state[0], w_hh, b_hh)).tanh(),)


def _relu_step(gates, state, w_hh, b_hh, w_hr):
    return ((gates + _ops["linear"](state[0], w_hh, b_hh)).relu(),)


def _direction(step, gates, sizes, state, weights, backwards):
    """One layer in one direction. gates: the input's share of each step; sizes: how many sequences reach the step.

    Sequences are sorted by length: forwards they leave from the end, backwards they come in there.
    """
    cat = _ops["cat"]
    outputs, ended = [], []
    whole = state
    n = sizes[-1] if backwards else sizes[0]
    state = tuple(s[:n] for s in whole) if n != whole[0].size(0) else whole
    for t in reversed(range(len(gates))) if backwards else range(len(gates)):
        if sizes[t] < n:
            ended.append(tuple(s[sizes[t] :] for s in state))
            state = tuple(s[: sizes[t]] for s in state)
        elif sizes[t] > n:
            state = tuple(cat([s, w[n : sizes[t]]]) for s, w in zip(state, whole))
        n = sizes[t]
        state = step(gates[t], state, *weights)
        outputs.append(state[0])
    if ended:
        state = tuple(cat(parts) for parts in zip(state, *reversed(ended)))
    return outputs[::-1] if backwards else outputs, state


def _run(step, x, sizes, states, params, has_biases, num_layers, dropout, train, bidirectional):
    """All layers over packed steps x; returns the packed output and the final states."""
    cat, stack = _ops["cat"], _ops["stack"]
    directions = 2 if bidirectional else 1
    per_direction = len(params) // (num_layers * directions)
    final = []
    for layer in range(num_layers):
        outputs = []
        for d in range(directions):
            at = layer * directions + d
            w_ih, w_hh, *rest = params[at * per_direction : (at + 1) * per_direction]
            b_ih, b_hh, *rest = rest if has_biases else (None, None, *rest)
            gates = _ops["linear"](x, w_ih, b_ih).split_with_sizes(sizes)
            out, state = _direction(step, gates, sizes, tuple(s[at] for s in states), (w_hh, b_hh, rest[0] if rest else None), d == 1)
            outputs.append(cat(out))
            final.append(state)
        x = cat(outputs, 1) if bidirectional else outputs[0]
        if dropout and train and layer + 1 < num_layers:
            x = _ops["dropout"](x, dropout, True)
    return x, tuple(stack(parts) for parts in zip(*final))


def _layer(name, step):
    def written_out(first, *args):
        packed = not isinstance(args[2], bool)  # then the list of params stands there
        sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first = (*args, False) if packed else (None, *args)
        states = (hx,) if isinstance(hx, _C.TensorBase) else tuple(hx)
        if packed:
            out, states = _run(step, first, sizes.tolist(), states, params, has_biases, num_layers, dropout, train, bidirectional)
            return (out, *states)
        x = first.transpose(0, 1) if batch_first else first
        steps, batch = x.shape[:2]
        if steps == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        out, states = _run(
            step, x.reshape(steps * batch, -1), [batch] * steps, states, params, has_biases, num_layers, dropout, train, bidirectional
        )
        out = out.view(steps, batch, -1)
        return (out.transpose(0, 1) if batch_first else out, *states)

    return _ops.get(name, written_out)


lstm = _layer("lstm", _lstm_step)
gru = _layer("gru", _gru_step)
rnn_tanh = _layer("rnn_tanh", _tanh_step)
rnn_relu = _layer("rnn_relu", _relu_step)


def _cell(name, step):
    def written_out(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
        state = (hx,) if isinstance(hx, _C.TensorBase) else tuple(hx)
        for h in state:
            if input.size(0) != h.size(0):
                raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden0 batch size {h.size(0)}")
            if h.size(1) != w_hh.size(1):
                raise RuntimeError(f"hidden0 has inconsistent hidden_size: got {h.size(1)}, expected {w_hh.size(1)}")
        if input.size(1) != w_ih.size(1):
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {w_ih.size(1)}")
        state = step(_ops["linear"](input, w_ih, b_ih), state, w_hh, b_hh, None)
        return state if len(state) > 1 else state[0]

    return _ops.get(name, written_out)


lstm_cell = _cell("lstm_cell", _lstm_step)
gru_cell = _cell("gru_cell", _gru_step)
rnn_tanh_cell = _cell("rnn_tanh_cell", _tanh_step)
rnn_relu_cell = _cell("rnn_relu_cell", _relu_step)


def _reached(lengths, steps):
    """(steps, batch): whether a sequence reaches a step."""
    return _ops["arange"](steps, device=lengths.device).unsqueeze(1) < lengths


def _pack_padded_sequence(input, lengths, batch_first):
    x = input.transpose(0, 1) if batch_first else input
    counts = lengths.tolist()
    if len(counts) != x.size(1):
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={x.size(1)})")
    if not counts or counts[-1] <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if any(a < b for a, b in zip(counts, counts[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
            "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
        )
    if counts[0] > x.size(0):
        raise RuntimeError(f"Expected lengths of at most {x.size(0)} steps, got {counts[0]}")
    reached = _reached(lengths.cpu(), counts[0])
    return x[: counts[0]][reached.to(x.device)], reached.sum(1)


def _pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length):
    steps, batch = batch_sizes.size(0), int(batch_sizes[0])
    lengths = (batch_sizes.unsqueeze(0) > _ops["arange"](batch).unsqueeze(1)).sum(1)
    out = data.new_full((max(steps, total_length), batch, *data.shape[1:]), padding_value)
    where = _reached(lengths, out.size(0)).to(data.device)
    out = out.index_put((where,), data)
    return (out.transpose(0, 1) if batch_first else out), lengths
