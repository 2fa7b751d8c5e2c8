# SPDX-License-Identifier: Apache-2.0
"""Deep Q-learning of a small game: walk along a corridor to the coin; replay memory, a target network, Huber's loss."""

import copy
import random
from collections import deque

import _losses
import torch
from torch import nn

CELLS, ACTIONS, GAMMA = 9, 2, 0.95


class Corridor:
    """The player starts in the middle; the coin is at one end, and which one can be seen."""

    def reset(self, rng):
        self.at, self.coin, self.left = CELLS // 2, rng.choice([0, CELLS - 1]), 20
        return self.view()

    def view(self):
        here, there = torch.zeros(CELLS), torch.zeros(CELLS)
        here[self.at] = there[self.coin] = 1.0
        return torch.cat([here, there])

    def step(self, action):
        self.at = min(max(self.at + (1 if action else -1), 0), CELLS - 1)
        self.left -= 1
        found = self.at == self.coin
        return self.view(), 1.0 if found else -0.01, found or self.left == 0


def train(steps):
    torch.manual_seed(0)
    rng = random.Random(0)
    q = nn.Sequential(nn.Linear(2 * CELLS, 32), nn.ReLU(), nn.Linear(32, ACTIONS))
    target = copy.deepcopy(q).requires_grad_(False)
    optimizer = torch.optim.AdamW(q.parameters(), lr=1e-3, amsgrad=True)
    criterion = nn.SmoothL1Loss()
    memory, game = deque(maxlen=500), Corridor()
    state = game.reset(rng)
    for step in range(steps + 32):  # the first 32 moves only fill the memory
        if rng.random() < max(0.1, 1.0 - step / 50):
            action = rng.randrange(ACTIONS)
        else:
            with torch.no_grad():
                action = q(state).argmax().item()
        following, reward, over = game.step(action)
        memory.append((state, action, reward, following, over))
        state = game.reset(rng) if over else following
        if step < 32:
            continue
        states, actions, rewards, followings, overs = zip(*rng.sample(memory, 32))
        value = q(torch.stack(states)).gather(1, torch.tensor(actions)[:, None])[:, 0]
        best = target(torch.stack(followings)).max(dim=1).values
        loss = criterion(value, torch.tensor(rewards) + GAMMA * best * ~torch.tensor(overs))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(q.parameters(), 100)
        optimizer.step()
        with torch.no_grad():
            for ours, theirs in zip(target.parameters(), q.parameters()):
                ours.lerp_(theirs, 0.05)
        yield loss.item()


if __name__ == "__main__":
    _losses.main(train, 50)
