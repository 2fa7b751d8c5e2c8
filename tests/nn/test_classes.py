# SPDX-License-Identifier: Apache-2.0
"""Every class of torch.nn against PyTorch: signatures, initial values, states, texts, results and gradients."""
import importlib
import json
import math
import warnings

import numpy as np
import pytest
from nn_cases import CASES, outcome, signature
from record_nn import FILE

pytestmark = pytest.mark.not_sanitized

_file = np.load(FILE)
INDEX = json.loads(_file["index"].tobytes())
VALUES = _file["values"]
EXACT = ("int64", "bool")

# Names that are not here, and why.
ABSENT = dict.fromkeys(
    ("register_flash_attention_impl", "activate_flash_attention_impl", "list_flash_attention_impls", "current_flash_attention_impl",
     "restore_flash_attention_impl"), "a choice of CUDA kernels") | dict.fromkeys(
    ("LinearCrossEntropyLoss", "LinearCrossEntropyOptions"), "nn.functional.linear_cross_entropy does not exist yet")  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_outcome(torch, case):
    text, keys, rows = INDEX["cases"][case.name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.inputs is None:
            module = case.module(torch)
            assert (repr(module), list(module.state_dict())) == (text, keys)
            return
        got = outcome(torch, case)
    assert got[0] == text and got[1] == keys
    assert [[n, str(t.dtype), list(t.shape)] for n, t in got[2].items()] == [row[:3] for row in rows]
    for name, dtype, shape, at in rows:
        want = VALUES[at : at + math.prod(shape)].astype(np.float64)
        have = got[2][name].detach().double().reshape(-1).numpy()
        if dtype.removeprefix("torch.") in EXACT:
            assert have.tolist() == want.tolist(), name
        else:
            np.testing.assert_allclose(have, want, rtol=1e-6, atol=1e-6, err_msg=name)


def test_every_class_has_a_case(torch):
    covered = {c.cls for c in CASES} | {"Module", "Container", "RNNBase", "RNNCellBase"}
    assert {n for n in INDEX["classes"] if n not in covered} <= set(ABSENT)


@pytest.mark.parametrize("name", sorted(set(INDEX["classes"]) - set(ABSENT)))
def test_signature(torch, name):
    assert signature(getattr(torch.nn, name)) == INDEX["classes"][name]


@pytest.mark.parametrize("namespace", INDEX["names"])
def test_names(torch, namespace):
    module = importlib.import_module(f"{torch.__name__}.{namespace}")
    missing = {n for n in INDEX["names"][namespace] if not hasattr(module, n)}
    assert missing == {n for n in missing if n in ABSENT}


def test_documented(torch):
    if torch.__name__ != "facula":
        pytest.skip("the words are Facula's")
    classes = [c for c in vars(torch.nn).values() if isinstance(c, type) and issubclass(c, torch.nn.Module)]
    assert [c.__name__ for c in classes if not c.__dict__.get("__doc__")] == []
    bare = [f"{c.__name__}.{n}" for c in classes for n, v in vars(c).items()
            if callable(v) and not n.startswith("_") and n not in ("forward", "extra_repr") and not any(getattr(getattr(b, n, None), "__doc__", None) for b in c.__mro__)]
    assert bare == []
