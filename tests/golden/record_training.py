# SPDX-License-Identifier: Apache-2.0
"""Records the losses of the two training examples: `python tests/golden/record_training.py` with PyTorch 2.x.

training.json holds, for each example, 30 losses in float64, 30 in float32, and the spread S: the largest
|float32 - float64| over all steps of 24 float32 runs of PyTorch that differ in rounding only. Eight of them
vary the machinery (AVX2 or scalar kernels, 1 or 2 threads, oneDNN on or off); in sixteen, every initial weight is
moved to itself or to one of its two float32 neighbours at random. tests/test_training.py says what is done with S.
"""

import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ["train_convnet", "train_transformer"]
STEPS, NUDGED = 30, 16


def nudge(torch, make_parameters, seed):
    """make_parameters with weights moved by -1, 0 or 1 unit in the last place (uniform numbers of another stream)."""

    def nudged(module, dtype):
        parameters = make_parameters(module, dtype)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in parameters.values():
                towards = torch.randint(-1, 2, parameter.shape, generator=generator)
                moved = torch.nextafter(parameter, parameter + towards)
                parameter.copy_(moved)
        return parameters

    return nudged


def vary_machinery(torch, example):
    runs = []
    for threads in (1, 2):
        for onednn in (True, False):
            torch.set_num_threads(threads)
            torch.backends.mkldnn.enabled = onednn
            runs.append(example.train(torch, STEPS, "float32"))
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = True
    return runs


def scalar_kernels(torch, name):
    """vary_machinery in a process without AVX2 kernels. Those draw other normal numbers: hand it ours."""
    example = importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        given = [getattr(example, part)(torch, *[torch.float32] * (part == "make_parameters" or name == "train_convnet"))
                 for part in ("make_data", "make_parameters")]  # fmt: skip
        torch.save(given, f"{folder}/given.pt")
        environment = {**os.environ, "ATEN_CPU_CAPABILITY": "default"}
        command = [sys.executable, __file__, name, f"{folder}/given.pt"]
        return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def with_given_numbers(torch, name, path):
    example = importlib.import_module(name)
    example.make_data = lambda *_: torch.load(path)[0]
    example.make_parameters = lambda *_: torch.load(path)[1]
    return vary_machinery(torch, example)


def record(torch, name):
    example = importlib.import_module(name)
    exact = example.train(torch, STEPS, "float64")
    runs = vary_machinery(torch, example) + scalar_kernels(torch, name)
    original = example.make_parameters
    for seed in range(NUDGED):
        example.make_parameters = nudge(torch, original, seed)
        runs.append(example.train(torch, STEPS, "float32"))
    example.make_parameters = original
    spread = max(abs(a - b) for run in runs for a, b in zip(run, exact))
    return {"float64": exact, "float32": runs[0], "runs": len(runs), "spread": spread}


def main(torch):
    torch.set_num_threads(1)
    sys.path.insert(0, str(ROOT / "examples"))
    if len(sys.argv) == 3:
        print(json.dumps(with_given_numbers(torch, *sys.argv[1:])))
        return
    golden = {"torch": torch.__version__}
    golden.update({name: record(torch, name) for name in EXAMPLES})
    path = pathlib.Path(__file__).with_name("training.json")
    path.write_text(json.dumps(golden, indent=1) + "\n")
    for name in EXAMPLES:
        print(name, f"spread {golden[name]['spread']:.3g} over {golden[name]['runs']} runs")


if __name__ == "__main__":
    import torch

    main(torch)
