# SPDX-License-Identifier: Apache-2.0
"""Records PyTorch's random numbers: `python tests/golden/record_random.py` with PyTorch 2.x writes random.json.

A case is (kind, PyTorch expression, the same on tests/reference_random.Generator `g`). Each is run for every
seed after torch.manual_seed(seed). Stored are the values (all of them, or head, tail and a SHA-256 of all)
and the float32 uniform number drawn next, which tells how many words the case consumed.

kind: exact  - equal bits are promised (docs/random.md, section 9)
      normal - 2 units in the last place are promised
"""

import hashlib
import json
import pathlib
import struct
import warnings

SEEDS = [0, 1, 1234, 2**40 + 7]
WHOLE = 80  # longer results are stored as head, tail and hash (exact) or as a sample (normal)

P = "torch.arange(40) / 40"
W = "(torch.arange(50) % 7 + 1)"
CASES = [
    # uniform
    ("exact", "torch.rand(1)", "g.uniform(1)"),
    ("exact", "torch.rand(20)", "g.uniform(20)"),
    ("exact", "torch.rand(1300)", "g.uniform(1300)"),
    ("exact", "torch.rand(3, 5)", "g.uniform(15)"),
    ("exact", "torch.rand(0)", "g.uniform(0)"),
    ("exact", "torch.rand(())", "g.uniform(1)"),
    ("exact", "torch.rand(700, dtype=torch.float64)", "g.uniform(700, dtype='float64')"),
    ("exact", "torch.rand(20000, dtype=torch.float16)", "g.uniform(20000, dtype='float16')"),
    ("exact", "torch.rand(20000, dtype=torch.bfloat16)", "g.uniform(20000, dtype='bfloat16')"),
    ("exact", "torch.cat([torch.rand(3), torch.rand(5), torch.rand(624)])", "g.uniform(632)"),
    ("exact", "torch.cat([torch.rand(2).double(), torch.rand(2, dtype=torch.float64)])",
     "np.concatenate([g.uniform(2), g.uniform(2, dtype='float64')])"),
    ("exact", "torch.empty(1000).uniform_(-0.1, 0.37)", "g.uniform(1000, -0.1, 0.37)"),
    ("exact", "torch.empty(1000).uniform_(-1 / 32, 1 / 32)", "g.uniform(1000, -1 / 32, 1 / 32)"),
    ("exact", "torch.empty(64).uniform_(16777216, 16777218)", "g.uniform(64, 16777216, 16777218)"),
    ("exact", "torch.empty(7).uniform_(2, 2)", "g.uniform(7, 2, 2)"),
    ("exact", "torch.empty(1000, dtype=torch.float64).uniform_(-0.1, 0.37)", "g.uniform(1000, -0.1, 0.37, 'float64')"),
    ("exact", "torch.empty(20000, dtype=torch.float16).uniform_(0.1, 0.3)", "g.uniform(20000, 0.1, 0.3, 'float16')"),
    ("exact", "torch.empty(20000, dtype=torch.bfloat16).uniform_(0.1, 0.3)", "g.uniform(20000, 0.1, 0.3, 'bfloat16')"),
    ("exact", "torch.rand_like(torch.empty(5, 4))", "g.uniform(20)"),
    ("exact", "torch.rand_like(torch.empty(4, 6).t())", "g.uniform(24).reshape(4, 6).T"),
    ("exact", "torch.rand_like(torch.empty(5, dtype=torch.int64), dtype=torch.float64)", "g.uniform(5, dtype='float64')"),
    ("exact", "torch.empty(3, 4).t().uniform_()", "g.uniform(12).reshape(3, 4).T"),
    ("exact", "torch.empty(6, 8)[:, ::2].uniform_()", "g.uniform(24)"),
    ("exact", "torch.empty(6, 8)[::2].t().uniform_()", "g.uniform(24).reshape(3, 8).T"),
    ("exact", "torch.empty(2, 3, 4, 5).permute(2, 0, 3, 1).uniform_()",
     "g.uniform(120).reshape(2, 3, 4, 5).transpose(2, 0, 3, 1)"),
    ("exact", "torch.empty(2, 3, 4, 5).contiguous(memory_format=torch.channels_last).uniform_()",
     "g.uniform(120).reshape(2, 4, 5, 3).transpose(0, 3, 1, 2)"),
    ("exact", "torch.rand(20, dtype=torch.complex64)", "g.uniform(40).view('c8')"),
    # integers
    ("exact", "torch.randint(10, (20,))", "g.random(20, 0, 10)"),
    ("exact", "torch.randint(-7, 1000, (1000,))", "g.random(1000, -7, 1000)"),
    ("exact", "torch.randint(0, 2**28 - 1, (20,))", "g.random(20, 0, 2**28 - 1)"),
    ("exact", "torch.randint(0, 2**28, (20,))", "g.random(20, 0, 2**28)"),
    ("exact", "torch.randint(-5, 2**31, (20,))", "g.random(20, -5, 2**31)"),
    ("exact", "torch.randint(0, 2**32 + 1, (20,))", "g.random(20, 0, 2**32 + 1)"),
    ("exact", "torch.randint(-7, 2**40, (1000,))", "g.random(1000, -7, 2**40)"),
    ("exact", "torch.randint(-2**63, 2**63 - 1, (20,))", "g.random(20, -2**63, 2**63 - 1)"),
    ("exact", "torch.randint(0, 100, (20,), dtype=torch.uint8)", "g.random(20, 0, 100)"),
    ("exact", "torch.randint(0, 100, (20,), dtype=torch.int32)", "g.random(20, 0, 100)"),
    ("exact", "torch.randint(0, 2, (20,), dtype=torch.bool)", "g.random(20, 0, 2)"),
    ("exact", "torch.randint(0, 100, (20,), dtype=torch.float32)", "g.random(20, 0, 100, 'float32')"),
    ("exact", "torch.randint(0, 2**30, (20,), dtype=torch.float32)", "g.random(20, 0, 2**30, 'float32')"),
    ("exact", "torch.randint(513, 1023, (20,), dtype=torch.bfloat16)", "g.random(20, 513, 1023, 'bfloat16')"),
    ("exact", "torch.randint(-4999, 5000, (20,), dtype=torch.float16)", "g.random(20, -4999, 5000, 'float16')"),
    ("exact", "torch.randint_like(torch.zeros(20, dtype=torch.int16), 3, 9)", "g.random(20, 3, 9)"),
    ("exact", "torch.empty(20, dtype=torch.int64).random_(-10**6, 10**6)", "g.random(20, -10**6, 10**6)"),
    ("exact", "torch.empty(20, dtype=torch.int64).random_(7)", "g.random(20, 0, 7)"),
    ("exact", "torch.empty(6, 4, dtype=torch.int64).t().random_(0, 100)", "g.random(24, 0, 100).reshape(6, 4).T"),
    ("exact", "torch.empty(20, dtype=torch.int64).random_(-2**63, None)", "g.words64(20).astype(np.int64)"),
    *[("exact", f"torch.empty(20, dtype=torch.{t}).random_()", f"g.random_full(20, '{t}')")
      for t in "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()],
    *[("exact", f"torch.randperm({n})", f"g.permutation({n})") for n in (0, 1, 2, 10, 1000, 30001, 100000)],
    ("exact", "torch.randperm(50, dtype=torch.int32)", "g.permutation(50)"),
    ("exact", "torch.randperm(50, dtype=torch.float32)", "g.permutation(50)"),
    # normal
    *[("normal", f"torch.randn({n})", f"g.normal({n})") for n in (0, 1, 2, 3, 15, 16, 17, 31, 32, 37, 100000)],
    *[("normal", f"torch.randn({n}, dtype=torch.float64)", f"g.normal({n}, dtype='float64')")
      for n in (1, 7, 16, 20, 1600)],
    *[("normal", f"torch.randn({n}, dtype=torch.{t})", f"g.normal({n}, dtype='{t}')")
      for t in ("float16", "bfloat16") for n in (5, 16, 37, 3200)],
    ("normal", "torch.randn(4, 5)", "g.normal(20)"),
    ("normal", "torch.cat([torch.randn(1), torch.randn(1), torch.randn(3)])", "g.normal(5)"),
    ("normal", "torch.cat([torch.randn(3), torch.randn(16), torch.randn(2)])",
     "np.concatenate([g.normal(3), g.normal(16), g.normal(2)])"),
    ("normal", "torch.cat([torch.randn(3), torch.rand(3), torch.randn(2)])",
     "np.concatenate([g.normal(3), g.uniform(3), g.normal(2)])"),
    ("normal", "torch.cat([torch.randn(1, dtype=torch.float64), torch.randn(1).double()])",
     "np.concatenate([g.normal(1, dtype='float64'), g.normal(1)])"),
    ("normal", "torch.empty(1000).normal_(0.3, 0.7)", "g.normal(1000, 0.3, 0.7)"),
    ("normal", "torch.empty(5).normal_(0.3, 0.7)", "g.normal(5, 0.3, 0.7)"),
    ("normal", "torch.empty(1000, dtype=torch.float64).normal_(0.3, 0.7)", "g.normal(1000, 0.3, 0.7, 'float64')"),
    ("normal", "torch.empty(5, dtype=torch.float64).normal_(0.3, 0.7)", "g.normal(5, 0.3, 0.7, 'float64')"),
    ("normal", "torch.empty(20).normal_(1, 0)", "g.normal(20, 1, 0)"),
    ("normal", "torch.empty(40, 2)[:, 0].normal_(0.3, 0.7)", "g.normal(40, 0.3, 0.7, contiguous=False)"),
    ("normal", "torch.empty(4, 6).t().normal_()", "g.normal(24, contiguous=False).reshape(4, 6).T"),
    ("normal", "torch.randn_like(torch.empty(4, 6).t())", "g.normal(24, contiguous=False).reshape(4, 6).T"),
    ("normal", "torch.empty(2, 3, 4, 5).contiguous(memory_format=torch.channels_last).normal_()",
     "g.normal(120, contiguous=False).reshape(2, 4, 5, 3).transpose(0, 3, 1, 2)"),
    ("normal", "torch.normal(0.3, 0.7, (40,))", "g.normal(40, 0.3, 0.7)"),
    ("normal", "torch.normal(torch.arange(40.0), torch.arange(40.0) / 8)",
     "g.normal(40) * (np.arange(40, dtype='f') / np.float32(8)) + np.arange(40, dtype='f')"),
    ("normal", "torch.normal(torch.arange(40.0), 0.7)", "g.normal(40) * np.float32(0.7) + np.arange(40, dtype='f')"),
    ("normal", "torch.normal(0.3, torch.arange(40.0))", "g.normal(40) * np.arange(40, dtype='f') + np.float32(0.3)"),
    ("normal", "torch.randn(20, dtype=torch.complex64)", "g.normal(40, 0.0, 0.5**0.5).view('c8')"),
    # bernoulli and dropout
    *[("exact", f"torch.empty(100).bernoulli_({p})", f"g.bernoulli(100, {p})") for p in (0.0, 0.3, 0.5, 0.9, 1.0)],
    ("exact", "torch.empty(20).bernoulli_()", "g.bernoulli(20, 0.5)"),
    ("exact", "torch.empty(100, dtype=torch.int64).bernoulli_(0.3)", "g.bernoulli(100, 0.3)"),
    ("exact", "torch.empty(6, 4).t().bernoulli_(0.5)", "g.bernoulli(24, 0.5).reshape(6, 4).T"),
    ("exact", "torch.bernoulli(torch.zeros(100), 0.3)", "g.bernoulli(100, 0.3)"),
    ("exact", f"torch.bernoulli({P})", "g.bernoulli_tensor(np.arange(40, dtype='f') / np.float32(40))"),
    ("exact", f"torch.bernoulli(({P}).double())", "g.bernoulli_tensor(np.arange(40, dtype='f') / np.float32(40), 'float64')"),
    ("exact", "torch.bernoulli(torch.full((6, 4), 0.5).t())", "g.bernoulli_tensor(np.full(24, 0.5)).reshape(4, 6)"),
    ("exact", f"torch.empty(40).bernoulli_({P})", "g.bernoulli_tensor(np.arange(40, dtype='f') / np.float32(40))"),
    ("exact", f"torch.empty(40).bernoulli_(({P}).double())",
     "g.bernoulli_tensor(np.arange(40, dtype='f') / np.float32(40), 'float64')"),
    ("exact", "torch.empty(40, dtype=torch.float64).bernoulli_(torch.full((), 0.5))", "g.bernoulli_tensor(np.full(40, 0.5))"),
    *[("exact", f"torch.dropout(torch.arange(100.0), {p}, True)", f"g.dropout(np.arange(100, dtype='f'), {p})")
      for p in (0.0, 0.1, 0.37, 0.5, 1.0)],
    ("exact", "torch.dropout(torch.arange(100.0).double(), 0.37, True)", "g.dropout(np.arange(100.0), 0.37)"),
    ("exact", "torch.dropout(torch.ones(6, 4).t(), 0.5, True)", "2.0 * g.bernoulli(24, 0.5).reshape(6, 4).T"),
    ("exact", "torch.dropout(torch.arange(100.0), 0.5, False)", "np.arange(100)"),
    # other distributions
    ("normal", "torch.empty(100).exponential_()", "g.exponential(100)"),
    ("normal", "torch.empty(100).exponential_(2.5)", "g.exponential(100, 2.5)"),
    ("normal", "torch.empty(100, dtype=torch.float64).exponential_(2.5)", "g.exponential(100, 2.5, 'float64')"),
    ("normal", "torch.empty(100).cauchy_(0.5, 2.0)", "g.cauchy(100, 0.5, 2.0)"),
    ("normal", "torch.empty(100).log_normal_(0.5, 0.7)", "g.log_normal(100, 0.5, 0.7)"),
    ("exact", "torch.empty(100).geometric_(0.3)", "g.geometric(100, 0.3)"),
    ("exact", "torch.empty(100, dtype=torch.int64).geometric_(0.3)", "g.geometric(100, 0.3)"),
    *[("exact", f"torch.multinomial({W}.to(torch.{t}), {n}, {r})",
       f"g.multinomial((np.arange(50) % 7 + 1).astype('{t}'), {n}, {r})")
      for t in ("float32", "float64") for n, r in ((1, False), (1, True), (20, False), (50, False), (200, True))],
    ("exact", f"torch.multinomial({W}.float().reshape(5, 10), 30, True)",
     "np.concatenate([g.multinomial(row, 30, True) for row in (np.arange(50) % 7 + 1).astype('f').reshape(5, 10)])"),
    ("exact", f"torch.multinomial({W}.float().reshape(5, 10), 4)",
     "np.concatenate([g.multinomial(row, 4) for row in (np.arange(50) % 7 + 1).astype('f').reshape(5, 10)])"),
    # the generator itself
    ("exact", "torch.get_rng_state()", "np.frombuffer(g.get_state(), np.uint8)"),
    ("exact", "(torch.rand(5), torch.get_rng_state())[1]", "(g.uniform(5), np.frombuffer(g.get_state(), np.uint8))[1]"),
    ("exact", "(torch.rand(624), torch.get_rng_state())[1]", "(g.uniform(624), np.frombuffer(g.get_state(), np.uint8))[1]"),
    ("exact", "(torch.randn(2), torch.get_rng_state())[1]", "(g.normal(2), np.frombuffer(g.get_state(), np.uint8))[1]"),
    ("exact", "torch.rand(5, generator=torch.Generator().manual_seed(99))", "Generator(99).uniform(5)"),
]  # fmt: skip


def flat(result):
    """Values in logical order as Python numbers; complex numbers as pairs."""
    values = result.reshape(-1).tolist()
    if values and isinstance(values[0], complex):
        values = [part for value in values for part in (value.real, value.imag)]
    return [int(v) if isinstance(v, bool) else v for v in values]


def digest(values):
    """SHA-256 of the values as 64-bit little-endian integers or doubles."""
    code = "d" if values and isinstance(values[0], float) else "q"
    return hashlib.sha256(struct.pack(f"<{len(values)}{code}", *values)).hexdigest()


def stored(kind, values):
    if len(values) <= WHOLE:
        return {"values": values}
    if kind == "exact":
        return {"head": values[:8], "tail": values[-8:], "sha256": digest(values), "count": len(values)}
    step = max(len(values) // WHOLE, 1) | 1
    return {"step": step, "sample": values[::step], "tail": values[-16:], "count": len(values)}


def record():
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = []
    for kind, code, _ in CASES:
        for seed in SEEDS:
            torch.manual_seed(seed)
            result = eval(code, {"torch": torch})
            after = torch.rand(1).item()
            row = {"seed": seed, "code": code, "kind": kind, "dtype": str(result.dtype), "shape": list(result.shape)}
            rows.append(row | stored(kind, flat(result)) | {"after": after})
    return {
        "torch": torch.__version__,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "cases": rows,
    }


if __name__ == "__main__":
    golden = record()
    rows = ",\n".join(json.dumps(row) for row in golden.pop("cases"))
    head = json.dumps(golden)[:-1]
    path = pathlib.Path(__file__).with_name("random.json")
    path.write_text(f'{head}, "cases": [\n{rows}\n]}}\n')
    print(f"{path.name}: {rows.count(chr(10)) + 1} rows, {path.stat().st_size} bytes")
