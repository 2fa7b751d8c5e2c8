# SPDX-License-Identifier: Apache-2.0
"""parallelize_module: a plan applied to a module."""

import fnmatch
import warnings

from facula.distributed.device_mesh import DeviceMesh
from facula.distributed.tensor._dtensor import _current_mesh
from facula.distributed.tensor.parallel.style import ParallelStyle
from facula.nn.modules.module import Module

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Module, device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None, *, src_data_rank: int | None = 0,
) -> Module:  # fmt: skip
    """Applies a style to a module, or styles to its submodules by their names ("layers.*.mlp.up": * is any one name). The mesh has
    one dimension."""
    mesh = device_mesh if device_mesh is not None else _current_mesh()
    if mesh.ndim != 1:
        raise ValueError(f"parallelize_module: a mesh of one dimension is expected, this has {mesh.ndim}: take one by its name, mesh['tp']")
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided and auto-parallel is not supported at the moment, so this parallelize_module call will do nothing.", stacklevel=2)
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} found!")
    for path, style in parallelize_plan.items():
        if path == "":
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
            continue
        found = [part for name, part in module.named_modules() if _matches(name, path)]
        if not found:
            warnings.warn(f"Parallelize plan key '{path}' could not be resolved: no submodule matches it.", stacklevel=2)
        for part in found:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def _matches(name: str, path: str) -> bool:
    names, patterns = name.split("."), path.split(".")
    return len(names) == len(patterns) and all(fnmatch.fnmatchcase(n, p) for n, p in zip(names, patterns, strict=True))
