# SPDX-License-Identifier: Apache-2.0
"""Models of torchvision and timm, compiled by torch.jit.script, give what they give as they are."""

import pytest

torch = pytest.importorskip("torch", reason="`make test-programs` runs this with Facula under the name of torch")

CLASSIFIERS = (
    "alexnet convnext_tiny densenet121 efficientnet_b0 googlenet inception_v3 maxvit_t mnasnet0_5 mobilenet_v2 mobilenet_v3_small regnet_y_400mf resnet18 "
    "shufflenet_v2_x0_5 squeezenet1_0 swin_t swin_v2_t vgg11 vit_b_16"
).split()
SEGMENTERS = "fcn_resnet50 deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large".split()
DETECTORS = (
    "fasterrcnn_mobilenet_v3_large_320_fpn fcos_resnet50_fpn keypointrcnn_resnet50_fpn maskrcnn_resnet50_fpn retinanet_resnet50_fpn"
).split()  # SSD's matcher, a subclass of the annotated class, has no compiled form yet
TIMM = (
    "resnet18 efficientnet_b0 vit_tiny_patch16_224 mobilenetv3_small_050 convnext_atto densenet121 regnetx_002 dla34 repvgg_a0 mixer_s32_224"
).split()


def same(a, b):
    if isinstance(a, torch.Tensor):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-5)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        same(list(a.values()), list(b.values()))
    else:
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)


def image(size):
    return (torch.arange(3.0 * size * size).reshape(1, 3, size, size) * 0.37).sin()


@pytest.mark.parametrize("name", [*CLASSIFIERS, *SEGMENTERS, *DETECTORS])
def test_torchvision(name):
    models = pytest.importorskip("torchvision.models")
    torch.manual_seed(0)
    options = {} if name in CLASSIFIERS else {"weights_backbone": None}
    if name in ("googlenet", "inception_v3"):
        options = {"init_weights": False}
    model = models.get_model(name, weights=None, **options).eval()
    made = torch.jit.script(model)
    inputs = [image(96)[0]] if name in DETECTORS else image(224 if name in ("vit_b_16", "maxvit_t") else 299 if name == "inception_v3" else 64)
    with torch.no_grad():
        wanted, found = model(inputs), made(inputs)
    # Detectors give (losses, detections) when they are compiled, and two networks all of their outputs.
    same(wanted, found[1] if name in DETECTORS else found.logits if name in ("googlenet", "inception_v3") else found)


@pytest.mark.parametrize("name", TIMM)
def test_timm(name):
    timm = pytest.importorskip("timm")
    torch.manual_seed(0)
    model = timm.create_model(name, scriptable=True).eval()
    made = torch.jit.script(model)
    x = image(224 if "224" in name else 64)
    with torch.no_grad():
        same(model(x), made(x))
