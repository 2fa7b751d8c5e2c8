# SPDX-License-Identifier: Apache-2.0
"""Times the emulated HammerBlade device beside the CPU, in one run (`make bench-hammerblade`).

Each row times two things in turns of 40 ms (A, B, A, B …): the ratio of their medians is printed, and beside it the ratio of A to
itself (every other turn), which is what chance does on this machine. Threads of the CPU's pool spin for some milliseconds after
a call, on the cores that the device's tiles want: the first 20 ms of a turn are not counted. The budgets are those of
docs/hammerblade.md.
"""

import argparse
import statistics
import sys
import time

import facula as torch

F = torch.nn.functional


CONVOLUTIONS = [
    ("conv 8x3x32x32, 16 of 5x5", (8, 3, 32, 32), (16, 3, 5, 5), {}),
    ("conv 8x64x14x14, 64 of 3x3", (8, 64, 14, 14), (64, 64, 3, 3), {"padding": 1}),
    ("conv 4x64x56x56, 64 of 3x3", (4, 64, 56, 56), (64, 64, 3, 3), {"padding": 1}),
    ("conv 8x128x28x28, 128 of 3x3 / 2", (8, 128, 28, 28), (128, 128, 3, 3), {"padding": 1, "stride": 2}),
    ("conv 8x64x28x28, 64 of 1x1", (8, 64, 28, 28), (64, 64, 1, 1), {}),
    ("conv 8x16x28x28, depthwise 3x3", (8, 16, 28, 28), (16, 1, 3, 3), {"padding": 1, "groups": 16}),
]
SETTLE, TURN = 0.020, 0.020  # seconds


def turn(function) -> list[float]:
    """Seconds of each call, once the other side's threads sleep."""
    taken, start = [], time.perf_counter()
    while not taken or time.perf_counter() - start < SETTLE + TURN:
        before = time.perf_counter()
        function()
        if before - start >= SETTLE:
            taken.append(time.perf_counter() - before)
    return taken


def in_turns(a, b, seconds: float) -> tuple[float, float, float]:
    """Medians of a and b in seconds, and a against itself."""
    samples: tuple[list[list[float]], list[list[float]]] = ([], [])
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(samples[0]) < 6:
        for function, turns in ((a, samples[0]), (b, samples[1])):
            turns.append(turn(function))

    def median(turns) -> float:
        return statistics.median([x for t in turns for x in t])

    return median(samples[0]), median(samples[1]), median(samples[0][::2]) / median(samples[0][1::2])


def lenet_step(device: str):
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)).to(device)  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(64, 1, 28, 28).to(device), torch.randint(0, 10, (64,)).to(device)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def rows(seconds: float):
    """(what, device seconds, reference seconds, noise, budget as a ratio or as seconds)."""
    cpu = torch.randn(1 << 20)
    device = cpu.hammerblade()
    for name, function in (("x + x, 1M floats", lambda x: x + x), ("exp, 1M floats", lambda x: x.exp()), ("sigmoid, 1M floats", lambda x: x.sigmoid())):
        yield name, "CPU", *in_turns(lambda f=function: f(device), lambda f=function: f(cpu), seconds), 3.0
    small, out = torch.ones(1).hammerblade(), torch.ones(1).hammerblade()
    yield "launch of an empty kernel", "", *in_turns(lambda: torch.neg(small, out=out), lambda: torch.neg(small, out=out), seconds), 20e-6
    a, b = torch.randn(512, 512), torch.randn(512, 512)
    row, at, bt = torch.randn(1, 512), a.t(), b.t()
    for name, left, right in (("a @ b", a, b), ("a @ b.t()", a, bt), ("a.t() @ b", at, b), ("a.t() @ b.t()", at, bt), ("row @ b", row, b), ("row @ b.t()", row, bt)):
        here = [t.hammerblade_ll() for t in (left, right)]
        yield f"{name}, 512 x 512", "CPU", *in_turns(lambda p=here: p[0] @ p[1], lambda p=(left, right): p[0] @ p[1], seconds), 10.0
    for name, image, filters, options in CONVOLUTIONS:
        x, f = torch.randn(*image), torch.randn(*filters)
        there, here = ((t.requires_grad_(), u.requires_grad_()) for t, u in ((x, f), (x.detach().hammerblade(), f.detach().hammerblade())))
        yield name, "CPU", *in_turns(lambda t=here, o=options: F.conv2d(*t, **o), lambda t=there, o=options: F.conv2d(*t, **o), seconds), 4.0
        back = [(F.conv2d(*t, **options), t) for t in (here, there)]
        step = [lambda out=out, t=t, g=torch.ones_like(out): torch.autograd.grad(out, t, g, retain_graph=True) for out, t in back]
        yield "  backward", "CPU", *in_turns(*step, seconds), 4.0
    yield "LeNet-5 step, batch 64", "CPU", *in_turns(lenet_step("hammerblade"), lenet_step("cpu"), seconds), 10.0
    part = device[: 1 << 16].clone()

    def checked(function, *arguments):
        with torch.hammerblade.mode("check"):
            function(*arguments)

    yield "check mode, add of 64k floats", "fast mode", *in_turns(lambda: checked(part.add, part), lambda: part + part, seconds), 100.0
    yield "check mode, exp of 64k floats", "fast mode", *in_turns(lambda: checked(part.exp), lambda: part.exp(), seconds), 100.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each row (2)")
    args = parser.parse_args()
    if not torch.has_hammerblade:
        print("the HammerBlade device was not built (USE_HAMMERBLADE)", file=sys.stderr)
        return 2
    print(f"{torch.hammerblade.get_device_name()}; {torch.get_num_threads()} threads")
    print(f"{'':36}{'device':>12}{'reference':>12}{'ratio':>9}{'budget':>9}{'A/A':>7}")
    broken = 0
    for what, against, a, b, noise, budget in rows(args.seconds):
        if against:
            line, over = f"{b * 1e6:10.1f}us{a / b:9.2f}{budget:9.0f}", a / b > budget
        else:
            line, over = f"{'':12}{'':9}{budget * 1e6:7.0f}us", a > budget
        broken += over
        print(f"{what:36}{a * 1e6:10.1f}us{line}{noise:7.2f}{'   over' if over else ''}{f'   against {against}' if against else ''}", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
