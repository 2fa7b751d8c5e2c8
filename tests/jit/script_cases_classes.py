# SPDX-License-Identifier: Apache-2.0
"""Classes, enums, named tuples and interfaces that the script compiler meets; recorded as script_cases.py is."""
# ruff: noqa

import dataclasses
from enum import Enum, IntEnum
from typing import Any, ClassVar, Dict, Final, List, NamedTuple, Optional, Tuple, Union

import torch
from script_cases import Cases, t

CASES = Cases(__name__)
case, program = CASES.case, CASES.program


class Pair:
    def __init__(self, x: int, y: int = 2):
        self.x = x
        self.y = y

    def total(self) -> int:
        return self.x + self.y

    def scaled(self, by: int) -> "Pair":
        return Pair(self.x * by, self.y * by)


@case(3)
def class_new(n: int):
    p = Pair(n, 4)
    return p.x, p.y, p.total()


@case(3)
def class_default(n: int):
    return Pair(n).total() + Pair(x=n, y=n).total()


@case(3)
def class_itself(n: int):
    return Pair(n).scaled(3).total()


@case(3)
def class_set_attribute(n: int):
    p = Pair(n)
    p.x = 10
    p.y += 5
    return p.x, p.y


@case(3)
def class_returned(n: int):
    p = Pair(n)
    return p.scaled(2).x


def takes_pair(p: Pair) -> int:
    return p.total()


@case(3)
def class_argument(n: int):
    return takes_pair(Pair(n))


@program
def class_from_python():
    return torch.jit.script(takes_pair)(Pair(5, 6))


def makes_pair(n: int):
    return Pair(n, n)


@program
def class_to_python():
    p = torch.jit.script(makes_pair)(4)
    return type(p).__name__, p.x, p.y, p.total()


@program
def class_scripted_is_class():
    made = torch.jit.script(Pair)
    p = made(1, 2)
    return made is Pair, type(p).__name__, p.total()


def changes_pair(p: Pair):
    p.x = 100


@program
def class_copied_on_the_way():
    p = Pair(1, 2)
    torch.jit.script(changes_pair)(p)
    return p.x


class Holder:
    def __init__(self, p: Pair, w: torch.Tensor):
        self.p = p
        self.w = w
        self.all: List[int] = []
        self.maybe: Optional[int] = None
        self.names: Dict[str, torch.Tensor] = {}

    def add(self, n: int) -> None:
        self.all.append(n)
        self.maybe = n

    def get(self) -> int:
        m = self.maybe
        if m is not None:
            return m
        return -1


@case(3, t(2))
def class_in_class(n: int, w):
    h = Holder(Pair(n), w)
    before = h.get()
    h.add(n)
    h.add(n + 1)
    h.p.x = 7
    h.names["a"] = w
    return before, h.get(), h.all, h.p.total(), h.w, len(h.names)


class Operators:
    def __init__(self, v: int):
        self.v = v

    def __add__(self, o: "Operators") -> "Operators":
        return Operators(self.v + o.v)

    def __sub__(self, o: "Operators") -> int:
        return self.v - o.v

    def __mul__(self, o: int) -> int:
        return self.v * o

    def __truediv__(self, o: int) -> float:
        return self.v / o

    def __floordiv__(self, o: int) -> int:
        return self.v // o

    def __mod__(self, o: int) -> int:
        return self.v % o

    def __pow__(self, o: int) -> float:
        return float(self.v**o)

    def __and__(self, o: int) -> int:
        return self.v & o

    def __or__(self, o: int) -> int:
        return self.v | o

    def __xor__(self, o: int) -> int:
        return self.v ^ o

    def __lshift__(self, o: int) -> int:
        return self.v << o

    def __rshift__(self, o: int) -> int:
        return self.v >> o

    def __neg__(self) -> int:
        return -self.v

    def __eq__(self, o: "Operators") -> bool:
        return self.v == o.v

    def __ne__(self, o: "Operators") -> bool:
        return self.v != o.v

    def __lt__(self, o: "Operators") -> bool:
        return self.v < o.v

    def __le__(self, o: "Operators") -> bool:
        return self.v <= o.v

    def __gt__(self, o: "Operators") -> bool:
        return self.v > o.v

    def __ge__(self, o: "Operators") -> bool:
        return self.v >= o.v

    def __contains__(self, n: int) -> bool:
        return n == self.v

    def __getitem__(self, n: int) -> int:
        return self.v + n

    def __setitem__(self, n: int, v: int) -> None:
        self.v = n + v

    def __delitem__(self, n: int) -> None:
        self.v = 0

    def __len__(self) -> int:
        return self.v

    def __bool__(self) -> bool:
        return self.v > 0

    def __call__(self, n: int) -> int:
        return self.v * n

    def __str__(self) -> str:
        return "v"

    def __int__(self) -> int:
        return self.v

    def __float__(self) -> float:
        return float(self.v)

    def __hash__(self) -> int:
        return self.v

    def __matmul__(self, o: int) -> int:
        return self.v + 100 * o


@case(6, 3)
def operators_arithmetic(a: int, b: int):
    x, y = Operators(a), Operators(b)
    return (x + y).v, x - y, x * b, x / b, x // b, x % 4, x**b, x & b, x | b, x ^ b, x << b, x >> 1, -x, x @ b


@case(6, 3)
def operators_compare(a: int, b: int):
    x, y = Operators(a), Operators(b)
    return x == y, x != y, x < y, x <= y, x > y, x >= y


@case(6, 3)
def operators_items(a: int, b: int):
    x = Operators(a)
    first = x[b]
    x[b] = 4
    second = x.v
    inside = 7 in x
    del x[0]
    return first, second, inside, 5 not in x, x.v


@case(6)
def operators_casts(a: int):
    x = Operators(a)
    n = 0
    if x:
        n = 1
    return len(x), bool(x), str(x), int(x), float(x), hash(x), x(3), n


class InPlace:
    def __init__(self, v: int):
        self.v = v

    def __iadd__(self, o: int) -> "InPlace":
        self.v += o
        return self

    def __mul__(self, o: int) -> "InPlace":
        return InPlace(self.v * o)


@case(6)
def operators_in_place(a: int):
    x = InPlace(a)
    x += 3
    x *= 2
    return x.v


@case(6)
def operators_missing(a: int):
    x = InPlace(a)
    return x - 3


@case(6)
def operators_missing_in_place(a: int):
    x = InPlace(a)
    x -= 3
    return x.v


class Methods:
    scale: int

    def __init__(self):
        self.scale = 2
        self._size = 3

    @property
    def size(self) -> int:
        return self._size

    @size.setter
    def size(self, n: int):
        self._size = n

    @property
    def twice(self) -> int:
        return self._size * 2

    @staticmethod
    def helper(n: int) -> int:
        return n + 1

    @classmethod
    def make(cls, n: int) -> "Methods":
        m = Methods()
        m._size = n
        return m

    def calls(self, n: int) -> int:
        return self.helper(n) + self.size


@case(3)
def class_property(n: int):
    m = Methods()
    before = m.size
    m.size = n + 10
    return before, m.size, m.twice


@case(3)
def class_static_method(n: int):
    return Methods.helper(n) + Methods().calls(n)


@case(3)
def class_read_only_property(n: int):
    m = Methods()
    m.twice = n
    return m.twice


class Late:
    def __init__(self, a: int):
        self.a = a

    def set(self):
        self.b = 2


@case(3)
def class_attribute_outside_init(n: int):
    return Late(n).a


class InBranch:
    def __init__(self, a: int):
        if a > 1:
            self.a = a
        else:
            self.a = 2


@case(3)
def class_attribute_in_branch(n: int):
    return InBranch(n).a


class WrongType:
    def __init__(self, a: int):
        self.a = a

    def set(self, s: str):
        self.a = s


@case(3)
def class_attribute_type(n: int):
    return WrongType(n).a


@case(3)
def class_unknown_attribute(n: int):
    return Pair(n).zzz


@case(3)
def class_unknown_set(n: int):
    p = Pair(n)
    p.zzz = 3
    return p.x


@case(3)
def class_unknown_method(n: int):
    return Pair(n).nothing(3)


@case(3)
def class_too_few(n: int):
    return Pair().x


@case(3)
def class_too_many(n: int):
    return Pair(1, 2, 3).x


class NoInit:
    def method(self) -> int:
        return 1


@case(3)
def class_without_init(n: int):
    return NoInit().method()


class Base:
    def __init__(self):
        self.x = 1

    def base(self) -> int:
        return self.x


class Derived(Base):
    def __init__(self):
        self.x = 2

    def own(self) -> int:
        return self.x


@case(3)
def class_inheritance(n: int):
    return Derived().own()


@program
def class_inheritance_error():
    return torch.jit.script(Derived)


class BadMethod:
    def __init__(self):
        self.x = 1

    def method(self, y: int) -> int:
        return self.x + undefined_in_method


@case(3)
def class_bad_method(n: int):
    return BadMethod().method(n)


class UsesLater:
    def __init__(self):
        self.x = 1

    def first(self) -> int:
        return self.second()

    def second(self) -> int:
        return self.x


@case(3)
def class_method_order(n: int):
    return UsesLater().first()


class Recursive:
    def __init__(self):
        self.x = 1

    def down(self, n: int) -> int:
        if n > 0:
            return self.down(n - 1)
        return 0


@case(3)
def class_recursive_method(n: int):
    return Recursive().down(n)


class LinkedNode:
    def __init__(self, v: int):
        self.v = v
        self.next: Optional["LinkedNode"] = None


@case(3)
def class_recursive_type(n: int):
    a = LinkedNode(n)
    a.next = LinkedNode(4)
    b = a.next
    if b is not None:
        return b.v
    return 0


@case(3)
def class_optional(n: int):
    p: Optional[Pair] = None
    if n > 2:
        p = Pair(n)
    if p is None:
        return 0
    return p.total()


@case(3)
def class_list(n: int):
    ps = [Pair(i) for i in range(n)]
    s = 0
    for p in ps:
        s += p.total()
    return s


@case(3)
def class_dict(n: int):
    d = {"a": Pair(n)}
    d["b"] = Pair(4)
    return d["a"].x + d["b"].x


@case(3)
def class_tuple(n: int):
    a, b = (Pair(n), Pair(1))
    return a.x, b.x


@case(3)
def class_identity(n: int):
    p, q = Pair(n), Pair(n)
    return p is q, p is p, p is not q


@case(3)
def class_isinstance(n: int):
    p = Pair(n)
    if isinstance(p, Pair):
        return 1
    return undefined_here


@case(3)
def class_hasattr(n: int):
    p = Pair(n)
    return hasattr(p, "x"), hasattr(p, "zzz"), getattr(p, "y")


@case(3)
def class_getattr_default(n: int):
    p = Pair(n)
    return getattr(p, "zzz", n)


class Constants:
    K = 3
    NAME = "k"

    def __init__(self):
        self.x = 1

    def value(self) -> int:
        return self.x


@case(3)
def class_constant(n: int):
    return Constants.K + n


@case(3)
def class_constant_of_object(n: int):
    return Constants().K


class WithFinal:
    n: Final[int]

    def __init__(self, n: int):
        self.n = n


@case(3)
def class_final(n: int):
    return WithFinal(n).n


class AnnotatedAttributes:
    a: List[int]
    b: Optional[int]

    def __init__(self):
        self.a = []
        self.b = None


@case(3)
def class_level_annotations(n: int):
    x = AnnotatedAttributes()
    x.a.append(n)
    x.b = n
    return x.a


class Iterated:
    def __init__(self):
        self.items = [1, 2, 3]

    def __iter__(self) -> List[int]:
        return self.items


@case(3)
def class_iterated(n: int):
    s = 0
    for i in Iterated():
        s += i
    return s


class Context:
    def __init__(self, n: int):
        self.n = n

    def __enter__(self) -> int:
        self.n += 1
        return self.n

    def __exit__(self, type: Any, value: Any, tb: Any) -> None:
        self.n -= 10


@case(3)
def with_class(n: int):
    c = Context(n)
    with c as m:
        n = n + m
    return n, c.n


@case(3)
def with_two(n: int):
    a, b = Context(n), Context(n + 1)
    with a, b as m:
        n = m
    return n, a.n, b.n


@case(3)
def with_return(n: int):
    a = Context(n)
    with a as m:
        if m > 2:
            return m
        n = 7
    return n


@case(t(2))
def with_no_grad(x):
    with torch.no_grad():
        y = x * 2
    return y, torch.is_grad_enabled()


@case(t(2))
def with_enable_grad(x):
    with torch.enable_grad():
        y = x * 2
    return y


@case(t(2))
def with_record_function(x):
    with torch.autograd.profiler.record_function("name"):
        y = x + 1
    return y


@case(3)
def with_no_object(n: int):
    with n:
        pass
    return n


@case(3)
def with_no_manager(n: int):
    with Pair(n):
        pass
    return n


@dataclasses.dataclass
class Point:
    x: float
    y: float = 2.0

    def norm(self) -> float:
        return (self.x * self.x + self.y * self.y) ** 0.5


@case(3.0)
def dataclass_new(v: float):
    p = Point(v, 4.0)
    return p.norm(), Point(v).y


@case(3.0)
def dataclass_equal(v: float):
    return Point(v) == Point(v), Point(v) == Point(1.0)


class Color(Enum):
    RED = 1
    GREEN = 2


class Names(Enum):
    A = "a"
    B = "b"


class Floats(Enum):
    X = 1.5
    Y = 2.5


@case(Color.RED)
def enum_compare(c: Color):
    return c == Color.RED, c != Color.RED, c is Color.GREEN


@case(Color.GREEN)
def enum_fields(c: Color):
    return c.name, c.value, Color.RED.value, Names.A.value, Floats.X.value


@case(True)
def enum_made(b: bool):
    c = Color.RED
    if b:
        c = Color.GREEN
    return c.value


@case()
def enum_loop():
    n = 0
    for c in Color:
        n += c.value
    return n


@case()
def enum_list():
    return [c.name for c in Color]


@case(Color.RED)
def enum_key(c: Color):
    d = {Color.RED: 1, Color.GREEN: 2}
    return d[c]


@case(Color.RED)
def enum_unknown(c: Color):
    return Color.BLUE


@case(Color.RED, Color.GREEN)
def enum_is(a: Color, b: Color):
    return a is b, a is not b


@case(Color.RED)
def enum_ordered(a: Color):
    return a < Color.GREEN


@case(Color.RED)
def enum_mixed(a: Color):
    return a == 1


@case(Color.RED)
def enum_isinstance(a: Color):
    return isinstance(a, Color), isinstance(a, Names)


def enum_result(n: int):
    return Color.RED if n > 0 else Color.GREEN


@program
def enum_to_python():
    return str(torch.jit.script(enum_result)(0))


class Mixed(Enum):
    A = 1
    B = "b"


@case()
def enum_of_two_types():
    return Mixed.A.value


class Lists(Enum):
    A = [1]


@case()
def enum_of_lists():
    return Lists.A.value


class NT(NamedTuple):
    x: torch.Tensor
    n: int = 3


@case(t(2))
def named_tuple_new(x):
    p = NT(x, 4)
    return p.x, p.n, p[1], NT(x).n, NT(n=1, x=x).n


@case(NT(t(2), 5))
def named_tuple_argument(p: NT):
    x, n = p
    return x, n, p.n, len(p)


def named_tuple_makes(x):
    return NT(x, 7)


@program
def named_tuple_to_python():
    made = torch.jit.script(named_tuple_makes)(torch.ones(2))
    return type(made).__name__, made._fields, made.n, made == made


@case(t(2))
def named_tuple_unknown(x):
    return NT(x).zzz


@case(t(2))
def named_tuple_wrong(x):
    return NT(1, 2).n


@case(t(2))
def named_tuple_as_tuple(x):
    a: Tuple[torch.Tensor, int] = NT(x, 1)
    return a[1]


from collections import namedtuple

Old = namedtuple("Old", ["a", "b"])


@case(t(2))
def named_tuple_old(x):
    o = Old(x, x + 1)
    return o.a, o.b


@case(t(2))
def named_tuple_compare(x):
    return NT(x, 1).n == NT(x, 2).n, hasattr(NT(x), "n"), hasattr(NT(x), "q")


@torch.jit.interface
class OneInterface(object):
    def one(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        pass

    def two(self, x: torch.Tensor) -> torch.Tensor:
        pass


class ImplementsOne:
    def __init__(self):
        self.n = 2

    def one(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    def two(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.n


class MissesTwo:
    def __init__(self):
        self.n = 2

    def one(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


class OtherSignature:
    def __init__(self):
        self.n = 2

    def one(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    def two(self, x: int) -> int:
        return x


def uses_interface(i: OneInterface, x: torch.Tensor) -> torch.Tensor:
    return i.one(x, i.two(x))


@case(t(2))
def interface_call(x):
    return uses_interface(ImplementsOne(), x)


@case(t(2))
def interface_local(x):
    i: OneInterface = ImplementsOne()
    return i.two(x)


@case(t(2))
def interface_missing(x):
    return uses_interface(MissesTwo(), x)


@case(t(2))
def interface_signature(x):
    return uses_interface(OtherSignature(), x)


@case(t(2))
def interface_unknown_method(x):
    i: OneInterface = ImplementsOne()
    return i.three(x)


class WithBody:
    def one(self, x: torch.Tensor) -> torch.Tensor:
        return x


@program
def interface_with_body():
    return torch.jit.interface(WithBody)


@program
def interface_of_no_class():
    return torch.jit.interface(3)


class Ignoring:
    def __init__(self):
        self.n = 2

    @torch.jit.unused
    def not_here(self, x: int) -> int:
        import math

        return x

    @torch.jit.ignore
    def in_python(self, x: int) -> int:
        return x + [i for i in range(3) if i][0]

    def calls(self, x: int) -> int:
        return self.n + x


@case(3)
def class_unused_method(n: int):
    return Ignoring().calls(n)


class Default:
    def __init__(self, a: List[int] = [1, 2], b: str = "s", c: Optional[int] = None):
        self.a = a
        self.b = b
        self.c = c


@case(3)
def class_defaults(n: int):
    d = Default()
    return d.a, d.b, d.c is None


class OfTensors:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x @ self.w


@case(t(2, 2))
def class_of_tensors(x):
    return OfTensors(x)(x)


@case(t(2))
def class_not_first_class(x):
    c = Pair
    return x


class UnusedProperty:
    __jit_unused_properties__ = ["bad"]

    def __init__(self):
        self.x = 1

    @property
    def bad(self):
        return undefined_name_here


@case(3)
def class_unused_property(n: int):
    return UnusedProperty().x


class StrRepr:
    def __init__(self, x: int):
        self.x = x

    def __contains__(self, key: str) -> bool:
        return key == "x"

    def __round__(self, n: int) -> int:
        return self.x


@case(3)
def class_contains(n: int):
    s = StrRepr(n)
    return "x" in s, "y" in s


@program
def class_changed_after():
    before = torch.jit.script(takes_pair)(Pair(1, 2))
    kept = Pair.total
    Pair.total = lambda self: 1000
    try:
        return before, torch.jit.script(takes_pair)(Pair(1, 2))
    finally:
        Pair.total = kept


@program
def class_local():
    class Local:
        def __init__(self, x: int):
            self.x = x

    def f(x: int):
        return Local(x).x

    return torch.jit.script(f)(4)


@program
def class_exec():
    scope = {}
    exec("class Made:\n    def __init__(self):\n        self.x = 1\n", scope)
    return torch.jit.script(scope["Made"])
