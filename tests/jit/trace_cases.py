# SPDX-License-Identifier: Apache-2.0
"""Functions to trace, for PyTorch (record_traces.py) and for Facula (test_trace.py). `case` gives a function its inputs; what
a case does with the trace beside printing its graph is said by its options. The file names `torch` only through make(torch)."""

import collections

Case = collections.namedtuple("Case", "function inputs options")


def make(torch):  # noqa: C901
    """All cases by name."""
    cases = {}
    F = torch.nn.functional

    def numbers(*sizes, dtype=None):
        n = 1
        for s in sizes:
            n *= s
        values = (torch.arange(n) * 37 % 23 - 9).reshape(sizes)
        return values.to(dtype or torch.float32) / (4 if dtype is None else 1)

    x, row, image = numbers(3, 4), numbers(4), numbers(2, 3, 8, 8)

    def case(*inputs, **options):
        def add(function):
            assert function.__name__ not in cases
            cases[function.__name__] = Case(function, inputs, options)
            return function

        return add

    # --- numbers beside tensors
    @case(x)
    def arithmetic(x):
        y = x + 1
        z = y * 2.5 - x
        return z / 3

    @case(x)
    def reflected(x):
        return 2 - x, 2 / x, x**2, 2**x, x // 2, x % 2, 3 + x, 2 * x

    @case(x)
    def comparisons(x):
        return x > 1, x == x, x <= 2.5, x != 0, x < x, x >= 1

    @case(x, numbers(3, 4))
    def operators(a, b):
        return a @ b.t(), -a, abs(a), a + b, a * b, a - b, a / b, +a

    @case(numbers(4, dtype=None).long(), numbers(4).long())
    def bits(a, b):
        return a & b, a | b, a ^ b, ~a, a << 1, b >> 1, a & 1

    @case(x)
    def named_operators(x):
        return torch.add(x, x, alpha=2), x.sub(x, alpha=3), torch.rsub(x, 2), torch.true_divide(x, 2), x.mul(True)

    @case(x)
    def second_names(x):
        return x.absolute(), x.clip(0, 1), x.multiply(x), x.negative(), torch.concat([x, x]), x.arctan(), x.less(x), x.greater_equal(1)

    @case(x)
    def in_place_numbers(x):
        y = x.clone()
        y += 1
        y *= 2
        y -= x
        y /= 3
        return y

    # --- sizes
    @case(x)
    def size_in_view(x):
        return x.view(x.shape[0] * 2, -1)

    @case(x)
    def size_as_int(x):
        return x.reshape(x.size(0), int(x.size(1)))

    @case(x)
    def size_in_factory(x):
        return torch.zeros(x.shape[0], 3), torch.ones(x.shape), torch.full((x.size(0),), 2.0)

    @case(x)
    def sizes_everywhere(a):
        b = a.size()
        c = b[0]
        e = a.numel()
        return (
            a.view(b), a.view(c, -1), a.reshape(e), torch.zeros(b), a.expand(*b), a * c, a + c / 2, torch.arange(c), c + c,
            -c, c // 2, a.view(int(c), -1), torch.zeros([c, 2]), a[: c - 1], a[c - 1], a.repeat(c, 1), a**c, torch.arange(0, c, 2),
        )  # fmt: skip

    @case(x)
    def size_slices(x):
        return x.view(*x.shape[:-1], 2, 2).flatten(1), x.view(x.shape[:1] + (4,))

    @case(x)
    def length(x):
        return len(x) * x, x.numel() * x

    @case(x)
    def size_of_result(x):
        y = torch.cat([x, x], 1)
        return y.view(-1, y.size(1) // 2), y.new_zeros(y.size())

    @case(x)
    def torch_size(x):
        return x.view(torch.Size([x.shape[0], 4]))

    # --- indices
    @case(x)
    def plain_indices(x):
        return x[0], x[1, 2], x[-1], x[1:], x[:, ::2], x[0:2, 1:-1], x[...], x[()], x[:], x[:, :]

    @case(x)
    def new_dimensions(x):
        return x[None], x[..., None], x[None, 0, ..., None], x[..., 0]

    @case(x)
    def tensor_indices(x):
        return x[x > 0], x[torch.tensor([0, 1])], x[[0, 1]], x[[0, 1], [1, 2]], x[:, [0, 1]]

    @case(x, torch.tensor(1))
    def index_by_number(x, n):
        return x[n], x[n:], x[: n + 1, 0]

    @case(x)
    def index_by_bool(x):
        return x[True], x[False]

    @case(x)
    def set_plain(x):
        y = x.clone()
        y[0] = 1.0
        y[1:, 2] = x[0, 0]
        y[:, -1].add_(3)
        y[:] = 0
        y[...] = 5
        y[:, None] = 1
        y[0] = True
        return y

    @case(x)
    def set_broadcast(x):
        y = x.clone()
        y[1] = x[0:1]
        y[None] = x
        y[0, 1:] = x[1, 1:]
        y[0] = torch.tensor(3.0)
        return y

    @case(x)
    def set_by_mask(x):
        y = x.clone()
        y[x > 0] = 2
        y[x > 0] = x[x > 0]
        y[x > 0,] = 1
        y[[True, False, True]] = 1
        y[:, x[0] > 0] = 1.5
        return y

    @case(x)
    def set_by_tensor(x):
        y = x.clone()
        y[[0, 1]] = 2
        y[torch.tensor([0]), :] = x[0]
        y[[0], [1]] = 2
        y[torch.tensor([[0]])] = 2
        y[:, [0, 1]] = 3.5
        return y

    @case(x)
    def set_into_integers(x):
        y = x.long()
        y[0] = 1.5
        y[x > 0] = True
        y[[0], [1]] = 2
        return y

    # --- constants
    @case(x)
    def tensor_of_numbers(x):
        return torch.tensor([1, 2, 3]) + torch.arange(3), torch.tensor(1.5), torch.tensor([1.0], dtype=torch.float64)

    @case(x)
    def new_tensor(x):
        return x.new_tensor([1, 2]), x.new_tensor(3)

    outside = torch.tensor([1.0, 2.0, 3.0, 4.0])

    @case(x)
    def captured_constant(x):
        return x + outside, outside * x

    @case(x)
    def factories(x):
        return (
            torch.zeros_like(x), torch.full((2,), 3.0), x.new_zeros(3), torch.ones(3, dtype=torch.int64), torch.eye(3),
            torch.linspace(0, 1, 3), torch.full_like(x, 2), x.new_ones(2), x.new_full((2,), 1), torch.zeros((2,), device="cpu"),
            torch.scalar_tensor(2), torch.tril_indices(2, 2),
        )  # fmt: skip

    # --- random
    @case(x)
    def random_operators(x):
        return torch.rand(2, 3), torch.randn_like(x), F.dropout(x, 0.5, True), torch.randperm(3), torch.randint(3, (2,)), x.clone().bernoulli_(0.5)

    # --- views, casts, reductions
    @case(x)
    def views(x):
        return x.view(-1), x.flatten(), x.permute(1, 0), x.expand(2, 3, 4), x.t(), x.T, x.transpose(0, 1), x.unsqueeze(0), x.reshape(4, 3), x.squeeze(), x.narrow(0, 0, 2)

    @case(x)
    def casts(x):
        return x.to(torch.float64), x.double(), x.long(), x.half(), x.bool()

    @case(x)
    def reductions(x):
        return x.sum(), x.sum(0, keepdim=True), x.mean(1), x.max(), x.argmax(), x.all(), x.prod()

    @case(x)
    def several_results(x):
        values, indices = x.max(1)
        return values, indices, x.sort()[0], x.topk(2)[1]

    @case(x)
    def lists(x):
        a, b = x.chunk(2, 1)
        c = torch.stack([a, b])
        return torch.cat([a, b], 1), c, x.unbind(0)[1], torch.split(x, [1, 2])[1]

    @case(x)
    def products(x):
        return torch.einsum("ij,kj->ik", x, x), torch.matmul(x, x.t()), torch.addmm(x, x[:, :3], x), x.mm(x.t()), torch.bmm(x[None], x.t()[None])

    @case(x)
    def clone_and_contiguous(x):
        return x.clone(), x.t().contiguous(), x.detach()

    @case(x)
    def where(x):
        return torch.where(x > 0, x, -x), torch.where(x > 0, x, 0.0), x.masked_fill(x > 0, 1), x.clamp(min=0), x.clamp(0, 1)

    # --- in place
    @case(x)
    def in_place(x):
        y = x.clone()
        y.add_(x)
        y.mul_(2).relu_()
        y.zero_()
        y.copy_(x)
        y.fill_(1)
        return y

    @case(x)
    def in_place_on_view(x):
        y = x.clone()
        row = y[0]
        row.add_(1)
        y.t().mul_(2)
        return y

    @case(x, force_outplace=True)
    def out_of_place(x):
        return x.clone().add_(1).relu_()

    @case(x)
    def in_place_on_input(x):
        return x.add_(1)

    # --- containers
    @case((x, x))
    def tuple_input(pair):
        return pair[0] + pair[1]

    @case({"a": x, "b": row})
    def dict_input(d):
        return d["a"] + d["b"]

    @case([x, row])
    def list_input(items):
        return items[0] + items[1]

    @case(((x, row), x))
    def nested_input(pair):
        return pair[0][0] + pair[0][1] + pair[1]

    @case(x, row)
    def tuple_output(a, b):
        return a + b, (a * b, b)

    @case(x)
    def list_output(a):
        return [a, a + 1]

    @case(x, strict=False)
    def list_output_loose(a):
        return [a, a + 1]

    @case(x)
    def dict_output(a):
        return {"sum": a + 1}

    @case(x, strict=False)
    def dict_output_loose(a):
        return {"sum": a + 1, "same": a}

    @case(x, x)
    def same_input_twice(a, b):
        return a + b

    @case(x)
    def input_returned(a):
        return a

    # --- what a trace refuses
    @case(x)
    def no_output(a):
        a + 1

    @case(x)
    def number_output(a):
        return 3

    @case(x)
    def constant_output(a):
        return outside

    weight = torch.ones(4, requires_grad=True)

    @case(x)
    def captured_parameter(a):
        return a * weight

    @case(3)
    def number_input(a):
        return a

    # --- what a trace will not see again
    @case(x)
    def python_numbers(x):
        return x * float(x[0, 0]) + int(x.shape[0]) + x.sum().item() + bool(x.any())

    @case(x)
    def python_branch(x):
        return x if x.sum() > 1e9 else -x

    @case(x)
    def python_iteration(x):
        total = x[0]
        for i in x:
            total = total + i
        return total

    @case(x)
    def python_list(x):
        return x + x.tolist()[0][0]

    @case(x)
    def python_length(x):
        return x[: len(x)]

    # --- networks
    @case(image, numbers(4, 3, 3, 3))
    def convolutions(image, w):
        return F.conv2d(image, w), F.conv2d(image, w, stride=2, padding=1), F.conv2d(image, w, padding="same"), F.conv_transpose2d(image, w.transpose(0, 1))

    @case(image, numbers(4, 3, 3, 3))
    def convolution_unbatched(image, w):
        return F.conv2d(image[0], w)

    @case(image)
    def pooling(image):
        return F.max_pool2d(image, 2), F.avg_pool2d(image, 2), F.adaptive_avg_pool2d(image, 1)

    @case(x)
    def activations(x):
        return F.relu(x), F.gelu(x), F.silu(x), torch.sigmoid(x), torch.tanh(x), F.leaky_relu(x, 0.1), F.softmax(x, 1), F.log_softmax(x, -1)

    @case(x, numbers(5, 4), numbers(5))
    def linear(x, w, b):
        return F.linear(x, w, b), F.layer_norm(x, (4,)), F.linear(x, w)

    @case(x, numbers(3).long().abs() % 4)
    def losses(x, t):
        return F.cross_entropy(x, t), F.nll_loss(x, t)

    # --- names
    @case(x)
    def local_names(x):
        first = x + 1
        second = first * first
        first = second - 1
        return first + second

    @case(x)
    def nested_function(x):
        def helper(argument):
            inner = argument * 2
            return inner + argument

        return helper(x) + helper(x + 1)

    @case(x)
    def gradient_flags(x):
        y = x.clone().requires_grad_()
        with torch.no_grad():
            z = y * 2
        return y * 3 + z

    add_modules(torch, cases, x, image)
    return cases


def add_modules(torch, cases, x, image):
    """Modules: what is compared is every method of every submodule."""
    nn, F = torch.nn, torch.nn.functional

    def module(*inputs, **options):
        def add(cls):
            made = cls()
            with torch.no_grad():
                for i, p in enumerate(made.parameters()):
                    p.copy_((torch.arange(p.numel()) % 5 - 2 + i).reshape(p.shape) / 4)
            cases[cls.__name__] = Case(made, inputs, options)
            return cls

        return add

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 3)
            self.register_buffer("shift", torch.ones(3))
            self.register_buffer("nothing", None)

        def forward(self, value, scale):
            y = self.fc(value) * scale
            return y + self.shift, y

    @module(x)
    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()
            self.tail = nn.Sequential(nn.Tanh(), nn.Linear(3, 2))
            self.weight = nn.Parameter(torch.ones(2))

        def forward(self, x):
            p, q = self.inner(x, x.sum())
            r = self.tail(p) + self.weight
            return self.tail(q) + r * self.inner.shift[0]

    @module(image)
    class Convolutional(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2))
            self.classifier = nn.Linear(36, 5)

        def forward(self, image):
            y = self.features(image)
            return self.classifier(y.view(image.shape[0], -1))

    @module(x)
    class TwiceCalled(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return self.fc(self.fc(x))

    @module(x, x)
    class OtherMethods(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def helper(self, x):
            return self.fc(x) * 2

        def forward(self, a, b):
            return self.helper(a) + b

    @module(x)
    class ParameterOfChild(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return F.linear(x, self.fc.weight) + self.fc.bias

    @module(x)
    class NoParameters(nn.Module):
        def forward(self, x):
            return x * 2

    @module(x)
    class ContainerOfModules(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

        def forward(self, x):
            for layer in self.layers:
                x = torch.relu(layer(x))
            return x

    @module(x)
    class BufferWritten(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(4))

        def forward(self, x):
            self.count.add_(x[0])
            return x + self.count
