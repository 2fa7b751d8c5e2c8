# SPDX-License-Identifier: Apache-2.0
"""Lists and dicts that a node's arguments are kept in: changed only through the node, which keeps track of its users."""

from facula.utils import _pytree as pytree

__all__ = ["immutable_list", "immutable_dict"]


def _refuse(self, *args, **kwargs):
    raise NotImplementedError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
        "instead create a new copy of it and assign the copy to the node:\n"
        "    new_args = ...  # copy and mutate args\n    node.args = new_args\n"
    )


def _immutable(base, mutators):
    names = {name: _refuse for name in mutators}
    return type(f"immutable_{base.__name__}", (base,), {
        **names, "__module__": __name__, "__doc__": f"A {base.__name__} that refuses to be changed.",
        "__hash__": lambda self: hash(tuple(self.items() if base is dict else self)),
        "__reduce__": lambda self: (type(self), (base(self),)),
    })  # fmt: skip


immutable_list = _immutable(list, ("__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"))
immutable_dict = _immutable(dict, ("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"))

pytree.register_pytree_node(
    immutable_list, lambda x: (list(x), None), lambda v, _: immutable_list(v), flatten_with_keys_fn=pytree._sequence_keys(lambda x: (list(x), None)),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
)  # fmt: skip
pytree.register_pytree_node(
    immutable_dict, pytree._dict_flatten, lambda v, keys: immutable_dict(zip(keys, v)), flatten_with_keys_fn=pytree._dict_flatten_with_keys,
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
)  # fmt: skip
