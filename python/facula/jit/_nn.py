# SPDX-License-Identifier: Apache-2.0
"""Methods of torch.nn's classes in the language of the script compiler, where the class's own is written for Python.

One class of this file holds the methods of the class of torch.nn of the same name; each method compiles with the attributes
that the module has.
"""
# ruff: noqa: UP006, UP007, UP035, UP045
# mypy: ignore-errors

from typing import List, Optional, Tuple

import facula as torch
from facula import Tensor
from facula.jit import _functional as F
from facula.jit._functional import aten
from facula.nn.modules.adaptive import _ASMoutput
from facula.nn.utils.rnn import PackedSequence


class Sequential:
    def forward(self, input):
        for module in self:
            input = module(input)
        return input


class Unflatten:
    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)


class Softmax2d:
    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 3 and input.dim() != 4:
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


# --- convolutions
class Conv1d:
    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]):
        if self.padding_mode != "zeros":
            return torch.conv1d(F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), weight, bias, self.stride, 0, self.dilation, self.groups)
        return torch.conv1d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2d:
    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]):
        if self.padding_mode != "zeros":
            return torch.conv2d(F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), weight, bias, self.stride, 0, self.dilation, self.groups)
        return torch.conv2d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class Conv3d:
    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]):
        if self.padding_mode != "zeros":
            return torch.conv3d(F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), weight, bias, self.stride, 0, self.dilation, self.groups)
        return torch.conv3d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


class _ConvTransposeNd:
    def _output_padding(
        self, input: Tensor, output_size: Optional[List[int]], stride: List[int], padding: List[int], kernel_size: List[int], num_spatial_dims: int,
        dilation: Optional[List[int]] = None,
    ) -> List[int]:  # fmt: skip
        if output_size is None:
            ret = list(self.output_padding)
        else:
            n = num_spatial_dims
            first = input.dim() - n
            if len(output_size) == first + n:
                output_size = output_size[first:]
            if len(output_size) != n:
                raise ValueError(f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {first + n} elements (got {len(output_size)})")
            smallest = torch.jit.annotate(List[int], [])
            for d in range(n):
                apart = dilation[d] if dilation is not None else 1
                smallest.append((input.size(first + d) - 1) * stride[d] - 2 * padding[d] + apart * (kernel_size[d] - 1) + 1)
            ret = torch.jit.annotate(List[int], [])
            for d in range(n):
                size = output_size[d]
                if size < smallest[d] or size > smallest[d] + stride[d] - 1:
                    raise ValueError(f"requested an output size of {output_size}, but valid sizes range from {smallest} (for an input of {input.size()[2:]})")
                ret.append(size - smallest[d])
        return ret


class ConvTranspose1d:
    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        extra = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, 1, self.dilation)
        return torch.conv_transpose1d(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


class ConvTranspose2d:
    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        extra = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, 2, self.dilation)
        return torch.conv_transpose2d(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


class ConvTranspose3d:
    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        extra = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, 3, self.dilation)
        return torch.conv_transpose3d(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


# --- norms
class _NormBase:
    def _check_input_dim(self, input: Tensor) -> None:
        rank = input.dim()
        found = False
        text = ""
        for r in self._ranks:
            found = found or rank == r
            text = text + (" or " if len(text) > 0 else "") + str(r) + "D"
        if not found:
            raise ValueError(f"expected {text} input (got {rank}D input)")


class _BatchNorm:
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if self.momentum is None:
            factor = 0.0
        else:
            factor = self.momentum
        if self.training and self.track_running_stats:
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
                if self.momentum is None:  # the average of all batches
                    factor = 1.0 / float(self.num_batches_tracked)
        if self.training:
            by_batch = True
        else:
            by_batch = (self.running_mean is None) and (self.running_var is None)
        return F.batch_norm(
            input,
            self.running_mean if not self.training or self.track_running_stats else None,
            self.running_var if not self.training or self.track_running_stats else None,
            self.weight,
            self.bias,
            by_batch,
            factor,
            self.eps,
        )


class _InstanceNorm:
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        alone = input.dim() == self._ranks[0]
        if alone:
            dim = 0
        else:
            dim = 1
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {input.size(dim)}.")
        if alone:
            input = input.unsqueeze(0)
        out = F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )
        if alone:
            out = out.squeeze(0)
        return out


class CrossMapLRN2d:
    def forward(self, input: Tensor) -> Tensor:
        width = (self.size - 1) // 2 * 2 + 1  # an even size divides by one more than it sums
        return F.local_response_norm(input, width, float(self.alpha) * width / self.size, float(self.beta), float(self.k))


# --- pools
class MaxPool1d:
    def forward(self, input: Tensor):
        return F.max_pool1d(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices)


class MaxPool2d:
    def forward(self, input: Tensor):
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices)


class MaxPool3d:
    def forward(self, input: Tensor):
        return F.max_pool3d(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices)


class MaxUnpool1d:
    def forward(self, input: Tensor, indices: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d:
    def forward(self, input: Tensor, indices: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d:
    def forward(self, input: Tensor, indices: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class AvgPool2d:
    def forward(self, input: Tensor) -> Tensor:
        return aten.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)


class AvgPool3d:
    def forward(self, input: Tensor) -> Tensor:
        return aten.avg_pool3d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)


class FractionalMaxPool2d:
    def forward(self, input: Tensor):
        return F.fractional_max_pool2d(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, _random_samples=self._random_samples)


class FractionalMaxPool3d:
    def forward(self, input: Tensor):
        return F.fractional_max_pool3d(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, _random_samples=self._random_samples)


class LPPool1d:
    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d:
    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d:
    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _CircularPadNd:
    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != self._rank + 1 and input.dim() != self._rank + 2:
            raise ValueError(f"expected {self._rank + 1}D or {self._rank + 2}D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, self._mode)


# --- losses
class LinearCrossEntropyLoss:
    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        logits = aten.linear(input, self.linear.weight, self.linear.bias)
        if len(self.out_features) > 0:
            logits = logits.unflatten(-1, [self.num_classes] + list(self.out_features))
        return F.cross_entropy(logits, target, weight=self.weight, reduction=self.reduction, ignore_index=-100 if self.ignore_index is None else self.ignore_index, label_smoothing=self.label_smoothing)


class AdaptiveLogSoftmaxWithLoss:
    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        rank = target_.dim()
        if rank == 1:
            if input_.size(0) != target_.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with size {input_.size()}")
        elif rank == 0:
            if input_.dim() != 1:
                raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {input_.size()}")
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        input = input_ if rank > 0 else input_.unsqueeze(0)
        target = target_ if rank > 0 else target_.unsqueeze(0)
        found = (target >= 0) & (target < self.n_classes)
        if not bool(found.all()):
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, {target.max().item()}] were found. ")
        output = torch.zeros([target.size(0)], dtype=input.dtype, device=input.device)
        at = target.clone()
        first = self.cutoffs[0]
        for i, module in enumerate(self.tail):
            last = self.cutoffs[i + 1]
            rows = ((target >= first) & (target < last)).nonzero().squeeze(1)
            if rows.numel() > 0:
                inside = F.log_softmax(module(input.index_select(0, rows)), dim=1)
                output = output.index_copy(0, rows, inside.gather(1, (target[rows] - first).unsqueeze(1)).squeeze(1))
                at.index_fill_(0, rows, self.shortlist_size + i)
            first = last
        output = output + F.log_softmax(self.head(input), dim=1).gather(1, at.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        if rank == 0:
            output = output.squeeze(0)
        return _ASMoutput(output, loss)


# --- recurrent layers
class RNNBase:
    def check_input(self, input: Tensor, batch_sizes: Optional[Tensor]) -> None:
        if not torch.jit.is_scripting():
            pass
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Optional[Tensor]) -> Tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        directions = 2 if self.bidirectional else 1
        width = self.proj_size if self.proj_size > 0 else self.hidden_size
        return (self.num_layers * directions, batch, width)

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: Tuple[int, int, int], msg: str = "Expected hidden size {}, got {}") -> None:
        if hx.size() != list(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Optional[Tensor]) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Optional[Tensor]) -> Tensor:
        if permutation is None:
            return hx
        return hx.index_select(1, permutation)


class LSTM:
    def get_expected_cell_size(self, input: Tensor, batch_sizes: Optional[Tensor]) -> Tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        directions = 2 if self.bidirectional else 1
        return (self.num_layers * directions, batch, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Tuple[Tensor, Tensor], batch_sizes: Optional[Tensor]) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Tuple[Tensor, Tensor], permutation: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
        if permutation is None:
            return hx
        return hx[0].index_select(1, permutation), hx[1].index_select(1, permutation)

    def forward__0(self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"LSTM: Expected input to be 2D or 3D, got {input.dim()}D instead")
        alone = input.dim() == 2
        batch_dim = 0 if self.batch_first else 1
        if alone:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            dims = self.get_expected_hidden_size(input, None)
            cells = self.get_expected_cell_size(input, None)
            h = torch.zeros([dims[0], dims[1], dims[2]], dtype=input.dtype, device=input.device)
            c = torch.zeros([cells[0], cells[1], cells[2]], dtype=input.dtype, device=input.device)
        else:
            h = hx[0]
            c = hx[1]
            if alone:
                if h.dim() != 2 or c.dim() != 2:
                    raise RuntimeError(f"For unbatched 2-D input, hx and cx should also be 2-D but got ({h.dim()}-D, {c.dim()}-D) tensors")
                h = h.unsqueeze(1)
                c = c.unsqueeze(1)
            elif h.dim() != 3 or c.dim() != 3:
                raise RuntimeError(f"For batched 3-D input, hx and cx should also be 3-D but got ({h.dim()}-D, {c.dim()}-D) tensors")
        self.check_forward_args(input, (h, c), None)
        result = torch.lstm(input, [h, c], self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first)
        if alone:
            return result[0].squeeze(batch_dim), (result[1].squeeze(1), result[2].squeeze(1))
        return result[0], (result[1], result[2])

    def forward__1(self, input: PackedSequence, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[PackedSequence, Tuple[Tensor, Tensor]]:
        data, batch_sizes, order, back = input
        if hx is None:
            dims = self.get_expected_hidden_size(data, batch_sizes)
            cells = self.get_expected_cell_size(data, batch_sizes)
            hx = (torch.zeros([dims[0], dims[1], dims[2]], dtype=data.dtype, device=data.device), torch.zeros([cells[0], cells[1], cells[2]], dtype=data.dtype, device=data.device))
        else:
            hx = self.permute_hidden(hx, order)
        self.check_forward_args(data, hx, batch_sizes)
        result = torch.lstm(data, batch_sizes, [hx[0], hx[1]], self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        return PackedSequence(result[0], batch_sizes, order, back), self.permute_hidden((result[1], result[2]), back)


class GRU:
    def _run(self, input: Tensor, h: Tensor) -> Tuple[Tensor, Tensor]:
        return torch.gru(input, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first)

    def _run_packed(self, data: Tensor, batch_sizes: Tensor, h: Tensor) -> Tuple[Tensor, Tensor]:
        return torch.gru(data, batch_sizes, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)

    def forward__0(self, input: Tensor, hx: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"{self.mode}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        alone = input.dim() == 2
        batch_dim = 0 if self.batch_first else 1
        if alone:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            dims = self.get_expected_hidden_size(input, None)
            h = torch.zeros([dims[0], dims[1], dims[2]], dtype=input.dtype, device=input.device)
        else:
            if alone:
                if hx.dim() != 2:
                    raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor")
                h = hx.unsqueeze(1)
            else:
                if hx.dim() != 3:
                    raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor")
                h = hx
        self.check_forward_args(input, h, None)
        output, state = self._run(input, h)
        if alone:
            return output.squeeze(batch_dim), state.squeeze(1)
        return output, state

    def forward__1(self, input: PackedSequence, hx: Optional[Tensor] = None) -> Tuple[PackedSequence, Tensor]:
        data, batch_sizes, order, back = input
        if hx is None:
            dims = self.get_expected_hidden_size(data, batch_sizes)
            h = torch.zeros([dims[0], dims[1], dims[2]], dtype=data.dtype, device=data.device)
        else:
            h = self.permute_hidden(hx, order)
        self.check_forward_args(data, h, batch_sizes)
        output, state = self._run_packed(data, batch_sizes, h)
        return PackedSequence(output, batch_sizes, order, back), self.permute_hidden(state, back)


class RNN:
    def _run(self, input: Tensor, h: Tensor) -> Tuple[Tensor, Tensor]:
        if self.mode == "RNN_TANH":
            return torch.rnn_tanh(input, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first)
        return torch.rnn_relu(input, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first)

    def _run_packed(self, data: Tensor, batch_sizes: Tensor, h: Tensor) -> Tuple[Tensor, Tensor]:
        if self.mode == "RNN_TANH":
            return torch.rnn_tanh(data, batch_sizes, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        return torch.rnn_relu(data, batch_sizes, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)

    forward__0 = GRU.forward__0
    forward__1 = GRU.forward__1


def _check_step(kind: str, input: Tensor, h: Optional[Tensor], name: str) -> None:
    if input.dim() != 1 and input.dim() != 2:
        raise ValueError(f"{kind}: Expected input to be 1D or 2D, got {input.dim()}D instead")
    if h is not None:
        if h.dim() != 1 and h.dim() != 2:
            raise ValueError(f"{kind}: Expected {name} to be 1D or 2D, got {h.dim()}D instead")


def _state(h: Optional[Tensor], input: Tensor, size: int, alone: bool) -> Tensor:
    if h is None:
        return torch.zeros([input.size(0), size], dtype=input.dtype, device=input.device)
    return h.unsqueeze(0) if alone else h


class RNNCell:
    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        _check_step("RNNCell", input, hx, "hidden")
        alone = input.dim() == 1
        if alone:
            input = input.unsqueeze(0)
        h = _state(hx, input, self.hidden_size, alone)
        if self.nonlinearity == "tanh":
            ret = torch.rnn_tanh_cell(input, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        elif self.nonlinearity == "relu":
            ret = torch.rnn_relu_cell(input, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        else:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return ret.squeeze(0) if alone else ret


class LSTMCell:
    def forward(self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor]:
        first: Optional[Tensor] = None
        second: Optional[Tensor] = None
        if hx is not None:
            first, second = hx
        _check_step("LSTMCell", input, first, "hx[0]")
        _check_step("LSTMCell", input, second, "hx[1]")
        alone = input.dim() == 1
        if alone:
            input = input.unsqueeze(0)
        state = [_state(first, input, self.hidden_size, alone), _state(second, input, self.hidden_size, alone)]
        h, c = torch.lstm_cell(input, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if alone:
            return h.squeeze(0), c.squeeze(0)
        return h, c


class GRUCell:
    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        _check_step("GRUCell", input, hx, "hidden")
        alone = input.dim() == 1
        if alone:
            input = input.unsqueeze(0)
        h = _state(hx, input, self.hidden_size, alone)
        ret = torch.gru_cell(input, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return ret.squeeze(0) if alone else ret


# --- attention
class MultiheadAttention:
    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor] = None, need_weights: bool = True,
        attn_mask: Optional[Tensor] = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> Tuple[Tensor, Optional[Tensor]]:  # fmt: skip
        turn = self.batch_first and query.dim() == 3
        if turn:
            if key is value:
                if query is key:
                    query = query.transpose(1, 0)
                    key = query
                    value = query
                else:
                    query = query.transpose(1, 0)
                    key = key.transpose(1, 0)
                    value = key
            else:
                query = query.transpose(1, 0)
                key = key.transpose(1, 0)
                value = value.transpose(1, 0)
        if not self._qkv_same_embed_dim:
            output, weights = F.multi_head_attention_forward(
                query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
                self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
                key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask, use_separate_proj_weight=True,
                q_proj_weight=self.q_proj_weight, k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
                average_attn_weights=average_attn_weights, is_causal=is_causal,
            )  # fmt: skip
        else:
            output, weights = F.multi_head_attention_forward(
                query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
                self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, training=self.training,
                key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask, average_attn_weights=average_attn_weights,
                is_causal=is_causal,
            )  # fmt: skip
        if turn:
            output = output.transpose(1, 0)
        return output, weights


class _Layer:
    def _sa_block(self, x: Tensor, attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor], is_causal: bool = False) -> Tensor:
        x = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal)[0]
        return self.dropout1(x)


class TransformerDecoderLayer:
    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Optional[Tensor] = None, memory_mask: Optional[Tensor] = None,
        tgt_key_padding_mask: Optional[Tensor] = None, memory_key_padding_mask: Optional[Tensor] = None, tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            x = x + self._mha_block(self.norm2(x), memory, memory_mask, memory_key_padding_mask, memory_is_causal)
            x = x + self._ff_block(self.norm3(x))
        else:
            x = self.norm1(x + self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
            x = self.norm2(x + self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal))
            x = self.norm3(x + self._ff_block(x))
        return x

    def _mha_block(self, x: Tensor, mem: Tensor, attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor], is_causal: bool = False) -> Tensor:
        x = self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False)[0]
        return self.dropout2(x)


def _is_causal(mask: Optional[Tensor], is_causal: Optional[bool], x: Tensor, batch_first: bool) -> bool:
    if is_causal is not None:
        return is_causal
    if mask is None:
        return False
    size = x.size(1) if batch_first and x.dim() == 3 else x.size(0)
    if mask.size() != [size, size]:
        return False
    return bool((mask == torch.full([size, size], float("-inf"), dtype=mask.dtype, device=mask.device).triu(1)).all())


class TransformerEncoder:
    def forward(self, src: Tensor, mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None, is_causal: Optional[bool] = None) -> Tensor:
        causal = _is_causal(mask, is_causal, src, self.layers[0].self_attn.batch_first)
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        if self.norm is not None:
            src = self.norm(src)
        return src


class TransformerDecoder:
    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Optional[Tensor] = None, memory_mask: Optional[Tensor] = None,
        tgt_key_padding_mask: Optional[Tensor] = None, memory_key_padding_mask: Optional[Tensor] = None, tgt_is_causal: Optional[bool] = None,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        causal = _is_causal(tgt_mask, tgt_is_causal, tgt, self.layers[0].self_attn.batch_first)
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal, memory_is_causal=memory_is_causal,
            )  # fmt: skip
        if self.norm is not None:
            tgt = self.norm(tgt)
        return tgt


def methods(nn):
    """{class of torch.nn: {name: function}} of this file."""
    import inspect

    modules = (nn.modules.activation, nn.modules.adaptive, nn.modules.batchnorm, nn.modules.container, nn.modules.conv, nn.modules.flatten, nn.modules.instancenorm, nn.modules.loss,
               nn.modules.normalization, nn.modules.padding, nn.modules.pooling, nn.modules.rnn, nn.modules.transformer)  # fmt: skip
    found = {}
    for name, forms in globals().items():
        if inspect.isclass(forms) and forms.__module__ == __name__:
            cls = next((vars(m)[name] for m in modules if name in vars(m)), None)
            if cls is None:
                raise RuntimeError(f"torch.nn has no class {name}")
            found[cls] = {k: f for k, f in vars(forms).items() if inspect.isfunction(f)}
    return found
