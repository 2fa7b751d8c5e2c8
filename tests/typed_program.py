# SPDX-License-Identifier: Apache-2.0
"""What a user writes, for a type checker: tests/test_stubs.py runs mypy over it where that is installed."""
import facula as torch
import facula.nn.functional as F
from facula import Tensor


def f(x: Tensor, n: int) -> Tensor:
    y = 2 * (x + 1) - x / 3 + 1 / x - 2**x + 3 // x
    mask = (x > 0) & (y == 1)
    w = torch.where(~mask, x, -abs(y)) @ x
    values, indices = torch.max(x, dim=0)
    best = x.sort(dim=0).values + values[indices]
    made = torch.zeros(2, 3, device="cpu") + torch.zeros((2, 3), requires_grad=True) + torch.tensor([1, 2.0], dtype=torch.float32)
    shaped = made.view(2, -1).reshape(3, 2).permute(1, 0)
    for row in shaped:
        row.add_(1)
    x[0] = float(y.sum()) + int(y.sum()) + len(y) + x.size(0) + x.size()[0]
    facts: tuple[torch.Size, torch.dtype, torch.device, bool] = (x.shape, x.dtype, x.device, x.requires_grad)
    print(facts[0].numel(), torch.float32.itemsize, torch.device("cpu").type, torch.finfo(torch.float32).eps, torch.pi, best, w)
    loss = F.mse_loss(x, y)
    loss.backward()
    with torch.no_grad():
        x -= 0.1
    generator = torch.Generator(device="cpu").manual_seed(3)
    noise = torch.rand(2, generator=generator)
    joined = torch.cat([x, y], dim=1) + torch.stack((x, y)) + noise.to(torch.float64).to("cpu")
    return joined


number: int = f(torch.ones(2), 1).dim()
wrong: str = torch.ones(2).shape  # type: ignore[assignment]
torch.ones("a")  # type: ignore
torch.no_such_function  # type: ignore[attr-defined]
