# SPDX-License-Identifier: Apache-2.0
"""A two-layer transformer learns the larger of two neighbouring symbols, by plain gradient descent on tensors.

    python examples/train_transformer.py                   # prints 30 losses
    python examples/train_transformer.py --module torch    # the same program on PyTorch, the same losses

Symbol t of the answer is max(x[t], x[t - 1]). Numbers are drawn as float32 whatever --dtype is, so that
float32 and float64 start from the same point. examples/cpp/train_transformer.cpp is the same program in C++.
"""

import argparse
import importlib
import math

SYMBOLS, LENGTH, WIDTH, HEADS, LAYERS = 11, 16, 32, 4, 2
SAMPLES, BATCH, RATE = 480, 16, 0.5


def make_data(torch):
    """Sequences [480, 16] of symbols, and their answers."""
    torch.manual_seed(0)
    x = torch.randint(0, SYMBOLS, (SAMPLES, LENGTH))
    previous = torch.cat([torch.zeros(SAMPLES, 1, dtype=torch.int64), x[:, :-1]], dim=1)
    return x, torch.maximum(x, previous)


def make_parameters(torch, dtype):
    torch.manual_seed(1)

    def normal(*shape):
        return (torch.randn(shape) * 0.5).to(dtype).requires_grad_()

    def weight(rows, columns):
        bound = 1.0 / math.sqrt(columns)
        return torch.empty(rows, columns).uniform_(-bound, bound).to(dtype).requires_grad_()

    def filled(value, size):
        return torch.full((size,), value, dtype=dtype, requires_grad=True)

    p = {"symbols": normal(SYMBOLS, WIDTH), "places": normal(LENGTH, WIDTH)}
    for layer in range(LAYERS):
        p[f"{layer}.norm1"], p[f"{layer}.shift1"] = filled(1.0, WIDTH), filled(0.0, WIDTH)
        p[f"{layer}.qkv"] = weight(3 * WIDTH, WIDTH)
        p[f"{layer}.out"] = weight(WIDTH, WIDTH)
        p[f"{layer}.norm2"], p[f"{layer}.shift2"] = filled(1.0, WIDTH), filled(0.0, WIDTH)
        p[f"{layer}.up"], p[f"{layer}.up_bias"] = weight(4 * WIDTH, WIDTH), filled(0.0, 4 * WIDTH)
        p[f"{layer}.down"], p[f"{layer}.down_bias"] = weight(WIDTH, 4 * WIDTH), filled(0.0, WIDTH)
    p["norm"], p["shift"] = filled(1.0, WIDTH), filled(0.0, WIDTH)
    p["answer"] = weight(SYMBOLS, WIDTH)
    return p


def attention(torch, x, qkv, out, mask):
    """Several heads look back over the sequence; x is [batch, length, width]."""
    F = torch.nn.functional
    batch = x.shape[0]

    def heads(t):
        return t.reshape(batch, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

    q, k, v = (heads(t) for t in F.linear(x, qkv).split(WIDTH, dim=2))
    scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(WIDTH // HEADS)
    weights = torch.softmax(torch.where(mask, scores, -math.inf), dim=-1)
    weights = F.dropout(weights, 0.1, training=True)
    mixed = torch.matmul(weights, v).transpose(1, 2).reshape(batch, LENGTH, WIDTH)
    return F.linear(mixed, out)


def forward(torch, p, x, mask):
    F = torch.nn.functional
    h = F.embedding(x, p["symbols"]) + p["places"]
    for layer in range(LAYERS):
        n = F.layer_norm(h, (WIDTH,), p[f"{layer}.norm1"], p[f"{layer}.shift1"])
        h = h + attention(torch, n, p[f"{layer}.qkv"], p[f"{layer}.out"], mask)
        n = F.layer_norm(h, (WIDTH,), p[f"{layer}.norm2"], p[f"{layer}.shift2"])
        n = F.gelu(F.linear(n, p[f"{layer}.up"], p[f"{layer}.up_bias"]))
        h = h + F.linear(n, p[f"{layer}.down"], p[f"{layer}.down_bias"])
    return F.linear(F.layer_norm(h, (WIDTH,), p["norm"], p["shift"]), p["answer"])


def train(torch, steps=30, dtype="float32", report=None):
    """Losses of the first steps. report(step, loss) is called after each."""
    sequences, answers = make_data(torch)
    parameters = make_parameters(torch, getattr(torch, dtype))
    mask = torch.tril(torch.ones(LENGTH, LENGTH, dtype=torch.bool))
    torch.manual_seed(2)  # for dropout
    losses = []
    for step in range(steps):
        first = step * BATCH % SAMPLES
        x, y = sequences[first : first + BATCH], answers[first : first + BATCH]
        scores = forward(torch, parameters, x, mask)
        loss = torch.nn.functional.cross_entropy(scores.reshape(-1, SYMBOLS), y.reshape(-1))
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
