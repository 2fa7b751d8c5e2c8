# SPDX-License-Identifier: Apache-2.0
"""Views, copies that rearrange, joins and splits, and what a tensor tells about itself."""
from opspec import ALL, COMPLEX, FLOATS, STRUCTURAL, E, Op, S

BIG = (70, 1001)


def each(*calls):
    """Samples for all layouts: calls are (label, shape, args, kwargs)."""
    def samples(torch, make):
        for label, shape, *rest in calls:
            args, kwargs = (rest[0] if rest else ()), (rest[1] if len(rest) > 1 else {})
            yield S(label, make(*shape), *args, **kwargs)
    return samples


def layouts(shape, *args, **kwargs):
    def samples(torch, make):
        yield S("contiguous", make(*shape), *args, **kwargs)
        for layout in ("transposed", "offset", "step", "expanded"):
            yield S("strided" if layout != "expanded" else layout, make(*shape, layout=layout), *args, **kwargs).narrow().but(grad=layout != "expanded")
    return samples


def then(*generators):
    return lambda torch, make: (s for g in generators for s in g(torch, make))


def errors(*calls):
    """calls: (type, words, shape, args, kwargs)."""
    def make_errors(torch, make):
        for kind, words, shape, *rest in calls:
            args, kwargs = (rest[0] if rest else ()), (rest[1] if len(rest) > 1 else {})
            yield E(kind, words, make(*shape), *args, **kwargs)
    return make_errors


RANGE = "Dimension out of range"

view_calls = each(
    ("contiguous", (2, 6), ((3, 4),)), ("infer", (2, 6), (-1,)), ("infer", (2, 6), (3, -1)), ("grow", (6,), (1, 2, 3, 1)),
    ("scalar", (1,), ((),)), ("scalar", (), (1, 1)), ("empty", (0, 3), (3, 0)), ("empty", (0, 3), (-1, 3)), ("same", (2, 3), (2, 3)))


def view_strided(torch, make):
    yield S("strided", make(2, 3, 4, layout="offset")[0], (3, 2, 2)).narrow()
    yield S("strided", make(4, 6, layout="step"), 2, 2, 6).narrow()
    yield S("expanded", make(3, 4, layout="expanded"), 3, 2, 2).narrow().but(grad=False)
    yield S("transposed", make(3, 4, layout="transposed"), (3, 2, 2)).narrow()


view_errors = errors(
    ("RuntimeError", ("[4, 2]", "6"), (6,), ((4, 2),)), ("RuntimeError", ("only one dimension",), (6,), (-1, -1)), ("RuntimeError", ("-2",), (6,), (-2, 3)),
    ("RuntimeError", ("[-1, 4]", "6"), (6,), (-1, 4)), ("RuntimeError", ("[-1, 0]",), (0,), (-1, 0)), ("TypeError", (), (6,), ("x",)))


def incompatible_view(torch, make):
    yield from view_errors(torch, make)
    yield E("RuntimeError", ("view",), make(3, 4, layout="transposed"), 12)


def reshape_samples(torch, make):
    for s in (*view_calls(torch, make), *view_strided(torch, make)):
        shape = s.args[1:] if isinstance(s.args[1], int) else s.args[1]
        s.args = (s.args[0], tuple(shape))
        yield s
    yield S("copies", make(3, 4, layout="transposed"), (12,)).narrow()
    yield S("copies", make(3, 4, layout="transposed"), (2, 6)).narrow()
    yield S("expanded", make(3, 4, layout="expanded"), (12,)).narrow().but(grad=False)


def dtype_views(torch, make):
    same = {"f32": "i32", "f64": "i64", "i64": "f64", "i32": "f32", "f16": "i16", "bf16": "i16", "c64": "i64", "u8": "i8", "i8": "u8", "i16": "f16"}
    wide = {"f32": "f64", "i32": "i64", "f16": "f32", "u8": "i32", "i16": "i64"}
    if make.name in same:
        yield S("same", make(2, 4), make.dtype_of(same[make.name])).but(grad=False)
    if make.name in wide:
        yield S("wider", make(2, 8), make.dtype_of(wide[make.name])).but(grad=False)
    yield S("bytes", make(2, 3), torch.uint8).but(grad=False)


def dtype_view_errors(torch, make):
    yield E("RuntimeError", ("3",), make(2, 3, dtype="f32"), torch.float64)
    yield E("RuntimeError", (), make(dtype="f32"), torch.float64)
    yield E("RuntimeError", (), make(2, 4, layout="step"), torch.float64)


swap = then(layouts((2, 3), 0, 1), each(("dims", (2, 3, 4), (0, 2)), ("dims", (2, 3, 4), (-1, 1)), ("same", (2, 3), (1, 1)), ("scalar", (), (0, -1)), ("empty", (0, 3), (0, 1))))
swap_errors = errors(("IndexError", (RANGE, "2"), (2, 3), (0, 2)), ("IndexError", (RANGE, "-3"), (2, 3), (-3, 0)), ("TypeError", (), (2, 3), ("a", 0)))

permute_calls = then(layouts((2, 3, 4), (2, 0, 1)), each(("negative", (2, 3, 4), ((-1, 0, 1),)), ("identity", (2, 3), ((0, 1),)), ("scalar", (), ((),)), ("empty", (0, 3), ((1, 0),))))
permute_errors = errors(("RuntimeError", (), (2, 3), ((0,),)), ("RuntimeError", (), (2, 3), ((0, 0),)), ("IndexError", (RANGE, "5"), (2, 3), ((0, 5),)))

move_calls = each(("contiguous", (2, 3, 4), (0, 2)), ("negative", (2, 3, 4), (-1, 0)), ("several", (2, 3, 4), ((0, 1), (2, 0))), ("scalar", (1,), (0, 0)))
move_errors = errors(("RuntimeError", (), (2, 3, 4), ((0, 1), (1,))), ("RuntimeError", (), (2, 3, 4), ((0, 0), (1, 2))), ("IndexError", (RANGE, "4"), (2, 3), (4, 0)))

expand_calls = then(each(("contiguous", (3, 1), (3, 4)), ("keep", (3, 1), (-1, 4)), ("lead", (3,), (2, 3)), ("scalar", (), (2, 2)), ("scalar", (), ()), ("empty", (1, 3), (0, 3)), ("same", (2, 3), (2, 3)), ("list", (1, 3), ((2, 3),))),
                    lambda torch, make: [S("strided", make(3, 1, layout="transposed"), 3, 4), S("strided", make(1, 3, layout="step"), 2, 3).narrow()])
expand_errors = errors(("RuntimeError", ("3", "4"), (3,), (4,)), ("RuntimeError", (), (2, 3), (3,)), ("RuntimeError", ("-1",), (3,), (-1, 3)), ("RuntimeError", ("-5",), (3,), (-5,)))

narrow_calls = then(layouts((3, 4), 1, 1, 2), each(("negative", (3, 4), (-1, -2, 2)), ("none", (3, 4), (0, 3, 0)), ("all", (3, 4), (0, 0, 3)), ("empty", (0, 3), (1, 0, 2))))
narrow_errors = errors(("RuntimeError", ("1", "4", "3"), (3, 4), (0, 1, 4)), ("IndexError", (RANGE, "2"), (3, 4), (2, 0, 1)), ("IndexError|RuntimeError", ("5",), (3, 4), (0, 5, 1)), ("RuntimeError", (), (3, 4), (0, 0, -1)), ("RuntimeError", (), (), (0, 0, 1)))

select_calls = then(layouts((3, 4), 1, 2), each(("negative", (3, 4), (-2, -1)), ("vector", (3,), (0, 1)), ("empty", (2, 0), (0, 1))))
select_errors = errors(("IndexError", ("3",), (3, 4), (0, 3)), ("IndexError", ("-4",), (3, 4), (0, -4)), ("IndexError", (RANGE, "2"), (3, 4), (2, 0)), ("IndexError", (), (), (0, 0)))

squeeze_calls = each(("contiguous", (1, 3, 1)), ("dim", (1, 3, 1), (0,)), ("dim", (1, 3, 1), (-1,)), ("dim", (1, 3, 1), (1,)), ("dims", (1, 3, 1), ((0, 2),)), ("scalar", ()), ("scalar", (), (0,)), ("empty", (1, 0, 1)))
squeeze_strided = lambda torch, make: [S("strided", make(3, 1, 2, layout="transposed"), 1).narrow()]
squeeze_errors = errors(("IndexError", (RANGE, "3"), (1, 3), (3,)), ("RuntimeError", ("dim",), (1, 3), ((0, 0),)))

unsqueeze_calls = then(layouts((2, 3), 1), each(("first", (2, 3), (0,)), ("last", (2, 3), (-1,)), ("end", (2, 3), (2,)), ("scalar", (), (0,)), ("empty", (0,), (1,))))
unsqueeze_errors = errors(("IndexError", (RANGE, "3"), (2,), (3,)), ("IndexError", (RANGE, "-3"), (2,), (-3,)))

flatten_calls = then(layouts((2, 3, 2)), each(("start", (2, 3, 2), (1,)), ("range", (2, 3, 2, 2), (1, 2)), ("range", (2, 3, 2), (0, -2)), ("scalar", ()), ("same", (3,)), ("empty", (0, 3))))
flatten_errors = errors(("RuntimeError", ("start_dim", "end_dim"), (2, 3), (1, 0)), ("IndexError", (RANGE, "4"), (2, 3), (4,)))
unflatten_calls = each(("contiguous", (2, 6), (1, (2, 3))), ("infer", (2, 6), (-1, (-1, 2))), ("zero", (6,), (0, (3, 2, 1))))
unflatten_errors = errors(("RuntimeError", ("6", "[4, 2]"), (2, 6), (1, (4, 2))), ("IndexError", (RANGE, "2"), (2, 6), (2, (2, 3))))

split_calls = then(layouts((5, 4), 2), each(("dim", (4, 5), (2, 1)), ("sizes", (5, 2), ((1, 3, 1),)), ("sizes", (2, 5), ((2, 3), -1)), ("whole", (3, 2), (7,)), ("zero", (3,), ((0, 3),)), ("empty", (0, 2), (1,))))
split_errors = errors(("RuntimeError", ("split_sizes", "5"), (5,), ((2, 2),)), ("RuntimeError", ("-1",), (5,), (-1,)), ("RuntimeError", ("0",), (5,), (0,)), ("IndexError", (RANGE, "1"), (5,), (2, 1)), ("RuntimeError", ("-1",), (5,), ((6, -1),)))
chunk_calls = each(("contiguous", (5, 2), (2,)), ("dim", (2, 5), (3, 1)), ("more", (2, 2), (5,)), ("one", (3,), (1,)), ("negative", (2, 6), (2, -1)))
chunk_errors = errors(("RuntimeError", ("chunk", "0"), (5,), (0,)), ("RuntimeError", (), (), (1,)), ("IndexError", (RANGE, "1"), (5,), (2, 1)))
tensor_split_calls = each(("parts", (7, 2), (3,)), ("dim", (2, 5), (2, 1)), ("indices", (7,), ((2, 5),)), ("indices", (2, 7), ((3, 20), 1)), ("more", (2,), (4,)))
unbind_calls = then(layouts((3, 2)), each(("dim", (2, 3), (1,)), ("negative", (2, 3), (-1,)), ("none", (0, 3))))
unbind_errors = errors(("IndexError", (RANGE, "2"), (2, 3), (2,)), ("IndexError|RuntimeError", (), ()))


def strided_samples(torch, make):
    yield S("contiguous", make(12), (3, 4), (4, 1))
    yield S("overlap", make(6), (4, 3), (1, 1))
    yield S("offset", make(12), (2, 2), (3, 2), 4)
    yield S("zero", make(3), (2, 3), (0, 1))
    yield S("scalar", make(3), (), (), 2)
    yield S("empty", make(3), (0, 2), (2, 1))
    yield S("strided", make(3, 4, layout="transposed"), (2, 2), (3, 1), 1).narrow()


strided_errors = errors(("RuntimeError", ("[4, 4]",), (12,), ((4, 4), (4, 1))), ("RuntimeError", ("-1",), (12,), ((2, 2), (-1, 1))), ("RuntimeError", (), (12,), ((2, 2), (1,))), ("RuntimeError", ("-1",), (12,), ((2,), (1,), -1)),
                        ("RuntimeError", (), (12,), ((-2,), (1,))))

diagonal_calls = then(layouts((3, 4)), each(("above", (3, 4), (1,)), ("below", (3, 4), (-1,)), ("dims", (2, 3, 3), (0, 1, 2)), ("dims", (2, 3, 4), (1, -1, 0)), ("outside", (2, 2), (3,)), ("empty", (0, 3))))
diagonal_errors = errors(("RuntimeError", ("1, 1",), (3, 3), (0, 1, 1)), ("IndexError", (RANGE, "2"), (3, 3), (0, 0, 2)), ("IndexError|RuntimeError", (), (3,)))
diag_calls = each(("vector", (3,)), ("vector", (3,), (1,)), ("vector", (2,), (-1,)), ("matrix", (3, 4)), ("matrix", (3, 4), (1,)), ("matrix", (3, 4), (-2,)), ("empty", (0,)))
diag_embed_calls = each(("contiguous", (2, 3)), ("offset", (2, 3), (1,)), ("dims", (2, 3), (0, 0, 2)))
unfold_calls = then(layouts((2, 5), 1, 3, 1), each(("step", (7,), (0, 3, 2)), ("whole", (4,), (0, 4, 1)), ("scalar", (), (0, 1, 1)), ("negative", (2, 5), (-1, 2, 3))))
unfold_errors = errors(("RuntimeError", ("4", "3"), (3,), (0, 4, 1)), ("RuntimeError", ("step", "0"), (3,), (0, 2, 0)), ("RuntimeError", ("-1",), (3,), (0, -1, 1)), ("IndexError", (RANGE, "1"), (3,), (1, 2, 1)))

flip_calls = then(layouts((3, 4), (0,)), each(("dims", (2, 3, 2), ((0, 2),)), ("negative", (2, 3), ((-1,),)), ("none", (2, 3), ((),)), ("scalar", (), ((),)), ("empty", (0, 3), ((1,),))))
flip_errors = errors(("RuntimeError", ("multiple times",), (2, 3), ((0, 0),)), ("IndexError", (RANGE, "2"), (2, 3), ((2,),)))
roll_calls = then(layouts((3, 4), 1, 0), each(("flat", (3, 4), (2,)), ("negative", (3, 4), (-1, 1)), ("several", (3, 4), ((1, 2), (0, 1))), ("wrap", (3,), (7, 0)), ("empty", (0, 3), (1, 1)), ("scalar", (), (1,))))
roll_errors = errors(("RuntimeError", ("shifts", "dims"), (3, 4), ((1, 2), (0,))), ("IndexError", (RANGE, "2"), (3, 4), (1, 2)))
repeat_calls = then(layouts((2, 3), 2, 2), each(("lead", (3,), (2, 2)), ("list", (2,), ((2, 1, 2),)), ("zero", (2, 3), (0, 1)), ("one", (2, 3), (1, 1)), ("scalar", (), (3,))))
repeat_errors = errors(("RuntimeError", (), (2, 3), (2,)), ("RuntimeError", ("negative", "-2"), (2, 3), (-1, 1)))
tile_calls = each(("contiguous", (2, 3), ((2, 2),)), ("fewer", (2, 3), ((2,),)), ("more", (2,), ((2, 1, 2),)), ("scalar", (), ((2,),)))
interleave_calls = each(("flat", (2, 3), (2,)), ("dim", (2, 3), (2, 1)), ("dim", (2, 3), (3,), dict(dim=0)), ("zero", (3,), (0,)), ("empty", (0,), (2,)))


def interleave_tensor(torch, make):
    yield S("each", make(3, 2), make.ints([1, 0, 2]), 0)
    yield S("flat", make(2, 2), make.ints([1, 2, 0, 1]))
    yield S("broadcast", make(2, 2), make.ints([2]), 1)
    yield S("size", make(3), make.ints([1, 0, 2]), 0, output_size=3)


def interleave_errors(torch, make):
    yield E("RuntimeError", ("repeats", "negative"), make(3), make.ints([1, -1, 2]))
    yield E("RuntimeError", ("repeats",), make(3, 2), make.ints([1, 2]), 0)
    yield E("RuntimeError", ("Float",), make(3), make.wrap([1.0, 2.0, 3.0], "f32"), 0)
    yield E("RuntimeError", ("epeats", "negative"), make(3), -2)


tri_calls = then(layouts((3, 4)), each(("above", (3, 4), (1,)), ("below", (3, 4), (-1,)), ("batch", (2, 3, 3)), ("batch", (2, 3, 3), (-5,)), ("far", (3, 3), (9,)), ("empty", (0, 3))))
tri_errors = errors(("RuntimeError", ("2 dimensions",), (3,)), ("TypeError", ("str",), (3, 3), ("x",)))


def other_shape(torch, make):
    yield S("contiguous", make(2, 6), make(3, 4, dtype="f32")).but(grad=False)


def expand_as_samples(torch, make):
    yield S("contiguous", make(3, 1), make(3, 4, dtype="f32")).but(grad=False)
    yield S("lead", make(3), make(2, 3, dtype="i64"))


def joins(torch, make):
    yield S("contiguous", [make(2, 3), make(2, 3)])
    yield S("dim", [make(2, 3), make(2, 3), make(2, 3)], 1)
    yield S("negative", (make(2, 3), make(2, 3)), -1).narrow()
    yield S("dim", [make(2, 3), make(2, 3)], dim=0).narrow()
    yield S("one", [make(2, 3)]).narrow()
    yield S("strided", [make(2, 3, layout="transposed"), make(2, 3, layout="step")], 1).narrow()
    yield S("strided", [make(2, 3, layout="transposed"), make(2, 3, layout="transposed")], 0).narrow().but(grad=False)
    yield S("expanded", [make(2, 3, layout="expanded"), make(2, 3)], 0).narrow().but(grad=False)
    yield S("promote", [make(2, 3), make(2, 3, dtype="f32")]).but(grad=False)
    yield S("promote", [make(2, 3), make(2, 3, dtype="i32")]).but(grad=False)
    yield S("empty", [make(0, 3), make(0, 3)]).narrow()


def cat_samples(torch, make):
    yield from joins(torch, make)
    yield S("sizes", [make(1, 3), make(2, 3)], 0)
    yield S("sizes", [make(2, 1), make(2, 0), make(2, 3)], 1).narrow()
    yield S("legacy", [make(0), make(2, 3)], 0).narrow().but(grad=False)
    yield S("channels_last", [make(2, 2, 2, 2, layout="channels_last"), make(2, 1, 2, 2, layout="channels_last")], 1).narrow().but(grad=False)
    yield S("long", [make(40, 3), make(25, 3)], 0).narrow().but(grad=False, slope=False)


def cat_errors(torch, make):
    yield E("RuntimeError", ("2", "3", "dimension"), [make(2, 3), make(2, 2)])
    yield E("RuntimeError", (), [make(2, 3), make(2)])
    yield E("RuntimeError|ValueError", ("non-empty",), [])
    yield E("IndexError", (RANGE, "2"), [make(2, 3)], 2)
    yield E("RuntimeError", ("zero-dimensional",), [make(), make()])
    yield E("TypeError", ("Tensor",), [make(2), 3])
    yield E("TypeError", (), make(2))


def stack_errors(torch, make):
    yield E("RuntimeError", ("[2, 3]", "[2, 2]"), [make(2, 3), make(2, 2)])
    yield E("RuntimeError", ("non-empty",), [])
    yield E("IndexError", (RANGE, "3"), [make(2), make(2)], 3)


def scalar_joins(torch, make):
    yield from joins(torch, make)
    yield S("scalar", [make(), make()]).narrow()


def plain_joins(torch, make):
    yield S("matrix", [make(2, 3), make(2, 3)])
    yield S("vector", [make(3), make(3)])
    yield S("scalar", [make(), make()]).narrow()


def grids(torch, make):
    yield S("ij", make(2), make(3), indexing="ij")
    yield S("xy", make(2), make(3), indexing="xy")
    yield S("list", [make(2), make(3), make(2)], indexing="ij").narrow()
    yield S("scalar", make(2), make(), indexing="ij").narrow()
    yield S("one", make(3), indexing="ij").narrow()


def grid_errors(torch, make):
    yield E("RuntimeError", (), make(2, 2), make(3), indexing="ij")
    yield E("RuntimeError", ("zz",), make(2), make(3), indexing="zz")


def broadcasts(torch, make):
    yield S("contiguous", make(3, 1), make(4))
    yield S("several", make(2, 1, 1), make(3, 1), make(4)).narrow()
    yield S("scalar", make(), make(2, 2)).narrow()


matrices = then(layouts((2, 3)), each(("empty", (0, 3))))
complex_pair = each(("contiguous", (3, 2)), ("batch", (2, 3, 2)), ("empty", (0, 2)))


def shape_facts(torch, x):
    return [tuple(x.shape), x.dim(), x.ndim, x.numel(), x.size(), tuple(x.stride()), x.storage_offset(), x.is_contiguous(), x.element_size(),
            x.is_floating_point(), x.is_complex(), x.nelement(), x.itemsize, x.nbytes, x.requires_grad, x.is_leaf, len(x) if x.dim() else None]


def fact_samples(torch, make):
    yield S("contiguous", make(2, 3))
    for layout in ("transposed", "offset", "step", "expanded"):
        yield S("strided", make(2, 3, layout=layout))
    yield S("scalar", make())
    yield S("empty", make(0, 3))
    yield S("channels_last", make(2, 3, 2, 2, layout="channels_last"))


def facts_by_argument(torch, x):
    return [x.size(0), x.size(-1), x.stride(0), x.stride(-1), x.is_contiguous(memory_format=torch.channels_last), torch.is_tensor(x),
            torch.numel(x), torch.is_floating_point(x), torch.is_complex(x), x.shape[0], x.shape[-1], x.shape.numel(), len(x.shape), list(x.shape[1:])]


def values(torch, x):
    return repr(x.tolist()), repr(x.flatten()[0].item()) if x.numel() else None


def rows():
    v = dict(dtypes=STRUCTURAL, group="view", view=True)
    yield Op("view", then(view_calls, view_strided), "Tensor.view", errors=incompatible_view, **v)
    yield Op("view.dtype", dtype_views, "Tensor.view", ("f32", "f64", "i64", "i32", "f16", "bf16", "c64", "u8", "i16"), errors=dtype_view_errors, group="view", view=True, grad=False)
    yield Op("view_as", other_shape, "Tensor.view_as", grad=False, **v)
    for name in ("transpose", "swapaxes", "swapdims"):
        yield Op(name, swap, method=name, errors=swap_errors, inplace=None, **v)
    yield Op("transpose_", lambda torch, make: [S("contiguous", make(2, 3)), S("strided", make(2, 3, layout="step"))],
             lambda torch, x: x.clone().transpose_(0, 1), STRUCTURAL, group="view", meta=False)
    yield Op("t", matrices, method="t", errors=errors(("RuntimeError", ("3",), (2, 3, 4))), **v)
    yield Op("T", then(matrices, each(("vector", (3,)), ("scalar", ()))), "Tensor#T", **v)
    yield Op("mT", then(matrices, each(("batch", (2, 3, 4)))), "Tensor#mT", errors=errors(("RuntimeError", (), (3,))), **v)
    yield Op("H", matrices, "Tensor#H", FLOATS, group="view", view=True)
    yield Op("permute", permute_calls, method="permute", errors=permute_errors, **v)
    yield Op("permute.varargs", each(("contiguous", (2, 3, 4), (2, 0, 1))), "Tensor.permute", **v)
    for name in ("movedim", "moveaxis"):
        yield Op(name, move_calls, method=name, errors=move_errors, **v)
    yield Op("expand", expand_calls, "Tensor.expand", errors=expand_errors, **v)
    yield Op("expand_as", expand_as_samples, "Tensor.expand_as", **v)
    yield Op("broadcast_to", each(("contiguous", (3, 1), ((3, 4),)), ("lead", (3,), ((2, 3),))), method="broadcast_to", errors=errors(("RuntimeError", ("3", "4"), (3,), ((4,),))), **v)
    yield Op("broadcast_tensors", broadcasts, errors=lambda torch, make: [E("RuntimeError", ("3", "4"), make(3), make(4))], **v)
    yield Op("narrow", narrow_calls, method="narrow", errors=narrow_errors, **v)
    yield Op("select", select_calls, method="select", errors=select_errors, **v)
    yield Op("squeeze", then(squeeze_calls, squeeze_strided), method="squeeze", errors=squeeze_errors, **v)
    yield Op("squeeze_", each(("contiguous", (1, 3, 1)), ("dim", (1, 3, 1), (0,))), lambda torch, x, *d: x.clone().squeeze_(*d), STRUCTURAL, group="view", meta=False)
    yield Op("unsqueeze", unsqueeze_calls, method="unsqueeze", errors=unsqueeze_errors, **v)
    yield Op("unsqueeze_", each(("contiguous", (3, 1), (1,))), lambda torch, x, *d: x.clone().unsqueeze_(*d), STRUCTURAL, group="view", meta=False)
    yield Op("unflatten", unflatten_calls, method="unflatten", errors=unflatten_errors, **v)
    yield Op("split", split_calls, method="split", errors=split_errors, **v)
    yield Op("split_with_sizes", each(("sizes", (5, 2), ((1, 3, 1),)), ("dim", (2, 5), ((2, 3), 1))), method="split_with_sizes", **v)
    yield Op("chunk", chunk_calls, method="chunk", errors=chunk_errors, **v)
    yield Op("tensor_split", tensor_split_calls, method="tensor_split", **v)
    yield Op("unbind", unbind_calls, method="unbind", errors=unbind_errors, **v)
    yield Op("as_strided", strided_samples, method="as_strided", errors=strided_errors, meta=False, **v)
    yield Op("diagonal", diagonal_calls, method="diagonal", errors=diagonal_errors, **v)
    yield Op("unfold", unfold_calls, "Tensor.unfold", errors=unfold_errors, **v)
    yield Op("detach.view", matrices, "Tensor.detach", STRUCTURAL, group="view", view=True, grad=False)
    yield Op("view_as_real", each(("contiguous", (2, 3)), ("scalar", ()), ("empty", (0,))), dtypes=COMPLEX, group="view", view=True)
    yield Op("view_as_complex", complex_pair, dtypes=("f32", "f64"), group="view", view=True, errors=errors(("RuntimeError", ("2",), (2, 3)), ("RuntimeError", (), ())))

    c = dict(dtypes=STRUCTURAL, group="shape")
    yield Op("reshape", reshape_samples, method="reshape", errors=errors(("RuntimeError", ("[4, 2]", "6"), (6,), ((4, 2),))), **c)
    yield Op("reshape.varargs", each(("contiguous", (2, 6), (3, 4)), ("infer", (2, 6), (-1,))), "Tensor.reshape", errors=view_errors, **c)
    yield Op("reshape_as", other_shape, "Tensor.reshape_as", grad=False, **c)
    yield Op("flatten", flatten_calls, method="flatten", errors=flatten_errors, **c)
    yield Op("ravel", then(layouts((2, 3)), each(("scalar", ()))), method="ravel", **c)
    yield Op("diag", diag_calls, method="diag", errors=errors(("RuntimeError", ("3",), (2, 2, 2)),), **c)
    yield Op("diag_embed", diag_embed_calls, method="diag_embed", **c)
    yield Op("flip", flip_calls, method="flip", errors=flip_errors, **c)
    yield Op("roll", roll_calls, method="roll", errors=roll_errors, **c)
    yield Op("repeat", repeat_calls, "Tensor.repeat", errors=repeat_errors, **c)
    yield Op("tile", tile_calls, method="tile", **c)
    yield Op("repeat_interleave", interleave_calls, method="repeat_interleave", **c)
    yield Op("repeat_interleave.tensor", interleave_tensor, "repeat_interleave", method="repeat_interleave", errors=interleave_errors, meta=False, **c)
    for name in ("tril", "triu"):
        yield Op(name, tri_calls, dtypes=ALL, group="shape", method=name, inplace=name + "_", out=1, errors=tri_errors, big=lambda torch, make: ((make(300, 301),), {}))
    yield Op("cat", cat_samples, dtypes=ALL, group="shape", out=1, errors=cat_errors, aliases=("concat", "concatenate"),
             big=lambda torch, make: (([make(*BIG), make(*BIG)], 1), {}))
    yield Op("stack", scalar_joins, dtypes=ALL, group="shape", out=1, errors=stack_errors)
    for name in ("hstack", "vstack", "dstack"):
        yield Op(name, plain_joins, out=1, **c)
    yield Op("meshgrid", grids, errors=grid_errors, **c)
    facts = dict(dtypes=ALL, group="facts", grad=False, meta=False)
    yield Op("facts", fact_samples, shape_facts, **facts)
    yield Op("facts.argument", lambda torch, make: (s for s in fact_samples(torch, make) if s.args[0].dim()), facts_by_argument, **facts)
    yield Op("tolist", fact_samples, values, **facts)
    yield Op("item", lambda torch, make: [S("scalar", make()), S("one", make(1, 1))], "Tensor.item", ALL, group="facts", grad=False, meta=False,
             errors=errors(("RuntimeError", ("2",), (2,)), ("RuntimeError", ("0",), (0,))))


OPS = list(rows())
