# SPDX-License-Identifier: Apache-2.0
"""Records the direction numbers of S. Joe and F. Y. Kuo as PyTorch has them, and points: python tests/golden/record_sobol.py

Writes python/facula/sobol.bin, whose form python/facula/quasirandom.py describes, and sobol.json.
"""
import json
import pathlib

import torch

HERE = pathlib.Path(__file__).parent
COUNTS = [1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800, 2048, 7710, 7776]  # primitive polynomials of each degree
state = torch.quasirandom.SobolEngine(21201).sobolstate.tolist()
first, packed = 1, b""
for degree, count in enumerate(COUNTS, 1):
    bits = []
    for row in state[first : first + count]:
        for i in range(degree):
            number = row[i] >> (29 - i)
            assert number & 1 and number < 2 << i
            bits += [number >> (b + 1) & 1 for b in range(i)]
    bits += [0] * (-len(bits) % 8)
    packed += bytes(sum(bits[at + b] << b for b in range(8)) for at in range(0, len(bits), 8))
    first += count
(HERE.parent.parent / "python" / "facula" / "sobol.bin").write_bytes(packed)

points = {}
for dimension, scramble, seed in ((1, False, None), (3, False, None), (7, True, 5), (130, True, 0)):
    engine = torch.quasirandom.SobolEngine(dimension, scramble, seed)
    points[f"{dimension} {scramble} {seed}"] = [engine.draw(3).tolist(), engine.fast_forward(5).draw(2, dtype=torch.float64).tolist(), engine.num_generated, repr(engine)]
checks = [sum((k + 1) * v for k, v in enumerate(row)) for row in state[::101]]
(HERE / "sobol.json").write_text(json.dumps({"points": points, "checks": checks}) + "\n")
