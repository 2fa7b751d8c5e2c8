# SPDX-License-Identifier: Apache-2.0
"""Files that are damaged or made to harm: each is refused with an exception, in memory bounded by the file's size."""
import io
import json
import pathlib
import pickle
import struct
import zipfile

import pytest
from saved_objects import OBJECTS, described

REFUSED = (RuntimeError, ValueError, EOFError, pickle.UnpicklingError, TypeError, KeyError, IndexError, AttributeError, OverflowError)


@pytest.fixture(autouse=True)
def only_facula(torch):
    if torch.__name__ != "facula":
        pytest.skip("a promise of Facula's")


def small(torch):
    x = torch.arange(5.0)
    return {"a": x, "b": [x[2:], "text", 3, (1.5, None)]}


def saved(torch, obj, **how):
    buffer = io.BytesIO()
    torch.save(obj, buffer, **how)
    return buffer.getvalue()


def load(torch, data, **how):
    return torch.load(io.BytesIO(data), **how)


def load_file(torch, path, data, **how):
    path.write_bytes(data)
    return torch.load(path, **how)


def archive(pickled, records=(), compression=zipfile.ZIP_STORED, order=b"little"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as z:
        z.writestr("archive/data.pkl", pickled)
        for name, data in [("version", b"3\n"), ("byteorder", order), *records]:
            z.writestr(f"archive/{name}", data)
    return buffer.getvalue()


# Pickles, put together by hand.


def pickled(*parts):
    return b"\x80\x02" + b"".join(parts) + b"."


def text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def number(n):
    data = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def tuple_of(*parts):
    return b"(" + b"".join(parts) + b"t"


def global_name(module, name):
    return f"c{module}\n{name}\n".encode()


def call(module, name, *args):
    return global_name(module, name) + tuple_of(*args) + b"R"


def storage(numel, kind="FloatStorage", key="0", location="cpu"):
    return tuple_of(text("storage"), global_name("torch", kind), text(key), text(location), number(numel)) + b"Q"


def tensor(numel, size=(5,), stride=(1,), offset=0, kind="FloatStorage"):
    sizes, strides = (tuple_of(*map(number, numbers)) for numbers in (size, stride))
    return call("torch._utils", "_rebuild_tensor_v2", storage(numel, kind), number(offset), sizes, strides, b"\x89", b"}")


# ---- damage


@pytest.mark.parametrize("legacy", [False, True])
def test_truncated_at_every_byte(torch, tmp_path, legacy):
    data = saved(torch, small(torch), _use_new_zipfile_serialization=not legacy)
    path = tmp_path / "x.pt"
    for n in range(len(data)):
        with pytest.raises(REFUSED):
            load(torch, data[:n])
        if n % 8 == 0:
            for mapped in (False, True):
                with pytest.raises(REFUSED):
                    load_file(torch, path, data[:n], mmap=mapped)


def test_every_byte_damaged(torch):
    data = saved(torch, small(torch))
    want = described(torch, load(torch, data))
    loaded = 0
    for i in range(len(data)):
        for bit in (0x01, 0x80):
            damaged = bytearray(data)
            damaged[i] ^= bit
            try:
                got = load(torch, bytes(damaged))
            except (*REFUSED, NotImplementedError):
                continue
            assert described(torch, got) == want, f"byte {i}"  # padding, times and the like
            loaded += 1
    assert loaded < len(data)


def test_damage_of_legacy_files_is_survived(torch):
    data = saved(torch, small(torch), _use_new_zipfile_serialization=False)
    for i in range(len(data)):
        damaged = bytearray(data)
        damaged[i] ^= 0x04
        try:
            load(torch, bytes(damaged))
        except (*REFUSED, NotImplementedError):
            continue


# ---- archives


def test_sizes_that_lie(torch, tmp_path):
    data = saved(torch, torch.arange(5.0))
    central = data.rindex(b"PK\x01\x02", 0, data.index(b"archive/data/0", data.index(b"PK\x01\x02")))
    path = tmp_path / "x.pt"
    for size in (0, 4, 19, 21, 1 << 20, 0xFFFFFFFE, 0xFFFFFFFF):
        forged = data[: central + 20] + struct.pack("<II", size, size) + data[central + 28 :]
        for mapped in (False, True):
            with pytest.raises(RuntimeError, match="record|zip archive"):
                load_file(torch, path, forged, mmap=mapped)


def test_directories_that_lie(torch):
    data = saved(torch, torch.arange(5.0))
    end = data.rindex(b"PK\x05\x06")
    end64 = data.rindex(b"PK\x06\x06")
    for at, width in ((end + 8, 2), (end + 10, 2), (end + 12, 4), (end + 16, 4), (end64 + 24, 8), (end64 + 32, 8), (end64 + 40, 8), (end64 + 48, 8)):
        for value in (1, 6, len(data), (1 << (8 * width - 1)) + 5, (1 << (8 * width)) - 2):
            forged = data[:at] + (value % (1 << 8 * width)).to_bytes(width, "little") + data[at + width :]
            with pytest.raises(RuntimeError, match="zip archive"):
                load(torch, forged)


def test_records_twice_overlapping_missing_or_elsewhere(torch):
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = archive(pickled(b"N"), [("version", b"3\n")])
    with pytest.raises(RuntimeError, match="there twice"):
        load(torch, twice)
    for name in ("../evil", "x/../../evil", ".."):
        with pytest.raises(RuntimeError, match="leads out of the archive"):
            load(torch, archive(pickled(b"N"), [(name, b"")]))
    with pytest.raises(RuntimeError, match="failed locating file data/0"):
        load(torch, archive(pickled(tensor(5))))
    with pytest.raises(RuntimeError, match="failed locating file data.pkl"):
        load(torch, archive(b"").replace(b"data.pkl", b"xxxx.pkl"))
    data = archive(pickled(b"N"), [("data/0", bytes(20)), ("data/1", bytes(20))])
    first, second = (data.rindex(f"archive/data/{i}".encode()) - 46 for i in (0, 1))
    forged = data[: second + 42] + data[first + 42 : first + 46] + data[second + 46 :]
    with pytest.raises(RuntimeError, match="overlaps|not what the directory says"):
        load(torch, forged)


def test_compressed_and_encrypted_records(torch):
    bomb = archive(pickled(tensor(1 << 22, (1 << 22,))), [("data/0", bytes(1 << 24))], zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 16
    with pytest.raises(RuntimeError, match="times as many are not believed"):
        load(torch, bomb)
    with pytest.raises(RuntimeError, match="compressed in a way"):
        load(torch, archive(pickled(tensor(5)), [("data/0", bytes(20))], zipfile.ZIP_BZIP2))
    data = archive(pickled(b"N"))
    at = data.index(b"PK\x01\x02") + 8
    with pytest.raises(RuntimeError, match="is encrypted"):
        load(torch, data[:at] + b"\x01" + data[at + 1 :])


def test_deflated_records(torch):
    numbers = torch.arange(5000).float().sin()
    content = bytes(numbers.numpy())
    data = archive(pickled(tensor(5000, (5000,))), [("data/0", content)], zipfile.ZIP_DEFLATED)
    assert torch.equal(load(torch, data), numbers)
    at = data.index(b"PK\x03\x04", data.index(b"data/0") - 40) + 60
    for offset in range(at, at + 600, 7):  # the checksum finds what inflating does not
        damaged = data[:offset] + bytes([data[offset] ^ 0x10]) + data[offset + 1 :]
        with pytest.raises(RuntimeError, match="damaged|differ|not what"):
            load(torch, damaged)
    directory = data.rindex(b"archive/data/0") - 46
    for change in (-4, 4):
        size = (len(content) + change).to_bytes(4, "little")
        forged = data[: directory + 24] + size + data[directory + 28 :]
        with pytest.raises(RuntimeError, match="comes out than the archive says|length|bytes"):
            load(torch, forged)


def test_other_files(torch):
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    for data in (b"x", b"PK\x03\x04", b"PK\x03\x04" + bytes(100), empty.getvalue(), b"\x89PNG" + bytes(99), b"\x80\x02N.", bytes(257) + b"ustar" + bytes(300), b"{}", b"\n" * 9):
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            load(torch, data)
    with pytest.raises(ValueError, match="Unknown endianness"):
        load(torch, archive(pickled(b"N"), order=b"middle"))


# ---- tensors


def test_tensors_that_do_not_fit(torch):
    record = [("data/0", bytes(20))]
    assert load(torch, archive(pickled(tensor(5)), record)).tolist() == [0] * 5
    for numel in (0, 4, 6, 1 << 31, 1 << 61, 1 << 62, 1 << 63, 1 << 80):
        with pytest.raises(RuntimeError, match="has 20 bytes"):
            load(torch, archive(pickled(tensor(numel)), record))
    big = 1 << 62
    for how in ({"size": (6,)}, {"offset": 1}, {"offset": -1}, {"offset": big}, {"size": (-1,)}, {"stride": (-1,)}, {"stride": (2,)}, {"size": (2, 2)},
                {"size": (big, big, 4), "stride": (0, 0, 0)}, {"size": (big,), "stride": (big,)}, {"size": (1 << 70,)}, {"size": (1,) * 70, "stride": (1,) * 70},
                {"size": (2,), "stride": (1 << 63,)}):  # fmt: skip
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            load(torch, archive(pickled(tensor(5, **how)), record))
    for kind in ("FooStorage", "QInt8Storage"):
        with pytest.raises(pickle.UnpicklingError, match=f"GLOBAL torch.{kind} does not exist here"):
            load(torch, archive(pickled(tensor(5, kind=kind)), record))
    with pytest.raises(pickle.UnpicklingError, match="_rebuild_qtensor does not exist here"):
        load(torch, archive(pickled(call("torch._utils", "_rebuild_qtensor", b"N"))))
    with pytest.raises(RuntimeError, match="rebuilt from its layout and its parts"):
        load(torch, archive(pickled(call("torch._utils", "_rebuild_sparse_tensor", b"N" + b"N"))))
    for negative in (-1, -(1 << 40)):
        with pytest.raises(pickle.UnpicklingError, match="storage is named"):
            load(torch, archive(pickled(tensor(negative)), record))


def test_rebuilding_with_nonsense(torch):
    record = [("data/0", bytes(20))]
    names = ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_meta_tensor_no_storage", "_rebuild_device_tensor_from_cpu_tensor",
             "_rebuild_parameter", "_rebuild_parameter_with_state")  # fmt: skip
    values = (b"N", b"]", b"}", number(1 << 70), text("x"), storage(5), tensor(5), global_name("torch", "float32"))
    for name in names:
        for value in values:
            for count in range(9):
                try:
                    load(torch, archive(pickled(call("torch._utils", name, *[value] * count)), record))
                except (*REFUSED, ImportError):
                    continue
    for parts in ([b"N"] * 4, [global_name("torch._utils", "_rebuild_tensor_v2"), global_name("builtins", "dict"), b")", b"}"], [global_name("builtins", "set"), global_name("torch", "Tensor"), b")", b"}"]):
        with pytest.raises(pickle.UnpicklingError):
            load(torch, archive(pickled(call("torch._tensor", "_rebuild_from_type_v2", *parts))))
    meta = call("torch._utils", "_rebuild_meta_tensor_no_storage", global_name("torch", "float32"), tuple_of(number(1 << 40)), tuple_of(number(1)), b"\x89")
    assert load(torch, archive(pickled(meta))).shape == (1 << 40,)  # takes no memory


# ---- pickles


def test_names_are_never_imported(torch):
    for module, name in (("os", "system"), ("posix", "system"), ("nt", "system"), ("sys", "exit")):
        with pytest.raises(pickle.UnpicklingError, match="is blocked"), torch.serialization.safe_globals([(print, f"{module}.{name}")]):
            load(torch, archive(pickled(call(module, name, text("echo evil")))))
    for module, name in (("builtins", "eval"), ("__builtin__", "eval"), ("builtins", "getattr"), ("subprocess", "Popen"), ("antigravity", "x"),
                         ("torch.hub", "load"), ("torch.serialization", "load"), ("torch._utils", "_memory"), ("facula._utils", "_rebuild_tensor_v2"), ("", ""),
                         ("torch.nn", "Linear"), ("functools", "partial"), ("copyreg", "_reconstructor"), ("torch", "load"), ("operator", "attrgetter")):  # fmt: skip
        with pytest.raises(pickle.UnpicklingError, match=f"GLOBAL {module.replace('__builtin__', 'builtins')}.{name}".replace("builtins.", "") + " was not an allowed global"):
            load(torch, archive(pickled(call(module, name, text("1")))), weights_only=False)
    stacked = b"\x80\x04" + b"\x8c\x02os" + b"\x8c\x06system" + b"\x93" + b"."
    with pytest.raises(pickle.UnpicklingError, match="os.system"):
        load(torch, archive(stacked))
    import sys

    assert "antigravity" not in sys.modules


def test_calls_that_are_not_allowed(torch):
    def refused(*parts, match=None):
        with pytest.raises((pickle.UnpicklingError, TypeError, ValueError, RuntimeError), match=match):
            load(torch, archive(pickled(*parts)))

    for name in ("list", "dict", "int", "str", "tuple", "float", "bool"):
        refused(call("builtins", name, number(1 << 40)), match="unrecognized function")
    refused(call("builtins", "bytearray", number(1 << 40)), match="from bytes only")
    refused(call("builtins", "bytes", number(1 << 40)), match="not made from")
    refused(call("builtins", "complex", text("1")), match="two numbers")
    refused(call("builtins", "set", text("abc")), match="from a list")
    refused(call("_codecs", "encode", text("a"), text("zip")), match="latin1")
    refused(call("_codecs", "encode", b"N", text("latin1")), match="latin1")
    refused(call("collections", "defaultdict", global_name("torch", "Tensor")), match="plain data only")
    refused(call("collections", "OrderedDict", number(5)))
    refused(call("collections", "Counter", text("abc")), match="from a dict")
    refused(call("torch", "Tensor", number(1 << 40)), match="unrecognized function")
    refused(global_name("torch", "Tensor") + tuple_of(number(1 << 40)) + b"\x81", match="Can only create new object")
    refused(call("torch", "Size", tuple_of(text("a"))))
    refused(call("torch", "device", text("nowhere")))
    refused(call("torch.serialization", "_get_layout", text("torch.sparse_foo")), match="does not exist")
    refused(b"N)R", match="unrecognized function")
    refused(number(5), b")R", match="unrecognized function")
    refused(call("builtins", "set", b"]") + b")R", match="unrecognized function")
    refused(global_name("builtins", "set") + b"NR", match="must be a tuple")
    refused(b"]Nb", match="Can only build")
    refused(b"}}b", match="Can only build")
    refused(tensor(5) + b"}b")
    refused(call("collections", "OrderedDict") + b"Nb")
    refused(b"NNa", match="Can only extend")
    refused(b"]" + text("a") + b"Ns", match="Can only set items")
    refused(b"}]Ns", match="unhashable")
    refused(call("builtins", "set", b"]]a"), match="unhashable")
    for saved_id in (b"N", text("x"), b")", tuple_of(text("module"), b"N"), tuple_of(text("storage"), b"N", b"N", b"N", b"N"), tuple_of(*[b"N"] * 5)):
        refused(saved_id + b"Q", match="storage")


def test_instructions_that_are_wrong(torch):
    broken = [b"", b".", b"\x80", b"\x80\x02", b"\x80\x02.", b"\x80\x07N.", b"a.", b"t.", b"u.", b"e.", b"R.", b"b.", b"Q.", b"s.", b"0.", b"1.", b"\x85.", b"N\x87.", b"(N(\x85.",
              b"(N.", b"h\x00.", b"j\xff\xff\xff\xff.", b"q\x00.", b"Nr\xff\xff\xff\xff.", b"N\x94h\x05.", b"J\x00", b"K", b"M\x00", b"G\x00", b"X\x05\x00\x00\x00ab.", b"X\xff\xff\xff\xff",
              b"\x8d" + b"\xff" * 8, b"\x8e" + b"\xff" * 8, b"\x96" + b"\xff" * 8, b"\x95" + b"\xff" * 8, b"\x8b\xff\xff\xff\xff", b"\x8a\xff\x00", b"B\xff\xff\xff\x7f", b"T\xff\xff\xff\xff", b"U\x05a",
              b"X\x02\x00\x00\x00\xff\xfe.", b"c.", b"cos.", b"cos\nsystem", b"}(NNNu.", b"}(Nu.", b"(NNNd.", b"I1\n.", b"S'x'\n.", b"V\n.", b"ios\nsystem\n.", b"o.", b"\x82\x01.", b"2.", b"p0\n.", b"P1\n.", b"F1\n.", b"L1\n.", b"\x97.", b"NN\x93.", b"N]\x93."]  # fmt: skip
    for data in broken:
        with pytest.raises((pickle.UnpicklingError, RuntimeError, UnicodeError, TypeError, KeyError)):
            load(torch, archive(data))
    for i in range(256):
        for tail in (b".", b"N.", b"((((...", bytes(20)):
            try:
                load(torch, archive(b"\x80\x02]N(" + bytes([i]) + tail))
            except REFUSED:
                continue


def test_depth_and_memos(torch):
    deep = 200_000
    out = load(torch, archive(pickled(b"]" * deep, b"a" * (deep - 1))))
    depth = 0
    while out:
        (out,) = out
        depth += 1
    assert depth == deep - 1
    load(torch, archive(pickled(b")" + b"\x85" * deep)))
    load(torch, archive(pickled(b"N" * deep, b"0" * (deep - 1))))
    load(torch, archive(pickled(b"(" * deep, b"t" * deep)))
    nested = b")" + b"\x85" * deep
    doubling = b")" + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(60))
    for hashed in (nested, doubling):  # a hash would descend without end
        for use in (b"}" + hashed + b"Ns", call("builtins", "set", b"]" + hashed + b"a"), call("builtins", "frozenset", b"]" + hashed + b"a"),
                    b"\x8f(" + hashed + b"\x90", b"(" + hashed + b"\x91", call("collections", "OrderedDict", b"]" + hashed + b"N\x86a")):  # fmt: skip
            with pytest.raises(pickle.UnpicklingError, match="nested too deeply or too large"):
                load(torch, archive(pickled(use)))
    assert len(load(torch, archive(pickled(doubling)))) == 2  # small as it stands, gigantic only when walked
    cycle = load(torch, archive(pickled(b"]q\x00h\x00a")))
    assert cycle[0] is cycle


def test_memory_is_bounded_by_the_file(torch):
    from facula import _C

    record = [("data/0", bytes(20))]
    before = _C._backend_memory_stats("cpu")["total"]
    legacy_head = b"".join(saved_part(torch, part) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))
    huge = tuple_of(text("storage"), global_name("torch", "FloatStorage"), text("0"), text("cpu"), number(1 << 35), b"N") + b"Q"
    for data in (archive(pickled(tensor(1 << 38, (1 << 38,))), record), legacy_head + pickled(huge) + pickled(b"]" + text("0") + b"a") + bytes(8)):
        with pytest.raises(RuntimeError, match="has 20 bytes|larger than the file"):
            load(torch, data)
    assert _C._backend_memory_stats("cpu")["total"] - before < 10000


def saved_part(torch, value):
    return pickle.dumps(value, 2)


def test_legacy_files_that_lie(torch):
    head = b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))

    def named(numel, view=b"N", key="0"):
        return tuple_of(text("storage"), global_name("torch", "FloatStorage"), text(key), text("cpu"), number(numel), view) + b"Q"

    def file(obj, keys=b"]" + text("0") + b"a", data=struct.pack("<q", 2) + bytes(8)):
        return head + pickled(obj) + pickled(keys) + data

    assert len(load(torch, file(named(2)))) == 2
    view = tuple_of(text("v"), number(1), number(1))
    assert len(load(torch, file(named(2, view)))) == 1
    wrong = {
        "magic": pickle.dumps(5, 2) + file(named(2)),
        "protocol": pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(7, 2),
        "count": file(named(2), data=struct.pack("<q", 3) + bytes(12)),
        "negative": file(named(2), data=struct.pack("<q", -1) + bytes(8)),
        "short": file(named(2), data=struct.pack("<q", 2) + bytes(7)),
        "missing": file(named(2), keys=b"]"),
        "twice": file(named(2), keys=b"](" + text("0") * 2 + b"e", data=(struct.pack("<q", 2) + bytes(8)) * 2),
        "unknown": file(named(2), keys=b"]" + text("9") + b"a"),
        "keys": file(named(2), keys=number(3)),
        "key type": file(named(2), keys=b"]]a"),
        "view": file(named(2, tuple_of(text("v"), number(1), number(2)))),
        "view sign": file(named(2, tuple_of(text("v"), number(-1), number(1)))),
        "view type": file(named(2, text("v"))),
    }
    for what, data in wrong.items():
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            load(torch, data)
            pytest.fail(what)


def test_user_code_that_misbehaves(torch):
    class Odd:
        def __setstate__(self, state):
            raise KeyError("odd")

    Odd.__qualname__ = "Odd"
    globals()["Odd"] = Odd
    odd = Odd()
    odd.x = 1
    with torch.serialization.safe_globals([Odd]), pytest.raises(KeyError, match="odd"):
        load(torch, saved(torch, odd))

    class Reducing:
        def __init__(self, value):
            self.value = value

        def __reduce_ex__(self, protocol):
            return self.value

    for value in (5, (), (1,), (print,), (print, 5), (print, (), None, 5), (print, (), None, None, [1]), (1, 2, 3, 4, 5, 6, 7), None, "no such name"):
        with pytest.raises((TypeError, RuntimeError, ValueError, pickle.PicklingError, AttributeError)):
            saved(torch, Reducing(value))
    with pytest.raises(RecursionError):
        nest = []
        for _ in range(100000):
            nest = [nest]
        saved(torch, nest)
    changing = [1]

    class Growing:
        def __reduce_ex__(self, protocol):
            changing.append(1)
            return dict, ()

    changing.extend(Growing() for _ in range(3))
    assert isinstance(saved(torch, changing), bytes)

    class Closing(io.BytesIO):
        def write(self, data):
            self.close()
            return super().write(data)

    with pytest.raises(ValueError, match="closed"):
        torch.save(torch.ones(3), Closing())


def test_containers_round_trip_under_fire(torch):
    data = saved(torch, OBJECTS["containers"](torch))
    want = json.dumps(described(torch, load(torch, data)))
    step = max(1, len(data) // 400)
    for i in range(0, len(data), step):
        damaged = bytearray(data)
        damaged[i] = 0
        try:
            got = load(torch, bytes(damaged))
        except (*REFUSED, NotImplementedError):
            continue
        assert json.dumps(described(torch, got)) == want


@pytest.mark.parametrize(("name", "parts"), [
    ("_rebuild_tensor_v2", b"\x88K\x00(K\x02t(K\x01t\x89}t"),
    ("_rebuild_tensor", b"NK\x00))t"),
    ("_rebuild_parameter", b"\x88\x89}t"),
    ("_rebuild_device_tensor_from_cpu_tensor", b"NNN\x89t"),
    ("_rebuild_meta_tensor_no_storage", b"NNN\x89t"),
])
def test_parts_that_make_no_tensor(torch, name, parts):
    with pytest.raises(pickle.UnpicklingError, match=name):
        load(torch, archive(pickled(b"ctorch._utils\n" + name.encode() + b"\n(" + parts + b"R")))


@pytest.mark.parametrize("wrong", [9, -1, 1 << 62])
def test_indices_that_come_behind_the_pickle(torch, wrong):
    """In a file of before the archives they are checked when they are there."""
    data = saved(torch, torch.sparse_coo_tensor([[7]], [1.5], (9,)), _use_new_zipfile_serialization=False)
    assert load(torch, data).to_dense()[7] == 1.5
    at = data.rindex(struct.pack("<q", 7))
    with pytest.raises(RuntimeError, match="index"):
        load(torch, data[:at] + struct.pack("<q", wrong) + data[at + 8 :])


def test_what_a_map_does_not_read(torch, tmp_path):
    """The checksum of a tensor that is mapped is not computed; that of the pickle is."""
    path = tmp_path / "x.pt"
    torch.save({"a": torch.ones(5000)}, path)
    data = bytearray(path.read_bytes())
    data[data.find(b"\x00\x00\x80\x3f" * 100) + 400] ^= 1
    with pytest.raises(RuntimeError, match="checksum"):
        load_file(torch, path, bytes(data))
    assert (torch.load(path, mmap=True)["a"] != 1).sum() == 1
    data = path.read_bytes().replace(b"_rebuild_tensor_v2", b"_rebuild_tensor_v3")
    with pytest.raises(RuntimeError, match="checksum"):
        load_file(torch, path, data, mmap=True)


def test_files_that_change_meanwhile(torch, tmp_path):
    path = pathlib.Path(tmp_path / "x.pt")
    data = saved(torch, torch.ones(1000))

    class Shrinking(io.BytesIO):
        def read(self, n=-1):
            out = super().read(n)
            if self.shrink:
                self.truncate(600)
            return out

    f = Shrinking(data)
    f.shrink = False
    assert torch.load(f).sum() == 1000
    f.seek(0)
    f.shrink = True
    with pytest.raises(RuntimeError, match="ends early|central directory"):
        torch.load(f)
    assert not path.exists()
