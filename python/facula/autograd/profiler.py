# SPDX-License-Identifier: Apache-2.0
"""torch.autograd.profiler: the older names of torch.profiler."""

from facula.profiler import DeviceType, EventList, FunctionEvent, ProfilerActivity, kineto_available
from facula.profiler import profile as _profile
from facula.profiler import record_function

__all__ = ["DeviceType", "EventList", "FunctionEvent", "ProfilerActivity", "emit_itt", "emit_nvtx", "kineto_available", "profile", "record_function"]


class profile(_profile):
    """Records what happens in a `with` block, unless enabled is False. The profile itself reads as its list of events."""

    def __init__(self, enabled=True, *, use_device=None, record_shapes=False, with_flops=False, profile_memory=False, with_stack=False, with_modules=False,
                 use_kineto=False, use_cpu=True, use_cuda=False, experimental_config=None, acc_events=False, custom_trace_id_callback=None):  # fmt: skip
        super().__init__(record_shapes=record_shapes, profile_memory=profile_memory, with_stack=with_stack, with_flops=with_flops, with_modules=with_modules)
        self.enabled = enabled

    def __enter__(self):
        return super().__enter__() if self.enabled else None

    def __exit__(self, *error):
        if self.enabled:
            super().__exit__(*error)

    @property
    def function_events(self):
        return self.events()

    def table(self, *args, **kwargs):
        return self.events().table(*args, **kwargs)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        return super().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self):
        return self.events().total_average()

    @property
    def self_cpu_time_total(self):
        return self.events().self_cpu_time_total

    def __iter__(self):
        return iter(self.events())

    def __len__(self):
        return len(self.events())

    def __str__(self):
        return self.table() if self._done is not None else "<unfinished profiler_legacy.profile>"


class emit_nvtx:
    """Marks for a vendor's tool, which are not written here: switched off it is a `with` block, switched on it is refused."""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self):
        if self.enabled:
            name = type(self).__name__
            raise RuntimeError(f"{name}: Facula does not write marks for this tool; torch.profiler.profile().export_chrome_trace() has the same ranges")

    def __exit__(self, *exception):
        return False


class emit_itt(emit_nvtx):
    """The same for another vendor's tool."""
