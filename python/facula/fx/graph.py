# SPDX-License-Identifier: Apache-2.0
"""A graph: nodes in the order they run, and the Python code that they stand for."""

import builtins
import dataclasses
import enum
import keyword
import math
import re

import facula
from facula import _C
from facula._ops import _Packet
from facula.fx import _pytree as fx_pytree
from facula.fx.node import Node, _get_qualified_name, _type_repr, map_arg
from facula.utils import _pytree as pytree

__all__ = ["PythonCode", "CodeGen", "Graph"]

magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}", "pos": "+{}", "neg": "-{}",
    "invert": "~{}", "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}", "mod": "{} % {}",
    "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
inplace_methods = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}", "imul": "{} *= {}",
    "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}", "isub": "{} -= {}", "itruediv": "{} /= {}",
    "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip
# Names that generated code may use without importing them.
_BUILTINS = {"inf": math.inf, "nan": math.nan, "NoneType": type(None), "torch": facula, "device": facula.device, "fx_pytree": fx_pytree, "pytree": pytree}


@dataclasses.dataclass
class PythonCode:
    """Source text and the objects that its global names stand for."""

    src: str
    globals: dict


def _snake_case(s):
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", s).lower()


class _Namespace:
    """Names that are taken, so that each new one is a name of its own and hides no builtin."""

    def __init__(self):
        self._obj_to_name: dict = {}
        self._used_names: set = set()
        self._count: dict = {}

    def create_name(self, candidate, obj):
        """A free name like the candidate. The same object keeps its name."""
        if obj is not None and id(obj) in self._obj_to_name:
            return self._obj_to_name[id(obj)][0]
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.match(r"(.*)_(\d+)$", candidate)
        base, number = (match[1], int(match[2])) if match else (candidate, None)
        if match:
            candidate = f"{base}_{number}"
        number = number or self._count.get(base, 0)
        while candidate in self._used_names or self._is_illegal(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._count[base] = number
        self._used_names.add(candidate)
        if obj is not None:
            self._obj_to_name[id(obj)] = (candidate, obj)  # the object is kept: its id must not go to another
        return candidate

    @staticmethod
    def _is_illegal(name, obj):
        if keyword.iskeyword(name):
            return True
        if name in builtins.__dict__:
            return obj is not builtins.__dict__[name]
        return name in _BUILTINS and obj is not _BUILTINS[name]

    def associate_name_with_obj(self, name, obj):
        self._obj_to_name[id(obj)] = (name, obj)


def _format_target(base, target):
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


def _is_from_torch(obj):
    module = getattr(obj, "__module__", None) or getattr(type(obj), "__module__", "")
    return module.split(".")[0] in ("facula", "torch") or isinstance(obj, (_C.Function, _C.Method, _C.Operator, _Packet))


class CodeGen:
    """Writes a graph as a Python function; a subclass may write its first lines otherwise."""

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        if not free_vars or free_vars[0] != "self":
            free_vars = ["self", *free_vars]
        return f"def forward({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args):
        return f"return {output_args}"

    def process_inputs(self, *args):
        return args

    def process_outputs(self, outputs):
        return outputs

    def additional_globals(self):
        return []

    def _gen_python_code(self, nodes, root_module, namespace):
        free_vars, body, wrapped = [], [], {}
        found: dict = {}
        returns = [""]

        def add_global(hint, obj):
            if _is_from_torch(obj) and obj is not facula.device and hint.split(".")[0] == "torch":
                found["torch"] = facula
                return hint
            if hint in builtins.__dict__ and builtins.__dict__[hint] is obj:
                return hint
            name = namespace.create_name(hint.replace(".", "_"), obj)
            found.setdefault(name, obj)
            return name

        for name, value in self.additional_globals():
            add_global(name, value)

        def type_text(kind):
            text = _type_repr(kind)
            return add_global(text, kind)

        def text(arg):
            if isinstance(arg, tuple) and hasattr(arg, "_fields"):
                return f"{add_global(_get_qualified_name(type(arg)), type(arg))}{'(' + ', '.join(map(text, arg)) + ')'}"
            if isinstance(arg, facula.Size):
                return f"torch.Size({text(list(arg))})"
            if isinstance(arg, (_C.Operator, _Packet)):
                return add_global(_get_qualified_name(arg), arg)
            if isinstance(arg, enum.Enum):
                return f"{add_global(_get_qualified_name(type(arg)), type(arg))}.{arg.name}"
            if isinstance(arg, Node):
                return repr(arg)
            if isinstance(arg, facula.device):
                return f"{add_global('device', facula.device)}(type={arg.type!r}{'' if arg.index is None else f', index={arg.index}'})"
            if isinstance(arg, (facula.dtype, facula.layout, facula.memory_format)):
                return add_global(repr(arg), arg) if repr(arg).startswith("torch.") else repr(arg)
            if isinstance(arg, tuple):
                return f"({', '.join(map(text, arg))}{',' if len(arg) == 1 else ''})"
            if isinstance(arg, list):
                return f"[{', '.join(map(text, arg))}]"
            if isinstance(arg, dict):
                return "{" + ", ".join(f"{k!r}: {text(v)}" for k, v in arg.items()) + "}"
            if isinstance(arg, slice):
                return f"slice({text(arg.start)}, {text(arg.stop)}, {text(arg.step)})"
            if isinstance(arg, float) and not math.isfinite(arg):
                add_global("nan" if math.isnan(arg) else "inf", _BUILTINS["nan" if math.isnan(arg) else "inf"])
            if isinstance(arg, type):
                return type_text(arg)
            return repr(arg)

        def call(args, kwargs):
            return ", ".join([*map(text, args), *(f"{k} = {text(v)}" for k, v in kwargs.items())])

        last_use: dict = {}
        frees: dict = {}
        for node in reversed(nodes):
            for used in node._input_nodes:
                if used not in last_use:
                    last_use[used] = node
                    frees.setdefault(node, []).append(used)

        def end(node):
            """Frees what nobody needs after this node."""
            if node.op == "placeholder":
                return
            if node.op == "output":
                body.append("\n")
                return
            free = frees.get(node, [])
            free = [*free, node] if not node.users else free
            body.append(f";  {' = '.join([*map(repr, free), 'None'])}\n" if free else "\n")

        def emit(node):
            kind = "" if node.type is None else f" : {type_text(node.type)}"
            if node.op == "placeholder":
                free_vars.append(f"{node.target}{kind}{f' = {text(node.args[0])}' if node.args else ''}")
                name = node.target.replace("*", "")
                if name != repr(node):
                    body.append(f"{node!r} = {name}\n")
            elif node.op == "call_method":
                body.append(f"{node!r}{kind} = {_format_target(text(node.args[0]), node.target)}({call(node.args[1:], node.kwargs)})")
            elif node.op == "call_function":
                module, function = getattr(node.target, "__module__", None), getattr(node.target, "__name__", "")
                if module == "_operator" and function in magic_methods and not node.kwargs:
                    body.append(f"{node!r}{kind} = {magic_methods[function].format(*map(text, node.args))}")
                    return
                if module == "_operator" and function in inplace_methods and not node.kwargs:
                    body.append(f"{inplace_methods[function].format(*map(text, node.args))};  {node!r}{kind} = {text(node.args[0])}")
                    return
                if node.target is getattr and len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
                    body.append(f"{node!r}{kind} = {_format_target(text(node.args[0]), node.args[1])}")
                    return
                name = add_global(_get_qualified_name(node.target), node.target)
                body.append(f"{node!r}{kind} = {name}({call(node.args, node.kwargs)})")
                if node.meta.get("is_wrapped", False):
                    wrapped.setdefault(name)
            elif node.op == "call_module":
                body.append(f"{node!r}{kind} = {_format_target(root_module, node.target)}({call(node.args, node.kwargs)})")
            elif node.op == "get_attr":
                body.append(f"{node!r}{kind} = {_format_target(root_module, node.target)}")
            elif node.op == "output":
                if node.type is not None:
                    returns[0] = f" -> {type_text(node.type)}"
                body.append(self.generate_output(text(node.args[0])))

        for node in nodes:
            emit(node)
            end(node)
        if not body:
            body.append("pass\n")
        found["torch"] = facula  # annotations and wrap statements may name it
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in wrapped)
        lines = "\n".join("    " + line for line in "".join(body).split("\n"))
        return PythonCode(f"\n{wraps}\n\n{self.gen_fn_def(free_vars, returns[0])}\n{lines}", found)


class _NodeList:
    """The nodes in order; a graph may be changed while it is walked."""

    def __init__(self, graph, direction="_next"):
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        root, node = self.graph._root, getattr(self.graph._root, self.direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self):
        return _NodeList(self.graph, "_prev" if self.direction == "_next" else "_next")


class _InsertPoint:
    def __init__(self, graph, insert):
        self.graph, self.before, graph._insert = graph, graph._insert, insert

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.graph._insert = self.before


class Graph:
    """Calls in the order they run: placeholders, then calls of functions, methods and modules, then one output."""

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self):
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module):
        self._owning_module = module

    @property
    def nodes(self):
        return _NodeList(self)

    def output_node(self):
        node = next(iter(reversed(self.nodes)))
        if node.op != "output":
            raise AssertionError(f"Expected output op, got {node.op}")
        return node

    def find_nodes(self, *, op, target=None, sort=True):
        """Nodes of a kind, and of a target where one is given."""
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """A node at the place of insertion; the end, unless inserting_before or inserting_after says otherwise."""
        candidate = name if name is not None else self._target_to_str(target)
        node = Node(self, self._graph_namespace.create_name(candidate, None), op, target, () if args is None else args, {} if kwargs is None else kwargs, type_expr)
        if self.owning_module is not None:
            for hook in getattr(self.owning_module, "_create_node_hooks", ()):
                hook(node)
        self._graph_namespace.associate_name_with_obj(node.name, node)
        self._insert(node)
        self._len += 1
        return node

    def process_inputs(self, *args):
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        return self._codegen.process_outputs(out)

    def erase_node(self, to_erase):
        """Takes a node out that nobody uses."""
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._unlink()
        to_erase._erased = True
        self._len -= 1
        to_erase._set_arguments((), {})

    def inserting_before(self, n=None):
        """From here on, or in a `with`, new nodes go before n; before all others without one."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n=None):
        """From here on, or in a `with`, new nodes go behind n; behind all others without one."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    def placeholder(self, name, type_expr=None, default_value=...):
        """An input. default_value: what it is if the caller gives none."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """A parameter, buffer or other attribute of the module."""
        module = self.owning_module
        if module is not None and not _has_attribute(module, qualified_name):
            import warnings

            warnings.warn(f"Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule: '{qualified_name}'", stacklevel=2)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A call of a submodule."""
        if self.owning_module is not None and not _has_attribute(self.owning_module, module_name):
            import warnings

            warnings.warn(f"Attempted to insert a call_module Node with no underlying reference in the owning GraphModule: '{module_name}'", stacklevel=2)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """What the graph returns."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def node_copy(self, node, arg_transform=lambda x: x):
        """A copy of another graph's node, its arguments mapped by arg_transform."""
        copied = self.create_node(node.op, node.target, map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform), node.name, node.type)
        copied.meta = dict(node.meta)
        return copied

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copies the nodes of g into this graph; returns what g returns, in this graph's nodes."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return result if not return_output_node else (result, node)
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo=None):
        g = Graph(tracer_cls=self._tracer_cls)
        val_map: dict = {}
        for node in self.nodes:
            val_map[node] = g.node_copy(node, lambda n: val_map[n])
        g._codegen = self._codegen
        return g

    def _target_to_str(self, target):
        name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
        if name.startswith("__") and name.endswith("__") and len(name) > 4:
            name = name[2:-2]
        return _snake_case(name)

    def python_code(self, root_module, *, verbose=False, include_stride=False, include_device=False, colored=False, expanded_def=False, record_func=False, additional_meta=None):
        """The graph as the source of a function `forward` and its globals; root_module names the module in it."""
        namespace = _Namespace()
        names: dict = {}

        def name_of(node):
            if node not in names:
                names[node] = namespace.create_name(node.name, node)
            return names[node]

        nodes = list(self.nodes)
        before = {n: n._repr_fn for n in nodes}
        try:
            for node in nodes:
                node._repr_fn = name_of
            return self._codegen._gen_python_code(nodes, root_module, namespace)
        finally:
            for node, fn in before.items():
                node._repr_fn = fn

    def __str__(self):
        return "\n    ".join(["graph():", *(n.format_node() for n in self.nodes)])

    def print_tabular(self):
        """The nodes as a table."""
        rows = [["opcode", "name", "target", "args", "kwargs"], *([n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in self.nodes)]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, ["-" * w for w in widths])
        print("\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows))

    def lint(self):
        """Raises RuntimeError where the graph is not well formed."""
        seen, names = set(), set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node._input_nodes:
                if used.graph is not self:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values")
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check that Nodes in the graph are topologically ordered\n{self}")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("call_module", "get_attr") and not _has_attribute(self.owning_module, node.target):
                raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {node.target} of the owning module")

    def eliminate_dead_code(self, is_impure_node=None):
        """Takes out what nobody uses; returns whether there was any."""
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            impure = node.is_impure() if is_impure_node is None else is_impure_node(node)
            if not impure and not node.users:
                self.erase_node(node)
                changed = True
        return changed

    def set_codegen(self, codegen):
        self._codegen = codegen


def _has_attribute(module, path):
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True
