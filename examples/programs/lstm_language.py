# SPDX-License-Identifier: Apache-2.0
"""A two-layer LSTM predicts the next word of a generated language: truncated backpropagation, packed sequences at the end."""

import _losses
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

WORDS, LENGTH, BATCH = 20, 12, 8


class Model(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, width, padding_idx=0)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, WORDS)

    def forward(self, words, lengths, state=None):
        packed = pack_padded_sequence(self.embedding(words), lengths, batch_first=True, enforce_sorted=False)
        out, state = self.lstm(packed, state)
        return self.head(pad_packed_sequence(out, batch_first=True, total_length=words.shape[1])[0]), state


def sentences():
    """Each word follows from the two before it; sentences end somewhere, and padding is word 0."""
    words = torch.randint(1, WORDS, (BATCH, 2))
    while words.shape[1] < LENGTH + 1:
        following = (3 * words[:, -1] + 5 * words[:, -2]) % (WORDS - 1) + 1
        words = torch.cat([words, following[:, None]], dim=1)
    lengths = torch.randint(LENGTH // 2, LENGTH + 1, (BATCH,))
    return words.masked_fill(torch.arange(LENGTH + 1) > lengths[:, None], 0), lengths


def train(steps):
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    state = None
    for step in range(steps):
        words, lengths = sentences()
        state = None if step % 5 == 0 else tuple(s.detach() for s in state)
        scores, state = model(words[:, :-1], lengths, state)
        loss = criterion(scores.transpose(1, 2), words[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        yield loss.item()


if __name__ == "__main__":
    _losses.main(train, 50)
