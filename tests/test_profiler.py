# SPDX-License-Identifier: Apache-2.0
"""torch.profiler: what is recorded, what is made of it, and what goes wrong."""

import csv
import gzip
import json
import os
import pickle
import re
import subprocess
import sys
import threading

import pytest

pytestmark = pytest.mark.threads


@pytest.fixture
def own(torch):
    if torch.__name__ == "torch":
        pytest.skip("Facula's own interface")


def step(torch):
    model = torch.nn.Linear(10, 5)
    with torch.profiler.record_function("model_step"):
        loss = model(torch.ones(3, 10)).relu().sum()
    loss.backward()


def test_averages_and_their_table(torch):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_flops=True) as p:
        step(torch)
    averages = {e.key: e for e in p.key_averages()}
    assert {"model_step", "aten::linear", "aten::relu", "aten::sum"} <= set(averages)
    assert averages["model_step"].count == 1
    assert averages["model_step"].cpu_time_total >= averages["aten::linear"].cpu_time_total >= averages["aten::linear"].self_cpu_time_total > 0
    assert averages["aten::addmm"].flops in (300, 315)  # PyTorch counts no additions of the bias
    table = p.key_averages().table(sort_by="cpu_time_total", row_limit=3)
    lines = table.splitlines()
    assert set(lines[0]) == set(lines[2]) == {"-", " "} and len(lines[0]) == len(lines[1])
    assert re.split(r"\s{2,}", lines[1].strip())[:-1] == ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "CPU Mem", "Self CPU Mem", "# of Calls"]
    assert len(lines) == 8 and lines[-1].startswith("Self CPU time total: ")
    shaped = p.key_averages(group_by_input_shape=True)
    assert "[3, 10]" in next(str(e.input_shapes) for e in shaped if e.key == "aten::linear")


def test_self_times_add_up(torch):
    with torch.profiler.profile() as p:
        step(torch)
    events = p.events()
    for event in events:
        if event.name == "model_step":
            inside = sum(child.cpu_time_total for child in event.cpu_children)
            assert event.self_cpu_time_total == pytest.approx(event.cpu_time_total - inside, abs=0.01)


def test_memory_of_a_call(torch):
    x = torch.ones(1000)
    with torch.profiler.profile(profile_memory=True) as p:
        y = x.exp()
    assert {e.key: e.cpu_memory_usage for e in p.key_averages()}["aten::exp"] == 4000 and y.numel() == 1000


def test_a_folder_in_a_files_place_is_refused_before_the_program_runs(tmp_path):
    program = tmp_path / "runs.py"
    program.write_text("print('ran')")
    done = subprocess.run([sys.executable, "-m", "facula", "profile", "--html", str(tmp_path), str(program)], capture_output=True, text=True)
    assert done.returncode == 2 and "it is a folder" in done.stderr and "ran" not in done.stdout, done


def test_memory_is_not_lost_where_stacks_are_taken(torch):
    """A stack asks for the interpreter's lock, which lets go of what waits for it: frees, that were told to nobody."""
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.Linear(64, 16))
    x = torch.randn(8, 16)

    def step():
        model.zero_grad()
        model(x).square().mean().backward()

    step()
    for stacks in (False, True):
        with torch.profiler.profile(profile_memory=True, with_stack=stacks) as p:
            for _ in range(10):
                step()
            model.zero_grad()
        live = {}
        for _, size, _, storage, *_ in sorted(p._recorded().memory()):
            if size > 0:
                live[storage] = size
            else:
                live.pop(storage, None)
        assert sum(live.values()) == 0, (stacks, live)  # all that was allocated inside is gone


def test_a_schedule(torch, tmp_path):
    ready = []
    plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    actions = [plan(i).name for i in range(10)]
    assert actions == ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE"]
    with torch.profiler.profile(schedule=plan, on_trace_ready=lambda p: ready.append({e.key for e in p.key_averages()})) as p:
        for i in range(10):
            (torch.ones(2).exp if i in (3, 4) else torch.ones(2).sin)()
            p.step()
    assert len(ready) == 2 and "aten::exp" in ready[0] and "aten::exp" not in ready[1] and "aten::sin" in ready[1]
    assert any(name.startswith("ProfilerStep#") for name in ready[0])
    with torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(str(tmp_path / "a" / "b"), "me")):
        torch.ones(2)
    (written,) = os.listdir(tmp_path / "a" / "b")
    assert re.fullmatch(r"me\.\d+\.pt\.trace\.json", written)


def test_the_trace(torch, own, tmp_path):
    x = torch.ones(3, 3, requires_grad=True)
    with torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as p:
        with torch.profiler.record_function('a "name" \\ \n'):
            x.mm(x).sum().backward()
    p.add_metadata("run", "seven")
    p.export_chrome_trace(tmp_path / "t.json")
    p.export_chrome_trace(tmp_path / "t.json.gz")
    trace = json.loads((tmp_path / "t.json").read_text())
    assert json.load(gzip.open(tmp_path / "t.json.gz")) == trace
    assert trace["run"] == "seven" and trace["record_shapes"] == 1
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    product = next(e for e in spans if e["name"] == "aten::mm")
    assert product["args"]["Input Dims"] == [[3, 3], [3, 3]] and product["args"]["Input type"] == ["float32", "float32"]
    assert "test_profiler.py(" in product["args"]["Call stack"]
    assert 'a "name" \\ \n' in {e["name"] for e in spans}
    starts = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "s"}
    ends = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "f"}
    assert starts and starts.keys() == ends.keys()
    backward = next(e for e in spans if e["name"] == "MmBackward0")
    assert starts[backward["args"]["External id"]]["ts"] == product["ts"]  # joined to its forward call
    assert any(e["name"] == "[memory]" for e in trace["traceEvents"])
    check_trace(trace)


def check_trace(trace):
    """The rules of Chrome's trace format, by which Perfetto reads it: what breaks one is dropped or drawn elsewhere."""
    assert trace["displayTimeUnit"] in ("ms", "ns")
    tracks, flows, named = {}, {}, set()
    for e in trace["traceEvents"]:
        assert e["ph"] in "XMisf" and isinstance(e["name"], str) and isinstance(e["pid"], int) and isinstance(e["tid"], int), e
        assert isinstance(e.get("args", {}), dict)
        if e["ph"] == "M":
            assert e["name"] in ("process_name", "thread_name") and isinstance(e["args"]["name"], str)
            named.add((e["name"], e["pid"], e["tid"] if e["name"] == "thread_name" else 0))
            continue
        assert e["ts"] >= 0
        if e["ph"] == "X":
            assert e["dur"] >= 0
            tracks.setdefault((e["pid"], e["tid"]), []).append((e["ts"], -e["dur"]))
        elif e["ph"] == "i":
            assert e["s"] in "gpt"
        else:
            ends = flows.setdefault((e["cat"], e["name"], e["id"]), {})
            assert e["ph"] not in ends and (e["ph"] == "s" or e["bp"] == "e")
            ends[e["ph"]] = e
    for (pid, tid), spans in tracks.items():
        assert ("process_name", pid, 0) in named and (tid == 0 or ("thread_name", pid, tid) in named)
        open_ends = []
        for start, negative in sorted(spans):  # spans of a track nest
            while open_ends and open_ends[-1] <= start + 1e-4:
                open_ends.pop()
            assert not open_ends or start - negative <= open_ends[-1] + 1e-3
            open_ends.append(start - negative)
    for ends in flows.values():
        assert ends.keys() == {"s", "f"} and ends["s"]["ts"] <= ends["f"]["ts"]
        for e in ends.values():  # each end lies in a span, which the arrow joins
            assert any(start <= e["ts"] <= start - negative for start, negative in tracks[e["pid"], e["tid"]])


def test_the_trace_of_threads_and_devices(torch, own, tmp_path):
    def work():
        x = torch.ones(3, requires_grad=True)
        for _ in range(3):
            (x * 2).exp().sum().backward()

    def elsewhere():
        x = torch.ones(3, device="null")
        for _ in range(3):
            (x + x).to("cpu")

    with torch.profiler.profile(profile_memory=True) as p:
        threads = [threading.Thread(target=f) for f in (work, work, elsewhere, elsewhere)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    p.export_chrome_trace(tmp_path / "t.json")
    trace = json.loads((tmp_path / "t.json").read_text())
    check_trace(trace)
    events = trace["traceEvents"]
    assert "null:0" in {e["args"]["name"] for e in events if e["name"] == "process_name"}
    memory = [e for e in events if e["name"] == "[memory]"]
    assert [e["ts"] for e in memory] == sorted(e["ts"] for e in memory)
    on_cpu = [e["args"] for e in memory if e["args"]["Device Type"] == 0]
    assert on_cpu[0]["Total Allocated"] == on_cpu[0]["Bytes"]
    assert all(b["Total Allocated"] == a["Total Allocated"] + b["Bytes"] for a, b in zip(on_cpu, on_cpu[1:]))


def test_events_are_made_when_they_are_read(torch, own):
    x = torch.ones(2, 3)
    with torch.profiler.profile(record_shapes=True, with_flops=True) as p:
        for i in range(3):
            with torch.profiler.record_function("outer"):
                x.mm(x.t())
            torch.cat([x, x[:i]])
    events = p.events()
    outer = [e for e in events if e.name == "outer"]
    assert len(outer) == 3 and all(e.cpu_parent is None and e.is_user_annotation for e in outer)
    product = next(e for e in outer[0].cpu_children if e.name == "aten::mm")
    assert product.cpu_parent is outer[0] and product in events and product.input_shapes == [[2, 3], [3, 2]] and product.flops == 24
    assert outer[0].flops is None and product.time_range.elapsed_us() == pytest.approx(product.cpu_time_total)
    assert [e.input_shapes for e in events if e.name == "aten::cat"] == [[[[2, 3], [i, 3]], []] for i in range(3)]
    product.input_shapes.append("mine")  # what is changed stays, of this event only
    product.note = 1
    assert product.input_shapes[-1] == "mine" and product.note == 1 and product.input_shapes is product.input_shapes
    assert [e for e in events if e.name == "aten::mm"][1].input_shapes == [[2, 3], [3, 2]]
    with pytest.raises(AttributeError, match="'FunctionEvent' object has no attribute 'nothing'"):
        product.nothing
    again = pickle.loads(pickle.dumps(outer[2]))
    assert again.name == "outer" and again.cpu_children[0].cpu_parent is again and again.cpu_time_total == outer[2].cpu_time_total
    assert not hasattr(again, "nothing") and "name=outer" in repr(again)
    del p, outer
    assert events[0].name == "outer"  # keeps what was recorded


def test_stacks_and_modules(torch, own, tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    with torch.profiler.profile(with_stack=True, with_modules=True) as p:
        model(torch.ones(2, 4))
    modules = {e.key: e for e in p.module_averages()}
    assert set(modules) == {"nn.Module: Sequential", "nn.Module: Sequential.0", "nn.Module: Sequential.1"}
    assert modules["nn.Module: Sequential"].cpu_time_total > modules["nn.Module: Sequential.0"].cpu_time_total
    table = p.key_averages(group_by_stack_n=3).table()
    assert "Source Location" in table and "linear.py(" in table
    p.export_stacks(tmp_path / "s.txt")
    line = next(line for line in (tmp_path / "s.txt").read_text().splitlines() if line.split(" ")[0].endswith("aten::linear"))
    assert "test_profiler.py" in line and int(line.rsplit(" ", 1)[1]) > 0


def test_memory_timeline(torch, own, tmp_path):
    with torch.profiler.profile(profile_memory=True, with_stack=True) as p:
        a = torch.ones(1000)
        b = torch.ones(500)
        del a
    p.export_memory_timeline(tmp_path / "m.json")
    times, sizes = json.loads((tmp_path / "m.json").read_text())
    assert sizes == [4000, 6000, 2000] and times == sorted(times) and b.numel() == 500
    p.export_memory_timeline(tmp_path / "m.html")
    assert "2000]" in (tmp_path / "m.html").read_text()
    p.export_memory_snapshot(tmp_path / "m.pickle")
    snapshot = pickle.loads((tmp_path / "m.pickle").read_bytes())
    assert [e["action"] for e in snapshot["device_traces"][0]] == ["alloc", "alloc", "free_requested", "free_completed"]
    assert [s["total_size"] for s in snapshot["segments"]] == [2000]
    assert snapshot["segments"][0]["blocks"][0]["frames"][0]["filename"].endswith("test_profiler.py")
    with pytest.raises(RuntimeError, match="nothing was allocated on null"):
        p.export_memory_timeline(tmp_path / "n.json", device="null")


def test_an_exception_inside_and_profiles_inside_of_profiles(torch):
    with torch.profiler.profile() as outer:
        with pytest.raises(RuntimeError):
            with torch.profiler.profile() as inner, torch.profiler.record_function("part"):
                torch.ones(2) + torch.ones(3)
        torch.ones(2).exp()
    assert {"part", "aten::add"} <= {e.key for e in inner.key_averages()}
    names = {e.key for e in outer.key_averages()}
    assert {"part", "aten::add", "aten::exp"} <= names and "aten::exp" not in {e.key for e in inner.key_averages()}


def test_all_threads_are_recorded(torch):
    def work():
        for _ in range(50):
            torch.ones(8).exp()

    threads = [threading.Thread(target=work) for _ in range(8)]
    with torch.profiler.profile() as p:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    if torch.__name__ == "facula":
        assert {e.key: e.count for e in p.key_averages()}["aten::exp"] == 400
        assert len({e.thread for e in p.events()}) == 8


def test_older_names(torch):
    with torch.autograd.profiler.profile(record_shapes=True) as p:
        with torch.autograd.profiler.record_function("label"):
            torch.ones(3).exp()
    assert "aten::exp" in str(p) and p.self_cpu_time_total > 0
    assert {"label", "aten::exp"} <= {e.key for e in p.key_averages()}
    with torch.autograd.profiler.profile(enabled=False) as p:
        pass

    @torch.profiler.record_function("decorated")
    def f():
        return torch.ones(1)

    with torch.profiler.profile() as p:
        f()
        f()
    assert {e.key: e.count for e in p.key_averages()}["decorated"] == 2


def test_what_is_refused(torch, own, tmp_path):
    p = torch.profiler.profile()
    with pytest.raises(AssertionError, match="nothing was recorded yet"):
        p.key_averages()
    with p:
        torch.ones(1)
        with pytest.raises(RuntimeError, match="started already"):
            p.start()
    with pytest.raises(AttributeError, match="cannot sort by 'speed': expected one of count, cpu_time"):
        p.key_averages().table(sort_by="speed")
    with pytest.raises(RuntimeError, match=r"profile\(with_stack=True\)"):
        p.export_stacks(tmp_path / "s")
    with pytest.raises(RuntimeError, match=r"profile\(profile_memory=True\)"):
        p.export_memory_timeline(tmp_path / "m")
    with pytest.raises(OSError):
        p.export_chrome_trace(tmp_path / "missing" / "t.json")
    with pytest.raises(OSError):
        p.export_chrome_trace("/dev/full")
    with pytest.raises(ValueError, match="activities are of"):
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.XPU])
    with pytest.raises(AssertionError, match="active must be positive"):
        torch.profiler.schedule(wait=0, warmup=0, active=0)
    with pytest.raises(RuntimeError, match="emit_nvtx"), torch.autograd.profiler.emit_nvtx():
        pass
    with torch.autograd.profiler.emit_nvtx(enabled=False), torch.autograd.profiler.emit_itt(enabled=False):
        pass
    with pytest.raises(TypeError, match="Expected ProfilerActivity"):
        torch.profiler.profile(activities=["cpu"])
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        torch.profiler.profile(activities=[])
    assert p.events().total_average().key == "Total"


PROGRAM = """
import sys, torch
x = torch.ones(64, 64, requires_grad=True)
(x @ x).relu().sum().backward()
torch.ones(1 << 20).double()
print("done", sys.argv[1:])
sys.exit(3)
"""


def test_from_outside(torch, own, tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    files = {name: tmp_path / name for name in ("t.json", "r.csv", "e.jsonl", "r.html")}
    done = subprocess.run([sys.executable, "-m", "facula", "profile", "--memory", "--trace", files["t.json"], "--csv", files["r.csv"], "--jsonl", files["e.jsonl"],
                           "--html", files["r.html"], tmp_path / "p.py", "a", "-b"], capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "done ['a', '-b']" in done.stdout and "aten::mm" in done.stdout and "GFLOP/s" in done.stdout
    assert json.loads(files["t.json"].read_text())["traceEvents"]
    assert files["r.csv"].read_text().startswith("name,calls,self_us")
    copy = next(row for row in csv.DictReader(files["r.csv"].read_text().splitlines()) if row["name"] == "aten::_to_copy")  # by aten::copy_
    assert float(copy["gbytes"]) == pytest.approx(float(copy["bytes"]) / float(copy["total_us"]) / 1e3, rel=0.01, abs=0.002)
    rows = [json.loads(line) for line in files["e.jsonl"].read_text().splitlines()]
    product = next(r for r in rows if r["name"] == "aten::mm" and not r["forward"])
    assert product["shapes"] == [[64, 64], [64, 64]] and product["flops"] == 2 * 64**3 and product["bytes"] == 3 * 64 * 64 * 4
    assert "aten::mm" in files["r.html"].read_text()
    done = subprocess.run([sys.executable, "-m", "facula", "profile", "--sort", "speed", tmp_path / "p.py"], capture_output=True, text=True)
    assert done.returncode == 2 and "cannot sort by 'speed'" in done.stderr
    done = subprocess.run([sys.executable, "-m", "facula", "profile", "--trace", "/nowhere/t.json", tmp_path / "p.py"], capture_output=True, text=True)
    assert done.returncode == 2 and "cannot write /nowhere/t.json" in done.stderr


def test_steps_and_batches_are_ranges(torch):
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=0.5)
    with torch.profiler.profile() as profile:
        for batch in torch.utils.data.DataLoader([torch.ones(2)] * 2):
            optimizer.zero_grad()
            (p * batch).sum().backward()
            optimizer.step()
    names = [e.name for e in profile.events() if "#" in e.name]
    batch = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert names == [batch, "Optimizer.zero_grad#SGD.zero_grad", "Optimizer.step#SGD.step"] * 2 + [batch]


def test_a_backward_names_its_forward(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.profiler.profile() as profile:
        x.exp().sum().backward()
    forward = next(e for e in profile.events() if e.name == "aten::exp")
    backward = [e for e in profile.events() if "ExpBackward0" in e.name]
    assert forward.sequence_nr >= 0 and forward.fwd_thread == 0 and forward.scope == 0 and forward.kwinputs == {}
    assert backward and all(e.sequence_nr == forward.sequence_nr and e.fwd_thread == forward.thread and e.scope == 1 for e in backward)
