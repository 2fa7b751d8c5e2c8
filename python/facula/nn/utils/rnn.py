# SPDX-License-Identifier: Apache-2.0
"""Sequences of several lengths in one tensor: padded to the longest, or packed step by step."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from collections.abc import Callable

from facula import _C, _VF
from facula._tensor import Tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pad_packed_sequence", "pad_sequence", "unpad_sequence",
    "pack_sequence", "unpack_sequence",
]  # fmt: skip

_ops = _C._functions
PackedSequence_ = namedtuple("PackedSequence_", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])
PackedSequence_.__annotations__ = {"data": Tensor, "batch_sizes": Tensor, "sorted_indices": Tensor | None, "unsorted_indices": Tensor | None}


def bind(optional, fn: Callable):
    """fn of what is there."""
    return None if optional is None else fn(optional)


class PackedSequence(PackedSequence_):
    """Sequences sorted by length: data holds the first steps of all, then the second steps of those that have one …

    batch_sizes says how many sequences reach each step, sorted_indices how they were sorted. Made by pack_sequence and
    pack_padded_sequence.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They should be "
                "instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data, move):
        return type(self)(data, self.batch_sizes, bind(self.sorted_indices, move), bind(self.unsorted_indices, move))

    def pin_memory(self) -> PackedSequence:
        """The sequences in pinned memory."""
        return self._with(self.data.pin_memory(), lambda t: t.pin_memory())

    def to(self, *args, **kwargs) -> PackedSequence:
        """The sequences as another type or on another device."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with(data, lambda t: t.to(data.device))

    def cuda(self, device=None, non_blocking: bool = False) -> PackedSequence:
        """The sequences on a CUDA device."""
        return self.to(device="cuda" if device is None else device, non_blocking=non_blocking)

    def cpu(self) -> PackedSequence:
        """The sequences on the CPU."""
        return self.to(device="cpu")

    def double(self) -> PackedSequence:
        """As float64."""
        return self.to(dtype=_C.float64)

    def float(self) -> PackedSequence:
        """As float32."""
        return self.to(dtype=_C.float32)

    def half(self) -> PackedSequence:
        """As float16."""
        return self.to(dtype=_C.float16)

    def long(self) -> PackedSequence:
        """As int64."""
        return self.to(dtype=_C.int64)

    def int(self) -> PackedSequence:
        """As int32."""
        return self.to(dtype=_C.int32)

    def short(self) -> PackedSequence:
        """As int16."""
        return self.to(dtype=_C.int16)

    def char(self) -> PackedSequence:
        """As int8."""
        return self.to(dtype=_C.int8)

    def byte(self) -> PackedSequence:
        """As uint8."""
        return self.to(dtype=_C.uint8)

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the memory is pinned."""
        return self.data.is_pinned()


PackedSequence.__annotations__ = PackedSequence_.__annotations__  # a class does not inherit them


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes this one."""
    if permutation is None:
        return None
    out = _ops["empty_like"](permutation)
    return out.scatter_(0, permutation, _ops["arange"](permutation.numel(), device=permutation.device))


def pack_padded_sequence(input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Packs (T, B, *), or (B, T, *) with batch_first; lengths fall unless enforce_sorted is False."""
    from facula.functional import as_tensor

    lengths = lengths.to(dtype=_C.int64) if isinstance(lengths, Tensor) else as_tensor(lengths, dtype=_C.int64, device="cpu")
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = _VF._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded sequences, in the order before they were packed, and their lengths."""
    steps = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    padded, lengths = _VF._pad_packed_sequence(sequence.data, sequence.batch_sizes, batch_first, padding_value, steps)
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(sequences, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Tensor:
    """Tensors (L, *) padded to the longest and stacked: (T, B, *), or (B, T, *) with batch_first."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    longest = max(s.size(0) for s in sequences)
    padded = []
    for s in sequences:
        ends = (longest - s.size(0), 0) if padding_side == "left" else (0, longest - s.size(0))
        padded.append(_ops["constant_pad_nd"](s, [0, 0] * (s.dim() - 1) + list(ends), padding_value))
    return _ops["stack"](padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences without their padding."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[: max(0, n)] for sequence, n in zip(padded_sequences, lengths.tolist())]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs tensors (L, *)."""
    lengths = _C._tensor([s.size(0) for s in sequences], _C.int64, _C.device("cpu"), False)
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The tensors that pack_sequence was given."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
