# SPDX-License-Identifier: Apache-2.0
"""The model files at their size for tests against what PyTorch gave with the same text (models.json), and their counts."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from facula.tools.bench import _plan, _suites

pytestmark = pytest.mark.not_sanitized

HERE = pathlib.Path(__file__).parent
RECORDED = json.loads((HERE / "models.json").read_text())
NAMES = _plan.own_models()
WANTED = """resnet18 resnet50 resnet152 resnext50_32x4d alexnet vgg16 mobilenet_v2 mobilenet_v3_large mnasnet1_0 densenet121 squeezenet1_1
shufflenet_v2_x1_0 timm_vision_transformer BERT_pytorch hf_Bert hf_GPT2 nanogpt llama dcgan pytorch_unet dlrm LearningToPaint Super_SloMo yolov3
maml lennard_jones phlippe_resnet phlippe_densenet pyhpc_equation_of_state pyhpc_isoneutral_mixing pyhpc_turbulent_kinetic_energy
nvidia_deeprecommender tts_angular soft_actor_critic basic_gnn_gcn deepwave_inversion""".split()

PROGRAM = """
import json, sys
sys.path.insert(0, {here!r})
import torch, record_models
torch.set_num_threads(1)
record_models.bench_package()
print(json.dumps({{name: record_models.facts_of(name, True) for name in {names!r}}}))
"""


def test_the_list_is_whole():
    assert sorted(WANTED) == NAMES == sorted(RECORDED)
    assert _suites.TORCHVISION <= set(NAMES)


@pytest.fixture(scope="module")
def ours():
    """Of all models, from one process in which `torch` is Facula."""
    from facula import _as_torch

    program = PROGRAM.format(here=str(HERE), names=NAMES)
    done = subprocess.run([sys.executable, "-c", "from facula import _as_torch; _as_torch.install()\n" + program],
                          env={**os.environ, **_as_torch.environment()}, capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", NAMES)
def test_the_first_losses_are_pytorchs(ours, name):
    for mode, values in RECORDED[name]["tiny"].items():
        if mode != "parameters":
            assert ours[name][mode] == pytest.approx(values, rel=2e-4, abs=1e-5), mode
    assert ours[name]["parameters"] == RECORDED[name]["tiny"]["parameters"]


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_are_the_originals(name):
    """The number in the file is that of the full size as PyTorch built it, and of the package that has the original."""
    text = (_plan.models_folder() / f"{name}.py").read_text()
    line = next(line for line in text.splitlines() if line.startswith("BATCH, TINY_BATCH, PARAMETERS"))
    scope: dict = {}
    exec(line, scope)
    built = RECORDED[name]["built"]
    assert scope["PARAMETERS"] == built["parameters"]
    if name in _suites.TORCHVISION:
        assert scope["PARAMETERS"] == built["original"]
    if "full" in RECORDED[name]:
        assert scope["PARAMETERS"] == RECORDED[name]["full"]["parameters"]


def test_a_model_of_the_suite_runs(bench):
    """By the runner, both ways, at the size for tests; a compatible step has no optimiser and another loss."""
    for mode in ("--training", "--inference"):
        status, rows = bench("--performance", mode, "--tiny", "--only", "resnet18")
        assert status == 0 and rows[0]["source"] == "own" and rows[0]["status"] == "measured"
    with_optimiser = bench("--performance", "--training", "--tiny", "--only", "resnet18")[1][0]["counts"]
    without = bench("--performance", "--training", "--compat", "--tiny", "--only", "resnet18")[1][0]["counts"]
    assert int(without.split(";")[0].split("=")[1]) < int(with_optimiser.split(";")[0].split("=")[1])
    status, rows = bench("--accuracy", "--training", "--tiny", "--only", "phlippe_resnet")
    assert rows[0]["accuracy"] == "pass"


def test_a_suite_is_one_row_a_model(bench):
    status, rows = bench("--performance", "--training", "--tiny", "-k", "^maml|^lennard|^llama")
    assert [(r["name"], r["status"]) for r in rows] == [("lennard_jones", "measured"), ("llama", "skip"), ("maml", "skip")] and status == 0
    status, rows = bench("--performance", "--training", "--only", "BertForMaskedLM", suite="huggingface")
    assert rows[0]["status"] in ("missing", "measured")


CLONE = '''
import torch

class Model:
    def __init__(self, test, device, batch_size=None, extra_args=[]):
        self.batch_size = batch_size or 7
        self.net = torch.nn.Linear(3, 2)
        self.inputs = (torch.ones(self.batch_size, 3),)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
    def get_module(self):
        return self.net, self.inputs
    def set_module(self, module):
        self.net = module
    def train(self):
        self.optimizer.zero_grad()
        self.net(*self.inputs).sum().backward()
        self.optimizer.step()
'''


def test_a_clone_comes_first(bench, monkeypatch):
    """A real clone on PYTHONPATH, whatever else is called torchbenchmark."""
    folder = bench.folder / "clone" / "torchbenchmark" / "models" / "resnet18"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(CLONE)
    root = HERE.parents[1]  # its torchbenchmark has no models
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), str(bench.folder / "clone"), os.environ.get("PYTHONPATH", "")]))
    for mode in ("--training", "--inference"):
        status, rows = bench("--performance", mode, "--only", "resnet18")
        assert status == 0 and rows[0]["source"] == f"clone {bench.folder / 'clone'}" and rows[0]["batch_size"] == "7"


def test_a_package_that_cannot_be_imported(bench, monkeypatch):
    """Our file serves, and the source says why."""
    (bench.folder / "torchvision").mkdir()
    (bench.folder / "torchvision" / "__init__.py").write_text("import nosuchpackage\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(bench.folder), os.environ.get("PYTHONPATH", "")]))
    status, rows = bench("--performance", "--inference", "--only", "squeezenet1_1", "--batch-size", "1")
    assert status == 0 and rows[0]["source"] == "own (No module named 'nosuchpackage')"


def test_a_package_that_another_side_lacks(tmp_path):
    """All sides of a comparison run the same text: ours, where one of them has no package."""
    from facula.tools.bench import _load

    for name in ("resnet18", "timm_vision_transformer", "hf_GPT2"):
        assert _load._of_package(name, False, 1, _plan.models_folder() / f"{name}.py", packages=()) is None
