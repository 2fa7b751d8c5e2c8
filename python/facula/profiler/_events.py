# SPDX-License-Identifier: Apache-2.0
"""What the profiler recorded, as PyTorch's classes: events, averages by name, tables."""

import ast
import enum
import json
import math


class DeviceType(enum.Enum):
    CPU = 0
    CUDA = 1
    PrivateUse1 = 20


def _format_time(us: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{us / size:.3f}{unit}"
    return f"{us:.3f}us"


def _format_memory(n: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if abs(n) >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n} B"


class _Times:
    """Times in microseconds and their texts; `count` calls."""

    __slots__ = ()
    count = 1
    is_async = is_remote = is_legacy = False
    node_id = -1
    use_device = None

    @property
    def cpu_time(self):
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self):
        return self.device_time_total / self.count if self.count else 0.0

    cuda_time = property(lambda self: self.device_time)
    cuda_time_total = property(lambda self: self.device_time_total)
    self_cuda_time_total = property(lambda self: self.self_device_time_total)
    cpu_time_str = property(lambda self: _format_time(self.cpu_time))
    cpu_time_total_str = property(lambda self: _format_time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: _format_time(self.self_cpu_time_total))
    device_time_str = property(lambda self: _format_time(self.device_time))
    device_time_total_str = property(lambda self: _format_time(self.device_time_total))
    self_device_time_total_str = property(lambda self: _format_time(self.self_device_time_total))

    @property
    def device_type(self):
        if self.kind in ("call", "range"):
            return DeviceType.CPU
        return DeviceType.CUDA if self.device.partition(":")[0] == "cuda" else DeviceType.PrivateUse1


class Interval:
    """From start to end, in microseconds since the profiler started."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        return self.end - self.start


class FunctionEvent(_Times):
    """One call or range, or what a device ran: number `index` of what was recorded. What is asked of it is made then, as programs look at few of a million."""

    __slots__ = ("_recorded", "_index", "_events", "__dict__")

    def __init__(self, recorded, index, events):
        self._recorded, self._index, self._events = recorded, index, events

    def __getattr__(self, name):
        if name in FunctionEvent.__slots__:  # of a copy, which has all its attributes
            raise AttributeError(f"'FunctionEvent' object has no attribute '{name}'")
        make = _MADE.get(name)
        value = self._recorded.attribute(self._index, name) if make is None else make(self)
        if type(value) in (list, Interval):  # what its reader may change is kept
            self.__dict__[name] = value
        return value

    def _children(self):
        return [self._events[i] for i in self._recorded.children(self._index)]

    def _parent(self):
        parent = self._recorded.parent(self._index)
        return None if parent < 0 else self._events[parent]

    def __reduce__(self):
        return object.__new__, (FunctionEvent,), {name: getattr(self, name) for name in _ATTRIBUTES}

    trace_name = property(lambda self: self.name)
    key = property(lambda self: self.name)

    def __repr__(self):
        return (f"<FunctionEvent id={self.id} name={self.name} device={self.device} cpu_time={self.cpu_time_str} start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
                f"cpu_children={[c.id for c in self.cpu_children]} thread={self.thread} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>")  # fmt: skip


def _forward_thread(event):
    """The thread of the forward call that a backward's belongs to; 0 of all others."""
    if not event.forward_id:
        return 0
    threads = getattr(event._events, "threads_of_calls", None)
    if threads is None:
        threads = {e.id: e.thread for e in event._events}
        if type(event._events) is not list:
            event._events.threads_of_calls = threads
    return threads.get(event.forward_id, 0)


def _concrete_inputs(event):
    """Numbers, lists and texts among the arguments, None in the place of a tensor; with record_shapes."""
    out = []
    for value in json.loads(event._values or "[]"):
        try:
            out.append(ast.literal_eval(value) if value else None)
        except (ValueError, SyntaxError):  # a type, a device
            out.append(value)
    return out


# What is made of several facts.
_MADE = {
    "sequence_nr": lambda e: e.forward_id or (e.id if e.kind == "call" else -1),  # the same of a call and its backward
    "fwd_thread": _forward_thread,
    "scope": lambda e: 1 if e.forward_id else 0 if e.kind == "call" else 7,  # PyTorch's RecordScope
    "kwinputs": lambda e: {},
    "time_range": lambda e: Interval(e._start, e._end),
    "input_shapes": lambda e: json.loads(e._shapes),
    "concrete_inputs": _concrete_inputs,
    "is_user_annotation": lambda e: e.kind == "range" and e.text != "backward",
    "cpu_parent": FunctionEvent._parent,
    "cpu_children": FunctionEvent._children,
}
_ATTRIBUTES = ("name", "overload_name", "thread", "id", "parent_id", "forward_id", "kind", "path", "failed", "device", "text", "stack", "cpu_memory_usage",
               "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage", "flops", "bytes", "cpu_time_total", "self_cpu_time_total",
               "device_time_total", "self_device_time_total", *_MADE)  # fmt: skip


class FunctionEventAvg(_Times):
    """All calls of one name (and shape, and stack, where asked)."""

    cpu_time_total = self_cpu_time_total = device_time_total = self_device_time_total = 0.0

    def __init__(self, row=None):
        self.key, self.overload_name, shapes, self.stack, self.count = "", "", "", [], 0
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.device_memory_usage = self.self_device_memory_usage = self.flops = self.bytes = 0
        self.device, self.kind = "cpu", "call"
        if row is not None:
            (self.key, self.overload_name, shapes, self.stack, self.count, total, own, self.cpu_memory_usage, self.self_cpu_memory_usage, self.device_memory_usage,
             self.self_device_memory_usage, self.flops, self.bytes, device, own_device, self.device, self.kind) = row  # fmt: skip
            self.cpu_time_total, self.self_cpu_time_total = total / 1000, own / 1000
            self.device_time_total, self.self_device_time_total = device / 1000, own_device / 1000
        self.input_shapes = shapes

    def add(self, other):
        self.key = self.key or other.key
        for name in ("count", "cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "device_memory_usage",
                     "self_device_memory_usage", "bytes"):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self):
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} device_time={self.device_time_str} "
                f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} count={self.count}>")  # fmt: skip


_SORT_KEYS = ("count", "cpu_time", "cpu_time_total", "self_cpu_time_total", "device_time", "device_time_total", "self_device_time_total", "cuda_time",
              "cuda_time_total", "self_cuda_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage", "flops",
              "bytes")  # fmt: skip


class EventList(list):
    """Events or averages, with the table that PyTorch prints of them."""

    def __init__(self, items=(), *, profile=None, part_of=None):
        super().__init__(items)
        self._profile, self._part_of = profile, part_of  # of a part, shares are of the whole

    @property
    def self_cpu_time_total(self):
        return sum(e.self_cpu_time_total for e in self)

    def total_average(self):
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        return self._profile.key_averages(group_by_input_shape=group_by_input_shapes, group_by_stack_n=group_by_stack_n, group_by_overload_name=group_by_overload_name)

    def export_chrome_trace(self, path):
        self._profile.export_chrome_trace(path)

    supported_export_stacks_metrics = ["self_cpu_time_total", "self_cuda_time_total", "self_device_time_total"]

    def export_stacks(self, path, metric="self_cpu_time_total"):
        self._profile.export_stacks(path, metric)

    def __str__(self):
        return self.table()

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55, max_shapes_column_width=80, header=None,
              top_level_events_only=False, time_unit=None):  # fmt: skip
        """The rows as text: PyTorch's columns, sorted by one of them, largest first."""
        if sort_by is not None and sort_by not in _SORT_KEYS:
            raise AttributeError(f"table: cannot sort by {sort_by!r}: expected one of {', '.join(_SORT_KEYS)}")
        units = {None: _format_time, "s": lambda us: f"{us / 1e6:.3f}s", "ms": lambda us: f"{us / 1e3:.3f}ms", "us": lambda us: f"{us:.3f}us"}
        if time_unit not in units:
            raise ValueError(f"table: time_unit is 's', 'ms' or 'us', got {time_unit!r}")
        time = units[time_unit]
        events = sorted(self, key=lambda e: getattr(e, sort_by) or 0, reverse=True) if sort_by else list(self)
        if top_level_events_only:
            events = [e for e in events if getattr(e, "cpu_parent", None) is None]
        if not events:
            return ""
        total = (self if self._part_of is None else self._part_of).self_cpu_time_total
        device_total = sum(e.self_device_time_total for e in self if e.device_type is DeviceType.CPU)  # kernels' are the calls' that launch them
        share = lambda part, whole: f"{100 * part / whole if whole else 0:.2f}%"  # noqa: E731
        shortened = lambda text, width: text if width is None or len(text) <= width else text[: width - 3] + "..."  # noqa: E731
        columns = [("Name", lambda e: shortened(e.key, max_name_column_width)), ("Self CPU %", lambda e: share(e.self_cpu_time_total, total)),
                   ("Self CPU", lambda e: time(e.self_cpu_time_total)), ("CPU total %", lambda e: share(e.cpu_time_total, total)),
                   ("CPU total", lambda e: time(e.cpu_time_total)), ("CPU time avg", lambda e: time(e.cpu_time))]  # fmt: skip
        if device_total:
            columns += [("Self Device", lambda e: time(e.self_device_time_total)), ("Device total", lambda e: time(e.device_time_total)), ("Device avg", lambda e: time(e.device_time))]
        if any(e.overload_name for e in events) and self._profile is not None and getattr(self, "_by_overload", False):
            columns.insert(1, ("Overload Name", lambda e: e.overload_name))
        if self._profile is not None and self._profile.profile_memory:
            columns += [("CPU Mem", lambda e: _format_memory(e.cpu_memory_usage)), ("Self CPU Mem", lambda e: _format_memory(e.self_cpu_memory_usage))]
            if any(e.device_memory_usage for e in events):
                columns += [("Device Mem", lambda e: _format_memory(e.device_memory_usage)), ("Self Device Mem", lambda e: _format_memory(e.self_device_memory_usage))]
        columns.append(("# of Calls", lambda e: str(e.count)))
        if any(e.input_shapes for e in events):
            columns.append(("Input Shapes", lambda e: shortened(str(e.input_shapes), max_shapes_column_width)))
        if getattr(self, "_by_stack", False):
            columns.append(("Source Location", lambda e: e.stack[0] if e.stack and len(e.stack[0]) <= max_src_column_width else "..." + e.stack[0][3 - max_src_column_width :] if e.stack else ""))
        flops = [e.flops for e in events if e.flops]
        if flops:
            step = min(int(math.log10(max(flops)) // 3), 5) if max(flops) >= 1 else 0
            unit, scale = ["", "K", "M", "G", "T", "P"][step], 1000.0**step
            columns.append((f"Total {unit}FLOPs", lambda e: f"{e.flops / scale:.3f}" if e.flops else "--"))
        cells = [[cell(e) for _, cell in columns] for e in events[:row_limit] if e is not None]
        widths = [max(len(title), *(len(row[i]) for row in cells), 12 if i else 4) + (4 if i == 0 or title == "Input Shapes" else 0)
                  for i, (title, _) in enumerate(columns)]  # fmt: skip
        line = "  ".join("-" * w for w in widths) + "  "
        put = lambda row: "  ".join(f"{text:>{w}}" for text, w in zip(row, widths)) + "  "  # noqa: E731
        out = [] if header is None else ["=" * len(line), header]
        out += [line, put([title for title, _ in columns]), line, *map(put, cells), line, f"Self CPU time total: {time(total)}"]
        if device_total:
            out.append(f"Device time total: {time(device_total)}")
        return "\n".join(out) + "\n"
