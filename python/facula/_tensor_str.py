# SPDX-License-Identifier: Apache-2.0
"""How tensors print: the text of repr(tensor), character for character what PyTorch 2.x prints.

The text is made in four steps: fetch the numbers that will be shown (only the edges of a long tensor are
ever read), choose one notation and one width for all of them, lay the nested brackets out in lines, append
notes (device, size, dtype, gradient). Nothing here needs an operator beyond `narrow` and `tolist`.
"""

import contextlib
import math
import types

__all__ = ["set_printoptions", "get_printoptions", "printoptions"]

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
PRINT_OPTS = types.SimpleNamespace(**_PROFILES["default"], sci_mode=None)
_options = vars(PRINT_OPTS)


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Set how tensors print.

    precision: digits after the point; threshold: longer tensors are summarised; edgeitems: how many items
    are shown at each edge then; linewidth: characters in a line; profile: "default", "short" or "full", applied
    before the others; sci_mode: True and False force or forbid 1.0e+00, None (also when left out) decides by
    the values.
    """
    _options.update(_PROFILES.get(profile, {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.update({name: value for name, value in given.items() if value is not None})
    _options["sci_mode"] = sci_mode


def get_printoptions():
    """The options in force, as a dictionary that set_printoptions accepts."""
    return dict(_options)


@contextlib.contextmanager
def printoptions(**options):
    """A context in which tensors print with other options."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


# ---- fetch

_GAP = object()  # stands for the numbers left out


def _fetch(tensor, ends, dim=0):
    """Nested lists of the shown numbers; where a dimension is longer than 2 * ends, _GAP marks the middle."""
    while dim < tensor.dim() and tensor.shape[dim] <= 2 * ends:
        dim += 1
    if dim >= tensor.dim():
        return tensor.tolist()
    first = _fetch(tensor.narrow(dim, 0, ends), ends, dim + 1)
    last = _fetch(tensor.narrow(dim, tensor.shape[dim] - ends, ends), ends, dim + 1)
    return _join(first, last, dim)


def _join(first, last, depth):
    if depth == 0:
        return [*first, _GAP, *last]
    return [first_item if first_item is _GAP else _join(first_item, last_item, depth - 1)
            for first_item, last_item in zip(first, last)]  # fmt: skip


def _flat(nested):
    if not isinstance(nested, list):
        return [nested]
    if nested and not isinstance(nested[0], list):
        return [item for item in nested if item is not _GAP]
    return [number for item in nested if item is not _GAP for number in _flat(item)]


# ---- notation


def _float_notation(values):
    """A function that writes one number, and the width to which the numbers are padded."""
    precision = _options["precision"]
    shown = [value for value in values if value and math.isfinite(value)]
    if not shown:
        # Only zeros, infinities and nan: no padding.
        return _write_whole, 1
    sizes = [abs(value) for value in shown]
    largest, smallest = max(sizes), min(sizes)
    whole = all(value.is_integer() for value in shown)
    scientific = _options["sci_mode"]
    if scientific is None:
        scientific = largest / smallest > 1000.0 or largest > 1.0e8 or (not whole and smallest < 1.0e-4)
    if scientific:
        write = f"{{:.{precision}e}}".format
    elif whole:
        write = _write_whole
    else:
        write = f"{{:.{precision}f}}".format
    return write, max(len(write(value)) for value in shown)


def _write_whole(value):
    return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"


def _notation(dtype, values):
    """(write, width): write gives a number's padded text; width is what layout reckons with."""
    if dtype.is_complex:
        write_real, real_width = _float_notation([value.real for value in values])
        write_imag, imag_width = _float_notation([value.imag for value in values])

        def write_complex(value):
            imag = write_imag(value.imag)
            return f"{write_real(value.real):>{real_width}}{'' if imag[0] == '-' else '+'}{imag}j"

        return write_complex, real_width + imag_width + 1
    if dtype.is_floating_point:
        write, width = _float_notation(values)
        return lambda value: f"{write(value):>{width}}", width
    width = max((len(str(value)) for value in values), default=1)
    return lambda value: f"{str(value):>{width}}", width


# ---- layout


def _vector(numbers, write, width, indent):
    per_line = max(1, (_options["linewidth"] - indent) // (width + 2))
    texts = [" ..." if number is _GAP else write(number) for number in numbers]
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _layout(nested, dims, write, width, indent):
    if dims == 0:
        return write(nested)
    if dims == 1:
        return _vector(nested, write, width, indent)
    parts = ["..." if item is _GAP else _layout(item, dims - 1, write, width, indent + 1) for item in nested]
    return "[" + ("," + "\n" * (dims - 1) + " " * (indent + 1)).join(parts) + "]"


def _tensor_str(tensor, indent):
    dims, ends = tensor.dim(), _options["edgeitems"]
    if dims == 0 or tensor.numel() <= _options["threshold"]:
        nested = tensor.tolist()
    elif ends == 0:
        return "[...]"
    else:
        nested = _fetch(tensor, ends)
    write, width = _notation(tensor.dtype, _flat(nested))
    return _layout(nested, dims, write, width, indent)


# ---- notes


def _dtype_is_implied(torch, tensor, empty):
    default = torch.get_default_dtype()
    if tensor.dtype == default:
        return True
    if empty:
        return False
    complex_default = torch.complex128 if default == torch.float64 else torch.complex64  # also where it is half
    return tensor.dtype in (torch.int64, torch.bool, complex_default)


def _gradient_note(tensor):
    try:
        node = tensor.grad_fn
    except RuntimeError:  # an in-place change has cut this view off its graph
        return "grad_fn=<Invalid>"
    if node is not None:
        return f"grad_fn=<{node.name().rsplit('::', 1)[-1]}>"
    return "requires_grad=True" if tensor.requires_grad else None


def _add_suffixes(tensor_str, suffixes, indent, force_newline=False):
    """The text and its notes, each note on the same line if it fits, the first on a new one if so said."""
    linewidth = _options["linewidth"]
    used = linewidth if force_newline else len(tensor_str) - (tensor_str.rfind("\n") + 1) + 2
    for note in suffixes:
        if used + len(note) + 2 > linewidth:
            tensor_str += ",\n" + " " * indent + note
            used = indent + len(note)
        else:
            tensor_str += ", " + note
            used += len(note) + 2
    return tensor_str + ")"


def _part(name, tensor, indent):
    """name=tensor(…), a part of a sparse tensor."""
    empty = tensor.device.type == "meta" or tensor.numel() == 0
    text = f"{name}=tensor("
    inside = ("..." if tensor.device.type == "meta" else "[]") if empty else _tensor_str(tensor, indent + len(text))
    return f"{text}{inside}, size={tuple(tensor.shape)})" if empty else f"{text}{inside})"


def _sparse_parts(tensor):
    if tensor.is_sparse:
        return {"indices": tensor._indices(), "values": tensor._values()}
    if tensor.is_sparse_csr:
        return {"crow_indices": tensor.crow_indices(), "col_indices": tensor.col_indices(), "values": tensor.values()}
    return {"ccol_indices": tensor.ccol_indices(), "row_indices": tensor.row_indices(), "values": tensor.values()}


def _sparse_str(torch, tensor, prefix, gradient):
    indent = len(prefix)
    notes = [f"device='{tensor.device}'"] if tensor.device.type != "cpu" else []
    notes.append(f"size={tuple(tensor.shape)}")
    notes.append(f"nnz={tensor._nnz()}")
    if not _dtype_is_implied(torch, tensor, False):
        notes.append(f"dtype={tensor.dtype}")
    notes.append(f"layout={tensor.layout}")
    if gradient:
        notes.append(gradient)
    parts = [_part(name, t, indent) for name, t in _sparse_parts(tensor).items()]
    return _add_suffixes(prefix + (",\n" + " " * indent).join(parts), notes, indent, force_newline=tensor.is_sparse)


def _str(tensor, *, tensor_contents=None):
    """repr() of any tensor; tensor_contents replaces the numbers (for subclasses that show something else)."""
    import facula as torch

    forward = getattr(torch.autograd.function, "_forward", None)  # forward_ad, if it is loaded
    if forward is None or not forward._active():
        return _plain_str(torch, tensor, tensor_contents)
    tangent = forward._tangent(tensor)
    with forward._set_fwd_grad_enabled(False):
        return _plain_str(torch, tensor, tensor_contents, None if tangent is None else f"tangent={tangent}")


def _plain_str(torch, tensor, tensor_contents, tangent=None):
    kind = type(tensor)
    plain = kind is torch.Tensor or kind is getattr(getattr(torch, "nn", None), "Parameter", None)
    prefix = "tensor(" if plain else kind.__name__ + "("
    indent = len(prefix)

    gradient = _gradient_note(tensor)
    if gradient:
        tensor = tensor.detach()
    if tensor.layout is not torch.strided:
        return _sparse_str(torch, tensor, prefix, gradient)
    meta = tensor.device.type == "meta"
    empty = meta or tensor.numel() == 0
    notes = []
    if tensor.device.type != "cpu":
        notes.append(f"device='{tensor.device}'")
    if meta or (tensor.dim() != 1 if empty else _options["edgeitems"] == 0):
        notes.append(f"size={tuple(tensor.shape)}")
    if not _dtype_is_implied(torch, tensor, empty):
        notes.append(f"dtype={tensor.dtype}")
    if gradient:
        notes.append(gradient)
    if tangent:
        notes.append(tangent)

    if tensor_contents is None:
        tensor_contents = "..." if meta else "[]" if empty else _tensor_str(tensor, indent)
    return _add_suffixes(prefix + tensor_contents, notes, indent)


_str_intern = _str


def _parameter_str(parameter):
    """repr() of nn.Parameter."""
    return "Parameter containing:\n" + _str(parameter)


def _format(tensor, spec):
    """format(tensor, spec): a 0-d tensor formats as its number."""
    import facula as torch

    if type(tensor) is torch.Tensor and tensor.dim() == 0 and tensor.device.type != "meta":
        return format(tensor.item(), spec)
    return object.__format__(tensor, spec)
