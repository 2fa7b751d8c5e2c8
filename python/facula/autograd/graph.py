# SPDX-License-Identifier: Apache-2.0
"""The recorded graph: nodes, edges, and hooks on what is saved for backward."""

from collections import namedtuple

from facula import _C

Node = _C.Node


class GradientEdge(namedtuple("GradientEdge", ["node", "output_nr"])):
    """Where a tensor's gradient goes: a node and which of its inputs."""


def get_gradient_edge(tensor):
    return GradientEdge(*_C._gradient_edge(tensor))


class saved_tensors_hooks(_C._SavedTensorsHooks):
    """Inside, every tensor saved for backward goes through pack_hook, and through unpack_hook when it is used."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook


class save_on_cpu(saved_tensors_hooks):
    """Keeps saved tensors in host memory until backward wants them."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda packed: packed[1].to(packed[0]))
