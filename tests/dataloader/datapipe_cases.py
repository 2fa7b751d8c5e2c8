# SPDX-License-Identifier: Apache-2.0
"""What DataPipes give, refuse and warn of; run under PyTorch by record_data.py and under Facula by test_datapipes.py."""
import copy
import functools
import io
import pathlib
import pickle
import random
import tempfile
import warnings

from data_cases import Point


def double(x):
    return 2 * x


def even(x):
    return x % 2 == 0


def odd(x):
    return x % 2


def add(a, b):
    return a + b


def many(a, *rest, key=1):
    return a


def keyword(a, *, b):
    return a


def defaults(a, b=2, c=3):
    return a + b + c


def third(x):
    return None if x % 3 == 2 else x % 3


def collate_sum(batch):
    return sum(batch)


def cases(torch):
    data = torch.utils.data
    from importlib import import_module

    part = lambda name: import_module(f"{torch.__name__}.utils.data.{name}")
    pipes, maps = part("datapipes.iter"), part("datapipes.map")
    common, decoder, graphs, settings = part("datapipes.utils.common"), part("datapipes.utils.decoder"), part("graph"), part("graph_settings")
    wrap, seq = pipes.IterableWrapper, maps.SequenceWrapper

    def numbers(n=10):
        return wrap(range(n))

    def warned(function):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", ".*use of fork.. may lead to deadlocks", DeprecationWarning)  # Python's own, from 3.12 on
            result = function()
        return [result, [[w.category.__name__, str(w.message)] for w in found]]

    def names(pipe):
        """The graph by class names."""
        show = lambda graph: [[type(p).__name__, show(sub)] for p, sub in graph.values()]
        return show(graphs.traverse_dps(pipe))

    def seeded(pipe, seed=5, epochs=1):
        torch.manual_seed(seed)
        return [list(pipe) for _ in range(epochs)]

    class Stream(data.IterDataPipe):
        def __init__(self, source=()):
            self.source = source

        def __iter__(self):
            yield from self.source

    class Next(data.IterDataPipe):
        """An iterator of its own."""

        def __init__(self, n):
            self.n, self.i = n, 0

        def __next__(self):
            if self.i >= self.n:
                raise StopIteration
            self.i += 1
            return self.i

        def reset(self):
            self.i = 0

    class NextAndIter(data.IterDataPipe):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            self.i = 0
            return self

        def __next__(self):
            if self.i >= self.n:
                raise StopIteration
            self.i += 1
            return self.i

    class ReturnsIterator(data.IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            return iter(self.source)

    class Counts(data.IterDataPipe):
        def __init__(self):
            self.resets = 0

        def __iter__(self):
            yield self.resets
            yield self.resets

        def reset(self):
            self.resets += 1

    # --- each pipe
    yield "wrap", lambda: [list(numbers()), len(numbers()), list(wrap("abc"))]
    yield "wrap shares or copies", lambda: [
        (lambda d, p: (d.append(3), list(p), list(p))[1:])(d, wrap(d, deepcopy=deep)) for deep in (True, False) for d in ([1, [2]],)
    ]
    yield "wrap lets no nested change through", lambda: (lambda d: ([x.append(9) for x in wrap(d)], d))([[1], [2]])[1]
    yield "wrap of what cannot be copied", lambda: warned(lambda: list(wrap(x for x in range(3))))
    yield "wrap without length", lambda: len(wrap(x for x in range(3)))
    yield "wrap of no iterable", lambda: list(wrap(3))
    yield "map", lambda: [list(numbers().map(double)), len(numbers().map(double)), list(pipes.Mapper(numbers(), double))]
    rows = [(0, 1, 2), (3, 4, 5)]
    for name, options in {
        "one": dict(fn=double, input_col=1), "two": dict(fn=add, input_col=[0, 2]), "to another": dict(fn=double, input_col=0, output_col=2),
        "appended": dict(fn=add, input_col=(0, 1), output_col=-1), "unwrapped": dict(fn=double, input_col=1, output_col=[0]),
        "two out": dict(fn=double, input_col=0, output_col=[0, 1]), "no in": dict(fn=double, output_col=1), "far": dict(fn=double, input_col=7),
        "list for one": dict(fn=sum, input_col=[0]), "too many": dict(fn=double, input_col=[0, 1]), "too few": dict(fn=add, input_col=[0]),
        "keyword only": dict(fn=keyword, input_col=0), "var": dict(fn=many, input_col=[0, 1, 2]), "defaults": dict(fn=defaults, input_col=[0, 1]),
        "builtin": dict(fn=str, input_col=0), "partial": dict(fn=functools.partial(add, 5), input_col=1),
    }.items():  # fmt: skip
        yield f"map columns {name}", lambda options=options: list(wrap(rows).map(**options))
        yield f"map columns {name} of lists", lambda options=options: list(wrap([list(r) for r in rows]).map(**options))
    table = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    yield "map keys", lambda: list(wrap(table).map(double, input_col="a"))
    yield "map keys to a new one", lambda: list(wrap(table).map(add, input_col=["a", "b"], output_col="c"))
    yield "map keys keeps the source", lambda: (lambda t, p: [list(p), t])(t := [{"a": 1}], wrap(t, deepcopy=False).map(double, input_col="a"))
    yield "map missing key", lambda: list(wrap(table).map(double, input_col="z"))
    yield "map local function", lambda: warned(lambda: list(numbers(2).map(lambda x: x)))
    yield "map no function", lambda: numbers().map(3)
    yield "collate", lambda: list(wrap([[1, 2], [3, 4]]).collate())
    yield "collate by function", lambda: list(wrap([[1, 2], [3, 4]]).collate(collate_fn=collate_sum))
    yield "collate by conversion", lambda: list(wrap([[1, 2], [3, 4]]).collate(collate_sum))
    yield "collate both", lambda: wrap([[1, 2]]).collate(collate_sum, collate_fn=collate_sum)
    yield "filter", lambda: [list(numbers().filter(even)), list(wrap(rows).filter(even, input_col=0)), list(wrap(rows).filter(add, input_col=[0, 1]))]
    yield "filter no bool", lambda: list(numbers().filter(double))
    yield "filter len", lambda: len(numbers().filter(even))
    yield "filter wrong columns", lambda: numbers().filter(even, input_col=[0, 1])
    for n in (1, 3, 10, 20):
        yield f"batch {n}", lambda n=n: [list(numbers().batch(n)), len(numbers().batch(n)), list(numbers().batch(n, drop_last=True)), len(numbers().batch(n, drop_last=True))]
    yield "batch nested", lambda: list(numbers().batch(2).batch(2))
    yield "batch 0", lambda: numbers().batch(0)
    yield "batch class", lambda: [type(b).__name__ for b in numbers(2).batch(2)] + [type(b).__name__ for b in numbers(2).batch(2, wrapper_class=tuple)]
    yield "batch len unknown", lambda: len(Stream([1]).batch(2))
    nested = [[[0, 1], [2]], [[3], [4, 5]]]
    for level in (0, 1, 2, -1, -2, 3):
        yield f"unbatch {level}", lambda level=level: list(wrap(nested).unbatch(unbatch_level=level))
    yield "unbatch default", lambda: [list(wrap(nested).unbatch()), list(numbers().batch(3).unbatch())]
    words = ["a.json", "b.json", "c.json", "a.png", "c.png", "b.png", "d.json", "a.json"]
    key = lambda x: x.split(".")[0]
    for name, options in {
        "plain": {}, "key": dict(keep_key=True), "size": dict(group_size=2), "size drop": dict(group_size=2, guaranteed_group_size=2, drop_remaining=True),
        "small buffer": dict(buffer_size=3, group_size=3), "small buffer guaranteed": dict(buffer_size=3, group_size=3, guaranteed_group_size=2),
        "small buffer drop": dict(buffer_size=3, group_size=3, guaranteed_group_size=2, drop_remaining=True), "tiny": dict(buffer_size=1),
        "guaranteed alone": dict(guaranteed_group_size=2), "guaranteed above": dict(group_size=2, guaranteed_group_size=3),
        "buffer 0": dict(buffer_size=0), "size 0": dict(group_size=0), "size above buffer": dict(group_size=5, buffer_size=3),
        "fail": dict(buffer_size=2, group_size=3, guaranteed_group_size=3),
    }.items():  # fmt: skip
        yield f"groupby {name}", lambda options=options: list(wrap(words).groupby(group_key_fn=key, **options))
    yield "groupby twice", lambda: (lambda p: [next(iter(p)), list(p), list(p)])(wrap(words).groupby(key, group_size=2))
    yield "concat", lambda: [list(numbers(2).concat(numbers(3), wrap("ab"))), len(numbers(2).concat(numbers(3)))]
    yield "concat nothing", lambda: pipes.Concater()
    yield "concat no pipe", lambda: numbers().concat([1])
    yield "concat len", lambda: len(numbers().concat(Stream()))
    yield "add", lambda: [list(numbers(2) + numbers(2)), type(numbers(2) + numbers(2)).__name__]
    yield "zip", lambda: [list(numbers(2).zip(wrap("abc"))), len(numbers(2).zip(wrap("abc")))]
    yield "zip no pipe", lambda: pipes.Zipper(numbers(), 3)
    yield "zip len", lambda: len(numbers().zip(Stream()))
    yield "mux", lambda: [list(numbers(3).mux(wrap("abcd"), wrap([7, 8]))), len(numbers(3).mux(wrap("abcd"), wrap([7, 8])))]
    yield "mux len", lambda: len(numbers().mux(Stream()))
    yield "mux early end", lambda: (lambda p: [next(iter(p)), list(p)])(numbers(3).mux(wrap("abcd")))
    for name, options in {"plain": {}, "shallow": dict(copy="shallow"), "deep": dict(copy="deep"), "endless": dict(buffer_size=-1)}.items():
        def forked(options=options):
            source = [[1], [2], [3]]
            a, b = wrap(source, deepcopy=False).fork(2, **options)
            got = [list(a), list(b)]
            return [got, [x is y for x, y in zip(*got, strict=True)], len(a), len(b)]
        yield f"fork {name}", forked
    yield "fork one", lambda: [type(x).__name__ for x in [numbers().fork(1)]]
    yield "fork 0", lambda: numbers().fork(0)
    yield "fork buffer 0", lambda: warned(lambda: [list(zip(*numbers(3).fork(2, buffer_size=0), strict=True))])
    yield "fork copy", lambda: numbers().fork(2, copy="both")
    yield "fork overflow", lambda: (lambda a, b: list(a))(*numbers(5).fork(2, buffer_size=3))
    yield "fork warns of endless", lambda: warned(lambda: len(numbers().fork(2, buffer_size=-1)))

    def one_ahead():
        a, b = numbers(4).fork(2)
        x, y = iter(a), iter(b)
        return [next(x), next(x), next(y), list(x), list(y)]

    yield "fork one ahead", one_ahead

    def started_again(wait):
        a, b = numbers(4).fork(2)
        x = iter(a)
        got = [next(x), next(x)]
        if wait:
            got.append(next(iter(b)))
        got.append(list(a))
        return got

    yield "fork started again", lambda: warned(lambda: started_again(False))
    yield "fork started again by both", lambda: warned(lambda: started_again(True))

    def stale_child():
        a, b = numbers(4).fork(2)
        x, y = iter(a), iter(b)
        next(x), next(y)
        list(a)
        return next(y)

    yield "fork stale child", lambda: warned(stale_child)
    yield "demux", lambda: [list(p) for p in numbers().demux(2, odd)]
    yield "demux drops", lambda: [list(p) for p in numbers().demux(2, third, drop_none=True)]
    yield "demux None", lambda: [list(p) for p in numbers().demux(2, third)]
    yield "demux out of range", lambda: [list(p) for p in numbers().demux(2, double)]
    yield "demux 0", lambda: numbers().demux(0, odd)
    yield "demux buffer 0", lambda: numbers().demux(2, odd, buffer_size=0)
    yield "demux overflow", lambda: (lambda a, b: list(b))(*numbers().demux(2, odd, buffer_size=2))
    yield "demux warns of endless", lambda: warned(lambda: len(numbers().demux(2, odd, buffer_size=-1)))
    yield "demux len", lambda: len(numbers().demux(2, odd)[0])
    yield "demux one ahead", lambda: (lambda a, b: (lambda x, y: [next(x), next(x), next(y), list(x), list(y)])(iter(a), iter(b)))(*numbers().demux(2, odd))
    yield "demux again", lambda: (lambda a, b: [list(a), list(b), list(a), list(b)])(*numbers(6).demux(2, odd))
    yield "sample", lambda: [list(numbers().sampler()), len(pipes.Sampler(numbers()))] if hasattr(numbers(), "sampler") else list(pipes.Sampler(numbers()))
    yield "sample at random", lambda: seeded(pipes.Sampler(numbers(), data.RandomSampler, sampler_kwargs=dict(replacement=True)))
    yield "sample len", lambda: len(pipes.Sampler(numbers()))
    yield "sample unknown", lambda: pipes.Sampler(Stream())
    for size in (1, 3, 10, 10000):
        yield f"shuffle {size}", lambda size=size: seeded(numbers().shuffle(buffer_size=size), epochs=2)
    yield "shuffle 0", lambda: numbers().shuffle(buffer_size=0)
    yield "fork exhausted again", lambda: warned(lambda: (lambda a, b: [list(a), list(a), list(b)])(*numbers(3).fork(2)))
    yield "fork both exhausted again", lambda: warned(lambda: (lambda a, b: [list(a), list(b), list(b)])(*numbers(3).fork(2)))
    yield "sample letters", lambda: list(pipes.Sampler(wrap("abcd")))
    yield "map two without columns", lambda: numbers().map(add)
    yield "map keyword only", lambda: numbers().map(keyword)
    yield "fork of demux len", lambda: len(numbers().demux(2, odd)[0].fork(2)[0])

    def read_until(error, pipe):
        got = []
        try:
            got.extend(iter(lambda p=iter(pipe): got.append(next(p)), 1))
        except error:
            return got

    yield "demux until overflow", lambda: read_until(BufferError, numbers().demux(2, odd, buffer_size=2)[1])
    yield "fork until overflow", lambda: read_until(BufferError, numbers().fork(2, buffer_size=2)[1])

    def whole_text(function):
        try:
            function()
        except Exception as e:
            return [type(e).__name__, str(e)]

    def fails_at(x):
        if x == 2:
            raise ValueError("two")
        return x

    def empty(x):
        raise ValueError

    yield "error names its pipe", lambda: whole_text(lambda: list(numbers(4).map(fails_at)))
    yield "error names its pipe once", lambda: whole_text(lambda: list(numbers(4).map(fails_at).batch(2).map(len)))
    yield "error without a text", lambda: whole_text(lambda: list(numbers(4).map(empty)))
    yield "unbatch mixed", lambda: list(wrap([[1], 2]).unbatch(1))
    yield "unbatch tuples", lambda: [list(wrap([(1, 2)]).unbatch(-1))]
    yield "sharding of nothing", lambda: list(settings.apply_sharding(numbers(3), 2, 5))
    yield "shuffle seed", lambda: [seeded(p := numbers().shuffle().set_seed(11)), list(p)]
    yield "shuffle off", lambda: list(numbers().shuffle().set_shuffle(False))
    yield "shuffle unbatch", lambda: [seeded(numbers().batch(2).shuffle(unbatch_level=1)), len(numbers().shuffle())]
    yield "shuffle len", lambda: len(numbers().batch(2).shuffle(unbatch_level=1))
    yield "shard", lambda: [
        (lambda p: (settings.apply_sharding(p, 3, i), list(p), len(p))[1:])(numbers().sharding_filter()) for i in range(3)
    ]
    yield "shard alone", lambda: [list(numbers(3).sharding_filter()), len(numbers(3).sharding_filter())]
    yield "shard twice", lambda: settings.apply_sharding(numbers().sharding_filter().map(double).sharding_filter(), 2, 0)
    yield "shard both branches", lambda: (
        lambda p: (settings.apply_sharding(p, 2, 1), list(p))[1])(numbers().sharding_filter().zip(wrap("abcdef").sharding_filter()))
    yield "shard wrong instance", lambda: settings.apply_sharding(numbers().sharding_filter(), 2, 2)
    priorities = part("datapipes.iter.sharding").SHARDING_PRIORITIES
    yield "shard priorities", lambda: [[p.name, p.value] for p in priorities]

    def sharded_by_groups():
        p = numbers(12).sharding_filter()
        settings.apply_sharding(p, 2, 1, sharding_group=priorities.DISTRIBUTED)
        settings.apply_sharding(p, 3, 2, sharding_group=priorities.MULTIPROCESSING)
        return [list(p), len(p)]

    yield "shard by groups", sharded_by_groups

    def mixed_groups():
        p = numbers(12).sharding_filter()
        settings.apply_sharding(p, 2, 1)
        settings.apply_sharding(p, 2, 1, sharding_group=priorities.DISTRIBUTED)

    yield "shard default and groups", mixed_groups
    yield "shard group filter", lambda: (
        lambda p: (settings.apply_sharding(p, 2, 1, sharding_group=priorities.DISTRIBUTED), list(p))[1]
    )(pipes.ShardingFilter(numbers(), sharding_group_filter=priorities.MULTIPROCESSING))

    # --- files
    def folder(function):
        with tempfile.TemporaryDirectory() as place:
            for name, text in {"a.txt": "one\ntwo\n", "b.json": '{"x": [1, 2]}', "c.bin": "\1\2", "sub/d.txt": "deep", "n.cls": "3", "t.tensor": ""}.items():
                path = pathlib.Path(place, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            torch.save(torch.arange(3), place + "/p.pt")
            pathlib.Path(place, "v.pyd").write_bytes(pickle.dumps([1, "z"]))
            try:
                answer = function(place)
            except Exception as e:
                raise type(e)(*(str(a).replace(place, "PLACE") for a in e.args)) from None
            return _relative(answer, place)

    def _relative(x, place):
        if isinstance(x, (list, tuple)):
            return type(x)(_relative(y, place) for y in x)
        return x.replace(place, "PLACE") if isinstance(x, str) else x

    yield "list files", lambda: folder(lambda f: [list(pipes.FileLister(f)), list(pipes.FileLister(f, recursive=True)), list(pipes.FileLister([f, f + "/sub"], "*.txt"))])
    yield "list files masks", lambda: folder(lambda f: [list(pipes.FileLister(f, masks=["*.txt", "*.json"])), list(wrap([f]).list_files("*.bin"))])
    yield "list files absolute", lambda: folder(lambda f: list(pipes.FileLister(f + "/sub/../sub", abspath=True)))
    yield "list files len", lambda: [len(pipes.FileLister(".", length=5))]
    yield "list files len unknown", lambda: len(pipes.FileLister("."))
    yield "list files nowhere", lambda: warned(lambda: list(pipes.FileLister("/nowhere/at/all")))
    yield "list file itself", lambda: folder(lambda f: list(pipes.FileLister(f + "/a.txt")))
    yield "open files", lambda: folder(lambda f: [(p, s.read()) for p, s in pipes.FileOpener(wrap([f + "/a.txt", f + "/sub/d.txt"]))])
    yield "open files bytes", lambda: folder(lambda f: [(p, str(s.read())) for p, s in wrap([f + "/c.bin"]).open_files(mode="rb")])
    yield "open files encoding", lambda: folder(lambda f: [(p, s.read()) for p, s in wrap([f + "/a.txt"]).open_files(mode="rt", encoding="latin-1")])
    yield "open files wrong mode", lambda: pipes.FileOpener(wrap(["x"]), mode="z")
    yield "open files encoding of bytes", lambda: pipes.FileOpener(wrap(["x"]), mode="rb", encoding="utf-8")
    yield "open files nowhere", lambda: list(pipes.FileOpener(wrap(["/nowhere"])))
    yield "open files no name", lambda: list(pipes.FileOpener(wrap([3])))
    yield "open files len", lambda: [len(pipes.FileOpener(wrap(["x"]), length=4))]
    yield "open files len unknown", lambda: len(pipes.FileOpener(wrap(["x"])))
    yield "read", lambda: folder(lambda f: list(wrap([f + "/a.txt"]).open_files().read_from_stream()))
    yield "read pieces", lambda: folder(lambda f: list(wrap([f + "/a.txt"]).open_files().read_from_stream(chunk=3)))
    yield "read lines", lambda: folder(lambda f: [list(s) for _, s in wrap([f + "/a.txt"]).open_files()])
    yield "decode", lambda: folder(lambda f: list(pipes.FileLister(f, ["*.json", "*.cls", "*.txt"]).open_files(mode="rb").routed_decode(decoder.basichandlers)))
    yield "decode nothing", lambda: folder(lambda f: [(p, type(v).__name__) for p, v in pipes.FileLister(f, "*.json").open_files(mode="rb").routed_decode()])
    yield "decode handler", lambda: folder(
        lambda f: list(pipes.FileLister(f, "*.bin").open_files(mode="rb").routed_decode(decoder.handle_extension("bin", lambda b: len(b))))
    )
    yield "decode len", lambda: len(wrap([("a", 1)]).routed_decode())
    for ext, what in {"json": b'{"a": 1}', "txt": b"text", "cls": b"7", "id": b"8", "other": b"x", "transcript": b"t", "count": b"2", "text": b"xx"}.items():
        yield f"decode {ext}", lambda ext=ext, what=what: decoder.basichandlers(ext, what)
    yield "decode images", lambda: [sorted(n for n in ("l8", "rgb", "pilrgba", "torchl") if decoder.imagehandler(n))]
    yield "decode images unknown", lambda: decoder.imagehandler("cmyk")
    yield "decode image of text", lambda: decoder.imagehandler("rgb")("txt", b"")
    yield "extension", lambda: [decoder.extension_extract_fn(n) for n in ("a/b.png", "x.tar.gz", "none")]
    yield "decode one", lambda: decoder.Decoder(decoder.basichandlers)(("a.json", b"[1]"))
    yield "decode keys first", lambda: decoder.Decoder(decoder.basichandlers, key_fn=lambda n: "cls")(("a.json", b"1"))
    yield "masks", lambda: [common.match_masks("a.txt", ""), common.match_masks("a.txt", "*.py"), common.match_masks("a.txt", ["*.py", "a*"])]
    yield "check tuple", lambda: [common.validate_pathname_binary_tuple(("a", io.BytesIO()))]
    yield "check tuple of three", lambda: common.validate_pathname_binary_tuple((1, 2, 3))
    yield "check tuple name", lambda: common.validate_pathname_binary_tuple((1, io.BytesIO()))
    yield "check tuple stream", lambda: common.validate_pathname_binary_tuple(("a", 2))
    yield "check no tuple", lambda: common.validate_pathname_binary_tuple(3)

    def stream():
        inner = io.StringIO("ab\ncd\n")
        s = common.StreamWrapper(inner, name="n")
        got = [s.read(1), next(s), list(s), repr(s)[:16], "closed" in dir(s), hasattr(s, "no such"), s.closed]
        s.close()
        return [*got, inner.closed]

    yield "stream", stream
    yield "stream repr", lambda: repr(common.StreamWrapper([1]))
    yield "stream missing", lambda: common.StreamWrapper(io.StringIO()).nothing

    def parent():
        inner, outer = io.StringIO("x"), common.StreamWrapper(io.StringIO("y"))
        s = common.StreamWrapper(inner, outer)
        before = outer.closed
        s.close()
        return [before, inner.closed, outer.closed]

    yield "stream parent", parent

    def autoclosed():
        outer = common.StreamWrapper(io.StringIO("y"))
        s = common.StreamWrapper(io.StringIO("x"), outer)
        outer.autoclose()
        before = outer.closed
        s.close()
        return [before, outer.closed]

    yield "stream autoclose", autoclosed

    def close_streams():
        a, b = common.StreamWrapper(io.StringIO()), common.StreamWrapper(io.StringIO())
        common.StreamWrapper.close_streams({"k": [a, (b,)], "z": 3})
        return [a.closed, b.closed]

    yield "stream close all", close_streams
    yield "stream copy", lambda: (lambda s: type(copy.copy(s.file_obj)).__name__)(common.StreamWrapper([1]))

    # --- map pipes
    yield "sequence", lambda: [list(seq([1, 2])), len(seq("abc")), seq({"a": 5})["a"], seq([1, 2])[-1]]
    yield "sequence copies", lambda: (lambda d, p: (d.append(1), len(p))[1])(d := [0], seq(d))
    yield "sequence cannot copy", lambda: warned(lambda: seq(memoryview(b"ab"))[0])
    yield "sequence out of range", lambda: seq([1])[4]
    yield "map map", lambda: [list(seq([1, 2]).map(double)), len(seq([1, 2]).map(double)), list(maps.Mapper(seq([1, 2])))]
    yield "map concat", lambda: [list(seq([1, 2]).concat(seq([3]), seq("x"))), len(seq([1]).concat(seq([2])))]
    yield "map concat beyond", lambda: seq([1]).concat(seq([2]))[5]
    yield "map concat nothing", lambda: maps.Concater()
    yield "map concat no pipe", lambda: seq([1]).concat([2])
    yield "map concat no length", lambda: maps.Concater(seq([1]), data.MapDataPipe())
    yield "map zip", lambda: [list(seq([1, 2]).zip(seq("abc"))), len(seq([1, 2]).zip(seq("abc")))]
    yield "map zip beyond", lambda: seq([1, 2]).zip(seq("a"))[1]
    yield "map zip nothing", lambda: maps.Zipper()
    yield "map zip no pipe", lambda: seq([1]).zip(3)
    yield "map batch", lambda: [list(seq(range(7)).batch(3)), len(seq(range(7)).batch(3)), len(seq(range(7)).batch(3, drop_last=True))]
    yield "map batch beyond", lambda: seq(range(7)).batch(3, drop_last=True)[2]
    yield "map batch last", lambda: seq(range(7)).batch(3)[2]
    yield "map batch 0", lambda: seq([1]).batch(0)
    yield "map shuffle", lambda: [seeded(seq(range(10)).shuffle(), epochs=2), type(seq([1]).shuffle()).__name__, len(seq([1]).shuffle())]
    yield "map shuffle indices", lambda: seeded(seq({"a": 1, "b": 2, "c": 3}).shuffle(indices=["a", "b", "c"]))
    yield "map shuffle seed", lambda: [seeded(p := seq(range(6)).shuffle().set_seed(3)), list(p)]
    yield "map shuffle off", lambda: list(seq(range(6)).shuffle().set_shuffle(False))
    yield "map add", lambda: [type(seq([1]) + seq([2])).__name__, list(seq([1]) + seq([2]))]
    yield "map base", lambda: data.MapDataPipe()[0]

    # --- classes
    yield "repr", lambda: [repr(numbers()), str(numbers().map(double)), repr(seq([1])), repr(Stream())]
    yield "base", lambda: list(data.IterDataPipe())
    yield "missing attribute", lambda: numbers().nothing
    yield "missing map attribute", lambda: seq([1]).nothing
    yield "functions in dir", lambda: [n in dir(numbers()) for n in ("map", "batch", "source", "iterable")] + ["zip" in dir(seq([1]))]
    yield "next", lambda: [list(Next(3)), list(Next(2))]
    yield "next without iter", lambda: (lambda p: [next(p), next(p)])(Next(3))
    yield "next again", lambda: (lambda p: [list(p), list(p)])(Next(3))
    yield "next and iter", lambda: (lambda p: [list(p), list(p), next(iter(p))])(NextAndIter(3))
    yield "next on a generator", lambda: next(Stream([1]))
    yield "returns an iterator", lambda: (lambda p: [list(p), list(p)])(ReturnsIterator([1, 2]))
    yield "resets", lambda: (lambda p: [list(p), list(p), p.resets])(Counts())

    def two(make):
        p = make()
        a = iter(p)
        first = next(a)
        b = iter(p)
        return [first, next(b), next(a)]

    for name, make in {"Stream": lambda: Stream([1, 2]), "wrapped": numbers, "next": lambda: Next(3), "iterator": lambda: ReturnsIterator([1, 2]),
                       "mapped": lambda: numbers().map(double), "next and iter": lambda: NextAndIter(3)}.items():  # fmt: skip
        yield f"two iterators {name}", lambda make=make: two(make)
    yield "two iterators in zip", lambda: (lambda p: list(p.zip(p)))(numbers())
    yield "two iterators not used", lambda: (lambda p: [next(iter(p)), len([*iter(p)])])(numbers())
    yield "iterator beyond its end", lambda: (lambda a: [list(a), list(a)])(iter(numbers(2)))
    yield "iterator attributes", lambda: (lambda a: [iter(a) is a])(iter(ReturnsIterator([1])))
    yield "len of iterator", lambda: len(iter(numbers(3)))

    def fails(where):
        def check(x):
            if x == 2:
                raise ValueError("two")
            return x

        return where(check)

    yield "error in the middle", lambda: fails(lambda f: list(numbers(4).map(f)))
    yield "error text", lambda: fails(lambda f: list(Stream(map(f, [1, 2]))))

    @data.functional_datapipe("plus")
    class Plus(data.IterDataPipe):
        def __init__(self, source, n=1):
            self.source, self.n = source, n

        def __iter__(self):
            for x in self.source:
                yield x + self.n

    @data.functional_datapipe("minus")
    class Minus(data.MapDataPipe):
        def __init__(self, source):
            self.source = source

        def __getitem__(self, i):
            return self.source[i] - 1

    yield "functional", lambda: [list(numbers(3).plus()), list(numbers(3).plus(n=5)), seq([4]).minus()[0]]

    def again():
        @data.functional_datapipe("plus")
        class Other(data.IterDataPipe):
            pass

    yield "functional name twice", again
    yield "functional of no pipe", lambda: data.functional_datapipe("x")(dict)
    yield "functional on an instance", lambda: numbers().register_function("triple", lambda p: p.map(double)) or list(numbers(3).triple())

    def non_deterministic():
        @data.non_deterministic
        class Any(data.IterDataPipe):
            def __iter__(self):
                yield 1

        result = [list(Any())]
        with data.guaranteed_datapipes_determinism():
            try:
                Any()
            except Exception as e:
                result.append([type(e).__name__, str(e)])
        return [*result, list(Any())]

    yield "non_deterministic", non_deterministic

    def non_deterministic_by_function():
        @data.non_deterministic(lambda x: x > 1)
        class Any(data.IterDataPipe):
            def __init__(self, x):
                self.x = x

            def __iter__(self):
                yield self.x

        with data.guaranteed_datapipes_determinism():
            result = [list(Any(1))]
            return [*result, Any(2)]

    yield "non_deterministic by function", non_deterministic_by_function
    yield "non_deterministic of a number", lambda: data.non_deterministic(3)
    yield "non_deterministic of a map pipe", lambda: data.non_deterministic(maps.Mapper)

    # --- types
    def validated(kind, value):
        class Typed(data.IterDataPipe):
            @data.argument_validation
            def __init__(self, source: kind):
                self.source = source

            def __iter__(self):
                yield from self.source

        return Typed(value)

    yield "argument validation of no pipe", lambda: validated(data.IterDataPipe, [1])
    yield "argument validation without hint", lambda: data.argument_validation(lambda a: a)(3)

    # --- graphs, copies, pickles
    yield "graph", lambda: names(numbers().map(double).batch(2))
    yield "graph of zip", lambda: names(numbers().zip(numbers(3).filter(even)))
    yield "graph of fork", lambda: (lambda a, b: names(a.zip(b)))(*numbers().fork(2))
    yield "graph of map pipes", lambda: names(seq([1]).map(double).zip(seq([2])))
    yield "graph shared", lambda: (lambda p: [names(p.zip(p.map(double))), len(settings.get_all_graph_pipes(graphs.traverse_dps(p.zip(p.map(double)))))])(numbers())
    yield "graph keys", lambda: (lambda p: list(graphs.traverse_dps(p)) == [id(p)])(numbers())
    yield "graph old", lambda: warned(lambda: len(graphs.traverse(numbers(), only_datapipe=True)))
    yield "graph of no pipe", lambda: graphs.traverse_dps(3)
    yield "pickle", lambda: [list(pickle.loads(pickle.dumps(numbers().map(double).batch(2)))), list(pickle.loads(pickle.dumps(seq([1]).map(double))))]
    yield "pickle shuffle", lambda: seeded(pickle.loads(pickle.dumps(numbers().shuffle())))
    yield "pickle shuffle midway", lambda: (lambda p: (torch.manual_seed(1), next(iter(p)), len(list(pickle.loads(pickle.dumps(p)))))[-1])(numbers().shuffle(buffer_size=3))
    yield "pickle fork", lambda: (lambda a, b: list(pickle.loads(pickle.dumps(a.zip(b)))))(*numbers(3).fork(2))
    yield "pickle demux mux group", lambda: [
        list(pickle.loads(pickle.dumps(p)))
        for p in (numbers(5).demux(2, odd)[1], numbers(2).mux(numbers(2)), numbers(5).groupby(odd), numbers(3).sharding_filter(), numbers(3).concat(numbers(2)))
    ]
    yield "copy", lambda: [list(copy.deepcopy(numbers(3).map(double))), list(copy.copy(numbers(3)))]

    def hooks():
        seen = []
        p = numbers(3).map(double)

        def getstate(state):
            seen.append(sorted(k for k in state if not k.startswith("_")))
            return state

        data.IterDataPipe.set_getstate_hook(getstate)
        try:
            pickle.dumps(p)
            try:
                data.IterDataPipe.set_getstate_hook(getstate)
            except Exception as e:
                seen.append([type(e).__name__, str(e)])
        finally:
            data.IterDataPipe.set_getstate_hook(None)
        return seen

    yield "getstate hook", hooks

    def reduce_hooks():
        seen = []

        def reduce(obj):
            seen.append(type(obj).__name__)
            raise NotImplementedError

        data.IterDataPipe.set_reduce_ex_hook(reduce)
        try:
            pickle.dumps(numbers(3).map(double))
            try:
                data.IterDataPipe.set_reduce_ex_hook(reduce)
            except Exception as e:
                seen.append([type(e).__name__, str(e)])
        finally:
            data.IterDataPipe.set_reduce_ex_hook(None)
        return seen

    yield "reduce hook", reduce_hooks

    def hook_by_name(attribute):
        setattr(data.IterDataPipe, attribute, lambda self, obj: "hooked " + type(obj).__name__)
        try:
            return [repr(numbers()), str(numbers())]
        finally:
            setattr(data.IterDataPipe, attribute, None)

    yield "repr hook", lambda: hook_by_name("repr_hook")
    yield "str hook", lambda: hook_by_name("str_hook")

    # --- settings
    yield "apply shuffle", lambda: [seeded(settings.apply_shuffle_settings(numbers(5).shuffle(), shuffle=s)) for s in (True, False, None)]
    yield "apply shuffle without shuffler", lambda: warned(lambda: seeded(settings.apply_shuffle_settings(numbers(5), shuffle=True)))
    yield "apply shuffle off without", lambda: warned(lambda: seeded(settings.apply_shuffle_settings(numbers(5), shuffle=False)))
    rng = lambda: torch.Generator().manual_seed(77)
    yield "apply seed", lambda: list(settings.apply_random_seed(numbers().shuffle(), rng()))
    yield "apply seeds", lambda: list(settings.apply_random_seed(numbers(5).shuffle().zip(numbers(5).shuffle().map(double)), rng()))
    yield "apply shuffle seed", lambda: warned(lambda: list(settings.apply_shuffle_seed(numbers().shuffle(), rng())))

    def restored(n, pipe, rng_=None):
        part("datapipes.utils.snapshot")._simple_graph_snapshot_restoration(pipe, n, rng_)
        return [list(pipe), list(pipe), pipe._number_of_samples_yielded]

    yield "snapshot", lambda: restored(3, numbers())
    yield "snapshot shuffled", lambda: (torch.manual_seed(3), restored(3, numbers().shuffle(), rng()))[1]
    yield "snapshot beyond", lambda: warned(lambda: restored(12, numbers()))
    yield "snapshot twice", lambda: (lambda p: [restored(2, p), restored(2, p)])(numbers(4))

    def counted():
        p = numbers(4)
        seen = [p._number_of_samples_yielded, p._snapshot_state.name]
        a = iter(p)
        next(a), next(a)
        seen += [p._number_of_samples_yielded, p._snapshot_state.name]
        list(a)
        return [*seen, p._number_of_samples_yielded, p._snapshot_state.name]

    yield "samples counted", counted

    # --- loaders
    def load(pipe, seed=3, epochs=2, generator=None, **options):
        torch.manual_seed(seed)
        random.seed(seed)
        g = None if generator is None else torch.Generator().manual_seed(generator)
        loader = data.DataLoader(pipe, generator=g, **options)
        answer = [list(loader) for _ in range(epochs)]
        return [answer, torch.randint(1000, (1,), generator=g).item()]

    for workers in (0, 2):
        more = dict(num_workers=workers)
        yield f"load {workers}", lambda more=more: load(numbers(6), batch_size=2, **more)
        yield f"load shuffled {workers}", lambda more=more: load(numbers(8).shuffle().sharding_filter(), batch_size=None, shuffle=True, **more)
        yield f"load shuffler first {workers}", lambda more=more: load(numbers(8).shuffle().sharding_filter().map(double), batch_size=3, **more)
        yield f"load not shuffled {workers}", lambda more=more: load(numbers(8).shuffle(), batch_size=None, shuffle=False, **more)
        yield f"load with generator {workers}", lambda more=more: load(numbers(8).shuffle().sharding_filter(), batch_size=4, generator=9, shuffle=True, **more)
        yield f"load map pipe {workers}", lambda more=more: load(seq(range(5)).map(double), batch_size=2, **more)
        yield f"load map pipe shuffled {workers}", lambda more=more: load(seq(range(6)).shuffle(), batch_size=2, shuffle=True, **more)
        yield f"load map pipe by sampler {workers}", lambda more=more: load(seq(range(6)), batch_size=2, shuffle=True, **more)
        yield f"load random {workers}", lambda more=more: load(numbers(8).shuffle().set_seed(4), batch_size=None, **more)
        yield f"load files {workers}", lambda more=more: folder(lambda f: load(pipes.FileLister(f, "*.txt").open_files().read_from_stream(), batch_size=None, epochs=1, **more)[0])
        yield f"load local {workers}", lambda more=more: warned(lambda: load(numbers(4).map(lambda x: x + 1), batch_size=None, epochs=1, **more)[0])
    yield "load persistent", lambda: load(numbers(8).shuffle().sharding_filter(), batch_size=None, shuffle=True, num_workers=2, persistent_workers=True, epochs=3)
    yield "load len", lambda: [len(data.DataLoader(numbers(7), batch_size=2)), len(data.DataLoader(numbers(7), batch_size=None))]
    yield "load sampler", lambda: data.DataLoader(numbers(7), sampler=[1])
    yield "load twice at once", lambda: (lambda l: [next(a := iter(l)), next(iter(l)), next(a)])(data.DataLoader(numbers(4)))
    yield "load chunks", lambda: load(numbers(6).batch(3), batch_size=None, epochs=1)
    yield "load named", lambda: load(wrap([Point(1, 2), Point(3, 4)]), batch_size=2, epochs=1)
    yield "load dataset attribute", lambda: [type(data.DataLoader(numbers(2)).dataset).__name__, type(data.DataLoader(seq([1])).dataset).__name__]
    yield "load sharded alone", lambda: load(numbers(4).sharding_filter(), batch_size=None, num_workers=0, epochs=1)
    yield "load worker init", lambda: load(numbers(6).sharding_filter(), batch_size=None, num_workers=2, epochs=1, worker_init_fn=double)
    yield "load old worker init", lambda: warned(
        lambda: load(numbers(6).sharding_filter(), batch_size=None, num_workers=2, epochs=1, worker_init_fn=part("backward_compatibility").worker_init_fn)
    )
    yield "chunk", lambda: (lambda c: [c.as_str(), c.as_str("> "), list(c), list(c.raw_iterator()), len(c), c[1], c == [1, 2]])(data.DataChunk([1, 2]))
    yield "chunk of nothing", lambda: data.DataChunk(3)
