# SPDX-License-Identifier: Apache-2.0
"""Data frames that are not there yet: what a program does to a pipe of frames as if it were one (`pipe["c"] = pipe.a + 1`)
is written down, and done to every frame that comes.

A capture is an expression over the frame. Captures of one pipe share a context: the list of assignments in their order.
"""

import operator

from facula.utils.data.datapipes._decorator import functional_datapipe
from facula.utils.data.datapipes.dataframe.structures import DataChunkDF
from facula.utils.data.datapipes.datapipe import DFIterDataPipe, IterDataPipe

__all__ = [
    "Capture", "CaptureA", "CaptureAdd", "CaptureCall", "CaptureControl", "CaptureDataFrame", "CaptureDataFrameWithDataPipeOps",
    "CaptureF", "CaptureGetAttr", "CaptureGetItem", "CaptureInitial", "CaptureLikeMock", "CaptureMul", "CaptureSetItem",
    "CaptureSub", "CaptureVariable", "CaptureVariableAssign", "DataFrameTracedOps", "DataFrameTracer", "disable_capture",
    "get_val",
]  # fmt: skip


class CaptureControl:
    """Whether assignments are written down."""

    disabled = False


def disable_capture() -> None:
    """From here on assignments to captures are refused."""
    CaptureControl.disabled = True


def get_val(capture):
    """A capture as text, other values as Python writes them."""
    return str(capture) if isinstance(capture, Capture) else repr(capture)


def _value(x, frame):
    return x._on(frame) if isinstance(x, Capture) else x


class Capture:
    """An expression over a data frame."""

    def __init__(self, schema_df=None) -> None:
        self.ctx = {"operations": [], "schema_df": schema_df}

    def __str__(self) -> str:
        return "frame"

    def _on(self, frame):
        return frame

    def _assign(self, key, value):
        if CaptureControl.disabled:
            raise RuntimeError("disable_capture was called: assignments to captures are no longer written down")
        self.ctx["operations"].append(CaptureSetItem(self, key, value, self.ctx))

    def __getattr__(self, attrname):
        if attrname.startswith("__") or attrname in ("ctx", "kwargs"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attrname}'")
        return CaptureGetAttr(self, attrname, ctx=self.ctx)

    def __getitem__(self, key):
        return CaptureGetItem(self, key, ctx=self.ctx)

    def __setitem__(self, key, value) -> None:
        self._assign(key, value)

    def __add__(self, other):
        return CaptureAdd(self, other, ctx=self.ctx)

    def __sub__(self, other):
        return CaptureSub(self, other, ctx=self.ctx)

    def __mul__(self, other):
        return CaptureMul(self, other, ctx=self.ctx)

    def __call__(self, *args, **kwargs):
        return CaptureCall(self, ctx=self.ctx, args=args, kwargs=kwargs)

    def ops_str(self) -> str:
        """The assignments so far, a line each."""
        return "".join(f"{op}\n" for op in self.ctx["operations"])

    def apply_ops(self, frame):
        """This expression of a frame, after the assignments so far, which are made to a copy of it."""
        frame = frame.copy()
        for op in self.ctx["operations"]:
            op._on(frame)
        return self._on(frame)


class CaptureF(Capture):
    """An expression of parts by name."""

    def __init__(self, ctx=None, **kwargs) -> None:
        self.ctx = {"operations": [], "schema_df": None} if ctx is None else ctx
        self.kwargs = kwargs


class CaptureA(CaptureF):
    """A part by name."""

    def __str__(self) -> str:
        return str(self.kwargs["name"])

    def _on(self, frame):
        return _value(self.kwargs["real_attribute"], frame)


class CaptureLikeMock:
    """`with CaptureLikeMock("module.name"):` puts a capture in the place of a function."""

    def __init__(self, name) -> None:
        import importlib

        module, _, self.attribute = name.rpartition(".")
        self.owner = importlib.import_module(module)
        self.name = name

    def __enter__(self) -> None:
        self.before = getattr(self.owner, self.attribute)
        setattr(self.owner, self.attribute, CaptureA(name=self.name, real_attribute=self.before))

    def __exit__(self, *exc) -> None:
        setattr(self.owner, self.attribute, self.before)


class CaptureCall(Capture):
    def __init__(self, callable, ctx=None, **kwargs) -> None:  # noqa: A002 -- PyTorch's name
        self.ctx = {"operations": [], "schema_df": None} if ctx is None else ctx
        self.callable, self.args, self.kwargs = callable, kwargs.get("args", ()), kwargs.get("kwargs", {})

    def __str__(self) -> str:
        given = [*(get_val(a) for a in self.args), *(f"{k}={get_val(v)}" for k, v in self.kwargs.items())]
        return f"{get_val(self.callable)}({', '.join(given)})"

    def _on(self, frame):
        args = [_value(a, frame) for a in self.args]
        return _value(self.callable, frame)(*args, **{k: _value(v, frame) for k, v in self.kwargs.items()})


class _Binary(Capture):
    symbol, function = "", None

    def __init__(self, left, right, ctx) -> None:
        self.ctx, self.left, self.right = ctx, left, right

    def __str__(self) -> str:
        return f"({get_val(self.left)} {self.symbol} {get_val(self.right)})"

    def _on(self, frame):
        return type(self).function(_value(self.left, frame), _value(self.right, frame))


class CaptureAdd(_Binary):
    symbol, function = "+", staticmethod(operator.add)


class CaptureSub(_Binary):
    symbol, function = "-", staticmethod(operator.sub)


class CaptureMul(_Binary):
    symbol, function = "*", staticmethod(operator.mul)


class CaptureGetItem(Capture):
    def __init__(self, left, key, ctx) -> None:
        self.ctx, self.left, self.key = ctx, left, key

    def __str__(self) -> str:
        return f"{get_val(self.left)}[{get_val(self.key)}]"

    def _on(self, frame):
        return _value(self.left, frame)[_value(self.key, frame)]


class CaptureSetItem(Capture):
    def __init__(self, left, key, value, ctx) -> None:
        self.ctx, self.left, self.key, self.value = ctx, left, key, value

    def __str__(self) -> str:
        return f"{get_val(self.left)}[{get_val(self.key)}] = {get_val(self.value)}"

    def _on(self, frame):
        _value(self.left, frame)[_value(self.key, frame)] = _value(self.value, frame)


class CaptureGetAttr(Capture):
    def __init__(self, src, name, ctx) -> None:
        self.ctx, self.src, self.name = ctx, src, name

    def __str__(self) -> str:
        return f"{get_val(self.src)}.{self.name}"

    def _on(self, frame):
        return getattr(_value(self.src, frame), self.name)


class CaptureVariable(Capture):
    """The frame itself, or what stands for it."""

    def __init__(self, value, ctx) -> None:
        self.ctx, self.value = ctx, value

    def _on(self, frame):
        return frame if self.value is None else _value(self.value, frame)


class CaptureVariableAssign(CaptureF):
    """A value that gets a name."""

    def __str__(self) -> str:
        return f"{get_val(self.kwargs['variable'])} = {get_val(self.kwargs['value'])}"

    def _on(self, frame):
        return _value(self.kwargs["value"], frame)


class CaptureInitial(CaptureVariable):
    """Where expressions begin."""

    def __init__(self, schema_df=None) -> None:
        super().__init__(None, {"operations": [], "schema_df": schema_df})


class CaptureDataFrame(CaptureInitial):
    """A data frame that comes later."""


class CaptureDataFrameWithDataPipeOps(CaptureDataFrame):
    """A data frame that comes from a pipe, and has the functions of pipes."""

    def as_datapipe(self):
        """The frames with all assignments made."""
        return DataFrameTracedOps(self.source_datapipe, self)

    def raw_iterator(self):
        """The same, as an iterator."""
        return iter(self.as_datapipe())

    def __iter__(self):
        yield from self.as_datapipe()._dataframes_as_tuples()

    def batch(self, batch_size=10, drop_last: bool = False, wrapper_class=DataChunkDF):
        """Batches of batch_size rows, as data frames."""
        rows = self._dataframes_per_row()._dataframes_concat(batch_size)
        return rows.as_datapipe().batch(1, drop_last=drop_last, wrapper_class=wrapper_class)

    def shuffle(self, *args, **kwargs):
        """All rows in random order."""
        return self._dataframes_shuffle(*args, **kwargs)

    def filter(self, *args, **kwargs):
        """The rows for which a function is true."""
        return self._dataframes_filter(*args, **kwargs)

    def collate(self, *args, **kwargs):
        raise RuntimeError("Can't collate unbatched DataFrames stream")

    def __getattr__(self, attrname):
        if attrname in IterDataPipe.functions:
            pipe = self.as_datapipe()  # pipes that know nothing of frames get rows
            return getattr(pipe if attrname.startswith("_dataframes") else pipe._dataframes_as_tuples(), attrname)
        return super().__getattr__(attrname)


@functional_datapipe("trace_as_dataframe")
class DataFrameTracer(CaptureDataFrameWithDataPipeOps, IterDataPipe):
    """A pipe of data frames that is used as if it were one frame."""

    def __init__(self, source_datapipe, schema_df=None) -> None:
        CaptureDataFrameWithDataPipeOps.__init__(self, schema_df=schema_df)
        self.source_datapipe = source_datapipe

    __str__ = Capture.__str__

    def __repr__(self) -> str:
        return type(self).__name__

    def is_shardable(self) -> bool:
        return False

    def set_shuffle_settings(self, *args, **kwargs) -> None:
        pass


class DataFrameTracedOps(DFIterDataPipe):
    """The frames of a source, and what was done to their stand-in done to them."""

    def __init__(self, source_datapipe, output_var) -> None:
        self.source_datapipe, self.output_var = source_datapipe, output_var

    def __iter__(self):
        for frame in self.source_datapipe:
            yield self.output_var.apply_ops(frame)
