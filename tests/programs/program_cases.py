# SPDX-License-Identifier: Apache-2.0
"""Programs from PyPI: models of torchvision, timm and transformers, and deepwave, with numbers to compare.

A case builds a model, fills it by a formula (so that nothing depends on random numbers), runs it forward and backward and
gives tensors. Recorded with PyTorch, and compared where `torch` is Facula:

    python tests/programs/program_cases.py FILE [CASE …]     # with PyTorch: records, adding to what FILE has
"""
import json
import math
import sys

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def family(package, names):
    """One case per model of a package."""

    def make(build):
        for name, options in names.items():
            CASES[f"{package}_{name}"] = lambda torch, name=name, options=options: build(torch, name, **options)
        return build

    return make


def wave(torch, shape, step=0.7, start=0.0):
    n = math.prod(shape)
    return torch.sin(torch.arange(n, dtype=torch.float64) * step + start).reshape(shape).to(torch.get_default_dtype())


def fill(torch, model):
    """Parameters by a formula: weights of the usual size, scales near one, shifts near zero."""
    with torch.no_grad():
        for i, (name, p) in enumerate(model.named_parameters()):
            if p.dim() > 1:
                fan_in = max(p.numel() // p.shape[0], 1)
                p.copy_(wave(torch, p.shape, 0.37 + 0.001 * (i % 7), i) * math.sqrt(2 / fan_in))
            else:
                p.copy_(wave(torch, p.shape, 0.51, i) * 0.1 + (1.0 if name.endswith("weight") or "gamma" in name else 0.0))
    return model


def gradients(model):
    """Of a few parameters, and the norm of all."""
    named = [(n, p.grad) for n, p in model.named_parameters() if p.grad is not None]
    chosen = {0, len(named) // 3, 2 * len(named) // 3, len(named) - 1}
    found = {f"grad {n}": g for i, (n, g) in enumerate(named) if i in chosen}
    found["grad norm"] = sum((g.double() ** 2).sum() for _, g in named).sqrt()
    return found


def digest(t):
    """Enough of a tensor to tell it from others."""
    flat = t.detach().reshape(-1).double()
    n = flat.numel()
    return {"sizes": list(t.shape), "sum": flat.sum().item(), "size": flat.abs().sum().item(), "some": flat[:: max(n // 16, 1)][:20].tolist()}


# --- torchvision ---------------------------------------------------------------------------------------------------


@family("torchvision", {
    "resnet18": {}, "resnet50": {}, "mobilenet_v2": {}, "mobilenet_v3_small": {}, "mobilenet_v3_large": {}, "vgg11_bn": {}, "densenet121": {}, "efficientnet_b0": {},
    "convnext_tiny": {}, "vit_b_16": {"image_size": 64}, "swin_t": {}, "regnet_y_400mf": {}, "shufflenet_v2_x0_5": {}, "squeezenet1_1": {}, "mnasnet0_5": {},
    "googlenet": {"aux_logits": False, "init_weights": False}, "alexnet": {},
})  # fmt: skip
def classify(torch, name, **options):
    from torchvision import models

    model = fill(torch, getattr(models, name)(weights=None, **options)).eval()
    x = wave(torch, (2, 3, 64, 64), 0.013).requires_grad_()
    y = model(x)
    torch.nn.functional.cross_entropy(y, torch.tensor([3, 5])).backward()
    return {"out": y, "grad x": x.grad, **gradients(model)}


@case
def torchvision_resnet18_training(torch):
    """Batch statistics, an optimiser's steps, weights saved and loaded."""
    import io

    from torchvision import models

    model = fill(torch, models.resnet18(weights=None)).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4)
    x, target = wave(torch, (4, 3, 64, 64), 0.013), torch.tensor([3, 5, 1, 0])
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    again = models.resnet18(weights=None)
    again.load_state_dict(torch.load(file))
    return {"losses": torch.stack(losses), "running_mean": model.bn1.running_mean, "out": again.eval()(x), "keys": torch.tensor(len(model.state_dict()))}


@case
def torchvision_feature_extractor(torch):
    """torch.fx through torchvision's own tracer."""
    from torchvision import models
    from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names

    model = fill(torch, models.resnet18(weights=None)).eval()
    train, evaluate = get_graph_node_names(model)
    features = create_feature_extractor(model, {"layer2.0.relu": "two", "layer4": "four", "flatten": "flat"})(wave(torch, (1, 3, 64, 64), 0.013))
    return {"names": torch.tensor([len(train), len(evaluate), sum(map(len, evaluate))]), **features}


@family("torchvision", {"deeplabv3_resnet50": {}, "fcn_resnet50": {}, "lraspp_mobilenet_v3_large": {}})
def segment(torch, name, **options):
    from torchvision.models import segmentation

    model = fill(torch, getattr(segmentation, name)(weights=None, weights_backbone=None, num_classes=5, **options)).eval()
    x = wave(torch, (1, 3, 64, 64), 0.013).requires_grad_()
    y = model(x)["out"]
    (y * wave(torch, y.shape)).mean().backward()
    return {"out": y, "grad x": x.grad, **gradients(model)}


@family("torchvision", {"fasterrcnn_resnet50_fpn": {}, "retinanet_resnet50_fpn": {}, "fcos_resnet50_fpn": {}, "ssdlite320_mobilenet_v3_large": {}})
def detect(torch, name, **options):
    """The losses of training and their gradients; then boxes, which stay few and far from ties."""
    from torchvision.models import detection

    sizes = {} if name.startswith("ssd") else {"min_size": 96, "max_size": 128}
    model = fill(torch, getattr(detection, name)(weights=None, weights_backbone=None, num_classes=4, **sizes))
    for module in model.modules():  # running statistics that are not the default ones
        if hasattr(module, "running_var"):
            module.running_var.fill_(2.0)
    model.eval()
    for m in (getattr(model, "rpn", None), getattr(model, "roi_heads", None)):
        if m is not None:
            m.training = False
    image = (wave(torch, (3, 96, 128), 0.013) + 1) / 2
    with torch.no_grad():
        found = model([image])[0]
        features = list(model.backbone(wave(torch, (1, 3, 64, 64), 0.013)).values())
    # How many boxes pass the thresholds depends on the last bits; the best ones do not.
    return {"features": features[-1], "boxes": found["boxes"][:3], "scores": found["scores"][:3]}


@family("torchvision", {"fasterrcnn_resnet50_fpn_training": {}, "retinanet_resnet50_fpn_training": {}, "fcos_resnet50_fpn_training": {}})
def train_detector(torch, name, **options):
    """The losses of training and their gradients, with normalisation held still as in fine-tuning: of one picture's few pixels
    statistics would magnify rounding a hundredfold in each stage."""
    from torchvision.models import detection

    model = fill(torch, getattr(detection, name.removesuffix("_training"))(weights=None, weights_backbone=None, num_classes=4, min_size=96, max_size=128)).train()
    for module in model.modules():
        if hasattr(module, "running_var"):
            module.running_var.fill_(2.0)
            module.eval()
    torch.manual_seed(3)
    picture = (wave(torch, (3, 96, 128), 0.013) + 1) / 2
    targets = [{"boxes": torch.tensor([[10.0, 12.0, 60.0, 70.0], [40.0, 20.0, 110.0, 90.0]]), "labels": torch.tensor([1, 3])}]
    losses = model([picture], targets)
    sum(losses.values()).backward()
    return {**losses, **gradients(model)}


# --- timm ----------------------------------------------------------------------------------------------------------


@family("timm", {
    "resnet18": {}, "resnetv2_50": {}, "regnetx_002": {}, "efficientnet_lite0": {}, "mobilenetv3_small_050": {}, "vit_tiny_patch16_224": {"img_size": 64},
    "deit_tiny_patch16_224": {"img_size": 64}, "convnext_atto": {}, "mixer_s32_224": {"img_size": 64}, "ghostnet_050": {}, "poolformer_s12": {}, "repvgg_a0": {},
    "edgenext_xx_small": {}, "swin_tiny_patch4_window7_224": {"img_size": 56}, "xcit_nano_12_p16_224": {"img_size": 64}, "beit_base_patch16_224": {"img_size": 32, "depth": 2},
    "dla34": {}, "hrnet_w18_small": {}, "eva02_tiny_patch14_224": {"img_size": 56},
})  # fmt: skip
def timm_model(torch, name, img_size=64, **options):
    import timm

    if any(part in name for part in ("vit_", "deit", "mixer", "swin", "beit", "eva02")):
        options["img_size"] = img_size
    model = fill(torch, timm.create_model(name, pretrained=False, num_classes=10, **options)).eval()
    x = wave(torch, (2, 3, img_size, img_size), 0.013).requires_grad_()
    y = model(x)
    torch.nn.functional.cross_entropy(y, torch.tensor([3, 5])).backward()
    return {"out": y, "grad x": x.grad, **gradients(model)}


@case
def timm_features(torch):
    import timm

    model = fill(torch, timm.create_model("resnet18", pretrained=False, features_only=True)).eval()
    return {str(i): f for i, f in enumerate(model(wave(torch, (1, 3, 64, 64), 0.013)))}


# --- transformers --------------------------------------------------------------------------------------------------


def tokens(torch, *shape):
    return (torch.arange(math.prod(shape)) * 7 % 90 + 3).reshape(shape)


def language(torch, model, inputs, generate=None):
    """Loss, logits, gradients; and what it writes, with a cache, word by word."""
    model = fill(torch, model).eval()
    out = model(**inputs)
    out.loss.backward()
    found = {"loss": out.loss, "logits": out.logits, **gradients(model)}
    if generate is not None:
        written = model.generate(**generate, max_new_tokens=6, do_sample=False, use_cache=True)
        plain = model.generate(**generate, max_new_tokens=6, do_sample=False, use_cache=False)
        found.update(written=written, plain=plain)
    return found


@case
def transformers_gpt2(torch):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=100, n_positions=64, n_embd=48, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2, pad_token_id=0)
    ids = tokens(torch, 2, 12)
    return language(torch, GPT2LMHeadModel(config), {"input_ids": ids, "labels": ids}, {"input_ids": ids[:, :5], "attention_mask": torch.ones_like(ids[:, :5])})


@case
def transformers_llama(torch):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=100, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
                         bos_token_id=1, eos_token_id=2, pad_token_id=0)  # fmt: skip
    ids = tokens(torch, 2, 12)
    return language(torch, LlamaForCausalLM(config), {"input_ids": ids, "labels": ids}, {"input_ids": ids[:, :5], "attention_mask": torch.ones_like(ids[:, :5])})


@case
def transformers_bert(torch):
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(vocab_size=100, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, max_position_embeddings=64)
    ids, mask = tokens(torch, 2, 12), torch.ones(2, 12, dtype=torch.long)
    mask[1, 8:] = 0
    return language(torch, BertForMaskedLM(config), {"input_ids": ids, "attention_mask": mask, "labels": ids})


@case
def transformers_t5(torch):
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=100, d_model=48, d_kv=12, d_ff=96, num_layers=2, num_heads=4, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1)
    ids = tokens(torch, 2, 12)
    return language(torch, T5ForConditionalGeneration(config), {"input_ids": ids, "labels": ids[:, :7].contiguous()}, {"input_ids": ids})


@case
def transformers_vit(torch):
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, image_size=32, patch_size=8, num_labels=5)
    return language(torch, ViTForImageClassification(config), {"pixel_values": wave(torch, (2, 3, 32, 32), 0.013), "labels": torch.tensor([1, 3])})


@case
def transformers_whisper(torch):
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(vocab_size=100, num_mel_bins=8, d_model=48, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96,
                           decoder_ffn_dim=96, max_source_positions=50, max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
                           suppress_tokens=None, begin_suppress_tokens=None)  # fmt: skip
    features = wave(torch, (2, 8, 100), 0.013)
    return language(torch, WhisperForConditionalGeneration(config), {"input_features": features, "labels": tokens(torch, 2, 7)}, {"input_features": features})


# --- deepwave ------------------------------------------------------------------------------------------------------


@case
def deepwave_scalar(torch):
    import deepwave

    v = (1500 + 100 * wave(torch, (24, 20), 0.3)).requires_grad_()
    amplitudes = deepwave.wavelets.ricker(25, 60, 0.004, 1.5 / 25, dtype=torch.get_default_dtype()).reshape(1, 1, -1)
    sources, receivers = torch.tensor([[[12, 4]]]), torch.tensor([[[6, 15], [12, 15], [20, 10]]])
    out = deepwave.scalar(v, 5.0, 0.004, source_amplitudes=amplitudes, source_locations=sources, receiver_locations=receivers, accuracy=4, pml_freq=25)
    (out[-1] ** 2).sum().backward()
    return {"receivers": out[-1], "field": out[0], "grad v": v.grad}


@case
def deepwave_acoustic(torch):
    import deepwave

    v = (1500 + 100 * wave(torch, (24, 20), 0.3)).requires_grad_()
    rho = (2000 + 50 * wave(torch, (24, 20), 0.2)).requires_grad_()
    amplitudes = deepwave.wavelets.ricker(25, 60, 0.004, 1.5 / 25, dtype=torch.get_default_dtype()).reshape(1, 1, -1)
    out = deepwave.acoustic(v, rho, 5.0, 0.004, source_amplitudes_volume_rate=amplitudes, source_locations_volume_rate=torch.tensor([[[12, 4]]]),
                            receiver_locations_p=torch.tensor([[[6, 15], [12, 15]]]), accuracy=4, pml_freq=25)  # fmt: skip
    received = next(t for t in out if isinstance(t, torch.Tensor) and t.dim() == 3 and t.shape[-1] == 60 and t.numel())
    (received**2).sum().backward()
    return {"receivers": received, "grad v": v.grad, "grad rho": rho.grad}


# In float32 these magnify rounding beyond the tolerance, the same with any change of the order of additions: a unit that is nearly
# zero or nearly the largest of its window goes the other way, two boxes have the same score, statistics are of few pixels.
DOUBLE = {
    "deepwave_scalar", "deepwave_acoustic", "timm_edgenext_xx_small", "torchvision_fasterrcnn_resnet50_fpn_training",
    "torchvision_fcn_resnet50", "torchvision_fcos_resnet50_fpn_training", "torchvision_googlenet", "torchvision_mobilenet_v2", "torchvision_mobilenet_v3_large",
    "torchvision_mobilenet_v3_small", "torchvision_resnet18_training", "torchvision_retinanet_resnet50_fpn", "torchvision_retinanet_resnet50_fpn_training",
    "torchvision_vgg11_bn", "torchvision_vit_b_16",
}  # fmt: skip


def results(torch, name):
    """{what: digest} of a case."""
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if name in DOUBLE else torch.float32)
    try:
        return {key: digest(value) for key, value in CASES[name](torch).items()}
    finally:
        torch.set_default_dtype(before)


if __name__ == "__main__":
    import importlib.metadata
    import pathlib

    import torch

    file = pathlib.Path(sys.argv[1])
    recorded = json.loads(file.read_text()) if file.exists() else {"cases": {}}
    recorded["versions"] = {p: importlib.metadata.version(p) for p in ("torch", "torchvision", "timm", "transformers", "deepwave")}
    for name in sys.argv[2:] or CASES:
        try:
            recorded["cases"][name] = results(torch, name)
        except Exception as e:
            print(f"{name}: {type(e).__name__}: {e}", file=sys.stderr)
        file.write_text(json.dumps(recorded, separators=(",", ":")))
