# SPDX-License-Identifier: Apache-2.0
"""The names of the three suites, with the batch sizes of PyTorch's lists."""

from __future__ import annotations

SUITES = ("torchbench", "huggingface", "timm_models")

# Architectures that transformers builds from a default configuration, without a download.
HUGGINGFACE = {
    "AlbertForMaskedLM": 8, "AlbertForQuestionAnswering": 8, "AllenaiLongformerBase": 8, "BartForCausalLM": 8, "BartForConditionalGeneration": 4,
    "BertForMaskedLM": 32, "BertForQuestionAnswering": 32, "BlenderbotForCausalLM": 32, "BlenderbotForConditionalGeneration": 16,
    "BlenderbotSmallForCausalLM": 256, "BlenderbotSmallForConditionalGeneration": 128, "CamemBert": 32, "DebertaV2ForMaskedLM": 8,
    "DebertaV2ForQuestionAnswering": 8, "DistilBertForMaskedLM": 256, "DistilBertForQuestionAnswering": 512, "DistillGPT2": 32,
    "ElectraForCausalLM": 64, "ElectraForQuestionAnswering": 128, "GPT2ForSequenceClassification": 8, "GPTJForCausalLM": 1,
    "GPTJForQuestionAnswering": 1, "GPTNeoForCausalLM": 32, "GPTNeoForSequenceClassification": 32, "GoogleFnet": 32, "LayoutLMForMaskedLM": 32,
    "LayoutLMForSequenceClassification": 32, "M2M100ForConditionalGeneration": 64, "MBartForCausalLM": 8, "MBartForConditionalGeneration": 4,
    "MT5ForConditionalGeneration": 32, "MegatronBertForCausalLM": 16, "MegatronBertForQuestionAnswering": 16, "MobileBertForMaskedLM": 256,
    "MobileBertForQuestionAnswering": 256, "OPTForCausalLM": 4, "PLBartForCausalLM": 16, "PLBartForConditionalGeneration": 8,
    "PegasusForCausalLM": 128, "PegasusForConditionalGeneration": 64, "RobertaForCausalLM": 32, "RobertaForQuestionAnswering": 32,
    "T5ForConditionalGeneration": 8, "T5Small": 8, "TrOCRForCausalLM": 64, "XGLMForCausalLM": 32, "XLNetLMHeadModel": 16, "YituTechConvBert": 32,
}  # fmt: skip
# Those whose sizes are a file on a hub: rows say that they are missing.
HUB = {
    "meta-llama/Llama-3.2-1B": 8, "google/gemma-2-2b": 8, "google/gemma-3-4b-it": 8, "openai/whisper-tiny": 8, "Qwen/Qwen3-0.6B": 8,
    "mistralai/Mistral-7B-Instruct-v0.3": 8, "openai/gpt-oss-20b": 8,
}  # fmt: skip
# Names of the list that are no class of transformers: the class, and the configuration where it is not the default.
HUGGINGFACE_CLASSES: dict[str, tuple[str, dict]] = {
    "AllenaiLongformerBase": ("LongformerForMaskedLM", {"max_position_embeddings": 4098, "attention_window": [512] * 12}),
    "CamemBert": ("CamembertForMaskedLM", {}),
    "DistillGPT2": ("GPT2LMHeadModel", {"n_layer": 6}),
    "GoogleFnet": ("FNetForMaskedLM", {}),
    "T5Small": ("T5ForConditionalGeneration", {}),
    "YituTechConvBert": ("ConvBertForMaskedLM", {}),
}

TIMM = {
    "adv_inception_v3": 128, "beit_base_patch16_224": 64, "convnextv2_nano.fcmae_ft_in22k_in1k": 128, "deit_base_distilled_patch16_224": 64,
    "deit_tiny_patch16_224.fb_in1k": 128, "dm_nfnet_f0": 128, "ghostnet_100": 512, "inception_v3": 128, "mobilenetv2_100": 128,
    "mobilenetv3_large_100": 512, "mobilevit_s": 64, "nfnet_l0": 128, "repvgg_a2": 128, "swin_base_patch4_window7_224": 64,
    "tf_efficientnet_b0": 128, "visformer_small": 128, "vit_base_patch14_dinov2.lvd142m": 128, "vit_base_patch16_siglip_256": 128,
}  # fmt: skip

# TorchBench names that a package builds.
TORCHVISION = {
    "alexnet", "densenet121", "mnasnet1_0", "mobilenet_v2", "mobilenet_v3_large", "resnet18", "resnet50", "resnet152",
    "resnext50_32x4d", "shufflenet_v2_x1_0", "squeezenet1_1", "vgg16",
}  # fmt: skip

PACKAGES = ("torchvision", "timm", "transformers")  # that models are taken from
NO_TRAINING = {  # of torchbench, and why
    name: "it is not made for training"
    for name in ("pyhpc_equation_of_state", "pyhpc_isoneutral_mixing", "pyhpc_turbulent_kinetic_energy", "maml", "llama")
}
SLOW = {"BERT_pytorch", "demucs", "fastNLP_Bert", "speech_transformer", "vision_maskrcnn"}  # over a minute on a PyTorch CPU

# What --accuracy asks of each suite: samples, and tolerance of inference and of training.
ACCURACY_BATCH = {"torchbench": 4, "huggingface": 1, "timm_models": 8}
TOLERANCE = {"torchbench": (1e-4, 1e-4), "huggingface": (1e-3, 1e-2), "timm_models": (1e-3, 1e-2)}
