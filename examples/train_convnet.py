# SPDX-License-Identifier: Apache-2.0
"""A small convnet learns to tell four noisy patterns apart, by plain gradient descent on tensors.

    python examples/train_convnet.py                   # prints 30 losses
    python examples/train_convnet.py --module torch    # the same program on PyTorch, the same losses

Numbers are drawn as float32 whatever --dtype is, so that float32 and float64 start from the same point.
examples/cpp/train_convnet.cpp is the same program in C++.
"""

import argparse
import importlib
import math

CLASSES, PIXELS, SAMPLES, BATCH, RATE = 4, 12, 480, 16, 0.05


def make_data(torch, dtype):
    """Images [480, 1, 12, 12]: one of four patterns, plus noise; and the patterns' numbers."""
    torch.manual_seed(0)
    patterns = torch.randn(CLASSES, 1, PIXELS, PIXELS)
    labels = torch.randint(0, CLASSES, (SAMPLES,))
    images = patterns[labels] + 0.7 * torch.randn(SAMPLES, 1, PIXELS, PIXELS)
    return images.to(dtype), labels


def make_parameters(torch, dtype):
    torch.manual_seed(1)

    def weight(*shape):
        bound = 1.0 / math.sqrt(math.prod(shape[1:]))
        return torch.empty(shape).uniform_(-bound, bound).to(dtype).requires_grad_()

    def filled(value, size):
        return torch.full((size,), value, dtype=dtype, requires_grad=True)

    return {
        "conv1": weight(8, 1, 3, 3),
        "scale": filled(1.0, 8),
        "shift": filled(0.0, 8),
        "conv2": weight(16, 8, 3, 3),
        "bias2": filled(0.0, 16),
        "full": weight(CLASSES, 16 * 3 * 3),
        "bias": filled(0.0, CLASSES),
    }


def forward(torch, p, x):
    F = torch.nn.functional
    x = F.conv2d(x, p["conv1"], padding=1)
    x = F.batch_norm(x, None, None, p["scale"], p["shift"], training=True)
    x = F.max_pool2d(torch.relu(x), 2)
    x = F.conv2d(x, p["conv2"], p["bias2"], padding=1)
    x = F.max_pool2d(torch.relu(x), 2)
    x = F.dropout(x.flatten(1), 0.1, training=True)
    return F.linear(x, p["full"], p["bias"])


def train(torch, steps=30, dtype="float32", report=None):
    """Losses of the first steps. report(step, loss) is called after each."""
    dtype = getattr(torch, dtype)
    images, labels = make_data(torch, dtype)
    parameters = make_parameters(torch, dtype)
    torch.manual_seed(2)  # for dropout
    losses = []
    for step in range(steps):
        first = step * BATCH % SAMPLES
        x, y = images[first : first + BATCH], labels[first : first + BATCH]
        loss = torch.nn.functional.cross_entropy(forward(torch, parameters, x), y)
        loss.backward()
        with torch.no_grad():
            for parameter in parameters.values():
                parameter -= RATE * parameter.grad
                parameter.grad = None
        losses.append(loss.item())
        if report:
            report(step, losses[-1])
    return losses


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--module", default="facula", help="facula or torch")
    arguments.add_argument("--dtype", default="float32", choices=["float32", "float64"])
    arguments.add_argument("--steps", type=int, default=30)
    options = arguments.parse_args()
    torch = importlib.import_module(options.module)
    train(torch, options.steps, options.dtype, lambda step, loss: print(f"{step:3d}  {loss:.9f}"))


if __name__ == "__main__":
    main()
