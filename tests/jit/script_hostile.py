# SPDX-License-Identifier: Apache-2.0
"""Sources that go wrong, and classes and threads that meet: run by test_script.py, which wants every line to say ok."""
# ruff: noqa

import sys
import threading
from typing import List

import torch


def ok(what, condition):
    print(what, "ok" if condition else "FAILED")


def refused(what, f, *words):
    try:
        f()
    except (RuntimeError, OSError, TypeError, RecursionError) as error:
        ok(what, all(w in str(error) for w in words))
    else:
        ok(what, False)


class Half:
    def __init__(self, x: int):
        self.x = x

    def good(self) -> int:
        return self.x

    def bad(self) -> int:
        return self.x + nowhere


def uses_half(n: int):
    return Half(n).good()


for _ in range(2):  # whoever asks again is told again
    refused("a class that is half good", lambda: torch.jit.script(uses_half), "undefined value nowhere", "<--- HERE", "uses_half")
del Half.bad
ok("and is compiled when it is mended", torch.jit.script(uses_half)(3) == 3)


class Left:
    def __init__(self, n: int):
        self.n = n

    def right(self) -> int:
        return Right(self.n).n


class Right:
    def __init__(self, n: int):
        self.n = n

    def left(self) -> int:
        return Left(self.n).n


def left_and_right(n: int):
    return Left(n).right() + Right(n).left()


ok("classes that name each other", torch.jit.script(left_and_right)(2) == 4)


class Met:
    def __init__(self, n: int):
        self.n = n

    def twice(self) -> int:
        return self.n * 2


def meets(n: int):
    return Met(n).twice()


results: List[object] = []


def in_thread():
    results.append(torch.jit.script(meets)(4))
    torch.jit.script(Met)


threads = [threading.Thread(target=in_thread) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
ok("threads that script the same class", results == [8] * 8)


class Ring:
    def __init__(self, n: int):
        self.n = n


def takes_ring(r: Ring):
    return r.n


ring = Ring(1)
ring.n = ring
refused("an object of another shape", lambda: torch.jit.script(takes_ring)(ring))
del ring.n
try:
    torch.jit.script(takes_ring)(ring)
except (AttributeError, RuntimeError):
    ok("an object without its attribute", True)

unit = torch.jit.CompilationUnit()
refused("text that ends early", lambda: unit.define("def a(x):\n    return x\ndef b(x):\n    return x +\n"))
refused("text whose second function is wrong", lambda: unit.define("class K:\n  n : int\ndef a(x):\n    return x\ndef b(x):\n    return x + nothing_here\n"), "nothing_here")
unit.define("class K:\n  n : int\ndef a(x):\n    return x\n")
ok("and leaves nothing", unit.a(torch.ones(1)).item() == 1)
refused("parentheses", lambda: unit.define("def deep(x):\n    return " + "(" * 10000 + "x" + ")" * 10000 + "\n"), "nested")
unit.define("def long(x: int) -> int:\n" + "    x = x + 1\n" * 20000 + "    return x\n")
ok("a source of many lines", unit.long(1) == 20001)
