# SPDX-License-Identifier: Apache-2.0
"""Runs one hostile call in a child process, so that a crash or a hang is a failed test and not a lost run."""
import faulthandler
import os
import pickle
import signal
import sys
import traceback
from dataclasses import dataclass


@dataclass
class Case:
    name: str
    run: object                     # function of the module
    type: str = ""                  # exception that must be raised; "" : none may be
    words: tuple = ()               # what its message must contain
    names: str = ""                 # operator or argument that Facula's message must name, where PyTorch's may not
    quirk: str = ""                 # why PyTorch itself fails this case
    seconds: int = 60


CASES = []
MIN64, MAX64 = -2**63, 2**63 - 1


def leaf(t, n=3):
    return t.arange(1.0, n + 1).requires_grad_()


def zero(x):
    assert x.tolist() == [0], x.tolist()


def equal(x, y):
    assert x.tolist() == y.tolist(), (x.tolist(), y.tolist())



def bad(name, type, words, run, names="", quirk=""):
    """A call that must raise `type` with all `words` in the message."""
    CASES.append(Case(name, run, type, (words,) if isinstance(words, str) else tuple(words), names, quirk))


def fine(name, run, quirk="", seconds=60):
    """A call that must work; its own asserts say what it must give."""
    CASES.append(Case(name, run, quirk=quirk, seconds=seconds))


def survives(name, run, quirk=""):
    """A call that may raise any ordinary exception, or work: it must only not crash or hang."""
    CASES.append(Case(name, run, type="*", quirk=quirk))


def in_child(case, torch):
    """(kind, text): 'value', the exception's class names joined by |, 'signal' or 'hang'."""
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 0
        try:
            os.close(read)
            faulthandler.disable()
            signal.alarm(case.seconds)
            try:
                case.run(torch)
                answer = ("value", "")
            except BaseException as error:  # SystemExit included: nothing may leave the child
                names = "|".join(cls.__name__ for cls in type(error).__mro__)
                text = str(error)
                if isinstance(error, AssertionError) or not text:
                    text += traceback.format_exc()
                answer = (names, text)
            os.write(write, pickle.dumps(answer)[:60000])
        except BaseException:
            code = 3
        os._exit(code)
    os.close(write)
    data = b""
    while True:
        chunk = os.read(read, 65536)
        if not chunk:
            break
        data += chunk
    os.close(read)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return ("hang", f"no answer after {case.seconds} s") if number == signal.SIGALRM else ("signal", signal.Signals(number).name)
    return pickle.loads(data) if data else ("signal", f"exit status {os.WEXITSTATUS(status)}")


def judge(case, outcome, is_facula):
    """'' when the outcome is the one asked for."""
    kind, text = outcome
    if kind in ("signal", "hang"):
        return f"crashed: {text}" if kind == "signal" else text
    if case.type == "*":
        ordinary = {"RuntimeError", "ValueError", "TypeError", "IndexError", "MemoryError", "NotImplementedError", "OverflowError"}
        return "" if kind == "value" or ordinary & set(kind.split("|")) else f"raised {kind.split('|')[0]}: {text}"
    if not case.type:
        return "" if kind == "value" else f"raised {kind.split('|')[0]}: {text}"
    if kind == "value":
        return f"no {case.type} was raised"
    if not set(case.type.split("|")) & set(kind.split("|")):
        return f"raised {kind.split('|')[0]}, not {case.type}: {text}"
    lost = [w for w in case.words if w.lower() not in text.lower()]
    if lost:
        return f"the message lacks {lost}: {text!r}"
    if is_facula and case.names and case.names.lower() not in text.lower():
        return f"the message does not name {case.names!r}: {text!r}"
    return ""
