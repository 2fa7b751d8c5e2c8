# SPDX-License-Identifier: Apache-2.0
"""Decorators of pipes: a function's name, whether samples come in a known order, and checks of types."""

import functools
import inspect
import types
import typing
from collections.abc import Collection, Mapping

from facula.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe


class functional_datapipe:
    """Makes the class below a method of all pipes of its kind: `source.name(…)` is `Class(source, …)`."""

    def __init__(self, name: str, enable_df_api_tracing=False) -> None:
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls):
        if issubclass(cls, IterDataPipe):
            IterDataPipe.register_datapipe_as_function(self.name, cls, self.enable_df_api_tracing)
        elif issubclass(cls, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
        return cls


class _switch:
    """A setting of the process that `with` changes; with its value from before afterwards."""

    _on: typing.ClassVar[bool]
    _inside: typing.ClassVar[bool]

    def __enter__(self) -> None:
        cls = type(self)
        self._before, cls._on = cls._on, cls._inside

    def __exit__(self, *exc) -> None:
        type(self)._on = self._before


class guaranteed_datapipes_determinism(_switch):
    """Inside, pipes whose samples come in no known order cannot be made."""

    _on, _inside = False, True


class runtime_validation_disabled(_switch):
    """Inside, runtime_validation looks at nothing."""

    _on, _inside = True, False


class non_deterministic:
    """Marks a pipe whose samples come in no known order: always, or if the function given says so of its arguments."""

    def __init__(self, arg) -> None:
        self.cls = self.depends = None
        if inspect.isclass(arg):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {arg.__name__} is found")
            self.cls = arg
        elif callable(arg):
            self.depends = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args, **kwargs):
        if self.cls is not None:
            self._refuse(self.cls, "")
            return self.cls(*args, **kwargs)
        if not (len(args) == 1 and isinstance(args[0], type) and issubclass(args[0], IterDataPipe)):
            found = args[0].__name__ if args and isinstance(args[0], type) else args
            raise TypeError(f"Only `IterDataPipe` can be decorated, but {found} is found")
        cls = args[0]

        @functools.wraps(cls, updated=())
        def make(*args, **kwargs):
            answer = self.depends(*args, **kwargs)
            if not isinstance(answer, bool):
                raise TypeError(
                    f"deterministic_fn of `non_deterministic` decorator is required to return a boolean value, but {type(answer)} is found"
                )
            if answer:
                self._refuse(cls, " with the inputs")
            return cls(*args, **kwargs)

        return make

    def _refuse(self, cls, why):
        if guaranteed_datapipes_determinism._on:
            raise TypeError(
                f"{cls.__name__} is non-deterministic{why}, but you set 'guaranteed_datapipes_determinism'. You can turn off "
                "determinism for this DataPipe if that is acceptable for your application"
            )


def fits(value, hint) -> bool:
    """Whether a value is of the type that a hint names, elements of containers included. What is not known fits."""
    if hint is typing.Any or isinstance(hint, (typing.TypeVar, str, typing.ForwardRef)):
        return True
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union or origin is types.UnionType:
        return any(fits(value, a) for a in args)
    if origin is typing.Literal:
        return value in args
    if origin is None:
        hint = type(None) if hint is None else hint
        return not isinstance(hint, type) or isinstance(value, hint)
    if not isinstance(origin, type) or not isinstance(value, origin):
        return not isinstance(origin, type)
    if isinstance(value, tuple):
        if len(args) == 2 and args[1] is Ellipsis:
            return all(fits(v, args[0]) for v in value)
        return len(args) == len(value) and all(map(fits, value, args))
    if isinstance(value, Mapping):
        return len(args) != 2 or all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    return not (isinstance(value, Collection) and len(args) == 1) or all(fits(v, args[0]) for v in value)


def argument_validation(f):
    """Refuses arguments that are no IterDataPipe where the function's hints ask for one."""
    signature = inspect.signature(f)
    try:
        hints = typing.get_type_hints(f)
    except (NameError, TypeError):  # names that are known later, or no function
        hints = {}
    wanted = [n for n, hint in hints.items() if n != "return" and _is_pipe(hint)]

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        for name in wanted:
            if name in given and not isinstance(given[name], IterDataPipe):
                raise TypeError(f"Expected argument '{name}' as an IterDataPipe, but found {type(given[name])}")
        return f(*args, **kwargs)

    return wrapper


def _is_pipe(hint):
    kind = typing.get_origin(hint) or hint
    return isinstance(kind, type) and issubclass(kind, IterDataPipe)


def _declared(cls):
    """What `class X(IterDataPipe[hint])` says that its samples are."""
    for base in cls.__mro__:
        for alias in base.__dict__.get("__orig_bases__", ()):
            if _is_pipe(alias) and typing.get_args(alias):
                return typing.get_args(alias)[0]
    return typing.Any


def runtime_validation(f):
    """On `__iter__` of a class that derives from IterDataPipe[hint]: every sample must be of that type."""
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @functools.wraps(f)
    def wrapper(self):
        hint = _declared(type(self))
        for sample in f(self):
            if runtime_validation_disabled._on and not fits(sample, hint):
                raise RuntimeError(f"Expected an instance as subtype of {hint}, but found {sample}({type(sample)})")
            yield sample

    return wrapper
