# SPDX-License-Identifier: Apache-2.0
"""What help(torch.add) shows: signatures and a sentence, for every public function and method."""
import pydoc

import pytest


def test_help_of_an_operator(torch):
    if torch.__name__ != "facula":
        pytest.skip("the words are Facula's")
    text = pydoc.plain(pydoc.render_doc(torch.add))
    assert "add(Tensor input, Tensor other, *, Number alpha = 1" in text
    assert "input + alpha * other, element by element." in text
    assert "aten::add.Tensor(" in text
    assert "written into the tensor itself" in torch.Tensor.add_.__doc__
    assert torch.clip.__doc__.count("Another name for clamp.") == 1


def test_every_operator_has_a_docstring(torch):
    if torch.__name__ != "facula":
        pytest.skip("the table is Facula's")
    from facula import _C, _docs
    public = {n for n in [*_C._functions, *_C._methods] if not n.startswith("_")}
    assert sorted(n for n in public if not _docs.docstring(n)) == []


def test_every_public_function_has_a_doc(torch):
    if torch.__name__ != "facula":
        pytest.skip("the words are Facula's")
    bare = [f"{owner.__name__}.{n}" for owner in (torch, torch.Tensor, torch.nn.functional, torch.autograd, torch.special)
            for n, v in [*vars(owner).items()] if not n.startswith("_") and n != "has_torch_function" and callable(v) and not isinstance(v, type) and not (v.__doc__ or "").strip()]
    assert bare == []


def test_signatures(torch):
    if torch.__name__ != "facula":
        pytest.skip("PyTorch's functions have none")
    import inspect

    got = {n: str(inspect.signature(getattr(torch, n))) for n in ("add", "sum", "sort", "zeros", "max")}
    assert got == {
        "add": "(input, other, *, alpha=1, out=None)",
        "sum": "(input, dim=None, keepdim=False, *, dtype=None, out=None, axis=None, keepdims=None)",
        "sort": "(input, dim=-1, descending=False, *, out=None, stable=None, axis=None)",
        "zeros": "(*size, dtype=None, layout=None, device=None, pin_memory=None, requires_grad=False, out=None)",
        "max": "(input, *args, **kwargs)",
    }
    assert str(inspect.signature(torch.Tensor.add)) == "(self, other, *, alpha=1)"
    assert str(inspect.signature(torch.ones(1).permute)) == "(*dims)"
    assert str(inspect.signature(torch.ops.aten.add.Tensor)) == "(self, other, *, alpha=1)"
    for function in [*torch._C._functions.values(), *torch._C._methods.values()]:
        inspect.signature(function)


def test_schemas_are_data(torch):
    schema = torch.ops.aten.add_.Tensor._schema
    assert str(schema) == "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
    assert schema.name == "aten::add_" and schema.overload_name == "Tensor" and schema.is_mutable
    assert [(a.name, a.kwarg_only, a.has_default_value(), a.default_value, a.is_write) for a in schema.arguments] == [
        ("self", False, False, None, True), ("other", False, False, None, False), ("alpha", True, True, 1, False)]  # fmt: skip
    assert schema.arguments[0].alias_info.is_write and list(schema.arguments[0].alias_info.before_set) == ["a"]
    assert schema.arguments[1].alias_info is None and schema.returns[0].alias_info.is_write


def test_completion_shows_what_is_there(torch):
    assert {"add", "mm", "_softmax"} <= set(dir(torch.ops.aten)) and {"Tensor", "out"} <= set(dir(torch.ops.aten.add))
    if torch.__name__ == "facula":
        assert "aten" in dir(torch.ops)
        assert [n for n in dir(torch) if n.startswith("_") and not n.endswith("__")] == []
        assert not {"Operator", "TensorBase", "Method", "math", "sys"} & set(dir(torch))
    assert {"add", "nn", "Tensor", "float32", "__version__"} <= set(dir(torch))
