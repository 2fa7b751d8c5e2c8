# SPDX-License-Identifier: Apache-2.0
"""torch.utils._pytree; texts and messages are PyTorch's."""
import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from facula.utils import _pytree as pytree

pytestmark = pytest.mark.not_sanitized

Point = namedtuple("Point", "a b")
TREE = {"b": [1, (2, 3)], "a": Point(4, OrderedDict(z=5, y=None)), "d": deque([1], maxlen=3), "e": defaultdict(list, k=[1])}
TEXT = """TreeSpec(dict, ['b', 'a', 'd', 'e'], [TreeSpec(list, None, [*,
    TreeSpec(tuple, None, [*,
      *])]),
  TreeSpec(namedtuple, <class '{}.Point'>, [*,
    TreeSpec(OrderedDict, ['z', 'y'], [*,
      *])]),
  TreeSpec(deque, 3, [*]),
  TreeSpec(defaultdict, [<class 'list'>, ['k']], [TreeSpec(list, None, [*])])])"""


def test_there_and_back():
    leaves, spec = pytree.tree_flatten(TREE)
    assert leaves == [1, 2, 3, 4, 5, None, 1, 1] and str(spec) == TEXT.format(__name__)
    again = spec.unflatten(leaves)
    assert again == TREE and type(again["a"]) is Point and again["d"].maxlen == 3 and again["e"].default_factory is list
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (8, 16, 4) and hash(spec) == hash(pytree.tree_structure(TREE))
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    assert isinstance(pytree.tree_structure(3), pytree.LeafSpec) and not isinstance(spec, pytree.LeafSpec) and pytree.LeafSpec().is_leaf()


def test_paths():
    found, _ = pytree.tree_flatten_with_path(TREE)
    assert [pytree.keystr(k) for k, _ in found] == ["['b'][0]", "['b'][1][0]", "['b'][1][1]", "['a'].a", "['a'].b['z']", "['a'].b['y']", "['d'][0]", "['e']['k'][0]"]
    assert all(pytree.key_get(TREE, k) is leaf for k, leaf in found)
    assert pytree.tree_map_with_path(lambda k, x, y: (pytree.keystr(k), x + y), [1, {"q": 2}], [3, {"q": 4}]) == [("[0]", 4), {"q": ("[1]['q']", 6)}]


def test_maps():
    assert pytree.tree_map(lambda a, b: (a, b), [1, 2], [(3, 4), [5]]) == [(1, (3, 4)), (2, [5])]
    assert pytree.tree_map(lambda a, b: a + b, {"x": 1, "y": 2}, {"y": 10, "x": 20}) == {"x": 21, "y": 12}
    assert pytree.tree_map_only(int, lambda a: a + 1, [1, "x"]) == [2, "x"] and pytree.tree_map_only(lambda x: x == "x", str.upper, [1, "x"]) == [1, "X"]
    assert not pytree.tree_all(bool, [1, 0]) and pytree.tree_any(bool, [1, 0]) and pytree.tree_all_only(int, bool, [1, ""])
    assert pytree.tree_leaves([1, [2]], is_leaf=lambda x: isinstance(x, list) and len(x) == 1) == [1, [2]]
    spec = pytree.tree_structure([1, [2, 3]])
    assert pytree._broadcast_to_and_flatten(3, spec) == [3, 3, 3] and pytree._broadcast_to_and_flatten([1, 2], spec) == [1, 2, 2]
    assert pytree._broadcast_to_and_flatten((1, 2), spec) is None and pytree.treespec_pprint(spec) == "[*, [*, *]]"


@pytest.mark.parametrize("call, message", [
    (lambda: pytree.tree_unflatten([1], pytree.tree_structure([1, 2])), "`leaves` has length 1 but the spec refers to a pytree that holds 2 items"),
    (lambda: pytree.tree_map(max, [1, 2], [1]), "Node arity mismatch; expected 2, but got 1."),
    (lambda: pytree.tree_map(max, [1, 2], (1, 2)), "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>."),
    (lambda: pytree.tree_map(max, {"a": 1}, {"b": 1}), r"Node keys mismatch; missing key\(s\): {'a'}; extra key\(s\): {'b'}."),
    (lambda: pytree.register_pytree_node(list, None, None), "<class 'list'> is already registered as pytree node."),
])  # fmt: skip
def test_what_does_not_fit(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(TypeError, match="to be an instance of PyTreeSpec but got item of type <class 'int'>"):
        pytree.tree_unflatten([1], 3)


def test_types_of_a_program(torch):
    @dataclasses.dataclass
    class Pair:
        x: object
        y: object = None

    pytree.register_dataclass(Pair)
    assert pytree.tree_map(lambda v: v * 2, [Pair(1), Pair(1, 2)]) == [Pair(2), Pair(2, 4)]
    values = torch.ones(2, 3).max(dim=1)
    doubled = pytree.tree_map(lambda t: t + t, values)
    assert type(doubled) is type(values) and doubled.values.tolist() == [2, 2]
    assert pytree.tree_flatten(torch.ones(2).shape)[0] == [2]
