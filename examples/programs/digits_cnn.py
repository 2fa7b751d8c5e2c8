# SPDX-License-Identifier: Apache-2.0
"""A convolutional network learns generated digits: noisy pictures of ten fixed strokes, read by a DataLoader."""

import _losses
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def pictures(count):
    """Ten random 7x7 strokes, enlarged to 28x28, with noise; and which one each is."""
    strokes = (torch.rand(10, 1, 7, 7) < 0.3).float()
    labels = torch.randint(10, (count,))
    clean = F.interpolate(strokes[labels], scale_factor=4)
    return TensorDataset(clean + 0.5 * torch.randn(count, 1, 28, 28), labels)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(16 * 5 * 5, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


def train(steps):
    torch.manual_seed(0)
    loader = DataLoader(pictures(320), batch_size=32, shuffle=True)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    done = 0
    while done < steps:
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            schedule.step()
            yield loss.item()
            done += 1
            if done == steps:
                return


if __name__ == "__main__":
    _losses.main(train, 50)
