# SPDX-License-Identifier: Apache-2.0
"""IterDataPipe and MapDataPipe, which pipes derive from, and how a DataLoader hands a pipe to its workers."""

import functools
import importlib.util
import pickle
from collections.abc import Callable, Iterator, Sized
from typing import ClassVar, TypeVar

from facula.utils.data.dataset import Dataset, IterableDataset
from facula.utils.data.datapipes import _hook_iterator
from facula.utils.data.datapipes._hook_iterator import _SnapshotState

__all__ = ["DataChunk", "DFIterDataPipe", "IterDataPipe", "MapDataPipe"]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class DataChunk(list[_T]):
    """A batch of samples: a list that batching pipes make."""

    def __init__(self, items):
        self.items = list(items)
        super().__init__(self.items)

    def as_str(self, indent: str = "") -> str:
        """The samples as text, behind indent."""
        return indent + "[" + ", ".join(str(item) for item in self) + "]"

    def __iter__(self) -> Iterator[_T]:
        yield from super().__iter__()

    def raw_iterator(self) -> Iterator[_T]:
        """The samples as they were given."""
        yield from self.items


class _DataPipe:
    """What both kinds share: functions under which other pipes are reached, and hooks that see pickling and printing."""

    functions: ClassVar[dict[str, Callable]]
    reduce_ex_hook: ClassVar[Callable | None] = None
    getstate_hook: ClassVar[Callable | None] = None
    str_hook: ClassVar[Callable | None] = None
    repr_hook: ClassVar[Callable | None] = None
    _running: ClassVar[tuple] = ()  # attributes of an iteration under way, which copies do not take along

    def __getattr__(self, attribute_name):
        if attribute_name in type(self).functions:
            function = type(self).functions[attribute_name]
            return functools.update_wrapper(functools.partial(function, self), function, ("__doc__",))
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}'")

    @classmethod
    def register_function(cls, function_name, function):
        """Makes function(pipe, …) a method of all pipes of this kind."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, enable_df_api_tracing=False):
        """Makes a pipe's class a method of all pipes of this kind, which become its first argument."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")

        def make(source, *args, **kwargs):
            made = cls_to_register(source, *args, **kwargs)
            return made.trace_as_dataframe() if enable_df_api_tracing else made

        make.__doc__ = cls_to_register.__doc__
        cls.functions[function_name] = make

    def __getstate__(self):
        state = {k: v for k, v in self.__dict__.items() if k not in self._running}
        hook = type(self).getstate_hook
        return state if hook is None else hook(state)

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __reduce_ex__(self, *args, **kwargs):
        hook = type(self).reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args, **kwargs)

    @classmethod
    def _set_hook(cls, name, hook):
        if getattr(cls, name) is not None and hook is not None:
            raise RuntimeError(f"Attempt to override existing {name}")
        setattr(cls, name, hook)

    @classmethod
    def set_getstate_hook(cls, hook_fn):
        """Every state that is pickled is what hook_fn(state) makes of it; None takes the hook away."""
        cls._set_hook("getstate_hook", hook_fn)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn):
        """Pipes are pickled as hook_fn(pipe) says; NotImplementedError leaves them as they are, None takes the hook away."""
        cls._set_hook("reduce_ex_hook", hook_fn)

    def __repr__(self) -> str:
        return type(self).__qualname__ if self.repr_hook is None else self.repr_hook(self)

    def __str__(self) -> str:
        return type(self).__qualname__ if self.str_hook is None else self.str_hook(self)

    def __dir__(self):
        return [*super().__dir__(), *type(self).functions]


class IterDataPipe(_DataPipe, IterableDataset[_T_co]):
    """A stream of samples that is made of others. Subclasses have `__iter__`, or `__next__` and perhaps reset, which is
    called whenever an iterator begins; only the newest iterator is valid."""

    functions: ClassVar[dict[str, Callable]] = {}
    _running = ("_fast_forward_iterator",)
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded: int = 0
    _snapshot_state: _SnapshotState = _SnapshotState.NotStarted
    _fast_forward_iterator: Iterator | None = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        _hook_iterator.hook(cls)

    @_hook_iterator.hook_iter
    def __iter__(self) -> Iterator[_T_co]:
        return self

    @_hook_iterator.hook_reset
    def reset(self) -> None:
        """Called when an iterator begins: subclasses forget what an earlier one left."""

    def _begin_iterator(self):
        """The number of a new iterator, which makes all older ones invalid."""
        self._valid_iterator_id = 0 if self._valid_iterator_id is None else self._valid_iterator_id + 1
        self.reset()
        return self._valid_iterator_id

    def _check_iterator(self, number):
        if number != self._valid_iterator_id:
            raise _hook_iterator.invalidated(self)


class DFIterDataPipe(IterDataPipe):
    """A stream of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_DataPipe, Dataset[_T_co]):
    """Samples by key that are made of others. Subclasses have `__getitem__`, mostly `__len__`."""

    functions: ClassVar[dict[str, Callable]] = {}


def no_length(pipe):
    """What `__len__` of a pipe raises that has none."""
    return TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


def length_of(source, pipe):
    """The length of a pipe that has as many samples as its source."""
    if not isinstance(source, Sized):
        raise no_length(pipe)
    return len(source)


def has_dill():
    return importlib.util.find_spec("dill") is not None


class _DataPipeSerializationWrapper:
    """Pickles a pipe with dill where pickle cannot, as functions without a name need."""

    def __init__(self, datapipe):
        self._datapipe = datapipe

    def __getstate__(self):
        try:
            return pickle.dumps(self._datapipe), False
        except Exception:
            if not has_dill():
                raise
            import dill

            return dill.dumps(self._datapipe), True

    def __setstate__(self, state):
        data, by_dill = state
        if by_dill:
            import dill

            self._datapipe = dill.loads(data)
        else:
            self._datapipe = pickle.loads(data)

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as e:
            raise no_length(self) from e


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe):
    def __iter__(self):
        self._samples = iter(self._datapipe)
        return self

    def __next__(self):
        return next(self._samples)


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe):
    def __getitem__(self, index):
        return self._datapipe[index]
