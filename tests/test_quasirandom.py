# SPDX-License-Identifier: Apache-2.0
"""Sobol sequences are PyTorch's, scrambled or not; golden/record_sobol.py records them."""
import json
import pathlib

import pytest

GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden" / "sobol.json").read_text())


@pytest.mark.parametrize("case", GOLDEN["points"])
def test_points(torch, case):
    dimension, scramble, seed = (eval(word) for word in case.split())
    engine = torch.quasirandom.SobolEngine(dimension, scramble, seed)
    first, later, generated, text = GOLDEN["points"][case]
    assert engine.draw(3).tolist() == first
    assert engine.fast_forward(5).draw(2, dtype=torch.float64).tolist() == later
    assert (engine.num_generated, repr(engine)) == (generated, text)
    again = engine.reset().draw(10)
    assert again[:3].tolist() == first and again[8:].double().sub(torch.tensor(later, dtype=torch.float64)).abs().max() < 1e-6
    assert engine.reset().draw(1).tolist() == first[:1] and engine.draw(2).tolist() == first[1:]


def test_directions_of_every_dimension(torch):
    """A sum over the numbers of every 101st of the 21201 dimensions."""
    state = torch.quasirandom.SobolEngine(21201).sobolstate
    weights = torch.arange(1, state.shape[1] + 1)
    assert (state[::101] * weights).sum(1).tolist() == GOLDEN["checks"]


def test_limits(torch):
    engine = torch.quasirandom.SobolEngine
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match="Supported range"):
            engine(dimension)
    assert engine(2).draw_base2(3).shape == (8, 2)
    with pytest.raises(ValueError, match="power of 2"):
        engine(2).fast_forward(1).draw_base2(2)
    out = torch.empty(0)
    assert engine(2).draw(4, out=out) is out and out.shape == (4, 2) and engine(3).fast_forward(1).draw(0).shape == (0, 3)
    if torch.__name__ != "torch":  # which computes for hours, or goes on with nonsense
        with pytest.raises(RuntimeError, match="more were asked for"):
            engine(2).draw(1 << 31)


def test_unseeded_scrambling_differs(torch):
    draws = [torch.quasirandom.SobolEngine(4, scramble=True).draw(4).tolist() for _ in range(2)]
    assert draws[0] != draws[1]
