# SPDX-License-Identifier: Apache-2.0
"""GPT-2 small of Radford et al. 2019 with its head (transformers' GPT2LMHeadModel); dropout is left out."""

from _common import Gpt2, adamw, small, token_loss, words

BATCH, TINY_BATCH, PARAMETERS = (4, 1), 2, 124_439_808
loss, optimiser = token_loss, adamw


def model(tiny):
    return small(Gpt2(16, 2, 2, 50, 8) if tiny else Gpt2(768, 12, 12, 50257, 1024))


def data(batch, tiny, training):
    return words(batch, 6 if tiny else 512 if training else 256, 50 if tiny else 50257)
