# SPDX-License-Identifier: Apache-2.0
"""Sobol sequences: points that fill a cube more evenly than random ones.

The direction numbers are those of S. Joe and F. Y. Kuo (criterion D(6), 21201 dimensions), without the polynomials, which are
all primitive ones up to degree 18 in ascending order: sobol.bin has each dimension's first numbers, of which the i-th is odd
and has i bits, without their last bit. tests/golden/record_sobol.py wrote it.
"""

import functools
import os

from facula import _C
from facula._C import Generator, int64

__all__ = ["SobolEngine"]

_functions = _C._functions
_DEGREES = 18


def _range(n):
    return _functions["arange"](n, dtype=int64)


def _prime_factors(n):
    found, p = [], 2
    while n > 1:
        if n % p == 0:
            found.append(p)
            while n % p == 0:
                n //= p
        p += 1
    return found


def _power_of_x(exponent, polynomials, degree):
    """x to the exponent modulo each polynomial over the two-element field; bits are coefficients."""
    power = _functions["ones_like"](polynomials)
    for bit in bin(exponent)[2:]:
        square = _functions["zeros_like"](polynomials)
        shifted = power
        for i in range(degree):
            square ^= shifted * (power >> i & 1)
            shifted = shifted << 1
            shifted ^= polynomials * (shifted >> degree & 1)
        power = square
        if bit == "1":
            power = power << 1
            power ^= polynomials * (power >> degree & 1)
    return power


@functools.cache
def _primitive(degree):
    """The primitive polynomials of a degree, ascending."""
    candidates = (1 << degree) + 1 + 2 * _range(1 << (degree - 1))
    order = (1 << degree) - 1
    good = _power_of_x(order, candidates, degree) == 1
    for p in _prime_factors(order):
        if p != order or degree > 1:
            good &= _power_of_x(order // p, candidates, degree) != 1
    return candidates[good]


def _directions(dimension, bits):
    """[dimension, bits]: the numbers that points are made of by exclusive or."""
    out = _functions["zeros"]([dimension, bits], dtype=int64)
    out[0] = 1 << (bits - 1 - _range(bits))
    with open(os.path.join(os.path.dirname(__file__), "sobol.bin"), "rb") as f:
        data = f.read()
    first, offset = 1, 0
    for degree in range(1, _DEGREES + 1):
        polynomials = _primitive(degree)
        n = min(len(polynomials), dimension - first)
        if n <= 0:
            break
        width = degree * (degree - 1) // 2
        size = (len(polynomials) * width + 7) // 8
        given = _C._from_buffer(memoryview(bytearray(data[offset : offset + size]))).to(int64)
        given = (given.unsqueeze(1) >> _range(8) & 1).reshape(-1)[: n * width].reshape(n, width)
        numbers, at = [], 0
        for i in range(degree):
            numbers.append(1 + 2 * (given[:, at : at + i] << _range(i)).sum(1))
            at += i
        polynomials = polynomials[:n]
        for k in range(degree, bits):
            number = numbers[k - degree] ^ numbers[k - degree] << degree
            for i in range(1, degree):
                number ^= (numbers[k - i] << i) * (polynomials >> (degree - i) & 1)
            numbers.append(number)
        out[first : first + n] = _functions["stack"](numbers, 1) << (bits - 1 - _range(bits))
        first, offset = first + n, offset + size
    return out


class SobolEngine:
    """Draws points of a Sobol sequence in [0, 1) of up to 21201 dimensions, scrambled by Owen's method if asked for; seed makes the
    scrambling repeatable."""

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = _directions(dimension, self.MAXBIT)
        self.shift = _functions["zeros"]([dimension], dtype=int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self):
        generator = Generator()
        generator.manual_seed(self.seed) if self.seed is not None else generator.seed()
        bits = self.MAXBIT
        weights = 1 << _range(bits)
        self.shift = (_functions["randint"](2, [self.dimension, bits], generator=generator) * weights).sum(1)
        rows = _functions["randint"](2, [self.dimension, bits, bits], generator=generator).tril()
        rows.diagonal(dim1=1, dim2=2).fill_(1)
        masks = (rows * weights.flip(0)).sum(2)  # [dimension, bits], for the highest bit of the result first
        mixed = _functions["zeros_like"](self.sobolstate)
        for p in range(bits):
            parity = self.sobolstate & masks[:, p : p + 1]
            for half in (16, 8, 4, 2, 1):
                parity = parity ^ parity >> half
            mixed |= (parity & 1) << (bits - 1 - p)
        self.sobolstate = mixed

    def _steps(self, begin, n):
        """[n, dimension]: what is exclusively added to `quasi` from step `begin` on, step by step together."""
        index = begin + 1 + _range(n)
        change = (index ^ index >> 1) ^ (begin ^ begin >> 1)  # in Gray's code, of which each step changes one bit
        out = _functions["zeros"]([n, self.dimension], dtype=int64)
        for bit in range(self.MAXBIT):
            out ^= (change >> bit & 1).unsqueeze(1) * self.sobolstate[:, bit]
        return out

    def _check(self, n):
        if n < 0 or self.num_generated + n > 1 << self.MAXBIT:
            raise RuntimeError(f"SobolEngine: the sequence has 2**{self.MAXBIT} points, of which {self.num_generated} are drawn; {n} more were asked for")

    def draw(self, n=1, out=None, dtype=None):
        """The next n points, [n, dimension]."""
        import facula

        self._check(n)
        dtype = facula.get_default_dtype() if dtype is None else dtype
        if n == 0:
            points = _functions["empty"]([0, self.dimension], dtype=dtype)
        else:
            steps = n - (self.num_generated == 0)  # the first point is where the sequence begins
            begin = max(self.num_generated - 1, 0)
            drawn = self.quasi ^ self._steps(begin, steps)
            points = drawn.to(dtype) * 2.0**-self.MAXBIT
            if self.num_generated == 0:
                points = _functions["cat"]((self._first_point.to(dtype), points))
            if steps:
                self.quasi.copy_(drawn[-1])
            self.num_generated += n
        if out is None:
            return points
        return out.resize_(points.shape).copy_(points)

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2**m points. The sequence is even after powers of two only, so the sum of all drawn must be one."""
        n, total = 2**m, self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points have been previously generated, "
                f"then: n={self.num_generated}+2**{m}={total}. If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self):
        """Goes back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Leaves out n points."""
        self._check(n)
        steps = n - (self.num_generated == 0)
        if steps > 0:
            begin = max(self.num_generated - 1, 0)
            change = ((begin + steps) ^ (begin + steps) >> 1) ^ (begin ^ begin >> 1)
            for bit in range(self.MAXBIT):
                if change >> bit & 1:
                    self.quasi ^= self.sobolstate[:, bit]
        self.num_generated += n
        return self

    def __repr__(self):
        fields = [f"dimension={self.dimension}"]
        if self.scramble:
            fields.append("scramble=True")
        if self.seed is not None:
            fields.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(fields)})"
