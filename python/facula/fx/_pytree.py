# SPDX-License-Identifier: Apache-2.0
"""Flattening of inputs by a spec that was made when a graph was traced, which the inputs may only resemble."""

from facula.utils import _pytree as pytree

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

SUPPORTED_NODES: dict = {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """How an object of a type is taken apart by a spec: flatten_fn_spec(obj, spec) gives the children."""
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(tree, spec):
    """The leaves of tree where spec has leaves."""
    if spec.is_leaf():
        return [tree]
    if spec.type not in SUPPORTED_NODES:
        raise RuntimeError(f"{type(tree)} does not have a flatten_fn_spec associated with it. Please register one with torch.fx._pytree.register_pytree_flatten_spec.")
    children = SUPPORTED_NODES[spec.type](tree, spec)
    return [leaf for child, child_spec in zip(children, spec.children_specs) for leaf in tree_flatten_spec(child, child_spec)]


for _kind in (dict, pytree.OrderedDict):
    register_pytree_flatten_spec(_kind, lambda d, spec: [d[k] for k in spec.context])
for _kind in (list, tuple, pytree.namedtuple):
    register_pytree_flatten_spec(_kind, lambda x, spec: [x[i] for i in range(spec.num_children)])
del _kind
