# SPDX-License-Identifier: Apache-2.0
"""Numbers where PyTorch takes numbers: a bool or one of NumPy's for a float, None for an empty list of dimensions, the wide unsigned
types, types that cannot be counted in, products of NaN. Records numbers.json: python tests/golden/record_numbers.py (with PyTorch 2.x)."""
import json
import pathlib

X = "torch.arange(6.).reshape(2, 3)"
# %s is True, False or NumPy's True; what is drawn is seeded.
FLOATS = """F.pad(X > 1, (1, 0), value=%s)
torch.nn.Dropout(%s)(X)
F.dropout(X, %s)
F.cross_entropy(X, torch.tensor([0, 1]), label_smoothing=%s)
F.scaled_dot_product_attention(X[None], X[None], X[None], dropout_p=%s)
F.layer_norm(X, (3,), eps=%s)
F.group_norm(X, 1, eps=%s)
torch.ones(2).normal_(0, %s)
torch.ones(2).uniform_(0, %s)
torch.ones(2).exponential_(%s)
torch.ones(2).cauchy_(0, %s)
torch.normal(torch.ones(2), %s)
X.bernoulli(p=%s)
X.bernoulli_(%s)
torch.nan_to_num(X, %s)
torch.allclose(X, X, %s)
torch.isclose(X, X, rtol=%s)
torch.cdist(X, X, %s)
F.pairwise_distance(X, X, %s)
F.huber_loss(X, X + 1, delta=%s)
F.smooth_l1_loss(X, X + 1, beta=%s)
torch.quantile(X, %s)
torch.nanquantile(X, %s)
torch.logit(X / 6, %s)
torch.nn.BatchNorm1d(3, eps=%s, momentum=True)(X)
torch.nn.CosineSimilarity(eps=%s)(X, X)
F.leaky_relu(X, %s)
F.elu(X, %s)
F.hardshrink(X, %s)
F.poisson_nll_loss(X, X, eps=%s)
F.triplet_margin_loss(X, X, X, margin=%s)
F.cosine_embedding_loss(X, X, torch.ones(2), margin=%s)
torch.nn.init.constant_(X, %s)""".split("\n")
OTHERS = """X.double().type(torch.Tensor)
X.double().type("torch.Tensor")
torch.equal(torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.int32))
torch.equal(torch.ones(2), torch.zeros(2, dtype=torch.int32))
torch.equal(torch.ones(2), torch.ones(3, dtype=torch.int32))
torch.amax(X, None)
X.amin(None)
X.amax(dim=None)
torch.roll(X, 0, None)
X.roll(1, None)
torch.roll(X, 1, dims=None)
grad(lambda b: torch.igamma(torch.ones(2, 3), b), torch.ones(3))
grad(lambda b: torch.igammac(torch.ones(2, 3), b), torch.ones(3))
F.multi_margin_loss(torch.tensor([[1., float('nan'), 2.], [0., 1., 2.]]), torch.tensor([0, 1]), reduction="none")
F.multi_margin_loss(torch.tensor([[float('nan'), 1., 2.]]), torch.tensor([0]), p=2)
grad(lambda v: F.multi_margin_loss(v, torch.tensor([0])), torch.tensor([[1., float('nan'), 2.]]))
torch.histc(X.half(), 3)
torch.histc(X.bfloat16(), 3)
torch.linspace(0, 1, 3, dtype=torch.bool)
torch.linspace(0, 1, 3, dtype=torch.uint16)
torch.linspace(0, 1, 3, dtype=torch.float8_e4m3fn)
torch.linspace(0, 1, 3, out=torch.empty(3, dtype=torch.uint32))
torch.logspace(0, 1, 3, dtype=torch.bool)""".split("\n")
for t in ("uint16", "uint32", "uint64"):
    n = f"torch.tensor([1, 5, 9]).to(torch.{t})"
    OTHERS += [f"{n}.clamp(2, 6)", f"{n}.clamp_min(2)", f"{n}.clamp_max(2)", f"{n}.clamp(max=4)", f"{n}.clamp_(6, 2)", f"{n}.clamp({n}[1], None)",
               f"torch.clamp({n}, 2, 6, out=torch.empty(3, dtype=torch.{t}))", f"{n}.clip({n}.flip(0), {n})"]  # fmt: skip
CASES = [code % value for code in FLOATS for value in ("True", "False", "np.bool_(True)", "np.float32(1)")] + OTHERS


def answer(torch, code):
    """[type, sizes, numbers] of what the code gives, or the kind of its error."""
    import numpy as np

    def grad(f, x):
        x.requires_grad_()
        f(x).sum().backward()
        return x.grad

    torch.manual_seed(3)
    names = {"torch": torch, "F": torch.nn.functional, "np": np, "grad": grad, "X": eval(X, {"torch": torch})}  # noqa: S307
    try:
        result = eval(code, names)  # noqa: S307
    except Exception as error:
        return type(error).__name__
    if not isinstance(result, torch.Tensor):
        return result
    return [str(result.dtype).rpartition(".")[2], list(result.shape), [repr(v) for v in result.detach().flatten().tolist()]]


if __name__ == "__main__":
    import torch

    path = pathlib.Path(__file__).with_suffix("").with_name("numbers.json")
    path.write_text(json.dumps({"torch": torch.__version__, "answers": {code: answer(torch, code) for code in CASES}}, indent=0) + "\n")
