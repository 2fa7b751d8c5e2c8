# SPDX-License-Identifier: Apache-2.0
"""The profiler's front: when to record, and what to make of it. Recording itself is src/observe."""

import collections
import contextlib
import enum
import gzip
import json
import os
import pickle
import shutil
import socket
import sys
import tempfile
import threading
import time

from facula import _C
from facula._command_line import whole_file, write_file
from facula.profiler._events import EventList, FunctionEvent, FunctionEventAvg


class ProfilerActivity(enum.Enum):
    """What is recorded: calls on the CPU, and what devices do."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What the profiler does in one step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities():
    """The activities that can be asked for: every device that tells what it does is recorded with PrivateUse1."""
    return {ProfilerActivity.CPU, ProfilerActivity.CUDA, ProfilerActivity.PrivateUse1}


class record_function(contextlib.ContextDecorator):
    """Gives a part of the program a name in the profile: a context manager, or a decorator."""

    def __init__(self, name, args=None):
        self.name, self.args = str(name), args
        self._open = []

    def __enter__(self):
        self._open.append(_C._Range(self.name, "" if self.args is None else str(self.args)))
        self._open[-1].__enter__()
        return self

    def __exit__(self, *error):
        if not self._open:
            raise RuntimeError("record_function: it was left without having been entered")
        self._open.pop().__exit__()

    def _recreate_cm(self):
        return record_function(self.name, self.args)


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """Which steps are recorded: after `skip_first` steps, cycles of `wait`, `warmup` and `active` steps, `repeat` times."""
    for name, value in (("wait", wait), ("warmup", warmup), ("repeat", repeat), ("skip_first", skip_first)):
        if value < 0:
            raise AssertionError(f"schedule: {name} must not be negative, got {value}")
    if active <= 0:
        raise AssertionError(f"schedule: active must be positive, got {active}")
    steps = wait + warmup + active

    def action(step):
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat > 0 and step // steps >= repeat:
            return ProfilerAction.NONE
        position = step % steps
        if position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if position < steps - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """An on_trace_ready that writes each trace into a folder, under a name of its own that TensorBoard's plugin finds."""

    def handle(profiler):
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"tensorboard_trace_handler: cannot make the folder {dir_name}: {error.strerror}") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        profiler.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")))

    return handle


class _Modules:
    """Names the calls of nn.Modules while a profile records: `Net.layer1.0`, by the module that was called first."""

    def __init__(self):
        self._names, self._open, self._handles = {}, [], []

    def start(self):
        from facula.nn.modules import module

        self._handles = [module.register_module_forward_pre_hook(self._enter), module.register_module_forward_hook(self._leave, always_call=True)]

    def stop(self):
        for handle in self._handles:
            handle.remove()
        self._handles = []
        while self._open:
            self._open.pop()[1].__exit__()

    def _enter(self, module, args):
        if not self._open:
            self._names = {id(m): f"{type(module).__name__}.{name}" if name else type(module).__name__ for name, m in module.named_modules()}
        span = _C._Range("nn.Module: " + self._names.get(id(module), type(module).__name__), type(module).__name__)
        span.__enter__()
        self._open.append((module, span))

    def _leave(self, module, args, result):
        if self._open and self._open[-1][0] is module:
            self._open.pop()[1].__exit__()


def _rank_info():
    """Which rank this process is, or was, where it is one of several; its clock beside the others'."""
    schedule = sys.modules.get("facula.distributed.schedule")
    return schedule.rank_info() if schedule else None


class _Functions:
    """Calls of Python functions, on this thread and those that begin meanwhile. A profiler of the program's own stays in its place."""

    def __init__(self):
        self.calls = _C._PythonCalls()

        def watch(frame, event, arg):
            self.calls.watch()

        watch._facula_watches = True
        self._watch = watch if threading.getprofile() is None else None
        if self._watch:
            threading.setprofile(self._watch)
        self.calls.start()

    def stop(self):
        self.calls.stop()
        if self._watch and threading.getprofile() is self._watch:
            threading.setprofile(None)


class profile:
    """Records what happens between start() and stop(), or in a `with` block; with a schedule, in the steps it chooses.

    record_shapes keeps the shapes of arguments, profile_memory allocations and frees, with_flops arithmetic and bytes,
    with_stack the lines that make calls, with_modules (and with_stack) the calls of nn.Modules. on_trace_ready(profile) is called when a
    cycle is done. step() says that a step of the program ended.
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False, with_stack=False, with_flops=False,
                 with_modules=False, experimental_config=None, execution_trace_observer=None, acc_events=False, custom_trace_id_callback=None):  # fmt: skip
        self.activities = {ProfilerActivity.CPU, ProfilerActivity.PrivateUse1} if activities is None else set(activities)
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        for activity in self.activities:
            if not isinstance(activity, ProfilerActivity):
                raise TypeError(f"Expected ProfilerActivity or dict, got {type(activity)}")
            if activity not in supported_activities():
                raise ValueError(f"profile: activities are of {sorted(a.name for a in supported_activities())}, got {activity}")
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules = with_flops, with_modules
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self._steps_are_ranges = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num, self.current_action = 0, ProfilerAction.NONE
        self._recorder, self._done, self._modules, self._functions, self._step, self._metadata = None, None, None, None, None, {}

    # --- when
    def start(self):
        if self.current_action is not ProfilerAction.NONE or self._step is not None:
            raise RuntimeError("profile: it was started already")
        self.current_action = self.schedule(self.step_num)
        self._begin_if_wanted()
        self._enter_step()

    def stop(self):
        self._leave_step()
        recorded = self._recorder is not None
        self._finish()
        self.current_action = ProfilerAction.NONE
        if recorded and self.on_trace_ready:
            self.on_trace_ready(self)

    def step(self):
        """Says that a step of the program has ended."""
        self._leave_step()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE or (before is ProfilerAction.RECORD and self.current_action in (ProfilerAction.NONE, ProfilerAction.WARMUP)):
            self._finish()
            if self.on_trace_ready:
                self.on_trace_ready(self)
        self._begin_if_wanted()
        self._enter_step()

    def prepare_trace(self):
        """Recording needs no preparation."""

    def start_trace(self):
        """Records from here on, whatever the schedule says."""
        self.current_action = ProfilerAction.RECORD
        self._begin_if_wanted()

    def stop_trace(self):
        self._finish()
        self.current_action = ProfilerAction.NONE

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()

    def _begin_if_wanted(self):
        if self._recorder is None and self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._recorder = _C._Recorder(shapes=self.record_shapes, memory=self.profile_memory, flops=self.with_flops, stacks=self.with_stack)
            self._recorder.start()
            if self.with_modules or self.with_stack:
                self._modules = _Modules()
                self._modules.start()
            if self.with_stack:
                self._functions = _Functions()

    def _finish(self):
        if self._functions is not None and self._recorder is not None:
            self._functions.stop()
        if self._modules is not None:
            self._modules.stop()
        if self._recorder is not None:
            self._recorder.stop()
            self._done = self._recorder
        self._recorder = self._modules = None

    def _enter_step(self):
        if self._steps_are_ranges and self._recorder is not None:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _leave_step(self):
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def toggle_collection_dynamic(self, enable, activities=()):
        """Stops and starts recording inside of a cycle; what was recorded is kept."""
        if self._recorder is None:
            raise RuntimeError("toggle_collection_dynamic: the profile is not recording")
        self._recorder.start() if enable else self._recorder.stop()

    # --- what
    def _recorded(self):
        if self._done is None:
            raise AssertionError("profile: nothing was recorded yet; leave the `with` block, or call stop(), first")
        return self._done

    def events(self):
        """Every call and range, and what devices ran, in the order in which they began."""
        recorded = self._recorded().events()
        events = EventList(profile=self)
        events.extend(FunctionEvent(recorded, i, events) for i in range(len(recorded)))
        return events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Calls, and what devices ran, added up by name, and by shapes or the top of the stack where asked."""
        out = EventList(map(FunctionEventAvg, self._recorded().averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)), profile=self)
        out._by_stack, out._by_overload = group_by_stack_n > 0, group_by_overload_name
        return out

    def module_averages(self):
        """The same of nn.Modules alone, by their path in the model (with_modules)."""
        everything = self.key_averages()
        return EventList((e for e in everything if e.key.startswith("nn.Module: ")), profile=self, part_of=everything)

    def add_metadata(self, key, value):
        self._metadata[key] = value

    def add_metadata_json(self, key, value):
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json

    def export_chrome_trace(self, path):
        """Writes the trace for Perfetto (ui.perfetto.dev) or chrome://tracing; a name that ends in .gz is compressed."""
        path = os.fspath(path)
        about = {"profile_memory": int(self.profile_memory), "record_shapes": int(self.record_shapes), "with_stack": int(self.with_stack),
                 "with_flops": int(self.with_flops), "with_modules": int(self.with_modules), "host_name": socket.gethostname(), **self._metadata}  # fmt: skip
        if self._functions and self._functions.calls.lost:
            about["python_functions_lost"] = self._functions.calls.lost
        if rank := _rank_info():
            about["distributedInfo"] = rank
        metadata = json.dumps(about)[1:-1]
        calls = self._functions and self._functions.calls
        if not path.endswith(".gz"):
            self._recorded().write_trace(path, metadata, calls)
            return
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "trace.json")
            self._recorded().write_trace(plain, metadata, calls)
            with open(plain, "rb") as source, whole_file(path, "wb") as target, gzip.GzipFile(fileobj=target, mode="wb", compresslevel=5) as packed:
                shutil.copyfileobj(source, packed, 1 << 20)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes one line per stack with its time in microseconds, for flame graphs; needs with_stack=True."""
        if metric not in EventList.supported_export_stacks_metrics:
            raise ValueError(f"export_stacks: metric is one of {', '.join(EventList.supported_export_stacks_metrics)}, got {metric!r}")
        if not self.with_stack:
            raise RuntimeError("export_stacks: no stacks were recorded: profile(with_stack=True) keeps them")
        totals = collections.Counter()
        for event in self.events():
            if event.stack:
                totals[";".join(line.replace(";", ",").replace(" ", "_") for line in reversed(event.stack)) + ";" + event.name] += int(getattr(event, metric))
        write_file(path, "".join(f"{stack} {value}\n" for stack, value in totals.items() if value > 0))

    def export_memory_timeline(self, path, device=None):
        """Writes what was allocated over time, as [times in microseconds, bytes]; a name that ends in .html is a page that shows it."""
        if not self.profile_memory:
            raise RuntimeError("export_memory_timeline: no memory was recorded: profile(profile_memory=True) keeps it")
        wanted = device or "cpu"
        times, sizes, live = [], [], 0
        recorder = self._recorded()
        for at, size, _, _, where, _, _ in sorted(recorder.memory()):
            if where == wanted or where.split(":")[0] == wanted:
                live += size
                times.append((at - recorder.started) / 1000)
                sizes.append(live)
        if not times:
            raise RuntimeError(f"export_memory_timeline: nothing was allocated on {wanted} while the profile recorded")
        if os.fspath(path).endswith(".html"):
            from facula.profiler._report import memory_page

            write_file(path, memory_page(times, sizes, wanted))
        else:
            write_file(path, json.dumps([times, sizes]))


    def export_memory_snapshot(self, path, device="cpu"):
        """Writes what PyTorch's memory viewer (pytorch.org/memory_viz) opens: every allocation and free, and what lives at the end.

        With with_stack=True each has the lines that made it.
        """
        if not self.profile_memory:
            raise RuntimeError("export_memory_snapshot: no memory was recorded: profile(profile_memory=True) keeps it")
        recorder = self._recorded()
        frames = {}
        if self.with_stack:
            for row in recorder.rows():
                frames[row[6]] = [{"name": name, "filename": place.rpartition("(")[0], "line": int(place.rpartition("(")[2][:-1])}
                                  for place, _, name in (line.partition(": ") for line in row[14])]  # fmt: skip
        trace, live = [], {}
        for at, size, address, storage, where, call, _ in sorted(recorder.memory()):
            if where.split(":")[0] != device.split(":")[0]:
                continue
            lines, time_us = frames.get(call, []), at // 1000
            if size > 0:
                live[storage] = {"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": lines}
                actions = ["alloc"]
            else:
                live.pop(storage, None)
                actions = ["free_requested", "free_completed"]
            trace += [{"action": a, "addr": address, "size": abs(size), "stream": 0, "time_us": time_us, "frames": lines} for a in actions]
        segments = [{"device": 0, "address": b["address"], "total_size": b["size"], "allocated_size": b["size"], "active_size": b["size"], "requested_size": b["size"],
                     "stream": 0, "segment_type": "small" if b["size"] < 1 << 20 else "large", "segment_pool_id": (0, 0), "is_expandable": False,
                     "frames": b["frames"], "blocks": [b]} for b in live.values()]  # fmt: skip
        settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False,
                    "pinned_num_register_threads": 1, "release_lock_on_malloc": False, "pinned_use_host_register": False, "roundup_power2_divisions": {}}  # fmt: skip
        write_file(path, pickle.dumps({"segments": segments, "device_traces": [trace], "allocator_settings": settings, "external_annotations": []}, protocol=4))
