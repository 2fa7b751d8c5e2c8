# SPDX-License-Identifier: Apache-2.0
"""The random numbers of docs/random.md in NumPy: slow, short, and bit for bit PyTorch's.

Every section number below is a section of docs/random.md. float16 and bfloat16 results come back as float32
arrays that hold rounded values, because NumPy has no bfloat16. Arrays are flat: element k is the k-th
element *in draw order* (section 3), shaping is the caller's business.
"""

import math
from fractions import Fraction

import numpy as np

F32 = np.float32
U64 = np.uint64
# The C library's functions: NumPy's own depend on the instruction set.
log, log1p, cos, sin = (np.vectorize(f, otypes=[np.float64]) for f in (math.log, math.log1p, math.cos, math.sin))


class Generator:
    """MT19937 with the cache of one normal number; section 1."""

    def __init__(self, seed):
        self.manual_seed(seed)

    def manual_seed(self, seed):
        self.seed = seed % 2**64
        state = [self.seed & 0xFFFFFFFF]
        for i in range(1, 624):
            previous = state[-1]
            state.append((1812433253 * (previous ^ (previous >> 30)) + i) & 0xFFFFFFFF)
        self.state = np.array(state, dtype=np.uint32)
        self.next = 0
        self.left = 1
        self.cached_normal = None
        return self

    def _twist(self):
        s = self.state
        following = np.roll(s, -1)
        mixed = (s & np.uint32(0x80000000)) | (following & np.uint32(0x7FFFFFFF))
        mag = np.where(following & np.uint32(1), np.uint32(0x9908B0DF), np.uint32(0))
        step = (mixed >> np.uint32(1)) ^ mag
        out = np.empty_like(s)
        out[:227] = s[397:] ^ step[:227]
        out[227:454] = out[:227] ^ step[227:454]
        out[454:623] = out[227:396] ^ step[454:623]
        last = (int(s[623]) & 0x80000000) | (int(out[0]) & 0x7FFFFFFF)
        out[623] = int(out[396]) ^ (last >> 1) ^ (0x9908B0DF if last & 1 else 0)
        self.state, self.next, self.left = out, 0, 624

    def words(self, n):
        """The next n 32-bit words, as uint64 so that arithmetic does not wrap."""
        out = np.empty(n, dtype=np.uint32)
        done = 0
        while done < n:
            # left counts the words up to the next twist, plus one.
            if self.left == 1:
                self._twist()
                self.left = 625
            take = min(n - done, self.left - 1)
            y = self.state[self.next : self.next + take].copy()
            y ^= y >> np.uint32(11)
            y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
            y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
            y ^= y >> np.uint32(18)
            out[done : done + take] = y
            done += take
            self.next += take
            self.left -= take
        return out.astype(U64)

    def words64(self, n):
        w = self.words(2 * n)
        return (w[0::2] << U64(32)) | w[1::2]

    def get_state(self):
        """The 5056 bytes of section 1.3."""
        raw = bytearray(5056)
        raw[0:8] = self.seed.to_bytes(8, "little")
        raw[8:12] = self.left.to_bytes(4, "little")
        raw[12:16] = (1).to_bytes(4, "little")
        raw[16:24] = self.next.to_bytes(8, "little")
        raw[24:5016] = self.state.astype("<u8").tobytes()
        if self.cached_normal is not None:
            raw[5024:5032] = np.array([self.cached_normal], "<f8").tobytes()
            raw[5040:5044] = (1).to_bytes(4, "little")
        return bytes(raw)

    def set_state(self, raw):
        self.seed = int.from_bytes(raw[0:8], "little")
        self.left = int.from_bytes(raw[8:12], "little")
        self.next = int.from_bytes(raw[16:24], "little")
        self.state = np.frombuffer(raw, "<u8", 624, 24).astype(np.uint32)
        valid = int.from_bytes(raw[5040:5044], "little")
        self.cached_normal = float(np.frombuffer(raw, "<f8", 1, 5024)[0]) if valid else None

    # ---- section 2: the two uniform numbers everything else is made of

    def unit32(self, n):
        return ((self.words(n) & U64(2**24 - 1)) / 2.0**24).astype(F32)

    def unit64(self, n):
        return (self.words64(n) & U64(2**53 - 1)) / 2.0**53

    # ---- section 4: uniform

    def uniform(self, n, low=0.0, high=1.0, dtype="float32"):
        if dtype == "float64":
            x = self.unit64(n)
            out = fma64(x, high - low, low) if (low, high) != (0.0, 1.0) else x
            return np.where(out == high, low, out)
        low, high = F32(low), F32(high)
        out = round_to(fma32(self.unit32(n), high - low, low), dtype)
        return np.where(out == round_to(high, dtype), round_to(low, dtype), out)

    # ---- section 5: integers

    def random(self, n, low, high, dtype="int64"):
        """randint and random_(from, to)."""
        if dtype in DIGITS:
            low, high = float_bounds(low, high, dtype)
        span = high - low
        w = self.words64(n) if span >= 2**28 else self.words(n)
        out = (w % U64(span)).astype(np.int64) + np.int64(low)
        return round_to(out, dtype) if dtype in DIGITS else out

    def random_full(self, n, dtype):
        """random_() without bounds."""
        if dtype == "int64":
            return (self.words64(n) & U64(2**63 - 1)).astype(np.int64)
        if dtype == "float64":
            return (self.words64(n) % U64(2**53 + 1)).astype(np.float64)
        span = {"bool": 2, "uint8": 2**8, "int8": 2**7, "int16": 2**15, "int32": 2**31,
                "float16": 2**11 + 1, "bfloat16": 2**8 + 1, "float32": 2**24 + 1}[dtype]
        return (self.words(n) % U64(span)).astype(np.int64)

    def permutation(self, n):
        out = np.arange(n)
        if n < 2**32 // 20:
            for i, w in enumerate(self.words(max(n - 1, 0)).tolist()):
                j = i + w % (n - i)
                out[i], out[j] = out[j], out[i]
        else:
            for i, w in enumerate(self.words64(n).tolist()):
                j = w % (i + 1)
                out[i] = out[j]
                out[j] = i
        return out

    # ---- section 6: normal

    def normal(self, n, mean=0.0, std=1.0, dtype="float32", contiguous=True):
        if n < 16 or not contiguous:
            return self._normal_pairs(n, mean, std, dtype)
        unit = self.unit64 if dtype == "float64" else self.unit32
        block = box_muller64 if dtype == "float64" else box_muller32
        whole = n - n % 16
        # 16-bit types draw block by block; the wide ones fill all n places first, which wastes n % 16 draws.
        x = unit(whole if dtype in ("float16", "bfloat16") else n)
        out = np.empty(n, dtype=x.dtype)
        out[:whole] = block(x[:whole], mean, std)
        if n % 16:
            out[n - 16 :] = block(unit(16), mean, std)
        return round_to(out, dtype)

    def _normal_pairs(self, n, mean, std, dtype):
        z = []
        if n and self.cached_normal is not None:
            z.append(self.cached_normal)
            self.cached_normal = None
        pairs = (n - len(z) + 1) // 2
        u = self.unit64(2 * pairs)
        radius = np.sqrt(-2.0 * log1p(-u[1::2]))
        angle = 2.0 * np.pi * u[0::2]
        z = np.concatenate([z, np.stack([radius * cos(angle), radius * sin(angle)], 1).ravel()])
        if len(z) > n:
            self.cached_normal = float(z[n])
        return round_to(fma64(z[:n], std, mean), dtype)

    # ---- section 7: the rest

    def bernoulli(self, n, p):
        """bernoulli_(p) and bernoulli(x, p) with a number p."""
        return self.unit64(n) < p

    def bernoulli_tensor(self, p, dtype="float32"):
        """bernoulli(p) and bernoulli_(p) with a tensor p of the named dtype."""
        return (self.unit64(len(p)) if dtype == "float64" else self.unit32(len(p))) < p

    def dropout(self, x, p):
        if p == 0.0 or len(x) == 0:
            return x
        if p == 1.0:
            return x * x.dtype.type(0)
        keep = self.bernoulli(len(x), 1.0 - p)
        return x * (keep * x.dtype.type(1.0 / (1.0 - p)))

    def exponential(self, n, rate=1.0, dtype="float32"):
        return round_to(-1.0 / rate * log1p(-self.unit64(n)), dtype)

    def cauchy(self, n, median=0.0, sigma=1.0, dtype="float32"):
        return round_to(median + sigma * np.tan(np.pi * (self.unit64(n) - 0.5)), dtype)

    def log_normal(self, n, mean=1.0, std=2.0, dtype="float32"):
        return round_to(np.exp(self._normal_pairs(n, mean, std, "float64")), dtype)

    def geometric(self, n, p):
        return np.ceil(log(self.unit64(n)) / log1p(-p))

    def multinomial(self, weights, samples, replacement=False):
        """One row of weights, in float32 or float64; rows of a matrix are drawn one after the other."""
        if not replacement or samples == 1:
            race = weights / self.exponential(len(weights), dtype=weights.dtype.name).astype(weights.dtype)
            return np.argsort(-race, kind="stable")[:samples]
        total = np.cumsum(weights)
        return np.searchsorted((total / total[-1]).astype(np.float64), self.unit64(samples), side="left")


DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}


def round_to(x, dtype):
    """x rounded to dtype by way of float32; 16-bit values are kept in float32."""
    if dtype == "float64":
        return np.asarray(x, dtype=np.float64)
    if dtype not in DIGITS:
        return x
    x = np.asarray(x).astype(F32)
    if dtype == "float16":
        return x.astype(np.float16).astype(F32)
    if dtype == "bfloat16":
        bits = x.view(np.uint32).astype(U64)
        bits = (bits + U64(0x7FFF) + ((bits >> U64(16)) & U64(1))) & U64(0xFFFF0000)
        return bits.astype(np.uint32).view(F32)
    return x


def float_bounds(low, high, dtype):
    """The bounds that randint really uses for a floating dtype: section 5.2."""
    step = lambda v: 2 ** max(abs(v).bit_length() - DIGITS[dtype], 0)
    rounded = lambda v: int(round_to(np.float64(v), dtype))
    if rounded(low + 1) < low:
        low = rounded(low + 1) + step(low + 1)
    if rounded(high - 1) >= high:
        high = rounded(high - 1) - step(high - 1)
    return low, high


def fma32(a, b, c):
    """a * b + c in float32 with one rounding: the float64 sum is rounded to odd first."""
    product = np.asarray(a, dtype=np.float64) * np.float64(b)
    c = np.asarray(c, dtype=np.float64)
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)
    even = (total.view(np.int64) & 1) == 0
    total = np.where((error != 0) & even, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)
    return total.astype(F32)


def fma64(a, b, c):
    if (b, c) == (1.0, 0.0):
        return a
    b, c = Fraction(float(b)), Fraction(float(c))
    return np.array([float(Fraction(float(v)) * b + c) for v in a])


def log32(x):
    """Natural logarithm of float32 x in (0, 1] as section 6.2 evaluates it."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < F32(0.707106781186547524)
    e = (exponent - small).astype(F32)
    m = np.where(small, mantissa + mantissa, mantissa).astype(F32) - F32(1)
    z = m * m
    y = np.full_like(m, 7.0376836292e-2)
    for c in (-1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
              -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1):
        y = fma32(y.astype(np.float64), m, F32(c))
    y = fma32(y * m, z, e * F32(-2.12194440e-4))
    y = fma32(z, F32(-0.5), y)
    return fma32(e, F32(0.693359375), m + y)


def sincos32(t):
    """sin and cos of float32 t in [0, 2 pi] as section 6.2 evaluates them."""
    octant = (t * F32(1.27323954473516)).astype(np.int32)
    octant = (octant + 1) & ~1
    k = octant.astype(F32)
    x = t
    for part in (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8):
        x = fma32(k, F32(part), x)
    z = x * x
    c = fma32(np.full_like(z, 2.443315711809948e-5), z, F32(-1.388731625493765e-3))
    c = fma32(c, z, F32(4.166664568298827e-2)) * z
    c = fma32(c, z, z * F32(-0.5)) + F32(1)
    s = fma32(np.full_like(z, -1.9515295891e-4), z, F32(8.3321608736e-3))
    s = fma32(s, z, F32(-1.6666654611e-1)) * z
    s = fma32(s, x, x)
    swap = (octant & 2) != 0
    sine, cosine = np.where(swap, c, s), np.where(swap, s, c)
    return np.where(octant & 4, -sine, sine), np.where((octant + 2) & 4, -cosine, cosine)


def box_muller32(x, mean, std):
    x = x.reshape(-1, 2, 8)
    radius = np.sqrt(F32(-2) * log32(F32(1) - x[:, 0]))
    sine, cosine = sincos32(F32(2 * np.pi) * x[:, 1])
    pair = np.stack([radius * cosine, radius * sine], 1)
    return fma32(pair, F32(std), F32(mean)).ravel()


def box_muller64(x, mean, std):
    x = x.reshape(-1, 2, 8)
    radius = np.sqrt(-2.0 * log(1.0 - x[:, 0]))
    angle = 2.0 * np.pi * x[:, 1]
    return fma64(np.stack([radius * cos(angle), radius * sin(angle)], 1).ravel(), std, mean)
