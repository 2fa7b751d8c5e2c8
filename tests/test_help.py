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


def test_every_operator_has_a_sentence(torch):
    if torch.__name__ != "facula":
        pytest.skip("the table is Facula's")
    from facula import _C, _docs
    public = {n for n in [*_C._functions, *_C._methods] if not n.startswith("_")}
    assert sorted(n for n in public if not _docs.sentence(n)) == []
    stale = {n for n in _docs._rows if n not in public}
    assert sorted(stale) == []


def test_every_public_function_has_a_doc(torch):
    if torch.__name__ != "facula":
        pytest.skip("the words are Facula's")
    bare = [f"{owner.__name__}.{n}" for owner in (torch, torch.Tensor, torch.nn.functional, torch.autograd, torch.special)
            for n, v in vars(owner).items() if not n.startswith("_") and n != "has_torch_function" and callable(v) and not isinstance(v, type) and not (v.__doc__ or "").strip()]
    assert bare == []
