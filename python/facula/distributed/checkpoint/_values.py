# SPDX-License-Identifier: Apache-2.0
"""What stands in a checkpoint's index beside tensors: numbers, texts, lists and dicts as JSON, anything else that torch.load reads
without executing it."""

import base64
import io

import facula

__all__ = ["flattened", "from_json", "put", "to_json"]


def flattened(state: dict) -> dict[str, tuple[tuple, object]]:
    """Leaves by their names, with their paths: dicts are taken apart, and lists that hold tensors."""
    found: dict[str, tuple[tuple, object]] = {}
    todo: list[tuple[tuple, object]] = [((k,), v) for k, v in reversed(state.items())]
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict) and value:
            todo += [((*path, k), v) for k, v in reversed(value.items())]
        elif isinstance(value, (list, tuple)) and _holds_tensors(value):
            todo += [((*path, i), v) for i, v in reversed(list(enumerate(value)))]
        else:
            name = ".".join(map(str, path))
            if name in found:
                raise ValueError(f"a checkpoint cannot hold two values named {name!r}: {found[name][0]} and {path}")
            found[name] = path, value
    return found


def _holds_tensors(value: object) -> bool:
    todo, seen = [value], set()
    while todo:
        v = todo.pop()
        if isinstance(v, facula.Tensor):
            return True
        if isinstance(v, (dict, list, tuple)) and id(v) not in seen:
            seen.add(id(v))
            todo += v.values() if isinstance(v, dict) else v
    return False


def put(state: dict, path: tuple, value: object) -> None:
    """Sets a leaf; a tuple on the way becomes another with it."""
    holders = [state]
    for key in path[:-1]:
        holders.append(holders[-1][key])
    for key, holder in zip(reversed(path), reversed(holders), strict=True):
        if not isinstance(holder, tuple):
            holder[key] = value
            return
        value = type(holder)((*holder[:key], value, *holder[key + 1 :]))


def to_json(value: object) -> object:
    """A value as JSON has it; what it does not know is tagged."""
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if type(value) is float:
        return value if value == value and abs(value) != float("inf") else {"float": repr(value)}
    if type(value) is list:
        return [to_json(v) for v in value]
    if type(value) is tuple:
        return {"tuple": [to_json(v) for v in value]}
    if type(value) is dict:
        return {"dict": [[to_json(k), to_json(v)] for k, v in value.items()]}
    stream = io.BytesIO()
    facula.save(value, stream)
    stream.seek(0)
    try:
        facula.load(stream, weights_only=True)
    except Exception as e:
        raise TypeError(f"a checkpoint cannot hold a {type(value).__name__}: loading it would execute code ({e})") from None
    return {"torch.save": base64.b64encode(stream.getvalue()).decode()}


def from_json(value: object) -> object:
    """The value again."""
    if isinstance(value, list):
        return [from_json(v) for v in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (tag, inner), = value.items()
        if tag == "float" and isinstance(inner, str):
            return float(inner)
        if tag == "tuple" and isinstance(inner, list):
            return tuple(from_json(v) for v in inner)
        if tag == "dict" and isinstance(inner, list):
            return {from_json(k): from_json(v) for k, v in inner}
        if tag == "torch.save" and isinstance(inner, str):
            return facula.load(io.BytesIO(base64.b64decode(inner)), weights_only=True)
    raise ValueError(f"a checkpoint's index holds a value of an unknown kind: {sorted(value)[:4]}")
