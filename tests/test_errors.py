# SPDX-License-Identifier: Apache-2.0
"""Hostile input: the error is PyTorch's type, says what was asked and what is allowed; nothing crashes.

Each case runs in a forked child. In the files imported here, `bad` must raise, `fine` must work, `survives`
may do either. A quirk says where PyTorch itself fails; `--module torch` expects that.
"""
import hostile_arguments
import hostile_autograd
import hostile_hooks
import hostile_indexing
import hostile_interop
import hostile_kernels
import hostile_memory
import hostile_tensors
import pytest
from hostile import CASES, in_child, judge

FILES = (hostile_tensors, hostile_indexing, hostile_autograd, hostile_hooks, hostile_interop, hostile_kernels, hostile_memory, hostile_arguments)


@pytest.mark.parametrize("case", CASES, ids=[c.name.replace(" ", "_").replace("/", "|") for c in CASES])
@pytest.mark.filterwarnings("ignore")
def test_hostile(torch, case):
    is_facula = torch.__name__ != "torch"
    told = judge(case, in_child(case, torch), is_facula)
    if case.quirk and not is_facula:
        pytest.xfail(f"PyTorch: {case.quirk}")
    if told:
        pytest.fail(told, pytrace=False)


def test_names_are_unique():
    names = [c.name for c in CASES]
    assert len(names) == len(set(names)), sorted({n for n in names if names.count(n) > 1})
