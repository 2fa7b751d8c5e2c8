# SPDX-License-Identifier: Apache-2.0
"""torch.hammerblade.profiler: the port's tables, charts and routes, on the CPU and with the example device."""

import json
import os
import pathlib
import re
import sys
import textwrap
import threading
import types
import warnings

import facula as torch
import pytest
from backend_tools import run_python
from facula import _C
from facula.hammerblade.profiler import _region, _signatures, chart, exec_time, route, unimpl

pytestmark = pytest.mark.threads

profiler = torch.hammerblade.profiler
ADD = "at::Tensor at::CPUType::{anonymous}::add(const at::Tensor&, const at::Tensor&, c10::Scalar)"
ADDMM = "at::Tensor at::CPUType::{anonymous}::addmm(const at::Tensor&, const at::Tensor&, const at::Tensor&, c10::Scalar, c10::Scalar)"
MM = "at::Tensor at::CPUType::{anonymous}::mm(const at::Tensor&, const at::Tensor&)"
MUL = "at::Tensor at::CPUType::{anonymous}::mul(const at::Tensor&, const at::Tensor&)"
M, MAT1, MAT2 = torch.ones(2, 3), torch.arange(6.0).reshape(2, 3), torch.eye(3)


@pytest.fixture(autouse=True)
def clean():
    route.reset()
    chart.clear()
    yield
    profiler.disable()
    route.disable()
    route.reset()
    chart.clear()


@pytest.fixture
def example(example, monkeypatch):
    """The example device, as the only one: other tests load more into the same process."""
    loaded = [b for b in torch.backends.backends() if b["name"] == example]
    monkeypatch.setattr(torch.backends, "backends", lambda: loaded)
    return example


@pytest.fixture
def recorded(monkeypatch):
    """recorded(nodes): a region whose recorder kept these: (parent, name, kind, device, time, inside, device_ns, count, told)."""

    def make(nodes):
        tree = types.SimpleNamespace(nodes=lambda: nodes, calls=lambda names: [], call_counts=list)
        monkeypatch.setattr(_region, "_last", _region.Region(types.SimpleNamespace(call_tree=lambda: tree)))

    return make


# The example that the port's formatter was run on: an add on the CPU, an mm whose kernel runs on a device.
SAMPLE = [
    (0, "", "call", "cpu", 1_780_000, 1_660_000, 0, 1, 0),
    (0, "aten::add.Tensor", "call", "cpu", 940_000, 900_000, 0, 1, 0),
    (1, "map add", "launch", "cpu", 900_000, 0, 0, 1, 0),
    (0, "aten::mm", "call", "cpu", 720_000, 500_000, 0, 1, 0),
    (3, "matmul", "launch", "example", 500_000, 0, 20_000, 1, 1),
]


def test_tables_are_the_ports(recorded):
    recorded(SAMPLE)
    assert profiler.stats(key=["ExecTime"]) == (
        "Kernel execution time:\n"
        "aten::add                          0.94 52.8%\n"
        "aten::mm                           0.72 40.4%\n"
        "aten::other                        0.12 6.7%\n"
        "aten::ROI                          1.78 100.0%\n"
        "\n" + "-" * 60 + "\n\n"
    )
    latex = profiler.stats(key=["ExecTime-Latex"])
    assert latex.startswith("Kernel execution time: (latex table)\n\\begin{table}[t]\n\\begin{tabular}{lrr}\n\\toprule\n& \\textbf{Time} & \\textbf{Percent} \\\\\n")
    assert "\\textbf{aten::add                     } &  0.94 & 52.8\\% \\\\\n" in latex
    assert latex.endswith("\\bottomrule\n\\end{tabular}\n\\label{tbl-plat}\n\\end{table}\n\n" + "-" * 60 + "\n\n")
    assert profiler.stats(key=["ExecTime-Raw"]) == (
        "Kernel execution time raw stack:\n"
        "|- Node(ROI : 1780.0)\n"
        f"  |- Node({ADD} : 940.0)\n"
        "    |- Node(at::native::add_stub::add_stub() : 900.0)\n"
        f"  |- Node({MM} : 720.0)\n"
        "    |- Node(@OFFLOAD_KERNEL@__matmul : 500.0)\n"
        "      |- Node(@TRIM@ : 0)\n" + "-" * 60 + "\n\n"
    )
    assert exec_time.raw_dump() == (
        f"ROI;120\nROI<|>{ADD};40\nROI<|>{ADD}<|>at::native::add_stub::add_stub();900\n"
        f"ROI<|>{MM};220\nROI<|>{MM}<|>@OFFLOAD_KERNEL@__matmul;500\nROI<|>{MM}<|>@OFFLOAD_KERNEL@__matmul<|>@TRIM@;20\n"
    )
    assert profiler.per_op_time_in_ROI() == {"aten::add": 940.0, "aten::mm": 720.0, "aten::other": 120.0, "aten::ROI": 1780.0}


def test_trimming_takes_the_time_that_devices_tell(recorded):
    recorded(SAMPLE)
    assert profiler.per_op_time_in_ROI(trimming=True) == {"aten::add": 940.0, "aten::mm": 240.0, "aten::other": 120.0, "aten::ROI": 1300.0}
    assert profiler.total_time_in_ROI(True) == 1300.0
    raw = profiler.stats(key=["ExecTime-Raw"], trimming=True)
    assert "    |- Node(@OFFLOAD_KERNEL@__matmul : 20.0)\n      |- Node(@TRIM@ : 20.0)\n" in raw and "simulated" not in raw
    recorded([*SAMPLE, (0, "aten::add.Tensor", "call", "example", 10_000, 5_000, 0, 1, 0), (5, "map add", "launch", "example", 5_000, 0, 0, 1, 0)])
    assert "(1 of 2 kernels of devices told no simulated time: they count as 0)" in exec_time.fancy_print(True)


def test_without_simulated_time_it_is_said():
    with profiler.region():
        torch.randn(10)
    for key in ("ExecTime", "ExecTime-Latex", "ExecTime-Raw"):
        assert _region.NO_SIMULATED_TIME in profiler.stats(key=[key], trimming=True)
        assert "simulated" not in profiler.stats(key=[key])
    with pytest.warns(UserWarning, match="no simulated time"):
        assert profiler.total_time_in_ROI(trimming=True) == profiler.total_time_in_ROI()


def test_a_region(capfd):
    assert not profiler.is_in_ROI()
    profiler.enable()
    assert profiler.is_in_ROI()
    assert capfd.readouterr().err == " ATen profiler collecting ...\n"
    x = torch.randn(10)
    y = x + x
    (y * 2).sum()
    torch.nn.functional.linear(M, MAT2)
    profiler.disable()
    assert not profiler.is_in_ROI()
    torch.exp(x)
    times = profiler.per_op_time_in_ROI()
    assert list(times) == ["aten::add", "aten::mul", "aten::sum", "aten::linear", "aten::randn", "aten::other", "aten::ROI"]
    assert sum(times.values()) == pytest.approx(2 * times["aten::ROI"]) and times["aten::ROI"] == profiler.total_time_in_ROI()
    raw = exec_time.raw_stack()
    assert f"  |- Node({ADD} : " in raw and "at::native::add_stub::add_stub()" in raw and "c10::IntArrayRef, const c10::TensorOptions&)" in raw
    default = profiler.stats()
    assert default.startswith("Kernel execution time:\naten::add ") and "Kernels used on CPU but not yet implemented on HB:\n" + "=" * 74 in default


def test_backward_belongs_to_the_region():
    x = torch.ones(3, requires_grad=True)
    with profiler.region(), torch.profiler.record_function("mine"):
        x.sin().sum().backward()
    assert "aten::cos" in profiler.per_op_time_in_ROI()


def test_wrong_use_is_said(capsys, monkeypatch):
    with pytest.warns(UserWarning, match="a region was open and is dropped"):
        profiler.enable()
        profiler.enable()
    with pytest.raises(RuntimeError, match=re.escape("the region is still open; call disable()")):
        profiler.stats()
    profiler.disable()
    profiler.disable()  # no region: nothing to do
    assert profiler.stats(key=["ExecTime", "Time"]) == ""
    assert capsys.readouterr().out == "Unknown stat key -- Time\navailable ones are: ExecTime, ExecTime-Latex, ExecTime-Raw, Unimpl\n"
    monkeypatch.setattr(_region, "_last", None)
    with pytest.raises(RuntimeError, match=re.escape("nothing was recorded; call enable(), run something, call disable()")):
        profiler.stats()


def test_an_exception_and_a_fork_leave_it_usable():
    with pytest.raises(RuntimeError), profiler.region():
        torch.ones(2) + torch.ones(3)
    assert "aten::add" in profiler.per_op_time_in_ROI()
    profiler.enable()
    if (child := os.fork()) == 0:
        try:
            with profiler.region():
                torch.ones(2).exp()
            os._exit(0 if "aten::exp" in profiler.per_op_time_in_ROI() else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    torch.ones(2).neg()
    profiler.disable()
    assert "aten::neg" in profiler.per_op_time_in_ROI()


# --- names
def test_every_operator_has_a_signature_that_means_it():
    for operator in (o for o in _C._operator_names() if o.startswith("aten::")):
        assert operator in _signatures.find(_signatures.signature(operator)).exact


@pytest.mark.parametrize(
    ("text", "exact", "wrapped"),
    [
        (ADD, {"aten::add.Tensor"}, {"aten::add.Scalar"}),
        (MUL, {"aten::mul.Tensor"}, {"aten::mul.Scalar"}),
        ("at::Tensor at::CPUType::{anonymous}::mul(const at::Tensor&, c10::Scalar)", {"aten::mul.Scalar"}, set()),
        ("at::Tensor at::TypeDefault::randn(c10::IntArrayRef, const c10::TensorOptions&)", {"aten::randn"}, set()),
        ("at::Tensor at::CPUType::{anonymous}::sum(const at::Tensor&, c10::IntArrayRef, bool, c10::optional<c10::ScalarType>)", {"aten::sum.dim_IntList"}, set()),
        ("at::Tensor& at::CPUType::(anonymous namespace)::add_out(at::Tensor&, const at::Tensor&, const at::Tensor&, c10::Scalar)", {"aten::add.out"}, {"aten::add.Scalar_out"}),
        ("aten::addmm.default", {"aten::addmm"}, set()),
        ("mul.Tensor", {"aten::mul.Tensor"}, {"aten::mul.Scalar"}),
    ],
)
def test_names(text, exact, wrapped):
    found = _signatures.find(text)
    assert found.exact == exact and found.wrapped & set(_C._operator_names()) <= wrapped
    assert _signatures.find("aten::add").exact >= {"aten::add.Tensor", "aten::add.Scalar"}


# --- chart
def test_the_chart_of_the_readme():
    torch.hammerblade.profiler.chart.clear_beacon()
    torch.hammerblade.profiler.chart.add_beacon(ADDMM)
    torch.hammerblade.profiler.enable()
    torch.addmm(M, MAT1, MAT2)
    torch.hammerblade.profiler.disable()
    torch.hammerblade.profiler.chart.clear_beacon()  # forgets what to look for, not what was seen
    one = f'    {{\n        "offload": false,\n        "signature": "{ADDMM}"\n    }}'
    assert torch.hammerblade.profiler.chart.fancy_print() == f"[\n{one}\n]\n"
    with profiler.region():
        torch.addmm(M, MAT1, MAT2)
    assert chart.json() == "[]\n"


def test_a_chart_has_both_names_of_a_wrapped_number():
    def seen(*signatures):
        chart.clear()
        for s in signatures:
            chart.add(s)
        with profiler.region():
            M * 2
            M * M
            torch.nn.functional.linear(M, MAT2)
        return [entry["signature"] for entry in json.loads(chart.json())]

    assert seen(MUL) == [MUL, MUL]
    assert seen(MUL, "aten::mul.Scalar") == ["aten::mul.Scalar", MUL]
    assert seen("aten::mm", "aten::linear") == ["aten::linear", "aten::mm"]  # a composite, and what it is made of


def test_unknown_names_are_told_with_the_nearest():
    with pytest.warns(UserWarning, match=re.escape(f"the nearest is '{ADDMM}'")):
        chart.add(ADDMM.replace("addmm", "adddmm"))
    with pytest.warns(UserWarning, match="the nearest is 'aten::add.Tensor'"):
        chart.add("aten::add.Tensr")
    with pytest.warns(UserWarning, match=r"route, entry 0: no operator has the name 'aten::sofmax'.*the nearest is 'aten::softmax'"):
        route.set_route_from_json([{"signature": "aten::sofmax", "offload": True}])
    with pytest.warns(UserWarning, match="…"):
        chart.add("at::A::a(" * 100_000)
    with pytest.raises(TypeError, match="expected an operator's name or signature, got int"):
        chart.add(3)


# --- route
README_ROUTE = f"""[
{{
    "offload": false,
    "signature": "{ADDMM}"
}},
{{
    "offload": true,
    "signature": "{ADD}"
}}
]
"""


def test_the_route_of_the_readme(example):
    data = json.loads(README_ROUTE)
    torch.hammerblade.profiler.route.set_route_from_json(data)
    torch.hammerblade.profiler.enable()
    torch.addmm(M, MAT1, MAT2)
    # this add should be redispatch to HB
    result = torch.add(M, MAT1)
    torch.hammerblade.profiler.disable()
    assert torch.equal(result, MAT1 + 1) and result.device.type == "cpu"
    (measured,) = route.report()
    assert (measured.operator, measured.occurrence, measured.shapes, measured.device) == ("aten::add.Tensor", 0, [[2, 3], [2, 3]], example)
    assert measured.device_ms > 0 and measured.cpu_ms > 0
    raw = exec_time.raw_stack()
    assert raw.index("@CPU_LOG@") < raw.index("@HB_LOG@") < raw.index("at::ExampleType::{anonymous}::add") < raw.index("@OFFLOAD_KERNEL@__map_add")
    assert json.loads(route.json()) == data and route.json().startswith('[\n    {\n        "offload": false,\n')


def test_without_a_device_a_route_says_so_or_takes_the_one_that_comes_along():
    if torch.has_hammerblade:
        program = f"import facula; p = facula.hammerblade.profiler; p.route.set_route_from_json([{{'signature': {ADD!r}, 'offload': True}}]); p.enable(); print(p.route.target_device())"
        assert run_python("-c", program).stdout == "hammerblade\n"
        return
    done = run_python("-c", f"import facula; p = facula.hammerblade.profiler; p.route.set_route_from_json([{{'signature': {ADD!r}, 'offload': True}}]); p.enable()")
    assert "no device is loaded that operators could run on; torch.load_backend(path) loads one" in done.stderr


def test_calls_are_chosen_by_operator_occurrence_and_shape(example):
    def went(*entries):
        with route.routing([{"offload": True, **e} for e in entries]) as measured:
            a = M * 2
            M + M
            torch.addmm(M, MAT1, MAT2)
            a + 1
            torch.ones(4) + torch.ones(4)
        return [(m.operator, m.occurrence) for m in measured]

    assert went({"signature": ADDMM}, {"signature": ADD}) == [("aten::add.Tensor", 0), ("aten::addmm", 0)]  # in any order
    assert went({"signature": ADD, "offload": False}, {"signature": ADD}) == [("aten::add.Scalar", 1)]
    assert went({"signature": "aten::add", "occurrence": "all"}) == [("aten::add.Tensor", 0), ("aten::add.Scalar", 1), ("aten::add.Tensor", 2)]
    assert went({"signature": "aten::add", "occurrence": 2}) == [("aten::add.Tensor", 2)]
    assert went({"signature": "aten::add", "shapes": [[None, 3]]}) == [("aten::add.Tensor", 0), ("aten::add.Scalar", 1)]
    assert went({"signature": "aten::add", "shapes": [[4], [4]]}) == [("aten::add.Tensor", 0)]
    assert went({"signature": MUL}) == [("aten::mul.Scalar", 0)]
    with pytest.warns(UserWarning, match="no call was made for 1 of its entries: aten::mm") as told:
        assert went({"signature": "aten::mm"}) == []
    assert told[0].filename == __file__


def test_the_route_of_the_page(example, capsys, monkeypatch):
    page = (pathlib.Path(__file__).parents[2] / "docs" / "profiling.md").read_text()
    (block,) = re.findall(r"\n\n((?:    .*\n|\n)*    route = (?:.*\n)(?:    .*\n)*)", page)
    monkeypatch.setitem(sys.modules, "torch", torch)
    exec(compile(textwrap.dedent(block), "profiling.md", "exec"), {})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["aten::mm", "aten::add.Scalar", "aten::exp"]


def test_a_chart_is_a_route(example):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))

    def step():
        with profiler.region():
            (model(M) * 2).sum().backward()

    for name in ("aten::addmm", "aten::mm", "aten::mul", "aten::relu", ADD):
        chart.add(name)
    step()
    calls = json.loads(chart.json())
    assert [c["signature"] for c in calls][:4] == ["aten::addmm", "aten::relu", "aten::addmm", "aten::mul"] and len(calls) > 6
    route.set_route_from_json([{**c, "offload": True} for c in reversed(calls)])
    route.set_mode("check", rtol=1e-5, atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # every entry meets its call
        step()
    assert [m.signature for m in route.report()] == [c["signature"] for c in calls]


@pytest.mark.parametrize("mode", route.MODES)
def test_modes_change_no_result_of_a_right_device(example, mode):
    x = torch.arange(3.0, requires_grad=True)
    out, plain = torch.empty(0), torch.zeros(3)
    with route.routing([{"signature": name, "offload": True, "occurrence": "all"} for name in ("add", "add_", "max", "t")], mode) as measured:
        (x + 1 + x).sum().backward()
        assert plain.add_(2) is plain
        assert torch.add(plain, 1, out=out) is out
        values, indices = M.max(dim=1)
        view = MAT1.t()
    assert x.grad.tolist() == [2, 2, 2] and plain.tolist() == [2, 2, 2] and out.tolist() == [3, 3, 3]
    assert values.tolist() == [1, 1] and indices.tolist() == [0, 0] and view.data_ptr() == MAT1.data_ptr()
    assert [m.operator for m in measured] == [
        "aten::add.Scalar", "aten::add.Tensor", "aten::add.Tensor", "aten::add_.Scalar", "aten::add.Scalar_out", "aten::max.dim", "aten::t",
    ]  # fmt: skip -- the third is backward's, of two gradients
    assert all((m.cpu_ms is None) == (mode == "replace" and m.operator != "aten::t") for m in measured)
    assert all((m.largest_difference == 0) == (mode == "check") for m in measured)


def test_other_threads_are_not_routed(example):
    with route.routing([{"signature": "aten::add", "offload": True, "occurrence": "all"}]) as measured:
        other = threading.Thread(target=lambda: [M + M for _ in range(50)])  # not this thread's, so not routed
        other.start()
        for _ in range(50):
            M + M
        other.join()
    assert [m.occurrence for m in measured] == list(range(50))


def test_replace_gives_what_the_device_computes_and_check_finds_it(example, monkeypatch):
    wrong = route._Route.run

    def run(self, entry, occurrence, op, args, kwargs, go_on, shapes):
        computed = op

        class Off:  # a device that adds wrongly
            _schema, is_view, is_random, name = op._schema, op.is_view, op.is_random, op.name

            def __call__(self, *args, **kwargs):
                return computed(*args, **kwargs) + torch.tensor([0.0, 0.0, 0.5], device=example)

        return wrong(self, entry, occurrence, Off(), args, kwargs, go_on, shapes)

    monkeypatch.setattr(route._Route, "run", run)
    entry = [{"signature": "aten::add", "offload": True}]
    with route.routing(entry, "replace"):
        assert (torch.ones(3) + torch.ones(3)).tolist() == [2, 2, 2.5]
    with route.routing(entry, "measure"):
        assert (torch.ones(3) + torch.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match=r"route: aten::add, call 0, result 0: first divergence at \[2\]: example gave 2.5, the CPU 2.0 \(1 of 3 differ"):
        with route.routing(entry, "check"):
            torch.ones(3) + torch.ones(3)
    with route.routing(entry, "check", atol=1) as measured:
        torch.ones(3) + torch.ones(3)
    assert measured[0].largest_difference == 0.5
    route.set_route_from_json(entry)
    route.result_check_enable()
    with pytest.raises(RuntimeError, match="first divergence"), profiler.region():
        torch.ones(3) + torch.ones(3)
    assert not profiler.is_in_ROI()
    route.result_check_disable()
    with profiler.region():
        torch.ones(3) + torch.ones(3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"signature": "add"}', "line 1: expected a list in brackets"),
        ('[\n  {"signature": "aten::add", "offload": true},\n  {"signature": "aten::add"}\n]', 'line 3: "offload" is missing'),
        ('[\n\n{"signature": "aten::add", "offload": "yes"}]', 'line 3: "offload" must be true or false, got text'),
        ('[{"signature": 3, "offload": true}]', 'line 1: "signature" must be text'),
        ('[{"signature": "aten::add",\n "ofload": true}]', "line 1: unknown member 'ofload', allowed are signature, offload, occurrence, shapes"),
        ('[\n{"signature": "aten::add" "offload": true}]', "line 2: expecting ',' delimiter"),
        ("[\n3]", "line 2: expected an object, got a number"),
        ('[{"signature": "add", "offload": true}\n', "line 2: expected a comma or the end"),
        ('[{"signature": "add", "offload": true},\n]', "line 2: expecting value"),
        ('[]\n[]', "line 2: something follows"),
        ('[{"signature": "add", "offload": true, "occurrence": -1}]', '"occurrence" is a number of a call'),
        ('[{"signature": "add", "offload": true, "shapes": [2]}]', '"shapes" is a list of shapes'),
        ("[" * 100_000, "line 1: nested too deeply"),
    ],
)
def test_malformed_routes(text, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        route.set_route_from_json(text)
    assert route.json() == "[]\n"


def test_more_wrong_use_of_routes(example):
    with pytest.raises(ValueError, match="entry 1: expected an object, got text"):
        route.set_route_from_json([{"signature": "aten::add", "offload": False}, "aten::add"])
    with pytest.raises(ValueError, match="expected a list of entries or their JSON text, got dict"):
        route.set_route_from_json({})
    with pytest.raises(ValueError, match="the mode is one of measure, replace, check; got 'off'"):
        route.set_mode("off")
    with pytest.raises(RuntimeError, match="nowhere"):
        route.set_device("nowhere")
    with pytest.warns(UserWarning, match="'aten::linear' is made of other operators"):
        route.add("aten::linear", True)
    route.reset()
    route.add("aten::add", True)
    route.enable()
    for change in (route.reset, route.enable, lambda: route.set_route_from_json([]), lambda: route.set_device(None)):
        with pytest.raises(RuntimeError, match=re.escape("a route is acting; end the region or call route.disable() first")):
            change()
    M + M
    route.disable()
    route.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        route.set_route_from_json([])
        with profiler.region():
            M + M
    assert route.report() == []


def test_what_a_device_lacks(example):
    with profiler.region():
        M + M
        torch.sort(MAT1)
        torch.sort(MAT1.to(example))
    assert unimpl.counts() == {"aten::sort": 2}
    rows = unimpl.fancy_print().splitlines()
    assert rows[1] == " Native kernels that are used but not implemented for example:" and rows[0] == rows[2] == "=" * 74
    assert rows[3] == f"{'Function':180}   Times" and rows[4] == f"{'aten::sort':180}   2"


def test_fallback_in_the_ports_words(example):
    assert profiler.fallback.is_enabled()
    profiler.fallback.disable()
    assert not profiler.fallback.is_enabled()
    with pytest.raises(NotImplementedError):
        torch.sort(MAT1.to(example))
    profiler.fallback.enable()
    torch.sort(MAT1.to(example))


def test_copies_in_both_directions_are_the_devices(example):
    there = M.to(example)
    with profiler.region():
        there.cpu()
    assert "@BSG_API_CALL@__memcpy" in exec_time.raw_stack()
    with profiler.region():
        M.to(example)
    assert "@BSG_API_CALL@__memcpy" in exec_time.raw_stack()


def test_it_is_found_under_torchs_name(tmp_path):
    (tmp_path / "program.py").write_text("import torch.hammerblade.profiler as p; import torch; print(p is torch.hammerblade.profiler)")
    done = run_python("-m", "facula", "run", str(tmp_path / "program.py"))
    assert done.stdout == "True\n", done.stderr
