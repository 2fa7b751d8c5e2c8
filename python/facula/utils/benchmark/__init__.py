# SPDX-License-Identifier: Apache-2.0
"""torch.utils.benchmark: timing of a statement, many runs at a time, on a given number of threads."""

import dataclasses
import itertools
import math
import statistics
import textwrap
import timeit

import facula
from facula import _missing

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer"]

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def select_unit(t):
    """(name, seconds) of the unit in which a time is a number from 1 to 1000."""
    seconds, name = next(((s, n) for s, n in _UNITS if t >= s), _UNITS[-1])
    return name, seconds


def trim_sigfig(x, n):
    """x with n significant figures."""
    if x == 0:
        return 0.0
    scale = 10 ** (int(math.floor(math.log10(abs(x)))) + 1 - n)
    return float(round(x / scale) * scale)


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """What is timed."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self):
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else f"stmt:\n{textwrap.indent(self.stmt, '  ')}"


@dataclasses.dataclass
class Measurement:
    """Times of a statement: raw_times are of number_per_run runs each."""

    number_per_run: int
    raw_times: list
    task_spec: TaskSpec
    metadata: dict | None = None

    @property
    def times(self):
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self):
        return statistics.fmean(self.times)

    @property
    def median(self):
        return statistics.median(self.times)

    def _quartiles(self):
        if len(self.raw_times) < 2:
            return self.times[0], self.times[0]
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return low, high

    @property
    def iqr(self):
        low, high = self._quartiles()
        return high - low

    @property
    def significant_figures(self):
        """How many figures of the median the spread of the times lets stand."""
        low, high = self._quartiles()
        relative = 1.645 * (high - low) / 1.35 / math.sqrt(len(self.raw_times)) / self.median if self.median else 0.0
        return max(1, min(5, int(-math.log10(relative)) + 1)) if relative > 0 else 5

    @property
    def has_warnings(self):
        return self.iqr / self.median > 0.1 if self.median else False

    label = property(lambda self: self.task_spec.label)
    sub_label = property(lambda self: self.task_spec.sub_label)
    description = property(lambda self: self.task_spec.description)
    env = property(lambda self: self.task_spec.env)
    num_threads = property(lambda self: self.task_spec.num_threads)
    stmt = property(lambda self: self.task_spec.stmt)
    title = property(lambda self: self.task_spec.title)

    def __repr__(self):
        unit, seconds = select_unit(self.median)
        low, high = self._quartiles()
        n = len(self.raw_times)
        lines = [f"<{type(self).__module__.replace('facula', 'torch', 1)}.Measurement object at {hex(id(self))}>", self.title]
        if n > 1:
            lines += [f"  Median: {self.median / seconds:.2f} {unit}", f"  IQR:    {self.iqr / seconds:.2f} {unit} ({low / seconds:.2f} to {high / seconds:.2f})"]
        else:
            lines.append(f"  {self.median / seconds:.2f} {unit}")
        runs = f"{self.number_per_run} run{'s' if self.number_per_run > 1 else ''}{' per measurement' if n > 1 else ''}"
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(f"  {n} measurement{'s' if n > 1 else ''}, {runs}, {threads}")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements):
        """Measurements of the same task as one, for each task and number of runs."""
        groups: dict = {}
        for m in measurements:
            groups.setdefault((m.task_spec, m.number_per_run), []).extend(m.raw_times)
        return [Measurement(number, times, spec) for (spec, number), times in groups.items()]


class Timer:
    """Times a statement of Python on num_threads threads: timeit(n), or blocked_autorange() until it is known well."""

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=timeit.default_timer, globals=None, label=None, sub_label=None, description=None, env=None, num_threads=1, language="Python"):
        if str(getattr(language, "value", language)).lower() not in ("python", "py"):
            if str(getattr(language, "value", language)).lower() not in ("c++", "cpp", "1"):
                raise ValueError(f"Invalid language `{language}`.")
            raise NotImplementedError("torch.utils.benchmark.Timer: Facula times statements of Python only")
        if not isinstance(stmt, str):
            raise ValueError("Only a `str` stmt is supported.")
        variables = dict(globals or {})
        variables.setdefault("torch", facula)
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        self._timer = timeit.Timer(stmt, setup, timer, variables)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _time(self, number):
        return max(self._timer.timeit(number), 1e-9)

    def _on_its_threads(self, work):
        before = facula.get_num_threads()
        facula.set_num_threads(self._task_spec.num_threads)
        try:
            return work()
        finally:
            facula.set_num_threads(before)

    def timeit(self, number=1000000):
        """number runs at once, after a few that do not count."""
        if number < 1:
            raise ValueError(f"timeit: expected at least one run, got number={number}")

        def work():
            self._time(max(number // 100, 2))
            return Measurement(number, [self._time(number)], self._task_spec)

        return self._on_its_threads(work)

    def _block_size(self, min_run_time):
        """So many runs that the clock's own cost is below a thousandth."""
        overhead = statistics.median(timeit.Timer("pass").timeit(0) for _ in range(5))
        number = 1
        while True:
            taken = self._time(number)
            if (overhead / taken <= 1e-4 and taken >= min_run_time / 1000) or taken > min_run_time / 10:
                return number
            number *= 10

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Blocks of runs for at least min_run_time seconds."""

        def work():
            number = self._block_size(min_run_time)
            times, total = [], 0.0
            while total < min_run_time:
                times.append(self._time(number))
                total += times[-1]
                if callback is not None:
                    callback(number, times[-1])
            return Measurement(number, times, self._task_spec)

        return self._on_its_threads(work)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """Blocks of runs until their spread is below threshold of the median, or max_run_time seconds are over."""

        def work():
            number = self._block_size(0.05)
            times, total = [], 0.0
            while total < max_run_time:
                times.append(self._time(number))
                total += times[-1]
                if callback is not None:
                    callback(number, times[-1])
                if len(times) > 3 and total > min_run_time:
                    m = Measurement(number, times, self._task_spec)
                    if m.iqr / m.median < threshold:
                        break
            return Measurement(number, times, self._task_spec)

        return self._on_its_threads(work)

    def collect_callgrind(self, *args, **kwargs):
        """Instructions instead of time: not yet."""
        raise NotImplementedError("torch.utils.benchmark.Timer.collect_callgrind: not in Facula; run the program under valgrind --tool=callgrind")


class Compare:
    """Measurements as a table: a row per statement, a column per description."""

    def __init__(self, results):
        self._results = list(results)

    def extend_results(self, results):
        self._results.extend(results)

    def trim_significant_figures(self):
        """Shows as many figures as are known."""
        self._trim = True

    _trim = False

    def __str__(self):
        merged = Measurement.merge(self._results)
        blocks = []
        for label, group in itertools.groupby(sorted(merged, key=lambda m: str(m.label)), key=lambda m: m.label):
            group = list(group)
            columns = list(dict.fromkeys(m.description or "" for m in group))
            unit, seconds = select_unit(min(m.median for m in group))
            rows: dict = {}
            for m in group:
                value = trim_sigfig(m.median / seconds, m.significant_figures) if self._trim else m.median / seconds
                rows.setdefault((m.num_threads, m.sub_label or m.stmt), {})[m.description or ""] = f"{value:.{0 if value >= 100 else 1}f}"
            width = max(len(name) for _, name in rows)
            widths = [max(len(c), *(len(r.get(c, "")) for r in rows.values())) for c in columns]
            lines = [f"[{label or ''}]".center(width + sum(widths) + 5 * len(widths), "-"), " | ".join([" " * (width + 6), *(c.rjust(w) for c, w in zip(columns, widths))])]
            for threads, of_threads in itertools.groupby(rows.items(), key=lambda r: r[0][0]):
                lines.append(f"{threads} threads: ".ljust(len(lines[1]), "-"))
                lines += [" | ".join([f"      {name.ljust(width)}", *(row.get(c, "").rjust(w) for c, w in zip(columns, widths))]) for (_, name), row in of_threads]
            names = {"s": "seconds (s)", "ms": "milliseconds (ms)", "us": "microseconds (us)", "ns": "nanoseconds (ns)"}
            blocks.append("\n".join([*lines, "", f"Times are in {names[unit]}."]))
        return "\n\n".join(blocks)

    def print(self):
        print(self)


__getattr__ = _missing.missing(__name__)
