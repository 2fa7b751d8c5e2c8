# SPDX-License-Identifier: Apache-2.0
"""A process has one facula: a second interpreter is told so, and the first does not notice."""
import subprocess
import sys

import pytest

SUBINTERPRETER = """
import facula as torch
x = torch.ones(3)
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
other = interpreters.create()
outcome = "imported"
try:
    failure = interpreters.run_string(other, "import facula")
    if failure is not None:  # since Python 3.13 it is returned
        raise RuntimeError(str(failure))
except Exception as error:
    outcome = str(error)
assert "ImportError" in outcome and "subinterpreter" in outcome, outcome
interpreters.destroy(other)
assert type(torch.ones(3)) is torch.Tensor and type(x) is torch.Tensor and isinstance(x + 1, torch.Tensor)
(x.requires_grad_() * 2).sum().backward()
assert x.grad.tolist() == [2, 2, 2] and torch.zeros(2, dtype=torch.float64).dtype is torch.float64
"""

TWICE = """
import sys
import facula
x = facula.ones(2)
for name in [n for n in sys.modules if n.startswith("facula")]:
    del sys.modules[name]
try:
    import facula as again
except ImportError as error:
    assert "more than once" in str(error), error
else:
    raise SystemExit("loaded twice")
assert (x + 1).tolist() == [2, 2]
"""


@pytest.mark.parametrize("code", [SUBINTERPRETER, TWICE], ids=["subinterpreter", "twice"])
def test_one_per_process(torch, code):
    if torch.__name__ == "torch":
        pytest.skip("about this package's own module")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
