# SPDX-License-Identifier: Apache-2.0
"""What the tests of files save and load, made alike by PyTorch and Facula, and how it is compared."""
import collections

DTYPES = ("uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 bool "
          "float8_e5m2 float8_e4m3fn uint16 uint32 uint64").split()


def containers(torch):
    # The counter's letters stand nowhere else: whether they are the same objects as literals is up to Python's version.
    cycle = []
    cycle.append({"cycle": cycle})
    long_text = "ä" * 300
    return {
        "ints": [0, 255, 256, 65535, 65536, -1, 2**31 - 1, -2**31, 2**31, 2**40, -2**40, -128, -129, 2**63, -2**63, 2**100, -2**100, 1 << 3000],
        "floats": [0.0, -0.0, 1.5, float("inf"), 5e-324], "bools": [True, False, None], "complex": 1.5 - 2j,
        "texts": ["", "a", long_text, long_text, "\ud800", "\U0001f525"], "bytes": [b"", b"ab\xff", bytearray(), bytearray(b"xy")],
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ((), ((),))],
        "sets": [set(), {3}, frozenset(), frozenset([4])],
        "dicts": [{}, {1: 2}, {(1, "a"): None, 2.5: "x", True: 0}],
        "ordered": collections.OrderedDict([("z", 1), ("a", 2)]), "counter": collections.Counter("ccd"),
        "default": collections.defaultdict(list, {"q": [1]}), "cycle": cycle,
        "long list": list(range(1001)), "long dict": {i: i for i in range(1001)},
        "values": [torch.float32, torch.bfloat16, torch.device("cpu"), torch.device("cuda", 1), torch.Size([2, 3]), torch.Size([]), torch.strided],
    }  # fmt: skip


def dtypes(torch):
    bits = torch.arange(48, dtype=torch.uint8)
    out = {}
    for name in DTYPES:
        dtype = getattr(torch, name)
        out[name] = (bits % 2).bool() if name == "bool" else bits.clone().view(dtype)
    return out


def views(torch):
    base = torch.arange(24.0).view(2, 3, 4)
    tied = torch.arange(6.0)
    return {"base": base, "slice": base[:, 1:, ::2], "turned": base.permute(2, 0, 1), "expanded": torch.ones(3, 1).expand(3, 5),
            "scalar": torch.tensor(2.5), "empty": torch.empty(0, 3), "emptied": base[:, :0], "tied": [tied, tied, tied.view(2, 3)],
            "grad": torch.ones(2, requires_grad=True), "meta": torch.empty(2, 3, device="meta"),
            "last": torch.arange(24.0).view(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)}  # fmt: skip


def state_dict(torch):
    weight = torch.arange(6.0).view(2, 3)
    out = collections.OrderedDict([("encoder.weight", weight), ("encoder.bias", torch.zeros(2)), ("decoder.weight", weight), ("steps", torch.tensor(7))])
    out._metadata = collections.OrderedDict([("", {"version": 1}), ("encoder", {"version": 1})])
    return out


def attributes(torch):
    x = torch.arange(3.0)
    x.note = {"tag": [1, "a"]}
    return [x, torch.arange(2).as_subclass(torch.Tensor)]


def parameters(torch):
    p = torch.nn.Parameter(torch.arange(4.0).view(2, 2))
    q = torch.nn.Parameter(torch.zeros(2), requires_grad=False)
    q.tag = "mine"
    return {"p": p, "again": p, "q": q}


def optimizer(torch):
    p = torch.nn.Parameter(torch.arange(4.0).view(2, 2))
    optimizer = torch.optim.AdamW([{"params": [p], "lr": 0.1}], betas=(0.5, 0.75))
    p.grad = torch.ones(2, 2)
    optimizer.step()
    return {"model": {"p": p.detach()}, "optimizer": optimizer.state_dict(), "epoch": 3}


def sparse(torch):
    """What archives of before 2020 hold behind the pickle is not there yet when these are rebuilt."""
    dense = torch.tensor([[0.0, 1, 0], [2, 0, 3]])
    apart = torch.sparse_coo_tensor(torch.tensor([[0, 0], [1, 1]]), torch.tensor([1.0, 2.0]), (2, 3))
    return {"coo": dense.to_sparse(), "apart": apart, "rows": dense.to_sparse_csr(), "columns": dense.to_sparse_csc(), "dense": dense}


def tensors(torch):
    """For safetensors, which has no complex128."""
    out = {name: x for name, x in dtypes(torch).items() if name != "complex128"}
    return {**out, 'é"\\\n\x01/': torch.ones(2, 3), "empty": torch.empty(0, 3), "scalar": torch.tensor(2.5)}


OBJECTS = {f.__name__: f for f in (containers, dtypes, views, state_dict, attributes, parameters, optimizer, sparse)}
NO_LEGACY = ("dtypes",)  # PyTorch cannot read its own there


def described(torch, obj):
    """An object as JSON: types, values, the bytes behind tensors, and what is the same object or memory."""
    seen, storages = {}, {}

    def tensor(x):
        plain = x.detach()
        out = {"class": type(x).__name__, "dtype": str(x.dtype), "size": list(x.shape), "stride": list(x.stride()),
               "offset": x.storage_offset(), "grad": x.requires_grad, "device": str(x.device)}  # fmt: skip
        if x.device.type != "meta":
            storage = plain.untyped_storage()
            if storage.nbytes():
                out["memory"] = storages.setdefault(storage.data_ptr(), len(storages))
            raw = torch.empty(0, dtype=torch.uint8).set_(storage) if torch.__name__ == "torch" else torch._C._storage_tensor(plain)
            out["bytes"] = bytes(raw.tolist()).hex()
        state = {k: v for k, v in vars(x).items() if not k.startswith("_")}
        return {**out, "state": walk(state)} if state else out

    def walk(x):
        if x is None or isinstance(x, (bool, str)) or type(x) is int:
            return x
        if type(x) in (float, complex, bytes, bytearray):
            return f"{type(x).__name__} {x!r}"
        if id(x) in seen:
            return f"#{seen[id(x)]}"
        if isinstance(x, (torch.dtype, torch.device, torch.Size, torch.layout)):
            return str(x)
        seen[id(x)] = len(seen)
        keep.append(x)
        if isinstance(x, torch.Tensor) and x.layout is not torch.strided:
            names = {torch.sparse_coo: "_indices _values is_coalesced", torch.sparse_csr: "crow_indices col_indices values",
                     torch.sparse_csc: "ccol_indices row_indices values"}[x.layout]  # fmt: skip
            return [str(x.layout), list(x.shape), *(walk(getattr(x, name)()) for name in names.split())]
        if isinstance(x, torch.Tensor):
            return tensor(x)
        if isinstance(x, dict):
            out = {"class": type(x).__name__, "items": [[walk(k), walk(v)] for k, v in x.items()]}
            return {**out, "state": walk(vars(x))} if getattr(x, "__dict__", None) else out
        if isinstance(x, (set, frozenset)):
            return {"class": type(x).__name__, "items": sorted(map(repr, x))}
        if isinstance(x, (list, tuple)):
            return [type(x).__name__, *(walk(item) for item in x)] if x else f"empty {type(x).__name__}"
        raise TypeError(type(x))

    keep = []
    return walk(obj)
