# SPDX-License-Identifier: Apache-2.0
"""Every class of torch.nn: how it is made, what it is called with, and what of it is recorded from PyTorch.

A case is (class, arguments, inputs, options). Inputs are shapes of waves, tensors made by a function of torch, or
plain values; all computing is in float64. `python tests/nn/record_nn.py` writes what PyTorch does to golden/nn.npz.
"""
import inspect
import math

SEED = 20


class Ints:
    """Whole numbers below a limit, in a fixed order."""

    def __init__(self, *shape, below):
        self.shape, self.below = shape, below

    def make(self, torch):
        n = math.prod(self.shape)
        return torch.tensor([(i * 7 + 3) % self.below for i in range(n)], dtype=torch.int64).reshape(self.shape)


class Wave:
    """scale * sin(…) + shift: the same numbers everywhere, without a random generator."""

    def __init__(self, *shape, scale=1.0, shift=0.0, grad=True):
        self.shape, self.scale, self.shift, self.grad = shape, scale, shift, grad

    def make(self, torch, phase=0.0):
        n = math.prod(self.shape)
        values = [self.scale * math.sin(1.7 * i + phase + 0.3 * i * i) + self.shift for i in range(n)]
        return torch.tensor(values, dtype=torch.float64).reshape(self.shape).requires_grad_(self.grad)


class Values:
    """Whole numbers as they are."""

    def __init__(self, *values):
        self.values = values

    def make(self, torch):
        return torch.tensor(self.values)


class Signs:
    """1 and -1."""

    def __init__(self, *shape):
        self.shape = shape

    def make(self, torch):
        n = math.prod(self.shape)
        return torch.tensor([1.0 if (i * 5) % 3 else -1.0 for i in range(n)], dtype=torch.float64).reshape(self.shape)


class Mask:
    """True where a key is padding: the last ones of every other row."""

    def __init__(self, *shape):
        self.shape = shape

    def make(self, torch):
        rows, columns = self.shape
        return torch.tensor([[r % 2 == 1 and c >= columns - 2 for c in range(columns)] for r in range(rows)])


class Causal:
    def __init__(self, n):
        self.n = n

    def make(self, torch):
        return torch.full((self.n, self.n), -math.inf, dtype=torch.float64).triu(1)


class Tensors:
    """A tuple of others, such as the states of an LSTM."""

    def __init__(self, *parts):
        self.parts = parts


class Case:
    def __init__(self, cls, args=(), inputs=((2, 3),), eval=False, call=None, **kwargs):
        self.cls, self.args, self.kwargs, self.inputs, self.eval, self.call_kwargs = cls, args, kwargs, inputs, eval, call or {}
        said = [*map(str, args), *(f"{k}={v}" for k, v in kwargs.items()), *(["eval"] if eval else []), *self.call_kwargs]
        self.name = f"{cls}({', '.join(said)})"

    def module(self, torch):
        torch.manual_seed(SEED)

        def made(value):
            if isinstance(value, (Wave, Ints, Signs)):
                return value.make(torch).detach()
            return value(torch) if callable(value) else value

        return getattr(torch.nn, self.cls)(*map(made, self.args), **{k: made(v) for k, v in self.kwargs.items()})

    def arguments(self, torch):
        phase = iter(range(100))

        def made(value):
            if isinstance(value, Tensors):
                return tuple(made(v) for v in value.parts)
            if isinstance(value, tuple) and all(isinstance(n, int) for n in value):
                value = Wave(*value)
            if isinstance(value, Wave):
                return value.make(torch, 0.9 * next(phase))
            return value.make(torch) if hasattr(value, "make") else value

        return [made(v) for v in self.inputs], {k: made(v) for k, v in self.call_kwargs.items()}


def tensors(torch, value, name):
    """Pairs of name and tensor in a result, in order."""
    if isinstance(value, torch.Tensor):
        return [(name, value)]
    if isinstance(value, (tuple, list)):
        return [pair for i, v in enumerate(value) for pair in tensors(torch, v, f"{name}.{i}")]
    return []


def outcome(torch, case):
    """(repr, state keys, {name: tensor}): initial values, outputs, gradients of inputs and parameters, buffers after."""
    module = case.module(torch)
    text, keys = repr(module), list(module.state_dict())
    found = {f"initial {k}": v.clone() for k, v in module.state_dict().items() if not torch.nn.parameter.is_lazy(v)}
    module = module.double()
    if case.eval:
        module.eval()
    args, kwargs = case.arguments(torch)
    results = tensors(torch, module(*args, **kwargs), "output")
    found.update((k, v.detach()) for k, v in results)
    roots = [v for _, v in results if v.requires_grad]
    if roots:
        sum((v * v).sum() + v.sum() for v in roots).backward()
    leaves = [*tensors(torch, args, "input"), *tensors(torch, list(kwargs.values()), "option"), *module.named_parameters()]
    found.update((f"grad {k}", v.grad) for k, v in leaves if v.grad is not None)
    found.update((f"after {k}", v) for k, v in module.named_buffers() if v is not None)
    return text, keys, found


def signature(cls):
    """[name, kind, default] for each parameter of a class."""
    def shown(value):
        return getattr(value, "__name__", None) or repr(value)

    return [[p.name, int(p.kind), None if p.default is p.empty else shown(p.default)]
            for p in list(inspect.signature(cls.__init__).parameters.values())[1:]]  # fmt: skip


IMAGE, SEQUENCE, VOLUME = (2, 4, 4, 5), (2, 4, 6), (1, 2, 4, 3, 4)

CASES = [
    # linear and shapes
    Case("Identity", (1, "x")), Case("Linear", (3, 4)), Case("Linear", (3, 2), bias=False), Case("Bilinear", (3, 2, 4), [(5, 3), (5, 2)]),
    Case("LazyLinear", (4,)), Case("Flatten", (), [(2, 3, 4)]), Case("Flatten", (0, 1), [(2, 3, 4)]),
    Case("Unflatten", (1, (2, 3)), [(2, 6)]), Case("Sequential", (lambda t: t.nn.Linear(3, 2), lambda t: t.nn.Tanh())),
    Case("ModuleList", (lambda t: [t.nn.Linear(3, 2)] * 2 + [t.nn.ReLU()],), None), Case("ModuleDict", (lambda t: {"b": t.nn.Linear(2, 1), "a": t.nn.ReLU()},), None),
    Case("ParameterList", (lambda t: [t.ones(2), t.nn.Parameter(t.zeros(1, 3)), 5],), None),
    Case("ParameterDict", (lambda t: {"b": t.ones(2), "a": t.nn.Parameter(t.zeros(1, 3)), "c": "x"},), None),
    # activations
    *(Case(name) for name in ("ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "Sigmoid", "Tanh", "LogSigmoid", "Softsign",
                              "Tanhshrink", "ELU", "CELU", "LeakyReLU", "GELU", "Hardshrink", "Softshrink", "Softplus", "PReLU", "Hardtanh")),
    Case("ReLU", inplace=True, inputs=[Wave(2, 3, grad=False)]), Case("ELU", (0.5,)), Case("CELU", (0.5,)), Case("LeakyReLU", (0.2,)),
    Case("GELU", approximate="tanh"), Case("Softplus", (2.0, 1.5)), Case("PReLU", (3,)), Case("Hardtanh", (-0.5, 0.25)), Case("GLU", (), [(2, 4)]),
    Case("Threshold", (0.1, -5.0)), Case("RReLU", eval=True), Case("Softmax", (1,)), Case("Softmin", (0,)), Case("LogSoftmax", (-1,)), Case("Softmax2d", (), [IMAGE]),
    # convolutions
    Case("Conv1d", (4, 6, 3), [SEQUENCE], padding="same", dilation=2), Case("Conv1d", (4, 2, 3), [SEQUENCE], padding=1, padding_mode="circular"),
    Case("Conv2d", (4, 6, 3), [IMAGE], stride=2, padding=(1, 0), groups=2), Case("Conv2d", (4, 2, (3, 2)), [(4, 4, 5)], bias=False, dilation=(1, 2)),
    Case("Conv2d", (4, 2, 3), [IMAGE], padding=1, padding_mode="reflect"), Case("Conv2d", (4, 2, 3), [IMAGE], padding="same", padding_mode="replicate"),
    Case("Conv3d", (2, 3, 2), [VOLUME]), Case("ConvTranspose1d", (4, 3, 3), [SEQUENCE], stride=2, output_padding=1),
    Case("ConvTranspose2d", (4, 6, 3), [IMAGE], stride=2, padding=1, groups=2), Case("ConvTranspose2d", (4, 2, 3), [IMAGE], stride=2, call={"output_size": [10, 11]}),
    Case("ConvTranspose3d", (2, 3, 2), [VOLUME], dilation=2), Case("LazyConv1d", (6, 3), [SEQUENCE]), Case("LazyConv2d", (6, 3), [IMAGE]), Case("LazyConv3d", (3, 2), [VOLUME]),
    Case("LazyConvTranspose1d", (3, 3), [SEQUENCE]), Case("LazyConvTranspose2d", (3, 3), [IMAGE], bias=False), Case("LazyConvTranspose3d", (3, 2), [VOLUME]),
    # norms
    Case("BatchNorm1d", (4,), [(3, 4)]), Case("BatchNorm1d", (4,), [SEQUENCE], momentum=None), Case("BatchNorm2d", (4,), [IMAGE]), Case("BatchNorm2d", (4,), [IMAGE], eval=True),
    Case("BatchNorm2d", (4,), [IMAGE], affine=False, track_running_stats=False, eval=True), Case("BatchNorm2d", (4,), [IMAGE], bias=False), Case("BatchNorm3d", (2,), [VOLUME]),
    Case("SyncBatchNorm", (4,), [IMAGE]), Case("LazyBatchNorm1d", (), [SEQUENCE]), Case("LazyBatchNorm2d", (), [IMAGE]), Case("LazyBatchNorm3d", (), [VOLUME]),
    Case("InstanceNorm1d", (4,), [SEQUENCE]), Case("InstanceNorm2d", (4,), [IMAGE], affine=True, track_running_stats=True), Case("InstanceNorm2d", (4,), [(4, 4, 5)]),
    Case("InstanceNorm3d", (2,), [VOLUME]), Case("LazyInstanceNorm1d", (), [SEQUENCE]), Case("LazyInstanceNorm2d", (), [IMAGE]), Case("LazyInstanceNorm3d", (), [VOLUME]),
    Case("LayerNorm", (3,)), Case("LayerNorm", ([4, 6],), [SEQUENCE], bias=False), Case("LayerNorm", (3,), elementwise_affine=False), Case("GroupNorm", (2, 4), [IMAGE]),
    Case("GroupNorm", (2, 4), [SEQUENCE], affine=False), Case("RMSNorm", (3,)), Case("RMSNorm", (3,), eps=1e-3, elementwise_affine=False),
    Case("LocalResponseNorm", (3,), [IMAGE]), *(Case("CrossMapLRN2d", (n, 0.1), [Wave(2, 2, 3, 3, grad=False)]) for n in (3, 4)),
    # dropouts, as they are in evaluation: their draws are not the same in all builds of PyTorch
    *(Case(name, eval=True) for name in ("Dropout", "AlphaDropout")), Case("Dropout", (0.0,)), Case("Dropout1d", (), [SEQUENCE], eval=True), Case("Dropout2d", (0.2,), [IMAGE], eval=True),
    Case("Dropout3d", (), [VOLUME], eval=True), Case("FeatureAlphaDropout", (), [IMAGE], eval=True),
    # embeddings
    Case("Embedding", (6, 3), [Ints(2, 4, below=6)]), Case("Embedding", (6, 3), [Ints(2, 4, below=6)], padding_idx=-1, scale_grad_by_freq=True),
    Case("Embedding", (6, 3), [Ints(4, below=6)], max_norm=1.0), Case("EmbeddingBag", (6, 3), [Ints(2, 4, below=6)]),
    Case("EmbeddingBag", (6, 3), [Ints(7, below=6)], mode="sum", padding_idx=2, call={"offsets": Ints(1, below=1)}), Case("EmbeddingBag", (6, 3), [Ints(2, 4, below=6)], mode="max"),
    # pools
    Case("MaxPool1d", (2,), [SEQUENCE]), Case("MaxPool2d", (3, 2, 1), [IMAGE], return_indices=True), Case("MaxPool2d", (2,), [IMAGE], ceil_mode=True, dilation=2), Case("MaxPool3d", (2,), [VOLUME]),
    Case("AvgPool1d", (2,), [SEQUENCE]), Case("AvgPool2d", (3, 2, 1), [IMAGE], count_include_pad=False), Case("AvgPool2d", (2,), [IMAGE], divisor_override=3), Case("AvgPool3d", (2,), [VOLUME]),
    Case("MaxUnpool1d", (2,), [(1, 1, 3)]), Case("MaxUnpool2d", (2,), [(1, 1, 2, 2)]), Case("MaxUnpool3d", (2,), [(1, 1, 1, 1, 2)]),
    Case("FractionalMaxPool2d", (2,), [(1, 2, 6, 6)], output_size=3, _random_samples=Wave(1, 2, 2, scale=0.4, shift=0.5, grad=False)),
    Case("FractionalMaxPool3d", (2,), [(1, 1, 5, 5, 5)], output_ratio=0.5, _random_samples=Wave(1, 1, 3, scale=0.4, shift=0.5, grad=False)),
    Case("LPPool1d", (2, 3), [SEQUENCE]), Case("LPPool2d", (2, 2), [IMAGE], stride=1), Case("LPPool3d", (2, 2), [VOLUME]),
    Case("AdaptiveAvgPool1d", (3,), [SEQUENCE]), Case("AdaptiveAvgPool2d", ((3, None),), [IMAGE]), Case("AdaptiveAvgPool3d", (2,), [VOLUME]),
    Case("AdaptiveMaxPool1d", (3,), [SEQUENCE]), Case("AdaptiveMaxPool2d", ((3, 2),), [IMAGE], return_indices=True), Case("AdaptiveMaxPool3d", (2,), [VOLUME]),
    # pads
    *(Case(f"{kind}Pad{n}d", (pad,), [shape]) for kind in ("Zero", "Circular", "Reflection", "Replication")
      for n, pad, shape in ((1, (2, 1), SEQUENCE), (2, (1, 2, 0, 1), IMAGE), (3, 1, VOLUME))),
    Case("ConstantPad1d", (2, 1.5), [SEQUENCE]), Case("ConstantPad2d", ((1, 0, 2, -1), -0.5), [IMAGE]), Case("ConstantPad3d", (1, 2.0), [VOLUME]),
    # rearrangements
    Case("Fold", ((4, 5), 2), [(1, 8, 12)]), Case("Unfold", (2,), [IMAGE], stride=2, padding=1), Case("PixelShuffle", (2,), [(1, 8, 2, 3)]), Case("PixelUnshuffle", (2,), [(1, 2, 4, 6)]),
    Case("ChannelShuffle", (2,), [IMAGE]), Case("Upsample", (), [(1, 2, 3, 4)], scale_factor=2), Case("Upsample", ((5, 7),), [(1, 2, 3, 4)], mode="bilinear", align_corners=False),
    Case("Upsample", (), [(1, 2, 3, 4)], scale_factor=2, mode="bicubic"), Case("Upsample", (), [(1, 2, 3)], scale_factor=1.5, mode="linear"),
    Case("UpsamplingNearest2d", (), [(1, 2, 3, 4)], scale_factor=2), Case("UpsamplingBilinear2d", (5,), [(1, 2, 3, 4)]),
    # distances and losses
    Case("PairwiseDistance", (), [(3, 4), (3, 4)]), Case("CosineSimilarity", (), [(3, 4), (3, 4)]),
    *(Case(name, (), [(3, 4), Wave(3, 4, grad=False)]) for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss")),
    Case("MSELoss", (), [(3, 4), Wave(3, 4, grad=False)], reduction="none"), Case("SmoothL1Loss", (), [(3, 4), Wave(3, 4, grad=False)], beta=0.3, reduction="sum"),
    Case("HuberLoss", (), [(3, 4), Wave(3, 4, grad=False)], delta=0.3), Case("NLLLoss", (), [(3, 4), Ints(3, below=4)]),
    Case("NLLLoss", (), [IMAGE, Ints(2, 4, 5, below=4)], weight=Wave(4, scale=0.5, shift=1, grad=False), ignore_index=1), Case("NLLLoss2d", (), [IMAGE, Ints(2, 4, 5, below=4)]),
    Case("CrossEntropyLoss", (), [(3, 4), Ints(3, below=4)]), Case("CrossEntropyLoss", (), [(3, 4), Ints(3, below=4)], label_smoothing=0.1, reduction="none"),
    Case("CrossEntropyLoss", (), [(3, 4), Wave(3, 4, scale=0.2, shift=0.3, grad=False)]), Case("PoissonNLLLoss", (), [(3, 4), Wave(3, 4, shift=1.5, grad=False)], full=True),
    Case("GaussianNLLLoss", (), [(3, 4), Wave(3, 4, grad=False), Wave(3, 4, scale=0.3, shift=1)], full=True), Case("KLDivLoss", (), [(3, 4), Wave(3, 4, scale=0.2, shift=0.3, grad=False)], reduction="batchmean"),
    Case("BCELoss", (), [Wave(3, 4, scale=0.4, shift=0.5), Wave(3, 4, scale=0.4, shift=0.5, grad=False)]),
    Case("BCEWithLogitsLoss", (), [(3, 4), Wave(3, 4, scale=0.4, shift=0.5, grad=False)], pos_weight=Wave(4, scale=0.5, shift=1, grad=False)),
    Case("HingeEmbeddingLoss", (), [(3, 4), Signs(3, 4)]), Case("MultiLabelMarginLoss", (), [(2, 4), Ints(2, 4, below=4)]),
    Case("SoftMarginLoss", (), [(3, 4), Signs(3, 4)]), Case("MultiLabelSoftMarginLoss", (), [(3, 4), Wave(3, 4, scale=0.5, shift=0.5, grad=False)]),
    Case("CosineEmbeddingLoss", (0.1,), [(3, 4), (3, 4), Signs(3)]), Case("MarginRankingLoss", (0.2,), [(3,), (3,), Signs(3)]), Case("MultiMarginLoss", (), [(3, 4), Ints(3, below=4)]),
    Case("MultiMarginLoss", (2, 0.5), [(3, 4), Ints(3, below=4)]), Case("TripletMarginLoss", (), [(3, 4), (3, 4), (3, 4)], swap=True), Case("TripletMarginWithDistanceLoss", (), [(3, 4), (3, 4), (3, 4)]),
    Case("CTCLoss", (), [(6, 2, 4), Ints(2, 3, below=3), Values(6, 5), Values(3, 2)], blank=3), Case("AdaptiveLogSoftmaxWithLoss", (8, 20, [5, 10]), [(4, 8), Ints(4, below=20)], div_value=2.0),
    # recurrent layers
    Case("RNN", (3, 4), [(5, 2, 3)]), Case("RNN", (3, 4, 2, "relu"), [(2, 5, 3)], batch_first=True, bias=False), Case("LSTM", (3, 4, 2), [(5, 2, 3)], bidirectional=True),
    Case("LSTM", (3, 4), [(5, 3), Tensors((1, 2), (1, 4))], proj_size=2), Case("GRU", (3, 4, 2), [(2, 5, 3), (4, 2, 4)], batch_first=True, bidirectional=True, dropout=0.5, eval=True),
    Case("RNNCell", (3, 4), [(2, 3)]), Case("RNNCell", (3, 4), [(3,), (4,)], nonlinearity="relu", bias=False), Case("LSTMCell", (3, 4), [(2, 3), Tensors((2, 4), (2, 4))]), Case("GRUCell", (3, 4), [(2, 3), (2, 4)]),
    # attention
    Case("MultiheadAttention", (8, 2), [(4, 2, 8), (5, 2, 8), (5, 2, 8)]), Case("MultiheadAttention", (8, 2), [(4, 2, 8), (5, 2, 6), (5, 2, 7)], kdim=6, vdim=7, add_bias_kv=True, add_zero_attn=True),
    Case("MultiheadAttention", (8, 2), [(2, 5, 8), (2, 5, 8), (2, 5, 8), Mask(2, 5)], batch_first=True, bias=False, call={"attn_mask": Causal(5), "average_attn_weights": False}),
    Case("TransformerEncoderLayer", (8, 2, 6, 0.0), [(5, 2, 8)], call={"src_mask": Causal(5), "src_key_padding_mask": Mask(2, 5)}),
    Case("TransformerEncoderLayer", (8, 2, 6, 0.0, "gelu"), [(2, 5, 8)], batch_first=True, norm_first=True, bias=False),
    Case("TransformerDecoderLayer", (8, 2, 6, 0.0), [(5, 2, 8), (4, 2, 8)], call={"tgt_mask": Causal(5), "tgt_is_causal": True}),
    Case("TransformerEncoder", (lambda t: t.nn.TransformerEncoderLayer(8, 2, 6, 0.0), 2), [(5, 2, 8)], call={"mask": Causal(5)}, enable_nested_tensor=False),
    Case("TransformerDecoder", (lambda t: t.nn.TransformerDecoderLayer(8, 2, 6, 0.0), 2, lambda t: t.nn.LayerNorm(8)), [(5, 2, 8), (4, 2, 8)]),
    Case("Transformer", (8, 2, 1, 1, 6, 0.0), [(5, 2, 8), (4, 2, 8)], call={"tgt_mask": Causal(4)}),
    Case("DataParallel", (lambda t: t.nn.Linear(3, 2),)),
]  # fmt: skip

seen = set()
for case in CASES:
    if case.name in seen or " at 0x" in case.name:  # an argument without a text of its own
        case.name = f"{case.cls}#{sum(c.cls == case.cls for c in CASES[: CASES.index(case)])}"
    seen.add(case.name)
    if case.cls.startswith("MaxUnpool"):
        case.inputs = [case.inputs[0], Ints(*case.inputs[0], below=math.prod(n * 2 for n in case.inputs[0][2:]))]
assert len(seen) == len(CASES)
