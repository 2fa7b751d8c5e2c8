# SPDX-License-Identifier: Apache-2.0
"""What loaders and samplers give for a seed; run under PyTorch by record_data.py and under Facula by test_recorded.py."""
import collections
import random


def plain(x):
    """Tensors and tuples as JSON has them."""
    if hasattr(x, "tolist"):
        return {str(x.dtype): plain(x.tolist())}
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *(plain(y) for y in x)]
    return x if x is None or isinstance(x, (int, float, str)) else repr(x)


def answer(function):
    try:
        return plain(function())
    except Exception as e:
        return {"error": type(e).__name__, "text": str(e).split("\n")[0]}


Point = collections.namedtuple("Point", "x y")


def cases(torch):
    import numpy as np

    data = torch.utils.data

    class Noise(data.Dataset):
        def __len__(self):
            return 11

        def __getitem__(self, i):
            info = data.get_worker_info()
            who = (info.id, info.num_workers, info.seed) if info else None
            return {"i": i, "torch": torch.rand(2), "python": random.random(), "numpy": np.random.rand(1), "who": str(who)}

    class Stream(data.IterableDataset):
        def __init__(self, *lengths):
            self.lengths = lengths

        def __iter__(self):
            info = data.get_worker_info()
            k = info.id if info else 0
            return iter(range(100 * k, 100 * k + self.lengths[k]))

    class Fails(data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            if i == 2:
                raise KeyError("k") if self.kind == "key" else ValueError("v")
            return i

    def fails(kind, workers):
        d = Fails()
        d.kind = kind
        return list(data.DataLoader(d, num_workers=workers))

    def load(dataset, seed=3, epochs=1, generator=None, **options):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        g = None if generator is None else torch.Generator().manual_seed(generator)
        loader = data.DataLoader(dataset, generator=g, **options)
        return [[batch for batch in loader] for _ in range(epochs)]

    def sampler(make):
        torch.manual_seed(5)
        s = make()
        return [list(s), list(s), len(s)]

    numbers = list(range(10))
    yield "shuffled", lambda: load(Noise(), batch_size=3, shuffle=True)
    yield "two workers", lambda: load(Noise(), batch_size=3, shuffle=True, num_workers=2)
    yield "epochs", lambda: load(Noise(), batch_size=4, shuffle=True, num_workers=2, epochs=2)
    yield "persistent", lambda: load(Noise(), batch_size=4, shuffle=True, num_workers=2, epochs=2, persistent_workers=True)
    yield "generator", lambda: load(Noise(), batch_size=4, shuffle=True, num_workers=1, generator=7)
    yield "unbatched", lambda: load(Noise(), batch_size=None, num_workers=1)
    yield "dropped", lambda: load(numbers, batch_size=4, drop_last=True)
    yield "prefetch", lambda: load(numbers, batch_size=2, num_workers=2, prefetch_factor=5)
    yield "batch sampler", lambda: load(numbers, batch_sampler=[[0, 3], [5], [9, 8, 7]], num_workers=2)
    yield "stream", lambda: load(Stream(5), batch_size=2)
    yield "stream, workers", lambda: load(Stream(5, 2, 9), batch_size=2, num_workers=3, epochs=2)
    yield "stream, dropped", lambda: load(Stream(5, 2), batch_size=2, num_workers=2, drop_last=True)
    yield "stream, persistent", lambda: load(Stream(5, 2), batch_size=2, num_workers=2, persistent_workers=True, epochs=3)
    yield "stream, unbatched", lambda: load(Stream(3, 1), batch_size=None, num_workers=2)
    yield "worker error", lambda: fails("value", 1)
    yield "worker KeyError", lambda: fails("key", 1)
    yield "error", lambda: fails("value", 0)
    w = [0.1, 0.9, 0.4, 0.7, 3.0, 0.6]
    yield "RandomSampler", lambda: sampler(lambda: data.RandomSampler(numbers))
    yield "RandomSampler, many", lambda: sampler(lambda: data.RandomSampler(numbers, num_samples=25))
    yield "RandomSampler, again", lambda: sampler(lambda: data.RandomSampler(numbers, replacement=True, num_samples=40))
    yield "SubsetRandomSampler", lambda: sampler(lambda: data.SubsetRandomSampler([4, 9, 2, 6]))
    yield "WeightedRandomSampler", lambda: sampler(lambda: data.WeightedRandomSampler(w, 5, replacement=False))
    yield "BatchSampler", lambda: sampler(lambda: data.BatchSampler(data.SequentialSampler(numbers), 3, True))
    for n, replicas, drop in ((10, 3, False), (10, 3, True), (2, 5, False), (2, 5, True), (9, 3, True)):
        def ranks(n=n, replicas=replicas, drop=drop):
            all_ranks = [data.DistributedSampler(range(n), replicas, rank, seed=2, drop_last=drop) for rank in range(replicas)]
            all_ranks[0].set_epoch(4)
            return [list(s) for s in all_ranks] + [len(all_ranks[0])]
        yield f"DistributedSampler {n} {replicas} {drop}", ranks
    for lengths in ([3, 7], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25], [0.05, 0.95]):
        def split(lengths=lengths):
            return [s.indices for s in data.random_split(numbers, lengths, generator=torch.Generator().manual_seed(42))]
        yield f"random_split {lengths}", split
    samples = {
        "tensors": [torch.ones(2), torch.zeros(2)], "ints": [1, 2], "floats": [1.5, 2.5], "bools": [True, False],
        "texts": ["a", "b"], "bytes": [b"a", b"b"], "numpy": [np.ones(2), np.zeros(2)], "scalars": [np.float32(1), np.float32(2)],
        "zero-d": [np.array(1.5), np.array(2.5)], "named": [Point(1, 2.0), Point(3, 4.0)], "lists": [[1, [2]], [3, [4]]],
        "tuples": [(1, "a"), (2, "b")], "dicts": [{"a": 1, "b": [2]}, {"a": 3, "b": [4]}], "ordered": [collections.OrderedDict(a=1)] * 2,
        "ranges": [range(2), range(2)], "None": [None], "sets": [{1}], "ragged": [[1, 2], [3]], "shapes": [torch.ones(2), torch.ones(3)],
        "string arrays": [np.array(["a"])], "keys": [{"a": 1}, {"b": 2}], "complex": [1j], "types": [torch.ones(1), torch.ones(1).double()],
        "empty": [],
    }  # fmt: skip
    for name, batch in samples.items():
        yield f"collate {name}", lambda batch=batch: data.default_collate(batch)
        yield f"convert {name}", lambda batch=batch: data.default_convert(batch)
    refused = {
        "num_workers": dict(num_workers=-1), "timeout": dict(timeout=-1), "prefetch": dict(prefetch_factor=2),
        "persistent": dict(persistent_workers=True), "context": dict(multiprocessing_context="fork"),
        "context name": dict(multiprocessing_context="no", num_workers=1), "context type": dict(multiprocessing_context=3, num_workers=1),
        "shuffle": dict(sampler=[1], shuffle=True), "batch_sampler": dict(batch_sampler=[[1]], batch_size=2),
        "drop_last": dict(batch_size=None, drop_last=True), "batch_size": dict(batch_size=0),
    }  # fmt: skip
    for name, options in refused.items():
        yield f"refused {name}", lambda options=options: data.DataLoader(numbers, **options)
    for name, options in {"shuffle": dict(shuffle=True), "sampler": dict(sampler=[1]), "batch_sampler": dict(batch_sampler=[[1]])}.items():
        yield f"refused stream {name}", lambda options=options: data.DataLoader(Stream(1), **options)
    yield "refused empty", lambda: data.DataLoader([], shuffle=True)
    yield "refused rank", lambda: data.DistributedSampler(numbers, 2, 2)
    yield "refused fractions", lambda: data.random_split(numbers, [1.5, -0.5])
    yield "refused lengths", lambda: data.random_split(numbers, [3, 3])
    yield "refused sizes", lambda: data.TensorDataset(torch.ones(2), torch.ones(3))
    yield "refused stack", lambda: data.StackDataset([1], [1, 2])
    yield "refused concat", lambda: data.ConcatDataset([])
    tensors = data.TensorDataset(torch.arange(6).view(3, 2), torch.arange(3.0))
    yield "TensorDataset", lambda: [list(tensors), len(tensors), tensors[1:]]
    yield "ConcatDataset", lambda: [list(map((data.ConcatDataset([numbers, [77, 78]])).__getitem__, [0, 9, 10, -1])), len(tensors + tensors)]
    yield "StackDataset", lambda: load(data.StackDataset(a=numbers, b=data.Subset(numbers, numbers[::-1])), batch_size=4)
    yield "StackDataset of Subset", lambda: load(data.Subset(data.StackDataset(numbers, tensors + tensors + tensors + data.Subset(tensors, [0])), [1, 9]), batch_size=4)
    yield "ChainDataset", lambda: list(Stream(2) + Stream(3))
