#!/usr/bin/env python3
"""Measures and judges the budgets of this project: build_stats.py [--json FILE] [--only NAME,...] [--keep]

Works on a copy of the tree, so edits never touch yours: a clean build without ccache, then rebuilds after touching
a kernel and after adding operators as docs/add-an-operator.md says, then sizes, import time and the cost of a call.
Prints a table, writes JSON, ends with 1 if a budget is broken.
"""

import argparse
import json
import os
import pathlib
import re
import runpy
import shutil
import statistics
import subprocess
import sys
import time

import by_the_book

ROOT = pathlib.Path(__file__).resolve().parent.parent

# name: (what, unit, budget, aim); smaller is better.
BUDGETS = {
    "clean_build": ("clean build of library, bindings and tests, no ccache", "s", 480, 240),
    "slowest_file": ("slowest source", "s", 15, 10),
    "kernel_rebuild": ("edit one CPU kernel, build, import", "s", 15, 5),
    "operator_files": ("sources recompiled after adding an operator", "files", 4, 2),
    "operator_rebuild": ("add one operator, build, import", "s", 30, 15),
    **{
        f"{kind}_{what}": (f"{words} a new {noun} operator by the book", what, budget, aim)
        for kind, noun, files in (("unary", "unary", 2), ("binary", "binary", 2), ("reduce", "reducing", 3))
        for what, words, budget, aim in (("files", "files edited for", files, 2), ("lines", "lines added for", 12, 8),
                                         ("compilations", "sources recompiled after", 10, 6))
    },
    "cpp_program": ("compile 20 lines of C++ with -O2", "s", 1, 0.7),
    "import": ("import facula, warm", "ms", 120, 60),
    "library": ("libfacula.so, stripped", "MB", 25, 12),
    "python_add": ("torch.add of two 1-element tensors from Python", "us", 0.35, 0.2),
    "python_add_grad": ("the same with autograd recording", "us", 0.7, 0.4),
    "cpp_add": ("operator call from C++", "ns", 150, 60),
    "observe_on": ("what an observer of all events that does nothing adds to a call", "ns", 300, 150),
    "profile_on": ("what the profiler adds to a call", "ns", 1000, 400),
    "backend_lines": ("a device as a library (examples/backend)", "lines", 300, 250),
    "operator_tables": ("tables of operators outside of the rows", "lists", 0, 0),
    "largest_file": ("longest source", "lines", 1020, 800),
    "lines_of_prose": ("lines of headers for one line of contract", "lines", 8, 3),
    "observe_off": ("instructions of a call that the idle profiling layer adds", "%", 1, 0),
}
KERNEL = "src/backends/cpu/isa"  # any file here is "one CPU kernel"


class Tree:
    """A copy of the working tree with a build of its own."""

    def __init__(self, folder, python):
        self.folder, self.python = folder, python
        self.build = folder / "build/release"
        self.env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # a warm import has bytecode
        self.env.update(USE_CCACHE="0", CCACHE_DISABLE="1", PYTHONPATH=str(self.build / "python"))

    def copy_from(self, root):
        names = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True
        ).stdout.split(b"\0")
        for name in filter(None, names):
            source, target = root / os.fsdecode(name), self.folder / os.fsdecode(name)
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)

    def run(self, *command, **options):
        done = subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True, text=True, **options)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return done.stdout

    def configure(self):
        self.run("cmake", "--preset", "release", f"-DPython_EXECUTABLE={self.python}")

    def make(self):
        """Builds; gives seconds and the objects compiled."""
        log = self.build / ".ninja_log"
        before = len(log.read_text().splitlines()) if log.exists() else 0
        start = time.perf_counter()
        self.run("cmake", "--build", str(self.build))
        seconds = time.perf_counter() - start
        rows = [line.split("\t") for line in log.read_text().splitlines()[before:] if line.count("\t") == 4]
        compiled = {row[3]: (int(row[1]) - int(row[0])) / 1000 for row in rows if row[3].endswith(".o")}
        return seconds, compiled

    def importing(self):
        start = time.perf_counter()
        self.run(self.python, "-c", "import facula")
        return time.perf_counter() - start

    def edit(self, name, change):
        path = self.folder / name
        path.write_text(change(path.read_text()))


def source_of(object_name):
    return re.sub(r"^CMakeFiles/[^/]+\.dir/|\.o$", "", object_name)


def clean_build(tree, found):
    tree.configure()
    seconds, compiled = tree.make()
    found["clean_build"] = seconds
    ours = {k: v for k, v in compiled.items() if "nanobind" not in k}
    slowest = sorted(((v, source_of(k)) for k, v in ours.items()), reverse=True)[:10]
    found["slowest_file"] = slowest[0][0]
    found["details"]["slowest"] = [f"{s:.1f} s {name}" for s, name in slowest]
    found["details"]["files_compiled"] = len(compiled)
    found["details"]["cpu_seconds"] = round(sum(compiled.values()), 1)


def kernel_rebuild(tree, found):
    kernels = sorted((tree.folder / KERNEL).glob("*.cpp"))
    if not kernels:
        return
    times = {}
    for kernel in kernels:
        name = str(kernel.relative_to(tree.folder))
        tree.edit(name, lambda text: text + "\n// touched\n")
        seconds, _ = tree.make()
        times[name] = seconds + tree.importing()
    found["kernel_rebuild"] = statistics.median(times.values())
    found["details"]["kernel_rebuild"] = {k: round(v, 2) for k, v in times.items()}


def of_library(compiled):
    """What a user of the library waits for; programs that include the C++ front's list of operators follow."""
    sources = {name for name in compiled if not re.match(r"CMakeFiles/[^/]+\.dir/(tests|examples|tools)/", name)}
    return sorted(source_of(name) for name in sources)


# A new operator that is written in others: a row in its family's table.
FAMILY = "src/ops/copy.cpp"
ROW = """constexpr OpDef defs[] = {
    {.schema = "twice(Tensor self) -> Tensor", .composite = kernel<+[](const Tensor& a) { return add(a, a); }>()},"""


def operator_rebuild(tree, found):
    tree.edit(FAMILY, lambda text: text.replace("constexpr OpDef defs[] = {", ROW, 1))
    seconds, compiled = tree.make()
    found["operator_rebuild"] = seconds + tree.importing()
    found["details"]["operator_files"] = of_library(compiled)
    found["operator_files"] = len(of_library(compiled))
    tree.run(tree.python, "-c", "import facula; assert facula.twice(facula.ones(2)).tolist() == [2.0, 2.0]")


# What the page's operators give for 1 and -3 (and 2).
ANSWERS = {"unary": ("", [0.5, -0.75]), "binary": (", 2", [1.0, 5.0]), "reduce": ("", -26.0)}


def by_the_book_rebuild(tree, found):
    for kind, recipe in by_the_book.recipes().items():
        by_the_book.follow(tree.folder, recipe)
        _, compiled = tree.make()
        found[f"{kind}_files"], found[f"{kind}_lines"] = len(recipe.files), recipe.lines
        found[f"{kind}_compilations"] = len(of_library(compiled))
        found["details"][f"{kind}_compilations"] = of_library(compiled)
        arguments, answer = ANSWERS[kind]
        tree.run(tree.python, "-c", f"import facula as torch; x = torch.tensor([1.0, -3.0], dtype=torch.float64, requires_grad=True); "
                 f"f = lambda x: torch.{recipe.name}(x{arguments}); assert f(x).tolist() == {answer}, f(x); "
                 f"torch.autograd.gradcheck(f, x); assert torch.{recipe.name}.__doc__")  # fmt: skip


PROGRAM = """#include <facula/facula.h>
#include <iostream>

using facula::Tensor;

int main() {
  facula::manual_seed(0);
  Tensor x = facula::randn({64, 3});
  Tensor y = x.mm(facula::tensor({1.0, -2.0, 0.5}).reshape({3, 1}));
  Tensor w = facula::zeros({3, 1}, facula::requires_grad());
  for (int step = 0; step < 100; ++step) {
    Tensor loss = facula::mse_loss(x.mm(w), y);
    loss.backward();
    facula::NoGradGuard no_grad;
    w -= w.grad() * 0.1;
    w.mutable_grad() = Tensor();
    if (step % 10 == 0) std::cout << loss.item<double>() << "\\n";
  }
  std::cout << w << "\\n";
}
"""


def cpp_program(tree, found):
    """A program sees the public headers only, as if they were installed."""
    source = tree.folder / "program.cpp"
    source.write_text(PROGRAM)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        tree.run("c++", "-std=c++20", "-O2", "-c", str(source), "-o", str(source.with_suffix(".o")),
                 f"-I{tree.folder / 'include'}", f"-I{tree.build / 'generated'}")  # fmt: skip
        times.append(time.perf_counter() - start)
    found["cpp_program"] = min(times)


def house(tree, found):
    """What is counted without a build."""
    found["backend_lines"] = len((tree.folder / "examples/backend/example.cpp").read_text().splitlines())
    told = subprocess.run([sys.executable, "tools/check_tables.py"], cwd=tree.folder, capture_output=True, text=True)
    found["operator_tables"] = len(told.stdout.splitlines()) if told.returncode else 0
    sources = [f for folder in ("include", "src", "python", "tools", "tests") for f in (tree.folder / folder).rglob("*") if f.suffix in (".cpp", ".h", ".hpp", ".py", ".def")]
    lengths = {str(f.relative_to(tree.folder)): len(f.read_text().splitlines()) for f in sources}
    longest = max(lengths, key=lengths.get)
    found["largest_file"], found["details"]["longest source"] = lengths[longest], longest
    headers = [line.strip() for f in sources if f.suffix in (".h", ".hpp") and f.parts[len(tree.folder.parts)] in ("include", "src") for line in f.read_text().splitlines() if line.strip()]
    found["lines_of_prose"] = len(headers) / sum(line.startswith(("//", "/*", "*")) for line in headers)


def sizes(tree, found):
    package = tree.build / "python/facula"
    shown = {}
    for library in [package / "libfacula.so", *package.glob("_C*.so")]:
        stripped = tree.folder / (library.name + ".stripped")
        tree.run("strip", "-o", str(stripped), str(library))
        shown[library.name] = [round(library.stat().st_size / 1e6, 2), round(stripped.stat().st_size / 1e6, 2)]
    found["library"] = shown["libfacula.so"][1]
    found["details"]["sizes_MB (built, stripped)"] = shown


def import_time(tree, found):
    def timed(code):
        start = time.perf_counter()
        tree.run(tree.python, "-c", code)
        return time.perf_counter() - start

    tree.importing()
    with_it, without = [], []
    for _ in range(15):
        with_it.append(timed("import facula"))
        without.append(timed("pass"))
    found["import"] = (min(with_it) - min(without)) * 1000


PYTHON_CALL = """
import facula as torch, timeit
a, b = torch.ones(1), torch.ones(1)
g = torch.ones(1, requires_grad=True)
add = torch.add
def best(f):
    n = 50000
    return min(timeit.repeat(f, number=n, repeat=15)) / n * 1e6
print(best(lambda: add(a, b)) - best(lambda: None), best(lambda: add(g, b)) - best(lambda: None))
"""


def python_calls(tree, found):
    plain, grad = tree.run(tree.python, "-c", PYTHON_CALL).split()
    found["python_add"], found["python_add_grad"] = float(plain), float(grad)


def cpp_calls(tree, found):
    tree.run("cmake", "--build", str(tree.build), "--target", "facula_call_cost")
    program = str(tree.build / "facula_call_cost")
    found["cpp_add"] = min(float(tree.run(program, "time")) for _ in range(5))
    found["observe_on"] = min(float(tree.run(program, "observed")) for _ in range(5)) - found["cpp_add"]
    found["profile_on"] = min(float(tree.run(program, "profiled")) for _ in range(5)) - found["cpp_add"]
    if not shutil.which("valgrind"):
        return

    def instructions(mode, n):
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, mode, str(n)],
            env=dict(tree.env, OMP_NUM_THREADS="1", FACULA_CPU_CAPABILITY="avx2"), capture_output=True, text=True,
        )  # fmt: skip
        return int(re.search(r"Collected : (\d+)", done.stderr).group(1))

    def per_call(mode):
        return (instructions(mode, 3000) - instructions(mode, 1000)) / 2000

    never, off = per_call("never"), per_call("off")
    found["observe_off"] = max(0.0, (off - never) / never * 100)
    found["details"]["instructions_per_call"] = {"never observed": never, "observed before, off now": off}


STEPS = [clean_build, house, kernel_rebuild, operator_rebuild, by_the_book_rebuild, cpp_program, sizes, import_time, python_calls, cpp_calls]


def judge(name, value):
    _, _, budget, aim = BUDGETS[name]
    return "aim met" if value <= aim else "within budget" if value <= budget else "BROKEN"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", default=str(ROOT / "build/stats.json"))
    parser.add_argument("--only", help="steps, by name: " + ", ".join(s.__name__ for s in STEPS))
    parser.add_argument("--keep", action="store_true", help="use the copy of the last run as it is")
    options = parser.parse_args()

    folder = ROOT / "build/stats"
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    tree = Tree(folder, os.path.abspath(sys.executable))
    if not options.keep:
        tree.copy_from(ROOT)
    machine = runpy.run_path(str(ROOT / "python/facula/machine"))["machine"]
    found, failed, before = {"details": {}}, [], machine.snapshot()
    for step in STEPS:
        if options.only and step.__name__ not in options.only.split(","):
            continue
        print(f"... {step.__name__}", file=sys.stderr, flush=True)
        try:
            step(tree, found)
        except Exception as error:  # one step that cannot be measured must not hide the others
            failed.append(step.__name__)
            found["details"][f"{step.__name__} failed"] = str(error)
            print(f"{step.__name__} could not be measured: {error}", file=sys.stderr)

    rows = []
    for name, (what, unit, budget, aim) in BUDGETS.items():
        if name in found:
            verdict = judge(name, found[name])
            rows.append({"name": name, "what": what, "value": round(found[name], 3), "unit": unit, "budget": budget,
                         "aim": aim, "verdict": verdict})  # fmt: skip
            print(f"{what:58s} {found[name]:9.2f} {unit:5s} budget {budget:<6g} aim {aim:<6g} {verdict}")
        else:
            print(f"{what:58s}   not measured")
    for line in found["details"].get("slowest", []):
        print(f"    {line}")
    report = {"cores": os.cpu_count(), "machine": machine.snapshot(before), "rows": rows, "details": found["details"]}
    pathlib.Path(options.json).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    print(f"written to {options.json}")
    return 1 if failed or any(row["verdict"] == "BROKEN" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
