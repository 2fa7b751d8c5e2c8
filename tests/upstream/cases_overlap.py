# SPDX-License-Identifier: Apache-2.0
"""What may be written where inputs lie: out= that is an input, in-place operators of themselves, expanded tensors."""


def grid(t):
    return t.arange(1.0, 10.0).reshape(3, 3).clone()


def row(t):
    return t.arange(1.0, 4.0)


def zeros(t, *sizes):
    return t.zeros(sizes, dtype=t.int64)


def own(function):
    """The call with a fresh matrix; what it gave."""
    return lambda t: function(t, grid(t))


def own_row(function):
    return lambda t: function(t, row(t))


def own_index(function):
    return lambda t: function(t, zeros(t, 3))


def wide(function):
    """The call with a row that is seen three times; what is in memory afterwards."""

    def run(t):
        memory = row(t)[None]
        function(t, memory.expand(3, 3))
        return memory

    return run


CASES = {
    "gather into its input": own(lambda t, x: t.gather(x, 0, zeros(t, 3, 3), out=x)),
    "take into its input": own(lambda t, x: t.take(x, zeros(t, 3, 3), out=x)),
    "take into its index": own_index(lambda t, i: t.take(i.clone(), i, out=i)),
    "masked_select into its input": own_row(lambda t, x: t.masked_select(x, t.ones(3, dtype=t.bool), out=x)),
    "masked_select into its mask": lambda t: (lambda m: t.masked_select(m.clone(), m, out=m))(t.ones(3, dtype=t.bool)),
    "index_select into its input": own(lambda t, x: t.index_select(x, 0, t.tensor([0, 1, 2]), out=x)),
    "index_select into its index": own_index(lambda t, i: t.index_select(i.clone(), 0, i, out=i)),
    "cat into one of its pieces": own_row(lambda t, x: t.cat([x, x[:0]], out=x)),
    "cat into parts of its result": own_row(lambda t, x: t.cat([x[:1], x[1:]], out=x)),
    "hstack into its piece": own_row(lambda t, x: t.hstack([x], out=x)),
    "aminmax into one tensor": own(lambda t, x: (lambda out: t.aminmax(x, dim=0, out=(out, out)))(t.empty(3))),
    "aminmax into its input": own(lambda t, x: t.aminmax(x[:1], dim=0, keepdim=True, out=(x[:1], x[1:2]))),
    "kthvalue into its input": own_row(lambda t, x: t.kthvalue(x[:1], 1, 0, True, out=(x[:1], zeros(t, 1)))),
    "nonzero into its input": lambda t: (lambda x: t.nonzero(x, out=x))(t.tensor([[1]])),
    "take_along_dim into its input": own_row(lambda t, x: t.take_along_dim(x, t.tensor([0, 1, 2]), 0, out=x)),
    "cross into its input": own_row(lambda t, x: t.linalg.cross(x, row(t), out=x)),
    "scatter into its input": own(lambda t, x: t.scatter(x, 0, zeros(t, 3, 3), 1.0, out=x)),
    "scatter into its source": own(lambda t, x: t.scatter(grid(t), 0, zeros(t, 3, 3), x, out=x)),
    "scatter_ of itself": own(lambda t, x: x.scatter_(0, zeros(t, 3, 3), x)),
    "scatter_ by itself": lambda t: (lambda i: i.scatter_(0, i, 1))(zeros(t, 3, 3)),
    "scatter_add_ of itself": own(lambda t, x: x.scatter_add_(0, zeros(t, 3, 3), x)),
    "scatter_reduce_ of itself": own(lambda t, x: x.scatter_reduce_(0, zeros(t, 3, 3), x, "sum")),
    "index_add_ by itself": own_index(lambda t, i: i.index_add_(0, i, t.tensor([1, 1, 1]))),
    "index_add_ of itself": own_row(lambda t, x: x.index_add_(0, t.tensor([0, 1, 2]), x)),
    "index_copy_ by itself": own_index(lambda t, i: i.index_copy_(0, i, t.tensor([1, 1, 1]))),
    "index_copy_ of itself": own_row(lambda t, x: x.index_copy_(0, t.tensor([0, 1, 2]), x)),
    "index_fill_ by itself": own_index(lambda t, i: i.index_fill_(0, i, 1)),
    "index_put_ by itself": own_index(lambda t, i: i.index_put_((i,), t.tensor(1))),
    "index_put_ of itself": own_row(lambda t, x: x.index_put_((t.tensor([0, 1, 2]),), x)),
    "index_put_ of itself, added": own_row(lambda t, x: x.index_put_((t.tensor([0, 1, 2]),), x, True)),
    "index_reduce_ of itself": own_row(lambda t, x: x.index_reduce_(0, t.tensor([0, 1, 2]), x, "prod")),
    "put_ by itself": own_index(lambda t, i: i.put_(i, t.tensor([1, 1, 1]))),
    "put_ of itself": own_row(lambda t, x: x.put_(t.tensor([0, 1, 2]), x)),
    "masked_fill_ by itself": lambda t: (lambda m: m.masked_fill_(m, True))(t.ones(3, dtype=t.bool)),
    "masked_scatter_ of itself": own_row(lambda t, x: x.masked_scatter_(t.ones(3, dtype=t.bool), x)),
    "addmm into what is added": own(lambda t, x: t.addmm(x, grid(t), grid(t), out=x)),
    "sort into its input": own_row(lambda t, x: t.sort(x, out=(x, zeros(t, 3)))),
    "where into its input": own(lambda t, x: t.where(x > 2, x, x * 0, out=x)),
    "cumsum into its input": own_row(lambda t, x: t.cumsum(x, 0, out=x)),
    "copy_ of its transpose": own(lambda t, x: x.copy_(x.t())),
    "add_ of its transpose": own(lambda t, x: x.add_(x.t())),
    # --- several elements in one place
    "by a mask, expanded": wide(lambda t, x: x.__setitem__(t.tensor([[False, False, True], [False, True, False], [False, False, False]]), 7.0)),
    "index_put_, expanded": wide(lambda t, x: x.index_put_((t.tensor([0]),), t.tensor(0.0))),
    "index_fill_, expanded": wide(lambda t, x: x.index_fill_(0, t.tensor([0]), 0.0)),
    "masked_fill_, expanded": wide(lambda t, x: x.masked_fill_(t.tensor([[False, False, True], [False, True, False], [False, False, False]]), 7.0)),
    "threshold_, expanded": wide(lambda t, x: t.nn.functional.threshold_(x, 2.0, 0.0)),
    "fill_, expanded": wide(lambda t, x: x.fill_(1)),
    "an item, expanded": wide(lambda t, x: x.__setitem__(0, 1.0)),
    "a list, expanded": wide(lambda t, x: x.__setitem__((slice(None), t.tensor([0])), 1.0)),
    "add_, expanded": wide(lambda t, x: x.add_(1)),
    "copy_, expanded": wide(lambda t, x: x.copy_(grid(t))),
    "scatter_, expanded": wide(lambda t, x: x.scatter_(0, zeros(t, 3, 3), 1.0)),
    "index_add_, expanded": wide(lambda t, x: x.index_add_(0, t.tensor([0]), row(t)[None])),
    "masked_scatter_, expanded": wide(lambda t, x: x.masked_scatter_(t.ones(3, 3, dtype=t.bool), grid(t))),
    "cat into what is expanded": wide(lambda t, x: t.cat([grid(t)], out=x)),
    "normal_, expanded": wide(lambda t, x: x.normal_()),
}
