# SPDX-License-Identifier: Apache-2.0
"""The runner's verdicts on this machine, now: `make test-bench` (minutes).

    python tests/bench/live.py                 # 20 runs that must say SAME, alone and beside a busy loop; 5 that must say SLOWER
    python tests/bench/live.py --runs 3 --record   # fewer, and their times into recorded.json for the tests
    python tests/bench/live.py --models        # the models at full size: their first losses and sums against PyTorch's (models.json)

A model's latency is also held against a plain timed loop in a process of its own.
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from facula._command_line import Progress

HERE = pathlib.Path(__file__).parent
PLAIN = """
import facula, statistics, time, known

facula.set_num_threads(1)
facula.manual_seed(1337)
m = known.Wide().eval(); x = m.get_example_inputs()[0]
times = []
with facula.no_grad():
    for _ in range(300):
        start = time.perf_counter(); m(x); times.append(time.perf_counter() - start)
print(statistics.median(times[50:]))
"""


@contextlib.contextmanager
def busy(wanted):
    """A loop beside us, for a part of the runs."""
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield
    finally:
        if loop:
            loop.kill()
            loop.wait()


def once(folder, backend):
    command = [sys.executable, "-m", "facula", "bench", "torchbench", "--performance", "--inference", "--float32", "-t1", "--quiet",
               "--only", f"path:{HERE / 'known.py'},class:Wide", "--backend", f"known:{backend}", "--output", str(folder / "x.csv")]  # fmt: skip
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.DEVNULL)
    return json.loads((folder / "x.csv.json").read_text())["rows"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=20, help="of each kind that must say SAME (20)")
    parser.add_argument("--record", action="store_true", help="write the times into recorded.json")
    parser.add_argument("--models", action="store_true", help="hold the models of full size against what PyTorch gave")
    options = parser.parse_args()
    if options.models:
        return models()
    kinds = [("alone", "same", False, options.runs), ("beside a busy loop", "same", True, options.runs), ("a tenth slower", "tenth", False, max(options.runs // 4, 1))]
    kept, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder, Progress("test-bench", sum(k[3] for k in kinds)) as bar:
        for title, backend, beside, runs in kinds:
            rows = []
            with busy(beside):
                for _ in range(runs):
                    rows.append(once(pathlib.Path(folder), backend))
                    bar.step(title)
            wanted = "SAME" if backend == "same" else "SLOWER"
            good = sum(r["verdict"] == wanted and (wanted == "SAME" or 0.85 <= r["speedup"] <= 0.95) for r in rows)
            print(f"{title}: {good} of {runs} say {wanted}; " + ", ".join(f"{r['speedup']:.3f} ±{100 * r['noise_floor']:.1f}%" for r in rows), flush=True)
            wrong += good < runs - runs // 20
            kept += [{"name": f"{title} {i}", "truth": wanted, "turns": slim(r["turns"])} for i, r in enumerate(rows[:2])]
            if title == "alone":
                path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
                plain = subprocess.run([sys.executable, "-m", "facula", "run", "/dev/stdin"], input=PLAIN, text=True, check=True,
                                       stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path})  # fmt: skip
                ratio = rows[-1]["abs_latency"] / 1e3 / float(plain.stdout)
                print(f"latency against a plain timed loop: {ratio:.3f}", flush=True)
                wrong += not 0.9 <= ratio <= 1.1
    if options.record:
        (HERE / "recorded.json").write_text(json.dumps(kept) + "\n")
    return 1 if wrong else 0


MODELS = """
import json, sys
from facula import _as_torch
_as_torch.install()
import record_models
record_models.bench_package()
print(json.dumps(record_models.facts_of(sys.argv[1], False)))
"""


def models():
    """First losses and sums to 1e-4. A second loss of two samples through batch norm shows rounding, not defects."""
    known = json.loads((HERE / "models.json").read_text())
    path, wrong = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")])), []
    with Progress("models", len(known)) as bar:
        for name, facts in known.items():
            bar.step(name)
            done = subprocess.run([sys.executable, "-c", MODELS, name], check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path})
            found = json.loads(done.stdout)
            for mode in ("train", "eval"):
                if mode in facts["full"]:
                    a, b = found[mode][0], facts["full"][mode][0]
                    good = abs(a - b) <= 1e-4 * max(abs(b), 1.0)
                    wrong += [name] * (not good)
                    print(f"{name:34} {mode:5} {a:.7g} PyTorch {b:.7g}" + ("" if good else "  DIFFERS"), flush=True)
    return 1 if wrong else 0


def slim(turns):
    return [[{side: {k: round(v, 7) for k, v in t.items() if k in ("wall", "cpu", "waited", "own", "stolen", "switches")} for side, t in r.items()} for r in p] for p in turns]


if __name__ == "__main__":
    sys.exit(main())
