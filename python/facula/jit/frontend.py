# SPDX-License-Identifier: Apache-2.0
"""torch.jit.frontend: a function's source, read by Python's own parser, as the tree that the compiler takes.

`get_jit_def(fn, name)` finds the source of a function and gives its tree; `build_def`, `build_param_list`, `build_stmts`
and `build_expr` make the parts. What TorchScript has no form for is a NotSupportedError that shows the place.
"""

import ast
import contextlib
import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from facula import _C
from facula._C import _jit_tree_views as views
from facula._C._jit_tree_views import (
    Apply, Assert, Assign, Attribute, AugAssign, BinOp, Break, ClassDef, Const, Continue, Decl, Def, Delete, DictComp, DictLiteral, Dots, EmptyTypeAnnotation, ExprStmt,
    FalseLiteral, For, Ident, If, ListComp, ListLiteral, NoneLiteral, Param, Pass, Property, Raise, Return, Select, SliceExpr, Starred, Stmt, StringLiteral, Subscript,
    TernaryIf, TrueLiteral, TupleLiteral, UnaryOp, Var, While, With, WithItem,
)  # fmt: skip
from facula._C._jit_tree_views import SourceRange, SourceRangeFactory

_reserved_prefix = "__jit"
_node_names = {
    ast.FunctionDef: "function definitions", ast.For: "for loops", ast.Delete: "del statements", ast.ClassDef: "class definitions", ast.With: "with statements",
    ast.Raise: "raise statements", ast.Assert: "assertions", ast.Import: "import statements", ast.ImportFrom: "import statements", ast.Global: "global variables",
    ast.Break: "break statements", ast.Continue: "continue statements", ast.AsyncFunctionDef: "async function definitions", ast.AsyncFor: "async for loops",
    ast.AsyncWith: "async with statements", ast.Try: "try blocks", ast.Nonlocal: "nonlocal variables", ast.AnnAssign: "annotated assignments",
}  # fmt: skip
_node_starts = {
    ast.FunctionDef: "def", ast.For: "for", ast.Delete: "del", ast.ClassDef: "class", ast.With: "with", ast.Raise: "raise", ast.Assert: "assert", ast.Import: "import",
    ast.ImportFrom: "from", ast.Global: "global", ast.Break: "break", ast.Continue: "continue", ast.AsyncFunctionDef: "async def", ast.AsyncFor: "async for",
    ast.AsyncWith: "async with", ast.Try: "try", ast.Nonlocal: "nonlocal",
}  # fmt: skip
_binary = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.Mod: "%", ast.FloorDiv: "//", ast.BitAnd: "&", ast.BitXor: "^", ast.BitOr: "|",
    ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
}  # fmt: skip
_augmented = {kind: _binary[kind] for kind in (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod, ast.BitOr, ast.BitAnd, ast.BitXor, ast.LShift, ast.RShift, ast.Pow)}
_unary = {ast.Not: "not", ast.USub: "-", ast.Invert: "~"}
_boolean = {ast.And: "and", ast.Or: "or"}
_comparison = {
    ast.Eq: "==", ast.NotEq: "!=", ast.LtE: "<=", ast.Lt: "<", ast.GtE: ">=", ast.Gt: ">", ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "in",
}  # fmt: skip


class FrontendError(Exception):
    """A source that is no TorchScript, with the place."""

    def __init__(self, source_range: SourceRange, msg: str) -> None:
        super().__init__(source_range, msg)
        self.source_range = source_range
        self.msg = msg
        self.error_report = _C.ErrorReport(source_range)  # now: later nothing is being compiled

    def __str__(self) -> str:
        return self.msg + self.error_report.what().lstrip()


class NotSupportedError(FrontendError):
    """What Python has and TorchScript has not."""


class UnsupportedNodeError(NotSupportedError):
    """A kind of statement or expression that TorchScript has not."""

    def __init__(self, ctx: "SourceContext", node: ast.AST, reason: str = "") -> None:
        kind = type(node)
        column = getattr(node, "col_offset", 0)
        place = ctx.make_range(getattr(node, "lineno", 1), column, column + len(_node_starts.get(kind, " ")))
        super().__init__(place, f"{_node_names.get(kind, kind.__name__)} {reason + ' ' if reason else ''}aren't supported")


class FrontendTypeError(FrontendError):
    """A type that TorchScript has not."""


class SourceContext(SourceRangeFactory):
    """Makes places of one source."""

    def __init__(self, source: str, filename: str | None, file_lineno: int, leading_whitespace_len: int, uses_true_division: bool = True, funcname: str | None = None) -> None:
        super().__init__(source, filename, file_lineno, leading_whitespace_len)
        self.uses_true_division = uses_true_division
        self.filename = filename
        self.funcname = funcname


@dataclasses.dataclass
class ParsedDef:
    """A source as Python reads it."""

    ast: ast.Module
    ctx: SourceContext
    source: str
    filename: str | None
    file_lineno: int


def get_source_lines_and_file(obj: Any, error_msg: str | None = None) -> tuple[list[str], int, str | None]:
    """The lines of an object's source, the number of the first, and the file."""
    filename = None
    try:
        filename = inspect.getsourcefile(obj)
        lines, number = inspect.getsourcelines(obj)
    except OSError as error:
        text = f"Can't get source for {obj}. TorchScript requires source access in order to carry out compilation, make sure original .py files are available."
        raise OSError(f"{text}\n{error_msg}" if error_msg else text) from error
    return lines, number, filename


@functools.cache
def parse_def(fn: Any) -> ParsedDef:
    """A function's source, parsed."""
    lines, number, filename = get_source_lines_and_file(fn, _C.ErrorReport.call_stack())
    source = "".join(lines)
    dedented = textwrap.dedent(_without_stray_comments(lines))
    tree = ast.parse(dedented)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise RuntimeError(f"Expected a single top-level function: {filename}:{number}")
    leading = len(source.split("\n", 1)[0]) - len(dedented.split("\n", 1)[0])
    return ParsedDef(tree, SourceContext(source, filename, number, leading, True, fn.__name__), source, filename, number)


def _without_stray_comments(lines: list[str]) -> str:
    # A comment may stand further left than the function, and tell dedent a wrong indentation.
    margin = len(lines[0]) - len(lines[0].lstrip(" \t"))
    return "".join(" " * margin + line.lstrip(" \t") if margin and line.lstrip().startswith("#") and len(line) - len(line.lstrip(" \t")) < margin else line for line in lines)


def get_type_line(source: str) -> str | None:
    """The `# type: (int) -> Tensor` that a source says, joined to one line; None: none."""
    from facula.jit.annotations import get_type_line as find

    return find(source)


def get_jit_def(fn: Callable, def_name: str, self_name: str | None = None, is_classmethod: bool = False) -> Def:
    """The tree of a function. self_name: of a method, what its class is called."""
    parsed = parse_def(fn if not is_classmethod else fn.__func__)
    type_line = get_type_line(parsed.source)
    node = parsed.ast.body[0]
    assert isinstance(node, ast.FunctionDef)
    if is_classmethod:
        name = node.args.args[0].arg
        fn = fn.__func__
        statement = ast.parse(f"{name} = {self_name}").body[0]
        for part in ast.walk(statement):
            if hasattr(part, "lineno"):
                part.lineno, part.col_offset = node.lineno, node.col_offset
        node = ast.FunctionDef(**{**{f: getattr(node, f) for f in node._fields}, "args": ast.arguments(**{f: getattr(node.args, f) for f in node.args._fields})}, lineno=node.lineno, col_offset=node.col_offset)  # fmt: skip
        node.body = [statement, *node.body]
        node.args.args = node.args.args[1:]
    if is_dropped(fn):
        # Only its signature counts: the body is never run, and may be no TorchScript.
        unused = ast.parse('def unused_fn(self: Any):\n    raise RuntimeError("Cannot call @unused methods")').body[0]
        assert isinstance(unused, ast.FunctionDef)
        node = ast.FunctionDef(name=node.name, args=ast.arguments(**{f: getattr(node.args, f) for f in node.args._fields}), body=unused.body, decorator_list=[], returns=node.returns, type_comment=None, lineno=node.lineno, col_offset=node.col_offset)  # fmt: skip
        for part in ast.walk(ast.Module(body=node.body, type_ignores=[])):
            if hasattr(part, "lineno"):
                part.lineno, part.col_offset = node.lineno, node.col_offset
        node.args.vararg = node.args.kwarg = None
    return build_def(parsed.ctx, node, type_line, def_name, self_name)


def is_dropped(fn: Any) -> bool:
    """Whether `torch.jit.unused` marks it."""
    return getattr(fn, "_torchscript_modifier", None) in ("unused (ignored and replaced with raising of an exception)", "unused-drop")


def get_jit_class_def(cls: type, self_name: str) -> ClassDef:
    """The tree of a class: its methods and properties."""
    methods = {name: item for name, item in inspect.getmembers(cls, predicate=lambda m: inspect.isfunction(m) or inspect.ismethod(m)) if not name.startswith("__subclass") and name in cls.__dict__ and not is_static(cls, name)}  # fmt: skip
    found = [get_jit_def(m, name, self_name, is_classmethod=inspect.ismethod(m)) for name, m in methods.items()]
    properties = get_class_properties(cls, self_name)
    lines, number, filename = get_source_lines_and_file(cls, _C.ErrorReport.call_stack())
    source = "".join(lines)
    dedented = textwrap.dedent(source)
    node = ast.parse(dedented).body[0]
    leading = len(source.split("\n", 1)[0]) - len(dedented.split("\n", 1)[0])
    ctx = SourceContext(source, filename, number, leading)
    assert isinstance(node, ast.ClassDef)
    return build_class_def(ctx, node, found, properties, self_name, get_class_assigns(ctx, node))


def is_static(cls: type, name: str) -> bool:
    """Whether a class has a static method of this name."""
    return isinstance(inspect.getattr_static(cls, name, None), staticmethod)


def get_class_properties(cls: type, self_name: str) -> list[Property]:
    """The trees of a class's properties, but for those in `__jit_unused_properties__`."""
    unused = getattr(cls, "__jit_unused_properties__", [])
    out = []
    for name, item in inspect.getmembers(cls, predicate=lambda m: isinstance(m, property)):
        if name in unused or is_dropped(item.fget):
            continue
        getter = get_jit_def(item.fget, f"__{name}_getter", self_name=self_name)
        setter = get_jit_def(item.fset, f"__{name}_setter", self_name=self_name) if item.fset else None
        out.append(Property(getter.range(), Ident(getter.range(), name), getter, setter))
    return out


def get_class_assigns(ctx: SourceContext, node: ast.ClassDef) -> list[Assign]:
    """What stands assigned in the body of a class."""
    out = []
    for statement in node.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            with contextlib.suppress(NotSupportedError):  # methods do not see it
                out.append(build_stmt(ctx, statement))
    return out


def build_class_def(ctx: SourceContext, py_def: ast.ClassDef, methods: list[Def], properties: list[Property], self_name: str, assigns: list[Assign]) -> ClassDef:
    """The tree of a class of these parts."""
    place = ctx.make_range(py_def.lineno, py_def.col_offset, py_def.col_offset + len("class"))
    return ClassDef(Ident(place, self_name), [Stmt(m) for m in methods], properties, assigns)


def get_default_args(fn: Callable | None) -> dict[str, Any]:
    """The values of parameters that have one."""
    if fn is None:
        return {}
    return {name: p.default for name, p in inspect.signature(fn).parameters.items() if p.default is not inspect.Parameter.empty}


def get_default_args_for_class(cls: type) -> dict[str, dict[str, Any]]:
    """The same of all methods of a class."""
    methods = inspect.getmembers(cls, predicate=lambda m: (inspect.ismethod(m) or inspect.isfunction(m)) and not is_static(cls, m.__name__) and m.__name__ in cls.__dict__)
    return {name: get_default_args(m) for name, m in methods}


def build_def(ctx: SourceContext, py_def: ast.FunctionDef, type_line: str | None, def_name: str, self_name: str | None = None) -> Def:
    """The tree of a function."""
    place = ctx.make_range(py_def.lineno, py_def.col_offset, py_def.col_offset + len("def"))
    decl = Decl(place, build_param_list(ctx, py_def.args, self_name), build_expr(ctx, py_def.returns) if py_def.returns is not None else None)
    if type_line is not None:
        decl = _C.merge_type_from_type_comment(decl, _C.parse_type_comment(type_line), self_name is not None)
    return Def(Ident(place, def_name), decl, build_stmts(ctx, py_def.body))


_variable_arguments = "Compiled functions can't take variable number of arguments or use keyword-only arguments with defaults"


def build_param_list(ctx: SourceContext, py_args: ast.arguments, self_name: str | None) -> list[Param]:
    """The trees of a function's parameters."""
    for extra in (py_args.kwarg, py_args.vararg):
        if extra is not None:
            raise NotSupportedError(ctx.make_range(extra.lineno, extra.col_offset - 1, extra.col_offset + len(extra.arg)), _variable_arguments)
    for default in py_args.kw_defaults:
        if default is not None:
            raise NotSupportedError(build_expr(ctx, default).range(), _variable_arguments)
    return [build_param(ctx, arg, self_name, False) for arg in [*py_args.posonlyargs, *py_args.args]] + [build_param(ctx, arg, self_name, True) for arg in py_args.kwonlyargs]


def build_param(ctx: SourceContext, py_arg: ast.arg, self_name: str | None, kwarg_only: bool) -> Param:
    """The tree of one parameter."""
    name = py_arg.arg
    place = ctx.make_range(py_arg.lineno, py_arg.col_offset, py_arg.col_offset + len(name.encode()))
    if py_arg.annotation is not None:
        annotation = build_expr(ctx, py_arg.annotation)
    elif self_name is not None and name == "self":
        annotation = Var(Ident(place, self_name))
    else:
        annotation = EmptyTypeAnnotation(place)
    return Param(annotation, Ident(place, name), kwarg_only)


def build_stmts(ctx: SourceContext, stmts: list[ast.stmt]) -> list[Stmt]:
    """The trees of statements."""
    return [build_stmt(ctx, s) for s in stmts]


def build_stmt(ctx: SourceContext, stmt: ast.stmt) -> Stmt:
    """The tree of one statement."""
    build = _statements.get(type(stmt))
    if build is None:
        raise UnsupportedNodeError(ctx, stmt)
    return build(ctx, stmt)


def build_expr(ctx: SourceContext, expr: ast.expr) -> "views.Expr":
    """The tree of an expression."""
    build = _expressions.get(type(expr))
    if build is None:
        raise UnsupportedNodeError(ctx, expr)
    return build(ctx, expr)


def _at(ctx: SourceContext, node: Any, length: int) -> SourceRange:
    return ctx.make_range(node.lineno, node.col_offset, node.col_offset + length)


# --- statements
def _expr_stmt(ctx: SourceContext, s: ast.Expr) -> Stmt:
    return ExprStmt(build_expr(ctx, s.value))


def _assign(ctx: SourceContext, s: ast.Assign) -> Stmt:
    rhs = build_expr(ctx, s.value)
    return Assign([build_expr(ctx, target) for target in s.targets], rhs)


def _ann_assign(ctx: SourceContext, s: ast.AnnAssign) -> Stmt:
    if s.value is None:
        raise UnsupportedNodeError(ctx, s, reason="without assigned value")
    if isinstance(s.target, ast.Attribute) and getattr(s.target.value, "id", None) == "self" and ctx.funcname not in (None, "__init__"):
        where = f"{ctx.filename}:{s.lineno}"
        raise ValueError(
            f"Type annotations on instance attributes must be declared in __init__, not '{ctx.funcname}': self.{s.target.attr}\nAt {where}; annotate it there, and assign it here without a type"
        )
    rhs = build_expr(ctx, s.value)
    return Assign([build_expr(ctx, s.target)], rhs, build_expr(ctx, s.annotation))


def _aug_assign(ctx: SourceContext, s: ast.AugAssign) -> Stmt:
    lhs, rhs = build_expr(ctx, s.target), build_expr(ctx, s.value)
    sign = _augmented.get(type(s.op))
    if sign is None:
        sign_end = ctx.source.encode().rindex(b"=", 0, rhs.range().start)
        raise NotSupportedError(ctx.make_raw_range(sign_end - 1, sign_end + 1), "unsupported kind of augmented assignment: " + type(s.op).__name__)
    return AugAssign(lhs, sign, rhs)


def _delete(ctx: SourceContext, s: ast.Delete) -> Stmt:
    return Delete(_at(ctx, s, len("del")), [build_expr(ctx, target) for target in s.targets])


def _return(ctx: SourceContext, s: ast.Return) -> Stmt:
    return Return(_at(ctx, s, len("return")), None if s.value is None else build_expr(ctx, s.value))


def _raise(ctx: SourceContext, s: ast.Raise) -> Stmt:
    if s.exc is None:
        raise NotSupportedError(_at(ctx, s, len("raise")), "raise statements without an exception aren't supported")
    return Raise(_at(ctx, s, len("raise")), build_expr(ctx, s.exc))


def _assert(ctx: SourceContext, s: ast.Assert) -> Stmt:
    return Assert(_at(ctx, s, len("assert")), build_expr(ctx, s.test), build_expr(ctx, s.msg) if s.msg is not None else None)


def _while(ctx: SourceContext, s: ast.While) -> Stmt:
    if s.orelse:
        raise NotSupportedError(_at(ctx, s, len("while")), "else branches of while loops aren't supported")
    return While(_at(ctx, s, len("while")), build_expr(ctx, s.test), build_stmts(ctx, s.body))


def _for(ctx: SourceContext, s: ast.For) -> Stmt:
    place = _at(ctx, s, len("for"))
    if s.orelse:
        raise NotSupportedError(place, "else branches of for loops aren't supported")
    return For(place, [build_expr(ctx, s.target)], [build_expr(ctx, s.iter)], build_stmts(ctx, s.body))


def _if(ctx: SourceContext, s: ast.If) -> Stmt:
    return If(_at(ctx, s, len("if")), build_expr(ctx, s.test), build_stmts(ctx, s.body), build_stmts(ctx, s.orelse))


def _with(ctx: SourceContext, s: ast.With) -> Stmt:
    place = _at(ctx, s, len("with"))
    items = []
    for item in s.items:
        target = build_expr(ctx, item.context_expr)
        items.append(WithItem(target.range(), target, build_expr(ctx, item.optional_vars) if item.optional_vars is not None else None))
    return With(place, items, build_stmts(ctx, s.body))


_statements: dict[type, Callable[[SourceContext, Any], Stmt]] = {
    ast.Expr: _expr_stmt, ast.Assign: _assign, ast.AnnAssign: _ann_assign, ast.AugAssign: _aug_assign, ast.Delete: _delete, ast.Return: _return, ast.Raise: _raise,
    ast.Assert: _assert, ast.While: _while, ast.For: _for, ast.If: _if, ast.With: _with,
    ast.Pass: lambda ctx, s: Pass(_at(ctx, s, len("pass"))),
    ast.Break: lambda ctx, s: Break(_at(ctx, s, len("break"))),
    ast.Continue: lambda ctx, s: Continue(_at(ctx, s, len("continue"))),
}  # fmt: skip


# --- expressions
def _attribute(ctx: SourceContext, e: ast.Attribute) -> "views.Expr":
    base = build_expr(ctx, e.value)
    start = base.range().end + 1  # the name is behind the dot
    return Select(base, Ident(ctx.make_raw_range(start, start + len(e.attr.encode())), e.attr))


def _call(ctx: SourceContext, e: ast.Call) -> "views.Expr":
    func = build_expr(ctx, e.func)
    args = [build_expr(ctx, arg) for arg in e.args]
    named = []
    for keyword in e.keywords:
        value = build_expr(ctx, keyword.value)
        if not keyword.arg:
            raise NotSupportedError(value.range(), "keyword-arg expansion is not supported")
        named.append(Attribute(Ident(value.range(), keyword.arg), value))
    return Apply(func, args, named)


def _name(ctx: SourceContext, e: ast.Name) -> "views.Expr":
    place = _at(ctx, e, len(e.id.encode()))
    if e.id.startswith(_reserved_prefix):
        raise NotSupportedError(place, f"names of variables used in JIT-ed functions can't start with {_reserved_prefix}")
    return Var(Ident(place, e.id))


def _constant(ctx: SourceContext, e: ast.Constant) -> "views.Expr":
    value = e.value
    if value is True or value is False:
        return (TrueLiteral if value else FalseLiteral)(_at(ctx, e, len(str(value))))
    if value is None:
        return NoneLiteral(_at(ctx, e, len("None")))
    if isinstance(value, str):
        return StringLiteral(_at(ctx, e, len(value.encode("utf8", "surrogatepass")) + 1), value)
    if isinstance(value, (int, float, complex)):
        text = str(value)
        return Const(_at(ctx, e, len(text)), text)
    if value is Ellipsis:
        return Dots(_at(ctx, e, 3))
    raise FrontendError(_at(ctx, e, (e.end_col_offset or e.col_offset + 1) - e.col_offset if e.end_lineno == e.lineno else 1), "Unknown Constant expression type")


def _binop(ctx: SourceContext, e: ast.BinOp) -> "views.Expr":
    return BinOp(_binary[type(e.op)], build_expr(ctx, e.left), build_expr(ctx, e.right))


def _unaryop(ctx: SourceContext, e: ast.UnaryOp) -> "views.Expr":
    operand = build_expr(ctx, e.operand)
    sign = _unary.get(type(e.op))
    if sign is None:
        raise NotSupportedError(operand.range(), "unsupported unary operator: " + type(e.op).__name__)
    return UnaryOp(_at(ctx, e, len(sign)), sign, operand)


def _boolop(ctx: SourceContext, e: ast.BoolOp) -> "views.Expr":
    sign = _boolean[type(e.op)]
    out = build_expr(ctx, e.values[0])
    for value in e.values[1:]:
        out = BinOp(sign, out, build_expr(ctx, value))
    return out


def _ifexp(ctx: SourceContext, e: ast.IfExp) -> "views.Expr":
    return TernaryIf(build_expr(ctx, e.test), build_expr(ctx, e.body), build_expr(ctx, e.orelse))


def _compare(ctx: SourceContext, e: ast.Compare) -> "views.Expr":
    operands = [build_expr(ctx, o) for o in [e.left, *e.comparators]]
    result = None
    for lhs, op, rhs in zip(operands, e.ops, operands[1:], strict=False):
        part = BinOp(_comparison[type(op)], lhs, rhs)
        if isinstance(op, ast.NotIn):
            part = UnaryOp(ctx.make_raw_range(lhs.range().end, rhs.range().start), "not", part)
        result = part if result is None else BinOp("and", result, part)
    assert result is not None
    return result


def _slice(ctx: SourceContext, base: "views.Expr", e: ast.Slice) -> "views.Expr":
    part = [build_expr(ctx, p) if p is not None else None for p in (e.lower, e.upper, e.step)]
    return SliceExpr(base.range(), *part)


def _subscript(ctx: SourceContext, e: ast.Subscript) -> "views.Expr":
    base = build_expr(ctx, e.value)
    items = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
    indices = [_slice(ctx, base, i) if isinstance(i, ast.Slice) else build_expr(ctx, i) for i in items]
    if not indices:
        indices = [TupleLiteral(_at(ctx, e.slice, 2), [])]
    return Subscript(base, indices)


def _dict(ctx: SourceContext, e: ast.Dict) -> "views.Expr":
    place = _at(ctx, e, 1)
    if None in e.keys:
        raise NotSupportedError(place, "Dict expansion (e.g. `{**dict}`) is not supported")
    return DictLiteral(place, [build_expr(ctx, k) for k in e.keys if k is not None], [build_expr(ctx, v) for v in e.values])


def _joined(ctx: SourceContext, e: ast.JoinedStr) -> "views.Expr":
    text, args = "", []
    for value in e.values:
        if isinstance(value, ast.FormattedValue):
            place = _at(ctx, value, 1)
            if value.conversion != -1:
                raise NotSupportedError(place, "Don't support conversion in JoinedStr")
            if value.format_spec is not None:
                raise NotSupportedError(place, "Don't support formatting in JoinedStr")
            text += "{}"
            args.append(build_expr(ctx, value.value))
        elif isinstance(value, ast.Constant):
            text += value.value
        else:
            raise NotSupportedError(_at(ctx, value, 1), "Unsupported value in JoinedStr")
    place = _at(ctx, e, 1)
    return Apply(Select(StringLiteral(place, text), Ident(place, "format")), args, [])


def _generator(ctx: SourceContext, e: Any) -> ast.comprehension:
    place = _at(ctx, e, 0)
    if len(e.generators) != 1:
        raise NotSupportedError(place, "Only a single generator is currently supported")
    if e.generators[0].ifs:
        raise NotSupportedError(place, "Comprehension ifs are not supported yet")
    return e.generators[0]


def _list_comp(ctx: SourceContext, e: Any) -> "views.Expr":
    generator = _generator(ctx, e)
    return ListComp(_at(ctx, e, 0), build_expr(ctx, e.elt), build_expr(ctx, generator.target), build_expr(ctx, generator.iter))


def _dict_comp(ctx: SourceContext, e: ast.DictComp) -> "views.Expr":
    generator = _generator(ctx, e)
    return DictComp(_at(ctx, e, 0), build_expr(ctx, e.key), build_expr(ctx, e.value), build_expr(ctx, generator.target), build_expr(ctx, generator.iter))


_expressions: dict[type, Callable[[SourceContext, Any], "views.Expr"]] = {
    ast.Attribute: _attribute, ast.Call: _call, ast.Name: _name, ast.Constant: _constant, ast.BinOp: _binop, ast.UnaryOp: _unaryop, ast.BoolOp: _boolop, ast.IfExp: _ifexp,
    ast.Compare: _compare, ast.Subscript: _subscript, ast.Dict: _dict, ast.JoinedStr: _joined, ast.ListComp: _list_comp, ast.GeneratorExp: _list_comp,
    ast.DictComp: _dict_comp,
    ast.List: lambda ctx, e: ListLiteral(_at(ctx, e, 1), [build_expr(ctx, i) for i in e.elts]),
    ast.Tuple: lambda ctx, e: TupleLiteral(_at(ctx, e, 1), [build_expr(ctx, i) for i in e.elts]),
    ast.Starred: lambda ctx, e: Starred(_at(ctx, e, 1), build_expr(ctx, e.value)),
}  # fmt: skip
