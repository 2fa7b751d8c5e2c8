# SPDX-License-Identifier: Apache-2.0
"""Functions that the script compiler meets: what it makes of them is recorded from PyTorch (record_script.py)."""
# ruff: noqa

import math
from typing import Any, Dict, List, Optional, Tuple, Union

import torch


class Cases(list):
    """The cases of a module, in its order: functions with arguments, and programs without (None)."""

    def __init__(self, module):
        self.module = module

    def case(self, *args):
        """A function to compile, and what to call it with; none: it is an error, or not called."""

        def add(fn):
            self.append((fn, args))
            return fn

        return add

    def program(self, fn):
        """A function that is run as it is, in Python: what it returns or raises counts."""
        self.append((fn, None))
        return fn


CASES = Cases(__name__)
case = CASES.case


def t(*size):
    return torch.arange(float(torch.Size(size).numel())).reshape(size) - 2


@case(t(2, 3), 2)
def plain(x, y: int = 3):
    return x + y


@case(t(3))
def unused(x):
    y = x + 1
    return x


@case(t(3))
def comment(x):
    # type: (Tensor) -> Tensor
    return -x


@case(3, 4)
def ints(a: int, b: int):
    return a + b, a - b, a * b, a / b, a // b, a % b, a**b, -a, a & b, a | b, a ^ b, ~a, a << b, a >> b


@case(3.5, 2.0)
def floats(a: float, b: float):
    return a + b, a - b, a * b, a / b, a // b, a % b, a**b, -a


@case(3, 2.5)
def mixed(a: int, b: float):
    return a + b, b - a, a * b, b / a, a // b


@case(3, 4)
def compare(a: int, b: int):
    return a < b, a <= b, a > b, a >= b, a == b, a != b


@case(1, 2, 3)
def chain(a: int, b: int, c: int):
    return a < b < c


@case(True, False)
def logic(a: bool, b: bool):
    return a and b, a or b, not a


@case(t(2, 2))
def tensor_numbers(x):
    return 1.5 + x, 2 * x, 1 / x, 2 - x, 3 < x, 2 <= x, 1 > x, 1 >= x, 1 == x, 1 != x


@case(t(3), 2)
def if_else(x, n: int):
    if n > 1:
        y = x + n
    else:
        y = x - n
    return y


@case(t(3), 0)
def if_only(x, n: int):
    if n > 1:
        x = x + n
    return x


@case(t(3), 3)
def elif_else(x, n: int):
    if n == 1:
        y = x
    elif n == 2:
        y = x * 2
    else:
        y = x * 3
    return y


@case(t(3), 3)
def early_return(x, n: int):
    if n > 2:
        return x
    return x * 2


@case(t(3), 3)
def nested_return(x, n: int):
    if n > 2:
        if n > 4:
            return x
        x = x + 1
    return x * 2


@case(t(3), 4)
def for_range(x, n: int):
    for i in range(n):
        x = x + i
    return x


@case(t(3), 1, 9, 2)
def for_range3(x, a: int, b: int, c: int):
    for i in range(a, b, c):
        x = x * i
    return x


@case(t(3), 5)
def while_loop(x, n: int):
    while n > 0:
        x = x + n
        n = n - 1
    return x, n


@case(t(3), 6)
def break_continue(x, n: int):
    for i in range(n):
        if i == 1:
            continue
        if i == 4:
            break
        x = x + i
    return x


@case(t(3), 6)
def while_break(x, n: int):
    while True:
        if n < 2:
            break
        n -= 1
        x = x + 1
    return x


@case(t(3), 6)
def return_in_loop(x, n: int):
    for i in range(n):
        if i == 3:
            return x
        x = x + 1
    return x * 2


@case(t(3), 6)
def return_in_while(x, n: int):
    while n > 0:
        if n == 2:
            return x
        n -= 1
    return x + n


@case(t(3), 2)
def nested_loops(x, n: int):
    for i in range(n):
        for j in range(i):
            x = x + i * j
    return x


@case([1, 2, 3])
def list_index(x: List[int]):
    return x[0], x[-1], x[1:], x[:2], x[::2], len(x)


@case([1, 2, 3])
def list_methods(x: List[int]):
    y = x.copy()
    y.append(4)
    y.extend([5, 6])
    y.insert(0, 7)
    y.reverse()
    y.pop()
    y.remove(5)
    y.sort()
    return y, y.index(2), y.count(1), 3 in y


@case([3, 1, 2])
def list_change(x: List[int]):
    x[0] = 5
    x[1] += 2
    x += [9]
    del x[0]
    return x


@case([1.5, 2.5])
def comprehension(x: List[float]):
    return [i * 2 for i in x]


@case({"a": 1, "b": 2})
def dicts(d: Dict[str, int]):
    d["c"] = 3
    n = 0
    for k in d:
        n += d[k]
    for k, v in d.items():
        n += v
    return n, d.keys(), list(d.values()), "a" in d, d.get("z"), len(d)


@case({"a": 1, "b": 2})
def dict_comprehension(d: Dict[str, int]):
    return {k: v * 2 for k, v in d.items()}


@case(2)
def dict_literal(n: int):
    d = {"a": n, "b": 3}
    del d["a"]
    return d


@case((1, "a"))
def tuples(p: Tuple[int, str]):
    a, b = p
    q = (b, a)
    return q, p[0], p[-1], q + p


@case((1, 2, 3))
def tuple_slices(p: Tuple[int, int, int]):
    return p[1:], p[:-1], p[::2], len(p)


@case((1, 2, 3))
def tuple_loop(p: Tuple[int, int, int]):
    n = 0
    for i in p:
        n += i
    return n


@case([1, 2], ["a", "b"])
def zips(x: List[int], y: List[str]):
    out = ""
    for i, (a, b) in enumerate(zip(x, y)):
        out += str(i) + str(a) + b
    return out


@case([4, 5])
def enumerates(x: List[int]):
    n = 0
    for i, v in enumerate(x):
        n += i * v
    for i, v in enumerate(x, 3):
        n += i
    return n


@case("Abc d")
def strings(s: str):
    return s.upper(), s.lower(), s.split(" "), s + "x", s * 2, s[0], s[1:3], len(s), s.find("c"), s.replace("b", "x"), s.startswith("A"), "c" in s


@case(3, "x")
def formats(n: int, s: str):
    return f"{n} and {s}", "{} {}".format(n, s), "%d %s" % (n, s), f"plain"


@case("ab")
def string_loop(s: str):
    out = ""
    for c in s:
        out = c + out
    return out


@case(None)
def optional_none(x: Optional[int]):
    if x is None:
        return 0
    return x + 1


@case(4)
def optional_some(x: Optional[int]):
    if x is not None:
        x = x + 1
    else:
        x = 2
    return x


@case(4, True)
def optional_and(x: Optional[int], y: bool):
    if x is not None and y:
        return x
    return 3


@case(4)
def optional_or(x: Optional[int]):
    if x is None or x > 3:
        return 1
    return x


@case(None)
def optional_ternary(x: Optional[int]):
    return x if x is not None else 3


@case(t(2), None)
def optional_tensor(x, w: Optional[torch.Tensor] = None):
    if w is not None:
        x = x * w
    return x


@case(5)
def optional_assert(x: Optional[int]):
    assert x is not None
    return x + 1


@case(5)
def unions(x: Union[int, str]):
    if isinstance(x, int):
        return x + 1
    return len(x)


@case("q")
def any_value(x: Any):
    if isinstance(x, str):
        return x + "!"
    return "none"


@case(t(2))
def isinstance_known(x):
    if isinstance(x, torch.Tensor):
        return x + 1
    else:
        return undefined_name


@case(t(3, 4))
def indexing(x):
    return x[0], x[:, 1], x[1:, ::2], x[..., 0], x[None], x[0, 1], x[-1, ..., None], x[:2]


@case(t(3, 4))
def advanced(x):
    i = torch.tensor([0, 2])
    return x[i], x[i, 1], x[:, i], x[x > 0]


@case(t(3, 4))
def set_items(x):
    x = x.clone()
    x[0] = 1
    x[1, 2] = 5.5
    x[:, 0] = x[:, 1]
    x[2, 1:3] += 4
    return x


@case(t(3))
def set_mask(x):
    x = x.clone()
    x[x > 0] = 0
    return x


@case(t(3))
def in_place(x):
    x = x.clone()
    x += 1
    x *= 2
    x -= x
    x /= 3
    return x


@case(t(2, 3))
def attributes(x):
    return x.shape, x.dtype, x.ndim, x.T, x.is_cuda, x.requires_grad, x.device


@case(t(2, 3))
def sizes(x):
    n = x.size(0)
    a, b = x.shape
    return n, a, b, x.size(), len(x), x.numel(), x.dim()


@case(t(2, 3))
def methods(x):
    return x.sum(), x.sum(0), x.sum(dim=1, keepdim=True), x.view(3, 2), x.view(-1), x.permute(1, 0), x.transpose(0, 1), x.to(torch.float64), x.reshape(6)


@case(t(2, 3))
def functions(x):
    return torch.relu(x), torch.cat([x, x], dim=1), torch.stack([x, x]), torch.zeros(2, 3), torch.ones_like(x), torch.matmul(x, x.t())


@case(t(2, 3))
def several_results(x):
    v, i = x.max(0)
    return v, i, x.max(1)[0], torch.max(x, 0).values, torch.sort(x)


@case(t(2))
def casts(x):
    return int(x[0]), float(x[1]), bool(x[0]), x.int(), x.float(), x.long()


@case(3, 2.7, "5")
def number_casts(a: int, b: float, c: str):
    return float(a), int(b), bool(a), int(c), float(c), str(a), str(b), complex(a, b)


@case([3, 1, 2])
def builtin_functions(x: List[int]):
    return len(x), min(x), max(x), sum(x), sorted(x), abs(-3), min(1, 2), max(1.5, 2.5), round(2.6), pow(2, 3), ord("a"), chr(98), hex(10), divmod(7, 2)


@case([True, False])
def any_all(x: List[bool]):
    return any(x), all(x)


@case(t(2), 1)
def ternary(x, n: int):
    return x + 1 if n > 0 else x - 1


@case(t(2))
def condition_of_tensor(x):
    if x.sum() > 0:
        return x
    return -x


@case([])
def condition_of_list(x: List[int]):
    if x:
        return 1
    return 0


@case(3)
def chained_assign(n: int):
    a = b = n + 1
    return a, b


@case([1, 2, 3])
def starred(x: List[int]):
    a, *b = (1, 2, 3)
    return a, b


@case(t(2))
def call_starred(x):
    p = (x, x)
    return torch.add(*p)


@case(3)
def raises(n: int):
    if n > 2:
        raise ValueError("too big")
    return n


@case(1)
def raises_else(n: int):
    if n > 2:
        y = n
    else:
        raise RuntimeError("small {}".format(n))
    return y


@case(t(2))
def asserts(x):
    assert x.size(0) > 1
    assert x.dim() == 1, "one dimension"
    return x


@case(1)
def none_result(n: int):
    m = n + 1


@case(1)
def pass_only(n: int):
    pass


@case(t(2))
def prints(x):
    print("a", 1)
    return x


def helper(x, y: int = 2):
    return x * y


def helper_deep(x):
    return helper(x) + 1


@case(t(2))
def calls(x):
    return helper(x) + helper(x, 3) + helper(x, y=4)


@case(t(2))
def calls_deep(x):
    return helper_deep(x)


@case(2)
def annotated(n: int):
    a: List[int] = []
    b: Dict[str, int] = {}
    c: Optional[int] = None
    d = torch.jit.annotate(List[float], [])
    e: float = 1.0
    a.append(n)
    return a, b, c, d, e


@case()
def empty_list():
    x = []
    x.append(torch.zeros(2))
    return x


@case(2)
def lists_of_lists(n: int):
    x = [[1, 2], [n]]
    return x[0][1], x


@case(2)
def list_multiply(n: int):
    return [0] * n, [1, 2] + [3]


@case(1.0)
def math_functions(x: float):
    return math.sqrt(x), math.pi, math.floor(x), math.exp(x)


@case(t(2))
def constants(x):
    return 1e-5, 1e10, 3, -2, -1.5, True, None, "s", 2j


@case(t(2))
def scripting(x):
    if torch.jit.is_scripting():
        return x + 1
    else:
        return undefined_thing(x)


@case(t(2))
def keywords(x):
    return torch.sum(x, dim=0, keepdim=False), torch.full((2, 2), 3.0), torch.arange(5), torch.arange(1, 4), torch.zeros([2], dtype=torch.int64)


@case(t(2), [1, 2])
def sized(x, s: List[int]):
    return x.expand(s[0], s[1]), torch.zeros(s)


@case(t(4))
def unpacked(x):
    a, b = x.chunk(2)
    c, d = torch.split(x, 2)
    return a, b, c, d


@case(t(2, 2))
def nested_condition(x):
    y = 0
    for i in range(x.size(0)):
        if bool(x[i, 0] > 0):
            y += 1
        elif i == 1:
            y += 2
    return y


@case(3)
def shadow(n: int):
    sum = n
    n = sum + 1
    return n


@case(3)
def underscore(n: int):
    _ = n
    __ = n + 1
    _1 = n + 2
    return _, __, _1


@case(t(2))
def modulo(x):
    return x % 2, 5 % 3, x // 2, x**2, 2**x, x @ x


@case(t(2), True)
def bool_mix(x, b: bool):
    c = b and x.size(0) > 1
    d = not b or c
    return c, d


# --- errors
@case()
def undefined(x):
    return undefined_thing(x)


@case()
def undefined_attribute(x):
    return x.no_such_thing


@case()
def not_in_branch(x, y: int):
    if y > 1:
        z = 1
    return z


@case()
def type_mismatch(x, y: int):
    if y > 1:
        z = 1
    else:
        z = "a"
    return z


@case()
def reassigned(n: int):
    a = 1
    for i in range(n):
        a = "s"
    return a


@case()
def two_returns(x):
    if x.sum() > 0:
        return 1
    return "a"


@case()
def wrong_return(x) -> int:
    return x + "a"


@case()
def annotated_return(n: int) -> str:
    return n


@case()
def no_return(n: int) -> int:
    if n > 2:
        return 1


@case()
def wrong_argument(n: int):
    return torch.relu(n)


@case()
def missing_argument(x):
    return torch.matmul(x)


@case()
def too_many(x):
    return torch.relu(x, x, x)


@case()
def unknown_keyword(x):
    return torch.relu(x, foo=1)


@case()
def wrong_call(x):
    return helper(x, "a")


@case()
def index_string(x: Tuple[int, str], n: int):
    return x[n]


@case()
def tuple_range(x: Tuple[int, int]):
    return x[3]


@case()
def unpack_few(x: Tuple[int, int]):
    a, b, c = x
    return a


@case()
def unpack_many(x: Tuple[int, int]):
    (a,) = x
    return a


@case()
def not_iterable(n: int):
    for i in n:
        pass
    return n


@case()
def not_callable(n: int):
    return n()


@case()
def break_outside(n: int):
    if n:
        break_me = 1
    return n + undefined_here


@case()
def wrong_list(n: int):
    x: List[str] = [n]
    return x


@case()
def wrong_annotation(n: int):
    x: str = n
    return x


@case()
def optional_use(x: Optional[int]):
    return x + 1


@case()
def unknown_type(x: "Foo"):
    return x


@case()
def attribute_of_int(n: int):
    return n.foo


@case()
def set_attribute(n: int):
    n.foo = 1
    return n


@case()
def ternary_mismatch(n: int):
    return 1 if n > 0 else "a"


@case()
def in_callee(x):
    return bad_callee(x)


def bad_callee(x):
    return x + undefined_in_callee


@case()
def range_of_float(x: float):
    for i in range(x):
        pass


@case()
def list_item_type(x: List[int]):
    x.append("a")
    return x


@case()
def dict_key_type(d: Dict[str, int]):
    return d[1]


@case()
def slice_assign(x: List[int]):
    x[0:1] = [1]
    return x
