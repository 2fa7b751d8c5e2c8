# SPDX-License-Identifier: Apache-2.0
"""Backends written in Python."""
import time
import traceback
import warnings

import facula as torch
import pytest
from facula import conformance

pytestmark = pytest.mark.threads

np = pytest.importorskip("numpy")
backends = torch.backends


class Snake(backends.Backend):
    """A device on NumPy: tier 2 for float32 and its like."""

    name = "snake"
    device_count = 2
    maps = {"add": lambda a, b, alpha: a + alpha * b, "mul": lambda a, b: a * b, "exp": np.exp, "neg": lambda a: -a, "lt": lambda a, b: a < b}

    def supports(self, query):
        if any(t is not None and t in ("bfloat16", "complex64", "complex128") for t in query.dtypes):
            return False
        return query.family in ("reduce", "matmul", "gather", "copy") or (query.family == "map" and query.opcode in self.maps)

    def copy(self, call):
        call.out.numpy()[...] = call.inputs[0].numpy()

    def map(self, call):
        if call.opcode == "exp" and call.out.shape == (5,):
            raise ValueError("five is too many")
        call.out.numpy()[...] = self.maps[call.opcode](*(x.numpy() for x in call.inputs), *call.params)

    def reduce(self, call):
        raise NotImplementedError("later")

    def matmul(self, call):
        a, b = call.a.numpy(), call.b.numpy()
        old = call.beta * call.out.numpy() if call.beta else 0
        call.out.numpy()[...] = call.alpha * (a @ b) + old

    def gather(self, call):
        call.out.numpy()[...] = np.take_along_axis(call.input.numpy(), call.index.numpy(), call.dim)


@pytest.fixture(scope="module")
def snake():
    return backends.register(Snake())


def test_computes(snake):
    backends.set_fallback_mode("error")
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device="snake:1")
    assert (x.t() * x + 1).cpu().tolist() == [[2, 7], [7, 17]]
    assert torch.add(x, x, alpha=2).cpu().tolist() == [[3, 6], [9, 12]]
    assert (x < 2.5).cpu().tolist() == [[True, True], [False, False]]
    assert x.double().cpu().tolist() == [[1, 2], [3, 4]]


def test_errors_keep_their_kind(snake):
    with pytest.raises(RuntimeError, match="backend 'snake', device 0, map exp: ValueError: five is too many"):
        torch.exp(torch.ones(5, device=snake))
    with pytest.raises(NotImplementedError, match="reduce sum: NotImplementedError: later"):
        torch.ones(3, device=snake).sum()


def test_errors_keep_their_traceback(snake):
    with pytest.raises(RuntimeError) as raised:
        torch.exp(torch.ones(5, device=snake))
    cause = raised.value.__cause__
    assert type(cause) is ValueError and traceback.extract_tb(cause.__traceback__)[-1].line == 'raise ValueError("five is too many")'
    with pytest.raises(RuntimeError) as raised:
        torch.ones(2) + torch.ones(3)  # the next error has nothing to do with it
    assert raised.value.__cause__ is None


def test_every_reduction_of_the_contract_has_a_name(capfd):
    """mean, std and norm ask for opcodes beyond the base."""
    asked = []

    class Asked(backends.Backend):
        name = "asked"

        def supports(self, query):
            asked.append(query.opcode)
            return query.family == "reduce" and query.opcode == "sum_deviations"

        def reduce(self, call):
            x, shift = call.input.numpy(), call.shift.numpy()
            call.out.numpy()[0] = ((x - shift) ** 2).sum()

    x = torch.tensor([1.0, 2.0, 6.0], device=backends.register(Asked()))
    assert x.var().item() == 7
    x.mean(), x.norm(), x.norm(1), x.nansum()
    assert {"mean", "sum_deviations", "sum_squares", "sum_abs", "nansum"} <= set(asked)
    assert "Traceback" not in capfd.readouterr().err


def test_errors_name_every_opcode():
    class Refuses(backends.Backend):
        name = "refuses"

        def supports(self, query):
            return query.family in ("reduce", "scan")

        def reduce(self, call):
            raise ValueError("no")

        scan = reduce

    x = torch.ones(3, device=backends.register(Refuses()))
    cases = {"mean": "mean", "nansum": "nansum", "norm": "sum_squares", "sum": "sum"}
    for function, opcode in cases.items():
        with pytest.raises(RuntimeError, match=f"device 0, reduce {opcode}: ValueError: no"):
            getattr(x, function)()
    with pytest.raises(RuntimeError, match="device 0, scan logsumexp: ValueError: no"):
        x.logcumsumexp(0)


def test_a_claim_without_a_function_is_told_once():
    class Boasts(backends.Backend):
        name = "boasts"

        def supports(self, query):
            return query.family == "matmul"

    x = torch.eye(2, device=backends.register(Boasts()))
    with pytest.warns(UserWarning, match="backend 'boasts' claims calls of the family matmul, but has no function for it"):
        assert (x @ x).tolist() == [[1, 0], [0, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x @ x).T @ x


def test_help_describes_the_contract():
    import pydoc

    text = pydoc.plain(pydoc.render_doc(backends.Backend))
    from facula.backends import python_backend

    for word in (*python_backend.FAMILIES, *python_backend.REDUCE, *python_backend.SCATTER, *python_backend.LAYOUTS, "Query", "Operand", "compute", "params"):
        assert word in text, word


def test_conformance(snake):
    card = conformance.run(snake, families=("memory", "matmul", "gather"))
    assert [c for c in card["cases"] if c[4] == "failed" and not c[2].startswith(("int", "uint"))] == []
    assert card["summary"]["gather"]["passed"] > 10 and card["summary"]["scatter"]["passed"] == 0


def test_must_be_a_backend():
    with pytest.raises(TypeError, match="expected a facula.backends.Backend, got object"):
        backends.register(object())

    class Nameless(backends.Backend):
        pass

    with pytest.raises(ValueError, match="Nameless has no name"):
        backends.register(Nameless())


def test_memory_error(snake):
    class Full(backends.Backend):
        name = "full"

        def alloc(self, device, nbytes):
            raise MemoryError("not today")

    with pytest.raises(RuntimeError, match="device 0, alloc of 64 bytes: MemoryError: not today"):
        torch.ones(3, device=backends.register(Full()))


@pytest.mark.parametrize("address", [-1, -64, 3, None])
def test_an_address_that_is_none(snake, address):
    class Nowhere(backends.Backend):
        name = f"nowhere_{'none' if address is None else address + 64}"

        def alloc(self, device, nbytes):
            return address

    with pytest.raises(RuntimeError, match="returned address .* no multiple of 64|returned no memory"):
        torch.ones(3, device=backends.register(Nowhere()))


class Named(torch.backends.Backend):
    """Operators and functions by name."""

    name = "named_in_python"
    operators = ["aten::nonzero", "aten::neg", "aten::equal", "aten::relu_", "aten::tanh"]
    functions = ["add(a, b): the sum", "late(text): an error that comes later", "less(): offers nothing", "wrong(): returns what it should not"]

    def run_operator(self, call):
        if call.name == "aten::nonzero":
            return call.make(0, np.argwhere(call.args[0].numpy()))
        if call.name == "aten::equal":
            return bool((call.args[0].numpy() == call.args[1].numpy()).all())
        if call.name == "aten::relu_":
            call.args[0].numpy()[...] = np.maximum(call.args[0].numpy(), 0)
            return None
        if call.name == "aten::neg":
            call.results[0].numpy()[...] = -call.args[0].numpy()
            self.report_launch(call, "negate", 250)
            return None
        return NotImplemented

    def add(self, a, b):
        return a + b

    def late(self, text):
        self.report_error(0, IndexError(text))

    def less(self):
        self.operators = []
        self.claims_changed()

    def wrong(self):
        return object()


class Waits(torch.backends.Backend):
    """A device without a clock: it reports how long its kernels were waited for."""

    name = "waits_in_python"
    operators = ["aten::neg", "aten::exp"]

    def run_operator(self, call):
        call.results[0].numpy()[...] = 0
        if call.name == "aten::neg":
            time.sleep(0.02)
        self.report_launch(call, "spin", waited_ns=15_000_000 if call.name == "aten::neg" else 10**15)


def test_kernels_have_rows_and_the_time_that_was_waited_for_them():
    x = torch.ones(3, device=torch.backends.register(Waits()))
    with torch.profiler.profile() as p:
        torch.neg(x)
    rows = {e.key: e for e in p.key_averages()}
    kernel, op = rows["spin"], rows["aten::neg"]
    assert kernel.kind == "launch" and kernel.count == 1 and kernel.cpu_time_total == kernel.self_cpu_time_total == 0
    assert kernel.device == x.device.type + ":0" and kernel.device_type is torch.profiler.DeviceType.PrivateUse1
    assert 15_000 <= kernel.device_time_total == kernel.self_device_time_total == op.device_time_total == op.self_device_time_total < op.cpu_time_total
    table = p.key_averages().table()
    assert "spin" in table and table.count(rows["spin"].device_time_total_str) == 7 and "Device time total: " in table  # counted once
    events = {e.name: e for e in p.events()}
    spin, neg = events["spin"], events["aten::neg"]
    assert neg.time_range.start <= spin.time_range.start < spin.time_range.end <= neg.time_range.end and neg.cpu_children == []
    with torch.profiler.profile() as p, torch.hammerblade.profiler.region():
        torch.exp(x)  # which claims to have waited for eleven days
    rows = {e.key: e for e in p.key_averages()}
    assert rows["spin"].device_time_total <= rows["aten::exp"].cpu_time_total
    assert "@OFFLOAD_KERNEL@__spin : " in torch.hammerblade.profiler.stats(key=["ExecTime-Raw"])


def test_operators_and_functions_by_name():
    backend = Named()
    name = torch.backends.register(backend)
    x = torch.tensor([[0.0, -2.0], [3.0, 0.0]], device=name)
    assert torch.nonzero(x).cpu().tolist() == [[0, 1], [1, 0]] and torch.equal(x, x) and not torch.equal(x, -x)
    assert x.clone().relu_().cpu().tolist() == [[0, 0], [3, 0]]
    seen = []
    with torch.dispatch.observe(lambda e: seen.append((e.name, e.device_ns)) if e.phase == "end" else None, ["launch"]):
        assert torch.neg(x).cpu().tolist() == [[0, 2], [-3, 0]]
    assert ("negate", 250) in seen and ("aten::neg", 250) in seen
    assert torch.tanh(x * 0).cpu().sum() == 0 and ("aten::tanh", name) in torch.backends.fallback_counts()
    call = torch.backends.call
    assert call(name, "add", 1, 2) == 3 and call(name, "add", "a", "b") == "ab" and call(name, "add", 0.5, 1) == 1.5
    call(name, "late", "index 9")
    with pytest.raises(IndexError, match="index 9"):
        x.cpu()
    with pytest.raises(RuntimeError, match="not object") as e:
        call(name, "wrong")
    assert isinstance(e.value.__cause__, TypeError)
    call(name, "less")
    torch.backends.reset_fallback_counts()
    torch.nonzero(x)
    assert ("aten::nonzero", name) in torch.backends.fallback_counts()
