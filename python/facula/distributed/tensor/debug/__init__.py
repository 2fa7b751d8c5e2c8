# SPDX-License-Identifier: Apache-2.0
"""torch.distributed.tensor.debug: what DTensors send."""

from collections import Counter

import facula
from facula import _missing, dispatch
from facula.distributed.tensor._dtensor import DTensor
from facula.distributed.tensor._utils import local_box

__all__ = ["CommDebugMode", "visualize_sharding"]

_SPACE = "_c10d_functional::"


class CommDebugMode:
    """Counts collectives of DTensors within `with`, those of backward among them: get_comm_counts(), get_total_counts()."""

    def __init__(self) -> None:
        self.comm_counts: Counter = Counter()

    def __enter__(self) -> "CommDebugMode":
        self.comm_counts.clear()
        self._calls: set[int] = set()
        self._watch = dispatch.observe(self._seen, ("call",))
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._watch.stop()

    def _seen(self, event) -> None:
        name = event.name.replace(".", "::", 1) if "::" not in event.name else event.name
        if event.phase != "begin" or not name.startswith(_SPACE) or "wait_tensor" in name:
            return
        inner = event.parent_id in self._calls  # an operator with a derivative calls itself below it
        self._calls.add(event.call_id)
        if not inner:
            self.comm_counts[getattr(facula.ops._c10d_functional, name[len(_SPACE) :].partition(".")[0])] += 1

    def get_comm_counts(self) -> dict:
        """Operators of torch.ops._c10d_functional -> how often they were called."""
        return dict(self.comm_counts)

    def get_total_counts(self) -> int:
        """How many collectives there were."""
        return self.comm_counts.total()


def visualize_sharding(dtensor: DTensor, header: str = "", use_rich: bool = False) -> None:
    """Prints which ranks have which part of a tensor of one or two dimensions, on the first rank of its mesh."""
    if not 1 <= dtensor.dim() <= 2:
        raise RuntimeError("visualize_sharding: tensors of one or two dimensions can be drawn")
    mesh = dtensor.device_mesh
    if mesh.get_coordinate() is None or any(mesh.get_coordinate()):
        return
    parts: dict[tuple, list[int]] = {}
    for place in facula.cartesian_prod(*(facula.arange(n) for n in mesh.shape)).view(-1, mesh.ndim).tolist():
        parts.setdefault(local_box(dtensor.shape, mesh.shape, place, dtensor.placements), []).append(int(mesh.mesh[tuple(place)]))
    lines = [header] if header else []
    for (shape, offset), ranks in sorted(parts.items(), key=lambda item: item[0][1]):
        spans = ", ".join(f"{o}:{o + n}" for o, n in zip(offset, shape, strict=True))
        lines.append(f"[{spans}]  {mesh.device_type} {', '.join(map(str, ranks))}")
    print("\n".join(lines))


__getattr__ = _missing.missing(__name__)
