# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks: RNN, LSTM and GRU of several layers, and their cells for single steps."""

from __future__ import annotations

import math
import numbers
import warnings

from facula import _C, _VF
from facula._tensor import Tensor
from facula.amp import is_autocast_enabled
from facula.nn import init
from facula.nn.modules.module import Module
from facula.nn.modules.utils import _add_parameters
from facula.nn.utils.rnn import PackedSequence

__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]

_zeros = _C._functions["zeros"]
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The old name of tensor.index_select(dim, permutation)."""
    warnings.warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead", FutureWarning, stacklevel=2
    )
    return tensor.index_select(dim, permutation)


class _Drawn(Module):
    def reset_parameters(self) -> None:
        """Draw all weights and biases evenly from ±1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)


class RNNBase(_Drawn):
    """What the three share: weights, checks, and the call of the operator that has the name of the mode."""

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size"]
    __jit_unused_properties__ = ["all_weights"]

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device=None, dtype=None,
    ) -> None:  # fmt: skip
        super().__init__()
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, but "
                f"got dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        for name, value, kind in (("bias", bias, bool), ("batch_first", batch_first, bool), ("input_size", input_size, int),
                                  ("hidden_size", hidden_size, int)):  # fmt: skip
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights = []  # names, for each layer and direction
        directions = ["", "_reverse"] if bidirectional else [""]
        gates, state = _GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            for suffix in directions:
                shapes = {"weight_ih": (gates, input_size if layer == 0 else state * len(directions)), "weight_hh": (gates, state)}
                if bias:
                    shapes.update(bias_ih=gates, bias_hh=gates)
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                named = {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items()}
                _add_parameters(self, device, dtype, **named)
                self._all_weights.append(list(named))
        self.reset_parameters()

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        """The weights as they are now: a program may have put others in their place."""
        return [getattr(self, name, None) for names in self._all_weights for name in names]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing: no device here wants the weights of all layers in one piece."""

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Type, dimensions and last size of the input."""
        dtype = getattr(self, self._all_weights[0][0]).dtype
        if input.dtype != dtype and not is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: input.to({dtype}), or convert model: "
                f"model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def _state_size(self, input, batch_sizes, width):
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * (2 if self.bidirectional else 1), batch, width

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """(layers times directions, batch, width) of the hidden state."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}") -> None:
        """Whether a state has the size that it should have."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden, batch_sizes: Tensor | None) -> None:
        """All checks of a call."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation: Tensor | None):
        """The states of sequences in another order."""

        def permuted(h: Tensor) -> Tensor:
            if h.size(1) < permutation.numel():
                raise RuntimeError(f"Expected a hidden state of {permutation.numel()} sequences, got {list(h.size())}")
            return h.index_select(1, permutation)

        return hx if permutation is None else self._each_state(permuted, hx)

    @staticmethod
    def _each_state(fn, hx):
        return fn(hx)

    def _first_state(self, input, batch_sizes):
        return _zeros(self.get_expected_hidden_size(input, batch_sizes), dtype=input.dtype, device=input.device)

    def _check_rank(self, hx, batched):
        if hx.dim() != 3 - (not batched):
            kind, rank = ("batched", 3) if batched else ("unbatched", 2)
            raise RuntimeError(f"For {kind} {rank}-D input, hx should also be {rank}-D but got {hx.dim()}-D tensor")

    def forward(self, input: Tensor | PackedSequence, hx=None):
        """Outputs of the last layer for every step, (T, N, D * H), and the last states of all layers."""
        packed, alone = isinstance(input, PackedSequence), False
        batch_sizes = order = back = None
        batch_dim = 0 if self.batch_first else 1
        if packed:
            input, batch_sizes, order, back = input
        else:
            if input.dim() not in (2, 3):
                raise ValueError(f"{self.mode[:4].rstrip('_')}: Expected input to be 2D or 3D, got {input.dim()}D instead")
            alone = input.dim() == 2
            if hx is not None:
                self._check_rank(hx, not alone)
            if alone:
                input = input.unsqueeze(batch_dim)
                hx = None if hx is None else self._each_state(lambda h: h.unsqueeze(1), hx)
        hx = self._first_state(input, batch_sizes) if hx is None else self.permute_hidden(hx, order)
        self.check_forward_args(input, hx, batch_sizes)
        function = getattr(_VF, self.mode.lower())
        options = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if packed:
            output, *state = function(input, batch_sizes, hx, *options)
            output = PackedSequence(output, batch_sizes, order, back)
        else:
            output, *state = function(input, hx, *options, self.batch_first)
        state = tuple(state) if len(state) > 1 else state[0]
        if alone:
            return output.squeeze(batch_dim), self._each_state(lambda h: h.squeeze(1), state)
        return output, self.permute_hidden(state, back)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    def __getstate__(self):  # what PyTorch's class needs to read it
        return {**self.__dict__, "_flat_weights": self._flat_weights, "_flat_weights_names": self._flat_weights_names}

    def __setstate__(self, state):
        super().__setstate__({"proj_size": 0, **{k: v for k, v in state.items() if k not in ("_flat_weights", "_flat_weights_names")}})


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu: (T, N, input_size) -> (T, N, D * hidden_size) and the last h.

    RNN(input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None)
    """

    def __init__(self, *args, **kwargs):
        _no_projection(kwargs)
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units: (T, N, input_size) -> (T, N, D * hidden_size) and the last h.

    GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    device=None, dtype=None)
    """

    def __init__(self, *args, **kwargs):
        _no_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


def _no_projection(kwargs):
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class LSTM(RNNBase):
    """Long short-term memory: (T, N, input_size) -> (T, N, D * hidden_size) and the last (h, c).

    LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    proj_size=0, device=None, dtype=None)
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """(layers times directions, batch, width) of the cell state."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: tuple[Tensor, Tensor], batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}")

    @staticmethod
    def _each_state(fn, hx):
        return fn(hx[0]), fn(hx[1])

    def _first_state(self, input, batch_sizes):
        c = self.get_expected_cell_size(input, batch_sizes)
        return super()._first_state(input, batch_sizes), _zeros(c, dtype=input.dtype, device=input.device)

    def _check_rank(self, hx, batched):
        ranks = hx[0].dim(), hx[1].dim()
        if ranks != ((3, 3) if batched else (2, 2)):
            kind, rank = ("batched", 3) if batched else ("unbatched", 2)
            raise RuntimeError(
                f"For {kind} {rank}-D input, hx and cx should also be {rank}-D but got ({ranks[0]}-D, {ranks[1]}-D) tensors"
            )


class RNNCellBase(_Drawn):
    """What the cells share: weight_ih, weight_hh, bias_ih, bias_hh of num_chunks gates."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device=None, dtype=None) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        biases = gates if bias else None
        _add_parameters(
            self, device, dtype, weight_ih=(gates, input_size), weight_hh=(gates, hidden_size), bias_ih=biases, bias_hh=biases
        )
        self.reset_parameters()

    def _step(self, function, input, states, name="hidden"):
        """One step; states: a list, or None for zeros."""
        kind = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{kind}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, h in enumerate(states or ()):
            if h.dim() not in (1, 2):
                raise ValueError(f"{kind}: Expected {name.format(i)} to be 1D or 2D, got {h.dim()}D instead")
        alone = input.dim() == 1
        if alone:
            input, states = input.unsqueeze(0), states and [h.unsqueeze(0) for h in states]
        if states is None:
            states = [_zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)] * self._states
        hx = states[0] if self._states == 1 else tuple(states)
        out = function(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if not alone:
            return out
        return out.squeeze(0) if self._states == 1 else tuple(h.squeeze(0) for h in out)

    _states = 1

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text


class RNNCell(RNNCellBase):
    """One step of an RNN: (N, input_size) and h (N, hidden_size) -> h'."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device=None, dtype=None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        function = _VF.rnn_tanh_cell if self.nonlinearity == "tanh" else _VF.rnn_relu_cell
        return self._step(function, input, None if hx is None else [hx])


class LSTMCell(RNNCellBase):
    """One step of an LSTM: (N, input_size) and (h, c), both (N, hidden_size) -> (h', c')."""

    _states = 2

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        return self._step(_VF.lstm_cell, input, None if hx is None else list(hx), "hx[{}]")


class GRUCell(RNNCellBase):
    """One step of a GRU: (N, input_size) and h (N, hidden_size) -> h'."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(_VF.gru_cell, input, None if hx is None else [hx])
