# SPDX-License-Identifier: Apache-2.0
"""DataPipes against what PyTorch gave (record_data.py), and where they do more or nothing could be recorded."""
import importlib.util
import io
import json
import pathlib
import pickle
import subprocess
import sys

import facula as torch
import pytest
from data_cases import answer
from datapipe_cases import cases, double
from facula.utils import data
from facula.utils.data import graph, graph_settings
from facula.utils.data.datapipes import iter as pipes, map as maps
from facula.utils.data.datapipes.utils import decoder

pytestmark = pytest.mark.not_sanitized

wrap = pipes.IterableWrapper
GOLDEN = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "datapipes.json").read_text())
CASES = dict(cases(torch))
OWN_WORDS = {"demux len", "fork of demux len", "check tuple stream", "missing attribute", "missing map attribute"}


def test_all_are_recorded():
    assert sorted(CASES) == sorted(GOLDEN)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_recorded(name):
    found, recorded = json.loads(json.dumps(answer(CASES[name]))), GOLDEN[name]
    if name in OWN_WORDS:
        found, recorded = found["error"], recorded["error"]
    assert found == recorded


class Typed(data.IterDataPipe[tuple[int, str]]):
    @data.argument_validation
    def __init__(self, source: data.IterDataPipe):
        self.source = source

    @data.runtime_validation
    def __iter__(self):
        yield from self.source


def test_samples_are_checked():
    assert list(Typed(wrap([(1, "a")]))) == [(1, "a")]
    with pytest.raises(RuntimeError, match=r"Expected an instance as subtype of tuple\[int, str\], but found \(1, 2\)"):
        list(Typed(wrap([(1, 2)])))
    with data.runtime_validation_disabled():
        assert list(Typed(wrap([(1, 2)]))) == [(1, 2)]
    with pytest.raises(TypeError, match="Expected argument 'source' as an IterDataPipe"):
        Typed([1])


@pytest.mark.parametrize("hint, good, bad", [
    (int | None, None, "x"), (list[int], [1], ["a"]), (dict[str, int], {"a": 1}, {1: 1}), (tuple[int, ...], (1, 2), (1, "a")),
    (set[int], {1}, {"a"}), (tuple[int, str], (1, "a"), (1,)),
])  # fmt: skip
def test_hints(hint, good, bad):
    from facula.utils.data.datapipes._decorator import fits

    assert fits(good, hint) and not fits(bad, hint)


def test_a_shuffler_that_is_added_shuffles():
    torch.manual_seed(0)
    with pytest.warns(UserWarning, match="Adding one at the end"):
        loader = data.DataLoader(wrap(range(50)), batch_size=None, shuffle=True)
    first, second = list(loader), list(loader)
    assert sorted(first) == sorted(second) == list(range(50)) and first != second != list(range(50))


def test_pipes_of_local_classes():
    class Local(data.IterDataPipe):
        def __init__(self, parts):
            self.parts = parts

        def set_seed(self, seed):
            self.seed = seed

        def __iter__(self):
            for part in self.parts.values():
                yield from part

    class Louder(Local):
        def __iter__(self):
            for x in super().__iter__():
                yield 10 * x

    inner = wrap(range(3))
    pipe = Louder({"a": inner})
    assert list(pipe) == list(pipe) == [0, 10, 20]
    assert [p for p, _ in graph.traverse_dps(pipe)[id(pipe)][1].values()] == [inner]
    graph_settings.apply_random_seed(pipe, torch.Generator().manual_seed(3))
    assert pipe.seed == int(torch.empty((), dtype=torch.int64).random_(generator=torch.Generator().manual_seed(3)))
    assert list(data.DataLoader(pipe, batch_size=None, num_workers=2)) == [0, 0, 10, 10, 20, 20]


def test_a_pipe_that_is_made_of_itself():
    pipe = wrap([1])
    pipe.myself = [pipe]
    assert graph.traverse_dps(pipe) == {id(pipe): (pipe, {})}


def test_pipes_inside_of_objects():
    class Holder:
        def __init__(self, pipe):
            self.pipe = pipe

        def __call__(self, x):
            return x

    with pytest.warns(FutureWarning):
        inner, outer = wrap([1]), wrap([2]).map(Holder(wrap([3])))
        assert len(graph_settings.get_all_graph_pipes(graph.traverse(outer, only_datapipe=False))) == 3
        assert len(graph_settings.get_all_graph_pipes(graph.traverse(inner, only_datapipe=True))) == 1


def test_errors_keep_their_numbers():
    with pytest.raises(FileNotFoundError) as e:
        list(pipes.FileOpener(wrap(["/nowhere"])))
    assert e.value.errno == 2 and e.value.args[0] == 2
    if sys.version_info >= (3, 11):
        assert "thrown by __iter__ of FileOpenerIterDataPipe(" in e.value.__notes__[0]


def test_a_long_argument_is_cut_in_messages():
    pipe = wrap(["x" * 100000])
    a = iter(pipe)
    next(a)
    next(iter(pipe))
    with pytest.raises(RuntimeError, match="invalidated") as e:
        next(a)
    assert len(str(e.value)) < 1000


def test_pickled_records_execute_nothing():
    class Evil:
        def __reduce__(self):
            return print, ("executed",)

    assert decoder.basichandlers("pyd", pickle.dumps({"a": [1, 2.5, None]})) == {"a": [1, 2.5, None]}
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        decoder.basichandlers("pickle", pickle.dumps(Evil()))
    buffer = io.BytesIO()
    torch.save(torch.arange(3), buffer)
    assert decoder.basichandlers("pt", buffer.getvalue()).tolist() == [0, 1, 2]
    assert decoder.Decoder(decoder.basichandlers)({"a.json": b"[1]", "b.cls": b"7", "c.cls": b"x"}) == {"a.json": [1], "b.cls": 7, "c.cls": b"x"}


def test_pictures():
    image = pytest.importorskip("PIL.Image")
    buffer = io.BytesIO()
    image.new("RGB", (2, 3), (10, 200, 30)).save(buffer, "PNG")
    shapes = {"l8": (3, 2), "rgb": (3, 2, 3), "rgba8": (3, 2, 4), "torchl": (1, 3, 2), "torch": (3, 3, 2), "torchrgba": (4, 3, 2)}
    for spec, shape in shapes.items():
        found = decoder.imagehandler(spec)("png", buffer.getvalue())
        assert tuple(found.shape) == shape
        assert ("uint8" in str(found.dtype)) == spec.endswith("8")
    assert decoder.imagehandler("pil")("png", buffer.getvalue()).size == (2, 3)


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = wrap([(1, 2), (3, 4), (5, 6)])._to_dataframes_pipe(dataframe_size=2, columns=["a", "b"])
    frame["c"] = frame["a"] + frame.b * 2 - 1
    assert [tuple(row) for row in frame] == [(1, 2, 4), (3, 4, 10), (5, 6, 16)]
    assert [tuple(row) for row in frame.filter(lambda row: row.a > 1)] == [(3, 4, 10), (5, 6, 16)]
    assert sorted(row.c for row in frame.shuffle()) == [4, 10, 16]
    batches = list(frame.batch(2).collate({"a": sum, "b": list, "c": len}))
    assert [tuple(b) for b in batches] == [(4, [2, 4], 2), (5, [6], 1)]
    assert isinstance(next(frame.raw_iterator()), pandas.DataFrame)


def test_collate_by_columns_needs_frames():
    with pytest.raises(TypeError, match="works on batches of data frames, and got list"):
        list(wrap([[1, 2]]).collate({"a": sum}))


def test_data_frames_need_pandas():
    if importlib.util.find_spec("pandas"):
        pytest.skip("pandas is installed")
    with pytest.raises(RuntimeError, match="requires pandas"):
        list(wrap([(1, 2)])._to_dataframes_pipe())


def test_spawned_workers():
    pipe = wrap(range(6)).shuffle().sharding_filter().map(double)
    torch.manual_seed(1)
    loader = data.DataLoader(pipe, batch_size=None, shuffle=False, num_workers=1, multiprocessing_context="spawn")
    assert list(loader) == [0, 2, 4, 6, 8, 10]


def test_map_pipes_by_number():
    batches = maps.SequenceWrapper(range(7)).batch(3)
    assert batches[2] == [6]
    with pytest.raises(IndexError, match="Index -1 is out of bound"):
        batches[-1]


def test_imported_when_asked_for():
    program = (
        "import sys, facula; from facula.utils import data; loaded = lambda: [m for m in sys.modules if 'datapipes' in m]\n"
        "assert not loaded(); data.DataLoader([1]); assert not loaded(); assert set(data.__all__) <= set(dir(data))\n"
        "assert data.IterDataPipe and loaded() and list(data.datapipes.iter.IterableWrapper([1]).map(str)) == ['1']"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
