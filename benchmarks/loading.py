# SPDX-License-Identifier: Apache-2.0
"""DataLoader, Facula against PyTorch, interleaved in one run: `make bench-loading`.

    FACULA_ORACLE=/path/to/python make bench-loading        # a Python that has PyTorch 2.x

A step is an epoch: small items (four numbers and a class, 8192 of them) or pictures (3x224x224 float32, 256 of them) in
batches, made in the process itself or by two forked workers, which are started anew for each epoch or kept. The method is
benchmarks/reference.py's. Afterwards nothing may be left in /dev/shm.
"""

import argparse
import json
import os
import pathlib
import random
import time

import models
import quiet
import reference
import torch
from torch.utils.data import DataLoader, Dataset


class Items(Dataset):
    def __init__(self, count, shape):
        self.data, self.count = torch.randn(16, *shape), count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.data[i % 16] + 1, i % 10


KINDS = {"items": (8192, (4,), 64), "pictures": (256, (3, 224, 224), 16)}
LOADERS = {
    f"{kind}, {how}": (kind, options)
    for kind in KINDS
    for how, options in {
        "0 workers": {},
        "2 workers": dict(num_workers=2),
        "2 workers, kept": dict(num_workers=2, persistent_workers=True),
    }.items()
}
SETUP = "import loading; step = loading.make({name!r}); first = step()"


def make(name, scale=1):
    kind, options = LOADERS[name]
    count, shape, batch = KINDS[kind]
    torch.manual_seed(0)
    loader = DataLoader(Items(count // scale, shape), batch, **options)

    def epoch():
        return sum(float(x[0].sum()) + int(y.sum()) for x, y in loader)

    return epoch


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    reference.add_common_options(parser)
    parser.add_argument("--only", default="", help="loaders whose name contains this")
    parser.add_argument("--rounds", type=int, default=5, help="rounds per loader")
    parser.add_argument("--json", default=str(reference.HERE.parent / "build" / "bench-loading.json"), help="where all times go")
    options = reference.finish_options(parser, None)
    path, versions = reference.check_versions(options)
    path = "" if options.ours == "torch" else path
    rng, rows, started, before = random.Random(0), [], time.time(), quiet.snapshot()
    shared = set(os.listdir("/dev/shm"))
    print(f"{options.ours} {versions[0]} against torch {versions[1]}; ratio > 1: {options.ours} is faster")
    names = [name for name in LOADERS if options.only in name]
    for threads in options.threads:
        for number, name in enumerate(names):
            reference.progress(len(rows), len(names) * len(options.threads), name, started)
            times = models.measure(name, threads, options, path, number, SETUP)
            rows.append({"loader": name, "threads": threads, **times})
            if "error" in times:
                print(f"{name:26s} {times['side']}: {times['error']}")
                continue
            reference.summarise(times, rng)
            rows[-1].update(times)
            a, b = times["values"]
            differ = "" if abs(a - b) <= 1e-6 * abs(b) else f"   RESULTS DIFFER: {a} and {b}"
            print(f"{name:26s} {threads:3d} threads {times['ratio']:6.2f}x  [{times['low']:.2f}, {times['high']:.2f}]  "
                  f"{1e3 * times['ours_seconds']:8.1f} ms {1e3 * times['theirs_seconds']:8.1f} ms   ±{100 * times['noise']:.1f}%{differ}", flush=True)  # fmt: skip
    reference.progress(1, 1, "", started)
    left = sorted(set(os.listdir("/dev/shm")) - shared)
    print(f"left in /dev/shm: {', '.join(left) or 'nothing'}")
    state = quiet.snapshot(before)
    quiet.beware(state)
    output = pathlib.Path(options.json)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"versions": versions, "machine": state, "rows": rows}, indent=1))
    raise SystemExit(1 if left or any("error" in row for row in rows) else 0)


if __name__ == "__main__":
    main()
