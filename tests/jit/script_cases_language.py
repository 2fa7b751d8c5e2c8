# SPDX-License-Identifier: Apache-2.0
"""More of the language: what script_cases.py has not; recorded as it is."""
# ruff: noqa

import math
from typing import Any, Dict, Final, List, Optional, Tuple, Union

import torch
import torch.nn.functional as F
from script_cases import Cases, t

CASES = Cases(__name__)
case, program = CASES.case, CASES.program

A_NUMBER = 3
A_FLOAT = 2.5
A_STRING = "global"
A_TUPLE = (1, 2)
A_FINAL: Final[int] = 5
A_TENSOR = torch.ones(2)
A_LIST = [1, 2]


# --- globals
@case(2)
def global_number(n: int):
    return n + A_NUMBER


@case(2)
def global_final(n: int):
    return n + A_FINAL


@case(2)
def global_string(n: int):
    return A_STRING


@case(2)
def global_tuple(n: int):
    return A_TUPLE


@case(t(2))
def global_tensor(x):
    return x + A_TENSOR


@case(2)
def global_list(n: int):
    return A_LIST


@case(t(2))
def module_constants(x):
    return math.pi, math.e, math.inf, torch.float32, torch.int64


@case(2)
def global_statement(n: int):
    global A_NUMBER
    return n


@case(2)
def nonlocal_statement(n: int):
    def inner():
        nonlocal n
        return n

    return n


# --- what Python has and TorchScript has not
@case(2)
def try_statement(n: int):
    try:
        n = 1
    except Exception:
        n = 2
    return n


@case(2)
def lambda_expression(n: int):
    f = lambda x: x
    return f(n)


@case(2)
def yield_statement(n: int):
    yield n


@case(2)
def import_statement(n: int):
    import math

    return n


@case(2)
def walrus(n: int):
    if (m := n) > 1:
        return m
    return n


@case(2)
def inner_function(n: int):
    def inner(m: int):
        return m

    return inner(n)


@case(2)
def inner_class(n: int):
    class Inner:
        pass

    return n


@case(2)
def set_literal(n: int):
    return {1, 2}


@case(2)
def set_comprehension(n: int):
    return {i for i in range(n)}


@case(2)
def while_else(n: int):
    while n > 0:
        n -= 1
    else:
        n = 3
    return n


@case(2)
def for_else(n: int):
    for i in range(n):
        pass
    else:
        n = 3
    return n


@case(2)
def starred_parameters(*args):
    return 1


@case(2)
def keyword_parameters(**kwargs):
    return 1


@case(2)
def keyword_only_default(*, n: int = 1):
    return n


@case()
def keyword_only(x: int, *, n: int):
    return x + n


@program
def keyword_only_called():
    return torch.jit.script(keyword_only)(1, n=2)


@program
def keyword_only_by_place():
    return torch.jit.script(keyword_only)(1, 2)


@case(2)
def comprehension_if(n: int):
    return [i for i in range(n) if i > 1]


@case(2)
def comprehension_twice(n: int):
    return [i + j for i in range(n) for j in range(n)]


@case(2)
def bytes_literal(n: int):
    return b"abc"


@case(2)
def f_string_spec(n: int):
    return f"{n:03d}"


@case(2)
def f_string_repr(n: int):
    return f"{n!r}"


@case(2)
def dict_expansion(n: int):
    return {**{"a": n}}


@case(2)
def keyword_expansion(n: int):
    return torch.zeros(**{"size": [n]})


@case(2)
def unary_plus(n: int):
    return +n


@case(2)
def raise_nothing(n: int):
    raise


@case(2)
def annotation_without_value(n: int):
    x: int
    return n


@case(2)
def floor_assign(n: int):
    n //= 2
    return n


@case(t(2, 2))
def matmul_assign(x):
    x @= x
    return x


@case(2)
def delete_variable(n: int):
    x = n
    del x
    return n


@case([1, 2, 3])
def delete_slice(x: List[int]):
    del x[0:1]
    return x


@case({"a": 1, "b": 2})
def delete_key(d: Dict[str, int]):
    del d["a"]
    return d


@case(2)
def async_function(n: int):
    assert n, "a"
    return n


@case(2)
def match_statement(n: int):
    match n:
        case 1:
            return 2
    return n


@case(2)
def reserved_name(n: int):
    __jit_x = n
    return __jit_x


# --- calls
def with_defaults(x, a: int = 1, b: float = 2.0, c: str = "c", d: Optional[int] = None, e: List[int] = [1, 2], f: bool = True):
    return a, b, c, d, e, f


@case(t(2))
def default_arguments(x):
    return with_defaults(x)


@case(t(2))
def default_arguments_some(x):
    return with_defaults(x, 2, c="x", f=False)


@case(t(2))
def default_argument_unknown(x):
    return with_defaults(x, zzz=1)


@case(t(2))
def argument_twice(x):
    return with_defaults(x, 1, a=2)


@program
def default_wrong():
    def f(x: int = "a"):
        return x

    return torch.jit.script(f)


def calls_itself(n: int) -> int:
    if n > 0:
        return calls_itself(n - 1)
    return 0


@case(3)
def recursion(n: int):
    return calls_itself(n)


def ping(n: int) -> int:
    return pong(n)


def pong(n: int) -> int:
    return ping(n)


@case(3)
def recursion_mutual(n: int):
    return ping(n)


def chain_c(x):
    return x + undefined_in_c


def chain_b(x):
    return chain_c(x)


def chain_a(x):
    return chain_b(x)


@case(t(2))
def call_chain(x):
    return chain_a(x)


@torch.jit.unused
def an_unused(x: int) -> int:
    return [i for i in range(x) if i][0]


@case(3)
def unused_function(n: int):
    if n > 100:
        return an_unused(n)
    return n


@case(300)
def unused_function_called(n: int):
    return an_unused(n)


@torch.jit.ignore
def an_ignored(x: int) -> int:
    return sum(i for i in range(x) if i > 1)


@case(5)
def ignored_function(n: int):
    return an_ignored(n) + 1


@torch.jit.ignore
def ignored_tensor(x):
    return x.numpy().sum() * x


@case(t(2))
def ignored_of_tensors(x):
    return ignored_tensor(x) + 1


@torch.jit.script_if_tracing
def if_tracing(x, n: int):
    for i in range(n):
        x = x + i
    return x


@case(t(2))
def script_if_tracing(x):
    return if_tracing(x, 3)


@program
def script_if_tracing_eager():
    return if_tracing(torch.ones(2), 3)


@torch.jit._overload
def overloaded(x: int) -> int: ...
@torch.jit._overload
def overloaded(x: str) -> str: ...
def overloaded(x):
    return x + x


@case(3, "a")
def overloads(n: int, s: str):
    return overloaded(n), overloaded(s)


@case(3.0)
def overloads_wrong(x: float):
    return overloaded(x)


@torch.jit._overload
def overloaded_default(x: int, y: int = 1) -> int: ...
@torch.jit._overload
def overloaded_default(x: str, y: int = 1) -> str: ...
def overloaded_default(x, y=1):
    return x * y


@case(3, "a")
def overloads_default(n: int, s: str):
    return overloaded_default(n, 2), overloaded_default(s)


def squares(x):
    return x * x


@case(t(3))
def fork_wait(x):
    f = torch.jit.fork(squares, x)
    y = x + 1
    return torch.jit.wait(f) + y


@case(t(3))
def fork_lists(x):
    fs: List[torch.jit.Future[torch.Tensor]] = []
    for i in range(3):
        fs.append(torch.jit.fork(squares, x + i))
    return [torch.jit.wait(f) for f in fs]


@case(t(3))
def fork_returned(x) -> torch.jit.Future[torch.Tensor]:
    return torch.jit.fork(squares, x)


@case(t(3))
def fork_method_wait(x):
    return torch.jit.fork(squares, x).wait()


@case(t(3))
def fork_wrong(x):
    return torch.jit.fork(squares)


@case(t(3))
def is_scripting_ternary(x):
    return 1 if torch.jit.is_scripting() else undefined_there


@case(t(3))
def not_is_scripting(x):
    if not torch.jit.is_scripting():
        return undefined_there
    return x


@case(t(3))
def is_tracing(x):
    if torch.jit.is_tracing():
        return x
    return x + 1


@case(t(3))
def functional(x):
    return F.relu(x), torch.nn.functional.softmax(x, dim=0)


@case(t(1, 4))
def functional_more(x):
    return F.linear(x, x), F.pad(x, [1, 1]), F.dropout(x, 0.5, False), F.gelu(x)


@case(t(3))
def torch_ops(x):
    return torch.ops.aten.relu(x), torch.ops.aten.add(x, x)


@case(t(3))
def tensor_class(x):
    return torch.Tensor.relu(x)


# --- refinement
@case(3, None)
def refine_and(a: Optional[int], b: Optional[int]):
    if a is not None and b is not None:
        return a + b
    return 0


@case(3, None)
def refine_or(a: Optional[int], b: Optional[int]):
    if a is None or b is None:
        return 0
    return a + b


@case(3)
def refine_not(a: Optional[int]):
    if not a is None:
        return a
    return 0


@case(3)
def refine_not_and(a: Optional[int]):
    if not (a is None and True):
        return 1
    return 0


@case(3)
def refine_isinstance(a: Optional[int]):
    if isinstance(a, int):
        return a + 1
    return 0


@case(3)
def refine_while(a: Optional[int]):
    while a is not None:
        if a > 5:
            a = None
        else:
            a = a + 1
    return a


@case(3)
def refine_early_return(a: Optional[int]):
    if a is None:
        return 0
    b = a + 1
    return b


@case(3)
def refine_raise(a: Optional[int]):
    if a is None:
        raise ValueError("none")
    return a + 1


@case(3)
def refine_in_expression(a: Optional[int]):
    return a is not None and a > 2


@case(3)
def refine_in_or(a: Optional[int]):
    return a is None or a > 2


@case([1, 2])
def refine_list(a: Optional[List[int]]):
    if a is not None:
        a.append(1)
        return len(a)
    return 0


@case(3)
def refine_attribute_of_none(a: Optional[int]):
    if a is not None or True:
        return a
    return 0


@case(4)
def union_three(x: Union[int, str, float]):
    if isinstance(x, int):
        return 1
    elif isinstance(x, str):
        return 2
    return 3


@case("a")
def union_two_of_three(x: Union[int, str, float]):
    if isinstance(x, (int, str)):
        y = x
        return 1
    return 2


@case("a")
def union_new_spelling(x: int | str):
    if isinstance(x, str):
        return x
    return "int"


@case(None)
def optional_new_spelling(x: int | None):
    return x is None


@case(3)
def union_assigned(n: int):
    x: Union[int, str] = n
    if n > 2:
        x = "a"
    return x


@case([1])
def union_of_lists(x: Union[List[int], List[str]]):
    if isinstance(x, List[int]):
        return 1
    return 2


@case(3)
def union_with_none(x: Union[int, str, None]):
    if x is None:
        return 0
    if isinstance(x, int):
        return x
    return 2


@case(3.0)
def union_wrong(x: Union[int, str]):
    return x + 1


@case(3)
def union_returned(x: int) -> Union[int, str]:
    if x > 2:
        return x
    return "a"


@case([1, "a"])
def any_list(x: List[Any]):
    return len(x)


@case(3)
def any_result(x: int) -> Any:
    return x


@case((1, 2))
def any_tuple(x: Any):
    if isinstance(x, tuple):
        return 1
    if isinstance(x, list):
        return 2
    return 3


@case(t(2))
def isinstance_list(x):
    y = [x]
    return isinstance(y, list), isinstance(y, List[torch.Tensor]), isinstance(y, tuple), isinstance(x, int)


@case(3)
def scalar_type(x: Union[int, float, complex]):
    return x


# --- comprehensions, loops
@case([1, 2, 3])
def comprehension_tuple(x: List[int]):
    return [(i, i + 1) for i in x]


@case([1, 2, 3])
def comprehension_zip(x: List[int]):
    return [a * b for a, b in zip(x, x)]


@case([1, 2, 3])
def comprehension_enumerate(x: List[int]):
    return [i * v for i, v in enumerate(x)]


@case(t(3))
def comprehension_tensor(x):
    return [y + 1 for y in x]


@case({"a": 1})
def comprehension_dict_items(d: Dict[str, int]):
    return [k for k, v in d.items()], [v for v in d.values()], [k for k in d]


@case([[1, 2], [3]])
def comprehension_nested(x: List[List[int]]):
    return [[j + 1 for j in i] for i in x]


@case([1, 2, 3])
def comprehension_dict(x: List[int]):
    return {i: str(i) for i in x}


@case([1, 2, 3])
def comprehension_hidden(x: List[int]):
    i = 100
    y = [i for i in x]
    return i


@case((1, "a"))
def comprehension_of_tuple(x: Tuple[int, int]):
    return [i for i in (1, 2, 3)]


@case(3)
def loop_after(n: int):
    i = -1
    for i in range(n):
        pass
    return i


@case(3)
def loop_variable_after(n: int):
    for i in range(n):
        pass
    return i


@case(3)
def loop_else_break(n: int):
    s = 0
    for i in range(n):
        for j in range(n):
            if j == i:
                break
            if j == 2:
                continue
            s += j
    return s


@case(t(2, 3))
def loop_tensor(x):
    s = torch.zeros(3)
    for row in x:
        s = s + row
    return s


@case({"a": 1, "b": 2})
def loop_dict(d: Dict[str, int]):
    out: List[str] = []
    for k in d:
        out.append(k)
    return out


@case(3)
def loop_star(n: int):
    s = 0
    for a, (b, c) in [(1, (2, 3)), (4, (5, 6))]:
        s += a + b + c
    return s


@case(3)
def loop_tuple_of_types(n: int):
    s = ""
    for x in (1, "a", 2.0):
        s += str(x)
    return s


@case(3)
def loop_break_in_tuple(n: int):
    for x in (1, 2):
        if n > x:
            break
    return n


@case(3)
def loop_type_change(n: int):
    x = 1
    while n > 0:
        x = "a"
        n -= 1
    return x


@case(10)
def loop_range_negative(n: int):
    return [i for i in range(n, 0, -3)]


@case(10)
def loop_range_zero(n: int):
    for i in range(0, n, 0):
        pass
    return n


@case(3)
def loop_range_four(n: int):
    for i in range(1, 2, 3, 4):
        pass
    return n


@case(5)
def fibonacci(n: int):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


# --- assignments
@case((1, 2, 3, 4))
def star_middle(x: Tuple[int, int, int, int]):
    a, *b, c = x
    return a, b, c


@case([1, 2, 3])
def star_of_list(x: List[int]):
    a, *b = x
    return a


@case([1, 2, 3])
def unpack_list(x: List[int]):
    a, b, c = x
    return a + b + c


@case([1, 2])
def unpack_list_short(x: List[int]):
    a, b, c = x
    return a + b + c


@case(3)
def unpack_nested(n: int):
    (a, b), c = (n, 2), 3
    return a, b, c


@case(3)
def swap(n: int):
    a, b = n, 2
    a, b = b, a
    return a, b


@case([1, 2])
def unpack_into_items(x: List[int]):
    x[0], x[1] = x[1], x[0]
    return x


@case(3)
def unpack_int(n: int):
    a, b = n
    return a


@case(3)
def augmented_all(n: int):
    a = n
    a += 1
    a -= 2
    a *= 3
    a %= 5
    a |= 8
    a &= 15
    a ^= 3
    a <<= 2
    a >>= 1
    b = float(n)
    b /= 2
    b **= 2.0
    return a, b


@case(t(2, 2))
def augmented_tensor(x):
    x = x.clone()
    x += x
    x -= 1
    x *= 2
    x /= 4
    x **= 2
    y = x.to(torch.int64)
    y |= 1
    y &= 3
    y ^= 1
    y <<= 2
    y >>= 1
    y %= 3
    return x, y


@case([1], ["a"])
def augmented_list(x: List[int], y: List[str]):
    x += [2]
    x *= 2
    y += ["b"]
    return x, y


@case(t(3, 3))
def augmented_item(x):
    x = x.clone()
    x[0] += 1
    x[:, 1] *= 2
    x[x > 3] -= 1
    x[torch.tensor([0, 1]), 1] /= 2
    return x


@case([1, 2], {"a": 1})
def augmented_item_of_list(x: List[int], d: Dict[str, int]):
    x[0] -= 3
    x[1] **= 2
    d["a"] *= 5
    return x, d


@case("a")
def augmented_string(s: str):
    s += "b"
    return s


@case(3)
def annotated_again(n: int):
    x: int = n
    if n > 2:
        x: int = 3
    return x


@case(3)
def annotated_optional(n: int):
    x: Optional[int] = n
    return x


@case(3)
def conversion_to_float(n: int):
    x: float = n
    return x


# --- indices
@case(t(2, 3, 4))
def index_forms(x):
    return x[0, :, None], x[..., 1], x[:, ..., 0], x[None, 0], x[:, 1:2, ::2], x[-1, -1, -1], x[1:], x[()] if False else x[0]


@case(t(2, 3))
def index_lists(x):
    return x[[0, 1]], x[[1], [2]], x[:, [0, 2]]


@case(t(4), torch.tensor([True, False, True, False]))
def index_mask(x, m):
    return x[m], x[m.nonzero().squeeze(1)]


@case(t(3, 4), torch.tensor(1))
def index_scalar_tensor(x, i):
    return x[i], x[i, 1:3], x[:, i]


@case(t(3, 4))
def index_two_ellipses(x):
    return x[..., ...]


@case(t(3, 4))
def index_string_key(x):
    return x["a"]


@case(t(3, 4))
def index_float(x):
    return x[1.5]


@case(t(3, 4))
def index_bool(x):
    return x[True]


@case(t(3, 4), 1, 3)
def index_variables(x, a: int, b: int):
    return x[a:b], x[:b], x[a], x[a, b], x[::b], x[-b:]


@case(t(3, 4))
def index_slice_object(x):
    return x[slice(0, 2)], x[slice(1, None), 0]


@case([1, 2, 3, 4])
def slice_list(x: List[int]):
    return x[1:3], x[::-1], x[-2:], x[:-1], x[10:], x[3:1]


@case("abcdef")
def slice_string(s: str):
    return s[1:3], s[-1], s[::2], s[:-2]


@case((1, "a", 2.0))
def slice_tuple(x: Tuple[int, str, float]):
    return x[1:], x[::-1], x[:-1], x[-2]


@case([1, 2], 5)
def list_out_of_range(x: List[int], i: int):
    return x[i]


@case({"a": 1})
def dict_missing_key(d: Dict[str, int]):
    return d["zzz"]


@case(t(3, 4))
def assign_forms(x):
    x = x.clone()
    x[0] = 5
    x[1, 1:3] = torch.ones(2)
    x[..., 0] = -1.5
    x[torch.tensor([0, 2]), 1] = 9
    x[:, 3] = x[:, 2]
    x[[1]] = 3
    return x


@case(t(3))
def assign_bool(x):
    x = x.clone()
    x[x < 0] = 1
    x[0] = True
    return x


@case("abc")
def assign_string(s: str):
    s[0] = "x"
    return s


@case((1, 2))
def assign_tuple_item(s: Tuple[int, int]):
    s[0] = 4
    return s


# --- strings
@case("a,b,c", "  x ")
def string_methods(s: str, u: str):
    return (
        s.split(","), s.rsplit(",", 1), u.strip(), u.lstrip(), u.rstrip(), s.partition(","), s.rpartition(","), s.count(","), s.index("b"), s.rfind(","),
        s.endswith("c"), s.isalpha(), s.isdigit(), s.title(), s.capitalize(), s.swapcase(), s.zfill(8), s.center(9, "*"), s.ljust(7, "-"), s.rjust(7), ",".join(["p", "q"]),
        s.expandtabs(), "a\nb".splitlines(),
    )  # fmt: skip


@case("Ab1")
def string_tests(s: str):
    return s.isupper(), s.islower(), s.isalnum(), s.isspace(), s.istitle(), s.isdecimal(), s.isnumeric(), s.isidentifier(), s.isprintable()


@case("ab", "b")
def string_compare(a: str, b: str):
    return a == b, a != b, b in a, a not in b, a < b, a + b


@case(3, 2.5, "s", t(2))
def string_format(n: int, f: float, s: str, x):
    return "{} {} {}".format(n, f, s), "%d %s %f" % (n, s, f), "%s" % s, f"{n} {s}{f}", "{0} {1} {0}".format(n, s), "{{}}".format()


@case(2)
def string_percent_one(n: int):
    return "%d!" % n


@case([1, 2], {"a": 1.5}, (1, "b"))
def string_of_containers(x: List[int], d: Dict[str, float], p: Tuple[int, str]):
    return str(x), str(d), str(p), f"{x}", str(None), str(True)


@case(2)
def string_escapes(n: int):
    return "a\tb\n\\ \x41 é", 'it"s', r"\d"


@case("12", "1.5")
def string_to_numbers(a: str, b: str):
    return int(a), float(b)


@case("zz")
def string_to_int_wrong(a: str):
    return int(a)


@case("abc")
def string_unknown_method(s: str):
    return s.zzz()


# --- numbers and built-ins
@case(7, 2)
def int_functions(a: int, b: int):
    return divmod(a, b), pow(a, b), abs(-a), min(a, b), max(a, b), round(2.5), bin(a), hex(a), oct(a), float(a), bool(a), chr(97), ord("b"), complex(a, b)


@case(2.7, -3.2)
def float_functions(a: float, b: float):
    return abs(b), round(a), int(b), min(a, b), max(a, b), divmod(a, b), pow(a, b) if a < 0 else 1.0, bool(a)


@case(2.7)
def math_all(x: float):
    return (
        math.sqrt(x), math.exp(x), math.log(x), math.log2(x), math.log10(x), math.log1p(x), math.sin(x), math.cos(x), math.tan(x), math.asin(x / 10), math.acos(x / 10),
        math.atan(x), math.atan2(x, 2.0), math.sinh(x), math.cosh(x), math.tanh(x), math.ceil(x), math.floor(x), math.fabs(-x), math.pow(x, 2.0), math.fmod(x, 2.0),
        math.copysign(x, -1.0), math.degrees(x), math.radians(x), math.gamma(x), math.lgamma(x), math.erf(x), math.erfc(x), math.expm1(x), math.isnan(x), math.isinf(x),
    )  # fmt: skip


@case(12, 18)
def math_ints(a: int, b: int):
    return math.gcd(a, b), math.factorial(5), math.frexp(8.0), math.modf(2.5), math.ldexp(1.5, 2), math.floor(a / 5)


@case(3 + 4j)
def complex_numbers(c: complex):
    return c.real, c.imag, abs(c), c + 1, c * 2j, -c, c == c, c - 1.5


@case(5, 3)
def division(a: int, b: int):
    return a / b, a // b, a % b, -a // b, -a % b, a**b, a**-1.0, float(a) // b, float(-a) % b


@case(1, 0)
def division_by_zero(a: int, b: int):
    return a // b


@case([3.5, 1.5], [True, False])
def sums(x: List[float], b: List[bool]):
    return sum(x), min(x), max(x), any(b), all(b), sorted(x), len(x)


@case(t(3))
def tensor_builtins(x):
    return abs(x), min(x, x + 1) if False else x, len(x), round(1.4), x.sum().item() > 0, int(x.sum()), float(x.sum())


@case(t(3), t(3))
def tensor_compare(x, y):
    return x == y, x != y, x < y, x >= y, x & y if False else x, ~(x > 0), -x, x @ y, x // 2, x % 2, 2**x


@case(t(3))
def tensor_to_bool(x):
    if x.sum() > 0 and x[0] < 5:
        return 1
    return 0


@case(t(3))
def tensor_tolist(x):
    y: List[float] = x.tolist()
    return y


@case(t(2, 2))
def tensor_tolist_nested(x):
    y: List[List[float]] = x.tolist()
    return y


@case(t(3))
def tensor_tolist_no_type(x):
    y = x.tolist()
    return y


@case(t(3))
def tensor_item(x):
    return x[0].item(), x.max().item()


@case(t(3))
def tensor_casts(x):
    return x.half(), x.double(), x.to(torch.int32), x.to("cpu"), x.type_as(x), x.bool(), x.byte()


@case(t(3))
def tensor_made(x):
    return torch.tensor([1, 2]), torch.tensor(3.5), torch.tensor([[1.0], [2.0]]), torch.tensor(True), torch.zeros_like(x), torch.full([2], 7), torch.tensor([1], dtype=torch.float64)


@case(t(2, 3))
def tensor_properties(x):
    return x.shape[0], x.ndim, x.size(-1), x.dtype == torch.float32, x.device.type, x.is_cuda, x.layout == torch.strided, x.T.shape, x.mT.shape, x.grad is None, x.is_floating_point()


# --- dtype, device, layout
@case(torch.float64)
def dtype_argument(d: torch.dtype):
    return torch.zeros(2, dtype=d)


@case(torch.device("cpu"))
def device_argument(d: torch.device):
    return torch.zeros(2, device=d), d.type, d == torch.device("cpu"), str(d)


@case()
def device_made():
    return torch.device("cuda:1").index, torch.device("cpu"), torch.device("cuda", 2).index


@case(torch.strided)
def layout_argument(d: torch.layout):
    return torch.zeros(2, layout=d)


@case(t(2))
def dtype_compare(x):
    if x.dtype == torch.float32:
        return 1
    return 0


# --- containers
@case()
def list_of_everything():
    return [1, 2], [1.5], ["a"], [True], [(1, "a")], [[1], [2]], [None], [torch.zeros(1)]


@case(3)
def list_mixed(n: int):
    return [1, "a"]


@case(3)
def list_append_wrong(n: int):
    x = []
    x.append(1)
    return x


@case([1, 2, 3])
def list_more(x: List[int]):
    y = list(x)
    y.clear()
    z = x + y + [4] * 2
    w = x == [1, 2, 3]
    return y, z, w, x != y, [1] in [[1], [2]], list("ab"), list(range(3)), x.pop(0), x.pop()


@case([3, 1, 2], ["b", "a"])
def list_sort(x: List[int], y: List[str]):
    x.sort(reverse=True)
    y.sort()
    return x, y, sorted(x), sorted(y)


@case([])
def list_pop_empty(x: List[int]):
    return x.pop()


@case([1])
def list_remove_missing(x: List[int]):
    x.remove(5)
    return x


@case({"a": 1, "b": 2})
def dict_methods(d: Dict[str, int]):
    e = d.copy()
    e.update({"c": 3})
    first = e.pop("a")
    second = e.pop("zz", 7)
    e.setdefault("q", 9)
    e.setdefault("b", 100)
    return e, first, second, list(e.keys()), list(e.values()), list(e.items()), e.get("b"), e.get("zz", 5), len(e), "b" in e


@case({"a": 1})
def dict_clear(d: Dict[str, int]):
    d.clear()
    return len(d), d


@case()
def dict_of_kinds():
    a = {1: "a", 2: "b"}
    b = {1.5: 2}
    c: Dict[int, List[int]] = {}
    c[3] = [1]
    return a, b, c, dict([("a", 1)]), dict(x=1, y=2)


@case()
def dict_mixed_keys():
    return {1: 2, "a": 3}


@case()
def dict_unhashable():
    return {[1]: 2}


@case()
def dict_mixed_values():
    return {"a": 1, "b": "c"}


@case({"a": 1})
def dict_iterate_change(d: Dict[str, int]):
    s = 0
    for k, v in d.items():
        s += v
    return s


@case(3)
def tuple_make(n: int):
    x = (n,)
    y = ()
    return x + (1, 2), y, x == (3,), (1, 2) < (1, 3) if False else True, tuple([n, n]) if False else x


@case((1, 2))
def tuple_variadic(x: Tuple[int, int]):
    s = 0
    for i in x:
        s += i
    return s, x == (1, 2), len(x)


@case()
def tuple_empty_annotation(x: Tuple[()]):
    return x


@case(2)
def list_builtin_spelling(n: int) -> list[int]:
    x: list[int] = [n]
    d: dict[str, int] = {"a": n}
    p: tuple[int, str] = (n, "a")
    return x


@case(2)
def list_bare(x: list):
    return x


# --- annotations
@case(2)
def type_comment(a, b=3):
    # type: (int, int) -> int
    return a + b


@case(t(2))
def type_comment_lines(
    a,  # type: torch.Tensor
    b=2,  # type: int
):
    # type: (...) -> torch.Tensor
    return a * b


@case(2)
def type_comment_wrong(a, b):
    # type: (int) -> int
    return a


@case(2)
def type_comment_ignored(a: int):
    b = a  # type: ignore
    return b


@case(2)
def variable_type_comment(a: int):
    b = []  # type: List[int]
    b.append(a)
    return b


@case(2)
def annotated_string(a: "int") -> "int":
    return a


@case(2)
def annotation_torch(a: "torch.Tensor"):
    return a


@case(2)
def annotation_of_value(a: 3):
    return a


@case(2)
def annotation_unknown(a: List):
    return a


@case(2)
def annotation_set(a: "Set[int]"):
    return a


@case(2)
def annotate_function(n: int):
    x = torch.jit.annotate(Optional[int], n)
    y = torch.jit.annotate(List[Tuple[int, str]], [])
    z = torch.jit.annotate(Dict[str, List[int]], {})
    return x, y, z


@case(2)
def annotate_wrong(n: int):
    return torch.jit.annotate(List[str], [n])


# --- conditions
@case(3, 4)
def chained(a: int, b: int):
    return 0 < a < b <= 4, a < b > 2, a == b != 3


@case(None)
def none_compare(x: Optional[int]):
    return x is None, x is not None, x == None, None is None


@case(3)
def none_result_used(n: int):
    x = print(n)
    return x


@case(3)
def ternary_nested(n: int):
    return 1 if n > 5 else 2 if n > 2 else 3


@case(3)
def ternary_optional(n: int):
    x = n if n > 2 else None
    return x


@case(True)
def short_circuit(b: bool):
    return b or 1 // 0 > 2, not b and 1 // 0 > 2


@case(3)
def and_of_ints(n: int):
    return n and 3


@case("a")
def truth(s: str):
    n = 0
    if s:
        n += 1
    if not "":
        n += 1
    if [1]:
        n += 1
    if 0.0:
        n += 100
    return n


@case(t(2, 2))
def truth_of_several(x):
    if x:
        return 1
    return 0


@case({"a": 1})
def truth_of_dict(d: Dict[str, int]):
    if d:
        return 1
    return 0


@case(3)
def if_defines_one_side(n: int):
    if n > 2:
        y = 1
        z = 2
    else:
        y = 3
    return y + z


@case(3)
def if_raise_other(n: int):
    if n > 5:
        raise RuntimeError("big")
    elif n > 2:
        y = 1
    else:
        y = 2
    return y


# --- exceptions
@case(3)
def raise_class(n: int):
    if n > 2:
        raise ValueError
    return n


@case(3)
def raise_several(n: int):
    if n > 2:
        raise KeyError("a", n)
    return n


@case(3)
def raise_formatted(n: int):
    raise RuntimeError(f"n is {n}")


@case(3)
def raise_string(n: int):
    raise "text"


class OwnError(Exception):
    pass


@case(3)
def raise_own(n: int):
    raise OwnError("own")


@case(3)
def raise_from(n: int):
    raise ValueError("a") from None


@case(3)
def assert_message(n: int):
    assert n > 5, f"n is {n}"
    return n


@case(3)
def assert_plain(n: int):
    assert n > 5
    return n


@case(3)
def assert_isinstance(x: Union[int, str]):
    assert isinstance(x, int)
    return x + 1


@case(t(2), t(3))
def operator_fails(x, y):
    return x + y


def fails_inside(x, y):
    return torch.matmul(x, y)


@case(t(2), t(3))
def operator_fails_in_callee(x, y):
    z = x + 1
    return fails_inside(z, y)


# --- values from Python
@program
def call_with_wrong_type():
    return torch.jit.script(global_number)("a")


@program
def call_with_too_many():
    return torch.jit.script(global_number)(1, 2)


@program
def call_with_too_few():
    return torch.jit.script(global_number)()


@program
def call_with_unknown_name():
    return torch.jit.script(global_number)(1, zzz=2)


@program
def call_by_name():
    return torch.jit.script(global_number)(n=2)


@program
def call_with_float_for_int():
    return torch.jit.script(global_number)(2.5)


@program
def call_with_bool_for_int():
    return torch.jit.script(global_number)(True)


@program
def call_with_int_for_float():
    return torch.jit.script(math_functions_of)(2)


def math_functions_of(x: float):
    return x * 2


@program
def script_a_lambda():
    return torch.jit.script(lambda x: x + 1)


@program
def script_a_builtin():
    return torch.jit.script(len)


@program
def script_a_number():
    return torch.jit.script(3)


@program
def script_exec():
    scope = {"torch": torch}
    exec("def f(x):\n    return x + 1\n", scope)
    return torch.jit.script(scope["f"])


def decorated(f):
    def wrapper(x):
        return f(x) + 1

    return wrapper


@decorated
def hidden_by_decorator(x):
    return x * 2


@program
def script_decorated():
    return torch.jit.script(hidden_by_decorator)(torch.ones(2))


@program
def script_closure():
    k = 5

    def f(x: int):
        return x + k

    return torch.jit.script(f)(1)


@program
def script_twice_same():
    a = torch.jit.script(squares)
    return a is torch.jit.script(squares), torch.jit.script(a) is a, a.name, a.qualified_name


@program
def define_text():
    cu = torch.jit.CompilationUnit("def f(x, n: int = 2):\n    return x * n\ndef g(x):\n    return f(x) + 1\n")
    return cu.f(torch.ones(2)), cu.g(torch.ones(2))


@program
def define_text_wrong():
    return torch.jit.CompilationUnit("def f(x):\n    return x +\n")


@program
def define_text_twice():
    cu = torch.jit.CompilationUnit("def f(x):\n    return x\n")
    cu.define("def f(x):\n    return x\n")


@program
def define_text_calls_torch():
    cu = torch.jit.CompilationUnit()
    cu.define("def f(x: Tensor) -> Tuple[Tensor, int]:\n    y = torch.relu(x)\n    return (y, torch.size(y, 0))\n")
    return cu.f(torch.ones(2)), str(cu.f.schema)
