# SPDX-License-Identifier: Apache-2.0
"""Sequences, lists and dictionaries of modules and parameters. Every test holds for PyTorch as well."""
from collections import OrderedDict

import pytest

pytestmark = pytest.mark.not_sanitized


def raised(call):
    with pytest.raises(Exception) as e:
        call()
    return type(e.value).__name__, e.value.args[0]


def test_sequential(torch):
    nn = torch.nn
    a, b, c, d = nn.Linear(1, 1), nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    s = nn.Sequential(a, b)
    assert len(s) == 2 and list(s) == [a, b] and s[0] is a and s[-1] is b and list(s[1:]) == [b] and type(s[:1]) is nn.Sequential
    assert s.append(c) is s and list(s.insert(1, d)) == [a, d, b, c] and list(s._modules) == ["0", "1", "2", "3"]
    s[-1] = d
    del s[1]
    assert list(s) == [a, b, d] and s.pop(0) is a and list(s._modules) == ["0", "1"]
    del s[0:1]
    assert list(s) == [d] and list(s + nn.Sequential(b)) == [d, b] and list(s * 2) == [d, d] == list(2 * s)
    s += nn.Sequential(c)
    s *= 2
    assert list(s) == [d, c, d, c] and list(s.extend([a])) == [d, c, d, c, a]
    named = nn.Sequential(OrderedDict(first=a, second=b))
    assert named.first is a and list(named[1:]._modules) == ["second"] and named[1] is b
    assert named(torch.ones(1, 1)).shape == (1, 1) and not any(n.isdigit() for n in dir(s))
    assert raised(lambda: s[9]) == ("IndexError", "index 9 is out of range")
    assert raised(lambda: s["x"])[0] == "TypeError"
    assert raised(lambda: s + [b])[0] == "ValueError" and raised(lambda: s * 0)[0] == "ValueError" and raised(lambda: s * 1.5)[0] == "TypeError"
    assert raised(lambda: s.insert(99, a)) == ("IndexError", "Index out of range: 99")
    assert raised(lambda: nn.Sequential(3)) == ("TypeError", "int is not a Module subclass")


def test_module_list(torch):
    nn = torch.nn
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    m = nn.ModuleList([a, b])
    m.append(c).extend(iter([a]))
    m.insert(0, b)
    assert list(m) == [b, a, b, c, a] and type(m[1:3]) is nn.ModuleList and m[-1] is a and len(m + [c]) == 6
    m[0] = c
    del m[1::2]
    assert list(m) == [c, b, a] and m.pop(1) is b and list(m._modules) == ["0", "1"] and c in m
    m += [b]
    assert list(m) == [c, a, b]
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(1, 2)])) == (
        "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Linear(in_features=1, out_features=2, bias=True)\n)")  # fmt: skip
    assert repr(nn.ModuleList()) == "ModuleList()"
    assert raised(lambda: m.extend(3)) == ("TypeError", "ModuleList.extend should be called with an iterable, but got int")
    assert raised(lambda: m(1))[0] == "NotImplementedError"


def test_module_dict(torch):
    nn = torch.nn
    a, b = nn.ReLU(), nn.Tanh()
    m = nn.ModuleDict({"a": a})
    m["b"] = b
    m.update([("c", a)])
    assert list(m) == list(m.keys()) == ["a", "b", "c"] and list(m.values()) == [a, b, a] and dict(m.items())["b"] is b and "a" in m
    assert m.pop("a") is a and len(m) == 2
    del m["b"]
    m.update(nn.ModuleDict({"x": b}))
    assert list(m) == ["c", "x"]
    m.clear()
    assert len(m) == 0
    assert raised(lambda: m.update(3)) == ("TypeError", "ModuleDict.update should be called with an iterable of key/value pairs, but got int")
    assert raised(lambda: m.update([3])) == ("TypeError", "ModuleDict update sequence element #0 should be Iterable; isint")
    assert raised(lambda: m.update([(1, 2, 3)])) == ("ValueError", "ModuleDict update sequence element #0 has length 3; 2 is required")
    assert raised(lambda: m["none"])[0] == "KeyError"


def test_parameter_list(torch):
    nn = torch.nn
    p = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(3)), "text"])
    assert isinstance(p[0], nn.Parameter) and p[2] == "text" and len(p) == 3 and len(list(p.parameters())) == 2 and list(p.state_dict()) == ["0", "1"]
    p.append(torch.ones(1)).extend([torch.ones(1)])
    p[-1] = torch.ones(4)
    p += [nn.Parameter(torch.ones(5))]
    assert [t.numel() for t in p if not isinstance(t, str)] == [2, 3, 1, 4, 5] and type(p[1:3]) is nn.ParameterList and p[1:][0].numel() == 3
    assert raised(lambda: p[9])[0] == "IndexError" and raised(lambda: p.extend(torch.ones(2)))[0] == "TypeError"
    assert raised(p) == ("RuntimeError", "ParameterList should not be called.")


def test_parameter_dict(torch):
    nn = torch.nn
    p = nn.ParameterDict({"b": torch.ones(2), "a": torch.zeros(1)})
    assert list(p) == ["a", "b"] and isinstance(p["b"], nn.Parameter) and list(p.state_dict()) == ["a", "b"]
    p["c"] = 5
    assert p.get("c") == 5 and p.get("d", 1) == 1 and p.setdefault("e", torch.ones(3)).numel() == 3 and "c" in p and len(p) == 4
    assert list(p.keys()) == ["a", "b", "c", "e"] and list(reversed(p))[0] == "e" and p.pop("c") == 5 and p.popitem()[0] == "e"
    assert list((p | nn.ParameterDict({"z": torch.ones(1)})).keys()) == ["a", "b", "z"] and list(p.fromkeys(["x", "y"], 1)) == ["x", "y"]
    other = p.copy()
    assert other["a"] is p["a"]
    p |= nn.ParameterDict({"z": torch.ones(1)})
    assert "z" in p and "z" not in other
    del p["z"]
    p.clear()
    assert len(p) == 0
    assert raised(lambda: p[3])[0] == "TypeError" and raised(lambda: p(1)) == ("RuntimeError", "ParameterDict should not be called.")
    assert raised(lambda: p.popitem())[0] == "KeyError"
