# SPDX-License-Identifier: Apache-2.0
"""What several pipes use: checks of functions, names of files, and streams that close themselves."""

import fnmatch
import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterable
from io import IOBase
from typing import Any, ClassVar

from facula.utils.data.datapipes.datapipe import has_dill

__all__ = [
    "StreamWrapper", "get_file_binaries_from_pathnames", "get_file_pathnames_from_root", "match_masks", "validate_input_col",
    "validate_pathname_binary_tuple",
]  # fmt: skip


def validate_input_col(fn: Callable, input_col: int | tuple | list | None) -> None:
    """Refuses a function that cannot be called with as many arguments as there are columns; without columns, with one."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:  # written in C, and says nothing
        return
    given = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = sum(p.default is p.empty for p in positional)
    keywords = sum(p.kind == p.KEYWORD_ONLY and p.default is p.empty for p in parameters)
    inner = fn.func if isinstance(fn, functools.partial) else fn
    says = f"The function {getattr(inner, '__name__', inner)} takes"
    if keywords:
        raise ValueError(f"{says} {keywords} non-default keyword-only parameters, which is not allowed.")
    if given < needed:
        raise ValueError(f"{says} {needed} positional parameters, but {given} are required.")
    if given > len(positional) and not any(p.kind == p.VAR_POSITIONAL for p in parameters):
        raise ValueError(f"{says} {len(positional)} parameters, but {given} are required.")


def _check_unpickable_fn(fn: Callable) -> None:
    """Warns of functions that cannot be sent to other processes."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    fn = fn.func if isinstance(fn, functools.partial) else fn
    name = getattr(fn, "__qualname__", "") if inspect.isfunction(fn) else ""
    kind = "Local" if "<locals>" in name else "Lambda" if name.endswith("<lambda>") else None
    if kind and not has_dill():
        warnings.warn(f"{kind} function is not supported by pickle, please use regular python function or functools.partial instead.", stacklevel=3)


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a name is of one of the patterns, as shells have them. No pattern: it is."""
    return not masks or any(fnmatch.fnmatch(name, mask) for mask in ([masks] if isinstance(masks, str) else masks))


def get_file_pathnames_from_root(
    root: str, masks: str | list[str], recursive: bool = False, abspath: bool = False, non_deterministic: bool = False
) -> Iterable[str]:
    """The files in a folder whose names are of the masks, sorted unless non_deterministic; of a file itself."""

    def fail(error):
        warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=2)
        raise error

    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield os.path.abspath(root) if abspath else root
        return
    for folder, folders, files in os.walk(root, onerror=fail):
        if not non_deterministic:
            folders.sort()
            files.sort()
        for name in files:
            if match_masks(name, masks):
                path = os.path.join(folder, name)
                yield os.path.abspath(path) if abspath else path
        if not recursive:
            return


def get_file_binaries_from_pathnames(pathnames: Iterable, mode: str, encoding: str | None = None):
    """Every name with its open file."""
    mode = "r" + mode if mode in ("b", "t") else mode
    for name in pathnames:
        if not isinstance(name, str):
            raise TypeError(f"Expected string type for pathname, but got {type(name)}")
        yield name, StreamWrapper(open(name, mode, encoding=encoding))  # noqa: SIM115 -- the receiver closes it


def validate_pathname_binary_tuple(data: tuple[str, IOBase]) -> None:
    """Refuses what is no pair of a name and an open file."""
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError(f"pathname within the tuple should have string type pathname, but it is type {type(data[0])}")
    if not isinstance(data[1], (IOBase, StreamWrapper)):
        raise TypeError(f"binary stream within the tuple should have IOBase or its subclasses as type, but it is type {type(data[1])}")


class StreamWrapper:
    """An open file or the like, closed when it is dropped. A stream inside of another (a file of an archive) names it as
    its parent, which after `autoclose` is closed with the last of them. debug_unclosed_streams keeps a list."""

    session_streams: ClassVar[dict[Any, int]] = {}
    debug_unclosed_streams: ClassVar[bool] = False

    def __init__(self, file_obj, parent_stream=None, name=None) -> None:
        self.closed = True  # until there is something to close
        if parent_stream is not None and not isinstance(parent_stream, StreamWrapper):
            raise RuntimeError(f"Parent stream should be StreamWrapper, {type(parent_stream)} was given")
        self.file_obj, self.parent_stream, self.name = file_obj, parent_stream, name
        self.child_counter, self.close_on_last_child, self.closed = 0, False, False
        if parent_stream is not None:
            parent_stream.child_counter += 1
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v, depth=0) -> None:
        """Closes all streams inside of v, a container of lists, tuples and dicts."""
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, (dict, list, tuple)):
            for x in v.values() if isinstance(v, dict) else v:
                cls.close_streams(x, depth + 1)

    def __getattr__(self, name):
        if name == "file_obj":  # not made yet
            raise AttributeError(name)
        return getattr(self.file_obj, name)

    def close(self, *args, **kwargs) -> None:
        if self.closed:
            return
        self.closed = True
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams.pop(self, None)
        if self.parent_stream is not None:
            self.parent_stream.child_counter -= 1
            if not self.parent_stream.child_counter and self.parent_stream.close_on_last_child:
                self.parent_stream.close()
        if hasattr(self.file_obj, "close"):
            self.file_obj.close(*args, **kwargs)

    def autoclose(self) -> None:
        """Closes with the last stream inside of this one: now, if there is none."""
        self.close_on_last_child = True
        if self.child_counter == 0:
            self.close()

    def __dir__(self):
        return [*super().__dir__(), *dir(self.file_obj)]

    def __del__(self) -> None:
        self.close()

    def __iter__(self):
        yield from self.file_obj

    def __next__(self):
        return next(self.file_obj)

    def __repr__(self) -> str:
        return f"StreamWrapper<{self.file_obj!r}>" if self.name is None else f"StreamWrapper<{self.name},{self.file_obj!r}>"

    def __getstate__(self):
        return self.file_obj

    def __setstate__(self, obj):
        self.__init__(obj)
