# SPDX-License-Identifier: Apache-2.0
"""The adaptive softmax: rare classes share small projections."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence

from facula._tensor import Tensor
from facula.nn import functional as F
from facula.nn.modules.container import ModuleList, Sequential
from facula.nn.modules.linear import Linear
from facula.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of classes sorted by how frequent they are (Grave and others, 2016): (N, in_features), (N).

    The head knows the classes below cutoffs[0] and one entry for each further cluster, whose projection is div_value
    times smaller than the one before.
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False, device=None, dtype=None
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 and "
                "n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail = ModuleList()
        for i, (first, last) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            hidden = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, hidden, bias=False, **kind), Linear(hidden, last - first, bias=False, **kind)))

    def reset_parameters(self) -> None:
        """Draw the weights of head and tail again."""
        for linear in (self.head, *(linear for cluster in self.tail for linear in cluster)):
            linear.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        rank = target_.dim()
        if rank > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if rank == 1 and input_.size(0) != target_.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input_.dim() != rank + 1:
            raise RuntimeError(f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with size {input_.size()}")
        input, target = (input_, target_) if rank else (input_.unsqueeze(0), target_.unsqueeze(0))

        output = input.new_zeros(target.size(0))
        at = target.clone()  # each target's entry in the head
        found = (target >= 0) & (target < self.n_classes)
        if not found.all():
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, {target.max().item()}] "
                "were found. "
            )
        for i, (first, last) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            rows = ((target >= first) & (target < last)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            inside = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
            output = output.index_copy(0, rows, inside.gather(1, (target[rows] - first).unsqueeze(1)).squeeze(1))
            at.index_fill_(0, rows, self.shortlist_size + i)
        output = output + F.log_softmax(self.head(input), dim=1).gather(1, at.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if rank else output.squeeze(0), loss)

    def _get_full_log_prob(self, input, head_output):
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        from facula import cat

        return cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Log probabilities of all classes: (N, in_features) -> (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class; tails are computed only for rows whose head points there."""
        head = self.head(input)
        output = head.argmax(dim=1)
        beyond = output >= self.shortlist_size
        if beyond.any():
            output[beyond] = self._get_full_log_prob(input[beyond], head[beyond]).argmax(dim=1)
        return output
