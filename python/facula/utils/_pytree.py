# SPDX-License-Identifier: Apache-2.0
"""torch.utils._pytree: nested containers as a list of leaves and a spec that puts them together again.

A container type is a node that says how it comes apart (children and a context) and goes together. Everything that is
no instance of a registered type, None included, is a leaf.
"""

import collections
import dataclasses
import functools
import importlib
import json
import operator
import types
import typing
from collections import OrderedDict, defaultdict, deque, namedtuple

from facula._C import Size

__all__ = [
    "PyTree", "Context", "FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn", "FromDumpableContextFn", "PyTreeSpec",
    "TreeSpec", "LeafSpec", "keystr", "key_get", "register_pytree_node", "tree_is_leaf", "tree_flatten", "tree_flatten_with_path",
    "tree_unflatten", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_structure", "tree_map", "tree_map_with_path", "tree_map_",
    "tree_map_only", "tree_map_only_", "tree_all", "tree_any", "tree_all_only", "tree_any_only", "treespec_dumps", "treespec_loads",
    "treespec_pprint", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class",
    "is_structseq_instance",
]  # fmt: skip

PyTree = Context = DumpableContext = typing.Any
FlattenFn = typing.Callable[[PyTree], tuple[list, Context]]
UnflattenFn = typing.Callable[[typing.Iterable, Context], PyTree]
ToDumpableContextFn = typing.Callable[[Context], DumpableContext]
FromDumpableContextFn = typing.Callable[[DumpableContext], Context]


# --- keys: the way from the root to a leaf ---------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """The i-th of a sequence."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """The value of a key."""

    key: typing.Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """An attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        return getattr(obj, self.name)


KeyEntry = typing.Any
KeyPath = tuple[KeyEntry, ...]


def keystr(kp):
    """The way as it would be written: ['a'][0].b"""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What the way leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# --- nodes -----------------------------------------------------------------------------------------------------------


class NodeDef(typing.NamedTuple):
    """How a type comes apart and goes together."""

    type: type
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: typing.Any = None


class _Serialized(typing.NamedTuple):
    name: str
    to_dumpable: typing.Any
    from_dumpable: typing.Any


SUPPORTED_NODES: dict = {}
SUPPORTED_SERIALIZED_TYPES: dict = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict = {}
CONSTANT_NODES: set = set()


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None, flatten_with_keys_fn=None):
    """Make a type a node. flatten_fn(obj) gives (children, context), unflatten_fn(children, context) the object again.

    The serialized name and the two functions of the context are for treespec_dumps and treespec_loads.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        SUPPORTED_SERIALIZED_TYPES[cls] = _Serialized(serialized_type_name, to_dumpable_context, from_dumpable_context)
        SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


_private_register_pytree_node = register_pytree_node


def _register_pytree_node(cls, flatten_fn, unflatten_fn, to_str_fn=None, maybe_from_str_fn=None, **kwargs):
    """The older name of register_pytree_node."""
    register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Make a dataclass a node whose children are its fields; those that are None belong to the context."""
    names = field_names if field_names is not None else [f.name for f in dataclasses.fields(cls) if f.init]
    names = [n for n in names if n not in (drop_field_names or ())]

    def flatten(obj):
        held = [n for n in names if getattr(obj, n) is not None]
        return [getattr(obj, n) for n in held], [held, [n for n in names if n not in held]]

    def unflatten(values, context):
        return cls(**dict(zip(context[0], values)), **dict.fromkeys(context[1]))

    def flatten_with_keys(obj):
        values, context = flatten(obj)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], values)], context

    register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys)


def register_constant(cls):
    """Make a type a node without children: the object itself is the context."""
    if cls.__eq__ is object.__eq__:
        raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `__eq__` implementation. Got: {cls}")
    register_pytree_node(cls, lambda x: ([], x), lambda _, context: context, flatten_with_keys_fn=lambda x: ([], x))
    CONSTANT_NODES.add(cls)


def is_namedtuple_class(cls):
    """Whether a type was made by collections.namedtuple or typing.NamedTuple."""
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple) and all(type(f) is str for f in fields)


def is_namedtuple_instance(obj):
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls):
    """Whether a type is a tuple with fields from C, such as time.struct_time."""
    return isinstance(cls, type) and cls.__bases__ == (tuple,) and all(isinstance(getattr(cls, n, None), int) for n in ("n_fields", "n_sequence_fields", "n_unnamed_fields"))


def is_structseq_instance(obj):
    return is_structseq_class(type(obj))


def is_structseq(obj):
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _sequence_keys(flatten):
    def with_keys(x):
        values, context = flatten(x)
        return [(SequenceKey(i), v) for i, v in enumerate(values)], context

    return with_keys


def _list_flatten(x):
    return x, None


def _dict_flatten(d):
    return list(d.values()), list(d.keys())


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def _dict_flatten_with_keys(d):
    values, context = _dict_flatten(d)
    return [(MappingKey(k), v) for k, v in zip(context, values)], context


def _defaultdict_flatten(d):
    values, keys = _dict_flatten(d)
    return values, [d.default_factory, keys]


def _defaultdict_flatten_with_keys(d):
    values, context = _defaultdict_flatten(d)
    return [(MappingKey(k), v) for k, v in zip(context[1], values)], context


def _namedtuple_flatten_with_keys(x):
    return [(GetAttrKey(n), v) for n, v in zip(x._fields, x)], type(x)


def _qualified(cls):
    return {"module": cls.__module__, "name": cls.__qualname__}


def _found(name):
    return functools.reduce(getattr, name["name"].split("."), importlib.import_module(name["module"]))


register_pytree_node(tuple, _list_flatten, lambda v, _: tuple(v), serialized_type_name="builtins.tuple", flatten_with_keys_fn=_sequence_keys(_list_flatten))
register_pytree_node(list, _list_flatten, lambda v, _: list(v), serialized_type_name="builtins.list", flatten_with_keys_fn=_sequence_keys(_list_flatten))
register_pytree_node(dict, _dict_flatten, _dict_unflatten, serialized_type_name="builtins.dict", flatten_with_keys_fn=_dict_flatten_with_keys)
register_pytree_node(
    namedtuple, lambda x: (list(x), type(x)), lambda v, cls: cls(*v), serialized_type_name="collections.namedtuple",
    to_dumpable_context=_qualified, from_dumpable_context=_found, flatten_with_keys_fn=_namedtuple_flatten_with_keys,
)  # fmt: skip
register_pytree_node(OrderedDict, _dict_flatten, lambda v, keys: OrderedDict(zip(keys, v)), serialized_type_name="collections.OrderedDict", flatten_with_keys_fn=_dict_flatten_with_keys)
register_pytree_node(
    defaultdict, _defaultdict_flatten, lambda v, context: defaultdict(context[0], zip(context[1], v)), serialized_type_name="collections.defaultdict",
    to_dumpable_context=lambda c: {"factory": c[0] and _qualified(c[0]), "keys": c[1]},
    from_dumpable_context=lambda d: [d["factory"] and _found(d["factory"]), d["keys"]], flatten_with_keys_fn=_defaultdict_flatten_with_keys,
)  # fmt: skip
register_pytree_node(deque, lambda d: (list(d), d.maxlen), lambda v, maxlen: deque(v, maxlen=maxlen), serialized_type_name="collections.deque",
                     flatten_with_keys_fn=_sequence_keys(lambda d: (list(d), d.maxlen)))  # fmt: skip
register_pytree_node(Size, lambda x: (list(x), None), lambda v, _: tuple(v), serialized_type_name="torch.Size", flatten_with_keys_fn=_sequence_keys(lambda x: (list(x), None)))
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})


def _get_node_type(tree):
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if kind.__module__ == "torch.return_types":  # what operators with several results return
        register_pytree_node(kind, lambda x: (list(x), None), lambda v, _: kind(v), flatten_with_keys_fn=_sequence_keys(lambda x: (list(x), None)))
        return kind
    return namedtuple if is_namedtuple_class(kind) else kind


def tree_is_leaf(tree, is_leaf=None):
    """Whether it does not come apart."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


# --- specs -----------------------------------------------------------------------------------------------------------


class TreeSpec:
    """The shape of a tree: its type, context and the children's shapes; a leaf has no type."""

    __slots__ = ("type", "context", "_children", "num_nodes", "num_leaves", "num_children")

    def __init__(self, type, context, children_specs):
        self.type, self.context, self._children = type, context, list(children_specs)
        self.num_children = len(self._children)
        self.num_nodes = 1 + sum(c.num_nodes for c in self._children)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in self._children)

    @property
    def children_specs(self):
        return self._children

    def children(self):
        return list(self._children)

    def child(self, index):
        return self._children[index]

    def is_leaf(self):
        return self.type is None

    def __eq__(self, other):
        if not isinstance(other, TreeSpec):
            return NotImplemented
        if self.type is not other.type or self._children != other._children:
            return False
        return self.context == other.context

    def __hash__(self):
        context = self.context
        if self.type in (dict, OrderedDict):
            context = tuple(context)
        elif self.type is defaultdict:
            context = (context[0], tuple(context[1]))
        return hash((self.type, context if isinstance(context, collections.abc.Hashable) else repr(context), tuple(self._children)))

    def _text(self, indent):
        if self.type is None:
            return "*"
        children = f",\n{' ' * (indent + 2)}".join(c._text(indent + 2) for c in self._children)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"

    def __repr__(self):
        return self._text(0)

    def unflatten(self, leaves):
        """The tree with these leaves."""
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds {self.num_leaves} items ({self}).")
        return self._build(iter(leaves))

    def _build(self, leaves):
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([c._build(leaves) for c in self._children], self.context)

    def _take_apart(self, tree):
        """The children of a tree that must be a node of this kind, in this spec's order."""
        kind = _get_node_type(tree)
        if kind is not self.type and not (self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES):
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        if self.type in STANDARD_DICT_TYPES:
            keys = self.context[1] if self.type is defaultdict else self.context
            if len(tree) != len(keys):
                raise ValueError(f"Node arity mismatch; expected {len(keys)}, but got {len(tree)}.")
            if tree.keys() != set(keys):
                raise ValueError(f"Node keys mismatch; missing key(s): {set(keys) - tree.keys()}; extra key(s): {tree.keys() - set(keys)}.")
            return [tree[k] for k in keys]
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if self.type is not deque and context != self.context:  # a deque's limit may differ
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        return children

    def flatten_up_to(self, tree):
        """What a tree of this shape has where this has leaves; that may be trees in turn."""
        if self.type is None:
            return [tree]
        return [x for c, t in zip(self._children, self._take_apart(tree)) for x in c.flatten_up_to(t)]


PyTreeSpec = TreeSpec


class _LeafMeta(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(TreeSpec, metaclass=_LeafMeta):
    """The shape of a leaf."""

    __slots__ = ()

    def __new__(cls):
        return _LEAF

    def __init__(self):
        pass


_LEAF = TreeSpec(None, None, [])


def treespec_leaf():
    """The shape of a leaf."""
    return _LEAF


def treespec_tuple(iterable=(), /):
    """The shape of a tuple of these."""
    return TreeSpec(tuple, None, iterable)


def treespec_list(iterable=(), /):
    """The shape of a list of these."""
    return TreeSpec(list, None, iterable)


def treespec_dict(mapping=(), /, **kwargs):
    """The shape of a dict of these."""
    items = dict(mapping, **kwargs)
    return TreeSpec(dict, list(items), items.values())


# --- functions -------------------------------------------------------------------------------------------------------


def _flatten(tree, leaves, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(c, leaves, is_leaf) for c in children])


def tree_flatten(tree, is_leaf=None):
    """(leaves, spec)."""
    leaves: list = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def _check_spec(treespec):
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")


def tree_unflatten(leaves, treespec):
    """The tree with these leaves."""
    _check_spec(treespec)
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """The leaves, one after another."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
    else:
        for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    """The leaves as a list."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The spec alone."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args, **kwargs):
    """The leaves of a call's arguments."""
    return [leaf for arg in (*args, *kwargs.values()) for leaf in tree_iter(arg)]


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree of func(leaf, …); the rests have at least the shape of tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten([func(*xs) for xs in zip(leaves, *(spec.flatten_up_to(r) for r in rests))])


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls func(leaf, …) for what it does; returns tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for xs in zip(leaves, *(spec.flatten_up_to(r) for r in rests)):
        func(*xs)
    return tree


def map_only(type_or_types_or_pred, /):
    """A decorator: the function is called for leaves of a type, others stay as they are."""
    if isinstance(type_or_types_or_pred, (type, tuple, types.UnionType)):

        def wanted(x):
            return isinstance(x, type_or_types_or_pred)
    elif callable(type_or_types_or_pred):
        wanted = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    return lambda func: functools.wraps(func)(lambda x: func(x) if wanted(x) else x)


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """The tree with func applied to leaves of a type."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """Calls func for leaves of a type; returns tree."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether pred holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether pred holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether pred holds for every leaf of a type."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether pred holds for a leaf of a type."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """Leaves for every leaf of treespec, where a leaf of tree stands for all below it; None if they do not fit."""
    _check_spec(treespec)
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or _get_node_type(tree) is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[treespec.type].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    parts = [_broadcast_to_and_flatten(c, s, is_leaf) for c, s in zip(children, treespec.children_specs)]
    return None if None in parts else functools.reduce(operator.iadd, parts, [])


def _leaves_with_path(path, tree, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = SUPPORTED_NODES[_get_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a flatten_with_keys_fn argument to register_pytree_node.")
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _leaves_with_path((*path, key), child, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """[(way, leaf), …]"""
    return list(_leaves_with_path((), tree, is_leaf))


def tree_flatten_with_path(tree, is_leaf=None):
    """([(way, leaf), …], spec)"""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """The tree of func(way, leaf, …)."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    return spec.unflatten([func(path, *xs) for (path, *xs) in zip((p for p, _ in found), (x for _, x in found), *(spec.flatten_up_to(r) for r in rests))])


# --- specs as text ---------------------------------------------------------------------------------------------------

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


def _to_data(spec):
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    if spec.type not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    how = SUPPORTED_SERIALIZED_TYPES[spec.type]
    if how.to_dumpable is not None:
        context = json.dumps(how.to_dumpable(spec.context))
    else:
        try:
            context = json.dumps(spec.context)
        except TypeError as e:
            raise TypeError("Unable to serialize context. Please make the context json dump-able, or register a custom serializer using _register_pytree_node.") from e
    return {"type": how.name, "context": context, "children_spec": [_to_data(c) for c in spec.children_specs]}


def _from_data(data):
    if data["type"] is None:
        return _LEAF
    if data["type"] not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {data['type']} in pytree is not registered.")
    kind = SERIALIZED_TYPE_TO_PYTHON_TYPE[data["type"]]
    context = json.loads(data["context"])
    how = SUPPORTED_SERIALIZED_TYPES[kind]
    if how.from_dumpable is not None:
        context = how.from_dumpable(context)
    return TreeSpec(kind, context, [_from_data(c) for c in data["children_spec"]])


def treespec_dumps(treespec, protocol=None):
    """The spec as JSON."""
    _check_spec(treespec)
    if protocol is not None and protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]")
    return json.dumps([DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL, _to_data(treespec)])


def treespec_loads(serialized):
    """The spec from JSON."""
    protocol, data = json.loads(serialized)
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]")
    return _from_data(data)


class _Star:
    def __repr__(self):
        return "*"


def treespec_pprint(treespec):
    """The spec as a tree of stars."""
    import pprint

    return pprint.pformat(treespec.unflatten([_Star()] * treespec.num_leaves))
