# SPDX-License-Identifier: Apache-2.0
"""What the subcommands of `facula` share: a progress bar, files that appear whole or not at all, the end when nobody reads."""

import contextlib
import io
import os
import signal
import sys

from facula import _C


class Progress:
    """A bar on stderr, only where that is a terminal: `with Progress("measuring", total) as bar: bar.step("what")`."""

    def __init__(self, title, total):
        self.title, self.total, self.done = title, max(total, 1), 0
        self.shown = sys.stderr.isatty()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def step(self, text="", advance=True):
        self.done += advance
        if self.shown:
            filled = 30 * min(self.done, self.total) // self.total
            sys.stderr.write(f"\r{self.title} [{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total} {text}\x1b[K")
            sys.stderr.flush()


def until_unread(command, *args):
    """The status of command(*args). Where its output is not read to the end (`| head`) it ends as other tools do: quietly."""
    try:
        status = command(*args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is buffered has to go somewhere at exit
        return 128 + signal.SIGPIPE


class _Stream(io.RawIOBase):
    """A writer of the C++ module as a stream of Python's."""

    def __init__(self, out):
        self.out = out

    def writable(self):
        return True

    def write(self, data):
        self.out.write(data)
        return memoryview(data).nbytes


@contextlib.contextmanager
def whole_file(path, mode="w"):
    """A file to write (by torch.save's writer), which takes its name when the block ends well: a reader or a crash never meets
    half of it. Links go on pointing to it; what is no regular file (a pipe, /dev/null) is written to as it is."""
    out = _C._Writer(os.fsencode(path))
    try:
        stream = io.BufferedWriter(_Stream(out))
        f = stream if "b" in mode else io.TextIOWrapper(stream, encoding="utf-8")
        yield f
        f.flush()
        out.close()
    finally:
        out.abandon()


def write_file(path, content):
    """Puts text, pieces of it, or bytes into a whole_file."""
    with whole_file(path, "wb" if isinstance(content, bytes) else "w") as f:
        f.writelines([content] if isinstance(content, (str, bytes)) else content)
