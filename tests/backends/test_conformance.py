# SPDX-License-Identifier: Apache-2.0
"""The scorecard of the example backend: tier 1, nothing wrong, everything pointwise without the CPU."""
import json

import facula as torch
import pytest
from backend_tools import LOOPS
from facula import _C, conformance

np = pytest.importorskip("numpy")


@pytest.fixture(scope="module")
def card(example):
    return conformance.run(example)


def test_example_reaches_tier_1(card):
    assert [c for c in card["cases"] if c[4] == "failed"] == []
    assert card["tier"] == 1


def test_everything_pointwise_runs_on_it(card):
    by_cpu = {(c[1], c[2]) for c in card["cases"] if c[0] == "map" and c[4] == "fallback" and not c[2].startswith("complex")}
    base = {row[0] for row in _C._map_opcodes()[: _C._last_base_opcode + 1]}
    assert {x for x in by_cpu if x[0] not in base | LOOPS} - {("rsub", "bool")} == set()
    assert {c[4] for c in card["cases"] if c[:4] == ["map", "tanh", "float32", "contiguous"]} == {"decomposed"}


def test_texts(card):
    assert conformance.text(card).endswith(
        "tier 1 reached, 0 failures\ntier 2 needs:\n  gather: not claimed for float32: gather\n  scatter: not claimed for float32: add, max, min, mul, set"
    )
    page = conformance.html(card)
    assert "<h2>matmul</h2>" in page and "http" not in page
    assert json.loads(json.dumps(card))["device"] == card["device"]


def test_layouts_and_types(card):
    seen = {(c[3]) for c in card["cases"] if c[0] == "map"}
    assert seen == set(conformance.LAYOUTS)
    assert {c[2] for c in card["cases"] if c[0] == "copy"} == set(conformance.DTYPES)
    assert torch.backends.fallback_counts() == {}


def test_what_is_made_of_something_wrong_is_told_apart():
    class Careless(torch.backends.Backend):
        name = "careless"

        def supports(self, query):
            return query.family == "map" and query.opcode == "maximum" and query.compute == "float32"

        def map(self, call):
            a, b = (x.numpy() for x in call.inputs)
            call.out.numpy()[...] = np.where(a > b, a, b)  # loses a NaN of a

    name = torch.backends.register(Careless())
    card = conformance.Card(name)
    conformance.check_map(card, {"maximum", "clamp_min"})
    wrong = {c[1]: c[5] for c in card.cases if c[4] == "failed"}
    assert wrong["maximum"] == "element 0 is 1.0, expected nan; inputs nan, 1.0"
    assert wrong["clamp_min"].startswith("decomposed: element 0 is ")
    tier, lacks = conformance._next_tier([["memory", "", "", "", "passed", ""], *card.cases])
    assert ["map", "claimed and wrong", ["maximum"]] in lacks and ["map", "wrong when decomposed", ["clamp_min"]] in lacks
