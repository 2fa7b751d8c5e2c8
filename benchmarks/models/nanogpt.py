# SPDX-License-Identifier: Apache-2.0
"""nanoGPT's GPT (124M): GPT-2 small with a vocabulary of 50304; without dropout. Its own count leaves places out: 123.69M."""

from _common import Gpt2, adamw, small, token_loss, words

BATCH, TINY_BATCH, PARAMETERS = (1, 1), 2, 124_475_904
loss, optimiser = token_loss, adamw


def model(tiny):
    return small(Gpt2(16, 2, 2, 50, 8) if tiny else Gpt2(768, 12, 12, 50304, 1024))


def data(batch, tiny, training):
    return words(batch, 6 if tiny else 64, 50 if tiny else 50304)
