# SPDX-License-Identifier: Apache-2.0
"""Records what the model files give under PyTorch: losses of two training steps, sums of an inference, at the size for tests
and at full size with two samples; parameters, and those of the package that has the original.

    python tests/bench/record_models.py [NAME …]     # under a Python that has PyTorch (and torchvision): adds to models.json
"""

import importlib.util
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
BENCH = HERE.parents[1] / "python" / "facula" / "tools" / "bench"
OPTIONS = {
    "training": True, "compat": False, "amp": False, "amp_dtype": None, "device": "cpu", "randomize_input": False, "accuracy": False,
    "collect_outputs": False, "use_eval_mode": False, "ddp": False, "channels_last": False, "float16": False, "bfloat16": False, "float32": False,
}  # fmt: skip
FULL_BATCH = 2


def bench_package():
    """The runner's package under a name of its own: facula is not imported."""
    spec = importlib.util.spec_from_file_location("facula_bench", BENCH / "__init__.py", submodule_search_locations=[str(BENCH)])
    module = importlib.util.module_from_spec(spec)
    sys.modules["facula_bench"] = module
    spec.loader.exec_module(module)


def facts_of(name, tiny):
    """Of one model under whatever `torch` is: {"train": losses of two steps, "eval": sum of the outputs, "parameters"}."""
    import torch
    from facula_bench import _accuracy, _load, _plan, _step, _suites

    path, found = _plan.models_folder() / f"{name}.py", {}
    for mode in ("train", "eval"):
        if mode == "train" and name in _suites.NO_TRAINING:
            continue
        options = {**OPTIONS, "training": mode == "train"}
        torch.manual_seed(_load.SEED)
        loaded = _load._of_file(path, name, mode == "train", None if tiny else FULL_BATCH, tiny)
        _step.prepare(loaded, options)
        step = _step.Step(loaded, loaded.module, options)
        found[mode] = [_accuracy.one_number(step()) for _ in range(2 if mode == "train" else 1)]
        found["parameters"] = sum(p.numel() for p in loaded.module.parameters())
    return found


def built(name):
    """Parameters of the full size, and of the package's original."""
    import torch
    from facula_bench import _load, _plan, _suites

    with torch.device("meta"):
        file = _load._module_of(_plan.models_folder() / f"{name}.py", f"built_{name}")
    try:
        with torch.device("meta"):
            counts = {"parameters": sum(p.numel() for p in file.model(False).parameters())}
    except (NotImplementedError, RuntimeError):  # what computes while it is built
        counts = {"parameters": sum(p.numel() for p in file.model(False).parameters())}
    if name in _suites.TORCHVISION:
        import torchvision

        with torch.device("meta"):
            counts["original"] = sum(p.numel() for p in getattr(torchvision.models, name)(weights=None).parameters())
    return counts


def main():
    bench_package()
    from facula_bench import _plan

    sys.path.insert(0, str(_plan.models_folder()))
    target = HERE / "models.json"
    known = json.loads(target.read_text()) if target.exists() else {}

    def write():
        target.write_text("{" + ",\n".join(f"{json.dumps(n)}: {json.dumps(known[n])}" for n in sorted(known)) + "}\n")

    names = sys.argv[1:] or _plan.own_models()
    for name in names:
        known[name] = {**known.get(name, {}), "tiny": facts_of(name, True), "built": built(name)}
    write()
    for name in names:
        known[name]["full"] = facts_of(name, False)
        print(name, known[name], flush=True)
        write()


if __name__ == "__main__":
    main()
