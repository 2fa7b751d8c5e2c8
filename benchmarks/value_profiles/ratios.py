# SPDX-License-Identifier: Apache-2.0
"""What mending the naive operators is worth here, beside what it was worth where the waste was found (PyTorch on GPUs, GVProf's and
ValueExpert's reports). Each round runs every program naive and mended, in turn.

    python benchmarks/value_profiles/ratios.py [--rounds N] [--threads N] [--repeat N] [--image N] [--size N]
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent
# program, what of its output is its time, its size option, and what was reported
CASES = (
    ("1-spatial-convolution-unit.py", r"^all 53 convolutions +([\d.]+) ms", "image", "1.16 on a V100"),
    ("2-replication-pad3d.py", r"^ *both +([\d.]+) ms", "size", "1.15, of the operator 1.08"),
    ("3-embedding-unit.py", r"^ *forward +([\d.]+) ms", None, "1.57 on a 2080 Ti, 1.59 on an A100"),
)


def milliseconds(program, pattern, options):
    done = subprocess.run([sys.executable, "-m", "facula", "run", str(FOLDER / program), *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program}: {done.stderr.strip()}")
    return float(re.search(pattern, done.stdout, re.M)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--image", type=int, default=224)
    parser.add_argument("--size", type=int, default=100)
    given = parser.parse_args()
    print(f"{'program':>30}  naive ms  mended ms  ratio  noise  reported")
    for program, pattern, size, reported in CASES:
        options = ["--threads", str(given.threads), "--repeat", str(given.repeat), *((f"--{size}", str(getattr(given, size))) if size else ())]
        naive, mended = [], []
        for _ in range(given.rounds):
            naive.append(milliseconds(program, pattern, [*options, "--naive"]))
            mended += [milliseconds(program, pattern, options) for _ in range(2)]
        middle = statistics.median(mended)
        noise = statistics.median(mended[1::2]) / statistics.median(mended[::2])
        print(f"{program:>30}  {statistics.median(naive):8.2f}  {middle:9.2f}  {statistics.median(naive) / middle:5.2f}  {noise:5.2f}  {reported}", flush=True)


if __name__ == "__main__":
    main()
