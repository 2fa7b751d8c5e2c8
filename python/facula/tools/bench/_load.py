# SPDX-License-Identifier: Apache-2.0
"""A model by its name, with inputs, a true loss and an optimiser: in a worker, where `torch` is Facula or PyTorch.

A name is looked for in this order, and `source` says where it was found: a real clone of TorchBench on the path, an
installed package (without weights, never a download), our file in benchmarks/models. Everything is drawn from one seed.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import os
import pathlib
import sys
from collections.abc import Callable, Collection
from typing import Any

from . import _plan, _suites

SEED = 1337


class NotHere(Exception):
    """What to install, or why it cannot be had."""


@dataclasses.dataclass
class Loaded:
    module: Any
    inputs: Any  # a tuple, or a dictionary of keywords
    batch_size: int
    source: str
    targets: Any = None  # what loss() compares with, cast with the inputs
    loss: Callable | None = None  # of (outputs, targets); None: the mean of the outputs
    optimiser: Callable | None = None  # of parameters; None: Adam
    own_step: Callable | None = None  # of (module): a clone's own training step


def load(suite: str, name: str, training: bool, batch_size: int | None, tiny: bool, device: str, options: dict) -> Loaded:
    import torch

    torch.manual_seed(SEED)
    if name.startswith("path:"):
        loaded = _of_path(name)
    elif suite == "huggingface":
        loaded = _of_transformers(name, training, batch_size, options)
    elif suite == "timm_models":
        loaded = _of_timm(name, training, batch_size or _suites.TIMM[name])
    else:
        loaded = _of_torchbench(name, training, batch_size, tiny, device, options.get("packages", _suites.PACKAGES))
    if not isinstance(loaded.module, torch.nn.Module):
        raise TypeError(f"{name} is a {type(loaded.module).__name__}, not a torch.nn.Module")
    return loaded


def _module_of(path: str | pathlib.Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _of_path(text: str) -> Loaded:
    path, name = _plan.path_and_class(text)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    found = getattr(_module_of(path, "facula_bench_model"), name, None)
    if found is None:
        raise AttributeError(f"{path} has no class {name}")
    module = found()
    if not hasattr(module, "get_example_inputs"):
        raise TypeError(f"{name} has no get_example_inputs()")
    inputs = module.get_example_inputs()
    size = _first_size(inputs)
    return Loaded(module, _as_inputs(inputs), size, f"path {path}", loss=getattr(module, "get_loss", None))


def _as_inputs(inputs: Any) -> Any:
    return inputs if isinstance(inputs, dict) else tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def _first_size(inputs: Any) -> int:
    import torch

    for value in torch.utils._pytree.tree_leaves(inputs):
        if isinstance(value, torch.Tensor) and value.dim():
            return value.shape[0]
    return 1


# --- torchbench


def _of_torchbench(name: str, training: bool, batch_size: int | None, tiny: bool, device: str, packages: Collection[str]) -> Loaded:
    for folder in _plan.clones():
        if (folder / name / "__init__.py").is_file():
            return _of_clone(folder, name, training, batch_size, device)
    own, broken = _plan.models_folder() / f"{name}.py", ""
    if not tiny:  # sizes for tests are ours alone
        try:
            found = _of_package(name, training, batch_size, own, packages)
        except ImportError as error:
            if not own.is_file():
                raise
            found, broken = None, f" ({error})"
        if found:
            return found
    if not own.is_file():
        raise NotHere(f"{name} has no file here and no clone of TorchBench on PYTHONPATH has it")
    loaded = _of_file(own, name, training, batch_size, tiny)
    loaded.source += broken
    return loaded


def _of_clone(folder: pathlib.Path, name: str, training: bool, batch_size: int | None, device: str) -> Loaded:
    root = str(folder.parents[1])
    if root in sys.path:
        sys.path.remove(root)
    sys.path.insert(0, root)
    for known in [m for m in sys.modules if m.split(".")[0] == "torchbenchmark"]:
        del sys.modules[known]
    made = importlib.import_module(f"torchbenchmark.models.{name}").Model(test="train" if training else "eval", device=device, batch_size=batch_size, extra_args=[])
    module, inputs = made.get_module()

    def own_step(candidate):
        if candidate is not module:
            made.set_module(candidate)
        return made.train()

    return Loaded(module, _as_inputs(inputs), getattr(made, "batch_size", None) or _first_size(inputs), f"clone {root}",
                  own_step=own_step if training and hasattr(made, "train") else None)  # fmt: skip


def _of_file(path: pathlib.Path, name: str, training: bool, batch_size: int | None, tiny: bool) -> Loaded:
    sys.path.insert(0, str(path.parent))
    file = _module_of(path, f"facula_bench_model_{name}")
    size = batch_size or (file.TINY_BATCH if tiny else file.BATCH[0 if training else 1])
    module = file.model(tiny)
    inputs, targets = file.data(size, tiny, training)
    return Loaded(module, _as_inputs(inputs), size, "own", targets, getattr(file, "loss", None), getattr(file, "optimiser", None))


def _of_package(name: str, training: bool, batch_size: int | None, own: pathlib.Path, packages: Collection[str]) -> Loaded | None:
    """None where the package is not installed, or not where another side of the comparison runs, and our file serves."""
    if name in _suites.TORCHVISION and "torchvision" in packages and importlib.util.find_spec("torchvision"):
        import torch
        import torchvision

        size = batch_size or _module_of(own, f"facula_bench_model_{name}").BATCH[0 if training else 1]
        module = getattr(torchvision.models, name)(weights=None)
        return _pictures(module, torch.randn(size, 3, 224, 224), 1000, f"torchvision {torchvision.__version__}")
    if name == "timm_vision_transformer" and "timm" in packages and importlib.util.find_spec("timm"):
        return _of_timm("vit_small_patch16_224", training, batch_size or 32)
    if name in ("hf_Bert", "hf_GPT2") and "transformers" in packages and importlib.util.find_spec("transformers"):
        import transformers

        size, length = batch_size or (4 if training else 1), 512 if training or name == "hf_Bert" else 256
        kind, config = {"hf_Bert": ("BertForMaskedLM", "BertConfig"), "hf_GPT2": ("GPT2LMHeadModel", "GPT2Config")}[name]
        module = getattr(transformers, kind)(_quiet(getattr(transformers, config)()))
        return _tokens(module, name, size, length, training, f"transformers {transformers.__version__}")
    return None


def _pictures(module: Any, pictures: Any, classes: int, source: str) -> Loaded:
    import torch

    targets = torch.randint(0, classes, (pictures.shape[0],))

    def loss(outputs, targets):
        outputs = outputs[0] if isinstance(outputs, (tuple, list)) else getattr(outputs, "logits", outputs)
        return torch.nn.functional.cross_entropy(outputs, targets)

    return Loaded(module, (pictures,), pictures.shape[0], source, targets, loss)


# --- timm and transformers


def _of_timm(name: str, training: bool, batch_size: int) -> Loaded:
    import torch

    if not importlib.util.find_spec("timm"):
        raise NotHere("pip install timm (without PyTorch: pip install --no-deps timm, then what it asks for)")
    import timm
    from timm.data import resolve_data_config

    module = timm.create_model(name, pretrained=False)
    shape = resolve_data_config({}, model=module, use_test_size=not training)["input_size"]
    pictures = torch.randint(256, (batch_size, *shape)).float()
    pictures = (pictures - pictures.mean()) / pictures.std()
    return _pictures(module, pictures, getattr(module, "num_classes", 1000) or 1000, f"timm {timm.__version__}")


def _quiet(config: Any) -> Any:
    """Dropout out of the way, so that runs can be compared; no cache of keys and values."""
    for name in dir(config):
        if "drop" in name and isinstance(getattr(config, name, None), float):
            setattr(config, name, 1e-30)
    if hasattr(config, "use_cache"):
        config.use_cache = False
    return config


def _length(name: str) -> int:
    for length, heads in ((128, ("Blenderbot", "MobileBert")), (2048, ("OPT",)), (1024, ("GPT2", "Bart", "T5", "PLBart", "MBart", "Allenai")),
                          (512, ("Albert", "Deberta", "Layout", "Electra", "XLNet", "MegatronBert", "Bert", "Roberta", "DistillGPT2", "GoogleFnet", "Yitu")),
                          (256, ("TrOCRForCausalLM",))):  # fmt: skip
        if name.startswith(heads):
            return length
    return 128


def _of_transformers(name: str, training: bool, batch_size: int | None, options: dict) -> Loaded:
    if name in _suites.HUB:
        raise NotHere(f"the configuration of {name} is a file on a hub, and nothing is downloaded")
    if not importlib.util.find_spec("transformers"):
        raise NotHere("pip install transformers")
    import transformers

    kind, changes = _suites.HUGGINGFACE_CLASSES.get(name, (name, {}))
    found = getattr(transformers, kind, None)
    if found is None:
        raise NotHere(f"transformers {transformers.__version__} has no {kind}")
    config = _quiet(found.config_class(**changes))
    if name.startswith(("GPT2For", "GPTNeoFor", "GPTJFor", "Roberta")):
        config.pad_token_id = 0
    module = found(config)
    if options.get("enable_activation_checkpointing"):
        module.gradient_checkpointing_enable()
    size, source = batch_size or _suites.HUGGINGFACE[name], f"transformers {transformers.__version__}"
    if options.get("hf_inference_mode"):
        loaded = _tokens(module, name, size, options["prompt_length"], False, source)
        if options["hf_inference_mode"] == "generate":
            loaded.module = _generator(module)
        return loaded
    return _tokens(module, name, size, _length(name), True, source)


def _generator(model: Any) -> Any:
    """A module whose step writes sixteen tokens."""
    import torch

    class Generator(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, **inputs):
            return self.model.generate(**inputs, max_new_tokens=16, min_new_tokens=16, do_sample=False)

    return Generator()


def _tokens(module: Any, name: str, size: int, length: int, labels: bool, source: str) -> Loaded:
    import torch

    config = module.config
    vocabulary = config.vocab_size
    ids = torch.zeros(size, length, dtype=torch.int64) if name.startswith("Roberta") else torch.randint(0, vocabulary, (size, length))
    if "Bart" in name:
        ids[:, -1] = config.eos_token_id
    inputs = {"input_ids": ids}
    if "decoder_input_ids" in inspect.signature(module.forward).parameters:
        inputs["decoder_input_ids"] = ids
    if labels:
        if name.endswith("QuestionAnswering"):
            inputs["start_positions"], inputs["end_positions"] = (torch.randint(0, length, (size,)) for _ in range(2))
        elif name.endswith("SequenceClassification"):
            inputs["labels"] = torch.randint(0, max(config.num_labels - 1, 1), (size,))
        else:
            inputs["labels"] = torch.randint(0, vocabulary, (size, length))
    return Loaded(module, inputs, size, source, loss=lambda outputs, targets: outputs["loss"] if isinstance(outputs, dict) else outputs[0])
