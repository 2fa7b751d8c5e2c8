# SPDX-License-Identifier: Apache-2.0
"""Styles: how a module's parameters lie on a mesh of one dimension, and what its inputs and outputs are made to be."""

from __future__ import annotations

from abc import ABC, abstractmethod

import facula
from facula.distributed.device_mesh import DeviceMesh
from facula.distributed.tensor._api import distribute_module, distribute_tensor
from facula.distributed.tensor._dtensor import DTensor
from facula.distributed.tensor.placement_types import Placement, Replicate, Shard
from facula.nn import Embedding, Linear
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput", "RowwiseParallel",
    "SequenceParallel",
]  # fmt: skip


class ParallelStyle(ABC):
    """What parallelize_module does with a module."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module: ...


def _placed(value, layout: Placement, mesh: DeviceMesh, desired: Placement | None = None):
    """A tensor as DTensor of a layout, then of the desired one."""
    if not isinstance(value, DTensor):
        value = DTensor.from_local(value, mesh, (layout,), run_check=False)
    if desired is not None and value.placements != (desired,):
        value = value.redistribute(placements=(desired,))
    return value


class _Layer(ParallelStyle):
    """A layer with parameters: its first input and its output have layouts."""

    def __init__(self, input_layout: Placement, desired_input: Placement, output_layout: Placement, use_local_output: bool) -> None:
        self.input_layouts, self.desired_input_layouts = (input_layout,), (desired_input,)
        self.output_layouts, self.use_local_output = (output_layout,), use_local_output

    def _input(self, module: Module, inputs: tuple, mesh: DeviceMesh):
        return _placed(inputs[0], self.input_layouts[0], mesh, self.desired_input_layouts[0]), *inputs[1:]

    def _output(self, module: Module, outputs: DTensor, mesh: DeviceMesh):
        outputs = _placed(outputs, Replicate(), mesh, self.output_layouts[0])
        return outputs.to_local() if self.use_local_output else outputs

    def _parameters(self, module: Module, mesh: DeviceMesh, placement_of) -> None:
        for name, p in module._parameters.items():
            if p is not None:
                placed = distribute_tensor(p.detach(), mesh, [placement_of(name, p)], src_data_rank=self.src_data_rank)
                module.register_parameter(name, Parameter(placed, p.requires_grad))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(input_layouts={self.input_layouts}, output_layouts={self.output_layouts}, "
            f"use_local_output={self.use_local_output})"
        )


class ColwiseParallel(_Layer):
    """A Linear (or Embedding) whose outputs are shared out: each rank has some of the output features."""

    def __init__(self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None, use_local_output: bool = True) -> None:
        super().__init__(input_layouts or Replicate(), Replicate(), output_layouts or Shard(-1), use_local_output)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if isinstance(module, Linear):
            part = lambda name, m, mesh: self._parameters(m, mesh, lambda n, p: Shard(0))  # noqa: E731
        elif isinstance(module, Embedding):
            part = lambda name, m, mesh: self._parameters(m, mesh, lambda n, p: Shard(1))  # noqa: E731
        else:
            raise NotImplementedError("ColwiseParallel currently only support nn.Linear and nn.Embedding!")
        return distribute_module(module, device_mesh, part, self._input, self._output)


class RowwiseParallel(_Layer):
    """A Linear whose inputs are shared out, and whose results are summed over the ranks; or an Embedding whose rows are."""

    def __init__(self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None, use_local_output: bool = True) -> None:
        super().__init__(input_layouts or Shard(-1), Shard(-1), output_layouts or Replicate(), use_local_output)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        if isinstance(module, Linear):
            self.desired_input_layouts = (Shard(-1),)
            part = lambda name, m, mesh: self._parameters(m, mesh, lambda n, p: Shard(1) if n == "weight" else Replicate())  # noqa: E731
        elif isinstance(module, Embedding):
            self.desired_input_layouts = (Replicate(),)
            part = lambda name, m, mesh: self._parameters(m, mesh, lambda n, p: Shard(0))  # noqa: E731
        else:
            raise NotImplementedError("RowwiseParallel currently only support nn.Linear and nn.Embedding!")
        return distribute_module(module, device_mesh, part, self._input, self._output)


class SequenceParallel(_Layer):
    """A LayerNorm, RMSNorm or Dropout on activations that are cut along the sequence."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        super().__init__(Shard(sequence_dim), Shard(sequence_dim), Shard(sequence_dim), use_local_output)
        self.sequence_dim = sequence_dim

    def _output(self, module: Module, outputs: DTensor, mesh: DeviceMesh):
        return outputs.to_local() if self.use_local_output else outputs

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        part = lambda name, m, mesh: self._parameters(m, mesh, lambda n, p: Replicate())  # noqa: E731
        return distribute_module(module, device_mesh, part, self._input, self._output)


def _layouts(value) -> tuple | None:
    return None if value is None else tuple(value) if isinstance(value, (list, tuple)) else (value,)


class PrepareModuleInput(ParallelStyle):
    """A module's inputs become DTensors of the layouts they have, and then of the desired ones; None: what is no tensor to place."""

    def __init__(
        self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts: dict | None = None,
        desired_input_kwarg_layouts: dict | None = None, use_local_output: bool = False,
    ) -> None:  # fmt: skip
        self.input_layouts, self.desired_input_layouts = _layouts(input_layouts), _layouts(desired_input_layouts)
        self.input_kwarg_layouts, self.desired_input_kwarg_layouts = input_kwarg_layouts or {}, desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        if self.input_kwarg_layouts and len(self.input_kwarg_layouts) != len(self.desired_input_kwarg_layouts):
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same length!")

    def _one(self, value, mesh: DeviceMesh, layout: Placement | None, desired: Placement | None):
        if layout is None or not isinstance(value, facula.Tensor):
            return value
        value = _placed(value, layout, mesh, desired)
        return value.to_local() if self.use_local_output else value

    def _inputs(self, inputs: tuple, kwargs: dict, mesh: DeviceMesh) -> tuple[tuple, dict]:
        if self.input_layouts is not None:
            if len(inputs) != len(self.input_layouts):
                raise ValueError(f"module inputs and input_layouts should have same length! ({len(inputs)} and {len(self.input_layouts)})")
            inputs = tuple(self._one(v, mesh, a, b) for v, a, b in zip(inputs, self.input_layouts, self.desired_input_layouts, strict=True))
        for name, layout in self.input_kwarg_layouts.items():
            if name in kwargs:
                kwargs = {**kwargs, name: self._one(kwargs[name], mesh, layout, self.desired_input_kwarg_layouts.get(name))}
        return inputs, kwargs

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_pre_hook(lambda m, inputs, kwargs: self._inputs(inputs, kwargs, device_mesh), with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """A module's outputs become DTensors of the layouts they have, and then of the desired ones."""

    def __init__(self, *, output_layouts, desired_output_layouts, use_local_output: bool = True) -> None:
        self.output_layouts, self.desired_output_layouts = _layouts(output_layouts), _layouts(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _outputs(self, outputs, mesh: DeviceMesh):
        given = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
        if len(given) != len(self.output_layouts):
            raise ValueError(f"module outputs and output_layouts should have same length! ({len(given)} and {len(self.output_layouts)})")
        made = []
        for value, layout, desired in zip(given, self.output_layouts, self.desired_output_layouts, strict=True):
            if layout is not None and isinstance(value, facula.Tensor):
                value = _placed(value, layout, mesh, desired)
                value = value.to_local() if self.use_local_output else value
            made.append(value)
        return tuple(made) if isinstance(outputs, (list, tuple)) else made[0]

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_hook(lambda m, inputs, outputs: self._outputs(outputs, device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """PrepareModuleInput and PrepareModuleOutput at once."""

    def __init__(
        self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts: dict | None = None,
        desired_input_kwarg_layouts: dict | None = None, use_local_input: bool = False, output_layouts=None,
        desired_output_layouts=None, use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts, input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts, use_local_output=use_local_input,
        )  # fmt: skip
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts, use_local_output=use_local_output
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        return self.prepare_module_output._apply(self.prepare_module_input._apply(module, device_mesh), device_mesh)
